"""Unanswered feedback: which agents were shown it, and dismissing it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from passdown.core.facts import Fact
from passdown.core.formats.journal import Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handover.briefs import OtherCheckoutLog, read_brief_input
from passdown.services.handover.deliveries import CUT
from passdown.services.sessions.journals import newest_first, read_account
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.work.loops import find_ledger_of
from passdown.services.workspace.workspaces import Workspace

SESSIONS: Final = 50
"""How many sessions are searched, the newest first, for who was shown the feedback."""
DISMISSED: Final = "dismissed"


@record
class WaitingFeedback:
    """Open feedback."""

    fact: Annotated[Fact, "The feedback."]
    told: Annotated[tuple[str, ...], "The agents that were shown it, the first one first."]
    ledger: Annotated[str, "The loop ledger that contains it; empty if it is not from a loop."]


def list_feedback(
    workspace: Workspace, account: Account | None, others: Sequence[OtherCheckoutLog] = ()
) -> Sequence[WaitingFeedback]:
    """Return the unanswered feedback, the oldest first."""
    facts = read_brief_input(workspace, account, others).of(FactKind.FEEDBACK)
    told: Mapping[str, dict[str, None]] = _find_told(workspace) if facts else {}
    has_loops = workspace.documents.is_folder(workspace.settings.paths.loops)
    return [
        WaitingFeedback(
            fact=fact,
            told=tuple(told.get(fact.id, ())),
            ledger=find_ledger_of(workspace, fact.text) if has_loops else "",
        )
        for fact in reversed(facts)
    ]


def _find_told(workspace: Workspace) -> Mapping[str, dict[str, None]]:
    """Return which agents were shown which feedback."""
    told: dict[str, dict[str, None]] = {}
    live = workspace.journals.sessions(Scope.LIVE)  # the last ones to grow are never archived
    for session in reversed(newest_first(workspace, live)[:SESSIONS]):
        account = read_account(workspace, session)
        for sent in account.deliveries:
            for one in sent.feedback if sent.state != CUT else ():
                told.setdefault(one, {})[account.agent] = None
    return told


def find_feedback(
    workspace: Workspace, account: Account | None, wanted: str, others: Sequence[OtherCheckoutLog] = ()
) -> Fact:
    """Return the feedback with this id, or that starts with this text; raise a UsageError without one."""
    facts = read_brief_input(workspace, account, others).of(FactKind.FEEDBACK)
    found = [fact for fact in facts if wanted in {fact.id, fact.text}]
    found = found or [fact for fact in facts if wanted and fact.text.startswith(wanted)]
    if not found:
        hint = "`passdown tell --list` lists it"
        raise UsageError(f"no unanswered feedback starts with {wanted[:60]!r}", hint=hint)
    if len(found) > 1:
        raise UsageError(
            f"several feedbacks start with {wanted[:60]!r}", hint="give more of the text, or the id"
        )
    return found[0]


def dismiss_feedback(workspace: Workspace, account: Account, fact: Fact) -> LedgerUpdate:
    """Dismiss a feedback."""
    over = NewFact(FactKind.RETRACTION, fact.text, FactKind.FEEDBACK.value, DISMISSED)
    return update_ledger(workspace, account, [over])
