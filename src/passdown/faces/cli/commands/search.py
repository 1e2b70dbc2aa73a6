"""`passdown search`: search ledgers, journals, archived sessions, events, streams, loops and history."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.actions.project.searches import DocumentQuery, FoundDocument, FoundDocuments, search
from passdown.core.project.search_query import DocumentKind
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import cut, minute, width

_USUAL: Final = 10
_READING: Final = "reading documents"
_INDENT: Final = 4
_NUMBER: Final = 6
_JSON_LINE: Final = 200
_FEW: Final = 3
"""How many weak results are shown."""
_WEAK: Final = "Weak matches, with few of the words:"


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
@options.limit(_USUAL, "results")
@options.json
def command(
    words: tuple[str, ...], kind: tuple[str, ...], agent: str, since: str, limit: int, *, as_json: bool
) -> None:
    """Search ledgers, journals, archives, events, streams, loops and history.

    Ask a question, or type a few WORDS. Documents with all of them come first, then those with some. Other
    forms of English words are found too; case and accents are ignored. `word*` matches every word that starts
    with `word`. Words in double quotes must follow each other, as in '"no server"'. Archived events are
    included, and so are notes, prompts and imported history of this machine, marked as local.
    """
    request = DocumentQuery(
        text=" ".join(words),
        kinds=kind,
        agent=agent,
        since=since,
        limit=limit,
        size=_JSON_LINE if as_json else result_width(),
    )
    show(call(search, request, doing=_READING), say_results, as_json=as_json)


def result_width() -> int:
    """Return how long the line of a result may be."""
    return width() - _INDENT - _NUMBER


def say_results(answer: FoundDocuments) -> None:
    """Print the results of a search."""
    strong = [match for match in answer.matches if not match.is_weak]
    weak = [match for match in answer.matches if match.is_weak][:_FEW]
    for match in strong:
        _show_match(match)
    if weak:
        output.say(_WEAK)
    for match in weak:
        _show_match(match)
    if not answer.total:
        output.note("nothing found")
        output.note_hint("try other words, or `word*` for every word that starts with `word`")
    _count_rest(answer, len(strong), len(weak))


def _show_match(match: FoundDocument) -> None:
    for line in _lines(match):
        output.say(line)


def _count_rest(answer: FoundDocuments, strong: int, weak: int) -> None:
    """Say how many results are not shown."""
    more, more_weak = answer.total - answer.weak_total - strong, answer.weak_total - weak
    if more:
        output.note(f"and {'at least ' if answer.is_least else ''}{more} more")
        output.note_hint("show more with -n N, or narrow it down with more words, --kind, --agent or --since")
    if more_weak:
        output.note(f"and {more_weak} weak {'match' if more_weak == 1 else 'matches'} not shown")


def _lines(match: FoundDocument) -> Sequence[str]:
    """Render a match on three lines: time, kind, name, agent; the matching line; the command to show it."""
    behind = "  (retracted)" if match.is_retracted else ""
    local = "  (local)" if match.is_local else ""
    who = f"  {match.agent}" if match.agent else ""
    first = f"{minute(match.at)}  {match.kind.value}  {match.name}{who}"
    return (
        cut(first, width() - len(behind)) + behind,
        " " * _INDENT + cut(f"{match.line}: {match.text}", width() - _INDENT - len(local)) + local,
        # A command is never cut: a part of it could do something else.
        " " * _INDENT + one_line(match.command),
    )
