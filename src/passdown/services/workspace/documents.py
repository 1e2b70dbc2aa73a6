"""Check documents, and repair what is safe to repair."""

import difflib
from collections.abc import Callable, Sequence
from typing import Final, cast

from passdown import layout
from passdown.core.documents.documents import AnyDocument
from passdown.core.formats.registry import Format, judge_path, recognise
from passdown.core.problems import Problem, Severity, error
from passdown.core.schemas import to_data
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.records import record, replace
from passdown.settings import Paths

MAX_BYTES: Final = 67_108_864
MAX_ROUNDS: Final = 8
SUFFIXES: Final = (".md", ".json", ".jsonl")

NO_DOCUMENTS: Final = (layout.EDITED_VIEW, layout.LEGACY_VIEW, layout.PREFERENCES)
"""Prefixes of files among the local state that are kept as the user wrote them."""


@record
class CheckedFile:
    """The result of checking one file."""

    path: str
    text: str = ""
    format: Format | None = None
    document: AnyDocument | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether the file is ours or has problems; other files are left alone."""
        return self.format is not None or bool(self.problems)

    @property
    def has_errors(self) -> bool:
        """Whether there is a problem that makes a check fail."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


@record
class Repair:
    """A change that fixes a document without changing its meaning."""

    path: str
    before: str
    after: str

    def difference(self, name: str) -> str:
        """Return the change as a unified diff; if all line endings are CRLF, they are left out."""
        before, after = self.before, self.after
        if _has_crlf_only(before) and _has_crlf_only(after):
            before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
        lines = difflib.unified_diff(_split_lines(before), _split_lines(after), name, name)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )


def _split_lines(text: str) -> list[str]:
    """Split at line feeds only, as all other diff tools do."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _has_crlf_only(text: str) -> bool:
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def list_documents(documents: Documents, path: str) -> Sequence[str]:
    """List the files to check: the path itself, or the files below it that could be documents.

    Raises `UsageError` if there is no such file or folder.
    """
    if documents.is_folder(path):
        return [name for name in documents.list(path) if name.endswith(SUFFIXES)]
    if not documents.exists(path):
        raise UsageError(f"{path}: no such file or folder", hint="check the spelling; links are not followed")
    return [path]


def list_project(documents: Documents, paths: Paths) -> Sequence[str]:
    """List the documents of a project according to its settings, sorted and without duplicates."""
    names: set[str] = set()
    apart = tuple(f"{paths.runtime}/{name}" for name in NO_DOCUMENTS)
    for place in project_folders(paths):
        names.update(name for name in documents.list(place) if name.endswith(SUFFIXES))
    if documents.exists(paths.view):
        names.add(paths.view)
    return sorted(name for name in names if not name.startswith(apart))


def project_folders(paths: Paths) -> Sequence[str]:
    """Return the folders of a project that hold documents of a known format."""
    shared = (paths.archive, paths.handoffs, paths.events, paths.event_archive)
    return (paths.ledgers, *shared, paths.runtime, paths.loops)


def check_document(documents: Documents, path: str, *, known_as: str = "") -> CheckedFile:
    """Read one file, recognise its format, and report problems; never raises because of its content.

    A file that cannot be read is a problem of that file. `known_as` is a longer path by which to recognise
    the format, for documents whose root is not that of a project.
    """
    try:
        text = _read(documents, path)
    except PassdownError as found:
        return CheckedFile(path=path, problems=(_as_problem(found, path, "file"),))
    return replace(check_text(known_as or path, text), path=path)


def _read(documents: Documents, path: str) -> str:
    if documents.size(path) > MAX_BYTES:
        raise FormatError(f"is over {MAX_BYTES} bytes, so it is not read", hint="split it")
    data = documents.read(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as found:
        line = data.count(b"\n", 0, found.start) + 1
        raise FormatError("is not UTF-8 text", line=line, hint="save it as UTF-8") from None


def check_text(path: str, text: str) -> CheckedFile:
    """Recognise a text's format and report its problems."""
    found = recognise(path, text)
    if found is None:
        return CheckedFile(path=path, text=text)
    try:
        document = found.parse(text)
    except FormatError as problem:
        shown = _as_problem(problem, path, found.name)
        return CheckedFile(path=path, text=text, format=found, problems=(shown,))
    problems = sorted([*document.problems, *judge_path(found, path, document)], key=lambda one: one.line)
    if found.fix is None:  # this format is never changed, so nothing is fixable
        problems = [replace(problem, fixable=False) for problem in problems]
    return CheckedFile(path=path, text=text, format=found, document=document, problems=tuple(problems))


def _as_problem(found: PassdownError, path: str, field: str) -> Problem:
    """Turn an error into a problem of a file, without the file's name in its message."""
    line, name = (found.line, found.field or field) if isinstance(found, FormatError) else (1, field)
    message = found.message.removeprefix(f"{path}: ").replace(f" {path}: ", ": ", 1)
    return error(line, name, message, found.hint)


def report_unknown_file(checked: CheckedFile) -> CheckedFile:
    """Report a file that the user named but that is not one of our documents."""
    hint = "`passdown format` lists the formats; `passdown format example NAME` shows one"
    problem = error(1, "format", "is not in a format that Passdown knows", hint)
    return replace(checked, problems=(problem,))


def plan_repair(checked: CheckedFile) -> Repair | None:
    """Return the repair of a document, or None if nothing in it is safe to fix.

    Events, views and journals are never changed, nor is a document whose meaning would change. CRLF line
    endings are kept.
    """
    if checked.format is None or checked.format.fix is None or checked.document is None:
        return None
    if not any(problem.fixable for problem in checked.problems):
        return None
    after = _fix_fully(checked.format.fix, checked.text)
    if after == checked.text or not _says_the_same(checked.document, checked.format.parse(after)):
        return None
    return Repair(path=checked.path, before=checked.text, after=after)


def _fix_fully(fix: Callable[[str], str], text: str) -> str:
    """Fix until nothing changes: problems in a section are only found once the section exists."""
    if _has_crlf_only(text):
        return _fix_fully(fix, text.replace("\r\n", "\n")).replace("\n", "\r\n")
    for _ in range(MAX_ROUNDS):
        fixed = fix(text)
        if fixed == text:
            break
        text = fixed
    return text


def _says_the_same(before: AnyDocument, after: AnyDocument) -> bool:
    """Return whether a repair keeps the meaning; it may add a title if there was none."""
    old, new = cast("dict[str, object]", to_data(before)), cast("dict[str, object]", to_data(after))
    return {**old, "title": old.get("title") or new.get("title")} == {**new, "title": new.get("title")}


def write_repair(documents: Documents, repair: Repair) -> None:
    """Write a repair; raise `StorageError` if the file has changed since it was planned."""
    if documents.read(repair.path) != repair.before.encode():
        hint = "run the command again; nothing was overwritten"
        raise StorageError(f"{repair.path} has changed since; nothing was written", hint=hint)
    documents.replace(repair.path, repair.after.encode())
