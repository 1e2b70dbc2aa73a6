"""`passdown status`: who works here, who holds what, handoffs, and what is not committed yet."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from passdown.actions.sessions import status as actions
from passdown.core.coordination.messages import count_unread
from passdown.core.facts import Fact
from passdown.core.project.takeovers import TakeoverChoice
from passdown.core.times import age_words, seconds_words
from passdown.core.work.operations import SharedOperation
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import contested_lines, cut, minute, settling_hint, width
from passdown.services.handover.handoffs import HandoffCount
from passdown.services.project.status import IndexHealth, IndexState
from passdown.services.sessions.liveness import Liveness

_UNSEEN: Final = "its program cannot be seen from here, so it may still run. If it does not:"
_WAIT: Final = "wait"
"""The choice that changes nothing about a stale session."""


def show_status(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, and what is not committed yet."""
    show(call(actions.status, actions.StatusRequest(shows_all=show_all)), _say_status, as_json=as_json)
    return 0


def _say_status(found: actions.StatusResult) -> None:
    if found.paused_by:
        output.say(f"paused by {found.paused_by}: nothing runs automatically until `passdown unpause`")
    if not found.sessions:
        output.say("no session is running in this project")
    for one in found.sessions:
        _say_session(one, found.now)
    if found.team.engine is not None:
        for line in (f"coordination: {found.team.engine}", *_list_team(found.team)):
            output.say(cut(line, width()))
    if found.tracker:
        _say_tracker(found.tracker)
    _say_outbox(found.waiting, found.now)
    _say_contested(found.contested, found.now)
    output.say(_describe_handoffs(found.handoffs))
    say_index(found.index)
    _say_uncommitted(found)
    _say_archive(found)


def _say_uncommitted(found: actions.StatusResult) -> None:
    if files := found.uncommitted:
        output.say(output.wrapped(f"{found.counted} not committed yet: {files.waits}", "", "  "))
        if files.hint:
            output.note_hint(files.hint)


def _say_archive(found: actions.StatusResult) -> None:
    """Print what waits to be archived, and conflicts that archiving made."""
    if found.due:
        output.say(output.wrapped(f"to archive: {found.due.what}; {found.due.who}", "", "  "))
        if found.due.hint:
            output.note_hint(found.due.hint)
    if found.conflicts:
        output.note(found.conflicts[0])
        output.note_hint(found.conflicts[1])


def _describe_handoffs(found: HandoffCount) -> str:
    """Return how many sessions left a record, and how many handoffs there are besides."""
    given, last_at = found.count - found.sessions, found.handed_over_at if found.sessions else found.last_at
    last = f", the last {minute(last_at)}" if last_at else ""
    recorded = [f"sessions recorded: {found.sessions}"] if found.sessions else []
    return " · ".join([*recorded, f"handoffs: {given}{last}" if given else "handoffs: none"])


def _say_session(one: actions.SessionStatus, now: datetime) -> None:
    account = one.account
    age = now - (account.touched_at or now)
    seen = f"{age_words(age)} ago" if age >= timedelta(seconds=1) else "just now"
    state = account.start.kind if one.state == Liveness.LIVE else ""
    output.say(f"{account.agent}  {state or one.state}, last seen {seen}, on {account.start.branch}")
    for name, entry in (("goal", account.goal), (one.doing, account.now)):
        if entry:
            is_told = name == actions.LAST_WORK and entry.agent != account.agent
            author = f" ({entry.agent})" if is_told else ""
            output.say(output.wrapped(f"{name}: {entry.text}{author}", "    ", "      "))
    if one.state != "ended" and account.said_at:
        output.say(f"    ledger: updated {age_words(now - account.said_at)} ago")
    _say_context(one)
    if one.state == Liveness.UNKNOWN:
        output.say(output.wrapped(f"{_UNSEEN} `passdown end --session {account.agent}`", "    ", "      "))
    for choice in one.choices:
        output.say(output.wrapped(_describe_choice(choice), "    ", "      "))


def _describe_choice(choice: TakeoverChoice) -> str:
    if choice.choice == _WAIT:
        return f"or check again later with `{choice.command}`"
    return f"to {choice.choice}: `{choice.command}` ({choice.what})"


def _say_context(one: actions.SessionStatus) -> None:
    parts = [f"{one.context.percent} % full"] if one.context else []
    if one.compactions:
        parts.append("compacted once" if one.compactions == 1 else f"compacted {one.compactions} times")
    if parts:
        output.say(f"    context: {', '.join(parts)}")
    for sign in one.signals:
        output.say(output.wrapped(f"{sign.kind.value}: {sign.text}", "    ", "      "))


def _say_tracker(tasks: actions.TrackerStatus) -> None:
    """Print where the tasks are kept, and how many are open."""
    name = tasks.name.partition(" (")[0]  # the coordination line above says how far the board reaches
    if tasks.trouble:
        output.say(cut(f"tasks: {name}: {tasks.trouble}", width()))
        return
    counts = ((tasks.ready, "ready"), (tasks.held, "held"), (tasks.waiting, "waiting"))
    said = [f"{count} {word}" for count, word in counts if count]
    output.say(cut(f"tasks: {name}, {', '.join(said) or 'none open'}", width()))


def _list_team(team: actions.TeamStatus) -> Iterator[str]:
    """Return a line for each session of the team, for what it holds, and for each offer."""
    # A silent session is shown if it left something that concerns others.
    shown = [one for one in team.members if one.is_live or one.tasks or one.files or one.unread]
    if not shown:
        yield "  no sessions yet"
    for one in shown:
        state = "live" if one.is_live else "stale" if one.is_stale else "silent"
        mail = f", {count_unread(one.unread)}" if one.unread else ""
        yield f"  {one.agent}  {state}, last seen {seconds_words(one.silent)} ago{mail}"
        yield from (f"    {_say_task(task)}" for task in one.tasks)
        yield from (f"    file {file.path}, {seconds_words(file.left)} left" for file in one.files)
    for offer in team.offers:
        taker, left = offer.to or "anybody", seconds_words(offer.left)
        yield f"  offer: task {offer.task} from {offer.agent} to {taker}, {left} left"


def _say_task(task: actions.HeldTask) -> str:
    if task.is_orphaned:
        return f"task {task.id}, orphaned (`passdown takeover {task.id}`): {task.title}"
    return f"task {task.id}, {seconds_words(task.left)} left: {task.title}"


def _say_outbox(outbox: Sequence[SharedOperation], now: datetime) -> None:
    """Print the changes that are queued for the tracker, with their age."""
    if outbox:
        output.say("queued for the tracker; the next command that reaches it sends this:")
    for one in outbox:
        said = f"{one.action} {one.task}".rstrip()
        by = f", by {one.agent}" if one.agent else ""
        why = f": {one.error}" if one.error else ""
        output.say(output.wrapped(f"{said}, {age_words(now - one.at)} old{by}{why}", "  ", "    "))


def _say_contested(contested: Sequence[Sequence[Fact]], now: datetime) -> None:
    """Print the decisions that contradict each other, and how to settle them."""
    if contested:
        for line in contested_lines(contested, now):
            output.say(output.wrapped(line, "", "  "))
        output.note_hint(settling_hint(contested))


def say_index(index: IndexState) -> None:
    """Print what is wrong with the search index; nothing if it is current, or not in use."""
    if index.health is IndexHealth.UNUSABLE:
        output.say("search index: cannot be used; searches read every file")
    elif index.health is IndexHealth.BEHIND:
        files = output.counted(index.changes, "file")
        output.say(f"search index: behind; the next search reads {files}")
