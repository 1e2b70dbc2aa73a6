"""`passdown status-line`: one short line below Claude's prompt, and the context's level for the hooks.

It runs after every answer, so it loads what a verb loads and no parser. Where nobody agreed to be helped, and
while a project is paused, it says nothing.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from passdown import wiring
from passdown.core.levels import Reading, level_of, read_percent, render_status
from passdown.core.pauses import is_off
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.hooks import quick
from passdown.services.levels import ladder_of, note_level
from passdown.services.presence import find_session
from passdown.settings import Settings

_MOST_BYTES: Final = 1_048_576


def show_status() -> int:
    """Read what the host tells, and print the line."""
    told = _read()
    root = quick.find_root(_folder(told)) if told and not is_off(os.environ) else ""
    if root and not quick.is_paused(root):
        # A line that cannot be shown is not worth a word: the next one comes soon.
        with suppress(PassdownError):
            _show(told, Path(root))
    return 0


def _read() -> dict[str, object]:
    try:
        data: object = json.loads(sys.stdin.buffer.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}
    return cast("dict[str, object]", data) if isinstance(data, dict) else {}


def _folder(told: dict[str, object]) -> str:
    place = _part(told, "workspace").get("current_dir") or told.get("cwd")
    return place if isinstance(place, str) else ""


def _part(told: dict[str, object], name: str) -> dict[str, object]:
    value = told.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _show(told: dict[str, object], root: Path) -> None:
    settings, _ = wiring.read_settings(root)
    session = str(told.get("session_id") or "")
    percent = read_percent(_part(told, "context_window").get("used_percentage"))
    level = level_of(percent or 0, ladder_of(settings.context))
    if percent is not None and session:
        reading = Reading(percent, level, wiring.open_clock().now())
        note_level(wiring.open_site(root, settings), quick.waiting_name(session), reading)
    if line := render_status(_doing(root, settings, session), percent, level):
        output.say(line)


def _doing(root: Path, settings: Settings, session: str) -> str:
    """Give what the session does now, else its goal."""
    try:
        account = find_session(wiring.open_project(root, settings), session, {})
    except UsageError:  # not one of ours
        return ""
    said = account and (account.now or account.goal)
    return said.text if said else ""
