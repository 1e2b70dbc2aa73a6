"""Many sessions that ended, quickly made: their journals, and events that are committed."""

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from passdown.core.facts import Fact
from passdown.core.formats.events import render_event
from passdown.core.formats.journal import NOT_PUBLISHED, SESSION_END, JournalLine, render_line
from passdown.core.holds import PUBLISHED
from passdown.core.ids import event_file_name
from passdown.core.kinds import FactKind
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import SessionStart, fold_journal, make_start
from tests.looks import hands_on
from tests.support.gits import Project
from tests.support.projects import EVENTS

JOURNALS: Final = ".git/passdown/journal"
INDEX: Final = ".git/passdown/cache/ended.sqlite"


def name_session(number: int) -> str:
    """Return the id of one of these sessions."""
    return f"s-{number:012x}"


@hands_on
def put_ended(project: Project, count: int, at: datetime, *, first: int = 1) -> None:
    """Let sessions have ended here, each a second after the one before, and commit their events."""
    journals, events = project.folder / JOURNALS, project.folder / EVENTS
    journals.mkdir(parents=True, exist_ok=True)
    events.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        session, agent = name_session(number), f"crane-{number:08x}"
        began = at + timedelta(seconds=number)
        start = SessionStart(
            host="claude-code", host_session=f"host-{number}", checkout=str(project.folder), branch="main"
        )
        facts = (
            make_start(start, began, agent),
            Fact(FactKind.DONE.value, f"did {number}", began, agent),
            Fact(FactKind.END.value, "session-end", began, agent, key=PUBLISHED),
        )
        lines = [JournalLine(seq=seq, fact=fact) for seq, fact in enumerate(facts, 1)]
        path = journals / f"{session}.jsonl"
        path.write_text("".join(map(render_line, lines)), encoding="utf-8")
        event = make_event(
            fold_journal(session, lines), lines, NOT_PUBLISHED, kind=SESSION_END, reason="session-end"
        )
        assert event is not None
        (events / event_file_name(began, agent)).write_text(render_event(event), encoding="utf-8")
    project.git("add", "--", EVENTS)
    project.git("commit", "--quiet", "--message=Sessions")


def live_names(folder: Path) -> set[str]:
    """Return the sessions whose journals are live."""
    return {path.stem for path in (folder / JOURNALS).glob("*.jsonl")}


def ended_journals(folder: Path) -> Mapping[str, bytes]:
    """Return the journals that were archived, by session."""
    return {path.stem: path.read_bytes() for path in (folder / JOURNALS).glob("ended/*/*.jsonl")}


def lose_index(folder: Path) -> None:
    """Remove the index of ended journals."""
    for end in ("", "-wal", "-shm", "-journal"):
        (folder / f"{INDEX}{end}").unlink(missing_ok=True)


def age(folder: Path, session: str) -> None:
    """Let the journal of a session be the one that grew first."""
    os.utime(folder / JOURNALS / f"{session}.jsonl", (1, 1))
