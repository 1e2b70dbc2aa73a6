"""The state of a project at a glance: the number of handoffs, and the state of the search index."""

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from passdown.core.facts import make_key
from passdown.core.formats.archives import parse_archive_file_name
from passdown.core.kinds import FactKind
from passdown.core.merge.ranks import limit_of
from passdown.core.project.search_query import LOCAL_KINDS
from passdown.errors import CacheError
from passdown.records import record
from passdown.services.handover.handoffs import list_handoffs, list_sessions
from passdown.services.log.events import update_index
from passdown.services.log.indexing import count_changes
from passdown.services.project.search import SearchScope
from passdown.services.sessions.foreign_documents import list_streams
from passdown.services.sessions.journals import read_open
from passdown.services.workspace.workspaces import Workspace

_MOST: Final = 1_000


class IndexHealth(StrEnum):
    """How the search index compares with the files."""

    CURRENT = "current"
    BEHIND = "behind"
    MISSING = "missing"
    UNUSABLE = "unusable"


@record
class HandoffCount:
    """The number of handoffs, streams and records together."""

    count: Annotated[int, "How many there are."]
    last_at: Annotated[datetime | None, "When the last one was written; None if there is none."]
    sessions: Annotated[int, "How many of them only record a session that ended."] = 0
    handed_over_at: Annotated[
        datetime | None, "When the last of the others was written, if some are not."
    ] = None


@record
class IndexState:
    """Whether the search index is current; each search brings it up to date first."""

    health: Annotated[IndexHealth, "How it compares with the files."]
    changes: Annotated[int, "How many files the next search reads or forgets."] = 0


def count_handoffs(workspace: Workspace) -> HandoffCount:
    """Count the handoffs by their names; only the newest are read."""
    paths = workspace.settings.paths
    names = [path.rpartition("/")[2] for path in workspace.documents.list(paths.archive)]
    records = sum(parse_archive_file_name(name) is not None for name in names)
    streams = sum(1 for _ in list_streams(workspace))
    newest = list_handoffs(workspace, 1)
    sessions = list_sessions(workspace, 0)[1]
    given = list_handoffs(workspace, 1, has_sessions=False) if sessions else ()
    return HandoffCount(
        count=records + streams,
        last_at=newest[0].at if newest else None,
        sessions=sessions,
        handed_over_at=given[0].at if given else None,
    )


def count_questions(workspace: Workspace) -> int:
    """Count the questions that nobody has answered, in events and in the journals of running sessions."""
    update_index(workspace.log, workspace.index)
    until = limit_of(workspace.index.newest(workspace.now()).present)
    told = workspace.index.digest(_MOST, until).kinds[FactKind.QUESTION].facts
    running = read_open(workspace)
    asked = {
        make_key(one.text)
        for one in (*told, *(one for each in running for one in each.of(FactKind.QUESTION)))
    }
    return len(asked - {make_key(one.key) for each in running for one in each.of(FactKind.ANSWER)})


def find_index_state(scope: SearchScope) -> IndexState:
    """Compare the search index with the files, by their names and marks; no file is read.

    History does not count: an import changes nothing else, not even what is said of the index (C134).
    """
    sources = {kind: source for kind, source in scope.sources.items() if kind not in LOCAL_KINDS}
    try:
        known = {kind: scope.index.folders(kind) for kind in sources}
        changes = sum(
            count_changes(source, known[kind], partial(scope.index.files, kind))
            for kind, source in sources.items()
        )
    except CacheError:
        return IndexState(health=IndexHealth.UNUSABLE)
    if not changes:
        return IndexState(health=IndexHealth.CURRENT)
    is_new = not any(known.values())
    return IndexState(health=IndexHealth.MISSING if is_new else IndexHealth.BEHIND, changes=changes)
