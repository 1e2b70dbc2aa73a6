"""What a turn shows about the work: test-first phases, and gates that are due (C101, C103)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import DUE
from passdown.core.hosts.transcripts import Observation
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, NewFact
from passdown.core.sessions.track_gates import (
    GATE_DOCUMENTS,
    last_results,
    list_results,
    make_result,
    open_gates,
)
from passdown.core.times import parse_instant
from passdown.core.work.tdd import Cycle, EndedPhase, PhaseChange, is_followed

EXECUTION: Final = "plan-execution"
REFACTORED: Final = "a refactoring is done"
_CLAIMED: Final = "claimed"


class WorkContext(NamedTuple):
    """What is known besides the transcript."""

    now: datetime
    folders: Annotated[tuple[str, ...], "The folders of the documents of tracks and changes."]
    follows_tdd: Annotated[bool, "Whether the cycle is followed by default."] = True
    commits: Annotated[tuple[str, ...], "Commits that only git knows of."] = ()


class WorkNews(NamedTuple):
    """What a turn changed."""

    changes: tuple[PhaseChange, ...] = ()
    ended: tuple[EndedPhase, ...] = ()
    due: Annotated[tuple[NewFact, ...], "The gates that became due."] = ()


def follow_work(account: Account, seen: Sequence[Observation], on: WorkContext) -> WorkNews:
    """Return what a turn changed; the paths in `seen` are relative to the root."""
    cycle = Cycle(account, on.now)
    if is_followed(account, default=on.follows_tdd):
        at = cycle.began if cycle.phase else None
        for one in seen:
            stated = min(parse_instant(one.time) or on.now, on.now) if one.time else on.now
            at = stated if at is None else max(at, stated)  # the clock of a host may go back
            match one.kind:
                case FactKind.FILE:
                    cycle.write_file(one.text, at)
                case FactKind.TEST:
                    cycle.run_test(one.text, one.exit, at)
                case FactKind.COMMIT:
                    cycle.commit(one.text, at)
                case FactKind.BINDING:
                    cycle.bind(one.text if one.status == _CLAIMED else "", at)
                case _:
                    pass
        for name in on.commits:
            cycle.commit(name, on.now)
    return WorkNews(tuple(cycle.changes), tuple(cycle.ended), tuple(_find_due(account, cycle, seen, on)))


def _find_due(
    account: Account, cycle: Cycle, seen: Iterable[Observation], on: WorkContext
) -> Iterator[NewFact]:
    """Yield the gates that became due and are not due already."""
    if not account.track:
        return
    facts = list_results(account, account.track)
    known = {gate for gate, fact in open_gates(facts).items() if fact.text == DUE}
    judged = last_results(facts)
    written = {one.text: parse_instant(one.time) or on.now for one in seen if one.kind is FactKind.FILE}
    for gate, paper in GATE_DOCUMENTS.items():
        paths = (f"{folder}/{account.track}/{paper}" for folder in on.folders)
        path = next((path for path in paths if path in written), "")
        # An agent may write a document and run its gate in one turn; both are seen at its end.
        if path and gate not in known and not (gate in judged and judged[gate].at > written[path]):
            yield make_result(gate, DUE, f"{path} was written", account.track)
    if cycle.has_refactored and EXECUTION not in known:
        yield make_result(EXECUTION, DUE, REFACTORED, account.track)
