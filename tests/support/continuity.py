"""How much of what the next session needs it is told, by a brief and by what else it could read.

After a long history, a last session works on three files, runs a test that fails, and ends. The next one
needs its goal, its state, its next step, what it decided, ruled out and asked, the files, the failing test
and the agent's last words, and what earlier sessions left in force about these files. That is needed whether
or not the agents recorded it: one records all of it, one half of it, one nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import Budget, measure
from passdown.core.evidence.histories import SessionHistory
from passdown.core.facts import Provenance
from passdown.core.kinds import INHERITED, FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.records import record, replace
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.evaluations import write_history
from passdown.services.log.history import EventTexts
from passdown.services.sessions.journals import append_facts, read_account
from passdown.services.sessions.session_end import close_session
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace

_NONCE: Final = "0123456789ab"
_FILES: Final = 3
_HALF: Final = 2


class Recording(StrEnum):
    """How much an agent records."""

    ALL = "everything"
    HALF = "half of it"
    NONE = "nothing"


@record
class LastSession:
    """What the last session said and did."""

    stated: Annotated[tuple[NewFact, ...], "What it would record."]
    seen: Annotated[tuple[NewFact, ...], "What was seen of it."]
    files: Annotated[tuple[str, ...], "The files that it edited."]


class Told(NamedTuple):
    """How many of its needs the next session is told by each source; nothing at all tells none."""

    needs: int
    on_record: int
    """How many of them are written down anywhere, so that they can be told."""
    brief: int
    log: int
    grep: int


def make_last(history: SessionHistory) -> LastSession:
    """Let a session work on the files that most of what is in force names."""
    lasting = (one for one in history.held if one.kind in INHERITED and one.file)
    counts = Counter(one.file for one in lasting)
    files = tuple(sorted(counts, key=lambda path: (-counts[path], path))[:_FILES])
    goal = "Exports of a whole year end within a minute"
    stated = (
        NewFact(FactKind.GOAL, goal),
        NewFact(FactKind.NOW, "Read rows in portions instead of all at once"),
        NewFact(FactKind.NEXT, "Measure an export of ten million rows"),
        NewFact(FactKind.DECISION, "Portions of 5,000 rows, one query each", "portions"),
        NewFact(FactKind.CONSTRAINT, "No second connection: the pool has only four"),
        NewFact(FactKind.QUESTION, "May an export miss rows that were added while it ran?"),
    )
    seen = (
        NewFact(FactKind.PROMPT, f"{goal}, please"),
        NewFact(FactKind.PROMPT, "Now run the tests"),
        *(NewFact(FactKind.FILE, path) for path in files),
        NewFact(FactKind.TEST, "pytest tests/test_exports.py", "1"),
        NewFact(FactKind.WORDS, "One test fails: the last portion is written twice."),
    )
    return LastSession(stated=stated, seen=seen, files=files)


def list_needs(history: SessionHistory, last: LastSession) -> Sequence[str]:
    """List what the next session needs, as words that a text must contain."""
    own = [one.text for one in (*last.stated, *last.seen) if one.kind is not FactKind.PROMPT]
    about = [one.text for one in history.held if one.kind in INHERITED and one.file in last.files]
    return [*own, *about]


def select_stated(last: LastSession, recording: Recording) -> Sequence[NewFact]:
    """Return what an agent records of what it could."""
    if recording is Recording.NONE:
        return ()
    return last.stated if recording is Recording.ALL else last.stated[::_HALF]


def reduce_history(history: SessionHistory, recording: Recording) -> SessionHistory:
    """Leave out of the events what an agent does not record; files and results of tests are seen."""
    if recording is Recording.ALL:
        return history
    events = [
        replace(
            event,
            goal=None,
            now=None,
            next=None,
            decisions=tuple(one for one in event.decisions if _is_kept(one.value, recording)),
            constraints=tuple(text for text in event.constraints if _is_kept(text, recording)),
            open_questions=tuple(text for text in event.open_questions if _is_kept(text, recording)),
            this_session=tuple(text for text in event.this_session if _is_kept(text, recording)),
            receipts=event.receipts[1:],
            checkpoints=(),
            gates=(),
            answers=(),
            origins=(),
            more=(),
        )
        for event in history.events
    ]
    return replace(history, events=tuple(events))


def _is_kept(text: str, recording: Recording) -> bool:
    return recording is Recording.HALF and sum(text.encode()) % _HALF == 0


def find_lines(texts: Iterable[str], files: Sequence[str]) -> str:
    """Return the lines of texts that name one of some files, as `grep` prints them."""
    names = [path.rpartition("/")[2] for path in files]
    found = (line for text in texts for line in text.splitlines() if any(name in line for name in names))
    return "\n".join(found)


def cut(text: str, budget: Budget) -> str:
    """Return as much of the start of a text as a budget holds."""
    low, high = 0, min(len(text), budget.characters)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if budget.holds(measure(text[:middle])) else (low, middle - 1)
    return text[:low]


class Sources(NamedTuple):
    """What the next session could read."""

    brief: str
    log: str
    grep: str


def count_told(needs: Sequence[str], on_record: str, sources: Sources) -> Told:
    """Count the needs that are on record, and those that each source tells."""
    found = [sum(one in text for one in needs) for text in (on_record, *sources)]
    return Told(len(needs), *found)


def add_up(rows: Iterable[Told]) -> Told:
    """Add up what was counted for several histories."""
    return Told(*map(sum, zip(*rows, strict=True)))


def measure_continuity(
    workspace: Workspace, history: SessionHistory, recording: Recording, budgets: Sequence[Budget]
) -> Sequence[Told]:
    """Write a history and a last session into an empty project; count what the next one is told.

    The log is read the newest event first, and so are the lines that name a file of the last session.
    """
    write_history(workspace, reduce_history(history, recording))
    last = make_last(history)
    account = start_session(workspace, StartRequest(is_new=True)).account
    append_facts(workspace, account, select_stated(last, recording), Provenance.STATED)
    append_facts(workspace, account, last.seen, Provenance.OBSERVED)
    close_session(workspace, read_account(workspace, account.session))
    brief_input = read_brief_input(workspace, None)
    texts = EventTexts(workspace.log)
    log = [text for place in workspace.index.places() if (text := texts.read(place))]
    needs = list_needs(history, last)
    on_record = "\n".join([*log, *(one.text for one in last.seen)])
    frame = BriefFrame(nonce=_NONCE)
    return [
        count_told(
            needs,
            on_record,
            Sources(
                pack_brief(brief_input, budget, workspace.now(), frame).text,
                cut("\n".join(log), budget),
                cut(find_lines(log, last.files), budget),
            ),
        )
        for budget in budgets
    ]
