"""Builds what the doctor examines."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from passdown import layout
from passdown.core.project.findings import CacheHealth, judge_cache_place
from passdown.engines import user_folders
from passdown.engines.files import archive
from passdown.engines.process import SystemProcesses
from passdown.engines.programs import SystemPrograms
from passdown.engines.sqlite.mounts import MOUNTS, MountKind, find_mount
from passdown.errors import AwayError, PassdownError, UsageError
from passdown.services.project.doctor import Examination
from passdown.services.project.imports import ImportScope
from passdown.services.project.installs import InstallTarget
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Settings
from passdown.wiring.caches import CachePlace, cache_folders, open_cached, open_memory_index
from passdown.wiring.coordination import examine_file, measure_server
from passdown.wiring.imports import open_import
from passdown.wiring.installs import OwnProgram, list_sandbox_targets
from passdown.wiring.projects import find_coordination_url, find_user_file, open_hosts
from passdown.wiring.workspaces import LocalWorkspace, Outside, open_workspace, swept_folders

_CHECK_SERVER: Final = (
    "check that the server runs, that its address under [coordination] or [teams] is right, and that this "
    "machine can reach it; until then nothing can be claimed or reserved"
)


def open_examination(
    root: Path, settings: Settings, program: OwnProgram, warnings: tuple[str, ...] = (), refused: str = ""
) -> Examination:
    """Build what the doctor examines in one checkout."""
    variables, outside = program.variables, Outside(variables=program.variables)
    workspace = open_workspace(root, settings, outside)
    common = workspace.repository.common_folder()
    swept, flat = swept_folders(root, settings.paths, common)
    roots = [str(root), *([common] if common else [])]
    history = [os.path.join(common, layout.history_folder())] if common else []
    is_gone = SystemProcesses().is_gone

    def sweep() -> int:
        swept_history = archive.sweep(history, is_gone, roots=roots)
        return swept_history + archive.sweep(swept, is_gone, flat=flat, roots=roots)

    def find_leftovers() -> list[str]:
        found = archive.find_leftovers(swept, is_gone, flat=flat, roots=roots)
        found += archive.find_leftovers(history, is_gone, roots=roots)
        return [os.path.relpath(path, root).replace(os.sep, "/") for path in found]

    no_server, round_trip = _examine_server(workspace, variables)
    lost, restored = examine_file(LocalWorkspace(root, settings, outside).engine_file, settings)
    return Examination(
        workspace=workspace,
        fresh=open_memory_index,
        find_leftovers=find_leftovers,
        sweep=sweep,
        variables=variables,
        cache=examine_cache(workspace),
        warnings=warnings,
        refused=refused,
        no_server=no_server,
        round_trip=round_trip,
        lost=lost,
        restored=restored,
        user_file=str(find_user_file(variables, sys.platform) or ""),
        plugin=user_folders.read_plugin(),
        installed=user_folders.read_installed(open_hosts().load(), variables, sys.platform),
        sandboxes=_list_sandboxes(program, root),
        past=_open_past(workspace),
        programs=SystemPrograms(str(root), seconds=10.0, variables=user_folders.emptied(variables)),
    )


def _list_sandboxes(program: OwnProgram, root: Path) -> list[InstallTarget]:
    """Return the hosts with a list of writable folders for their sandbox; none without a home folder."""
    try:
        return list_sandbox_targets(program, root)
    except UsageError:
        return []


def _open_past(workspace: Workspace) -> ImportScope | None:
    """Return the transcripts of hosts; None without a place for history."""
    try:
        return open_import(workspace)
    except UsageError:
        return None


def _examine_server(workspace: Workspace, variables: Mapping[str, str]) -> tuple[PassdownError | None, float]:
    """Return why sessions cannot coordinate through the configured server, and its round trip (C159)."""
    try:
        if url := find_coordination_url(workspace.settings, variables):
            workspace.open_engine().members.members()
            return None, measure_server(url, workspace.settings)
    except AwayError as found:
        return AwayError(found.message, hint=_CHECK_SERVER), 0.0
    except PassdownError as found:
        return found, 0.0
    return None, 0.0


def examine_cache(workspace: Workspace, mounts: str = "") -> CacheHealth:
    """Try the cache of the events, and check which kind of file system it is on."""
    root, settings = Path(workspace.root), workspace.settings
    place = CachePlace(root, settings, workspace.repository.common_folder(), workspace.tracking)
    folder = next(cache_folders(place), None)
    if folder is None:
        return CacheHealth.GOOD
    index = open_cached(place)
    if index is not None:
        index.close()
    return judge_cache_place(
        is_usable=index is not None,
        is_remote=find_mount(str(folder), sys.platform, mounts or MOUNTS) is MountKind.REMOTE,
    )
