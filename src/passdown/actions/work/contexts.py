"""Save the context of a session for the next one, check it, and recall it."""

from collections.abc import Sequence
from typing import Annotated

from passdown.actions.answers import HIDDEN, describe
from passdown.actions.callers import Caller, find_shown, need_session
from passdown.core.formats.session_contexts import SessionContext
from passdown.core.problems import Problem, Severity
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.work.session_contexts import recall_context, save_context


@record
class SaveContextRequest:
    """How to save the context of a session."""

    nothing_ruled_out: Annotated[bool, "Whether to state that nothing is ruled out."] = False


@record
class SavedFile:
    """A context that was saved."""

    path: Annotated[str, "Its path from the root."]
    backup: Annotated[str | None, "The copy of an unreadable old file."]


@record
class CheckedContext:
    """Whether a saved context is complete."""

    path: Annotated[str, "Its path from the root."]
    is_kept: Annotated[bool, "Whether it is complete."]
    problems: Annotated[Sequence[Problem], "What is wrong."]
    is_there: Annotated[bool, "Whether there is one.", HIDDEN]


@record
class RecalledContext:
    """What a saved context says."""

    path: Annotated[str, "Its path from the root."]
    context: Annotated[SessionContext | None, "What it says; null if there is none."]


def _refuse() -> None:
    raise UsageError("no session is running here, so it has no context", hint="run `passdown start` first")


def save(caller: Caller, request: SaveContextRequest) -> SavedFile:
    """Save the context of the session."""
    account = need_session(caller, _refuse)
    saved = save_context(caller.workspace, account, nothing_ruled_out=request.nothing_ruled_out)
    return describe(SavedFile, saved)


def check(caller: Caller, _request: None = None) -> CheckedContext:
    """Check that a saved context is complete."""
    path, found = recall_context(caller.workspace, find_shown(caller))
    problems = found.problems if found else ()
    is_kept = found is not None and all(one.severity is not Severity.ERROR for one in problems)
    return CheckedContext(path=path, is_kept=is_kept, problems=problems, is_there=found is not None)


def recall(caller: Caller, _request: None = None) -> RecalledContext:
    """Return what a saved context says."""
    path, found = recall_context(caller.workspace, find_shown(caller))
    return RecalledContext(path=path, context=found)
