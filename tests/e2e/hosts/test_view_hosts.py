"""Real hosts in a fresh clone: the view is there at each start, and what we write is committed as agreed.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import shutil
from typing import Any, Final

import pytest

from tests.e2e.hosts.test_commit_hosts import EVENTS, HOSTS, RECORDS, settle
from tests.hosts.drivers import Ended, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import PASSDOWN, need, text_of
from tests.hosts.talks import ClaudeTalk, CodexTalk
from tests.support.gits import Project
from tests.support.projects import LOCAL, VIEW

pytestmark = pytest.mark.timeout(480)

TURNS: Final = ("claude", "codex") * 3
"""Which host has which session."""


def clone_afresh(place: Ground) -> Project:
    """Let somebody set up the project and push it; clone it in its place, as whoever joins would."""
    project = Project(folder=place.root)
    (place.root / "passdown.toml").unlink()
    assert run(place, "init", "--yes").code == 0
    settle(project)
    origin = place.folder / "origin.git"
    project.git("clone", "--quiet", "--bare", str(place.root), str(origin))
    shutil.rmtree(place.root)
    Project(folder=place.folder).git("clone", "--quiet", str(origin), str(place.root))
    for name, value in (("name", "somebody"), ("email", "somebody@localhost")):
        project.git("config", f"user.{name}", value)
    return project


def run(place: Ground, *arguments: str) -> Ended:
    return place.run([str(PASSDOWN), *arguments])


def find_waiting(place: Ground) -> set[str]:
    """Give what `status` says waits for a commit."""
    found: dict[str, Any] | None = json.loads(run(place, "status", "--json").out)["uncommitted"]
    return set(found["paths"]) if found else set()


def find_uncommitted(project: Project) -> set[str]:
    """Give the files of ours that git shows as new or changed."""
    shown = project.git("status", "--porcelain", "--untracked-files=all", "thoughts", "conductor")
    return {line[3:] for line in shown.splitlines()}


@pytest.mark.requirement("R120", "R131", "R132", "R133", "R135", "R130", "C42", "C117", "C43")
def test_in_six_sessions_of_two_hosts_the_view_is_there_at_each_start(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    drivers = {host: HOSTS[host][0](place) for host in dict.fromkeys(TURNS)}
    project = clone_afresh(place)
    base = project.git("rev-parse", "HEAD").strip()

    for number, host in enumerate(TURNS):
        driver, options = drivers[host]
        driver.session = ""
        say = HOSTS[host][1]
        before = len(model.requests)
        model.prepare(
            [
                Step(calls=(say(f"cat {LOCAL} || true"),)),
                Step(calls=(say(f"'{PASSDOWN}' goal 'Fix it' && '{PASSDOWN}' done 'step {number}'"),)),
                Step(text="ok"),
            ],
            str(place.root),
        )
        ended = driver.turn(f"please do step {number}", options)
        assert ended.code == 0, ended
        seen = text_of(model.requests[before:])
        for earlier in range(number):
            assert f"- [x] step {earlier}" in seen, (number, earlier)
        checked = run(place, "synthesize", "--check")
        assert checked.code == 0, (number, checked)
        assert run(place, "synthesize", "--check", "--committed").code == 0, number
        assert find_uncommitted(project) == find_waiting(place), number
        assert "current.md" not in project.git("status", "--porcelain"), number
    model.prepare([Step(text="ok")], str(place.root))
    drivers["claude"][0].session = ""
    assert drivers["claude"][0].turn("hello", []).code == 0

    subjects = project.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    print(subjects)
    assert all(one.startswith("passdown: ") for one in subjects)
    assert len(subjects) >= len(TURNS)
    for view in (project.git("show", f"HEAD:{VIEW}"), (place.root / LOCAL).read_text(encoding="utf-8")):
        assert all(f"- [x] step {number}\n" in view for number in range(len(TURNS)))
    changed = project.git("diff", "--name-only", base, "HEAD").splitlines()
    assert all(name.startswith((EVENTS, RECORDS)) or name == VIEW for name in changed)
    assert find_uncommitted(project) == find_waiting(place)
    assert run(place, "synthesize", "--check").code == 0
    assert place.hook_errors() == []


@pytest.mark.requirement("R120", "R121")
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_the_host_shows_the_banner(ground: tuple[Ground, Model], host: str) -> None:
    place, model = ground
    driver, options = HOSTS[host][0](place)
    settle(Project(folder=place.root))
    words = f"'{PASSDOWN}' goal 'Fix it' && '{PASSDOWN}' now 'reading' && '{PASSDOWN}' done 'a step'"
    model.prepare([Step(calls=(HOSTS[host][1](words),)), Step(text="ok")], str(place.root))
    assert driver.turn("please begin", options).code == 0
    program = {"claude": ClaudeTalk, "codex": CodexTalk}[host]

    with program(need(host), place, model) as talk:
        talk.say("please go on", Step(text="ok"))
        (shown,) = [one for one in talk.notices() if one.startswith("Passdown: 2 events combined\n")]

    _, end, event, *rest = shown.splitlines()
    assert end.endswith("  ended")
    assert event.startswith(f"  {host}-")
    assert "a step" in event or "reading" in event
    assert rest[-2:] == ["Goal: Fix it", "Last worked on: reading"]
