"""`passdown preflight`, and its options in other commands, which run it once per session."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import click

from passdown.actions.answers import Answered
from passdown.actions.callers import Caller
from passdown.actions.work import preflight as actions
from passdown.core.coordination.leases import Held
from passdown.errors import SeveralSessionsError, UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.coordination import HELD_CODE
from passdown.records import replace

if TYPE_CHECKING:  # a session needs the rest once
    from passdown.actions.handover.tracks import HeldTrack
    from passdown.services.work.preflight import PreflightStep

_SKIP: Final = "passdown.skip-preflight"
_CHOICE: Final = "passdown.lock-choice"
_LOCK: Final = "lock"
"""The step that locks the track."""
_LABELS: Final = MappingProxyType({"tracker": "tasks"})
"""What a person reads instead of the name of a step: many projects use no tracker."""
_NO_SESSION: Final = "no session is running; start one with `passdown start`"
_FLAGS: Final = (
    ("--continue", "Work beside another session that holds the track."),
    ("--wait", "Wait up to ten minutes for the session that holds the track."),
    ("--force", "Take the track even from a session that is alive; only for people."),
)
Call = TypeVar("Call", bound=Callable[..., object])
Request = TypeVar("Request")
Result = TypeVar("Result")


def _note_skip(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    context.meta[_SKIP] = bool(value)


skip_preflight_option = click.option(
    "--skip-preflight",
    is_flag=True,
    expose_value=False,
    callback=_note_skip,
    help="Skip the checks of `passdown preflight`.",
)


def _note_choice(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and context.meta.setdefault(_CHOICE, parameter.name) != parameter.name:
        raise UsageError("--continue, --wait and --force cannot be combined", hint="use only one of them")


def lock_options(call: Call) -> Call:
    """Add `--continue`, `--wait` and `--force`."""
    for flag, help_ in reversed(_FLAGS):
        name = flag.removeprefix("--")
        call = click.option(flag, name, is_flag=True, expose_value=False, callback=_note_choice, help=help_)(
            call
        )
    return call


def read_lock_choice() -> str:
    """Return what to do about a track that another session has; empty if no flag was given."""
    return str(click.get_current_context().meta.get(_CHOICE, ""))


def is_preflight_skipped() -> bool:
    """Return whether the command was told to skip the preflight."""
    return bool(click.get_current_context().meta.get(_SKIP))


@click.command(short_help="Check that nothing blocks you.")
@click.argument("track", metavar="[TRACK]", default="")
@lock_options
@options.usual
def preflight(track: str, session: str, *, as_json: bool) -> int:
    """Check that nothing blocks you.

    Checks, in this order: the tracker; the mode; the lock of the track (TRACK, or that of the session); the
    saved context; changes queued for the tracker, which are sent now; what crashed sessions left; silent
    sessions. `claim`, `track bind`, `gate` and `loop` do this once in a session, and print only problems.
    Without a session it only looks: it locks and sends nothing, and starts no session.

    Exits with 1 if the settings ask for Beads and `bd` is missing, and with 3 if another session has the
    track.
    """
    request = actions.TrackRequest(track=track, choice=read_lock_choice())
    answer, request = call_chosen(actions.preflight, request, session)
    steps, held = ask_about_lock(answer.result, request, session)
    answer = answer.with_result(replace(answer.result, steps=steps, held=held))
    found = show(answer, _say, as_json=as_json)
    if found.held and not as_json:
        say_lock_choices(found.held)
    return HELD_CODE if found.held else 0


def _say(found: actions.PreflightResult) -> None:
    output.say(f"{found.agent} ({found.session})" if found.session else _NO_SESSION)
    for one in found.steps:
        output.say(output.wrapped(f"{_LABELS.get(one.step, one.step) + ':':<9} {one.text}", "", " " * 10))


def call_chosen(
    action: Callable[[Caller, Request], Result], request: Request, session: str
) -> tuple[Answered[Result], Request]:
    """Call an action; if several sessions run here, ask a person which one it is, and call it again.

    Also returns the request, which then has the chosen session as its `agent`.
    """
    try:
        return call(action, request, session), request
    except SeveralSessionsError:
        chosen = choose_agent(session)
        if not chosen:
            raise
    request = replace(request, agent=chosen)
    return call(action, request, session, is_first=False), request


def choose_agent(session: str) -> str:
    """Ask a person which of several sessions to use; return "" if no person can be asked."""
    agents = call(actions.list_agents, None, session, is_first=False).result
    if not agents:
        return ""
    asked = f"For which session? ({', '.join(agents)})"
    chosen: str = click.prompt(asked, type=click.Choice(agents), show_choices=False, err=True)
    return chosen


def ask_about_lock(
    found: "actions.PreflightResult | HeldTrack", request: actions.TrackRequest, session: str
) -> "tuple[Sequence[PreflightStep], Held | None]":
    """Ask a person what to do about a track that another session has, and do it.

    Returns the updated steps, and who has the track if this session still does not.
    """
    if not found.choices:
        return found.steps, found.held
    output.note(next(one.text for one in found.steps if one.step == _LOCK))
    letters = {one[0]: one for one in found.choices}
    force = " force it," * ("f" in letters)
    answer: str = click.prompt(
        f"Continue alongside it, wait,{force} or quit? [{'/'.join([*letters, 'q'])}]",
        type=click.Choice([*letters, "q"]),
        show_choices=False,
        default="q",
        show_default=False,
        err=True,
    )
    if answer not in letters:
        return found.steps, found.held
    request = replace(request, choice=letters[answer])
    locked = call(actions.lock, request, session, is_first=False).result
    return tuple(locked.step if one.step == _LOCK else one for one in found.steps), locked.held


def say_lock_choices(held: Held) -> None:
    """Print what to do about a track that another session has."""
    output.note_hint(f'ask for it: `passdown msg "May I have {held.name}?" --to {held.agent}`')
    output.note_hint("or run this again with --wait or --continue, or at a terminal with --force")
