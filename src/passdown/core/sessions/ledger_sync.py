"""Keep a ledger and the account of its session in sync: edits to a ledger become new facts.

1. The facts of the account are written into the ledger; everything else in the document stays.
2. What a user or agent added to the ledger since it was rendered becomes facts; what they removed is
   retracted. The ledger has the number of the last journal line, which tells what it showed before. The
   question of an escalated gate comes back, because it is unknown whether a person removed it (C154).
3. A time of day that they wrote stays: that of a new row becomes a member of its fact; that of an existing
   row stays in the ledger until the fact is stated again (C26).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from passdown.core.documents.documents import key_line
from passdown.core.facts import ADD, SETTLED, TIME, Fact, Provenance, is_escalation, make_key
from passdown.core.formats.ledgers import (
    GateResult,
    Ledger,
    LedgerDecision,
    Mode,
    ReadFile,
    TddPhase,
    Validation,
    parse_ledger,
    render_ledger,
)
from passdown.core.ids import slug
from passdown.core.json_text import dump
from passdown.core.kinds import FURTHER, FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, warning
from passdown.core.sessions.session_facts import Account
from passdown.core.sessions.session_facts import NewFact as NewFact  # noqa: PLC0414 - many import it from here
from passdown.records import replace

RULED_OUT: Final = "Ruled out: "
"""The prefix of a constraint in Key Decisions: a ledger has no section for constraints."""

UNCONFIRMED: Final = "UNCONFIRMED: "
"""The prefix of a question about something unverified (R68, R77)."""
_BLOCKING: Final = pattern(r"\s*block(ed|er|ing)\b", re.IGNORECASE)

MAX_CHARS: Final = 32_768
"""The most characters of a fact with key and reason; even escaped, that fits a journal line."""

MOST_READS: Final = 20
"""How many of the most recently read files a ledger lists."""

TRACK: Final = "track"
TASK: Final = "task"
"""The keys of a binding: the track, and the claimed task."""

_NOW: Final = "State/Now"

ShowTime = Callable[[datetime], str]
"""Returns the local time of day of an instant, as HH:MM."""


def fits_a_line(new_fact: NewFact) -> bool:
    """Return whether a fact is short enough for a journal line."""
    return len(new_fact.text) + len(new_fact.key) + len(new_fact.because) <= MAX_CHARS


def carry_steps(steps: Iterable[Fact]) -> Iterator[NewFact]:
    """Yield next steps to carry on; those with the same author and time stay together."""
    key = ""
    for _, some in groupby(steps, key=lambda fact: (fact.agent, fact.at, fact.commit)):
        same = list(some)
        yield NewFact(FactKind.NEXT, "\n".join(fact.text for fact in same), key, origin=same[0])
        key = ADD


def retract_begun_steps(new_facts: Iterable[NewFact], account: Account) -> Iterator[NewFact]:
    """Retract next steps that are now current or done (C152), ignoring case."""
    for one in new_facts:
        yield one
        if one.kind in {FactKind.NOW, FactKind.DONE}:
            said = _fold_words(one.text)
            for step in account.of(FactKind.NEXT):
                if _fold_words(step.text) == said:
                    yield NewFact(FactKind.RETRACTION, step.text, FactKind.NEXT.value)


def is_blocking(question: str) -> bool:
    """Return whether a question says that the work is blocked."""
    return _BLOCKING.match(question) is not None


def _fold_words(text: str) -> str:
    return " ".join(make_key(text).split()).casefold()


def fill_ledger(ledger: Ledger, account: Account, show_time: ShowTime) -> Ledger:
    """Fill a ledger from an account (1), with the account's times."""
    validation = Validation()
    gate_rows: tuple[GateResult, ...] = ()
    if account.of(FactKind.GATE):
        from passdown.core.sessions.track_gates import (
            history_rows,
            read_validation,
        )  # few sessions have gates

        validation, gate_rows = read_validation(account), history_rows(account, show_time)
    return replace(
        ledger,
        updated=account.said_at,
        session_id=account.label,
        platform=account.start.host,
        bound_track=account.track or None,
        bound_bead=account.task or None,
        mode=read_mode(account),
        mode_locked_at=account.started_at,
        current_tasks=tasks_together(account, ledger.current_tasks),
        unfenced=account.unfenced,
        tdd_phase=read_tdd(account),
        heartbeat=account.touched_at,
        validation=validation,
        journal_seq=account.last_seq,
        task_bead=account.task or None,
        task_track=account.track or None,
        goal=account.goal.text if account.goal else "",
        done=_texts(account, FactKind.DONE),
        now=account.now.text if account.now else "",
        next=_list_steps(account),
        decisions=tuple(_rows(account, show_time, ledger)),
        branch=account.branch,
        modified=_texts(account, FactKind.FILE),
        read=tuple(ReadFile(path=entry.text, reason=entry.because) for entry in _reads(account)),
        questions=_texts(account, FactKind.QUESTION),
        gate_history=gate_rows,
        more=tuple((kind.row.heading, texts) for kind in FURTHER if (texts := _texts(account, kind))),
    )


def tasks_together(account: Account, shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that a session claimed together (R170), else those that another tool wrote."""
    if account.claims:
        return tuple(account.claims) if len(account.claims) > 1 else ()
    return shown if account.task else ()


def read_mode(account: Account) -> Mode:
    """Return the mode in which a session started; an unknown mode counts as single agent."""
    return Mode(account.start.mode) if account.start.mode in set(Mode) else Mode.SINGLE


def find_mode_edit(ledger: Ledger, account: Account) -> Problem | None:
    """Find a mode that was edited by hand; a running session keeps its mode (R14)."""
    mode = read_mode(account)
    if ledger.session_id != account.label or ledger.mode is mode:
        return None
    found = f"was changed to {ledger.mode}" if ledger.mode else "was removed"
    hint = f"changed back to {mode}: a session keeps the mode it started with"
    return warning(key_line(ledger.source or "", "mode"), "mode", found, hint)


def find_second_now(ledger: Ledger) -> Problem | None:
    """Find more than one item under Now: a session does one thing, so the others become next steps (C29)."""
    found = next((one for one in ledger.problems if one.field == _NOW), None)
    if found is None:
        return None
    return warning(found.line, "Now", found.problem, "kept the first and moved the others to Next")


def read_tdd(account: Account) -> TddPhase | None:
    """Return the session's phase of the test-first cycle; None for an unknown phase."""
    return TddPhase(account.tdd) if account.tdd in set(TddPhase) else None


def carry_bindings(account: Account) -> Sequence[NewFact]:
    """Return the facts that bind another session to this one's track, its gates, task and phase."""
    bound = {TRACK: account.track, TASK: account.task}
    new_facts = [NewFact(FactKind.BINDING, text, key) for key, text in bound.items() if text]
    if account.track:
        from passdown.core.sessions.track_gates import carry_result, last_results, list_results

        new_facts += map(carry_result, last_results(list_results(account, account.track)).values())
    last = next((fact for fact in reversed(account.of(FactKind.TDD)) if fact.text == account.tdd), None)
    if last is not None and account.tdd:  # the phase keeps its start time
        new_facts.append(NewFact(FactKind.TDD, last.text, account.task, last.because, others=last.others))
    return new_facts


def let_go(account: Account) -> Sequence[NewFact]:
    """Return the facts that unbind a session from its track, task and phase (R36, R38)."""
    bound = {TRACK: account.track, TASK: account.task}
    new_facts = [NewFact(FactKind.BINDING, "", key) for key, text in bound.items() if text]
    return [*new_facts, *([NewFact(FactKind.TDD, "", account.task)] if account.tdd else [])]


def _texts(account: Account, kind: FactKind) -> tuple[str, ...]:
    return tuple(entry.text for entry in _shown(account, kind))


def _reads(account: Account) -> tuple[Fact, ...]:
    """Return the files that were read: all stated ones, and the last observed ones."""
    reads = _shown(account, FactKind.READ)
    seen = [entry for entry in reads if entry.provenance is Provenance.OBSERVED]
    older = set(seen[:-MOST_READS])
    return tuple(entry for entry in reads if entry not in older)


def _list_steps(account: Account) -> tuple[str, ...]:
    """Return the next steps, or the open items of the host's plan if none are stated."""
    planned = (entry.text for entry in _shown(account, FactKind.PLAN) if entry.because not in SETTLED)
    return _texts(account, FactKind.NEXT) or tuple(planned)


def _shown(account: Account, kind: FactKind) -> tuple[Fact, ...]:
    """Return the facts of a kind that are not blank; a blank one cannot be shown."""
    return tuple(entry for entry in account.of(kind) if entry.text.strip())


def _rows(account: Account, show_time: ShowTime, ledger: Ledger) -> Iterator[LedgerDecision]:
    """Yield the rows of Key Decisions, with times of day that somebody wrote (3)."""
    written = {_cell(row.decision): row.when for row in ledger.decisions}
    for kind, entry in _choices(account):
        is_decision = kind is FactKind.DECISION
        text = show_decision(entry.key, entry.text) if is_decision else make_rule(entry.text)
        was_shown = entry.seq <= (ledger.journal_seq or 0)
        kept = written.get(_cell(text), "") if was_shown else ""
        when = kept or entry.time or show_time(entry.at)
        yield LedgerDecision(decision=text, reasoning=entry.because, when=when)


def _cell(text: str) -> str:
    """Return a text as it reads back from a table cell."""
    return " ".join(text.split())


def _choices(account: Account) -> Sequence[tuple[FactKind, Fact]]:
    """Return decisions and constraints, in the order in which they were made."""
    found = [
        (kind, one) for kind in (FactKind.DECISION, FactKind.CONSTRAINT) for one in _shown(account, kind)
    ]
    return sorted(found, key=lambda choice: choice[1].seq)


def mark_unconfirmed(text: str) -> str:
    """Mark a question as unconfirmed, unless it is already marked."""
    mark = UNCONFIRMED.rstrip()
    return text if text[: len(mark)].upper() == mark else f"{UNCONFIRMED}{text}"


def make_rule(text: str, because: str = "") -> str:
    """Return a constraint with its prefix and reason, so that it is never mistaken for a suggestion."""
    rule = text if text.startswith(RULED_OUT) else f"{RULED_OUT}{text}"
    return f"{rule} ({because})" if because else rule


def show_decision(key: str, text: str) -> str:
    """Return a decision with its key, unless the key is made from its words."""
    return text if key == slug(text) else f"{key}: {text}"


def find_edits(ledger: Ledger, base: Account, show_time: ShowTime) -> Sequence[NewFact]:
    """Find manual edits in a ledger that was rendered from `base` (2).

    Removed facts are named as the session stated them, which may differ from what the ledger shows.
    """
    shown = show_ledger(base, show_time)
    new_facts: list[NewFact] = []
    new_facts += _binding_edit(
        TRACK, (shown.bound_track, shown.task_track), (ledger.bound_track, ledger.task_track)
    )
    new_facts += _binding_edit(
        TASK, (shown.bound_bead, shown.task_bead), (ledger.bound_bead, ledger.task_bead)
    )
    if shown.tdd_phase != ledger.tdd_phase:
        new_facts.append(NewFact(FactKind.TDD, ledger.tdd_phase or "", base.task))
    new_facts += _one_edit(FactKind.GOAL, base.goal, shown.goal, ledger.goal)
    new_facts += _one_edit(FactKind.NOW, base.now, shown.now, ledger.now)
    following = [text for text in ledger.next if shown.now == ledger.now or text != ledger.now]
    if [*shown.next] != following:
        new_facts.append(NewFact(FactKind.NEXT, "\n".join(" ".join(text.split("\n")) for text in following)))
    for kind, before, after in (
        (FactKind.DONE, shown.done, ledger.done),
        (FactKind.QUESTION, shown.questions, ledger.questions),
        (FactKind.FILE, shown.modified, ledger.modified),
        *((kind, _listed(shown, kind), _listed(ledger, kind)) for kind in FURTHER),
    ):
        new_facts += _list_edits(kind, _shown(base, kind), before, after)
    new_facts += _decision_edits(_choices(base), shown.decisions, ledger.decisions)
    new_facts += _read_edits(_reads(base), shown.read, ledger.read)
    if (shown.gate_history, shown.validation) != (ledger.gate_history, ledger.validation):
        from passdown.core.sessions.track_gates import gate_edits  # few ledgers have gates

        new_facts += gate_edits(base, shown, ledger)
    return new_facts


def add_missing_lines(text: str, other: str) -> str:
    """Append lines to a ledger that only another rendering of the same facts has.

    These lines are not facts, but notes and tables that a person wrote.
    """
    left = Counter(text.split("\n"))
    missing: list[str] = []
    for line in other.split("\n"):
        if left[line]:
            left[line] -= 1
        elif line.strip():
            missing.append(line)
    if not missing:
        return text
    gap = "" if missing[0].startswith("|") else "\n"
    return text.rstrip("\n") + f"\n{gap}" + "\n".join(missing) + "\n"


def rebase_edits(
    edits: Iterable[NewFact], base: Account, known: Account, since: Iterable[Fact]
) -> Sequence[NewFact]:
    """Rebase edits of a ledger that was rendered from `base` on what the session knows now.

    1. Facts that were stated since are not stated again: the edits may already have been read.
    2. Next steps that were added since stay, and those that were removed since stay removed.
    """
    said = {(fact.kind, fact.key, fact.text, fact.because) for fact in since}
    new = [one for one in edits if (one.kind.value, one.key, one.text, one.because) not in said]  # 1
    rebased = (_rebase_steps(one, base, known) if one.kind is FactKind.NEXT else one for one in new)
    return [one for one in rebased if one is not None]


def _rebase_steps(edit: NewFact, base: Account, known: Account) -> NewFact | None:
    """Merge an edited list of next steps with later changes; return None if that changes nothing."""
    lines = ([" ".join(step.split("\n")) for step in _list_steps(one)] for one in (base, known))
    before, now = ({make_key(text): text for text in some} for some in lines)
    edited = {make_key(text): text for text in edit.text.split("\n") if text}
    kept = {key: text for key, text in edited.items() if key not in before or key in now}
    kept |= {key: text for key, text in now.items() if key not in before and key not in kept}
    return None if list(kept) == list(now) else edit._replace(text="\n".join(kept.values()))


def _listed(ledger: Ledger, kind: FactKind) -> tuple[str, ...]:
    return dict(ledger.more).get(kind.row.heading, ())


def show_ledger(account: Account, show_time: ShowTime) -> Ledger:
    """Return the ledger of an account as it reads back once written."""
    return parse_ledger(render_ledger(fill_ledger(Ledger(), account, show_time)))


_Both = tuple[str | None, str | None]


def _binding_edit(key: str, before: _Both, after: _Both) -> Iterator[NewFact]:
    """Yield a changed binding from the front matter, or from the body if only that was changed."""
    changed = next((new for old, new in zip(before, after, strict=True) if old != new), before[0])
    if changed != before[0]:
        yield NewFact(FactKind.BINDING, changed or "", key)


def _one_edit(kind: FactKind, entry: Fact | None, before: str, after: str) -> Iterator[NewFact]:
    if before != after and (after or entry is None):
        yield NewFact(kind, after)
    elif before != after and entry is not None:
        yield NewFact(FactKind.RETRACTION, entry.text, entry.kind)


def _list_edits(
    kind: FactKind, entries: Sequence[Fact], before: Sequence[str], after: Iterable[str]
) -> Iterator[NewFact]:
    old = {make_key(text): entry for text, entry in zip(before, entries, strict=False)}
    new = {make_key(text): text for text in after}
    for key, entry in old.items():
        # Only a person may answer an escalation, and it is unknown who removed it here (C154).
        if key not in new and not (kind is FactKind.QUESTION and is_escalation(entry.text)):
            yield NewFact(FactKind.RETRACTION, entry.text, kind.value)
    yield from (NewFact(kind, text) for key, text in new.items() if key not in old)


def _read_edits(
    entries: Sequence[Fact], before: Sequence[ReadFile], after: Iterable[ReadFile]
) -> Iterator[NewFact]:
    old = {one.path: (one.reason, entry) for one, entry in zip(before, entries, strict=False)}
    new = {one.path: one.reason for one in after}
    for path, (_, entry) in old.items():
        if path not in new:
            yield NewFact(FactKind.RETRACTION, entry.text, FactKind.READ.value)
    for path, reason in new.items():
        if path not in old:
            yield NewFact(FactKind.READ, path, because=reason)
        elif old[path][0] != reason:
            yield NewFact(FactKind.READ, old[path][1].text, because=reason)


def _decision_edits(
    choices: Sequence[tuple[FactKind, Fact]],
    before: Sequence[LedgerDecision],
    after: Iterable[LedgerDecision],
) -> Iterator[NewFact]:
    old = {one.decision: (one, *choice) for one, choice in zip(before, choices, strict=False)}
    new = {one.decision: one for one in after}
    for text, (_, kind, entry) in old.items():
        if text not in new:
            target = entry.text if kind is FactKind.CONSTRAINT else entry.key
            yield NewFact(FactKind.RETRACTION, target, kind.value)
    for text, row in new.items():
        if text not in old:
            yield _read_choice(row, row.when)
        elif old[text][0].reasoning != row.reasoning:
            shown, kind, entry = old[text]
            time = row.when if row.when != shown.when else entry.time
            if kind is FactKind.CONSTRAINT:  # its reason is part of its text
                yield NewFact(FactKind.RETRACTION, entry.text, kind.value)
                yield _read_choice(row, time)
            else:
                yield NewFact(kind, entry.text, entry.key, row.reasoning, others=_at_time(time))


def _read_choice(row: LedgerDecision, time: str) -> NewFact:
    """Read a row that was written by hand, with its time of day (3)."""
    if row.decision.startswith(RULED_OUT):
        rule = make_rule(row.decision, row.reasoning)
        return NewFact(FactKind.CONSTRAINT, rule, others=_at_time(time))
    key, said = split_decision(row.decision)
    return NewFact(FactKind.DECISION, said, key, row.reasoning, others=_at_time(time))


def _at_time(time: str) -> tuple[tuple[str, str], ...]:
    return ((TIME, dump(time)),) if time else ()


def split_decision(text: str) -> tuple[str, str]:
    """Split a decision written by `show_decision` into key and text; make a missing key from its words."""
    key, colon, rest = text.partition(": ")
    if colon and rest and " " not in key:
        return key, rest
    return slug(text), text
