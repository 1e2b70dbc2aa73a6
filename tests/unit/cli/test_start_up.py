"""Start-up is a budget: how many modules a call may load, and how much time it may take (`tests/timing.py`).

What is over its budget pays for itself or goes: a module that few calls need is loaded by those alone.
"""

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pytest

import passdown
from tests.house.loading import CALLS, SESSION, Stage, open_stage
from tests.timing import judge


class Budget(NamedTuple):
    """What a call may load and take."""

    ours: int
    others: int
    """Modules of Python and of libraries; a newer Python divides some of its own."""


BUDGETS: Final = MappingProxyType(
    {
        "version": Budget(ours=4, others=2),
        "prompt": Budget(ours=7, others=2),
        # Before every edit and command, where `install --edits` asked for it.
        "tool": Budget(ours=7, others=2),
        # Two of them hide state that git tracks, and judge paths that journals name (C119).
        # Exchanging a ledger takes 4 modules of ours, and `ctypes` with 4 of its own.
        # The boot to which the process of a session belongs takes 2.
        # What others decided under the key is in the index of the events: 28 with the database (C151).
        # Which decisions are in force under a key takes 2: the rule, and the index (C162).
        # Which files its facts name takes 2: the rule, and the index (C132).
        # What can be asked for takes 4: who calls, what is answered, facts, and their room (C157).
        "decide": Budget(ours=119, others=80),
        # The view takes 4 modules, the banner 2, whether there is a document from before Passdown 1, and what
        # other tools wrote down here 1; the frame of a brief 1, so that a turn's end need not load the brief;
        # whether somebody handed something over 1; which conversation it continues 1 (C153), where a ledger
        # may lie 1, which lines are of a track 1, which document no event holds 1, what is held 1,
        # which receipts are results of tests 1 (C121), what was seen of the work 1 (C135), lines 1, and which
        # decisions are in force 2 (C162). What fits takes 1, which files are at hand 1, and which facts name
        # them 2 (C132).
        # What can be asked for takes 6: who calls, what is answered, sessions, starts, briefs, their rooms.
        "session start": Budget(ours=156, others=78),
        # A turn that publishes commits, too: 12 modules for whether, and 3 for how; and makes the view: 6.
        # Other turns load 2 of these, to look whether an earlier one left something.
        # One judges what the turn did: whether the session gets worse (G9). One names its tests (C121). Which
        # files its facts name takes 2 (C132).
        # What can be asked for takes 5 (C157).
        "turn end": Budget(ours=169, others=80),
        "help": Budget(ours=12, others=80),
        # One module for each format, and one for how a view shows decisions that contradict each other.
        # What can be asked for takes 4 (C157). History is a format of its own (C134).
        "list of formats": Budget(ours=62, others=92),
    }
)
"""As measured, and a little for what is to come: raise a number only with the reason beside it."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Give a project, and the package that is tested."""
    with open_stage(Path(passdown.__file__).parents[1]) as made:
        yield made


def excess(budget: Budget, names: Sequence[str]) -> list[str]:
    """Say what of a budget is exceeded, and by what."""
    ours = sorted(name for name in names if name.split(".")[0] == "passdown")
    others = sorted(set(names) - set(ours))
    return [
        f"{len(found)} of {most} modules: {' '.join(found)}"
        for found, most in ((ours, budget.ours), (others, budget.others))
        if len(found) > most
    ]


@pytest.mark.parametrize("name", BUDGETS)
def test_a_call_loads_no_more_modules_than_it_may(stage: Stage, name: str) -> None:
    arguments, event = CALLS[name]

    assert excess(BUDGETS[name], stage.loaded(*arguments, event=event)) == []


@pytest.mark.timed
@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="the processor's time of another process is not told")
@pytest.mark.parametrize("name", BUDGETS)
def test_a_call_takes_no_more_time_than_it_may(stage: Stage, name: str) -> None:
    arguments, event = CALLS[name]

    judge(f"call, {name}", lambda: stage.time(*arguments, event=event))


EDIT: Final = Budget(ours=8, others=13)
"""Of an edit beside reservations: the C module of SQLite loads `functools` with all that it needs (C88)."""


@pytest.fixture(scope="module")
def shared(stage: Stage) -> Stage:
    """Give the project after another session has reserved a thousand files, and the stage's own one."""
    stage.loaded("start", "--new", "--session", "other")
    stage.loaded("reserve", "--session", "other", "part0/0.py")
    stage.loaded("reserve", "--session", SESSION, "src/own.py")
    copied = "project, kind, ?, session, fence, ttl, used, held_until, offer, ended, is_taken"
    copy = f"INSERT INTO leases SELECT {copied} FROM leases WHERE name = 'part0/0.py'"  # noqa: S608 - our own words
    database = sqlite3.connect(stage.root / ".git" / "passdown" / "coordination.sqlite")
    with database:
        database.executemany(copy, [(f"part{at // 50}/{at}.py",) for at in range(1, 1_000)])
    database.close()
    return stage


@pytest.mark.requirement("C77", "C88")
@pytest.mark.parametrize("name", ["src/own.py", "src/free.py"])
def test_an_edit_beside_a_thousand_reservations_loads_little(shared: Stage, name: str) -> None:
    edited = {"file_path": str(shared.root / name)}
    call = CALLS["tool"][0]

    loaded = shared.loaded(*call, event="PreToolUse", tool_name="Edit", tool_input=edited)

    assert excess(EDIT, loaded) == []


@pytest.mark.timed
@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="the processor's time of another process is not told")
@pytest.mark.requirement("C77", "C88")
@pytest.mark.parametrize("name", ["src/own.py", "src/free.py"])
def test_an_edit_beside_a_thousand_reservations_takes_little_time(shared: Stage, name: str) -> None:
    told = {"tool_name": "Edit", "tool_input": {"file_path": str(shared.root / name)}}

    judge(f"edit of {name}", lambda: shared.time(*CALLS["tool"][0], event="PreToolUse", **told))


def test_a_prompt_loads_nothing_but_what_reads_json(stage: Stage) -> None:
    arguments, event = CALLS["prompt"]
    others = [one for one in stage.loaded(*arguments, event=event) if not one.startswith("passdown")]

    assert set(others) <= {"_json", "gc"}


def test_help_loads_no_command(stage: Stage) -> None:
    names = stage.loaded("--help")

    assert not [name for name in names if name.startswith("passdown.faces.cli.commands")]


def test_what_is_over_a_budget_is_told() -> None:
    names = ["passdown", "passdown.core", "yaml", "yaml.loader"]

    assert excess(Budget(2, 2), names) == []
    assert excess(Budget(1, 2), names) == ["2 of 1 modules: passdown passdown.core"]
    assert excess(Budget(2, 1), names) == ["2 of 1 modules: yaml yaml.loader"]
