"""List and dismiss unanswered feedback."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, SECONDS, describe
from passdown.actions.callers import Caller, find_author, find_speaker, need_author, note_ledger_update
from passdown.records import record
from passdown.services.work.feedback import dismiss_feedback, find_feedback, list_feedback
from passdown.wiring.workspaces import open_elsewhere


@record
class ListedFeedback:
    """Unanswered feedback."""

    id: Annotated[str, "Its id."]
    text: Annotated[str, "What was said."]
    at: Annotated[datetime, "When.", SECONDS]
    agent: Annotated[str, "Who recorded it."]
    to: Annotated[tuple[str, ...], "The agents that it is for; none if it is for all."]
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
    workspace = caller.workspace
    fact = find_feedback(workspace, find_speaker(caller), wanted, open_elsewhere(workspace))
    kept = dismiss_feedback(workspace, need_author(caller), fact)
    note_ledger_update(caller, kept)
    return describe(DismissedFeedback, fact)
