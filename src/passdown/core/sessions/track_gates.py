"""The gates of a session's track: how its ledger shows them, and manual edits of that (C101).

1. Gates belong to the track: results of other sessions are copied into the journal when the session starts to
   work on it. Attempts and the last failure are the session's own.
2. Only PASS enters `gates_passed`, and only the last result of a gate counts.
3. A row of Validation History that was edited by hand is kept and journalled as stated; it replaces the
   earlier row, with its time. A row that was removed leaves the ledger, but stays in the journal.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from passdown import layout
from passdown.core.facts import DUE, GATES, TIME, TRACK, Fact, GateStatus, Provenance, is_result
from passdown.core.formats.ledgers import GateResult, Ledger, Validation
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, NewFact

GATE_DOCUMENTS: Final = MappingProxyType(
    {"design": layout.DESIGN, "spec": layout.SPEC, "plan-structure": layout.PLAN}
)
"""The gates that check a document of the track."""

MOST_ATTEMPTS: Final = 3
"""How often a gate may fail before a person has to decide: once plus two retries (R48)."""

_CORRECTS: Final = "corrects"
"""The extra member of a result that replaces another line of the journal."""
_RETRIES: Final = "retries"
"""The extra member of a fact without a result: the number of attempts that somebody wrote."""
_BY_HAND: Final = "stated in the ledger"


def make_result(gate: str, status: str, notes: str, track: str) -> NewFact:
    """Return a fact with the result of a track's gate, or that the gate is due."""
    return NewFact(FactKind.GATE, status, gate, notes, others=((TRACK, dump(track)),))


def carry_result(fact: Fact) -> NewFact:
    """Return another session's result as a fact to carry on."""
    return NewFact(FactKind.GATE, fact.text, fact.key, fact.because, origin=fact, others=fact.others)


def list_results(account: Account, track: str) -> list[Fact]:
    """Return the results of a track's gates that a session knows, oldest first, with manual edits (3)."""
    return [fact for fact in _corrected(account, track) if fact.text]


def _corrected(account: Account, track: str) -> Iterable[Fact]:
    found: dict[int, Fact] = {}
    for fact in account.of(FactKind.GATE):
        if fact.track == track:
            corrected = _number(fact, _CORRECTS)
            found[corrected if corrected in found else fact.seq] = fact
    return found.values()


def without_corrected(account: Account) -> tuple[Fact, ...]:
    """Return a session's own results for publication, where only their order tells which one holds.

    A correction of any but the last result of its gate is left out: it would become the last.
    """
    facts = account.of(FactKind.GATE)
    last = {
        (track, gate): fact.seq
        for track in {fact.track for fact in facts}
        for gate, fact in last_results(list_results(account, track)).items()
    }
    return tuple(
        fact
        for fact in facts
        if fact.session == account.session
        and (_CORRECTS not in dict(fact.others) or last.get((fact.track, fact.key)) == fact.seq)
    )


def _number(fact: Fact, name: str) -> int:
    value: object = json.loads(dict(fact.others).get(name, "0"))
    return value if isinstance(value, int) else 0


def last_results(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return the last result of each gate (2)."""
    return {fact.key: fact for fact in facts if is_result(fact.text)}


def open_gates(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return the gates that are due or failed, the latest at the end."""
    last: dict[str, Fact] = {}
    for fact in reversed(facts):
        last.setdefault(fact.key, fact)
    return {fact.key: fact for fact in reversed(last.values()) if fact.text in {DUE, GateStatus.FAIL}}


def find_due(account: Account, results: Collection[str], papers: Collection[str]) -> dict[str, str]:
    """Return the gates that need a result, and why.

    Either something happened in this session that the gate checks, or its document exists and was not
    checked.
    """
    found = {gate: paper for gate, paper in GATE_DOCUMENTS.items() if paper in papers and gate not in results}
    facts = open_gates(list_results(account, account.track)).values()
    return found | {fact.key: fact.because for fact in facts if fact.text == DUE}


def count_attempts(account: Account, gate: str, track: str) -> int:
    """Count how often a gate failed in this session since it last passed (R45)."""
    failed = 0
    for fact in _corrected(account, track):
        if _RETRIES in dict(fact.others):
            failed = _number(fact, _RETRIES)
        elif fact.key == gate and fact.session == account.session:
            failed = {GateStatus.FAIL.value: failed + 1, GateStatus.PASS.value: 0}.get(fact.text, failed)
    return failed


def read_validation(account: Account) -> Validation:
    """Return the state of the gates of the session's track (1, 2)."""
    facts = list_results(account, account.track)
    last = last_results(facts)
    current = next(reversed(open_gates(facts)), None)
    failed = [fact for fact in last.values() if fact.text == GateStatus.FAIL]
    own = [fact.because for fact in failed if fact.session == account.session]
    passed = {gate for gate, fact in last.items() if fact.text == GateStatus.PASS}
    return Validation(
        gates_passed=(*(gate for gate in GATES if gate in passed), *sorted(passed.difference(GATES))),
        current_gate=current,
        retries=count_attempts(account, current or "", account.track),
        last_failure=own[-1] or None if own else None,
    )


def _own_rows(account: Account) -> list[Fact]:
    facts = list_results(account, account.track)
    return [fact for fact in facts if is_result(fact.text) and fact.session == account.session]


def history_rows(account: Account, show_time: Callable[[datetime], str]) -> tuple[GateResult, ...]:
    """Return the rows of Validation History: the session's own results for its track (R31)."""
    return tuple(
        GateResult(
            gate=fact.key,
            status=GateStatus(fact.text),
            time=fact.time or show_time(fact.at),
            notes=fact.because,
        )
        for fact in _own_rows(account)
    )


def gate_edits(base: Account, shown: Ledger, ledger: Ledger) -> Iterator[NewFact]:
    """Find manual edits of gates in a ledger that was rendered from `base`."""
    yield from _row_edits(base, shown.gate_history, ledger.gate_history)
    old, new = shown.validation or Validation(), ledger.validation or Validation()
    rows = {row.gate for row in ledger.gate_history}
    for gate in new.gates_passed:
        if gate not in {*old.gates_passed, *rows}:
            yield make_result(gate, GateStatus.PASS, _BY_HAND, base.track)
    for gate in old.gates_passed:
        if gate not in new.gates_passed and gate in GATES:
            yield make_result(gate, GateStatus.WARN, f"no longer passed: {_BY_HAND}", base.track)
    yield from _current_edits(base.track, old, new)


def _current_edits(track: str, old: Validation, new: Validation) -> Iterator[NewFact]:
    """Find manual edits of the current gate."""
    if new.last_failure and new.current_gate and new.last_failure != old.last_failure:
        yield make_result(new.current_gate, GateStatus.FAIL, new.last_failure, track)
    elif new.current_gate and new.current_gate != old.current_gate:
        yield make_result(new.current_gate, DUE, _BY_HAND, track)
    if new.retries != old.retries:
        stated = make_result(new.current_gate or "", "", _BY_HAND, track)
        yield stated._replace(others=(*stated.others, (_RETRIES, dump(new.retries))))


def _row_edits(base: Account, before: Sequence[GateResult], after: Sequence[GateResult]) -> Iterator[NewFact]:
    """Find changed, removed and added rows (3); the n-th row of a gate stays its n-th row."""
    entries = dict(zip(_numbered(before), zip(before, _own_rows(base), strict=False), strict=False))
    rows = dict(zip(_numbered(after), after, strict=True))
    for name, (row, entry) in entries.items():
        now = rows.get(name)
        if now != row:
            yield _correct(entry, now)
    for name, row in rows.items():
        if name not in entries:
            new = make_result(row.gate, row.status, row.notes, base.track)
            yield new._replace(others=(*new.others, (TIME, dump(row.time))))


def _numbered(rows: Sequence[GateResult]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    names: list[tuple[str, int]] = []
    for row in rows:
        counts[row.gate] = counts.get(row.gate, 0) + 1
        names.append((row.gate, counts[row.gate]))
    return names


def _correct(entry: Fact, row: GateResult | None) -> NewFact:
    """Return the fact that replaces a result, at its time; without a row the result is only removed."""
    kept = tuple(pair for pair in entry.others if pair[0] == TRACK)
    time = ((TIME, dump(row.time)),) if row else ()
    return NewFact(
        FactKind.GATE,
        row.status if row else "",
        entry.key,
        row.notes if row else "",
        origin=entry._replace(provenance=Provenance.STATED),
        others=(*kept, (_CORRECTS, dump(_number(entry, _CORRECTS) or entry.seq)), *time),
    )
