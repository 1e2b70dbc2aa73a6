"""Builds what an import of old transcripts needs, and finds the history of a project."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from passdown import layout
from passdown.core.digests import sha256
from passdown.core.json_text import load_object
from passdown.engines import user_folders
from passdown.engines.files import archive, read
from passdown.engines.files.document_folders import HistoryFiles
from passdown.engines.files.transcripts import FileTranscripts
from passdown.engines.git.repository import GitRepository
from passdown.engines.process import SystemProcesses
from passdown.errors import UsageError
from passdown.ports.host import Host, Install
from passdown.services.project.imports import HistoryPlace, ImportScope, TranscriptHost
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.caches import CachePlace, remove_search_indexes
from passdown.wiring.projects import is_top, open_hosts
from passdown.wiring.workspaces import open_documents

_DIGEST: Final = 12


class HistoryFolder(NamedTuple):
    """Where the history of a project is on this machine."""

    root: str
    """The folder below which no link is followed: git's, or that of the user's state."""
    folder: str
    """The folder of history, below it."""
    shown: str
    """The folder of history, as shown to the user."""


def find_history_folder(workspace: Workspace) -> HistoryFolder:
    """Return where the history of a project is: in git's folder, or among the user's state without git.

    Raises a UsageError if there is neither git nor a home folder.
    """
    common = workspace.repository.common_folder()
    if common:
        folder = layout.history_folder()
        return HistoryFolder(common, folder, layout.shown_in_git(folder))
    state = user_folders.find_state_folder(workspace.variables, sys.platform)
    root = os.path.realpath(workspace.root).encode("utf-8", "surrogateescape")
    folder = layout.history_folder(sha256(root).hexdigest()[:_DIGEST])
    return HistoryFolder(state, folder, f"{state}/{folder}")


def open_history(workspace: Workspace) -> HistoryPlace:
    """Return the history of a project; raise a UsageError if there is neither git nor a home folder."""
    where = find_history_folder(workspace)
    documents = workspace.git_documents or open_documents(Path(where.root))
    return HistoryPlace(documents=documents, folder=where.folder, shown=where.shown)


def open_history_files(workspace: Workspace) -> HistoryFiles:
    """Return the history of a project as search reads it; there is none without git or a home folder."""
    try:
        where = find_history_folder(workspace)
    except UsageError:
        return HistoryFiles("", "")
    return HistoryFiles(where.root, f"{where.root}/{where.folder}")


def open_import(workspace: Workspace, host: str = "") -> ImportScope:
    """Build what an import needs, for one host or for all; raise a UsageError for an unknown host."""
    hosts = [open_hosts().find(host)] if host else list(open_hosts().load())
    where = find_history_folder(workspace)

    folder = f"{where.root}/{where.folder}"

    def sweep() -> int:
        return archive.sweep([folder], SystemProcesses().is_gone, roots=[where.root])

    def clear() -> None:
        archive.remove_empty_folders(folder)
        common = workspace.repository.common_folder()
        remove_search_indexes(
            CachePlace(Path(workspace.root), workspace.settings, common, workspace.tracking)
        )

    return ImportScope(
        place=open_history(workspace),
        hosts=tuple(_list_hosts(hosts, workspace)),
        transcripts=FileTranscripts(),
        resolve=lambda path: os.path.realpath(path).replace(os.sep, "/"),
        exists=os.path.isdir,
        is_top=lambda folder: is_top(folder) or os.path.isfile(f"{folder}/{layout.SETTINGS}"),
        remotes=GitRepository(workspace.root, variables=workspace.variables).remotes,
        sweep=sweep,
        clear=clear,
    )


def _list_hosts(hosts: list[Host], workspace: Workspace) -> Iterator[TranscriptHost]:
    """Yield the hosts that keep transcripts; none without a home folder."""
    for host in hosts:
        if host.load_store is None or host.load_install is None or host.load_transcripts is None:
            continue
        install, store = host.load_install(), host.load_store()
        try:
            folder = user_folders.find_host_folder(install, workspace.variables)
        except UsageError:
            return
        yield TranscriptHost(
            name=host.name,
            title=host.title,
            folder=os.path.join(folder, store.folder).replace(os.sep, "/"),
            store=store,
            reader=host.load_transcripts(),
            kept_days=store.kept_days(_read_settings(install, folder)) if store.kept_days else None,
        )


def _read_settings(install: Install, folder: str) -> object:
    """Return the settings of a host; none if they are missing or cannot be read."""
    try:
        return load_object(read.read_trusted(os.path.join(folder, install.settings), read.SETTINGS)) or {}
    except OSError:
        return {}
