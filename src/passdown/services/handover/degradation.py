"""Store signs that a session degrades, and how often it was compacted, where hooks find them."""

from collections.abc import Sequence
from contextlib import suppress

from passdown import layout
from passdown.core.hosts.signals import NO_SIGNS, Degradation, Signal, parse_degradation, render_degradation
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.workspace.local_files import list_places, remove_local, write_local
from passdown.services.workspace.workspaces import Workspace


def note_signals(workspace: Workspace, name: str, signals: Sequence[Signal]) -> bool:
    """Store the signs of a turn; return whether they newly make the session count as degraded."""
    known = read_degradation(workspace, name)
    found = replace(known, signals=tuple(signals))
    if found != known:
        _write(workspace, name, found)
    return found.is_degraded and not known.is_degraded


def note_compaction(workspace: Workspace, name: str) -> None:
    """Count a compaction and drop the signs, which belonged to the old context."""
    known = read_degradation(workspace, name)
    _write(workspace, name, Degradation(compactions=known.compactions + 1))


def read_degradation(workspace: Workspace, name: str) -> Degradation:
    """Return what was stored last; empty if that cannot be read."""
    for place in list_places(workspace, f"{layout.SIGNALS}/{name}"):
        # An unreadable file is simply written again.
        with suppress(StorageError):
            return parse_degradation(place.documents.read(place.path).decode("utf-8", "replace"))
    return NO_SIGNS


def forget_degradation(workspace: Workspace, name: str) -> None:
    """Remove what is stored about an ended session, if possible."""
    remove_local(workspace, f"{layout.SIGNALS}/{name}")


def _write(workspace: Workspace, name: str, found: Degradation) -> None:
    write_local(workspace, f"{layout.SIGNALS}/{name}", render_degradation(found).encode())
