"""Record what a host's transcript and git show about a session."""

from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from passdown.core.kinds import FactKind
from passdown.faces.cli import output
from passdown.faces.cli.hosts import HostChoice
from passdown.faces.cli.sessions import need_session, note_ledger_update, open_sessions
from passdown.services.sessions.observations import ObservationResult, observe
from passdown.wiring.projects import open_hosts
from passdown.wiring.transcripts import open_source

_WORDS: Final = MappingProxyType({kind: kind.row.observed_as for kind in FactKind if kind.row.observed_as[0]})
"""What is told to people."""

_OTHERS: Final = MappingProxyType(
    {
        kind: kind.row.observed_as[1]
        for kind in FactKind
        if kind.row.observed_as[1] and not kind.row.observed_as[0]
    }
)
"""The kinds that text output counts together, and JSON counts by name."""


@click.command()
@click.argument("transcript", required=False, type=click.Path(path_type=Path))
@click.option("--session", default="", metavar="ID", help="The session to observe.")
@click.option(
    "--host",
    type=HostChoice(),
    help="The program that wrote the transcript (default: guessed from the file name).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(transcript: Path | None, session: str, host: str | None, *, as_json: bool) -> int:
    """Record what a host's transcript and git show about a session.

    Without TRANSCRIPT, looks at git only.
    Prompts, commands, plans and files that were read stay on this machine. Nothing is recorded twice.
    """
    workspace = open_sessions()
    root = Path(workspace.root)
    source = None
    if transcript:
        hosts = open_hosts()
        writer = hosts.find(host) if host else hosts.guess({"transcript_path": transcript}, {})
        source = open_source(root, transcript, writer)
    observed = observe(workspace, need_session(workspace, session), source)
    note_ledger_update(observed.kept)
    if observed.passed_over:
        lines = "1 line" if observed.passed_over == 1 else f"{observed.passed_over} lines"
        output.note(f"{lines} of the transcript could not be read")
    if as_json:
        output.say_json(_describe(observed))
    else:
        output.say(_show(observed))
    return 0


def _describe(observed: ObservationResult) -> dict[str, object]:
    return {
        "session": observed.kept.account.session,
        "agent": observed.kept.account.agent,
        **{plural: observed.counts[kind] for kind, (_, plural) in _WORDS.items()},
        **{plural: observed.counts[kind] for kind, plural in _OTHERS.items()},
        "failed_tests": observed.failed,
        "passed_over": observed.passed_over,
    }


def _show(observed: ObservationResult) -> str:
    counted = [
        f"{number} {one if number == 1 else many}{_failed(kind, observed.failed)}"
        for kind, (one, many) in _WORDS.items()
        if (number := observed.counts[kind])
    ]
    rest = sum(observed.counts[kind] for kind in _OTHERS)
    if rest:
        counted.append(f"{rest} other fact{'' if rest == 1 else 's'}")
    return f"observed {', '.join(counted) or 'nothing new'}"


def _failed(kind: FactKind, failed: int) -> str:
    return f" ({failed} failed)" if kind is FactKind.TEST and failed else ""
