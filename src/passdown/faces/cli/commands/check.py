"""`passdown check`: report problems in documents, and repair what is safe to repair."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from passdown.core.problems import Problem, Severity
from passdown.core.safe_text import one_line
from passdown.core.schemas import to_data
from passdown.errors import StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.progress import Progress
from passdown.ports.documents import Documents
from passdown.records import as_dict, record
from passdown.services.workspace.documents import (
    CheckedFile,
    check_document,
    list_documents,
    list_project,
    plan_repair,
    project_folders,
    report_unknown_file,
    write_repair,
)
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import open_documents

_WHERE_THEY_LIE: Final = "`passdown format` shows where the documents of each format belong"


class CheckTarget(NamedTuple):
    """A file to check, how it is shown, and whether the user named it."""

    documents: Documents
    path: str
    shown: str
    known_as: str
    named: bool


class CheckTargets(NamedTuple):
    """The files to check, where they were searched, and the hint if none were found."""

    targets: Sequence[CheckTarget]
    place: str
    hint: str


class CheckOptions(NamedTuple):
    """The options of the command."""

    fix: bool
    yes: bool
    as_json: bool


class RepairResult(NamedTuple):
    """The diff of a repair, and whether it was written."""

    difference: str
    written: bool


@record(frozen=False)
class CheckCounts:
    """The number of files by result."""

    checked: int = 0
    with_errors: int = 0
    with_warnings: int = 0
    repaired: int = 0
    not_repaired: int = 0
    other_files: int = 0

    def count(self, checked: CheckedFile, mending: RepairResult | None) -> None:
        """Count one file."""
        self.checked += checked.is_ours
        self.with_errors += checked.has_errors
        self.with_warnings += bool(checked.problems) and not checked.has_errors
        self.other_files += not checked.is_ours
        if mending is not None:
            self.repaired += mending.written
            self.not_repaired += not mending.written

    def fails(self, *, strict: bool) -> bool:
        """Whether the check as a whole fails."""
        return bool(self.with_errors or self.not_repaired or (strict and self.with_warnings))


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

    Each problem is shown as `file:line: field: problem`; those that end with (warning) do not make the check
    fail.

    Exits with 0 if no document has an error, with 1 if one has or if a repair was shown but not written, with
    2 if FILE does not exist (then nothing is checked), and with 5 if a repair could not be written.
    """
    if yes and not fix:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or remove --yes")
    search = _find_targets(files)
    options = CheckOptions(fix, yes, as_json)
    tally = CheckCounts()
    pieces: list[str] = []
    fixable = 0
    with Progress("checking", len(search.targets), shown=_shows_progress(search)) as progress:
        for target in search.targets:
            progress.step()
            checked, mending = _examine(target, options, progress)
            tally.count(checked, mending)
            fixable += sum(problem.fixable for problem in checked.problems)
            if not as_json and checked.problems:
                progress.hide()
                _say_problems(target.shown, checked)
            elif as_json and checked.is_ours:
                pieces.append(output.render_json(_as_data(target.shown, checked, mending)))
    if as_json:
        output.say_json_list("files", pieces, {"summary": as_dict(tally)})
    else:
        _say_summary(tally, search, fixable=0 if fix else fixable)
    return 1 if tally.fails(strict=strict) else 0


def _shows_progress(search: CheckTargets) -> bool:
    return output.is_terminal(sys.stderr) and any(not target.named for target in search.targets)


def _find_targets(files: Sequence[str]) -> CheckTargets:
    """Find the files that the arguments name, each once; raise `UsageError` if some do not exist."""
    here = _current_folder()
    if not files:
        return _search_project(here)
    targets: dict[str, CheckTarget] = {}
    missing: list[str] = []
    for name in files:
        try:
            targets.update({target.known_as: target for target in _find_file(name, here)})
        except UsageError:
            missing.append(name or "an empty name")
    if missing:
        hint = (
            "check the spelling; links are not followed"
            if len(files) == 1
            else "check the spelling; nothing was checked"
        )
        raise UsageError(f"no such file or folder: {', '.join(missing)}", hint=hint)
    return CheckTargets(list(targets.values()), " or ".join(files), _WHERE_THEY_LIE)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as found:
        reason = f"could not find the current folder: {found.strerror}"
        raise StorageError(reason, hint="change to a folder that exists") from found


def _find_file(name: str, here: Path) -> Sequence[CheckTarget]:
    """Find the files that one argument names; files outside the current folder get their own root."""
    if not name:
        raise UsageError("the name is empty")
    full = Path(os.path.abspath(name))  # resolve() would follow links
    if full.is_relative_to(here):
        root, prefix = here, ""
    else:
        root = full if full.is_dir() else full.parent
        shown = root.as_posix() if Path(name).is_absolute() else _relative(root, here)
        prefix = shown.rstrip("/") + "/"
    documents = open_documents(root)
    path = full.relative_to(root).as_posix()
    return [
        CheckTarget(
            documents, found, prefix + found, f"{root.as_posix().rstrip('/')}/{found}", named=found == path
        )
        for found in list_documents(documents, "" if path == "." else path)
    ]


def _search_project(here: Path) -> CheckTargets:
    root = find_root(here)
    settings, warnings = read_settings(root)
    for warning in warnings:
        output.note(warning)
    documents = open_documents(root)
    prefix = "" if root == here else f"{_relative(root, here)}/"
    targets = [
        CheckTarget(documents, path, prefix + path, path, named=False)
        for path in list_project(documents, settings.paths)
    ]
    places = ", ".join(project_folders(settings.paths))
    return CheckTargets(targets, "this project", f"looked in {places}; name a FILE to look elsewhere")


def _relative(folder: Path, here: Path) -> str:
    return os.path.relpath(folder, here).replace(os.sep, "/")


def _examine(
    target: CheckTarget, options: CheckOptions, progress: Progress
) -> tuple[CheckedFile, RepairResult | None]:
    """Check one file, and repair it if asked; return the state afterwards."""
    checked = _check(target)
    repair = plan_repair(checked) if options.fix else None
    if repair is None:
        return checked, None
    difference = repair.difference(one_line(target.shown))
    if not options.as_json:
        progress.hide()
        output.say(difference.removesuffix("\n"))
    # With --json the diff is part of the answer, which the user has not seen, so only --yes can confirm it.
    if not (options.yes or (not options.as_json and _agrees(target.shown))):
        return checked, RepairResult(difference, written=False)
    write_repair(target.documents, repair)
    if not options.as_json:
        output.note(f"repaired {target.shown}")
    return _check(target), RepairResult(difference, written=True)


def _check(target: CheckTarget) -> CheckedFile:
    checked = check_document(target.documents, target.path, known_as=target.known_as)
    return report_unknown_file(checked) if target.named and not checked.is_ours else checked


def _agrees(shown: str) -> bool:
    if not output.has_person():
        return False
    try:
        return click.confirm(f"Write this change to {one_line(shown)}?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _say_problems(shown: str, checked: CheckedFile) -> None:
    for problem in checked.problems:
        output.say(_line(shown, problem))
        if problem.hint:
            output.say(output.hint(problem.hint))


def _line(shown: str, problem: Problem) -> str:
    mark = " (warning)" if problem.severity is Severity.WARNING else ""
    return one_line(f"{shown}:{problem.line}: {problem.field}: {problem.problem}{mark}")


def _say_summary(tally: CheckCounts, search: CheckTargets, *, fixable: int) -> None:
    if tally.checked:
        wrong = [f"{tally.with_errors} with errors"] if tally.with_errors else []
        wrong += [f"{tally.with_warnings} with warnings only"] if tally.with_warnings else []
        parts = [
            f"{output.counted(tally.checked, 'document')} checked, {', '.join(wrong) or 'nothing wrong'}"
        ]
    else:
        parts = [f"no documents found in {search.place}"]
    parts += [f"{tally.repaired} repaired"] if tally.repaired else []
    parts += [f"{output.counted(tally.not_repaired, 'repair')} not written"] if tally.not_repaired else []
    parts += [f"{output.counted(tally.other_files, 'other file')} ignored"] if tally.other_files else []
    output.note("; ".join(parts))
    if not tally.checked:
        output.note_hint(search.hint)
    if tally.not_repaired and not output.has_person():
        output.note_hint("there is no terminal to ask at; --yes writes without asking")
    if fixable:
        output.note_hint(f"--fix can repair {output.counted(fixable, 'problem')}; it shows the diff first")


def _as_data(shown: str, one: CheckedFile, mending: RepairResult | None) -> dict[str, object]:
    return {
        "path": shown,
        "format": one.format.name if one.format else None,
        "format_version": one.format.version if one.format else None,
        "problems": [to_data(problem) for problem in one.problems],
        "data": to_data(one.document) if one.document else None,
        "repair": mending._asdict() if mending else None,
    }
