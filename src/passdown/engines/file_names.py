"""The names of files: which exist, and where links point."""

import os
import unicodedata
from typing import Final

_MOST_LINKS: Final = 40
"""The most links that Linux follows."""


class LocalFileNames:
    """The `FileNames` of this machine."""

    def list_names(self, path: str) -> list[str]:
        drive, below = os.path.splitdrive(path)
        done = start = drive + os.sep
        names = [os.path.normpath(path)]
        rest = _split(below)
        links = 0
        while rest:
            name = rest.pop()
            if name == os.pardir:
                done = os.path.dirname(done)
                continue
            done = os.path.join(done, _find_spelling(done, name))
            target = _read_link(done)
            if not target or links == _MOST_LINKS:
                continue
            links += 1
            names.append(os.path.normpath(os.path.join(done, *reversed(rest))))
            done = start if os.path.isabs(target) else os.path.dirname(done)
            rest += _split(os.path.splitdrive(target)[1])
        return [name.replace(os.sep, "/") for name in dict.fromkeys((*names, done))]

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)


def _split(path: str) -> list[str]:
    """Return the names of a path, the last one first."""
    names = path.replace(os.sep, "/").split("/")
    return [name for name in reversed(names) if name not in {"", os.curdir}]


def _find_spelling(folder: str, name: str) -> str:
    """Return a name as it is on disk, which may use another Unicode normalization."""
    if name.isascii() or os.path.lexists(os.path.join(folder, name)):
        return name
    spelled = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    return next((one for one in spelled if os.path.lexists(os.path.join(folder, one))), name)


def _read_link(path: str) -> str:
    """Return the target of a link; empty if it is not a link."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return ""
