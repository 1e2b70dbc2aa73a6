"""Builds what a search needs."""

from pathlib import Path

from passdown import layout
from passdown.core.project.search_query import DocumentKind
from passdown.engines.files.document_folders import (
    EndedJournalFiles,
    LoopLedgers,
    StreamDocuments,
    open_folder,
)
from passdown.engines.memory.search import MemorySearch
from passdown.engines.sqlite.search_index import open_search
from passdown.ports.search import SearchSource
from passdown.services.project.search import SearchScope
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.caches import SEARCH, CachePlace, open_first
from passdown.wiring.imports import open_history_files


def open_search_scope(workspace: Workspace, *, cached: bool = True) -> SearchScope:
    """Build what a search needs; its index is cached beside that of the events, or in memory."""
    root, settings, clock = Path(workspace.root), workspace.settings, workspace.clock
    common = workspace.repository.common_folder()
    sources: dict[DocumentKind, SearchSource] = {
        DocumentKind.ARCHIVE: open_folder(str(root / settings.paths.archive), clock, root=str(root)),
        DocumentKind.EVENT: workspace.log,
        DocumentKind.STREAM: StreamDocuments(str(root / settings.paths.handoffs), root=str(root)),
        DocumentKind.LOOP: LoopLedgers(workspace.change_files),
        DocumentKind.HISTORY: open_history_files(workspace),
        DocumentKind.JOURNAL: _open_ended_journals(workspace, common or ""),
    }
    index = None
    if cached:
        index = open_first(CachePlace(root, settings, common, workspace.tracking), SEARCH, open_search)
    if index is not None:
        workspace.on_close(index.close)
    return SearchScope(index=index or MemorySearch(), sources=sources)


def _open_ended_journals(workspace: Workspace, common: str) -> EndedJournalFiles:
    """Return the archived journals of ended sessions, below git's folder, or without git the checkout's."""
    root, ours = (common, layout.OURS) if common else (workspace.root, workspace.settings.paths.runtime)
    folder = f"{root}/{ours}/{layout.JOURNALS}/{layout.ENDED}"
    return EndedJournalFiles(folder, workspace.clock, root=root)
