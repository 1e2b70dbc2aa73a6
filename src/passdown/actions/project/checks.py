"""Check documents, and repair what is safe to repair."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from passdown.actions.answers import HIDDEN, Form
from passdown.actions.callers import CallEnvironment, Caller
from passdown.core.documents.documents import AnyDocument
from passdown.core.problems import Problem
from passdown.core.safe_text import one_line
from passdown.core.schemas import to_data
from passdown.errors import UsageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.workspace import documents as services
from passdown.wiring.workspaces import open_documents


@record
class CheckRequest:
    """What to check."""

    files: Annotated[tuple[str, ...], "Files or folders; empty for the documents of the project."] = ()
    is_fixing: Annotated[bool, "Whether to plan repairs."] = False


class CheckTarget(NamedTuple):
    """A file to check, how it is shown, and whether the user named it."""

    documents: Documents
    path: str
    shown: str
    known_as: str
    named: bool


class PlannedRepair(NamedTuple):
    """A repair that is not written yet."""

    target: CheckTarget
    repair: services.Repair


@record
class ShownRepair:
    """The diff of a repair."""

    difference: Annotated[str, "The change as a unified diff."]
    written: Annotated[bool, "Whether it was written."]
    plan: Annotated[PlannedRepair, "What is needed to write it.", HIDDEN]


@record
class CheckedDocument:
    """What a check found in one file."""

    path: Annotated[str, "The file."]
    format: Annotated[str | None, "Its format, if known."]
    format_version: Annotated[int | None, "The version of that format."]
    problems: Annotated[tuple[Problem, ...], "What is wrong with it.", Form(to_data)]
    data: Annotated[AnyDocument | None, "Its content, by the schema of its format.", Form(to_data)]
    repair: Annotated[ShownRepair | None, "The repair, if one was requested and is possible."]
    is_ours: Annotated[bool, "Whether it is, or should be, a document.", HIDDEN]
    has_errors: Annotated[bool, "Whether a problem makes the check fail.", HIDDEN]


@record
class CheckedFiles:
    """The files that are checked."""

    files: Annotated[Iterator[CheckedDocument], "Each file; it is checked when requested."]
    total: Annotated[int, "How many files there are."]
    is_search: Annotated[bool, "Whether a folder was searched for them."]
    folders: Annotated[tuple[str, ...], "The folders of the project, if no file was named."]


@record(frozen=False)
class CheckCounts:
    """The number of files by result."""

    checked: Annotated[int, "Documents, and files that should be one."] = 0
    with_errors: Annotated[int, "Files with errors."] = 0
    with_warnings: Annotated[int, "Files with warnings only."] = 0
    repaired: Annotated[int, "Files that were repaired."] = 0
    not_repaired: Annotated[int, "Files whose repair was not written."] = 0
    other_files: Annotated[int, "Files that are not documents."] = 0

    def count(self, one: CheckedDocument) -> None:
        """Count one file, after its repair if there was one."""
        self.checked += one.is_ours
        self.with_errors += one.has_errors
        self.with_warnings += bool(one.problems) and not one.has_errors
        self.other_files += not one.is_ours
        if one.repair is not None:
            self.repaired += one.repair.written
            self.not_repaired += not one.repair.written

    def fails(self, *, strict: bool) -> bool:
        """Return whether the check as a whole fails."""
        return bool(self.with_errors or self.not_repaired or (strict and self.with_warnings))


def check_project(caller: Caller, request: CheckRequest) -> CheckedFiles:
    """Check the documents of a project, in the folders that its settings name."""
    root, here, paths = Path(caller.workspace.root), caller.around.folder, caller.workspace.settings.paths
    documents, prefix = open_documents(root), "" if root == here else f"{_relative(root, here)}/"
    targets = [
        CheckTarget(documents, path, prefix + path, path, named=False)
        for path in services.list_project(documents, paths)
    ]
    return _check_all(targets, tuple(services.project_folders(paths)), request)


def check_files(around: CallEnvironment, request: CheckRequest) -> CheckedFiles:
    """Check the files that are named, each once, in any project or none.

    Raises a UsageError if some do not exist.
    """
    targets: dict[str, CheckTarget] = {}
    missing: list[str] = []
    for name in request.files:
        try:
            targets.update({target.known_as: target for target in _find_file(name, around.folder)})
        except UsageError:
            missing.append(name or "an empty name")
    if missing:
        because = "links are not followed" if len(request.files) == 1 else "nothing was checked"
        hint = f"check the spelling; {because}"
        raise UsageError(f"no such file or folder: {', '.join(missing)}", hint=hint)
    return _check_all(list(targets.values()), (), request)


def _check_all(
    targets: Sequence[CheckTarget], folders: tuple[str, ...], request: CheckRequest
) -> CheckedFiles:
    return CheckedFiles(
        files=(_examine(one, is_fixing=request.is_fixing) for one in targets),
        total=len(targets),
        is_search=not all(one.named for one in targets),
        folders=folders,
    )


def repair(plan: PlannedRepair) -> CheckedDocument:
    """Write a repair, and check the file again; raise a StorageError if it has changed since."""
    services.write_repair(plan.target.documents, plan.repair)
    return _describe(plan.target, _check(plan.target), plan.repair, is_written=True)


def _find_file(name: str, here: Path) -> Sequence[CheckTarget]:
    """Find the files that one argument names; files outside the caller's folder get their own root."""
    if not name:
        raise UsageError("the name is empty")
    full = Path(os.path.abspath(here / name))  # resolve() would follow links
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
        for found in services.list_documents(documents, "" if path == "." else path)
    ]


def _relative(folder: Path, here: Path) -> str:
    return os.path.relpath(folder, here).replace(os.sep, "/")


def _examine(target: CheckTarget, *, is_fixing: bool) -> CheckedDocument:
    checked = _check(target)
    return _describe(target, checked, services.plan_repair(checked) if is_fixing else None, is_written=False)


def _check(target: CheckTarget) -> services.CheckedFile:
    checked = services.check_document(target.documents, target.path, known_as=target.known_as)
    return services.report_unknown_file(checked) if target.named and not checked.is_ours else checked


def _describe(
    target: CheckTarget, checked: services.CheckedFile, planned: services.Repair | None, *, is_written: bool
) -> CheckedDocument:
    shown = None
    if planned is not None:
        difference = planned.difference(one_line(target.shown))
        shown = ShownRepair(difference=difference, written=is_written, plan=PlannedRepair(target, planned))
    return CheckedDocument(
        path=target.shown,
        format=checked.format.name if checked.format else None,
        format_version=checked.format.version if checked.format else None,
        problems=checked.problems,
        data=checked.document,
        repair=shown,
        is_ours=checked.is_ours,
        has_errors=checked.has_errors,
    )
