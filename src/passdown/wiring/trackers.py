"""Chooses and opens the tracker of a project."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import layout
from passdown.core.digests import sha256
from passdown.engines.files.documents import FileDocuments
from passdown.engines.files.locks import Gate
from passdown.engines.system import SystemClock, pause
from passdown.errors import TrackerMissingError, UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import Tracker
from passdown.settings import Settings, TrackerChoice

if TYPE_CHECKING:
    from passdown.ports.programs import Programs
    from passdown.trackers.beads.calls import Installation

_PROGRAM: Final = "bd"
_SECONDS: Final = 10.0
"""Time limit for one call of `bd`."""
_QUIET: Final = (
    ("BEADS_NO_DAEMON", "1"),
    ("BD_DISABLE_METRICS", "1"),
    ("BD_DISABLE_EVENT_FLUSH", "1"),
    ("BD_NO_REMOTE_ADOPT", "1"),
)
"""Variables that keep `bd` from starting a daemon, using the network, or adopting a remote by itself."""


class TrackerPlace(NamedTuple):
    """Where to look for a tracker: the checkout, and the git folder that all checkouts share."""

    root: str
    variables: Mapping[str, str]
    """The environment of the caller; it may name a database, and the programs that we start get it."""
    common: str = ""
    handles: Callable[[], tuple[int, ...]] = tuple
    """Returns the open files of locks, which the programs that we start hold too until they end."""


def open_tracker(
    settings: Settings, place: TrackerPlace, coordination: Callable[[], Coordination]
) -> Tracker:
    """Open the configured tracker; `auto` is Beads if `bd` and a database are found, else the board (C93)."""
    kind = settings.tracker.kind
    if kind is TrackerChoice.NONE:
        hint = "Set `kind` under [tracker] in passdown.toml to auto, board or beads."
        raise UsageError("this project has no tracker", hint=hint)
    if kind is not TrackerChoice.BOARD:
        found = _find_beads(place)
        if found is not None:
            return _open_beads(settings, place, found, coordination)
        if kind is TrackerChoice.BEADS:
            hint = "Install Beads and run `bd init`, or set `kind` under [tracker] to board."
            raise TrackerMissingError("bd is not installed, or has no database here", hint=hint)
    from passdown.trackers.board import Board  # only one of the trackers is needed

    return Board(coordination())


def uses_beads(settings: Settings, place: TrackerPlace) -> bool:
    """Return whether the tasks of a project are kept in Beads. Starts nothing."""
    kind = settings.tracker.kind
    if kind is TrackerChoice.AUTO:
        return _find_beads(place) is not None
    return kind is TrackerChoice.BEADS


def _find_beads(place: TrackerPlace) -> tuple[str, str] | None:
    """Return the program and the folder of its database; None if either is missing. Starts nothing."""
    folder = _find_database(place)
    if not folder:
        return None
    from passdown.engines.programs import SystemPrograms  # only with a database

    program = SystemPrograms(place.root, variables=place.variables).find(_PROGRAM)
    return (program, folder) if program else None


def _find_database(place: TrackerPlace) -> str:
    """Return the real path of the database's folder; worktrees use the one of the main checkout."""
    named = place.variables.get("BEADS_DIR", "")
    tops = (os.path.dirname(place.common), place.root)
    folders = [named] if named else [os.path.join(top, layout.BEADS) for top in tops if top]
    for folder in folders:
        if any(os.path.exists(os.path.join(folder, name)) for name in layout.BEADS_DATABASES):
            return os.path.realpath(folder)
    return ""


def _open_beads(
    settings: Settings, place: TrackerPlace, found: tuple[str, str], coordination: Callable[[], Coordination]
) -> Tracker:
    from passdown.trackers.beads.calls import Calls  # few projects use Beads
    from passdown.trackers.beads.holdings import Holdings
    from passdown.trackers.beads.tracker import Beads

    calls = Calls(_find_installation(place, *found))
    return Beads(calls, Holdings(coordination, settings.coordination.lease_minutes * 60.0))


def _find_installation(place: TrackerPlace, program: str, folder: str) -> "Installation":
    """Find out which build of `bd` it is, once for each binary, and whether it may use the database."""
    from passdown.engines.programs import SystemPrograms
    from passdown.engines.user_folders import find_state_folder
    from passdown.trackers.beads.builds import Binary, Memory, probe
    from passdown.trackers.beads.calls import Installation

    state = find_state_folder(place.variables, sys.platform)
    variables = _make_environment(place.variables, folder, state)

    def make_programs(seconds: float) -> "Programs":
        limit = min(seconds, _SECONDS)
        return SystemPrograms(
            place.root, seconds=limit, variables=variables, separate=True, handles=place.handles
        )

    found = os.stat(program)
    binary = Binary(os.path.realpath(program), found.st_size, found.st_mtime_ns)
    memory = Memory(FileDocuments(Path(state)))
    build = memory.find_build(binary)
    if build is None:
        build = probe(make_programs(_SECONDS), binary)
        memory.keep_build(binary, build)
    memory.require_newest(folder, build)
    lock = partial(_lock, state, folder)
    return Installation(binary.path, build, make_programs, lock, pause, SystemClock())


def _make_environment(given: Mapping[str, str], folder: str, state: str) -> dict[str, str]:
    """Return the environment for `bd`; it needs a home folder that exists."""
    variables = {**given, **dict(_QUIET), "BEADS_DIR": folder}
    if not os.path.isdir(variables.get("HOME", "")):
        variables["HOME"] = state
    return variables


def _lock(state: str, folder: str, seconds: float) -> AbstractContextManager[None]:
    """Return the lock of a database, by the real path of its folder (C98)."""
    digest = sha256(os.fsencode(folder)).hexdigest()[:16]
    return Gate(os.path.join(state, layout.beads_lock(digest))).passed(seconds)
