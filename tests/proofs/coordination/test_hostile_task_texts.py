"""Hostile text in every field that reaches `bd`: one argument each, nothing executed, nothing lost."""

import os
import random
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import pytest

from passdown.core.coordination.tasks import Task
from passdown.core.safe_text import one_line
from passdown.core.work.operations import OperationAction, make_text_safe
from passdown.engines.programs import SystemPrograms
from passdown.engines.system import SystemClock
from passdown.errors import FormatError, PassdownError, TrackerError, UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.programs import ProgramResult, Programs
from passdown.ports.tracker import TaskSelection, Tracker
from passdown.services.coordination.claims import CloseRequest
from passdown.services.work import tracker_changes
from passdown.trackers.beads.builds import Binary, probe
from passdown.trackers.beads.calls import Calls, Installation, clean
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.tracker import Beads
from tests.proof import proof_count
from tests.trackers import fake_bd
from tests.trackers.beads import BUILDS, FakePrograms, find_bd, make_real
from tests.trackers.dying_bd import make_small
from tests.unit.coordination.test_outbox import Desk

BOMB: Final = "hacked"
PIECES: Final = (
    *("--force", "--json", "-h", "--", "--status=closed", "--db=/etc/passwd", "-rf", "--actor=root", "@file"),
    *(
        '"',
        "'",
        '\\"',
        "\\",
        "`touch hacked`",
        "$(touch hacked)",
        "; touch hacked;",
        "| sh",
        "&& touch hacked",
    ),
    *("\n", "\r\n", "\t", "\x01", "\x1b[31m", "\x7f", "\0", "\udcff", "\ud800", "%s%n", "${HOME}", "~", "*"),
    *(
        '{"error":"x"}',
        '"}],"ts":"',
        "], ",
        "<EOF>",
        "EOF",
        "é",
        "日本",
        "\u202e",
        "\U0001f4a3",
        "\u2028",
        " ",
    ),
    *("=", "notes", "pd_op_000000000000=1", "-- hidden", "plain words"),
)
KNOWN: Final = re.compile(
    r"--(?:append-notes|notes|set-metadata|actor|reason|title|description|priority|labels|deps|id|limit|sort"
    r"|status|assignee|claim|json|all|no-auto-flush|no-auto-import|help|flush-only|no-adopt)(?:=.*)?",
    re.DOTALL,
)


LONG: Final = 2_000
"""In bytes: of shorter texts, a task has room for those of a project beside a long one."""


class Recorder:
    """Runs programs, and keeps what they were given."""

    def __init__(self, programs: Programs) -> None:
        """Keep the programs."""
        self._programs = programs
        self.commands: list[list[str]] = []

    def find(self, name: str) -> str:
        """Find a program."""
        return self._programs.find(name)

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Run a program."""
        self.commands.append([*command])
        return self._programs.run(command)


class BeadsDesk(Desk):
    """A project whose tasks a `bd` keeps, which is recorded."""

    def __init__(self, programs: Programs, name: str = "bd") -> None:
        """Begin with one task."""
        self.recorder = Recorder(programs)
        self.names: set[str] = set()
        build = probe(self.recorder, Binary(name, 0, 0))
        installed = Installation(
            name, build, lambda _: self.recorder, lambda _: nullcontext(), lambda _: None, SystemClock()
        )
        self.calls = Calls(installed)
        super().__init__()

    def make_tracker(self, coordination: Coordination) -> Tracker:
        """Make Beads."""
        return Beads(self.calls, Holdings(lambda: coordination, 600.0))

    def add(self, title: str) -> str:
        """Add a task."""
        name = super().add(title)
        self.names.add(name)
        return name

    def told_as(self, option: str, task: str = "") -> list[str]:
        """Give the values of an option in the calls that name a task."""
        named = [one for one in self.recorder.commands if not task or task in one]
        return [word.partition("=")[2] for one in named for word in one if word.startswith(f"--{option}=")]


def make_text(numbers: random.Random) -> str:
    """Make a hostile text; one in a hundred is as long as a note may be."""
    text = "".join(numbers.choice(PIECES) for _ in range(numbers.randint(1, 12)))
    if numbers.random() < 0.01:
        unit = numbers.choice(("x", "ä", "\x01", '"', "$(touch hacked)"))
        text += unit * ((59_000 - len(make_text_safe(text).encode())) // len(unit.encode()))
    return text


def cleaned(text: str) -> str:
    """Give a text as it is kept: with bytes that no program can be given as escapes."""
    return make_text_safe(text)


def check_words(desk: BeadsDesk) -> None:
    """Check that each call has a verb, known options and names of tasks, and nothing else."""
    for command in desk.recorder.commands:
        for word in command[2:]:
            assert KNOWN.fullmatch(word) or word in desk.names, (command[1], word[:80])
            assert "\0" not in word
            word.encode()


def in_note(desk: BeadsDesk, text: str) -> None:
    """Add a note."""
    before = desk.text()
    assert desk.note(text)
    assert desk.text() == "\n".join(filter(None, [before, cleaned(text)]))


def in_close(desk: BeadsDesk, text: str) -> None:
    """Close a task with a note, whose words are set on one line."""
    desk.task = desk.add("to be closed")
    desk.claim()
    tracker_changes.close(desk.workspace, desk.account, CloseRequest(desk.task, text=text))
    words = " ".join(text.split())
    assert f"COMPLETED: {cleaned(words) or 'to be closed'}" in desk.text().splitlines()


def in_title(desk: BeadsDesk, text: str) -> None:
    """Add a task with a title and a text."""
    try:
        made = tracker_changes.create(
            desk.workspace, desk.account, Task(task="", title=text[:150], body=text)
        )
    except UsageError:  # nothing is left of it, or it is too long when its control characters are shown
        assert len(one_line(" ".join(text[:150].split()))) not in range(1, 201)
        return
    assert desk.told_as("title")[-1] == made.title
    desk.names.add(made.task)
    found = desk.workspace.tracker.find(made.task)
    assert found is not None
    assert (found.task.title, found.task.body) == (made.title, clean(text))


def in_id(desk: BeadsDesk, text: str) -> None:
    """Name a task that is not there: what could be an option reaches no program."""
    count = len(desk.recorder.commands)
    with pytest.raises(PassdownError):
        tracker_changes.claim(desk.workspace, desk.account, TaskSelection((text[:200],)))
    with pytest.raises((TrackerError, UsageError, FormatError)):
        tracker_changes.add_note(desk.workspace, desk.account, text[:200], "x")
    for command in desk.recorder.commands[count:]:
        assert not [word for word in command[2:] if not KNOWN.fullmatch(word) and word.startswith("-")]
    desk.recorder.commands[count:] = []


def in_record(desk: BeadsDesk, text: str) -> None:
    """Leave a record of another tool; what it says is added once."""
    line = f'"idempotencyKey": "T-1_1766646000_update_{desk.task}", "args": [--notes {text}]'
    record = f'{{"op": "update", "id": "{desk.task}", {line}, "ts": "2025-12-25T07:00:00Z", "retries": 3}}\n'
    safe = record.encode("utf-8", "replace").decode()
    desk.workspace.documents.replace(".conductor/pending_updates.jsonl", safe.encode())
    with tracker_changes.catch_up(desk.workspace, desk.account):
        pass
    known = [one for one in desk.operations() if one.record and one.task == desk.task]
    for one in known:
        assert one.action is not OperationAction.UPDATE or one.outcome == "done", one.error
        assert clean(one.note) in desk.text()


FIELDS: Final[tuple[Callable[[BeadsDesk, str], None], ...]] = (
    in_note,
    in_note,
    in_close,
    in_title,
    in_id,
    in_record,
)


def run_cases(make_desk: Callable[[], BeadsDesk], count: int, seed: int, each: int = 10) -> None:
    """Run cases, some of them in the same project; a task has room for one long text."""
    numbers = random.Random(seed)  # texts, not secrets
    desk, is_full = make_desk(), False
    for number in range(count):
        text = make_text(numbers)
        is_long = len(text.encode("utf-8", "replace")) > LONG
        if number % each == each - 1 or (is_long and is_full):
            desk, is_full = make_desk(), False
        is_full = is_full or is_long
        FIELDS[number % len(FIELDS)](desk, text)
        check_words(desk)
        desk.recorder.commands.clear()


@pytest.mark.proof
@pytest.mark.parametrize("version", fake_bd.BUILDS)
def test_a_hostile_text_is_one_argument_and_is_kept(tmp_path: Path, version: str) -> None:
    count = proof_count(fast=60, ci=100, long=10_000)
    folders = iter(range(count))

    def make_desk() -> BeadsDesk:
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        return BeadsDesk(FakePrograms(version, folder))

    run_cases(make_desk, count, seed=int(version.replace(".", "")))


@pytest.mark.proof
@pytest.mark.skipif(os.name == "nt", reason="the small `bd` is a script, which Windows does not start")
def test_no_part_of_a_hostile_text_is_executed(tmp_path: Path) -> None:
    folders = iter(range(10_000))

    def make_desk() -> BeadsDesk:
        bd = make_small(tmp_path / str(next(folders)))
        variables = {**os.environ, **bd.environment()}
        programs = SystemPrograms(str(tmp_path), variables=variables, separate=True)
        return BeadsDesk(programs, str(bd.bin / "bd"))

    run_cases(make_desk, proof_count(fast=6, ci=10, long=1_000), seed=7)

    assert not list(tmp_path.rglob(BOMB))


@pytest.mark.beads
@pytest.mark.parametrize("version", BUILDS)
def test_real_builds_keep_hostile_texts(tmp_path: Path, version: str) -> None:
    real = make_real(version, tmp_path, tmp_path / "template")

    run_cases(
        lambda: BeadsDesk(real.programs, str(find_bd(version))), proof_count(fast=6, ci=6, long=120), seed=3
    )

    assert not list(tmp_path.rglob(BOMB))
