"""`passdown check`: report problems in documents, and repair what is safe to repair."""

import sys
from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.project import checks
from passdown.core.problems import Severity
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, current_folder, find_environment
from passdown.faces.cli.progress import Progress

_WHERE_THEY_LIE: Final = "run `passdown format` to see where the documents of each format belong"


@click.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE]…")
@click.option("--fix", is_flag=True, help="Repair what is safe to repair; shows the diff and asks.")
@click.option("--yes", is_flag=True, help="With --fix: write without asking. Needed without a terminal.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, with the content of each document."
)
def command(*, files: tuple[str, ...], fix: bool, yes: bool, strict: bool, as_json: bool) -> int:
    """Check ledgers, events and other documents for problems.

    FILE is a file or a folder. Without FILE, checks the documents of this project, in the folders that its
    settings name. In a folder, files that are not documents are ignored; a file that you name must be a
    document. A file that cannot be read is reported, and the others are still checked.

    Each problem is printed as `file:line: field: problem`; those that end with (warning) do not fail the
    check.

    Exits with 0 if no document has an error, with 1 if one has or if a repair was shown but not written, with
    2 if FILE does not exist (then nothing is checked), and with 5 if a repair could not be written.
    """
    if yes and not fix:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or remove --yes")
    search = _search(checks.CheckRequest(files=files, is_fixing=fix))
    tally = checks.CheckCounts()
    pieces: list[str] = []
    fixable = 0
    is_shown = search.is_search and output.is_terminal(sys.stderr)
    with Progress("checking", search.total, shown=is_shown) as progress:
        for found in search.files:
            progress.step()
            one = _repair(found, progress, yes=yes, as_json=as_json)
            tally.count(one)
            fixable += sum(problem.fixable for problem in one.problems)
            if not as_json and one.problems:
                progress.hide()
                _say_problems(one)
            elif as_json and one.is_ours:
                pieces.append(output.render_json(encode(one)))
    if as_json:
        output.say_json_list("files", pieces, {"summary": encode(tally)})
    else:
        _say_summary(tally, search, " or ".join(files) or "this project", fixable=0 if fix else fixable)
    return 1 if tally.fails(strict=strict) else 0


def _search(request: checks.CheckRequest) -> checks.CheckedFiles:
    """Find what to check; files that are named need no project."""
    if request.files:
        return checks.check_files(find_environment(current_folder()), request)
    return call(checks.check_project, request).result


def _repair(
    found: checks.CheckedDocument, progress: Progress, *, yes: bool, as_json: bool
) -> checks.CheckedDocument:
    """Show the repair of a file, and write it if the user agrees; return the state afterwards."""
    if found.repair is None:
        return found
    if not as_json:
        progress.hide()
        output.say(found.repair.difference.removesuffix("\n"))
    # With --json the diff is part of the answer, which the user has not seen, so only --yes can confirm it.
    if not (yes or (not as_json and _agrees(found.path))):
        return found
    repaired = checks.repair(found.repair.plan)
    if not as_json:
        output.note(f"repaired {found.path}")
    return repaired


def _agrees(shown: str) -> bool:
    question = f"Write this change to {one_line(shown)}?"
    return output.has_person() and output.agrees(question, usual=False)


def _say_problems(one: checks.CheckedDocument) -> None:
    for problem in one.problems:
        mark = " (warning)" if problem.severity is Severity.WARNING else ""
        output.say(one_line(f"{one.path}:{problem.line}: {problem.field}: {problem.problem}{mark}"))
        if problem.hint:
            output.say(output.hint(problem.hint))


def _say_summary(tally: checks.CheckCounts, search: checks.CheckedFiles, place: str, *, fixable: int) -> None:
    if tally.checked:
        wrong = [f"{tally.with_errors} with errors"] if tally.with_errors else []
        wrong += [f"{tally.with_warnings} with warnings only"] if tally.with_warnings else []
        parts = [f"{output.counted(tally.checked, 'document')} checked, {', '.join(wrong) or 'no problems'}"]
    else:
        parts = [f"no documents found in {place}"]
    parts += [f"{tally.repaired} repaired"] if tally.repaired else []
    parts += [f"{output.counted(tally.not_repaired, 'repair')} not written"] if tally.not_repaired else []
    parts += [f"{output.counted(tally.other_files, 'other file')} ignored"] if tally.other_files else []
    output.note("; ".join(parts))
    if not tally.checked:
        looked = f"looked in {', '.join(search.folders)}; name a FILE to look elsewhere"
        output.note_hint(looked if search.folders else _WHERE_THEY_LIE)
    if tally.not_repaired and not output.has_person():
        output.note_hint("no terminal to ask on; pass --yes to write without asking")
    if fixable:
        output.note_hint(f"repair {output.counted(fixable, 'problem')} with --fix; it shows the diff first")
