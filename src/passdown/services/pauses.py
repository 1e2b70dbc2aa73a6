"""Pause a project and go on again: a mark for all its checkouts (C70)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

from passdown.core.pauses import MARK, OFF, is_off, parse_mark, render_mark
from passdown.errors import StorageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.checkouts import Site
from passdown.services.local_files import list_places, write_local

_MOST_BYTES: Final = 64


@record
class Pause:
    """That a project is paused, since when, and by what."""

    by: Annotated[str, "The mark's path, as a person knows it, or the variable's name."]
    since: Annotated[datetime | None, "Since when; None if nobody knows."] = None


def find_pauses(site: Site, variables: Mapping[str, str]) -> tuple[Pause, ...]:
    """Say whether, and by what, Passdown is turned off here."""
    found = [Pause(by=OFF)] if is_off(variables) else []
    for documents, path, shown in list_places(site, MARK):
        if documents.exists(path):
            found.append(Pause(by=shown, since=_read(documents, path)))
    return tuple(found)


def pause(site: Site, now: datetime) -> Pause | None:
    """Pause the project; None if it is paused already.

    The mark lies in git's folder, for all checkouts; without git, or where that cannot be written, in the
    folder of local state, for this one. Raises a StorageError when it can be written nowhere.
    """
    if find_pauses(site, {}):
        return None
    return Pause(by=write_local(site, MARK, render_mark(now).encode()), since=now)


def unpause(site: Site) -> tuple[str, ...]:
    """Take every mark away and name it; raise a StorageError when one cannot be taken away."""
    gone: list[str] = []
    for documents, path, shown in list_places(site, MARK):
        if documents.exists(path) and documents.remove(path, documents.read(path)):
            gone.append(shown)
    return tuple(gone)


def _read(documents: Documents, path: str) -> datetime | None:
    try:
        data = documents.read(path) if documents.size(path) <= _MOST_BYTES else b""
    except StorageError:
        return None
    return parse_mark(data.decode("ascii", "replace"))
