"""The frame of a brief: two lines with a nonce, which show in a transcript what arrived (C67)."""

import re
from typing import Annotated, Final

from passdown.core.digests import sha256
from passdown.core.lazy_regex import pattern
from passdown.errors import UsageError
from passdown.records import record

UNKNOWN: Final = "unknown"
"""The receipt of a brief that was not found in the transcript."""

_NONCE: Final = pattern(r"[0-9A-Za-z-]{8,32}")
_DELIMITER: Final = pattern(r"[ -~]{4,32}")
_GAP: Final = "[…]"


@record
class BriefFrame:
    """The lines that mark a brief in a transcript; its content does not depend on them."""

    nonce: Annotated[str, "8 to 32 unpredictable letters, digits and hyphens."]
    delimiter: Annotated[str, "How the first and the last line start."] = "===== passdown brief"

    def __post_init__(self) -> None:
        """Raise a `UsageError` if the nonce or delimiter has a wrong length or other characters."""
        named = any(character.isalnum() for character in self.delimiter)
        if not (_NONCE.fullmatch(self.nonce) and _DELIMITER.fullmatch(self.delimiter) and named):
            raise UsageError(
                "the brief's nonce or delimiter is not valid", hint="use 8 hex digits as the nonce"
            )

    @property
    def head(self) -> str:
        """The first line."""
        return f"{self.delimiter} {self.nonce} begins"

    @property
    def tail(self) -> str:
        """The last line."""
        return f"{self.delimiter} {self.nonce} ends"

    def clean(self, text: str) -> str:
        """Replace the delimiter and the nonce wherever they occur in a text."""
        for mark in (self.delimiter, self.nonce):
            if mark.lower() in text.lower():
                text = re.sub(re.escape(mark), _GAP, text, flags=re.IGNORECASE)
        return text


def receipt_of(transcript: str, frame: BriefFrame) -> str:
    """Hash the text between the two lines; return `UNKNOWN` if one of them is missing (C67).

    The brief arrived whole only if the receipt equals the hash of what was sent: hosts may cut out the
    middle.
    """
    text = transcript.replace("\r\n", "\n")
    end = text.rfind(frame.tail)
    start = text.rfind(frame.head, 0, max(end, 0))
    if end < 0 or start < 0:
        return UNKNOWN
    return hash_body(text[start + len(frame.head) : end].removeprefix("\n").removesuffix("\n"))


def hash_body(text: str) -> str:
    """Hash the text between the two lines."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
