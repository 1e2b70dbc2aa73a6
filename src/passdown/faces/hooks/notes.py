"""What a hook notes about itself: why something went wrong, and what it cost.

It must work where nothing else does, so it names the engine that appends, and looks no setting up.
"""

# ruff: noqa: PTH112, PTH118 (os.path answers False where pathlib raises)

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from passdown.core.costs import FILE, render_measure
from passdown.core.texts import one_line
from passdown.core.times import render_seconds
from passdown.engines.files.rolling import add_line
from passdown.engines.system import SystemClock
from passdown.errors import StorageError, UsageError
from passdown.faces.hooks import quick

LOG: Final = "hooks.log"
_LONGEST: Final = 500


def note_trouble(root: str, text: str) -> None:
    """Write a line into our log: in git's folder, in the checkout's, in the user's; or say it to stderr.

    A full disk, a sandbox or a damaged repository may forbid any of them.
    """
    line = f"{render_seconds(SystemClock().now())} {one_line(text)[:_LONGEST]}"
    if not _add(LOG, line, [*_folders(root), *_own_folder()]):
        # Who hears nothing of it can do without.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"passdown: {line}\n")


def note_cost(root: str, what: str, ms: float, chars: int) -> None:
    """Write down what a hook cost, where that is possible."""
    _add(FILE, render_measure(SystemClock().now(), what, ms, chars), list(_folders(root)))


def _add(name: str, line: str, folders: list[str]) -> bool:
    for folder in folders:
        # Then the next one; and nothing that is noted here is needed.
        with suppress(StorageError, ValueError):
            add_line(os.path.join(folder, name), line)
            return True
    return False


def _folders(root: str) -> Iterator[str]:
    """Name the folders of local state, the best first; none is made where git would see it."""
    common = quick.find_common(root)
    if common and os.path.isdir(common):
        yield os.path.join(common, "passdown")
    runtime = os.path.join(root, quick.RUNTIME)
    if os.path.isdir(runtime) or not common:
        yield runtime


def _own_folder() -> list[str]:
    """Name the folder that the user has for us; none without a home, as in a container."""
    from passdown.engines.homes import find_state_folder  # noqa: PLC0415 - rarely needed

    try:
        return [find_state_folder(os.environ, sys.platform)]
    except UsageError:
        return []
