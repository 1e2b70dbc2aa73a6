"""`passdown synthesize --check` when nothing changed, as nearly always: answered before much is loaded."""

import sys
from pathlib import Path

from passdown import wiring
from passdown.errors import PassdownError


def check_quickly() -> bool:
    """Say that the view is current, if that is certain; False means that the whole command must look."""
    try:
        root = wiring.find_root(Path.cwd())
        settings, warnings = wiring.read_settings(root)
        found = None if warnings else wiring.peek_view(root, settings)
    except (PassdownError, OSError):
        return False  # the whole command says what is wrong
    if found is None:
        return False
    path, events = found
    line = f"passdown: {path} is current: {events} event{'' if events == 1 else 's'}\n"
    if not path.isprintable() or sys.stderr is None or sys.stderr.isatty():
        return False
    sys.stderr.write(line)
    return True
