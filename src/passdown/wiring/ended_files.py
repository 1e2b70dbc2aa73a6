"""Deletes the files that sessions leave behind when they end, some days later (C2, C119)."""

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import layout
from passdown.engines.files.ended_files import delete_empty_folders, delete_old_files
from passdown.engines.files.locks import FileLocks

if TYPE_CHECKING:
    from passdown.ports.tracking import Tracking

KEPT: Final = 7 * 86_400.0
"""Seconds since its last write for which a file named after a session is kept."""
FOLDER_KEPT: Final = 86_400.0
"""The same for the empty folder of an archived ledger."""
_OF_HOSTS: Final = (layout.WAITING, layout.SIGNALS, layout.CONTEXT_LEVELS)
"""The folders with one file for each session of a host."""


class SessionPlaces(NamedTuple):
    """Where sessions of one checkout write files of their own."""

    root: str
    runtime: str
    """The runtime folder, from the root."""
    ledgers: str
    """The folder of ledgers, from the root."""
    common: str
    """Git's folder; empty without git."""


def delete_of_ended(places: SessionPlaces, tracking: "Tracking", now: float) -> None:
    """Delete what sessions have not written for days; one that runs writes its files anew.

    In the checkout, what git tracks belongs to somebody and stays.
    """
    root, runtime, ledgers, common = places
    before = now - KEPT
    for name in _OF_HOSTS if common else ():
        delete_old_files(common, os.path.join(common, layout.in_git(name)), before, lambda _: True)
    for folder in (runtime, *(f"{runtime}/{name}" for name in _OF_HOSTS)):

        def is_ours(name: str, folder: str = folder) -> bool:
            is_one = folder != runtime or bool(layout.state_owner(name))
            return is_one and not tracking.tracked(runtime).holds(f"{folder}/{name}")

        delete_old_files(root, os.path.join(root, folder), before, is_ours)
    delete_empty_folders(root, os.path.join(root, ledgers), now - FOLDER_KEPT)
    shared = os.path.join(common, layout.in_git(layout.OUTBOX)) if common else ""
    FileLocks(shared or os.path.join(root, runtime, layout.OUTBOX)).delete_unused(before)
