"""Finds the rules that subagents are told, for the project's tracker."""

import os
from collections.abc import Iterator

from passdown import layout
from passdown.core.hosts.subagents import render_rules
from passdown.errors import NoServerError
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice
from passdown.wiring.projects import find_coordination_url, is_top


def find_rules(workspace: Workspace, *, is_asked: bool = False) -> str:
    """Return the rules for subagents, or "" in a project without tasks, unless the caller asks for them.

    No program is started: the settings, the folder of Beads and the coordination database show where tasks
    are kept.
    """
    kind = workspace.settings.tracker.kind
    is_beads = kind is TrackerChoice.BEADS or (kind is TrackerChoice.AUTO and _has_beads(workspace))
    has_tasks = is_beads or (kind is not TrackerChoice.NONE and _has_board(workspace))
    return render_rules(is_beads=is_beads) if has_tasks or is_asked else ""


def _has_beads(workspace: Workspace) -> bool:
    return any(os.path.isdir(os.path.join(folder, layout.BEADS)) for folder in _list_folders(workspace))


def _list_folders(workspace: Workspace) -> Iterator[str]:
    """Yield the folders that the tracker searches: from the root up to the top, and the main checkout."""
    folder = workspace.root
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder or is_top(folder):
            break
        folder = above
    if common := workspace.repository.common_folder():
        yield os.path.dirname(common)


def _has_board(workspace: Workspace) -> bool:
    try:
        url = find_coordination_url(workspace.settings, workspace.variables)
    except NoServerError:  # the project belongs to a team
        return True
    if url is None:
        return False
    common = workspace.repository.common_folder()
    local = os.path.join(workspace.root, workspace.settings.paths.runtime)
    place = os.path.join(common, layout.OURS) if common else local
    return bool(url) or os.path.lexists(os.path.join(place, layout.COORDINATION))
