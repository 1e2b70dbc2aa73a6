"""The notice in repositories without Passdown, shown once per repository on this machine (C50)."""

import os
import sys

from passdown import layout
from passdown.engines.files.read import NOTES, read_trusted
from passdown.engines.user_folders import find_state_folder
from passdown.errors import StorageError, UsageError


def should_notify(top: str) -> bool:
    """Return whether to show the notice for a repository, and remember that it was shown.

    If that cannot be remembered, the notice is not shown: otherwise it would be shown each time.
    """
    try:
        path = os.path.join(find_state_folder(os.environ, sys.platform), layout.NOTICES)
        if "\n" in top or top in _read(path).split("\n"):
            return False
        from passdown.engines.files.rolling import add_line  # needed once per repository

        add_line(path, top)
    except (StorageError, UsageError, ValueError):  # no home, no space, a name that is not text
        return False
    return True


def _read(path: str) -> str:
    try:
        return read_trusted(path, NOTES).decode("utf-8", "replace")
    except OSError:
        return ""
