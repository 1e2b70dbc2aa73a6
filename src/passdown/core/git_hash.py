"""The id that git gives to content."""

import hashlib
from typing import Final

_LONG: Final = 64
"""How many digits an id has in a repository that uses SHA-256."""


def git_blob_id(data: bytes, *, like: str = "") -> str:
    """Return the id that git gives exactly these bytes, with the hash algorithm of the id `like`.

    Without `like`, it uses SHA-1, git's default. Content that git changes when adding it (line ends, filters)
    has another id in the repository.
    """
    make = hashlib.sha256 if len(like) == _LONG else hashlib.sha1
    return make(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
