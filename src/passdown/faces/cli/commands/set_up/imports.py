"""`passdown import`: make history of the transcripts that hosts kept from before."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.project import history as actions
from passdown.actions.project.searches import DocumentQuery, search
from passdown.core.project.search_query import DocumentKind
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.commands.search import result_width, say_results
from passdown.faces.cli.hosts import HostChoice
from passdown.faces.cli.lines import minute

READING: Final = "reading transcripts"
_MEGABYTE: Final = 1_000_000
_KILOBYTE: Final = 1_000
_EXAMPLES: Final = 3
"""How many results `init` shows of what it imported."""


@click.command()
@click.option("--host", type=HostChoice(), help="Only transcripts of this host.")
@click.option(
    "--since", default="", metavar="TIME", help="Only transcripts since a date or time, or an age like 30d."
)
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
@click.option("--forget", is_flag=True, help="Remove all imported history of this project.")
@options.yes
@options.json
def command(*, host: str | None, since: str, dry_run: bool, forget: bool, yes: bool, as_json: bool) -> int:
    """Import the transcripts of old sessions, for search.

    Hosts keep a transcript of each session. This reads those of this project and keeps what you said, what
    the agent said, plans, edited files, commands with their exit codes, and commits, without secrets and
    without the output of tools. `passdown search` finds it, `passdown log --history` lists it, and
    `passdown history show ID` prints it.

    Nothing else changes: imported sessions are not sessions of Passdown. History stays on this machine, in
    git's folder, and is never published. Transcripts are only read. It can be stopped and repeated at any
    time; only transcripts that are new or have grown are read again.

    Exits with 0 if it is done or there is nothing to do, and with 1 if it was not confirmed.
    """
    if forget:
        if host or since or dry_run:
            raise UsageError("--forget removes all history", hint="use it alone, or with --yes")
        return _forget(yes=yes, as_json=as_json)
    request = actions.ImportRequest(host=host or "", since=since)
    planned = call(actions.plan_import, request, doing=READING).result
    if not as_json:
        say_plan(planned)
    if dry_run or not planned.count:
        if not (dry_run or planned.plan.is_counted):  # an import was killed before it counted
            call(actions.carry_out, planned, is_first=False)
        if as_json:
            output.say_json(encode(planned))
        return 0
    return _import(planned, yes=yes, as_json=as_json)


def _import(planned: actions.ImportResult, *, yes: bool, as_json: bool) -> int:
    if yes or (not as_json and _agrees("Import them?", usual=True)):
        carry_out(planned, as_json=as_json)
        return 0
    if as_json:
        output.say_json(encode(planned))
    output.note("nothing was imported")
    if not output.has_person():
        output.note_hint("no terminal to ask on; pass --yes to import without asking")
    return 1


def carry_out(planned: actions.ImportResult, *, as_json: bool = False) -> None:
    """Import what was planned, with a progress bar."""
    show(call(actions.carry_out, planned, is_first=False, doing=READING), _say_done, as_json=as_json)


def offer_history() -> None:
    """Offer to import the transcripts of this project, if there are any, and show what can be found then."""
    planned = call(actions.plan_import, actions.ImportRequest(), is_first=False, doing=READING).result
    if not planned.count:
        return
    output.say("")
    say_plan(planned)
    if not output.agrees("Import these old sessions, so that search finds them? They stay here.", usual=True):
        output.note_hint("`passdown import` does it later")
        return
    carry_out(planned)
    words = call(actions.pick_words, None, is_first=False).result
    if words:
        output.say(f"\n$ passdown search {words}")
        request = DocumentQuery(
            text=words, kinds=(DocumentKind.HISTORY,), limit=_EXAMPLES, size=result_width()
        )
        show(call(search, request, is_first=False), say_results, as_json=False)


def _agrees(question: str, *, usual: bool) -> bool:
    return output.has_person() and output.agrees(question, usual=usual)


def say_plan(planned: actions.ImportResult) -> None:
    """Say how many transcripts there are, how large, and how old."""
    for one in planned.new:
        noun = output.counted(one.count, "transcript")
        output.say(
            f"{one.title}: {noun}, {_size(one.bytes)}, from {minute(one.oldest)} to {minute(one.newest)}"
        )
    rest = [
        *([f"{planned.known} imported already"] if planned.known else []),
        *([f"{planned.foreign} of other projects"] if planned.foreign else []),
        *([f"{planned.unreadable} that cannot be read"] if planned.unreadable else []),
    ]
    if not planned.count:
        output.say("nothing new to import")
    if rest:
        output.say(f"left out: {', '.join(rest)}")


def _size(count: int) -> str:
    """Return a size in the unit in which it has few digits."""
    return f"{count / _MEGABYTE:.1f} MB" if count >= _MEGABYTE else f"{-(-count // _KILOBYTE)} kB"


def _say_done(done: actions.ImportResult) -> None:
    """Say what was imported, and how to find it."""
    sessions, entries = (
        output.counted(done.sessions, "session"),
        output.counted(done.entries, "entry", "entries"),
    )
    output.say(f"imported {sessions} with {entries} into {one_line(done.folder)}")
    if done.redacted:
        output.say(f"secrets were removed from {output.counted(done.redacted, 'session')}")
    output.note_hint("find it with `passdown search WORDS`, or list it with `passdown log --history`")


def _forget(*, yes: bool, as_json: bool) -> int:
    found = call(actions.count_history, None).result
    question = f"Remove {output.counted(found.sessions, 'imported session')}?"
    if not (yes or (not as_json and _agrees(question, usual=False))):
        if as_json:
            output.say_json(encode(found))
        output.note("nothing was removed")
        output.note_hint("pass --yes to remove all history without asking")
        return 1
    show(call(actions.forget, None, is_first=False), _say_forgotten, as_json=as_json)
    return 0


def _say_forgotten(found: actions.ForgottenHistory) -> None:
    output.say(f"removed {output.counted(found.sessions, 'imported session')}")
