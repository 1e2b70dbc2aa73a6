"""Write down how full a session's context is, where hooks find it."""

from contextlib import suppress

from passdown.core.levels import FOLDER, GIT_FOLDER, Reading, parse_reading, render_reading
from passdown.errors import StorageError
from passdown.services.checkouts import Site
from passdown.services.local_files import ignore_folder


def note_level(site: Site, name: str, reading: Reading) -> bool:
    """Write a session's level down; False when nothing has changed since the last time."""
    old = read_level(site, name)
    if old is not None and (old.percent, old.level) == (reading.percent, reading.level):
        return False
    data = render_reading(reading).encode()
    if site.git is not None:
        # A sandbox may forbid git's folder; then it lies in this checkout.
        with suppress(StorageError):
            site.git.replace(f"{GIT_FOLDER}/{name}", data, local=True)
            return True
    runtime = site.settings.paths.runtime
    ignore_folder(site.documents, runtime)
    site.documents.replace(f"{runtime}/{FOLDER}/{name}", data, local=True)
    return True


def read_level(site: Site, name: str) -> Reading | None:
    """Give the level that was written down last; None if there is none that can be read."""
    places = [(site.documents, f"{site.settings.paths.runtime}/{FOLDER}/{name}")]
    if site.git is not None:
        places.insert(0, (site.git, f"{GIT_FOLDER}/{name}"))
    for documents, path in places:
        # What cannot be read is written again.
        with suppress(StorageError):
            if reading := parse_reading(documents.read(path).decode("ascii", "replace")):
                return reading
    return None
