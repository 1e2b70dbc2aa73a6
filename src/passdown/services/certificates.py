"""Certify that nothing was lost: every fact of every journal and event is told, shown or retired."""

from collections.abc import Iterator, Sequence
from typing import Final

from passdown.core.accounts import Account, fold_journal
from passdown.core.budgets import Budget
from passdown.core.certificates import (
    Certificate,
    Reach,
    find_gaps,
    find_missing,
    find_unpublished,
    judge,
    trace_events,
    trace_journal,
)
from passdown.core.facts import FactKind
from passdown.core.ids import fact_id
from passdown.core.merge import REGISTERS, Digest
from passdown.core.rollups import is_rollup, parse_rollup
from passdown.core.sources import Source, parse_source
from passdown.core.standings import known_of, tables_of
from passdown.ports.event_log import EventLog
from passdown.ports.index import EVERY
from passdown.services.briefs import Elsewhere, make_brief
from passdown.services.journals import Project

_NONCE: Final = "certified"


def certify(
    project: Project, account: Account | None, others: Sequence[Elsewhere] = (), expected: Sequence[str] = ()
) -> Certificate:
    """Go through all journals and events, from scratch, and say of each fact what became of it.

    `expected` are texts of facts that somebody was told are kept; one that is nowhere is a loss.
    """
    brief = make_brief(project, account, Budget(), _NONCE, others)
    index = project.checkout.index
    lines = {session: project.journals.read(session) for session in project.journals.sessions()}
    journals = [one for session, own in lines.items() for one in trace_journal(session, own)]
    events = trace_events(read_sources(project.checkout.log))
    reach = Reach(
        brief.facts,
        {
            session: frozenset(known.id for known in known_of(fold_journal(session, own)))
            for session, own in lines.items()
        },
        frozenset(_listed(index.digest(EVERY))),
    )
    covered = {session: index.published(session).line for session in lines}
    losses = [
        *(gap for session, own in lines.items() for gap in find_gaps(session, own)),
        *find_unpublished(journals, covered, events),
        *find_missing([*journals, *events], expected),
    ]
    return judge([*journals, *events], reach, losses)


def read_sources(log: EventLog) -> Iterator[Source]:
    """Read every event of a log, also those in rollups; what cannot be merged is no part of it."""
    for folder in log.folders({}):
        for name in log.files(folder):
            data = log.read(folder, name) or b""
            if is_rollup(name):
                yield from (source for _, source in parse_rollup(data).members)
            elif (source := parse_source(data, name)) is not None:
                yield source


def _listed(digest: Digest) -> Iterator[str]:
    """Name the facts that `passdown view list` shows."""
    for table in tables_of(digest).values():
        yield from (known.id for known in table.values())
    for section in REGISTERS:
        held = digest.registers.get(section)
        values = () if held is None else (held.value,) if isinstance(held.value, str) else held.value
        yield from (fact_id(FactKind(section), text) for text in values)
