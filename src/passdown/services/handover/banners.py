"""Make the banner of a start: the combined events, the goal and the current work (R120, R121)."""

from typing import Final

from passdown.core.briefs.brief_input import CurrentWork
from passdown.core.briefs.briefs import CombinedEvent, render_banner
from passdown.core.merge.ranks import limit_of
from passdown.services.log.history import EventTexts, label, parse_text, read_subjects
from passdown.services.workspace.workspaces import Workspace

LISTED: Final = 5
"""How many events the banner lists; the others are counted."""
_CONSIDERED: Final = 50


def make_banner(workspace: Workspace, aim: CurrentWork) -> str:
    """List the newest events that count, with the goal and current work of the session.

    The index must be up to date; otherwise the banner shows how much is unread. Events that were retracted or
    are dated too far ahead to count are not listed.
    """
    index = workspace.index
    until = limit_of(index.newest(workspace.now()).present)
    places = [
        place
        for place in index.places(limit=_CONSIDERED)
        if not place.is_retracted and place.ranked_at <= until
    ]
    texts = EventTexts(workspace.log)
    events = [parse_text(texts.read(place)) for place in places[:LISTED]]
    subjects = read_subjects(workspace, events)
    listed = [
        # Time and agent may come from the file's name.
        CombinedEvent(place.rank.at, place.rank.agent, label(event, subjects))
        for place, event in zip(places, events, strict=False)
    ]
    goal, now = (known.text if known else "" for known in (aim.goal, aim.now))
    count, unread = index.digest(1).event_count, index.unread()
    return render_banner(listed, count, goal, now, aim.work_name.capitalize(), unread)
