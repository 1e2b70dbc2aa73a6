"""Ids of operations: made before the first attempt, so that a repeated operation acts once (C79)."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.lazy_regex import pattern
from passdown.errors import UsageError

REMEMBERED: Final = 172_800.0
"""Seconds that the outcome of an operation is remembered; an older id is refused."""

RANDOM_BYTES: Final = 10
_MARK: Final = 12
_HASH: Final = 16
_UUID: Final = pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_SUBJECT_BYTES: Final = 4
_PART_BITS: Final = 16

REPEATED: Final = timedelta(minutes=10)
"""How long an interrupted command can be repeated as the same operations (C142)."""


class VerbCall(NamedTuple):
    """A command as the user typed it; empty for a hook."""

    words: tuple[str, ...] = ()
    folder: str = ""
    """The folder in which the command ran."""
    input: str = ""
    """The hash of its standard input."""


NO_CALL: Final = VerbCall()


class Operation(NamedTuple):
    """A change to a task that takes effect once, however often it is tried."""

    id: str
    """Made before the first attempt."""
    before: str = ""
    """The `fingerprint` of the task's note before the first attempt. It shows whether a note was added, for a
    tracker that stores no ids."""
    is_repeat: bool = False
    """Whether it may have been tried before, so that its effect must be looked for first."""

    @property
    def mark(self) -> str:
        """The part of the id that a tracker stores with the change."""
        return self.id[-_MARK:]

    def part(self, number: int) -> str:
        """Return the id of a step of the operation, so that the step can be repeated with it."""
        return f"{self.id[:-4]}{(int(self.id[-4:], 16) + number) % 0x10000:04x}"


def fingerprint(note: str) -> str:
    """Return the length and hash of a note, which later show whether it was only extended."""
    return f"{len(note)}:{sha256(note.encode('utf-8', 'surrogatepass')).hexdigest()[:_HASH]}"


def is_added(note: str, text: str, before: str) -> bool:
    """Return whether a text was added to a note since its fingerprint was taken.

    1. The note still begins the same: the text was added if the rest contains it.
    2. The note was replaced: the text was added if the note contains it anywhere.
    """
    length = int(before.partition(":")[0] or 0)
    if before and fingerprint(note[:length]) == before:
        return text in note[length:]  # 1
    return text in note  # 2


def make_operation(at: datetime, random: bytes) -> str:
    """Return a UUID of version 7: the time in milliseconds, then random bits."""
    millis = int(at.timestamp() * 1000) & 0xFFFF_FFFF_FFFF
    bits = int.from_bytes(random[:RANDOM_BYTES], "big")
    high, low = bits >> 62 & 0xFFF, bits & 0x3FFF_FFFF_FFFF_FFFF
    text = f"{millis << 80 | 7 << 76 | high << 64 | 2 << 62 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def derive_operation(verb: str, action: str, subject: str, number: int = 0) -> str:
    """Return the id of one of the operations of a command, from the id of the command.

    A repeated command has the same id, so each of its operations gets the same id again, whatever else the
    command does this time. The bits that `Operation.part` counts in stay free.
    """
    words = "\0".join((action, subject, str(number))).encode("utf-8", "surrogatepass")
    mixed = int.from_bytes(sha256(words).digest()[:_SUBJECT_BYTES], "big") << _PART_BITS
    return f"{verb[:-_MARK]}{int(verb[-_MARK:], 16) ^ mixed:012x}"


def is_operation(op: str) -> bool:
    """Return whether a text is the id of an operation."""
    return _UUID.fullmatch(op) is not None


def operation_time(op: str) -> float:
    """Return when an operation's id was made, in seconds; raise a UsageError if it is not one."""
    if not is_operation(op):
        raise UsageError(f"{op[:64]!r} is not the id of an operation", hint="Repeat the command without it.")
    return int(op[:8] + op[9:13], 16) / 1000
