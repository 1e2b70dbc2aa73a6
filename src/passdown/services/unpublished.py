"""Say when it is time to publish; what publishes is loaded only then (C57)."""

from datetime import timedelta

from passdown.core.unpublished import has_stated, open_lines
from passdown.services.journals import Project


def is_due(project: Project, session: str, interval: timedelta) -> bool:
    """Say whether the end of a turn publishes: something stated is open, and the last event is old enough."""
    lines = project.journals.read(session)
    if not has_stated(open_lines(lines, 0)):  # then nobody need ask the index
        return False
    published = project.checkout.index.published(session)
    if not has_stated(open_lines(lines, published.line)):
        return False
    return published.at is None or project.now() - published.at >= interval
