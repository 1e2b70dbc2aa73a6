"""The log of hooks: errors, and what each hook cost.

It must work when nothing else does, so it calls the engine that appends directly, without a service.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.core.project.costs import render_measure
from passdown.core.safe_text import one_line
from passdown.core.times import render_seconds
from passdown.engines.files.rolling import add_line
from passdown.engines.system import SystemClock
from passdown.errors import StorageError, UsageError
from passdown.faces.hooks import quick

if TYPE_CHECKING:
    from passdown.core.project.metrics import Metric

_LONGEST: Final = 500


def log_trouble(root: str, text: str) -> None:
    """Write a line to the log in the git folder, the checkout or the user's folder, else to stderr.

    A full disk, a sandbox or a damaged repository may prevent any of them.
    """
    line = f"{render_seconds(SystemClock().now())} {one_line(text)[:_LONGEST]}"
    if not _add(layout.HOOK_LOG, line, chain(_folders(root, layout.HOOK_LOG), _own_folder())):
        # If stderr fails too, the line is dropped.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"passdown: {line}\n")


def log_cost(root: str, what: str, ms: float, chars: int) -> None:
    """Record what a hook cost, if possible."""
    line = render_measure(SystemClock().now(), what, ms, chars)
    _add(layout.COSTS, line, _folders(root, layout.COSTS))


def log_metrics(root: str, metrics: "Iterable[Metric]") -> bool:
    """Record metrics beside the costs, if possible; return whether all are recorded."""
    from passdown.core.project.metrics import render_metric  # few calls have something to record

    added = [_add(layout.COSTS, render_metric(one), _folders(root, layout.COSTS)) for one in metrics]
    return all(added)


def _add(name: str, line: str, folders: Iterable[tuple[str, str]]) -> bool:
    """Add a line to a file in the first folder that works; each comes with the root above it."""
    for root, folder in folders:
        # On failure try the next folder; losing the line does no harm.
        with suppress(StorageError, ValueError):
            add_line(os.path.join(folder, name), line, root=root)
            return True
    return False


def _folders(root: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the folders of local state for a file, best first.

    Folders that git would show as untracked are left out, and so is one in which git tracks the file.
    """
    runtime, *own = quick.local_folders(root)
    commons = ((os.path.dirname(folder), folder) for folder in own)
    yield from ((common, folder) for common, folder in commons if os.path.isdir(common))
    if os.path.isdir(runtime) or not own:
        is_there = os.path.lexists(os.path.join(runtime, name))
        yield from () if is_there and quick.is_tracked(root, runtime, name) else ((root, runtime),)


def _own_folder() -> Iterator[tuple[str, str]]:
    """Yield the user's state folder for Passdown; none without a home folder, as in a container."""
    from passdown.engines.user_folders import find_state_folder  # rarely needed

    try:
        folder = find_state_folder(os.environ, sys.platform)
    except UsageError:
        return
    yield folder, folder
