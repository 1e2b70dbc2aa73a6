"""Set up a checkout: plan, show and write what is missing, without a commit. Also remove local files."""

import tomllib
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from passdown import layout
from passdown.core.project.git_rules import (
    PROJECT_BLOCK,
    PathClasses,
    attribute_lines,
    exclude_lines,
    has_block,
    ignore_lines,
    key_lines,
    put_block,
    remove_block,
    render_project_file,
)
from passdown.core.safe_text import one_line
from passdown.errors import StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.workspace.documents import Repair
from passdown.services.workspace.local_files import read_if_there
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME, Paths

IGNORE: Final = layout.IGNORE
ATTRIBUTES: Final = layout.ATTRIBUTES
EXCLUDE: Final = layout.EXCLUDE
_KEY_BYTES: Final = 16


class SetupChange(NamedTuple):
    """A file to create or change: its content before and after."""

    path: str
    before: bytes | None
    after: bytes
    is_gits: bool = False

    @property
    def shown(self) -> str:
        """The path as shown to the user."""
        return layout.shown_in_git(self.path) if self.is_gits else self.path

    @property
    def difference(self) -> str:
        """The change as a diff."""
        before, after = (data.decode("utf-8", "replace") for data in (self.before or b"", self.after))
        return Repair(path=self.path, before=before, after=after).difference(one_line(self.shown))


@record
class SetupRequest:
    """How the user wants to set up the project."""

    is_private: Annotated[bool | None, "Keep all files out of git; None keeps the current state."] = None
    commits: Annotated[bool, "Let Passdown commit its own files."] = True


@record
class SetupPlan:
    """The files to write, in this order; empty if the project is set up."""

    is_private: Annotated[bool, "Whether all files are kept out of git."]
    changes: Annotated[tuple[SetupChange, ...], "The files."]


def classify_paths(paths: Paths) -> PathClasses:
    """Classify paths as local or shared (C2)."""
    return PathClasses(
        local=(paths.runtime, paths.ledgers),
        shared=(paths.handoffs, paths.events, paths.event_archive, paths.archive),
        files=(paths.view,),
        loops=paths.loops,
        view=paths.view,
        generated=(paths.events, paths.event_archive, paths.archive),
    )


def is_initialised(workspace: Workspace) -> bool:
    """Return whether the user agreed to let Passdown run automatically here (C50)."""
    return workspace.documents.exists(FILE_NAME)


def is_private(workspace: Workspace) -> bool:
    """Return whether our rules keep all files out of git."""
    return workspace.git_documents is not None and has_block(
        read_if_there(workspace.git_documents, EXCLUDE) or b"", workspace.repository.prefix()
    )


def plan_setup(workspace: Workspace, request: SetupRequest) -> SetupPlan:
    """Plan what a project still needs.

    1. Git rules come first and `passdown.toml` last: if it exists, everything else does too.
    2. An existing `passdown.toml` is never changed. Raises a UsageError if it contradicts the request.
    3. Without git there are no rules to write.
    """
    private = is_private(workspace) if request.is_private is None else request.is_private
    changes = list(plan_rules(workspace, is_private=private))  # 1, 3
    if is_initialised(workspace):
        _refuse_other_commits(workspace, request)  # 2
    else:
        text = render_project_file(commits=request.commits and not private)
        changes.append(SetupChange(FILE_NAME, None, text.encode()))
    return SetupPlan(is_private=private, changes=tuple(changes))


def _refuse_other_commits(workspace: Workspace, request: SetupRequest) -> None:
    settings = workspace.settings.commit
    names = [name for name in ("session_end", "handoff", "checkpoint") if getattr(settings, name)]
    if not request.commits and names:
        hint = f"under [commit], set {', '.join(f'{name} = false' for name in names)}"
        raise UsageError(f"{FILE_NAME} exists and was not changed", hint=hint)


def plan_rules(workspace: Workspace, *, is_private: bool) -> tuple[SetupChange, ...]:
    """Plan the git rules that are missing; none without git.

    A private project leaves no trace in files that others get. Files that others already have stay unchanged.
    """
    if workspace.git_documents is None:
        return ()
    areas = classify_paths(workspace.settings.paths)
    there, prefix = read_if_there(workspace.git_documents, EXCLUDE), workspace.repository.prefix()
    if is_private:
        lines = exclude_lines(areas._replace(files=(*areas.files, FILE_NAME)), prefix)
        found = [SetupChange(EXCLUDE, there, put_block(there or b"", lines, prefix), is_gits=True)]
    else:
        found = [
            SetupChange(EXCLUDE, there, remove_block(there or b"", prefix), is_gits=True),
            _block(workspace.documents, IGNORE, ignore_lines(areas)),
            _block(workspace.documents, ATTRIBUTES, attribute_lines(areas)),
        ]
    return tuple(change for change in found if change.after != (change.before or b""))


def plan_key(workspace: Workspace, *, is_new: bool) -> SetupChange | None:
    """Plan a new key for a project, in a marked block at the end of its file (C74); None if it has one.

    With `is_new`, the key is replaced. Raises a UsageError if the project is not set up, or if the user wrote
    this section or a key into the file: the file is the user's.
    """
    text = read_if_there(workspace.documents, FILE_NAME)
    if text is None:
        raise UsageError("this project is not set up", hint="run `passdown init` first")
    is_ours = has_block(text, PROJECT_BLOCK)
    if workspace.settings.project.key and not is_new:
        return None
    key = f"p-{workspace.entropy.token(_KEY_BYTES).hex()}"
    if not is_ours and "project" in tomllib.loads(text.decode().replace("\r\n", "\n")):
        hint = f'add key = "{key}" under [project]'
        raise UsageError(f"{FILE_NAME} has a [project] section of your own, so it was not changed", hint=hint)
    return SetupChange(FILE_NAME, text, put_block(text, key_lines(key), PROJECT_BLOCK))


def _block(documents: Documents, path: str, lines: tuple[str, ...]) -> SetupChange:
    there = read_if_there(documents, path)
    return SetupChange(path, there, put_block(there or b"", lines))


def write_setup(workspace: Workspace, changes: tuple[SetupChange, ...]) -> None:
    """Write the files of a plan; raise a StorageError if one has changed since it was planned."""
    for change in changes:
        git = workspace.git_documents if change.is_gits else None
        documents = git or workspace.documents
        if change.before is None:
            is_written = documents.create(change.path, change.after)
        else:
            is_written = read_if_there(documents, change.path) == change.before
            if is_written:
                documents.replace(change.path, change.after)
        if not is_written:
            documents.size(change.path)  # raises a better error for a link, which cannot be followed
            hint = "run the command again; nothing was overwritten"
            raise StorageError(f"{change.shown} has changed since; it was not written", hint=hint)


# --- removing -------------------------------------------------------------------------------------


class PurgeableFile(NamedTuple):
    """A file that exists on this machine only."""

    documents: Documents
    path: str
    shown: str


def list_local(workspace: Workspace) -> Sequence[PurgeableFile]:
    """List a project's local files: journals and caches in git's folder, ledgers and state."""
    found: list[PurgeableFile] = []
    if (git := workspace.git_documents) is not None:
        found += [PurgeableFile(git, path, layout.shown_in_git(path)) for path in git.list(layout.OURS)]
    for folder in classify_paths(workspace.settings.paths).local:
        tracked = workspace.tracking.tracked(folder)
        found += [
            PurgeableFile(workspace.documents, path, path)
            for path in workspace.documents.list(folder)
            if not tracked.holds(path)
        ]
    return found


def purge(files: Sequence[PurgeableFile]) -> int:
    """Remove local files and return how many; a file that changes meanwhile stays."""
    return sum(one.documents.remove(one.path, one.documents.read(one.path)) for one in files)
