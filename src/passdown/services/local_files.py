"""Files that stay on this machine: in git's own folder, or beside a rule that keeps git away from them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.errors import StorageError

if TYPE_CHECKING:
    from passdown.ports.documents import Documents
    from passdown.services.checkouts import Site

_IGNORE: Final = b"# Everything here is local to this checkout.\n*\n"

OURS: Final = "passdown"
"""The folder below git's own that is ours."""


class LocalFile(NamedTuple):
    """A place for a file of local state, and its path as a person knows it."""

    documents: "Documents"
    path: str
    shown: str


def ignore_folder(documents: "Documents", folder: str) -> None:
    """Keep a folder of local files out of git by a rule that lies in it."""
    rule = f"{folder}/.gitignore"
    if not documents.exists(rule):
        documents.replace(rule, _IGNORE)


def list_places(site: "Site", name: str) -> Iterator[LocalFile]:
    """Say where a file of local state may lie: in git's folder, for all checkouts, then in this one's."""
    if site.git is not None:
        path = f"{OURS}/{name}"
        yield LocalFile(site.git, path, f".git/{path}")
    path = f"{site.settings.paths.runtime}/{name}"
    yield LocalFile(site.documents, path, path)


def write_local(site: "Site", name: str, data: bytes) -> str:
    """Write a file of local state where that is possible, and give its path as a person knows it.

    A sandbox may forbid git's folder; then it lies in this checkout. Raises a StorageError when it can be
    written nowhere.
    """
    *preferred, last = list_places(site, name)
    for place in preferred:
        with suppress(StorageError):  # the last one tells what is wrong
            place.documents.replace(place.path, data, local=True)
            return place.shown
    ignore_folder(site.documents, site.settings.paths.runtime)
    last.documents.replace(last.path, data, local=True)
    return last.shown
