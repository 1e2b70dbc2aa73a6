"""Decide when to publish (C57).

This is separate from `publications`, so that a turn that publishes nothing does not spend 13 ms on loading 15
modules.
"""

from datetime import timedelta

from passdown.core.sessions.unpublished import has_stated, open_lines, own_lines
from passdown.services.workspace.workspaces import Workspace


def is_due(workspace: Workspace, session: str, interval: timedelta) -> bool:
    """Return whether a turn should publish: there are unpublished facts, and the last event is old enough."""
    lines = workspace.journals.read(session)
    if not has_stated(own_lines(session, lines)):  # no need to load the index
        return False
    published = workspace.index.published(session)
    if not has_stated(open_lines(lines, published.line)):
        return False
    return published.at is None or workspace.now() - published.at >= interval
