"""`passdown reserve`, `renew`, `release`, `takeover`: who may edit which files."""

import os
from collections.abc import Sequence

import click

from passdown.core.coordination.leases import Granted, Held, Lost, Released
from passdown.core.times import seconds_words
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    HELD_CODE,
    again_option,
    as_value,
    json_option,
    open_shared,
    read_seconds,
    say_held,
    say_lost,
    session_option,
)
from passdown.faces.cli.project import current_folder
from passdown.faces.cli.sessions import choose_session, need_person, need_session, open_sessions
from passdown.services.coordination.path_words import (
    CoveredPattern,
    PathWords,
    UnderstoodWord,
    choose_held,
    count_files,
    keep_held,
    understand_words,
)
from passdown.services.coordination.reservations import (
    ReservationRequest,
    release_files,
    renew_reservations,
    reserve_files,
    take_over,
)
from passdown.services.workspace.workspaces import Workspace

literal_option = click.option(
    "--literal", is_flag=True, help="Take each PATH as a name, whatever characters it has."
)


@click.command(short_help="Reserve files before you edit them.")
@click.argument("patterns", nargs=-1, metavar="PATH...")
@click.option(
    "--ttl",
    default="10m",
    show_default=True,
    help="How long without a sign of life; a number alone is minutes.",
)
@click.option("--all", "everything", is_flag=True, help="Allow a pattern that matches every file.")
@again_option
@literal_option
@session_option
@json_option
def reserve(
    patterns: tuple[str, ...], ttl: str, session: str, *, everything: bool, literal: bool, as_json: bool
) -> int:
    """Reserve files before you edit them.

    You get all or none; no other session can reserve or commit them meanwhile. PATH is a file or a folder
    with all that is below it, or a pattern with `*`, `?`, `[...]`, `{a,b}` or `**`. It starts in the current
    folder, or is absolute. A name that exists is never a pattern. Of a link, its name and its target are
    reserved. The answer says what was understood, and how many tracked files that covers now.

    A reservation lives while your session does, and ends two hours after it was last used. Exits with 3 if
    another session holds one of them.
    """
    workspace = open_shared()
    seconds = read_seconds(ttl, "--ttl", "m")
    understood = _understand(workspace, patterns, literal=literal)
    account = need_session(workspace, session)
    wanted = keep_held(account.reservations, understood)
    outcome = reserve_files(workspace, account, ReservationRequest(wanted, seconds, everything))
    covered = count_files(workspace, wanted) if isinstance(outcome, Granted) else ()
    if as_json and isinstance(outcome, Granted):
        output.say_json({**_as_data(outcome, "reserved"), "understood": _describe(understood, covered)})
        return 0
    return _report(outcome, "reserved", covered, as_json=as_json)


@click.command(short_help="Keep reserved files for longer.")
@click.argument("patterns", nargs=-1, metavar="[PATH]...")
@literal_option
@session_option
@json_option
def renew(patterns: tuple[str, ...], session: str, *, literal: bool, as_json: bool) -> int:
    """Keep reserved files for longer.

    The named reservations, or all, end two hours after this. Name them as you did for `passdown reserve`.
    """
    workspace = open_sessions()
    understood = _understand(workspace, patterns, literal=literal)
    account = need_session(workspace, session)
    outcome = renew_reservations(workspace, account, choose_held(account.reservations, understood))
    return _report(outcome, "renewed", as_json=as_json)


@click.command(short_help="Release reserved files.")
@click.argument("patterns", nargs=-1, metavar="[PATH]...")
@again_option
@literal_option
@session_option
@json_option
def release(patterns: tuple[str, ...], session: str, *, literal: bool, as_json: bool) -> int:
    """Release reserved files.

    Without PATH, all that the session holds. Name them as you did for `passdown reserve`.
    """
    workspace = open_shared()
    understood = _understand(workspace, patterns, literal=literal)
    account = need_session(workspace, session)
    outcome = release_files(workspace, account, choose_held(account.reservations, understood))
    return _report(outcome, "released", as_json=as_json)


@click.command(short_help="Take over a task, or all that an agent holds, from a dead session.")
@click.argument("name", metavar="TASK|AGENT")
@click.option("--force", is_flag=True, help="Also from a session that is alive; only for people.")
@again_option
@session_option
@json_option
def takeover(name: str, session: str, *, force: bool, as_json: bool) -> int:
    """Take over a task, or all that an agent holds, from a dead session.

    A session is dead if it gave no sign of life for ten minutes, and its process is not running. Time in
    which no session could be heard, as when the server was away, does not count. At a terminal you are
    asked which session takes it over if several run here. With --session it is that session's call and not
    a person's, so --force is refused.
    """
    if force:
        need_person("take over from a session that is alive", session, hint="ask its agent: `passdown msg`")
    workspace = open_shared()
    outcome = take_over(workspace, choose_session(workspace, session), name, force=force)
    code = _report(outcome, "taken over", as_json=as_json)
    if isinstance(outcome, Held) and outcome.left > 0 and not as_json:
        wait = seconds_words(outcome.left)
        output.note_hint(f"you can take it over in {wait} if its session stays silent")
    return code


def _understand(workspace: Workspace, words: tuple[str, ...], *, literal: bool) -> Sequence[UnderstoodWord]:
    folder = str(current_folder()).replace(os.sep, "/")
    return understand_words(workspace, PathWords(words, folder, literal))


def _describe(understood: Sequence[UnderstoodWord], covered: Sequence[CoveredPattern]) -> Sequence[object]:
    """Return what was understood as data for JSON."""
    counts = {one.pattern.rstrip("/"): one.coverage for one in covered}
    return [
        {
            "word": one.word,
            "patterns": [
                {
                    "pattern": text,
                    "files": count.files if (count := counts.get(text.rstrip("/"))) else None,
                    "is_bounded": count.is_bounded if count else False,
                }
                for text in one.patterns
            ],
        }
        for one in understood
    ]


def _say_coverage(name: str, covered: Sequence[CoveredPattern]) -> str:
    """Say how many files a reservation covers now; nothing without git."""
    for one in covered:
        if one.pattern == name:
            files, is_bounded = one.coverage
            if not files:
                return "" if is_bounded else ", covers no tracked file yet"
            return f", covers {'at least ' * is_bounded}{files:,} tracked file{'s' * (files != 1)}"
    return ""


def _report(
    outcome: Granted | Held | Lost | Released,
    word: str,
    covered: Sequence[CoveredPattern] = (),
    *,
    as_json: bool,
) -> int:
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
            more = _say_coverage(grant.name, covered)
            output.say(f"{word}: {grant.name} (fence {grant.fence}, {left} without a sign of life){more}")
    return HELD_CODE if is_refused else 0


def _as_data(outcome: Granted | Held | Lost | Released, word: str) -> dict[str, object]:
    if isinstance(outcome, Granted):
        return {"outcome": word, "grants": as_value(outcome.grants)}
    if isinstance(outcome, Released):
        return {"outcome": word, "resources": [one.name for one in outcome.resources]}
    return {"outcome": "held" if isinstance(outcome, Held) else "lost", "refused": as_value(outcome)}
