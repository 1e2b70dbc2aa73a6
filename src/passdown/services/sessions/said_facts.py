"""Publish what a person says at once: no turn of theirs ends (C122)."""

from collections.abc import Sequence

from passdown.errors import PassdownError, UnreadError
from passdown.services.log.local_view import update_local_view
from passdown.services.sessions.pending_commits import AFTER_EVENT, commit_waiting, find_trouble
from passdown.services.sessions.publications import publish
from passdown.services.workspace.workspaces import Workspace


def publish_said(workspace: Workspace, session: str, *, may_commit: bool) -> Sequence[str]:
    """Publish the new facts of a session, update the view, and commit if the settings say so.

    Returns what could not be done and why. What is not published now is published with what is said next; the
    view is then updated by the next hook.
    """
    notes: list[str] = []
    try:
        if publish(workspace, session, kind="checkpoint", reason="said") is None:
            return ()
        update_local_view(workspace)
        if may_commit:
            committed = commit_waiting(workspace, AFTER_EVENT, note=notes.append)
            notes += filter(None, [find_trouble(committed)])
    except UnreadError:  # the next hook reads the rest
        return notes
    except PassdownError as found:
        notes.append(found.message)
    return notes
