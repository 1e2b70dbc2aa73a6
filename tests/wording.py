"""Phrases that must not come back: `python -m tests.wording` prints where one stands, with the plain one.

They are listed in words.toml. It looks at all texts of the package (messages, docstrings, comments), the
plugin, the pages, the changelog, the scripts, and what tests/outputs shows of the program itself.

Not Vale: it is a program of its own to install, and in Python it reads comments and docstrings, but not the
strings that a program prints, which matter most here.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
_LOOKED_AT: Final = (
    "*.md",
    "changelog.d/*.md",
    "docs/**/*.md",
    "docs/assets/**/*.txt",
    "scripts/*",
    "src/passdown/**/*.md",
    "src/passdown/**/*.py",
    "tests/outputs/*.txt",
)
_HISTORY: Final = ("docs/adr/", "docs/spec/", "docs/explanation/words.md")
"""Decisions are not rewritten, the specification is quoted, and one page shows what was said before."""
_GLOSSARY: Final = "docs/explanation/style.md"
_GAP: Final = r"""(?:[\s#>]|f?["'])+"""
"""What may stand between two words: the end of a line in a comment, in a quote or between two strings."""


class Phrase(NamedTuple):
    """A phrase that must not come back, and how to say it."""

    text: str
    plain: str
    pattern: re.Pattern[str]


class Use(NamedTuple):
    """A place where such a phrase stands."""

    path: str
    line: int
    phrase: Phrase

    def __str__(self) -> str:
        """Return one line for a terminal."""
        return f"{self.path}:{self.line}: {self.phrase.text!r}; better: {self.phrase.plain}"


class Quote(NamedTuple):
    """A text that an entry of the specification quotes, or one of the documents behind it (S0 to S4)."""

    text: str
    code: str


@cache
def read_phrases() -> tuple[Phrase, ...]:
    """Read the list of phrases."""
    return tuple(Phrase(text, plain, _compile(text)) for text, plain in _read()["phrases"].items())


@cache
def read_quotes() -> tuple[Quote, ...]:
    """Read the texts that must stay as the specification quotes them."""
    return tuple(Quote(text, code) for text, code in _read()["quotes"].items())


def find_in(text: str) -> Iterator[tuple[int, Phrase]]:
    """Yield each phrase that stands in a text, with its line."""
    for phrase in read_phrases():
        for match in phrase.pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, phrase


def find_uses(root: Path = ROOT) -> Iterator[Use]:
    """Yield each phrase that stands in a text of the project."""
    for pattern in _LOOKED_AT:
        for file in sorted(root.glob(pattern)):
            path = file.relative_to(root).as_posix()
            if file.is_file() and not path.startswith(_HISTORY):
                for line, phrase in find_in(_without_avoided(path, file.read_text(encoding="utf-8"))):
                    yield Use(path, line, phrase)


def _without_avoided(path: str, text: str) -> str:
    """Return a text without the column of the glossary that names what not to say."""
    return re.sub(r"(?m)[^|\n]*\|$", "", text) if path == _GLOSSARY else text


def _read() -> dict[str, dict[str, str]]:
    return tomllib.loads((ROOT / "tests" / "words.toml").read_text(encoding="utf-8"))


def _compile(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a phrase in any case, also over the end of a line or of a string."""
    words = [re.escape(word) for word in text.split()]
    return re.compile(rf"(?<!\w){_GAP.join(words)}(?!\w)", re.IGNORECASE)


def main() -> int:
    """Print every use; 1 if there is one."""
    uses = list(find_uses())
    for use in uses:
        print(use)  # what the program is for
    print(f"{len(uses)} uses of {len(read_phrases())} phrases")
    return 1 if uses else 0


if __name__ == "__main__":
    sys.exit(main())
