"""The commands of a session's lifecycle: start, heartbeat, end, publish, status."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from passdown.actions.answers import encode
from passdown.actions.sessions import sessions as actions
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, settle

if TYPE_CHECKING:  # each command imports what it needs
    from passdown.actions.sessions.starts import StartResult
    from passdown.core.briefs.brief_input import TeamInput
    from passdown.services.log.events import WrittenEvent
    from passdown.services.sessions.sessions import RecoveredSession


# --- start --------------------------------------------------------------------------------------------


def start_session(*, multi: bool, as_json: bool, **request: str | bool) -> int:
    """Start a session, or show the running one."""
    from passdown.actions.sessions.starts import BeginRequest, start
    from passdown.services.sessions.sessions import StartRequest
    from passdown.settings import check_name

    asked = StartRequest(
        host=str(request["host"]),
        host_session=str(request["host_session"]),
        is_named=bool(request["host_session"]),
        nickname=str(request["nickname"]),
        track=str(request["track"]),
        mode="MA" if multi else "",
        is_new=bool(request["is_new"]),
        is_fresh=bool(request["is_fresh"]),
        team=check_name(request["team"], "--team"),
        role=check_name(request["role"], "--role"),
    )
    answer = call(start, BeginRequest(start=asked, is_asked=True))
    found = answer.result
    if as_json:
        output.say_json(encode(found))
    else:
        _say_handoffs(found)
        _say_started(found)
        for line in _list_team_news(found):
            output.note(line)
        if found.commit:
            output.note(f"committed what an ended session left as {found.commit[:12]}")
    settle(answer)
    return 0


def _say_handoffs(found: "StartResult") -> None:
    if found.handoffs is not None:
        from passdown.faces.start_news import handoff_news_lines  # few sessions are handed something

        for line in handoff_news_lines(found.handoffs, found.session.checkout, found.now):
            output.say(line)


def _say_started(found: "StartResult") -> None:
    session, started = found.session, found.started
    word = "started" if found.is_new else "is already running"
    output.say(f"{session.agent} {word} on {session.branch} ({session.session})")
    output.say(f"ledger: {session.ledger}")
    given = [f"{key}: {name}" for key, name in (("team", found.team), ("role", found.role)) if name]
    if given:
        output.say(", ".join(given))
    if session.goal:
        output.say(f"goal: {session.goal}")
    if found.legacy:
        output.note(f"{found.legacy} was not made by Passdown")
        output.note_hint("run `passdown migrate` to import it")
    for one in started.recovered:
        _say_recovered(found, one)
    for path in found.archived:
        output.note(f"archived an old ledger: {path}")
    for other in started.others:
        doing = other.now.text if other.now else "it has not said what it is doing"
        seen = say_age(other, found.now)
        output.note(f"{other.agent} is also working here (last seen {seen}): {doing}")


def _say_recovered(found: "StartResult", one: "RecoveredSession") -> None:
    """Say what became of a session that died, or ended without us, and how not to take it over."""
    agent = one.account.agent
    if one.account.ended_at is not None:
        output.note(f"{agent} ended: {_published(one.written)}")
        return
    seen = say_age(one.account, found.now)
    output.note(f"{agent} did not end properly (last seen {seen}): {_published(one.written)}")
    if found.started.takes_over(one.account):
        output.note_hint(
            f"this session took over from it; to begin anew: `passdown end --session "
            f"{found.session.session}`, then `passdown start --fresh`"
        )


def _published(written: "WrittenEvent | None") -> str:
    return f"its facts are published as {written.event.id}" if written else "it had nothing to publish"


def _list_team_news(found: "StartResult") -> Sequence[str]:
    """Return what those say that the session coordinates with."""
    joined = found.joined
    if joined.trouble:
        return [f"the session does not take part in coordination: {joined.trouble}"]
    held = [f"the session goes on with {name}, which a dead session held" for name in joined.inherited]
    return [*held, *(_list_team_lines(joined.team) if joined.team else [])]


def _list_team_lines(team: "TeamInput") -> Sequence[str]:
    from passdown.core.coordination.messages import count_unread
    from passdown.faces.start_news import name_orphans  # few sessions coordinate

    count = len(team.messages)
    return [*([f"{count_unread(count)}: run `passdown inbox`"] if count else []), *name_orphans(team)]


def say_age(account: Account, now: datetime) -> str:
    """Say how long ago a session was last seen."""
    age = now - (account.touched_at or now)
    return f"{age_words(age)} ago" if age >= timedelta(seconds=1) else "just now"


# --- the rest -----------------------------------------------------------------------------------------


def send_heartbeat(*, session: str, as_json: bool) -> int:
    """Send a heartbeat, and update the ledger."""
    answer = call(actions.send_heartbeat, None, session)
    if as_json:
        output.say_json(encode(answer.result))
    else:
        output.say(f"{answer.result.agent} is alive")
    return 0


def publish_open(*, session: str, checkpoint: str, state: str, name: str, as_json: bool) -> int:
    """Publish new facts; with a checkpoint, save it as `passdown checkpoint` does (C104)."""
    from passdown.actions.sessions.publications import PublishRequest, publish

    found = call(publish, PublishRequest(phase=checkpoint, state=state, name=name), session).result
    if as_json:
        output.say_json(encode(found))
        return 0
    output.say(f"published {found.event}: {found.file}" if found.event else "nothing to publish")
    if found.stream:
        output.say(f"shown in {found.stream}")
    note_commit(found.commit)
    return 0


def note_commit(commit: str | None) -> None:
    """Report a commit, if one was made."""
    if commit:
        output.note(f"committed as {commit[:12]}")


def note_committed(committed: object) -> None:
    """Report a commit that was made or refused."""
    from passdown.ports.repository import Committed, Skipped  # most commands do not commit

    if isinstance(committed, Committed):
        note_commit(committed.commit)
    elif isinstance(committed, Skipped) and not committed.is_quiet:
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


def end_session(*, session: str, reason: str, keep: bool, as_json: bool) -> int:
    """End a session: publish, archive and commit as configured."""
    from passdown.faces.cli.kept_views import note_kept_view

    found = call(actions.end, actions.EndRequest(reason=reason, keeps_ledger=keep), session).result
    if as_json:
        output.say_json(encode(found))
    else:
        told = f"published {found.event}" if found.event else "there was nothing left to publish"
        output.say(f"{found.session.agent} ended; {told}")
        if found.record:
            output.say(f"ledger archived: {found.record}")
        note_committed(found.committed)
    note_kept_view(found.view)
    return 0


def show_sessions(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, index, and what waits to be committed."""
    from passdown.faces.cli.status import show_status  # only this command needs it

    return show_status(show_all=show_all, as_json=as_json)
