"""Remove what a project keeps on this machine alone; what git tracks stays."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from passdown.ports.documents import Documents
from passdown.services.checkouts import Site
from passdown.services.setups import areas_of

_GITS: Final = "passdown"


class Local(NamedTuple):
    """A file that is on this machine alone."""

    documents: Documents
    path: str
    shown: str


def list_local(site: Site) -> Sequence[Local]:
    """Name the local files of a project: journals and caches in git's folder, ledgers, state."""
    found = [Local(site.git, path, f".git/{path}") for path in site.git.list(_GITS)] if site.git else []
    for folder in areas_of(site.settings.paths).local:
        tracked = site.repository.listing(folder)
        found += [
            Local(site.documents, path, path) for path in site.documents.list(folder) if path not in tracked
        ]
    return found


def purge(files: Sequence[Local]) -> int:
    """Remove local files, and say how many are gone; one that changes meanwhile stays."""
    return sum(one.documents.remove(one.path, one.documents.read(one.path)) for one in files)
