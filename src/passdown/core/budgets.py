"""How much a starting session may be told: tokens it pays for, and characters its host lets through (C68)."""

from typing import Annotated, Final, NamedTuple

from passdown.errors import UsageError
from passdown.records import record

TOKENS: Final = 1_500
CHARACTERS: Final = 9_000
"""The least cap known of a host is 10,000; what is over it is cut to a preview, and nobody is told."""
PREVIEW: Final = 2_000
"""How many characters of a brief that was cut are shown."""
LEAST_TOKENS: Final = 250
LEAST_CHARACTERS: Final = 600

_BYTES: Final = 3


class Size(NamedTuple):
    """How much room a text takes."""

    characters: int = 0
    bytes: int = 0

    def plus(self, other: "Size") -> "Size":
        """Add two sizes."""
        return Size(self.characters + other.characters, self.bytes + other.bytes)

    @property
    def tokens(self) -> int:
        """How many tokens that is at most: every third byte is counted as one, rounded up."""
        return -(-self.bytes // _BYTES)


def measure(text: str) -> Size:
    """Measure a text; half a surrogate pair counts as three bytes, as UTF-8 would write it."""
    return Size(len(text), len(text.encode("utf-8", "surrogatepass")))


def count_tokens(text: str) -> int:
    """Count the tokens of a text: its UTF-8 bytes divided by three, rounded up."""
    return measure(text).tokens


@record
class Budget:
    """What a brief may take; both limits hold."""

    tokens: Annotated[int, "How many tokens it may take."] = TOKENS
    characters: Annotated[int, "How many characters the host lets through."] = CHARACTERS

    def __post_init__(self) -> None:
        """Refuse what cannot even hold a goal."""
        if self.tokens < LEAST_TOKENS or self.characters < LEAST_CHARACTERS:
            raise UsageError(
                f"a brief needs {LEAST_TOKENS} tokens and {LEAST_CHARACTERS} characters at least",
                hint=f"the usual budget is {TOKENS} tokens and {CHARACTERS} characters",
            )

    def holds(self, size: Size) -> bool:
        """Say whether something of this size stays within both limits."""
        return size.tokens <= self.tokens and size.characters <= self.characters

    def smaller(self, times: int = 1) -> "Budget":
        """Give the budget for what was cut: what hosts show even then, half of it for each time more."""
        tokens = max(LEAST_TOKENS, TOKENS >> times - 1)
        characters = max(LEAST_CHARACTERS, PREVIEW >> times - 1)
        return Budget(tokens=min(self.tokens, tokens), characters=min(self.characters, characters))
