"""What a person wrote in a view, told from what Passdown and git wrote in it (C64, C116)."""

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from passdown.core.documents.conflicts import is_marker
from passdown.core.documents.markdown import is_placeholder
from passdown.core.formats.views import GOAL, LEDGER, TITLE, UPDATED
from passdown.core.lazy_regex import pattern
from passdown.core.statements import CONTRADICTION, UNSEEN

_FOOTER: Final = "_synthesized:"
_RULE: Final = "---"
_OURS: Final = pattern(
    rf"{re.escape(UPDATED.head)}|And [0-9]{{1,9}} earlier: |{CONTRADICTION}.+{re.escape(UNSEEN)}"
)
_HEADS: Final = frozenset({f"# {TITLE}", LEDGER.head})


class OwnLine(NamedTuple):
    """A line of a view that no known view has, and the heading that it is under."""

    section: str
    text: str


def list_own_lines(text: str, known: Collection[str]) -> Iterator[OwnLine]:
    """Yield the lines of a view that may be a person's: not in `known`, and not of the frame.

    The frame is the title, the headings, the footers, the time, the lines about earlier entries and about
    decisions that contradict each other, and conflict markers. It may appear twice in a view that git merged.
    """
    section = ""
    is_footer = False
    for whole in text.replace("\r\n", "\n").split("\n"):
        line = whole.rstrip()
        is_footer = line == _FOOTER or (is_footer and (line[:1].isspace() or is_marker(line)))
        if line.startswith("#"):
            section = "" if line in _HEADS else line
        elif not (is_footer or line in known or _is_frame(line)):
            yield OwnLine("" if line.startswith(GOAL.head) else section, line)


def _is_frame(line: str) -> bool:
    return (
        line in {"", _RULE, GOAL.head} or is_marker(line) or is_placeholder(line) or bool(_OURS.match(line))
    )


def render_own_line(line: OwnLine) -> str:
    """Return a view in which this line is all that is said."""
    section = f"{line.section}\n" if line.section else ""
    return f"# {TITLE}\n\n{LEDGER.head}\n{section}{line.text}\n"
