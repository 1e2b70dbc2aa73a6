"""Tell a starting session what others handed to it, and what crashed sessions left."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown.core.coordination.handoff_rules import (
    QUOTED,
    handoff_lines,
    show_addressee,
    show_sender,
)
from passdown.core.safe_text import one_line, printable
from passdown.core.times import age_words
from passdown.services.coordination.addressed_handoffs import FoundHandoff, HandoffNews

if TYPE_CHECKING:
    from passdown.core.briefs.brief_input import TeamInput

_NAMED_ORPHANS: Final = 3


def handoff_news_lines(news: HandoffNews, root: str, now: datetime) -> Sequence[str]:
    """Return what the agent is told; what others wrote is quoted."""
    lines = [line for part in _list_news(news, root, now) for line in part]
    return [QUOTED, *lines] if lines else []


def _list_news(news: HandoffNews, root: str, now: datetime) -> Iterator[Sequence[str]]:
    for own in news.own:
        yield handoff_lines(own, now)
    if news.more:
        yield [f"{news.more} more for you: run `passdown inbox`"]
    for late in news.late:
        yield [_say_late(late, root, now)]
    for over in news.expired:
        whom = show_addressee(over.handoff, over.named)
        yield [f"This handoff to {whom} expired unread; {_path(over, root)} was deleted."]
        yield handoff_lines(over.handoff, now)
    for message in news.messages:
        whom = f"{one_line(message.agent)} to {one_line(message.to)}"
        yield [f"This message expired unread and was deleted: {whom}"]
        yield [f"> {line}" for line in printable(message.content).split("\n")]


def _say_late(late: FoundHandoff, root: str, now: datetime) -> str:
    handoff = late.handoff
    age = age_words(now - handoff.created_at) if handoff.created_at else "a long time"
    whom = show_addressee(handoff, late.named)
    return f"A handoff from {show_sender(handoff)} has waited for {whom} for {age}: {_path(late, root)}"


def _path(found: FoundHandoff, root: str) -> str:
    """Return the path as shown in a checkout: absolute, if it is in another."""
    return one_line(found.path if found.place.root == root else f"{found.place.root}/{found.path}")


def handoff_notices(news: HandoffNews, root: str, now: datetime) -> Iterator[str]:
    """Yield what the user is told, without what others wrote."""
    if news.own:
        senders = ", ".join(dict.fromkeys(map(show_sender, news.own)))
        yield f"Handoff from {senders}: shown to the agent"
    for late in news.late:
        yield _say_late(late, root, now)
    for over in news.expired:
        whom = show_addressee(over.handoff, over.named)
        yield f"A handoff from {show_sender(over.handoff)} to {whom} expired unread: {_path(over, root)}"
    if news.messages:
        count = len(news.messages)
        yield "A message expired unread" if count == 1 else f"{count} messages expired unread"


def name_orphans(team: "TeamInput") -> list[str]:
    """Return a line for each task that a crashed session left, with the command that takes it over."""
    lines = [
        f"{one.agent} went silent and left {one.task}: run `passdown takeover {one.task}`"
        for one in team.orphans[:_NAMED_ORPHANS]
    ]
    rest = len(team.orphans) - len(lines)
    return [*lines, f"and {rest} more: `passdown task list`"] if rest else lines
