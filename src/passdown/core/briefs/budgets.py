"""The limits of a brief: tokens that the session pays for, and characters that its host allows (C68)."""

from typing import Annotated, Final, NamedTuple

from passdown.errors import UsageError
from passdown.records import record

TOKENS: Final = 1_500
CHARACTERS: Final = 9_000
"""The lowest known limit of a host is 10,000; it silently cuts longer text to a preview."""
PREVIEW: Final = 2_000
"""How many characters a host shows of a brief that it cuts."""
LEAST_TOKENS: Final = 250
LEAST_CHARACTERS: Final = 600

_BYTES: Final = 3


class Size(NamedTuple):
    """The size of a text."""

    characters: int = 0
    bytes: int = 0

    def plus(self, other: "Size") -> "Size":
        """Add two sizes."""
        return Size(self.characters + other.characters, self.bytes + other.bytes)

    @property
    def tokens(self) -> int:
        """An upper bound on the number of tokens: one for every three bytes, rounded up."""
        return -(-self.bytes // _BYTES)


def measure(text: str) -> Size:
    """Measure a text; half a surrogate pair counts as three bytes, as UTF-8 would encode it."""
    return Size(len(text), len(text.encode("utf-8", "surrogatepass")))


@record
class Budget:
    """The most that a brief may take; both limits apply."""

    tokens: Annotated[int, "The most tokens it may take."] = TOKENS
    characters: Annotated[int, "The most characters that the host passes on."] = CHARACTERS

    def __post_init__(self) -> None:
        """Raise a `UsageError` for a budget in which not even a goal would fit."""
        if self.tokens < LEAST_TOKENS or self.characters < LEAST_CHARACTERS:
            raise UsageError(
                f"a brief needs at least {LEAST_TOKENS} tokens and {LEAST_CHARACTERS} characters",
                hint=f"the default is {TOKENS} tokens and {CHARACTERS} characters",
            )

    @property
    def bytes(self) -> int:
        """The most bytes of UTF-8 it may take."""
        return self.tokens * _BYTES

    def holds(self, size: Size) -> bool:
        """Return whether a size is within both limits."""
        return size.tokens <= self.tokens and size.characters <= self.characters

    def smaller(self, times: int = 1) -> "Budget":
        """Return the budget to use after the host cut a brief: its preview, halved for each further cut."""
        tokens = max(LEAST_TOKENS, TOKENS >> times - 1)
        characters = max(LEAST_CHARACTERS, PREVIEW >> times - 1)
        return Budget(tokens=min(self.tokens, tokens), characters=min(self.characters, characters))
