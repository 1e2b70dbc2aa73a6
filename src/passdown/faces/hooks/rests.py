"""Repositories whose owner did not agree: that nothing is done there is said once on this machine (C50)."""

# ruff: noqa: PTH118, PTH123 (as in the quick part: nothing is loaded before it is needed)

import os
import sys

from passdown.engines.homes import find_state_folder
from passdown.errors import StorageError, UsageError

FILE = "rests.log"
"""The file in the user's own folder that names these repositories; nothing is written into one of them."""


def is_news(top: str) -> bool:
    """Say whether somebody is to be told of a repository; from now on it is known.

    What cannot be remembered is not said: else it would be said each time.
    """
    try:
        path = os.path.join(find_state_folder(os.environ, sys.platform), FILE)
        if "\n" in top or top in _read(path).split("\n"):
            return False
        from passdown.engines.files.rolling import add_line  # noqa: PLC0415 - once for each repository

        add_line(path, top)
    except (StorageError, UsageError, ValueError):  # no home, no space, a name that is no text
        return False
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
