"""The quick path of `passdown synthesize --check`: nearly always nothing changed, and little is loaded."""

import os
import sys
from pathlib import Path

from passdown.errors import PassdownError
from passdown.wiring.checks import peek_view
from passdown.wiring.projects import find_root, read_settings


def check_quickly() -> bool:
    """Report that the view is current if that is certain; return False if the full command must check."""
    try:
        root = find_root(Path.cwd())
        settings, warnings = read_settings(root, os.environ)
        found = None if warnings else peek_view(root, settings, os.environ)
    except (PassdownError, OSError):
        return False  # the full command reports what is wrong
    if found is None:
        return False
    path, events = found
    line = f"passdown: {path} is current: {events} event{'' if events == 1 else 's'}\n"
    if not path.isprintable() or sys.stderr is None or sys.stderr.isatty():
        return False
    sys.stderr.write(line)
    return True
