"""A ledger is the rendering of a session's account, and an edited ledger says new facts.

1. What an account knows takes its place in the ledger; everything else in the document stays.
2. What a person or agent wrote into the ledger since it was rendered becomes facts; what they took out is
   taken back. The number of the journal's last line that it shows tells what was there before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.accounts import Account, Entry
from passdown.core.facts import FactKind, Provenance, make_key
from passdown.core.ids import slug
from passdown.core.ledgers import Ledger, LedgerDecision, Mode, ReadFile, parse_ledger, render_ledger
from passdown.records import replace

RULED_OUT: Final = "Ruled out: "
"""How a constraint begins in Key Decisions: a ledger has no section for it."""

MAX_CHARS: Final = 32_768
"""How long a fact may be, its key and reason included; escaped it still fits a line of a journal."""

MOST_READS: Final = 20
"""How many files that a session was seen to read stand in its ledger: the last ones."""

_SETTLED: Final = frozenset({"completed", "deleted", "cancelled"})

ShowTime = Callable[[datetime], str]
"""Gives the local time of day, HH:MM, of an instant."""


class Said(NamedTuple):
    """A fact that has not been written yet."""

    kind: FactKind
    text: str
    key: str = ""
    because: str = ""


def fits(said: Said) -> bool:
    """Say whether a fact is short enough for a line of a journal."""
    return len(said.text) + len(said.key) + len(said.because) <= MAX_CHARS


def fill_ledger(ledger: Ledger, account: Account, show_time: ShowTime) -> Ledger:
    """Put what an account knows into a ledger (1); its times are the account's."""
    reads = _reads(account)
    return replace(
        ledger,
        updated=account.said_at,
        session_id=account.session,
        platform=account.start.host,
        bound_track=account.track or None,
        bound_bead=account.task or None,
        mode=read_mode(account),
        mode_locked_at=account.started_at,
        heartbeat=account.touched_at,
        journal_seq=account.last_seq,
        task_bead=account.task or None,
        task_track=account.track or None,
        goal=account.goal.text if account.goal else "",
        done=_texts(account, FactKind.DONE),
        now=account.now.text if account.now else "",
        next=_texts(account, FactKind.NEXT) or _planned(account),
        decisions=tuple(_rows(account, show_time)),
        branch=account.start.branch,
        modified=_texts(account, FactKind.FILE),
        read=tuple(ReadFile(path=entry.text, reason=entry.because) for entry in reads),
        questions=_texts(account, FactKind.QUESTION),
    )


def read_mode(account: Account) -> Mode:
    """Give the mode a session started in; one that nobody knows is that of a single agent."""
    return Mode(account.start.mode) if account.start.mode in set(Mode) else Mode.SINGLE


def _texts(account: Account, kind: FactKind) -> tuple[str, ...]:
    return tuple(entry.text for entry in _shown(account, kind))


def _reads(account: Account) -> tuple[Entry, ...]:
    """Give the files that were read: all that somebody named, and the last that were seen."""
    reads = _shown(account, FactKind.READ)
    seen = [entry for entry in reads if entry.provenance is Provenance.OBSERVED]
    older = set(seen[:-MOST_READS])
    return tuple(entry for entry in reads if entry not in older)


def _planned(account: Account) -> tuple[str, ...]:
    """Give the items of the host's plan that are not done: what is next, as long as nobody says it."""
    return tuple(entry.text for entry in _shown(account, FactKind.PLAN) if entry.because not in _SETTLED)


def _shown(account: Account, kind: FactKind) -> tuple[Entry, ...]:
    """Give the facts of a kind that can be shown: a blank one leaves no trace in a document."""
    return tuple(entry for entry in account.of(kind) if entry.text.strip())


def _rows(account: Account, show_time: ShowTime) -> Iterator[LedgerDecision]:
    for kind, entry in _choices(account):
        text = show_decision(entry) if kind is FactKind.DECISION else make_rule(entry.text)
        yield LedgerDecision(decision=text, reasoning=entry.because, when=show_time(entry.at))


def _choices(account: Account) -> Sequence[tuple[FactKind, Entry]]:
    """Give decisions and constraints in the order in which they were made."""
    found = [
        (kind, one) for kind in (FactKind.DECISION, FactKind.CONSTRAINT) for one in _shown(account, kind)
    ]
    return sorted(found, key=lambda choice: choice[1].seq)


def make_rule(text: str, because: str = "") -> str:
    """Say what is ruled out, and why, so that nobody takes it for a wish wherever it is read."""
    rule = text if text.startswith(RULED_OUT) else f"{RULED_OUT}{text}"
    return f"{rule} ({because})" if because else rule


def show_decision(entry: Entry) -> str:
    """Show a decision with its key, unless the key is made of its words."""
    return entry.text if entry.key == slug(entry.text) else f"{entry.key}: {entry.text}"


def find_edits(ledger: Ledger, base: Account, show_time: ShowTime) -> Sequence[Said]:
    """Find what was changed by hand in a ledger that was rendered from `base` (2).

    What was taken out is named as the session said it, which is not always how the ledger showed it.
    """
    shown = show_ledger(base, show_time)
    said: list[Said] = []
    said += _binding_edit(
        "track", (shown.bound_track, shown.task_track), (ledger.bound_track, ledger.task_track)
    )
    said += _binding_edit("task", (shown.bound_bead, shown.task_bead), (ledger.bound_bead, ledger.task_bead))
    said += _one_edit(FactKind.GOAL, shown.goal, ledger.goal)
    said += _one_edit(FactKind.NOW, shown.now, ledger.now)
    if shown.next != ledger.next:
        said.append(Said(FactKind.NEXT, "\n".join(" ".join(text.split("\n")) for text in ledger.next)))
    for kind, before, after in (
        (FactKind.DONE, shown.done, ledger.done),
        (FactKind.QUESTION, shown.questions, ledger.questions),
        (FactKind.FILE, shown.modified, ledger.modified),
    ):
        said += _list_edits(kind, _shown(base, kind), before, after)
    said += _decision_edits(_choices(base), shown.decisions, ledger.decisions)
    said += _read_edits(_reads(base), shown.read, ledger.read)
    return said


def show_ledger(account: Account, show_time: ShowTime) -> Ledger:
    """Give the ledger of an account as it reads once it was written down."""
    return parse_ledger(render_ledger(fill_ledger(Ledger(), account, show_time)))


_Both = tuple[str | None, str | None]


def _binding_edit(key: str, before: _Both, after: _Both) -> Iterator[Said]:
    """Take what is bound from the front matter, or from the body where only that was changed."""
    changed = next((new for old, new in zip(before, after, strict=True) if old != new), before[0])
    if changed != before[0]:
        yield Said(FactKind.BINDING, changed or "", key)


def _one_edit(kind: FactKind, before: str, after: str) -> Iterator[Said]:
    if before != after:
        yield Said(kind, after) if after else Said(FactKind.RETRACTION, before, kind.value)


def _list_edits(
    kind: FactKind, entries: Sequence[Entry], before: Sequence[str], after: Iterable[str]
) -> Iterator[Said]:
    old = {make_key(text): entry for text, entry in zip(before, entries, strict=False)}
    new = {make_key(text): text for text in after}
    for key, entry in old.items():
        if key not in new:
            yield Said(FactKind.RETRACTION, entry.text, kind.value)
    yield from (Said(kind, text) for key, text in new.items() if key not in old)


def _read_edits(
    entries: Sequence[Entry], before: Sequence[ReadFile], after: Iterable[ReadFile]
) -> Iterator[Said]:
    old = {one.path: (one.reason, entry) for one, entry in zip(before, entries, strict=False)}
    new = {one.path: one.reason for one in after}
    for path, (_, entry) in old.items():
        if path not in new:
            yield Said(FactKind.RETRACTION, entry.text, FactKind.READ.value)
    for path, reason in new.items():
        if path not in old:
            yield Said(FactKind.READ, path, because=reason)
        elif old[path][0] != reason:
            yield Said(FactKind.READ, old[path][1].text, because=reason)


def _decision_edits(
    choices: Sequence[tuple[FactKind, Entry]],
    before: Sequence[LedgerDecision],
    after: Iterable[LedgerDecision],
) -> Iterator[Said]:
    old = {one.decision: (one.reasoning, *choice) for one, choice in zip(before, choices, strict=False)}
    new = {one.decision: one.reasoning for one in after}
    for text, (_, kind, entry) in old.items():
        if text not in new:
            target = entry.text if kind is FactKind.CONSTRAINT else entry.key
            yield Said(FactKind.RETRACTION, target, kind.value)
    for text, reasoning in new.items():
        if text not in old:
            yield _read_choice(text, reasoning)
        elif old[text][0] != reasoning:
            _, kind, entry = old[text]
            if kind is FactKind.CONSTRAINT:  # its reason is a part of what it says
                yield Said(FactKind.RETRACTION, entry.text, kind.value)
                yield _read_choice(text, reasoning)
            else:
                yield Said(kind, entry.text, entry.key, reasoning)


def _read_choice(text: str, reasoning: str) -> Said:
    """Read a row that somebody wrote."""
    if text.startswith(RULED_OUT):
        return Said(FactKind.CONSTRAINT, make_rule(text, reasoning))
    key, said = split_decision(text)
    return Said(FactKind.DECISION, said, key, reasoning)


def split_decision(text: str) -> tuple[str, str]:
    """Read a decision's key and text as `show_decision` wrote them; without a key its words make one."""
    key, colon, rest = text.partition(": ")
    if colon and rest and " " not in key:
        return key, rest
    return slug(text), text
