"""The attacks that were once found, and those that come with settings, ids and payloads."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.attacks.stage import CANARY, Call, Result, Stage, attack, hook, judge, plant, snapshot
from tests.support.projects import EVENTS, put

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights there"),
    pytest.mark.timeout(300),
    pytest.mark.requirement("C118"),
]

START = hook("SessionStart", source="startup")
BRIEF = Call(("brief",))
PROMPT = hook("UserPromptSubmit", prompt="go on")
CALLS = (START, hook("Stop"), PROMPT, BRIEF, Call(("synthesize", "--archive")))


@pytest.fixture(scope="module")
def small(identity: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Make both projects, and see how long a few calls take."""
    del identity
    return Stage(Path(tmp_path_factory.mktemp("named")).resolve(), CALLS)


@pytest.fixture(autouse=True)
def _whole(small: Stage) -> None:
    small.restore()


def test_events_of_another_project_are_neither_read_nor_moved(small: Stage) -> None:
    assert attack(small, [EVENTS], "link to the other project", CALLS) == []
    assert attack(small, ["thoughts"], "link to the other project", CALLS) == []


def test_who_links_a_folder_is_told_what_happened_and_what_to_do(small: Stage) -> None:
    plant(small, ["thoughts"], "link to the other project")

    brief, write = small.run([BRIEF, Call(("synthesize",))])

    for one in (brief, write):
        assert one.code == 5, one
        assert f"{small.root / 'thoughts'} is a symbolic link" in one.err
        assert "put a real file or folder there" in " ".join(one.err.split())


def test_settings_that_are_an_endless_device_are_refused(small: Stage) -> None:
    assert attack(small, ["passdown.toml"], "link to /dev/zero", CALLS) == []

    (brief,) = small.run([BRIEF])
    assert brief.code == 5
    assert "could not read passdown.toml: " in brief.err


def test_a_journal_that_is_an_endless_device_is_left_alone(small: Stage) -> None:
    found = attack(small, [".conductor/journal/s-1.jsonl"], "link to /dev/zero", CALLS)

    assert found == []


def run_with_transcript(stage: Stage, path: str) -> list[str]:
    """Let a turn end with a transcript at a path, and return what must not have happened."""
    before = snapshot(stage.outside)
    calls = [
        hook(event, transcript_path=path) for event in ("SessionStart", "Stop", "PreCompact", "SessionEnd")
    ]
    return judge(stage, stage.run(calls), before)


def test_a_transcript_that_is_no_regular_file_does_not_hold_a_turn(small: Stage) -> None:
    fifo = small.base / "pipe"
    if not fifo.exists():
        os.mkfifo(fifo)
    (small.root / "linked.jsonl").symlink_to(small.outside / "transcript.jsonl")

    for path in (fifo, "/dev/zero", small.root / "linked.jsonl", small.root, "/etc/passwd\0", "\n", "../x"):
        assert run_with_transcript(small, str(path)) == [], path


HOSTILE_IDS = ("../../../escaped", "a/b/c", "..", "\0", "a\nb", "x" * 5000, "-rf", "CON", "\ud800", "")


def test_no_session_id_becomes_a_path_of_its_own(small: Stage) -> None:
    before = snapshot(small.outside), set(os.listdir(small.base))
    calls = [
        hook(event, session_id=one) for one in HOSTILE_IDS for event in ("SessionStart", "UserPromptSubmit")
    ]

    results = small.run(calls)

    assert judge(small, results, before[0]) == []
    assert set(os.listdir(small.base)) - before[1] <= {"run", "pipe"}


def test_a_payload_from_elsewhere_does_nothing_here(small: Stage) -> None:
    before = snapshot(small.root)

    results = small.run(
        [START._replace(payload={**(START.payload or {}), "cwd": cwd}) for cwd in _elsewhere(small)]
    )

    assert [one.code for one in results] == [0] * len(results)
    assert snapshot(small.root) == before


def _elsewhere(stage: Stage) -> Sequence[str]:
    return (str(stage.base), "/", "/dev", "relative/../..", "\0", "/nowhere/at/all")


HOSTILE_SETTINGS = (
    '[paths]\nevents = "../outside/thoughts/shared/handoffs/events"\n',
    '[paths]\nevents = "/etc"\n',
    '[paths]\nledgers = ".git/hooks"\n',
    '[paths]\nruntime = ".git"\n',
    '[paths]\nruntime = "../outside/.conductor"\n',
    '[paths]\nview = "../outside/thoughts/shared/handoffs/current.md"\n',
    '[paths]\narchive = "linked/sessions/archive"\n',
    '[paths]\nhandoffs = "linked"\nevents = "linked/events"\n',
    '[paths]\nruntime = "linked/.conductor"\n',
    f'[paths]\nevents = "x"\nx = "{"y" * 2_000_000}"\n',
)


@pytest.mark.parametrize("number", range(len(HOSTILE_SETTINGS)))
def test_settings_do_not_lead_out_of_the_project(small: Stage, number: int) -> None:
    put(small.root, "passdown.toml", HOSTILE_SETTINGS[number])
    (small.root / "linked").symlink_to(small.outside / "thoughts/shared/handoffs")
    before = snapshot(small.outside), snapshot(small.root / ".git" / "hooks")

    results = small.run(CALLS)

    assert judge(small, results, before[0]) == []
    assert snapshot(small.root / ".git" / "hooks") == before[1]


def test_a_pause_of_another_project_silences_nobody(small: Stage) -> None:
    put(small.outside, ".conductor/paused", "2026-01-01T00:00:00Z\n")
    plant(small, [".conductor"], "link to the other project")

    (started,) = small.run([START])

    assert "Passdown" in started.out, started


def test_the_same_holds_without_folder_handles(small: Stage) -> None:
    for path, kind in (
        (EVENTS, "link to the other project"),
        ("thoughts", "link to the other project"),
        ("passdown.toml", "link to /dev/zero"),
        (".conductor/journal/s-1.jsonl", "FIFO"),
        (f"{EVENTS}/2021-*.md", "link to the other project"),
        ("conductor/sessions/active/LEDGER.md", "link to the other project"),
    ):
        assert attack(small, [path], kind, CALLS, without_handles=True) == [], path


def test_a_result_says_what_was_printed(small: Stage) -> None:
    (shown,) = small.run([Call(("log",))], root=small.outside)

    assert CANARY in shown.out
    assert isinstance(shown, Result)
    assert json.dumps(shown._asdict())
