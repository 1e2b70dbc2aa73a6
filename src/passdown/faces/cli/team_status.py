"""What `passdown status` says about coordination."""

from collections.abc import Iterator

from passdown.actions.status import HeldTask, MemberStatus, TeamStatus, TrackerStatus
from passdown.core.coordination.messages import count_unread
from passdown.core.times import seconds_words
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width


def say_team(team: TeamStatus) -> None:
    """Print who takes part, and who holds what; each line fits into the terminal."""
    output.say(cut(f"coordination: {team.engine}", width()))
    for line in _lines(team):
        output.say(cut(line, width()))


def say_tracker(tasks: TrackerStatus) -> None:
    """Print where the tasks are kept, and how many there are."""
    name = tasks.name.partition(" (")[0]  # how far the board reaches stands above
    if tasks.trouble:
        output.say(cut(f"tasks: {name}: {tasks.trouble}", width()))
        return
    counts = ((tasks.ready, "ready"), (tasks.held, "held"), (tasks.waiting, "waiting"))
    said = [f"{count} {word}" for count, word in counts if count]
    output.say(cut(f"tasks: {name}, {', '.join(said) or 'none open'}", width()))


def _lines(team: TeamStatus) -> Iterator[str]:
    # One that is silent is shown if it left something that concerns others.
    shown = [one for one in team.members if one.is_live or one.tasks or one.files or one.unread]
    if not shown:
        yield "  no session takes part"
    for one in shown:
        yield _say_member(one)
        yield from (f"    {_say_task(task)}" for task in one.tasks)
        yield from (f"    file {file.path}, {seconds_words(file.left)} left" for file in one.files)
    for offer in team.offers:
        taker, left = offer.to or "anybody", seconds_words(offer.left)
        yield f"  offered: task {offer.task} by {offer.agent} to {taker}, {left} left"


def _say_member(one: MemberStatus) -> str:
    state = "live" if one.is_live else "silent"
    mail = f", {count_unread(one.unread)}" if one.unread else ""
    return f"  {one.agent}  {state}, last sign of life {seconds_words(one.silent)} ago{mail}"


def _say_task(task: HeldTask) -> str:
    if task.is_orphaned:
        return f"task {task.id}, orphaned (`passdown takeover {task.id}`): {task.title}"
    return f"task {task.id}, {seconds_words(task.left)} left: {task.title}"
