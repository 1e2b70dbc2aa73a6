"""`passdown reserve`, `renew`, `release`, `takeover`: who may edit which files."""

import click

from passdown.core.coordination.leases import Granted, Held, Lost, Released
from passdown.core.times import seconds_words
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    HELD_CODE,
    as_value,
    json_option,
    read_seconds,
    say_held,
    say_lost,
    session_option,
)
from passdown.faces.cli.sessions import need_session, open_sessions
from passdown.services.coordination.reservations import (
    ReservationRequest,
    release_files,
    renew_reservations,
    reserve_files,
    take_over,
)


@click.command(short_help="Reserve files before you edit them.")
@click.argument("patterns", nargs=-1, metavar="PATH...")
@click.option("--ttl", default="10m", show_default=True, help="How long without a sign of life.")
@click.option("--all", "everything", is_flag=True, help="Allow a pattern that matches every file.")
@session_option
@json_option
def reserve(patterns: tuple[str, ...], ttl: str, session: str, *, everything: bool, as_json: bool) -> int:
    """Reserve files before you edit them.

    You get all or none; no other session can reserve or commit them meanwhile. PATH is a file, a folder with
    a slash at its end, or a pattern with `*`, `?`, `[...]` or `**`. A reservation lives while your session
    does, and ends two hours after it was last used. Exits with 3 if another session holds one of them.
    """
    workspace = open_sessions()
    request = ReservationRequest(patterns, read_seconds(ttl, "--ttl"), everything)
    outcome = reserve_files(workspace, need_session(workspace, session), request)
    return _report(outcome, "reserved", as_json=as_json)


@click.command(short_help="Keep reserved files for longer.")
@click.argument("patterns", nargs=-1, metavar="[PATH]...")
@session_option
@json_option
def renew(patterns: tuple[str, ...], session: str, *, as_json: bool) -> int:
    """Keep reserved files for longer.

    The named reservations, or all, end two hours after this.
    """
    workspace = open_sessions()
    outcome = renew_reservations(workspace, need_session(workspace, session), patterns)
    return _report(outcome, "renewed", as_json=as_json)


@click.command(short_help="Release reserved files.")
@click.argument("patterns", nargs=-1, metavar="[PATH]...")
@session_option
@json_option
def release(patterns: tuple[str, ...], session: str, *, as_json: bool) -> int:
    """Release reserved files.

    Without PATH, all that the session holds.
    """
    workspace = open_sessions()
    outcome = release_files(workspace, need_session(workspace, session), patterns)
    return _report(outcome, "released", as_json=as_json)


@click.command(short_help="Take over a task, or all that an agent holds, from a dead session.")
@click.argument("name", metavar="TASK|AGENT")
@click.option("--force", is_flag=True, help="Also from a session that is alive; only for people.")
@session_option
@json_option
def takeover(name: str, session: str, *, force: bool, as_json: bool) -> int:
    """Take over a task, or all that an agent holds, from a dead session.

    A session is dead if it gave no sign of life for ten minutes, and its process is not running.
    """
    if force and not output.has_person():
        raise UsageError(
            "only a person at a terminal may take over from a session that is alive",
            hint="ask its agent: `passdown msg`",
        )
    workspace = open_sessions()
    outcome = take_over(workspace, need_session(workspace, session), name, force=force)
    return _report(outcome, "taken over", as_json=as_json)


def _report(outcome: Granted | Held | Lost | Released, word: str, *, as_json: bool) -> int:
    is_refused = isinstance(outcome, Held | Lost)
    if as_json:
        output.say_json(_as_data(outcome, word))
    elif isinstance(outcome, Held):
        say_held(outcome)
    elif isinstance(outcome, Lost):
        say_lost(outcome)
    elif isinstance(outcome, Released):
        for resource in outcome.resources:
            output.say(f"{word}: {resource.name}")
    else:
        for grant in outcome.grants:
            left = seconds_words(grant.left)
            output.say(f"{word}: {grant.name} (fence {grant.fence}, {left} without a sign of life)")
    return HELD_CODE if is_refused else 0


def _as_data(outcome: Granted | Held | Lost | Released, word: str) -> dict[str, object]:
    if isinstance(outcome, Granted):
        return {"outcome": word, "grants": as_value(outcome.grants)}
    if isinstance(outcome, Released):
        return {"outcome": word, "resources": [one.name for one in outcome.resources]}
    return {"outcome": "held" if isinstance(outcome, Held) else "lost", "refused": as_value(outcome)}
