"""What a session publishes: the lines of its journal that no event covers yet, as one event (C57, C61).

1. The last goal, now and list of next steps of those lines.
2. What they state and do not take back again.
3. What they take back or answer, also when it was stated before them.
4. Prompts, notes to oneself, plans, files that were read and commands stay on the machine, and so does a goal
   or now that is a prompt. Of commands only tests are told, with their exit codes.
"""

from collections.abc import Iterable, Iterator, Sequence

from passdown.core.accounts import Account, Entry, entry_key, fold_journal, only_shared
from passdown.core.checkpoints import read_state
from passdown.core.events import Event, EventCheckpoint
from passdown.core.facts import FactKind, Provenance, make_key
from passdown.core.fields import read_count
from passdown.core.ids import fact_id
from passdown.core.journal import JournalLine
from passdown.core.pairs import Pair
from passdown.core.problems import Malformed
from passdown.core.sources import show_test
from passdown.core.unpublished import PUBLIC, RECEIPTS, open_lines


def _after(lines: Iterable[JournalLine], covered: int) -> Sequence[JournalLine]:
    return [line for line in lines if line.seq > covered]


def make_event(
    account: Account, lines: Sequence[JournalLine], covered: int, *, kind: str, reason: str
) -> Event | None:
    """Make the event that publishes what is open; None when nothing is.

    The account tells whose event it is. What is published comes from the lines alone: one that was written
    after the account was read is covered, so it must be in the event.
    """
    wanted = open_lines(lines, covered)
    if not wanted:
        return None
    # All that is open is folded: a receipt that was taken back again is not published.
    whole = only_shared(fold_journal(account.session, lines))
    said = only_shared(fold_journal(account.session, _after(lines, covered)))
    void = {kind: _void(wanted, kind) for kind in (FactKind.DONE, FactKind.DECISION, FactKind.CONSTRAINT)}
    return Event(
        agent=account.agent,
        branch=account.start.branch,
        type=kind,
        reason=reason,
        session=account.session,
        track=whole.track or None,
        covers=f"{covered + 1}-{max(line.seq for line in lines)}",
        goal=_register(whole.goal, covered),
        now=_register(whole.now, covered),
        next=_next(whole, wanted),
        this_session=_texts(said, FactKind.DONE),
        decisions=tuple(Pair(key=one.key, value=_reasoned(one)) for one in said.of(FactKind.DECISION)),
        checkpoints=tuple(_checkpoint(entry, whole.task) for entry in said.of(FactKind.CHECKPOINT)),
        open_questions=_texts(said, FactKind.QUESTION),
        constraints=_texts(said, FactKind.CONSTRAINT),
        receipts=tuple(_receipt(kind, entry) for kind in RECEIPTS for entry in said.of(kind)),
        feedback=_texts(said, FactKind.FEEDBACK),
        files_modified=_texts(said, FactKind.FILE),
        provenance=tuple(_provenance(said)),
        resolved_questions=_resolved(wanted, said),
        retracted_done=void[FactKind.DONE],
        retracted_decisions=void[FactKind.DECISION],
        retracted_constraints=void[FactKind.CONSTRAINT],
    )


def _texts(said: Account, kind: FactKind) -> tuple[str, ...]:
    return tuple(entry.text for entry in said.of(kind))


def _receipt(kind: FactKind, entry: Entry) -> str:
    """Show what was done; a test with its exit code, if that is known."""
    return show_test(entry.text, entry.key) if kind is FactKind.TEST else entry.text


def _register(entry: Entry | None, covered: int) -> str | None:
    """Give a text that holds, if one of the open lines says it: what was seen does not oust what was said."""
    return entry.text if entry is not None and entry.seq > covered else None


def _next(account: Account, wanted: Iterable[JournalLine]) -> tuple[str, ...] | None:
    """Give the whole list as it stands when any line changed it: the newest list is the one that counts."""
    changed = any(
        line.fact.kind == FactKind.NEXT
        or (line.fact.kind == FactKind.RETRACTION and line.fact.key == FactKind.NEXT)
        for line in wanted
    )
    return _texts(account, FactKind.NEXT) if changed else None


def _reasoned(entry: Entry) -> str:
    return f"{entry.text} ({entry.because})" if entry.because else entry.text


def _checkpoint(entry: Entry, task: str) -> EventCheckpoint:
    """Read `key` as the phase and the text as its state; what is no state is the phase's name."""
    phase: int | None
    try:
        phase = read_count(entry.key)
    except Malformed:
        phase = None
    try:
        state, name = read_state(entry.text), entry.because or None
    except Malformed:
        state, name = None, entry.text
    return EventCheckpoint(phase=phase, status=state, updated=entry.at, name=name, task=task or None)


def _provenance(said: Account) -> Iterator[Pair]:
    registers = {FactKind.GOAL: said.goal, FactKind.NOW: said.now}
    lists = {kind.value: (entry,) for kind, entry in registers.items() if entry is not None}
    for kind, entries in sorted({**lists, **said.lists}.items()):
        for entry in entries:
            if entry.provenance is not Provenance.STATED and kind in PUBLIC:
                yield Pair(key=fact_id(kind, entry.text), value=entry.provenance.value)


def _void(wanted: Sequence[JournalLine], kind: FactKind) -> tuple[str, ...]:
    """Name what was taken back and not stated again after that (3)."""
    void: dict[str, str] = {}
    for line in wanted:
        fact = line.fact
        if fact.kind == FactKind.RETRACTION and fact.key == kind:
            void[make_key(fact.text)] = fact.text
        elif fact.kind == kind:
            void.pop(entry_key(kind, fact), None)
    return tuple(void.values())


def _resolved(wanted: Sequence[JournalLine], said: Account) -> tuple[str, ...]:
    """Name the questions that were answered or taken back and not asked again."""
    answered = {line.fact.key or "": None for line in wanted if line.fact.kind == FactKind.ANSWER}
    names = dict.fromkeys((*answered, *_void(wanted, FactKind.QUESTION)))
    still_open = {make_key(entry.text) for entry in said.of(FactKind.QUESTION)}
    return tuple(name for name in names if name and make_key(name) not in still_open)
