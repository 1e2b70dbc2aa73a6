"""Locate, render and write the view, and judge whether the existing one is current."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import __version__, layout
from passdown.core.digests import sha256
from passdown.core.formats.view_footer import ViewOwner, check_footer, find_view_owner
from passdown.core.formats.view_location import RENDERER, ViewLocation, ViewPolicy, locate_view
from passdown.errors import PassdownError, StorageError
from passdown.services.log.indexing import require_complete
from passdown.services.workspace.local_files import ignore_folder
from passdown.settings import Settings

if TYPE_CHECKING:  # the index imports all of merging, and a check that finds nothing new needs none of it
    from passdown.ports.documents import Documents
    from passdown.ports.index import Index
    from passdown.ports.repository import Repository
    from passdown.services.workspace.workspaces import Workspace

LOCAL_VIEW: Final = layout.CURRENT
KEPT: Final = layout.EDITED_VIEW
"""The prefix of the file names of copies of broken views."""
REGENERATE: Final = "passdown synthesize --no-confirm --commit"
"""The command that regenerates a view that git merged, and commits it."""
NOTE: Final = f"view {__version__} {RENDERER}"
"""The name under which an index remembers the hash of the view and its number of events.

Every version uses a name of its own.
"""


class ViewState(StrEnum):
    """How the existing view compares with the events."""

    CURRENT = "current"
    OUTDATED = "outdated"
    MISSING = "missing"
    EDITED = "edited"
    MERGED = "merged"
    FOREIGN = "foreign"
    OTHER_RENDERER = "other-renderer"


class WrittenView(NamedTuple):
    """The result of writing: the state before, the copy of a broken view, and lines to recover from it."""

    path: str
    before: ViewState
    kept: str
    offered: tuple[str, ...] = ()
    """Lines of the copy that no event states and no other view has."""


def view_place(repository: "Repository", settings: Settings) -> ViewLocation:
    """Return where the view is on the current branch, and why if it is not committed (C43).

    Git is only asked if the policy depends on the branch.
    """
    policy = settings.view.commit
    branch = integration = None
    if policy is ViewPolicy.INTEGRATION and repository.is_there():
        branch, integration = repository.branch(), repository.integration_branch(settings.view.branch)
    return locate_view(
        policy,
        tracked=settings.paths.view,
        local=local_view_path(settings),
        branch=branch,
        integration=integration,
    )


def has_merged_view(workspace: "Workspace") -> bool:
    """Return whether git merged the view of this checkout, and nobody has regenerated it (C116)."""
    try:
        there = read_view(workspace.documents, workspace.settings.paths.view)
    except StorageError:  # a folder, a link, or too large
        return False
    return find_view_owner(there) is ViewOwner.MERGED


def local_view_path(settings: Settings) -> str:
    """Return the path of the view that git ignores."""
    return f"{settings.paths.runtime}/{LOCAL_VIEW}"


def legacy_copy_path(settings: Settings, data: bytes) -> str:
    """Return the path of the copy of a migrated document."""
    return f"{settings.paths.runtime}/{layout.LEGACY_VIEW}{_hash(data)[:12]}.md"


def count_if_current(
    note: str, before: Mapping[str, int], folders: Mapping[str, int], there: bytes | None
) -> int | None:
    """Return the number of events of a view that is certainly current, or None if it must be checked.

    `note` is what the index remembers about the view. It is valid while the event folders have not changed,
    and did not change so recently that the next change might go unnoticed.
    """
    digest, _, events = note.partition(" ")
    is_same = before == folders and all(folders.values())
    return int(events) if is_same and there is not None and _hash(there) == digest else None


def make_text(index: "Index") -> str:
    """Render the view of the events in an index; the same events produce the same bytes.

    Raises an UnreadError if not all events were read.
    """
    from passdown.core.formats.views import render_view
    from passdown.core.merge.projections import LIMIT, make_view  # a check often needs no view

    require_complete(index)
    digest = index.digest(LIMIT)
    text = render_view(make_view(digest))
    index.remember(NOTE, f"{_hash(text.encode())} {digest.event_count}")
    return text


def judge_view(documents: "Documents", path: str, index: "Index") -> ViewState:
    """Compare the existing view with the events, byte for byte.

    The view is only rendered if it was not rendered before from the same events.
    """
    return judge_data(read_view(documents, path), index)


def judge_data(there: bytes | None, index: "Index") -> ViewState:
    """Compare the content of a view with the events in an index."""
    if there is None:
        return ViewState.MISSING
    remembered = index.recall(NOTE)
    if remembered is None:
        return _judge(there, _hash(make_text(index).encode()))
    return _judge(there, remembered.partition(" ")[0])


def _judge(there: bytes, expected: str) -> ViewState:
    if _hash(there) == expected:
        return ViewState.CURRENT
    owner = find_view_owner(there)
    if owner is ViewOwner.FOREIGN:
        return ViewState.FOREIGN
    if owner in {ViewOwner.EDITED, ViewOwner.MERGED}:
        return ViewState(owner.value)
    footer = check_footer(there.decode("utf-8", "replace"))
    return ViewState.OUTDATED if footer and footer.renderer == str(RENDERER) else ViewState.OTHER_RENDERER


def read_view(documents: "Documents", path: str) -> bytes | None:
    """Read the existing view; return None if there is none."""
    return documents.read(path) if documents.exists(path) else None


def write_view(documents: "Documents", path: str, text: str, runtime: str) -> WrittenView:
    """Write the view, unless the file already has this content.

    1. A document of somebody else is never overwritten: this raises a PassdownError.
    2. A view that was edited by hand or merged by git is first copied below `runtime`, readable only by its
       owner.
    """
    data = text.encode()
    there = read_view(documents, path)
    is_blank = there is None or not there.strip(b"\0")  # a power cut may leave an empty file
    before = ViewState.MISSING if there is None or is_blank else _judge(there, _hash(data))
    kept = ""
    if before is ViewState.CURRENT:
        return WrittenView(path, before, kept)
    if before is ViewState.FOREIGN:  # 1
        hint = "run `passdown migrate` to import it as an event; nothing in it is lost"
        raise PassdownError(f"{path} was not made by Passdown, so it was not changed", hint=hint)
    if there is not None and before in {ViewState.EDITED, ViewState.MERGED}:  # 2
        kept = f"{runtime}/{KEPT}{_hash(there)[:12]}.md"
        ignore_folder(documents, runtime)
        documents.replace(kept, there, local=True)
    is_local = path.startswith(f"{runtime}/")
    if is_local:
        ignore_folder(documents, runtime)
    # The local one is made again from the events (ADR 0042).
    documents.replace(path, data, local=is_local, durable=not is_local)
    return WrittenView(path, before, kept)


# --- a `current.md` of somebody else, which sessions are told about until it is migrated (R139) ---------


def find_legacy(workspace: "Workspace") -> str:
    """Return the path of somebody else's document in the place of the view, or "".

    One that was migrated in this checkout does not count, even if the view is elsewhere on this branch.
    """
    path = workspace.settings.paths.view
    try:
        data = workspace.documents.read(path) if workspace.documents.exists(path) else None
        if data is None or find_view_owner(data) is not ViewOwner.FOREIGN:
            return ""
        return "" if workspace.documents.exists(legacy_copy_path(workspace.settings, data)) else path
    except StorageError:  # a folder, a link, or too large
        return ""


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
