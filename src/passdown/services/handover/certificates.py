"""Certify that nothing was lost: every fact is in the brief, shown by a command, or retired."""

from collections.abc import Iterator, Sequence
from typing import Final

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import facts_held
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.evidence.certificates import (
    Certificate,
    VisibleFacts,
    find_gaps,
    find_hidden,
    find_missing,
    find_replaced,
    find_unpublished,
    judge,
    trace_documents,
    trace_events,
    trace_journal,
)
from passdown.core.formats.journal import Scope
from passdown.core.merge.merge import Digest
from passdown.core.merge.ranks import limit_of
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.ports.index import EVERY
from passdown.records import replace
from passdown.services.handover.briefs import OtherCheckoutLog, read_brief_input
from passdown.services.log.events import read_sources, update_index
from passdown.services.workspace.workspaces import Workspace

_NONCE: Final = "certified"


def certify(
    workspace: Workspace,
    account: Account | None,
    others: Sequence[OtherCheckoutLog] = (),
    expected: Sequence[str] = (),
) -> Certificate:
    """Read all journals and events from scratch, and report the outcome of each fact.

    `expected` are texts of facts that must exist; one that is not found anywhere is a loss.
    """
    update_index(workspace.log, workspace.index)
    brief_input = read_brief_input(workspace, account, others)
    brief = pack_brief(brief_input, Budget(), workspace.now(), BriefFrame(nonce=_NONCE))
    index = workspace.index
    lines = {session: workspace.journals.read(session) for session in workspace.journals.sessions(Scope.ALL)}
    journals = [one for session, own in lines.items() for one in trace_journal(session, own)]
    sources = [*read_sources(workspace.log)]
    dates = {source.rank.hash: source.rank.at for source in sources}
    events = trace_events(sources)
    documents = trace_documents(brief_input.documents)
    until = limit_of(index.newest(workspace.now()).present)
    reach = VisibleFacts(
        brief.facts,
        {
            session: frozenset(fact.id for fact in facts_held(fold_journal(session, own)))
            for session, own in lines.items()
        },
        frozenset(_listed(index.digest(EVERY))),
    )
    covered = {session: index.published(session).line for session in lines}
    losses = [
        *(gap for session, own in lines.items() for gap in find_gaps(session, own)),
        *find_unpublished(journals, covered, events),
        *find_missing([*journals, *events, *documents], expected),
        *find_hidden(events, until, dates),
    ]
    own = account.session if account else ""
    journal = [one for one in journals if one.journal == own]
    replaced = tuple(find_replaced(journal, events, own, dates)) if own else ()
    found = judge([*journals, *events, *documents], reach, losses)
    return replace(found, replaced=replaced, contested=brief_input.contested)


def _listed(digest: Digest) -> Iterator[str]:
    """Yield the ids of the facts that `passdown view list` shows."""
    yield from (fact.id for newest in digest.kinds.values() for fact in newest.facts)
    yield from (fact.id for facts in digest.contested for fact in facts)
