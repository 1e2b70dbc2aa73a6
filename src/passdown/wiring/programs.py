"""Builds what runs commands from documents."""

from passdown.engines.programs import SystemPrograms
from passdown.ports.programs import Programs
from passdown.services.workspace.workspaces import Workspace


def open_programs(workspace: Workspace) -> Programs:
    """Return what runs programs at the root of a checkout, with the time limit of the settings."""
    seconds = workspace.settings.gates.command_minutes * 60.0
    return SystemPrograms(workspace.root, seconds=seconds, variables=workspace.variables)
