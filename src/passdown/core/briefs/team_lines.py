"""The lines of a brief about the team: who works on what and holds which files, and which tasks are ready."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.briefs.brief_input import NamedTask, OtherSession, TeamInput, TeamMember
from passdown.core.briefs.brief_lines import MAX_TEXT, BriefLine, FactLines
from passdown.core.briefs.packing import BriefPart
from passdown.core.facts import Fact
from passdown.core.kinds import FactKind

_AGENTS: Final = "other agents working here"
_TASKS: Final = "ready tasks"
_SILENT: Final = "(no status yet)"
_BETWEEN: Final = " | "
_MOST_NAMES: Final = 5
"""How many tasks and how many files of a session are named; the others are counted."""


class TeamAgent(NamedTuple):
    """A running session: what its journal and the coordination engine say about it."""

    peer: OtherSession
    member: TeamMember | None = None

    @property
    def tasks(self) -> tuple[NamedTask, ...]:
        """The tasks it holds."""
        return self.member.tasks if self.member else ()

    @property
    def files(self) -> tuple[str, ...]:
        """The path patterns it holds."""
        return self.member.files if self.member else ()

    @property
    def work(self) -> str:
        """Its goal and current step, without a goal that only repeats the title of its task."""
        titles = {one.title for one in self.tasks}
        return _BETWEEN.join(text for text in self.peer.text.split(_BETWEEN) if text not in titles)

    @property
    def at(self) -> datetime:
        """When it was last active."""
        return max(self.peer.at, self.member.at) if self.member else self.peer.at


def show_team(peers: Sequence[OtherSession], team: TeamInput, show: FactLines) -> BriefPart:
    """Show sessions that hold something, then the others, then the first tasks that are ready.

    `peers` are the sessions with a journal in this clone; the engine also knows those of other clones.
    """
    agents = [_show_agent(one, show) for one in list_agents(peers, team)]
    ready = [_show_ready(one, show) for one in team.ready]
    names = [name for name, lines in ((_AGENTS, agents), (_TASKS, ready)) if lines]
    noun = ", and ".join(names)
    age = f" (from the server, {show.age(team.said_at)} ago)" if team.said_at else ""
    lines = (*agents, *ready)
    title = f"{noun[:1].upper()}{noun[1:]}{age}"
    return BriefPart(3, "peer", title, lines, len(lines), "passdown status", noun=noun)


def list_agents(peers: Sequence[OtherSession], team: TeamInput) -> Sequence[TeamAgent]:
    """Return the sessions known to journals here or to the engine; those that hold something come first."""
    members = {one.session: one for one in team.members}
    known = {peer.session for peer in peers}
    agents = [TeamAgent(peer, members.get(peer.session)) for peer in peers]
    agents += [
        TeamAgent(OtherSession(one.agent, "", "", one.at, one.session), one)
        for one in team.members
        if one.session not in known
    ]
    return sorted(agents, key=lambda one: not (one.tasks or one.files))


def _show_agent(one: TeamAgent, show: FactLines) -> BriefLine:
    named = [f"{task.task}: {task.title}" if task.title else task.task for task in one.tasks]
    tasks = _name_all("task", named)
    text = _BETWEEN.join(filter(None, (*tasks, *_name_all("files:", one.files), one.work))) or _SILENT
    fact = Fact(FactKind.NOTE, text, one.at, one.peer.agent, branch=one.peer.branch)
    # A session that reads what another one said speaks after it (C120); that one exists says nothing.
    return BriefLine(show.line(fact).text, "", fact._replace(at=one.peer.at) if one.peer.text else None)


def _name_all(noun: str, names: Sequence[str]) -> Iterator[str]:
    """Yield one text that names the first and counts the others; nothing if there are no names."""
    if names:
        rest = len(names) - _MOST_NAMES
        yield f"{noun} {', '.join(names[:_MOST_NAMES])}{f' and {rest} more' if rest > 0 else ''}"


def _show_ready(one: NamedTask, show: FactLines) -> BriefLine:
    role = f" for {show.name(one.role)}" if one.role else ""
    return BriefLine(
        f"ready{role}: `passdown claim {show.name(one.task)}` > {show.data(one.title)[:MAX_TEXT]}"
    )
