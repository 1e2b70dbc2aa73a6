"""The life of a session, told by hand or by a hook: start, heartbeat, end, publish, status."""

from types import MappingProxyType
from typing import Final

import click

from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind
from passdown.faces.cli import living
from passdown.services.sessions import Wish

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session that is meant.")


@click.command()
@click.option("--host", default="generic", metavar="NAME", help="The program you run in.")
@click.option("--session", "host_session", default="", metavar="ID", help="The id the host gave the session.")
@click.option("--nickname", default="", metavar="NAME", help="What you want to be called.")
@click.option("--track", default="", metavar="TRACK", help="The track to work on.")
@click.option("--multi", is_flag=True, help="Several agents work together.")
@click.option("--new", "is_new", is_flag=True, help="Start another session, whatever runs.")
@click.option("--fresh", "is_fresh", is_flag=True, help="Do not carry on the goal of the last session.")
@_json_option
def start(*, multi: bool, as_json: bool, **wish: str | bool) -> int:
    """Start a session, or show the one that runs; what never ended is recovered first."""
    asked = Wish(
        host=str(wish["host"]),
        host_session=str(wish["host_session"]),
        nickname=str(wish["nickname"]),
        track=str(wish["track"]),
        mode="MA" if multi else "",
        is_new=bool(wish["is_new"]),
        is_fresh=bool(wish["is_fresh"]),
    )
    return living.start_session(asked, as_json=as_json)


@click.command()
@_session_option
@_json_option
def heartbeat(session: str, *, as_json: bool) -> int:
    """Give a sign of life, and bring the ledger up to date."""
    return living.give_sign(session, as_json=as_json)


@click.command()
@_session_option
@click.option("--reason", default=living.USUAL_REASON, metavar="WORD", help="Why: clear, logout, done, …")
@click.option("--keep", is_flag=True, help="Leave the ledger where it is.")
@_json_option
def end(session: str, reason: str, *, keep: bool, as_json: bool) -> int:
    """End a session: publish what is open, archive its ledger, commit where agreed."""
    return living.end_session(session, reason, keep=keep, as_json=as_json)


@click.command()
@_session_option
@click.option("--checkpoint", default="", metavar="PHASE", help="Save a checkpoint of this phase first.")
@click.option("--state", default="validated", metavar="STATE", help="How far the phase is.")
@_json_option
def publish(session: str, checkpoint: str, state: str, *, as_json: bool) -> int:
    """Publish what is open as an event that every checkout can merge."""
    said = Said(FactKind.CHECKPOINT, state, checkpoint) if checkpoint else None
    return living.publish_open(session, said, as_json=as_json)


@click.command()
@click.option("--all", "show_all", is_flag=True, help="Show sessions that ended, too.")
@_json_option
def status(*, show_all: bool, as_json: bool) -> int:
    """List the sessions of the project, what each does, and which are stale."""
    return living.show_sessions(show_all=show_all, as_json=as_json)


LIFE: Final = MappingProxyType(
    {"start": start, "heartbeat": heartbeat, "end": end, "publish": publish, "status": status}
)
