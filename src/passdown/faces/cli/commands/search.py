"""`passdown search`: find words in ledgers, archived sessions, events and streams."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from passdown import wiring
from passdown.core.searches import Kind
from passdown.core.texts import one_line
from passdown.core.times import render_millis
from passdown.errors import CacheError
from passdown.faces.cli import output
from passdown.faces.cli.commands.log import read_since
from passdown.faces.cli.lines import cut, minute, width
from passdown.faces.cli.project import Reading
from passdown.faces.cli.sessions import open_sessions
from passdown.ports.search import Wanted
from passdown.records import record, replace
from passdown.services.journals import Project
from passdown.services.search import Answer, Match, Search, search

_USUAL: Final = 10
_READING: Final = "reading documents"
_INDENT: Final = 4
_NUMBER: Final = 6
_JSON_LINE: Final = 200


@record
class Way:
    """What is searched for, where, and how it is shown."""

    words: tuple[str, ...]
    kind: tuple[str, ...]
    agent: str
    since: str
    limit: int
    as_json: bool


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option(
    "--kind",
    multiple=True,
    type=click.Choice([kind.value for kind in Kind]),
    help="Only documents of this kind; may be repeated.",
)
@click.option("--agent", default="", metavar="NAME", help="Only what this agent wrote.")
@click.option("--since", default="", metavar="TIME", help="Only what is since a date, an instant, or 3h, 2d.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=_USUAL, metavar="N", help="Show N; 10 unless told."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    """Find words in ledgers, archives, events and streams.

    What is found holds all of the WORDS, in any order and any case, with accents or without. A word that ends
    with `*` finds every word that begins so. Words in double quotes must stand in a row, as in '"no server"'.
    Ledgers of running sessions come first, then what answers best, then the newest. Archived events are found
    like the others.
    """
    way = Way(**context.params)
    project = open_sessions()
    since = read_since(way.since, project.checkout.clock.now())
    wanted = Wanted(frozenset(Kind(kind) for kind in way.kind), way.agent, since)
    size = _JSON_LINE if way.as_json else width() - _INDENT - _NUMBER
    answer = find(project, Search(text=" ".join(way.words), wanted=wanted, limit=way.limit, size=size))
    if way.as_json:
        output.say_json(_as_data(answer))
    else:
        _say(answer)


def find(project: Project, asked: Search) -> Answer:
    """Search; when the cache fails, once more without."""
    root = Path(project.root)
    library = wiring.open_library(root, project.checkout)
    try:
        with Reading(_READING) as reading:
            return search(project, library, asked, reading.step)
    except CacheError as found:
        output.note(f"{found.message}; going on without it")
        library = replace(library, index=wiring.open_library(root, project.checkout, cached=False).index)
        with Reading(_READING) as reading:
            return search(project, library, asked, reading.step)


def _say(answer: Answer) -> None:
    for match in answer.matches:
        for line in _lines(match):
            output.say(line)
    more = answer.total - len(answer.matches)
    if not answer.total:
        output.note("nothing found")
        output.note_hint("fewer words find more, and `word*` finds every word that begins so")
    if more:
        output.note(f"and {'at least ' if answer.is_least else ''}{more} more")
        output.note_hint("-n N shows so many; --kind, --agent and --since choose, another word narrows down")


def _lines(match: Match) -> Sequence[str]:
    """Show a document on three lines: when, what, who; the line that answers; the command that shows all."""
    behind = "  (retracted)" if match.is_retracted else ""
    who = f"  {match.agent}" if match.agent else ""
    first = f"{minute(match.at)}  {match.kind.value}  {match.name}{who}"
    return (
        cut(first, width() - len(behind)) + behind,
        " " * _INDENT + cut(f"{match.snippet.line}: {match.snippet.text}", width() - _INDENT),
        # A command is never cut: half of it would do something else.
        " " * _INDENT + one_line(match.command),
    )


def _as_data(answer: Answer) -> dict[str, object]:
    return {
        "matches": [_match_data(match) for match in answer.matches],
        "total": answer.total,
        "is_least": answer.is_least,
    }


def _match_data(match: Match) -> dict[str, object]:
    return {
        "kind": match.kind.value,
        "name": match.name,
        "path": match.path,
        "at": render_millis(match.at),
        "agent": match.agent or None,
        "is_retracted": match.is_retracted,
        "line": match.snippet.line,
        "text": match.snippet.text,
        "words": list(match.snippet.words),
        "command": match.command,
    }
