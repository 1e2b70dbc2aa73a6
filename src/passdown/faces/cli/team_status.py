"""What `passdown status` says about coordination."""

from collections.abc import Iterator

from passdown.core.coordination.messages import count_unread
from passdown.core.coordination.offers import OfferState
from passdown.core.coordination.tasks import TaskState
from passdown.core.times import seconds_words
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.ports.coordination import HeldResource
from passdown.services.coordination.overview import MemberOverview, TaskOverview, TeamOverview


def say_team(team: TeamOverview) -> None:
    """Print who takes part, and who holds what; each line fits into the terminal."""
    output.say(cut(f"coordination: {team.engine}", width()))
    for line in _lines(team):
        output.say(cut(line, width()))


def say_tracker(tasks: TaskOverview) -> None:
    """Print where the tasks are kept, and how many there are."""
    name = tasks.tracker.partition(" (")[0]  # how far the board reaches stands above
    if tasks.trouble:
        output.say(cut(f"tasks: {name}: {tasks.trouble}", width()))
        return
    counts = ((tasks.ready, "ready"), (tasks.held, "held"), (tasks.waiting, "waiting"))
    said = [f"{count} {word}" for count, word in counts if count]
    output.say(cut(f"tasks: {name}, {', '.join(said) or 'none open'}", width()))


def describe_tracker(tasks: TaskOverview) -> dict[str, object]:
    """Return the same as data for JSON."""
    return {
        "kind": tasks.kind,
        "name": tasks.tracker,
        "ready": tasks.ready,
        "held": tasks.held,
        "waiting": tasks.waiting,
        "trouble": tasks.trouble or None,
    }


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
        yield from (f"    file {file.resource.name}, {seconds_words(file.left)} left" for file in one.files)
    for offer in team.offers:
        taker, left = offer.offer.taker or "anybody", seconds_words(offer.left)
        yield f"  offered: task {offer.offer.task} by {offer.offer.agent} to {taker}, {left} left"


def _say_member(one: MemberOverview) -> str:
    member = one.member
    state = "live" if member.is_live else "silent"
    mail = f", {count_unread(one.unread)}" if one.unread else ""
    return f"  {member.agent}  {state}, last sign of life {seconds_words(member.silent)} ago{mail}"


def _say_task(task: TaskState) -> str:
    name = task.task.task
    if task.is_orphaned:
        return f"task {name}, orphaned (`passdown takeover {name}`): {task.task.title}"
    return f"task {name}, {seconds_words(task.left)} left: {task.task.title}"


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
