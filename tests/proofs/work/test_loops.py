"""Loops under people who edit anything, texts that mean harm, and logs that grow."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.formats.loops import Turn, parse_loop, render_feedback, render_turn
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_seconds
from passdown.core.work.loops import ImplementationReport
from passdown.engines.sqlite.event_index import SqliteIndex, open_index
from passdown.errors import PassdownError, UsageError
from passdown.services.handover.briefs import read_brief_input
from passdown.services.sessions.loop_feedback import record_feedback
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.services.work.changes import list_changes
from passdown.services.work.feedback import dismiss_feedback
from passdown.services.work.loops import (
    OpenRequest,
    TurnRequest,
    append_turn,
    leave_feedback,
    open_loop,
)
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Settings
from passdown.testing.memory.change_files import MemoryChanges
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.support.events import make_text
from tests.support.gits import make_started
from tests.support.projects import open_checkout
from tests.support.sessions import NOON, Place, end_session, make_place, with_parts

LEDGER = "changes/habits/loops/ideation.md"
_PIECES = (
    *("\n", "\r\n", "---\n", "\n---\n", "```\n", "~~~", "<!--", "-->", "## User Feedback\n", "## Turn 9\n"),
    *(
        "<!-- turn 4 -->\n",
        "<!-- feedback -->\n",
        "Yes, but slower.\n",
        "\ufeff",
        "\x00",
        "\u202e",
        "é",
        "# T\n",
    ),
    *("(Leave blank to continue. Write notes here to guide the next iteration.)", "\\---\n", "| a | b |\n"),
)


def _edit(text: str, chance: random.Random) -> str:
    """Edit a text anywhere, as a person in a hurry would."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.choice((0, 0, 0, 1, 7, 90)))
        text = text[:at] + chance.choice(_PIECES) + text[end:]
    return text.replace("\n", "\r\n") if chance.random() < 0.1 else text


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R155")
@pytest.mark.parametrize("is_file", [False, True], ids=["in memory", "as files"])
def test_a_thousand_edits_by_hand_keep_every_byte(tmp_path: Path, tell: Tell, *, is_file: bool) -> None:
    """After each edit a turn or feedback is added: what was there before is there to the byte."""
    count = proof_count(fast=20, ci=30, long=1_000) if is_file else proof_count(fast=60, ci=80, long=10_000)
    chance = random.Random(16)
    desk = FileDesk(tmp_path) if is_file else MemoryDesk()
    workspace = desk.workspace
    account = make_account(workspace)
    open_loop(workspace, OpenRequest(change="habits", loop="ideation"))
    for number in range(count):
        if number % 20 == 0:  # what was edited long enough is begun anew
            desk.write(b"# Ideation Loop\n")
            append_turn(workspace, account, TurnRequest(change="habits", loop="ideation", text="First."))
        before = _edit(desk.read().decode(), chance).encode()
        desk.write(before)

        said = f"Said {number}."
        if chance.random() < 0.5 or not parse_loop(before.decode()).turns:
            append_turn(workspace, account, TurnRequest(change="habits", loop="ideation", text=said))
            assert parse_loop(desk.read().decode()).turns[-1].text.endswith(said)
        else:
            left = leave_feedback(workspace, "habits", "ideation", said)
            assert left.text.endswith(said)

        assert desk.read().startswith(before)
    tell(count)


class FileDesk:
    """A ledger in a checkout."""

    def __init__(self, folder: Path) -> None:
        """Make the checkout."""
        project = make_started(folder / "project").folder
        self.workspace = open_checkout(project, Settings())
        self._path = project / LEDGER

    def read(self) -> bytes:
        """Read the ledger."""
        return self._path.read_bytes()

    def write(self, data: bytes) -> None:
        """Write the ledger as an editor does."""
        self._path.write_bytes(data)


class MemoryDesk:
    """A ledger in memory."""

    def __init__(self) -> None:
        """Make the project."""
        self._changes = MemoryChanges()
        place = make_place()
        self.workspace: Workspace = with_parts(place, change_files=self._changes)
        self._changes.write("habits", "state.md", b"# SDD State: habits\n")
        place.documents.replace("changes/habits/state.md", b"# SDD State: habits\n")

    def read(self) -> bytes:
        """Read the ledger."""
        return self._changes.read("habits", "loops/ideation.md") or b""

    def write(self, data: bytes) -> None:
        """Write the ledger as an editor does."""
        self._changes.write("habits", "loops/ideation.md", data)


def make_account(workspace: Workspace) -> Account:
    """Start a session."""
    return start_session(workspace, StartRequest()).account


# --- texts that mean harm -------------------------------------------------------------------------

_WORDS = (
    *(
        "--help",
        "-rf",
        "--session",
        "'",
        '"',
        "`",
        "$(touch {canary})",
        "`touch {canary}`",
        "; touch {canary}",
    ),
    *(
        "| touch {canary}",
        "&& touch {canary}",
        "\n",
        "\r\n",
        "\n---\n",
        "\n## User Feedback\n\n",
        "../../x",
        "/",
    ),
    *(
        "<!-- turn 99 -->",
        "\n<!-- turn 7 -->\n",
        "\n<!-- feedback -->\n",
        "```",
        "\n```sh\n",
        "~~~",
        "<!--",
        "-->",
    ),
    *(
        "%s%n",
        "{0}",
        "{x}",
        "\x00",
        "\x1b[2J",
        "\u202e",
        "\ud800",
        "\ufeff",
        "é",
        "🙂",
        "a|b",
        "\\",
        "\\---",
        "| x |",
    ),
    *(
        "(Leave blank to continue. Write notes here to guide the next iteration.)",
        "none",
        "=",
        "x=y",
        " ",
        "word",
    ),
    "y" * 60_000,
)


def _hostile(chance: random.Random, canary: Path) -> str:
    words = [chance.choice(_WORDS[:-1]) for _ in range(chance.randint(1, 8))]
    if chance.random() < 0.01:
        words.insert(chance.randint(0, len(words)), _WORDS[-1])
    return "".join(words).replace("{canary}", str(canary))


def _said(text: str) -> str:
    """A text without what no text file keeps: line ends, bytes that are no text, blanks around it."""
    return "".join(text.encode("utf-8", "backslashreplace").decode().split())


@pytest.mark.proof
@pytest.mark.timeout(0)
def test_no_text_in_any_field_is_executed_or_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    count = proof_count(fast=40, ci=100, long=10_000)
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **_: started.append(arguments))
    monkeypatch.setattr(os, "system", started.append)
    canary, chance = tmp_path / "canary", random.Random(105)
    for number, place in zip(range(count), _places(), strict=False):
        fields = [_hostile(chance, canary) for _ in range(8)]
        _go_through(place, number, fields)

    assert not canary.exists()
    assert started == []
    tell(count)


def _places() -> Iterator[Place]:
    """Give a project for so many cases; a ledger that is too long costs too much."""
    while True:
        place = make_place()
        place.documents.replace("changes/x/tasks.md", b"## [-] 01: a\n")
        state = b"# SDD State: x\n\n## Proposal\n\n- Status: approved\n"
        changes = MemoryChanges()
        changes.write("x", "state.md", state)
        changes.write("x", "loops/implement-01.md", b"# Implementation: Task 01\n")
        place.documents.replace("changes/x/state.md", state)
        workspace = with_parts(place, change_files=changes)
        one = Place(
            project=workspace,
            clock=place.clock,
            documents=place.documents,
            repository=place.repository,
            history=place.history,
            log=place.log,
            processes=place.processes,
        )
        for _ in range(3):
            yield one


def _go_through(place: Place, number: int, fields: list[str]) -> None:
    workspace, account = place.project, place.start(host_session="one")
    text, answers, escalation, file, change, validation, deviation, feedback = fields
    for name in fields:
        with pytest.raises(PassdownError):  # neither a change nor a loop can be called so
            open_loop(workspace, OpenRequest(change=f"{name}/", loop="ideation"))
        with pytest.raises(PassdownError):
            append_turn(workspace, account, TurnRequest(change="x", loop=f"{name} ", text=text))
    report = ImplementationReport("PARTIAL", ((file, change),), validation, (deviation,))
    request = TurnRequest(
        change="x",
        loop="implement-01",
        text=text,
        answers=(answers,),
        report=report,
        escalation=escalation if escalation.strip() else "x",
    )
    before = workspace.change_files.read("x", "loops/implement-01.md") or b""
    added = append_turn(workspace, account, request)
    ledger = workspace.change_files.read("x", "loops/implement-01.md") or b""
    turn = parse_loop(ledger.decode()).turns[-1]

    assert ledger.startswith(before)
    assert (turn.number, turn.agent) == (added.number, account.agent)
    said = _said(turn.text)
    for one in (text, validation, request.escalation, deviation):
        assert _said(one) in said, (number, one)
    assert _said(change.replace("\\", "\\\\").replace("|", "\\|")) in said
    if number % 3 == 0:
        with suppress(UsageError):  # one that says nothing is refused
            leave_feedback(workspace, "x", "implement-01", feedback)
        turns = parse_loop((workspace.change_files.read("x", "loops/implement-01.md") or b"").decode()).turns
        assert turns[:-1] == parse_loop(ledger.decode()).turns[:-1]
        assert turns[-1].text == turn.text
        for fact in read_brief_input(workspace, account).of(FactKind.FEEDBACK):
            dismiss_feedback(workspace, account, fact)
    assert list_changes(workspace)[0].facts.name == "x"


# --- logs that grow -------------------------------------------------------------------------------


@pytest.mark.proof
@pytest.mark.timeout(0)
def test_feedback_that_was_answered_elsewhere_stays_answered_a_hundred_thousand_events_later(
    tmp_path: Path, tell: Tell
) -> None:
    """A ledger comes to another machine with the events: nobody is asked again, by brief or start."""
    count = proof_count(fast=500, ci=2_000, long=100_000)
    ledger = render_turn("", Turn(number=1, text="Asked."))
    ledger += render_feedback(ledger, "Use SQLite")
    changes = MemoryChanges()
    changes.write("x", "loops/specs.md", ledger.encode())
    there = make_place()
    there.documents.replace("changes/x/state.md", b"")
    answering = with_parts(there, change_files=changes)
    account = record_feedback(answering, there.start())
    (fact,) = read_brief_input(answering, account).of(FactKind.FEEDBACK)
    there.say(account, FactKind.ANSWER, "It does.", fact.text)
    there.say(account, FactKind.RETRACTION, fact.text, FactKind.FEEDBACK.value)
    end_session(answering, account)
    for number in range(count):
        at = NOON + timedelta(minutes=1, seconds=number)
        text = make_text(render_seconds(at), f"agent-{number % 7}", this_session=[f"item {number}"])
        there.log.create("", f"{at:%Y-%m-%dT%H-%M-%S}Z_agent-{number % 7}-{number}.md", text.encode())

    here = make_place(entropy=90)
    here.documents.replace("changes/x/state.md", b"")
    here.clock.at = NOON + timedelta(days=3)
    index = open_index(str(tmp_path / "index.db"))
    assert isinstance(index, SqliteIndex)
    workspace = with_parts(here, change_files=changes, log=there.log, index=index)
    started = record_feedback(workspace, make_account(workspace))

    assert read_brief_input(workspace, started).of(FactKind.FEEDBACK) == ()
    assert started.of(FactKind.FEEDBACK) == ()
    index.close()
    tell(count)
