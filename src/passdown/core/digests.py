"""SHA-256 from Python itself: `hashlib` loads OpenSSL, which takes a thirtieth of the time of a verb."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:  # only CPython has them
            from hashlib import sha256

__all__ = ["sha256"]
