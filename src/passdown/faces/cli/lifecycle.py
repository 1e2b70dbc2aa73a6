"""The commands of a session's lifecycle: start, heartbeat, end, publish, status."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from passdown.actions.sessions import sessions as actions
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show
from passdown.ports.repository import UNKNOWN, Committed, Skipped
from passdown.settings import check_name

if TYPE_CHECKING:  # each command imports what it needs
    from passdown.actions.sessions.publications import PublishResult
    from passdown.actions.sessions.starts import StartResult
    from passdown.services.sessions.sessions import RecoveredSession


# --- start --------------------------------------------------------------------------------------------


def start_session(*, multi: bool, as_json: bool, **request: Any) -> int:
    """Start a session, or show the running one."""
    from passdown.actions.sessions.starts import BeginRequest, start
    from passdown.services.sessions.sessions import StartRequest

    for name in ("team", "role"):
        request[name] = check_name(request[name], f"--{name}")
    is_named = bool(request["host_session"])
    asked = StartRequest(mode="MA" if multi else "", is_named=is_named, **request)
    show(call(start, BeginRequest(start=asked, is_asked=True)), _say_started, as_json=as_json)
    return 0


def _say_started(found: "StartResult") -> None:
    session = found.session
    if found.handoffs is not None:
        from passdown.faces.start_news import handoff_news_lines  # few sessions are handed something

        for line in handoff_news_lines(found.handoffs, session.checkout, found.now):
            output.say(line)
    word = "started" if found.is_new else "is already running"
    where = "" if session.branch == UNKNOWN else f" on {session.branch}"
    output.say(f"{session.agent} {word}{where} ({session.session})")
    output.say(f"ledger: {session.ledger}")
    given = [f"{key}: {name}" for key, name in (("team", found.team), ("role", found.role)) if name]
    if given:
        output.say(", ".join(given))
    if session.goal:
        output.say(f"goal: {session.goal}")
    if found.is_new and not found.is_in_git:
        output.note("this is not a git repository: facts stay in this folder")
    if found.legacy:
        output.note(f"{found.legacy} was not made by Passdown")
        output.note_hint("run `passdown migrate` to import it")
    for one in found.started.recovered:
        _say_recovered(found, one)
    for line in _list_news(found):
        output.note(line)


def _say_recovered(found: "StartResult", one: "RecoveredSession") -> None:
    """Report a session that was recovered, and how not to continue its work."""
    agent = one.account.agent
    if one.account.ended_at is not None:
        output.note(f"recovered {agent} (its host had ended it)")
        return
    found_how = f"recovered {agent} (did not end; last seen {say_age(one.account, found.now)})"
    if not found.started.takes_over(one.account):
        output.note(found_how)
        return
    output.note(f"{found_how}; you continue its work")
    which = f" --session {found.session.agent}" if found.others else ""
    output.note_hint(f"to start clean: `passdown end{which}`, then `passdown start --fresh`")


def _list_news(found: "StartResult") -> Iterator[str]:
    """Yield what others left, who else works here, and the news from the other sessions."""
    yield from (f"archived old ledger: {path}" for path in found.archived)
    for other in found.started.others:
        seen = f"last seen {say_age(other, found.now)}"
        if other.now:
            yield f"{other.agent} is working here too ({seen}): {other.now.text}"
        else:
            yield f"{other.agent} is working here too ({seen}; no status yet)"
    joined = found.joined
    if joined.trouble:
        yield f"not coordinating with other sessions: {joined.trouble}"
    for name in joined.inherited:
        yield f"took over {name} from a crashed session"
    if joined.team is not None:
        from passdown.core.coordination.messages import count_unread
        from passdown.faces.start_news import name_orphans  # few sessions coordinate

        if count := len(joined.team.messages):
            yield f"{count_unread(count)}: run `passdown inbox`"
        yield from name_orphans(joined.team)
    if found.commit:
        yield f"committed the records of ended sessions as {found.commit[:12]}"


def say_age(account: Account, now: datetime) -> str:
    """Return how long ago a session was last seen, in words."""
    age = now - (account.touched_at or now)
    return f"{age_words(age)} ago" if age >= timedelta(seconds=1) else "just now"


# --- the rest -----------------------------------------------------------------------------------------


def send_heartbeat(*, session: str, as_json: bool) -> int:
    """Record a heartbeat, and update the ledger."""
    answer = call(actions.send_heartbeat, None, session)
    show(answer, lambda found: output.say(f"recorded a heartbeat of {found.agent}"), as_json=as_json)
    return 0


def publish_open(*, session: str, checkpoint: str, state: str, name: str, as_json: bool) -> int:
    """Publish new facts; with a checkpoint, save it as `passdown checkpoint` does (C104)."""
    from passdown.actions.sessions.publications import PublishRequest, publish

    answer = call(publish, PublishRequest(phase=checkpoint, state=state, name=name), session)
    show(answer, _say_published, as_json=as_json)
    return 0


def _say_published(found: "PublishResult") -> None:
    output.say(f"published {found.event}: {found.file}" if found.event else "nothing to publish")
    if found.stream:
        output.say(f"updated {found.stream}")
    note_commit(found.commit)


def note_commit(commit: str | None) -> None:
    """Report a commit, if one was made."""
    if commit:
        output.note(f"committed as {commit[:12]}")


def note_committed(committed: object) -> None:
    """Report a commit that was made or refused."""
    if isinstance(committed, Committed):
        note_commit(committed.commit)
    elif isinstance(committed, Skipped) and not committed.is_quiet:
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


def end_session(*, session: str, reason: str, keep: bool, as_json: bool) -> int:
    """End a session: publish, archive and commit as configured."""
    from passdown.faces.cli.kept_views import note_kept_view

    answer = call(actions.end, actions.EndRequest(reason=reason, keeps_ledger=keep), session)
    note_kept_view(show(answer, _say_ended, as_json=as_json).view)
    return 0


def _say_ended(found: actions.EndResult) -> None:
    told = f"published {found.event}" if found.event else "nothing left to publish"
    output.say(f"{found.session.agent} ended; {told}")
    if found.record:
        output.say(f"ledger archived: {found.record}")
    note_committed(found.committed)


def show_sessions(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, and what is not committed yet."""
    from passdown.faces.cli.status import show_status  # only this command needs it

    return show_status(show_all=show_all, as_json=as_json)
