"""List and dismiss unanswered feedback."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, SECONDS, describe
from passdown.actions.callers import Caller, need_session, note_ledger_update
from passdown.actions.work.tracker import find_author
from passdown.records import record
from passdown.services.work.feedback import dismiss_feedback, list_feedback
from passdown.wiring.workspaces import open_elsewhere


@record
class ListedFeedback:
    """Unanswered feedback."""

    id: Annotated[str, "Its id."]
    text: Annotated[str, "What was said."]
    at: Annotated[datetime, "When.", SECONDS]
    agent: Annotated[str, "Who recorded it."]
    told: Annotated[tuple[str, ...], "The agents that saw it, in that order."]
    ledger: Annotated[str | None, "The loop ledger that contains it."]


@record
class FeedbackResult:
    """All unanswered feedback."""

    feedback: Annotated[Sequence[ListedFeedback], "The feedback, oldest first."]
    now: Annotated[datetime, "When it was listed.", HIDDEN]


@record
class DismissedFeedback:
    """Feedback that no brief shows any more."""

    id: Annotated[str, "Its id."]
    text: Annotated[str, "What was said."]


def list_all(caller: Caller, _request: None = None) -> FeedbackResult:
    """List the unanswered feedback."""
    workspace = caller.workspace
    found = list_feedback(workspace, find_author(caller), open_elsewhere(workspace))
    listed = [describe(ListedFeedback, one, one.fact) for one in found]
    return FeedbackResult(feedback=listed, now=workspace.now())


def dismiss(caller: Caller, wanted: str) -> DismissedFeedback:
    """Dismiss feedback, by its id or the start of its text."""
    account = need_session(caller)
    fact, kept = dismiss_feedback(caller.workspace, account, wanted, open_elsewhere(caller.workspace))
    note_ledger_update(caller, kept)
    return describe(DismissedFeedback, fact)
