"""Real hosts with the edit hook: what a subagent must leave to its session is refused, and the model is told.

`PASSDOWN_HOSTS` names the folder with the hosts' programs, `PASSDOWN_BD` the one with builds of `bd`.
Without them these tests are skipped.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.hosts.drivers import ClaudeCode, Codex, Copilot, Driver, Ended, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, make_ground, need, text_of
from tests.trackers.beads import BUILDS, find_bd, list_init_words

pytestmark = pytest.mark.timeout(240)

TRACKER: Final = '#!/bin/sh\nprintf \'%s\\n\' "$*" >> "$(dirname "$0")/asked"\n'
HELPER: Final = "helper: close it"


class Dialect(NamedTuple):
    """How a host is driven, and how its model calls tools."""

    make: Callable[[str, Ground], Driver]
    options: Sequence[str]
    run: Callable[[str], Call]
    ask_helper: Sequence[Call]


def _spawn(tool: str, **given: object) -> Call:
    return Call(tool=tool, namespace="multi_agent_v1", input=given)


HOSTS: Final[Mapping[str, Dialect]] = {
    "claude": Dialect(
        make=ClaudeCode,
        options=(),
        run=lambda words: Call(tool="Bash", input={"command": words, "description": "run"}),
        ask_helper=(
            Call(
                tool="Agent",
                input={
                    "description": "close",
                    "prompt": HELPER,
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                },
            ),
        ),
    ),
    "codex": Dialect(
        make=Codex,
        options=("--dangerously-bypass-hook-trust", "-c", 'model="another-model"'),
        # Its shell is a login shell, which sets the path anew.
        run=lambda words: Call(
            tool="exec_command",
            input={"cmd": f'PATH="{{root}}/../tracker:$PATH"; {words}', "yield_time_ms": 30_000},
        ),
        ask_helper=(
            _spawn("spawn_agent", message=HELPER),
            _spawn("wait_agent", targets=["{agent}"], timeout_ms=20_000),
        ),
    ),
    "copilot": Dialect(
        make=Copilot,
        options=(),
        run=lambda words: Call(tool="bash", input={"command": words, "description": "run"}),
        ask_helper=(
            Call(
                tool="task",
                input={
                    "description": "close",
                    "prompt": HELPER,
                    "agent_type": "general-purpose",
                    "name": "helper",
                },
            ),
        ),
    ),
}


def passdown(place: Ground, *arguments: str) -> Ended:
    ended = place.run([str(PASSDOWN), *arguments])
    assert ended.code == 0, ended
    return ended


@pytest.mark.skipif(sys.platform == "win32", reason="the tracker that is called is a shell script")
@pytest.mark.requirement("C84", "C88", "R206", "R207", "R208")
@pytest.mark.parametrize("name", HOSTS)
def test_a_subagent_is_refused_what_its_session_may_do(tmp_path: Path, name: str) -> None:
    dialect = HOSTS[name]
    with Model() as model:
        tracker = tmp_path / "tracker"
        path = f"{tracker}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        place = make_ground(tmp_path, model.address, PATH=path, COPILOT_OFFLINE="true")
        tracker.mkdir()
        (tracker / "bd").write_text(TRACKER, encoding="utf-8")
        (tracker / "bd").chmod(0o755)
        driver = dialect.make(need(name), place)
        passdown(place, "install", name, "--yes")
        passdown(place, "install", name, "--edits", "--yes")
        steps = [
            *(Step(calls=(call,)) for call in dialect.ask_helper),
            Step(agent="helper", calls=(dialect.run("cd . && bd close bd-1"),)),
            Step(agent="helper", calls=(dialect.run("passdown handoff create"),)),
            Step(agent="helper", calls=(dialect.run("bd show bd-1"),)),
            Step(agent="helper", text="it is not mine to close"),
            Step(calls=(dialect.run("bd close bd-2"),)),
            Step(text="ok"),
        ]
        model.prepare(steps, str(place.root))

        ended = driver.turn("let a helper close it", dialect.options)

        assert (ended.code, model.left) == (0, 0), ended
        assert (tracker / "asked").read_text(encoding="utf-8").splitlines() == ["show bd-1", "close bd-2"]
        told = "\n".join(map(text_of, model.requests))
        assert all(
            f"`{program}` was not run: a subagent (" in told for program in ("bd close", "passdown handoff")
        )
        assert '"beadUpdates"' in told
        assert place.hook_errors() == []


def make_result(closed: str, noted: str) -> str:
    """Return what a subagent says at its end."""
    result = {
        "status": "success",
        "summary": "Signed in",
        "beadUpdates": [
            {"id": closed, "action": "close", "reason": "completed", "notes": "COMPLETED: sign in"},
            {"id": noted, "action": "update", "notes": "sign in is there"},
        ],
        "filesModified": ["app.py"],
    }
    return f"I am done.\n```json\n{json.dumps(result)}\n```"


KEPT_IN = [
    "board",
    *(pytest.param(version, marks=pytest.mark.beads) for version in BUILDS if version != "0.44.0"),
]


def make_beads(place: Ground, tracker: Path, version: str) -> None:
    """Let a real build of `bd` keep the tasks; it notes what it is asked."""
    (tracker / "bd").write_text(f'{TRACKER}exec "{find_bd(version)}" "$@"\n', encoding="utf-8")
    made = place.run([str(tracker / "bd"), *list_init_words(version)], BD_DISABLE_METRICS="1")
    assert made.code == 0, made


@pytest.mark.skipif(sys.platform == "win32", reason="the tracker that is called is a shell script")
@pytest.mark.requirement("C84", "R207", "R208", "R210", "R211")
@pytest.mark.parametrize("kept_in", KEPT_IN)
@pytest.mark.parametrize("name", HOSTS)
def test_what_a_subagent_returns_is_applied_once_by_the_agent_that_started_it(
    tmp_path: Path, name: str, kept_in: str
) -> None:
    dialect = HOSTS[name]
    with Model() as model:
        tracker = tmp_path / "tracker"
        path = f"{tracker}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        place = make_ground(tmp_path, model.address, PATH=path, COPILOT_OFFLINE="true")
        tracker.mkdir()
        (tracker / "bd").write_text(TRACKER, encoding="utf-8")
        (tracker / "bd").chmod(0o755)
        (tracker / "passdown").symlink_to(PASSDOWN)
        if kept_in != "board":
            make_beads(place, tracker, kept_in)
        driver = dialect.make(need(name), place)
        passdown(place, "install", name, "--yes")
        passdown(place, "install", name, "--edits", "--yes")
        closed, noted = (
            json.loads(passdown(place, "task", "add", title, "--json").out)["task"]["task"]
            for title in ("Sign in", "Sign out")
        )
        steps = [
            Step(calls=(dialect.run(f"passdown claim {closed}"),)),
            *(Step(calls=(call,)) for call in dialect.ask_helper),
            Step(agent="helper", calls=(dialect.run(f"bd close {closed}"),)),
            Step(agent="helper", calls=(dialect.run("passdown result apply"),)),
            Step(agent="helper", text=make_result(closed, noted)),
            Step(calls=(dialect.run("passdown result list"),)),
            Step(calls=(dialect.run("passdown result apply"),)),
            Step(calls=(dialect.run("passdown result apply"),)),
            Step(text="ok"),
        ]
        model.prepare(steps, str(place.root))

        ended = driver.turn("let a helper close it", dialect.options)

        assert (ended.code, model.left) == (0, 0), ended
        told = "\n".join(map(text_of, model.requests))
        assert ("## Task Rules (Subagent)" if kept_in == "board" else "## Beads Rules (Subagent)") in told
        for program in ("bd close", "passdown result apply"):
            assert f"`{program}` was not run: a subagent (" in told
        assert "  waiting  Signed in" in told
        assert f"  closed {closed}" in told
        assert "No results to apply." in told
        tasks = [json.loads(passdown(place, "task", "show", one, "--json").out) for one in (closed, noted)]
        found = [(one["task"]["task"]["state"], one["task"]["task"]["note"]) for one in tasks]
        assert found == [("closed", "COMPLETED: sign in"), ("open", "sign in is there")]
        asked = tracker / "asked"
        calls = asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []
        assert len([line for line in calls if "close" in line.split()]) == (kept_in != "board")
        assert place.hook_errors() == []
