"""Settle the conflicts that git reports if several clones archived the same events."""

from collections.abc import Collection, Mapping
from typing import Annotated

from passdown.core.git_hash import git_blob_id
from passdown.core.merge.conflicts import Sides, settle_conflicts
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.merge.rollups import is_rollup, parse_rollup
from passdown.errors import PassdownError
from passdown.ports.archive_branch import Conflicts
from passdown.records import record
from passdown.services.log.event_archive import check_rollup
from passdown.services.workspace.workspaces import Workspace


@record
class SettledConflicts:
    """What was settled, and what is left."""

    command: Annotated[str, "The command in progress, in words."]
    proceed: Annotated[str, "The command that finishes it."]
    settled: Annotated[tuple[str, ...], "The files whose conflict is settled."]
    left: Annotated[tuple[str, ...], "Files of events whose conflict only the user can settle."]
    others: Annotated[int, "How many files with conflicts are elsewhere."]


def find_conflicts(workspace: Workspace) -> Conflicts | None:
    """Return the conflicts in events and archived events, or None."""
    paths = workspace.settings.paths
    return workspace.archive_branch.find_conflicts(paths.events, paths.event_archive)


def describe_conflicts(workspace: Workspace) -> tuple[str, str] | None:
    """Return what conflicts in our folders, and what to do about it; None if nothing does."""
    found = find_conflicts(workspace)
    if found is None:
        return None
    files = "1 file" if len(found.unmerged) == 1 else f"{len(found.unmerged)} files"
    return f"{found.command} has conflicts in {files} of events", "run `passdown archive resolve`"


def resolve(workspace: Workspace) -> SettledConflicts | None:
    """Settle the conflicts that archiving made; return None if there are none in our folders.

    An event is removed only if a rollup of the merged tree holds it, byte for byte. Files are written before
    they are marked as resolved. Raises a PassdownError if git cannot mark them.
    """
    found = find_conflicts(workspace)
    if found is None:
        return None
    sides = Sides(found.unmerged, found.ours, found.theirs, found.merged)
    settlement = settle_conflicts(sides, _read_held(workspace, found))
    _write(workspace, settlement.contents)
    if (refused := workspace.archive_branch.settle(settlement.contents)) is not None:
        raise PassdownError(refused.reason, hint=refused.hint)
    return SettledConflicts(
        command=found.command,
        proceed=found.proceed,
        settled=tuple(path for path in sorted(found.unmerged) if path not in settlement.left),
        left=settlement.left,
        others=found.others,
    )


def _read_held(workspace: Workspace, found: Conflicts) -> frozenset[str]:
    """Return the ids of the contents that intact rollups of the merged tree hold, of the days in question."""
    ids = sorted({name for stages in found.unmerged.values() for _, name in stages})
    texts = workspace.history.contents(ids)
    days: set[str] = set()
    for path, stages in found.unmerged.items():
        named = (parse_event_facts(texts.get(name, b""), path.rpartition("/")[2]) for _, name in stages)
        days |= {source.rank.at.date().isoformat() for source in named if source}
    tree = {
        **found.merged,
        **{path: name for path, name in found.ours.items() if found.theirs.get(path) == name},
    }
    rollups = {path: name for path, name in tree.items() if _is_of(path, days)}
    held: set[str] = set()
    for path, name in rollups.items():
        data = workspace.history.contents([name]).get(name)
        if not check_rollup(path, data).problems:
            held |= {git_blob_id(member.data, like=name) for member, _ in parse_rollup(data or b"").members}
    return frozenset(held)


def _is_of(path: str, days: Collection[str]) -> bool:
    """Return whether a path is a rollup of one of these days."""
    folder, _, name = path.rpartition("/")
    return is_rollup(name) and folder.rpartition("/")[2] in days


def _write(workspace: Workspace, contents: Mapping[str, str | None]) -> None:
    texts = workspace.history.contents([name for name in contents.values() if name])
    for path, name in contents.items():
        if name:
            workspace.documents.replace(path, texts[name])
        elif workspace.documents.exists(path):
            workspace.documents.remove(path, workspace.documents.read(path))
