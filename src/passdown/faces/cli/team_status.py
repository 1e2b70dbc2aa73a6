"""What `passdown status` says about coordination."""

from collections.abc import Iterator
from datetime import timedelta

from passdown.core.coordination.offers import OfferState
from passdown.core.coordination.tasks import TaskState
from passdown.core.times import age_words
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.ports.coordination import HeldResource
from passdown.services.coordination.overview import MemberOverview, TeamOverview


def say_team(team: TeamOverview) -> None:
    """Print who takes part, and who holds what; each line fits into the terminal."""
    output.say(cut(f"coordination: {team.engine}", width()))
    for line in _lines(team):
        output.say(cut(line, width()))


def describe_team(team: TeamOverview) -> dict[str, object]:
    """Return the same as data for JSON, by which `reservations[path].agent` holds a path (R213)."""
    return {
        "engine": team.engine,
        "members": [_describe_member(one) for one in team.members],
        "tasks": [_describe_task(task) for one in team.members for task in one.tasks],
        "reservations": {one.resource.name: _describe_file(one) for one in team.files},
        "offers": [_describe_offer(one) for one in team.offers],
    }


def _lines(team: TeamOverview) -> Iterator[str]:
    shown = [one for one in team.members if one.is_worth_showing]
    if not shown:
        yield "  no session takes part"
    for one in shown:
        yield _say_member(one)
        yield from (f"    {_say_task(task)}" for task in one.tasks)
        yield from (f"    file {file.resource.name}, {_words(file.left)} left" for file in one.files)
    for offer in team.offers:
        taker = offer.offer.taker or "anybody"
        yield (
            f"  offered: task {offer.offer.task} by {offer.offer.agent} to {taker}, {_words(offer.left)} left"
        )


def _say_member(one: MemberOverview) -> str:
    member = one.member
    state = "live" if member.is_live else "silent"
    mail = f", {one.unread} unread message{'' if one.unread == 1 else 's'}" if one.unread else ""
    return f"  {member.agent}  {state}, last sign of life {_words(member.silent)} ago{mail}"


def _say_task(task: TaskState) -> str:
    name = task.task.task
    if task.is_orphaned:
        return f"task {name}, orphaned (`passdown takeover {name}`): {task.task.title}"
    return f"task {name}, {_words(task.left)} left: {task.task.title}"


def _words(seconds: float) -> str:
    return age_words(timedelta(seconds=seconds))


def _describe_member(one: MemberOverview) -> dict[str, object]:
    member = one.member
    return {
        "session": member.session,
        "agent": member.agent,
        "team": member.team,
        "role": member.role,
        "is_live": member.is_live,
        "silent": member.silent,
        "unread": one.unread,
    }


def _describe_task(task: TaskState) -> dict[str, object]:
    return {
        "id": task.task.task,
        "title": task.task.title,
        "agent": task.agent,
        "session": task.holder,
        "left": task.left,
        "fence": task.fence,
        "is_orphaned": task.is_orphaned,
    }


def _describe_file(file: HeldResource) -> dict[str, object]:
    return {"agent": file.agent, "session": file.session, "left": file.left, "fence": file.fence}


def _describe_offer(state: OfferState) -> dict[str, object]:
    offer = state.offer
    return {
        "id": offer.offer,
        "task": offer.task,
        "agent": offer.agent,
        "session": offer.giver,
        "to": offer.taker or None,
        "left": state.left,
    }
