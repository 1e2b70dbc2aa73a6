"""`passdown preflight`, and how other commands do it once in a session."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import click

from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, TrackerMissingError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import HELD_CODE, as_value, json_option, session_option
from passdown.faces.cli.sessions import choose_ready, find_caller, need_person, open_sessions
from passdown.records import replace
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # a session needs the rest once
    from passdown.core.coordination.leases import Held
    from passdown.services.coordination.track_locks import LockChoice
    from passdown.services.work.preflight import PreflightReport, PreflightRequest

_SKIP: Final = "passdown.skip-preflight"
_CHOICE: Final = "passdown.lock-choice"
_NO_SESSION: Final = "no session yet; `passdown start` begins one"
_FLAGS: Final = (
    ("--continue", "Work beside another session that has the track."),
    ("--wait", "Wait up to ten minutes for a session that has the track."),
    ("--force", "Take the track from a session that is alive; only for people."),
)
Call = TypeVar("Call", bound=Callable[..., object])


def _note_skip(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    context.meta[_SKIP] = bool(value)


skip_preflight_option = click.option(
    "--skip-preflight",
    is_flag=True,
    expose_value=False,
    callback=_note_skip,
    help="Do not look at tracker, lock and what waits first.",
)


def _note_choice(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and context.meta.setdefault(_CHOICE, parameter.name) != parameter.name:
        raise UsageError("--continue, --wait and --force exclude each other", hint="give one of them")


def lock_options(call: Call) -> Call:
    """Add `--continue`, `--wait` and `--force`."""
    for flag, help_ in reversed(_FLAGS):
        name = flag.removeprefix("--")
        call = click.option(flag, name, is_flag=True, expose_value=False, callback=_note_choice, help=help_)(
            call
        )
    return call


def _read_choice() -> "LockChoice | None":
    """Return what to do about a track that another session has; None if no flag says so."""
    chosen: object = click.get_current_context().meta.get(_CHOICE)
    if not isinstance(chosen, str):
        return None
    from passdown.services.coordination.track_locks import LockChoice

    if chosen == LockChoice.FORCE.value:
        hint = "wait for it with --wait, or work beside it with --continue"
        need_person("take a track from a session that is alive", _named_session(), hint=hint)
    return LockChoice(chosen)


def _named_session() -> str:
    """Return what `--session` names."""
    return str(click.get_current_context().params.get("session", ""))


@click.command(short_help="Look at everything that can be in the way before you work.")
@click.argument("track", metavar="[TRACK]", default="")
@lock_options
@session_option
@json_option
def preflight(track: str, session: str, *, as_json: bool) -> int:
    """Look at everything that can be in the way before you work.

    In this order: the tracker; the mode; the lock of the track, TRACK or that of the session; the saved
    context; what waits for the tracker, which is done now; what sessions left that died; sessions that are
    silent. `claim`, `track bind`, `gate` and `loop` do it once in a session, and print only what is in the
    way. Without a session it only looks: nothing is locked or done, and none is started.

    Exits with 1 if the settings ask for Beads and `bd` is missing, and with 3 if another session has the
    track.
    """
    workspace = open_sessions()
    account = choose_ready(workspace, session)
    report = _run(workspace, account, track) if account else _look(workspace, track)
    if as_json:
        output.say_json(
            {
                "session": report.account.session or None,
                "agent": report.account.agent or None,
                "mode": report.account.start.mode,
                "steps": as_value(report.steps),
                "held": as_value(report.held) if report.held else None,
            }
        )
    else:
        output.say(f"{account.agent} ({account.session})" if account else _NO_SESSION)
        for one in report.steps:
            output.say(output.wrapped(f"{one.step + ':':<9} {one.text}", "", " " * 10))
    if report.held and not as_json:
        say_lock_choices(report.held)
    return HELD_CODE if report.held else 0


def _look(workspace: Workspace, track: str) -> "PreflightReport":
    """Do what a preflight does before a session starts."""
    from passdown.services.coordination.addressed_handoffs import find_late_handoffs
    from passdown.services.work.preflight import PreflightRequest, look_ahead
    from passdown.wiring.workspaces import open_with_handoffs

    if _read_choice() is not None:
        raise UsageError("no session is running here that could have a track", hint="run `passdown start`")
    late = tuple(find_late_handoffs(workspace, Account(), open_with_handoffs(workspace)))
    return look_ahead(workspace, PreflightRequest(track, late=late))


def _run(
    workspace: Workspace, account: Account, track: str = "", *, may_ask: bool = True
) -> "PreflightReport":
    """Do the preflight; ask a person at a terminal what to do if another session has the track."""
    from passdown.services.coordination.addressed_handoffs import find_late_handoffs
    from passdown.services.work.preflight import PreflightRequest, run_preflight
    from passdown.wiring.workspaces import open_with_handoffs

    late = tuple(find_late_handoffs(workspace, account, open_with_handoffs(workspace)))
    request = PreflightRequest(track, _read_choice(), late)
    report = run_preflight(workspace, account, request)
    return _ask(workspace, report, request) if may_ask else report


def _ask(workspace: Workspace, report: "PreflightReport", request: "PreflightRequest") -> "PreflightReport":
    """Ask a person what to do about a track that another session has, and do that."""
    if report.held is None or request.choice is not None or not output.has_person():
        return report
    from passdown.services.coordination.track_locks import LockChoice
    from passdown.services.work.preflight import LOCK, check_lock

    output.note(next(one.text for one in report.steps if one.step == LOCK))
    may_force = find_caller(_named_session()).is_person
    letters = {one.value[0]: one for one in LockChoice if may_force or one is not LockChoice.FORCE}
    force = " force it," * may_force
    answer: str = click.prompt(
        f"Continue beside it, wait,{force} or quit? [{'/'.join([*letters, 'q'])}]",
        type=click.Choice([*letters, "q"]),
        show_choices=False,
        default="q",
        show_default=False,
        err=True,
    )
    if answer == "q":
        return report
    step, held = check_lock(workspace, report.account, request._replace(choice=letters[answer]))
    steps = tuple(step if one.step == LOCK else one for one in report.steps)
    return replace(report, steps=steps, held=held)


def say_lock_choices(held: "Held") -> None:
    """Say what can be done about a track that another session has."""
    output.note_hint(f'ask for it: `passdown msg "May I have {held.name}?" --to {held.agent}`')
    output.note_hint("or repeat this with --wait, with --continue, or at a terminal with --force")


def prepare_freely(workspace: Workspace, account: Account) -> Account:
    """Do the preflight of a command that does without a tracker: nothing stops it (R21)."""
    if is_preflight_skipped() or account.is_prepared:
        return account
    try:
        return _say_notable(_run(workspace, account, may_ask=False)).account
    except TrackerMissingError as found:
        output.note(f"tracker: {found.message}")
        return account


def prepare_track(workspace: Workspace, account: Account, track: str) -> "tuple[Account, Held | None]":
    """Do the preflight for a track that is to be bound, or lock it if the preflight was done before.

    Returns who has the track, if it may not be bound.
    """
    if is_preflight_skipped() or (account.is_prepared and track == account.track):
        return account, None
    if not account.is_prepared:
        try:
            report = _say_notable(_run(workspace, account, track))
        except TrackerMissingError as found:
            output.note(f"tracker: {found.message}")
        else:
            return report.account, report.held
    from passdown.services.work.preflight import PreflightReport, PreflightRequest, check_lock

    request = PreflightRequest(track, _read_choice())
    step, held = check_lock(workspace, account, request)
    report = _ask(workspace, PreflightReport(account=account, steps=(step,), held=held), request)
    return account, _say_notable(report).held


def is_preflight_skipped() -> bool:
    """Return whether the command was told not to look at what can be in the way."""
    return bool(click.get_current_context().meta.get(_SKIP))


def _say_notable(report: "PreflightReport") -> "PreflightReport":
    said: set[str] = set()
    for one in report.steps:
        if one.is_notable and one.text not in said:
            said.add(one.text)
            output.note(f"{one.step}: {one.text}")
    return report


def unlock_others(workspace: Workspace, account: Account) -> None:
    """Release the locks of tracks that a session no longer works on; a failure is a warning (R21)."""
    from passdown.services.coordination.track_locks import unlock_tracks

    try:
        unlock_tracks(workspace, account, but=account.track)
    except PassdownError as found:
        output.note(f"lock: {found.message}")
