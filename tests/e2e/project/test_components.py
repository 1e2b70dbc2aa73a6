"""The parts of the event log work together as they were asked for, each called the way users call it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.views import View, parse_view
from tests.e2e.project.test_installs import World
from tests.hosts.drivers import ClaudeCode
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import need, text_of
from tests.support.commands import environment, run
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, LOCAL, VIEW, put

CC_SYNTHESIZE: Final = Path(sys.executable).parent / "cc-synthesize"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Give a home to install into, and a project."""
    need("claude")
    with Model() as model:
        yield World(tmp_path / "world", model)


def bash(words: str) -> Call:
    return Call(tool="Bash", input={"command": words, "description": "run it"})


def read(root: Path, path: str = LOCAL) -> View:
    return parse_view((root / path).read_text(encoding="utf-8"))


def count_events(root: Path) -> int:
    return len(list((root / EVENTS).rglob("*.md")))


@pytest.mark.timeout(240)
@pytest.mark.requirement("R106", "R120", "R122", "R123")
def test_the_five_components_work_in_a_real_host(world: World) -> None:
    root, program = world.ground.root, f"'{world.program}'"
    host = ClaudeCode(need("claude"), world.ground)
    project = Project(folder=root)
    for name, value in (("name", "somebody"), ("email", "somebody@localhost")):
        project.git("config", f"user.{name}", value)
    world.passdown("install", "claude", "--yes")
    before = count_events(root)

    # 1: the end of a session writes its event: with the next start, because hosts do not wait for it.
    world.model.prepare(
        [Step(calls=(bash(f"{program} done 'painted the door'"),)), Step(text="ok")], str(root)
    )
    assert host.turn("please paint", []).code == 0
    host.session = ""
    # 2, 3: the next start synthesizes. 4: the skill does what it says, step by step.
    asked = [
        f"cat {LOCAL}",
        f"{program} log",
        f"{program} view && {program} synthesize --check",
        f"{program} synthesize --no-confirm --json",
        f"{program} synthesize --no-confirm --archive",
        f"{program} synthesize --no-confirm --commit",
    ]
    world.model.prepare([*(Step(calls=(bash(words),)) for words in asked), Step(text="ok")], str(root))
    since = len(world.model.requests)
    assert host.turn("/passdown:synthesize-ledgers", []).code == 0

    assert count_events(root) > before
    told = text_of(world.model.requests[since:])
    assert "# Synthesize ledgers" in told
    assert "- [x] painted the door" in told
    assert read(root).this_session == read(root, VIEW).this_session == ("painted the door",)
    assert "painted the door" in project.git("show", f"HEAD:{VIEW}")
    # 5: the command for automation.
    (root / VIEW).unlink()
    assert world.ground.run([str(CC_SYNTHESIZE), "--no-confirm", "--commit"]).code == 0
    assert read(root, VIEW).this_session == ("painted the door",)
    assert world.ground.run([str(CC_SYNTHESIZE), "--check", "--committed"]).code == 0


# --- without a host -------------------------------------------------------------------------------


def call_hook(root: Path, event: str, session: str, **told: str) -> dict[str, str]:
    """Call a hook as a process, as hosts do."""
    payload = {"hook_event_name": event, "session_id": session, "cwd": str(root), **told}
    done = subprocess.run(
        [sys.executable, "-m", "passdown", "hook", "--host", "claude"],
        cwd=root,
        env=environment(),
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout) if done.stdout else {}
    return found


@pytest.mark.requirement("R105", "R141")
def test_the_end_of_a_session_creates_an_event_and_a_start_synthesizes_two_parallel_sessions(
    tmp_path: Path,
) -> None:
    root = make_started(tmp_path / "project").folder
    put(root, "passdown.toml", "[commit]\nsession_end = false\ncheckpoint = false\n")
    call_hook(root, "SessionStart", "amber", source="startup")
    call_hook(root, "SessionStart", "cobalt", source="fork")  # else one process has one session
    for session in ("amber", "cobalt"):
        assert run("done", f"by {session}", "--session", session, cwd=root).code == 0
    run("now", "Cobalt's work", "--session", "cobalt", cwd=root)
    for session in ("amber", "cobalt"):
        call_hook(root, "SessionEnd", session, reason="logout")
    assert not (root / VIEW).exists()

    answer = call_hook(root, "SessionStart", "third", source="startup")

    assert count_events(root) == 2
    view = read(root)
    assert (view.now.partition(" (by ")[0], view.now[-8:]) == ("Cobalt's work", ", ended)")
    assert set(view.this_session) == {"by amber", "by cobalt"}
    assert answer["systemMessage"].startswith("Passdown: 2 events combined\n")
    assert not (root / VIEW).exists()


HEAD: Final = "---\nts: {ts}\nagent: {agent}\n---\n\n"
VARIANTS: Final = {
    "plain": "now: Write tests\nthis_session:\n- one\n- two\n",
    "quoted": 'now: "Write tests"\nthis_session: [\'one\', "two"]\n',
    "windows": "now: Write tests\r\nthis_session:\r\n- one\r\n- two\r\n",
    "indented": "now:   Write tests\nthis_session:\n    - one\n    - two\n",
    "unknown": "now: Write tests\nmood: good\nthis_session:\n- one\n- two\n\nFree text.\n",
}


@pytest.mark.requirement("R141")
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_an_event_say_the_same(tmp_path: Path, name: str) -> None:
    text = HEAD.format(ts="2026-01-10T13:03:52Z", agent="toast") + VARIANTS[name]
    (tmp_path / "event.md").write_bytes(text.encode())

    done = run("synthesize", "--input", "event.md", cwd=tmp_path)

    view = parse_view(done.out)
    assert (done.code, view.now, set(view.this_session)) == (0, "Write tests", {"one", "two"}), done


@pytest.mark.requirement("R141", "R115")
@pytest.mark.parametrize("text", ["", "---\nts: [", "no front matter\n"])
def test_an_event_that_cannot_be_read_is_skipped_and_counted(tmp_path: Path, text: str) -> None:
    put(tmp_path, "good.md", HEAD.format(ts="2026-01-10T13:03:52Z", agent="toast") + "now: Write tests\n")
    put(tmp_path, "bad.md", text)

    done = run("synthesize", "--input", "*.md", cwd=tmp_path)

    view = parse_view(done.out)
    assert view.footer is not None
    assert (done.code, view.now, view.footer.skipped) == (0, "Write tests", 1)


@pytest.mark.requirement("R141")
def test_each_kind_of_fact_merges_by_its_rule(tmp_path: Path) -> None:
    bodies = {
        ("2026-01-10T08:00:00Z", "amber"): "goal: Old\nnow: Old\nnext: [old]\nthis_session: [one, two]\n"
        "decisions:\n  queue: Redis\n  store: files\nconstraints: [no threads]\n"
        "open_questions: [which port?]\ncheckpoints:\n- phase: 1\n  status: in_progress\n",
        ("2026-01-10T09:00:00Z", "cobalt"): "goal: New\nnow: New\nnext: [new]\nthis_session: [two, three]\n"
        "decisions:\n  queue: Kafka\nconstraints: [no threads, no daemon]\nopen_questions: [which port?]\n"
        "checkpoints:\n- phase: 1\n  status: validated\n",
        ("2026-01-10T09:00:00Z", "zinc"): "now: Tie\n",
    }
    for (ts, agent), body in bodies.items():
        put(tmp_path, f"{agent}.md", HEAD.format(ts=ts, agent=agent) + body)

    done = run("synthesize", "--input", "*.md", cwd=tmp_path)

    view = parse_view(done.out)
    said = [text.partition(" (by ")[0] for text in (view.goal, view.now, *view.next)]  # and whose it is
    assert said == ["New", "Tie", "new"]
    assert sorted(view.this_session) == ["one", "three", "two"]
    assert {pair.key: pair.value for pair in view.decisions} == {"queue": "Kafka", "store": "files"}
    assert sorted(view.constraints) == ["no daemon", "no threads"]
    assert len(view.questions) == 1
    assert [(one.phase, one.state.value) for one in view.checkpoints] == [
        (1, "validated"),
        (1, "in_progress"),
    ]
