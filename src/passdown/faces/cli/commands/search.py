"""`passdown search`: search ledgers, archived sessions, events, streams and loops."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.actions.events import read_since
from passdown.core.project.search_query import DocumentKind
from passdown.core.safe_text import one_line
from passdown.core.times import render_millis
from passdown.errors import CacheError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, minute, width
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.sessions import open_sessions
from passdown.ports.search import SearchFilter
from passdown.records import record, replace
from passdown.services.project.search import SearchMatch, SearchRequest, SearchResults, search
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.searches import open_search_scope

_USUAL: Final = 10
_READING: Final = "reading documents"
_INDENT: Final = 4
_NUMBER: Final = 6
_JSON_LINE: Final = 200


@record
class SearchOptions:
    """The arguments and options of the command."""

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
    type=click.Choice([kind.value for kind in DocumentKind]),
    help="Only documents of this kind; may be repeated.",
)
@click.option("--agent", default="", metavar="NAME", help="Only what this agent wrote.")
@click.option(
    "--since",
    default="",
    metavar="TIME",
    help="Only documents since a date or time, or an age like 3h or 2d.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=_USUAL,
    metavar="N",
    help="Show N results (default: 10).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    """Search ledgers, archives, events, streams and loops.

    A document matches if it contains all WORDS, in any order; case and accents are ignored. `word*` matches
    every word that starts with `word`. Words in double quotes must follow each other, as in '"no server"'.
    Ledgers of running sessions come first, then the best matches, then the newest. Archived events are
    searched too.
    """
    options = SearchOptions(**context.params)
    workspace = open_sessions()
    since = read_since(options.since, workspace.clock.now())
    wanted = SearchFilter(frozenset(DocumentKind(kind) for kind in options.kind), options.agent, since)
    size = _JSON_LINE if options.as_json else width() - _INDENT - _NUMBER
    answer = find(
        workspace, SearchRequest(text=" ".join(options.words), wanted=wanted, limit=options.limit, size=size)
    )
    if options.as_json:
        output.say_json(_as_data(answer))
    else:
        _say(answer)


def find(workspace: Workspace, asked: SearchRequest) -> SearchResults:
    """Search; if the cache fails, search again without it."""
    scope = open_search_scope(workspace)
    try:
        with ReadingProgress(_READING) as reading:
            return search(workspace, scope, asked, reading.step)
    except CacheError as found:
        output.note(f"{found.message}; continuing without it")
        scope = replace(scope, index=open_search_scope(workspace, cached=False).index)
        with ReadingProgress(_READING) as reading:
            return search(workspace, scope, asked, reading.step)


def _say(answer: SearchResults) -> None:
    for match in answer.matches:
        for line in _lines(match):
            output.say(line)
    more = answer.total - len(answer.matches)
    if not answer.total:
        output.note("nothing found")
        output.note_hint("try fewer words; `word*` finds every word that starts with `word`")
    if more:
        output.note(f"and {'at least ' if answer.is_least else ''}{more} more")
        output.note_hint("-n N shows more; --kind, --agent, --since and more words narrow it down")


def _lines(match: SearchMatch) -> Sequence[str]:
    """Render a match on three lines: time, kind, name, agent; the matching line; the command to show it."""
    behind = "  (retracted)" if match.is_retracted else ""
    who = f"  {match.agent}" if match.agent else ""
    first = f"{minute(match.at)}  {match.kind.value}  {match.name}{who}"
    return (
        cut(first, width() - len(behind)) + behind,
        " " * _INDENT + cut(f"{match.snippet.line}: {match.snippet.text}", width() - _INDENT),
        # A command is never cut: a part of it would do something else.
        " " * _INDENT + one_line(match.command),
    )


def _as_data(answer: SearchResults) -> dict[str, object]:
    return {
        "matches": [_match_data(match) for match in answer.matches],
        "total": answer.total,
        "is_least": answer.is_least,
    }


def _match_data(match: SearchMatch) -> dict[str, object]:
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
