"""What a session that starts is told about handoffs to one agent, by a hook or by a command."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from passdown.core.coordination.handoff_rules import (
    QUOTED,
    handoff_lines,
    show_addressee,
    show_sender,
)
from passdown.core.safe_text import one_line, printable
from passdown.core.schemas import to_data
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.faces.hooks.hook_log import log_metrics
from passdown.services.coordination.addressed_handoffs import (
    FoundHandoff,
    HandoffNews,
    show_path,
    take_handoffs,
)
from passdown.services.workspace.workspaces import Workspace


class HandoffReport(NamedTuple):
    """What is told: lines for the agent, shorter ones for its user, and what went wrong."""

    told: Sequence[FoundHandoff]
    """The handoffs for the session; they are to be marked as read once they were shown."""

    data: Sequence[object]
    """The handoffs as data for JSON."""
    lines: Sequence[str]
    notices: Sequence[str]
    troubles: Sequence[str]

    @property
    def ids(self) -> Collection[str]:
        """The ids of the messages that say the same."""
        return {one.handoff.id for one in self.told if one.handoff.id}


def read_news(
    workspace: Workspace, account: Account, checkouts: Sequence[Workspace], room: int | None = None
) -> HandoffReport:
    """Find what is there for a session, and say it."""
    news = take_handoffs(workspace, account, checkouts, partial(log_metrics, workspace.root), room)
    lines = [line for part in _say(workspace, news) for line in part]
    notices = list(_notices(workspace, news))
    data = [to_data(one) for one in news.own]
    return HandoffReport(news.told, data, [QUOTED, *lines] if lines else [], notices, news.troubles)


def _say(workspace: Workspace, news: HandoffNews) -> Iterator[Sequence[str]]:
    now = workspace.now()
    for own in news.own:
        yield handoff_lines(own, now)
    if news.more:
        yield [f"{news.more} more for you: run `passdown inbox`"]
    for late in news.late:
        yield [_say_late(workspace, late)]
    for over in news.expired:
        whom = show_addressee(over.handoff, over.named)
        yield [f"Nobody read this in time, so {_path(workspace, over)} was deleted; it was for {whom}."]
        yield handoff_lines(over.handoff, now)
    for message in news.messages:
        whom = f"{one_line(message.agent)} to {one_line(message.to)}"
        yield [f"Nobody read this message in time, so it was deleted: {whom}"]
        yield [f"> {line}" for line in printable(message.content).split("\n")]


def _say_late(workspace: Workspace, late: FoundHandoff) -> str:
    handoff = late.handoff
    age = age_words(workspace.now() - handoff.created_at) if handoff.created_at else "long"
    whom = show_addressee(handoff, late.named)
    return f"A handoff from {show_sender(handoff)} has waited for {whom} for {age}: {_path(workspace, late)}"


def _path(workspace: Workspace, found: FoundHandoff) -> str:
    return one_line(show_path(workspace, found.place, found.path))


def _notices(workspace: Workspace, news: HandoffNews) -> Iterator[str]:
    """Say to the user what is there, without what others wrote."""
    if news.own:
        senders = ", ".join(dict.fromkeys(map(show_sender, news.own)))
        yield f"Handed over by {senders}: shown to the agent"
    for late in news.late:
        yield _say_late(workspace, late)
    for over in news.expired:
        whom = show_addressee(over.handoff, over.named)
        yield f"A handoff from {show_sender(over.handoff)} to {whom} expired unread: {_path(workspace, over)}"
    if news.messages:
        count = len(news.messages)
        yield "A message expired unread" if count == 1 else f"{count} messages expired unread"
