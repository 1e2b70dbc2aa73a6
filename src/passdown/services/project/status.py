"""The state of a project at a glance: the number of open questions, and the state of the search index."""

from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from passdown.core.facts import make_key
from passdown.core.kinds import FactKind
from passdown.core.merge.ranks import limit_of
from passdown.core.project.search_query import LOCAL_KINDS
from passdown.errors import CacheError
from passdown.records import record
from passdown.services.log.events import update_index
from passdown.services.log.indexing import count_changes
from passdown.services.project.search import SearchScope
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
class IndexState:
    """Whether the search index is current; each search brings it up to date first."""

    health: Annotated[IndexHealth, "How it compares with the files."]
    changes: Annotated[int, "How many files the next search reads or forgets."] = 0


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
