"""`passdown status-line`: print one short line below a host's prompt, and record the context level for hooks.

It runs after every answer, so it loads only what a verb loads, without the parser. It prints nothing where
Passdown is not set up and while the project is paused.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from passdown import layout
from passdown.core.hosts.context_usage import ContextReading, level_of, read_percent, render_status
from passdown.core.project.pauses import is_off
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.hooks import quick
from passdown.ports.host import Status
from passdown.services.handover.context_usage import note_level, thresholds_of
from passdown.services.sessions.liveness import find_session
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import open_hosts, read_settings
from passdown.wiring.workspaces import Outside, open_workspace

_MOST_BYTES: Final = 1_048_576


def show_status() -> int:
    """Read the host's status, and print the line."""
    told = None if is_off(os.environ) else _read()
    root = quick.find_root(told.folder) if told else ""
    if told and root and not quick.is_paused(root):
        # A failure is not reported: the next line follows soon.
        with suppress(PassdownError):
            _show(told, Path(root))
    return 0


def _read() -> Status | None:
    """Read the status for the first host that has a status line; return None if it is not a JSON object."""
    try:
        data: object = json.loads(sys.stdin.buffer.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError, AttributeError):
        return None
    reads = next((host.read_status for host in open_hosts().load() if host.read_status), None)
    return reads(cast("dict[str, object]", data)) if reads and isinstance(data, dict) else None


def _show(told: Status, root: Path) -> None:
    settings, _ = read_settings(root, os.environ)
    workspace = open_workspace(root, settings, Outside(variables=os.environ))
    percent = read_percent(told.used)
    level = level_of(percent or 0, thresholds_of(settings.context))
    if percent is not None and told.session:
        reading = ContextReading(percent, level, workspace.clock.now())
        note_level(workspace, layout.session_file(told.session), reading)
    if line := render_status(_doing(workspace, told.session), percent, level):
        output.say(line)


def _doing(workspace: Workspace, session: str) -> str:
    """Return the session's current work, else its goal."""
    try:
        account = find_session(workspace, session)
    except UsageError:  # not a Passdown session
        return ""
    said = account and (account.now or account.goal)
    return said.text if said else ""
