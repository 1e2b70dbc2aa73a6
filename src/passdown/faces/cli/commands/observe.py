"""Take in what a host's transcript and git tell of a session."""

from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from passdown import wiring
from passdown.core.facts import FactKind
from passdown.faces.cli import output
from passdown.faces.cli.sessions import need_session, note_kept, open_sessions
from passdown.services.observations import Observed, observe

_WORDS: Final = MappingProxyType(
    {
        FactKind.FILE: ("edit", "edits"),
        FactKind.TEST: ("test", "tests"),
        FactKind.COMMIT: ("commit", "commits"),
    }
)
"""What is told to people."""

_OTHERS: Final = MappingProxyType(
    {
        FactKind.PROMPT: "prompts",
        FactKind.COMMAND: "commands",
        FactKind.READ: "reads",
        FactKind.PLAN: "plan_items",
    }
)
"""What is counted for people, and told to programs."""


@click.command()
@click.argument("transcript", required=False, type=click.Path(path_type=Path))
@click.option("--session", default="", metavar="ID", help="The session that is observed.")
@click.option(
    "--host",
    type=click.Choice(wiring.HOSTS),
    help="The program that wrote the transcript; guessed from its name.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(transcript: Path | None, session: str, host: str | None, *, as_json: bool) -> int:
    """Take in what a host's transcript and git tell of a session.

    Without a TRANSCRIPT git alone is asked.
    Prompts, commands, plans and files that were read stay on this machine. Nothing is told twice.
    """
    project = open_sessions()
    root = Path(project.root)
    source = (
        wiring.open_source(root, transcript, host or wiring.guess_host(transcript)) if transcript else None
    )
    observed = observe(project, need_session(project, session), source)
    note_kept(observed.kept)
    if observed.passed_over:
        lines = "1 line" if observed.passed_over == 1 else f"{observed.passed_over} lines"
        output.note(f"{lines} of the transcript could not be read")
    if as_json:
        output.say_json(_describe(observed))
    else:
        output.say(_show(observed))
    return 0


def _describe(observed: Observed) -> dict[str, object]:
    return {
        "session": observed.kept.account.session,
        "agent": observed.kept.account.agent,
        **{plural: observed.counts[kind] for kind, (_, plural) in _WORDS.items()},
        **{plural: observed.counts[kind] for kind, plural in _OTHERS.items()},
        "failed_tests": observed.failed,
        "passed_over": observed.passed_over,
    }


def _show(observed: Observed) -> str:
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
