"""Ids of operations: made before the first try, so that a repeated operation acts once (C79)."""

from datetime import datetime
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.errors import UsageError

REMEMBERED: Final = 172_800.0
"""Seconds that the outcome of an operation is remembered; an older id is refused."""

RANDOM_BYTES: Final = 10
_UUID: Final = pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def make_operation(at: datetime, random: bytes) -> str:
    """Return a UUID of version 7: the time in milliseconds, then random bits."""
    millis = int(at.timestamp() * 1000) & 0xFFFF_FFFF_FFFF
    bits = int.from_bytes(random[:RANDOM_BYTES], "big")
    high, low = bits >> 62 & 0xFFF, bits & 0x3FFF_FFFF_FFFF_FFFF
    text = f"{millis << 80 | 7 << 76 | high << 64 | 2 << 62 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def operation_time(op: str) -> float:
    """Return when an operation's id was made, in seconds; raise a UsageError if it is not one."""
    if _UUID.fullmatch(op) is None:
        raise UsageError(f"{op[:64]!r} is not the id of an operation", hint="Repeat the command without it.")
    return int(op[:8] + op[9:13], 16) / 1000
