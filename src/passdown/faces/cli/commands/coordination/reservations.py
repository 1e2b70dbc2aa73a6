"""`passdown reserve`, `renew`, `release`, `takeover`: who may edit which files."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.actions.answers import Answered
from passdown.actions.coordination import reservations as actions
from passdown.core.coordination.leases import Held
from passdown.core.times import seconds_words
from passdown.errors import SeveralSessionsError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.commands.work.preflight import choose_agent
from passdown.faces.cli.coordination import HELD_CODE, read_seconds, say_held, say_lost, say_queued
from passdown.faces.cli.options import call_shared
from passdown.records import replace
from passdown.services.coordination.path_words import CoveredPattern

_Outcome = (
    actions.GrantedLeases
    | actions.ReservedFiles
    | actions.ReleasedFiles
    | actions.ReleasedHoldings
    | actions.RefusedLease
)

_TAKEN_OVER: Final = "taken over"
"""The outcome of a takeover."""

literal_option = click.option(
    "--literal", is_flag=True, help="Take each PATH as a plain name, whatever characters it contains."
)


@click.command(short_help="Reserve files before you edit them.")
@click.argument("patterns", nargs=-1, metavar="PATH...")
@click.option(
    "--ttl",
    default="10m",
    show_default=True,
    help="How long after you go silent it expires; a bare number is minutes.",
)
@click.option("--all", "everything", is_flag=True, help="Allow a pattern that matches every file.")
@options.again
@literal_option
@options.usual
def reserve(
    patterns: tuple[str, ...], ttl: str, session: str, *, everything: bool, literal: bool, as_json: bool
) -> int:
    """Reserve files before you edit them.

    You get all of them or none; no other session can reserve or commit them meanwhile. PATH is a file, a
    folder with everything below it, or a pattern with `*`, `?`, `[...]`, `{a,b}` or `**`, relative to the
    current folder or absolute. A name that exists is never a pattern. Of a link, both its name and its target
    are reserved. Prints what was reserved, and how many tracked files that covers now.

    A reservation lasts as long as your session, and expires two hours after it was last used. Exits with 3 if
    another session holds one of the files.
    """
    request = actions.ReserveRequest(
        words=patterns,
        seconds=read_seconds(ttl, "--ttl", "m"),
        is_everything=everything,
        is_literal=literal,
    )
    return _report(call_shared(actions.reserve, request, session), as_json=as_json)


@click.command(short_help="Keep reserved files for longer.")
@click.argument("patterns", nargs=-1, metavar="[PATH]...")
@literal_option
@options.usual
def renew(patterns: tuple[str, ...], session: str, *, literal: bool, as_json: bool) -> int:
    """Keep reserved files for longer.

    The named reservations, or all, expire two hours from now. Name them as you did for `passdown reserve`.
    """
    request = actions.HeldFilesRequest(words=patterns, is_literal=literal)
    return _report(call(actions.renew, request, session), as_json=as_json)


@click.command(short_help="Release reserved files and claimed tasks.")
@click.argument("patterns", nargs=-1, metavar="[PATH|ID]...")
@options.again
@literal_option
@options.usual
def release(patterns: tuple[str, ...], session: str, *, literal: bool, as_json: bool) -> int:
    """Release reserved files and claimed tasks.

    Without arguments, releases all files of the session, and no task. Name files as you did for `passdown
    reserve`, and tasks by their ID; others can then claim them, and their files stay reserved. A word that is
    both is a path; `passdown task give-back` takes tasks only.
    """
    request = actions.HeldFilesRequest(words=patterns, is_literal=literal)
    return _report(call_shared(actions.release, request, session), as_json=as_json)


@click.command(short_help="Take over a task, or everything an agent holds, from a crashed session.")
@click.argument("name", metavar="TASK|AGENT")
@click.option("--force", is_flag=True, help="Take it even from a session that is alive; only for people.")
@options.changing
def takeover(name: str, session: str, *, force: bool, as_json: bool) -> int:
    """Take over a task, or everything an agent holds, from a crashed session.

    A session counts as crashed once it has been silent for ten minutes and its process is not running. Time
    in which no session could be heard, such as an outage of the server, does not count. If several sessions
    run here, you are asked at a terminal which one takes it over. With --session the call is that session's
    and not a person's, so --force is refused.
    """
    request = actions.TakeoverRequest(name=name, is_forced=force)
    try:
        answer = call_shared(actions.take_over, request, session)
    except SeveralSessionsError:
        chosen = choose_agent(session)
        if not chosen:
            raise
        answer = call_shared(actions.take_over, replace(request, agent=chosen), session)
    code = _report(answer, as_json=as_json)
    refused = answer.result.refused if isinstance(answer.result, actions.RefusedLease) else None
    if isinstance(refused, Held) and refused.left > 0 and not as_json:
        wait = seconds_words(refused.left)
        output.note_hint(f"you can take it over in {wait} if its session stays silent")
    return code


def _say_coverage(name: str, covered: Sequence[CoveredPattern]) -> str:
    """Return how many files a reservation covers now; "" without git."""
    for one in covered:
        if one.pattern == name:
            files, is_bounded = one.coverage
            if not files:
                return "" if is_bounded else "no tracked files yet; "
            return f"{'at least ' * is_bounded}{files:,} tracked file{'s' * (files != 1)}; "
    return ""


def _report(answer: Answered[_Outcome], *, as_json: bool) -> int:
    return HELD_CODE if isinstance(show(answer, _say, as_json=as_json), actions.RefusedLease) else 0


def _say(found: _Outcome) -> None:
    if isinstance(found, actions.RefusedLease):
        if isinstance(found.refused, Held):
            say_held(found.refused)
        else:
            say_lost(found.refused)
    elif isinstance(found, actions.ReleasedFiles):
        _say_released(found)
    elif isinstance(found, actions.ReleasedHoldings):
        _say_released(found.files)
        for task in found.tasks:
            output.say(f"Gave back {task} {found.titles[task]}")
        for task in found.queued:
            say_queued(task)
    elif isinstance(found, actions.ReservedFiles):
        _say_grants(found.granted, found.covered)
    else:
        _say_grants(found)


def _say_released(found: actions.ReleasedFiles) -> None:
    for name in found.resources:
        output.say(f"{found.outcome.capitalize()} {name}")


def _say_grants(found: actions.GrantedLeases, covered: Sequence[CoveredPattern] = ()) -> None:
    for grant in found.grants:
        left = seconds_words(grant.left)
        files = _say_coverage(grant.name, covered)
        done = "Took over" if found.outcome == _TAKEN_OVER else found.outcome.capitalize()
        output.say(f"{done} {grant.name} ({files}expires {left} after you go silent)")
