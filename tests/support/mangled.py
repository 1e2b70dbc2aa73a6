"""Documents as agents leave them: every line with a word of its own, in any order and layout."""

import re
from collections import Counter
from collections.abc import Callable
from typing import TypeVar, cast

from hypothesis import strategies as st

from passdown.records import compared_names_of, is_record, replace

T = TypeVar("T")

_WORD = re.compile(r"w[0-9]+w")
LINES = (
    *(
        "- {}",
        "- {}",
        "* {}\n  {}",
        "  - {}",
        "- {}\n\n  {}",
        "- {}\n{}",
        "1. {}",
        "- [x] {}",
        "- [ ] {}",
        "[->] {}",
    ),
    *(
        "{}",
        "  {}",
        "{} - {}",
        "| {} | {} | {} |",
        "| {} | {} |",
        "| {} |",
        "{}: {}",
        "<!-- {} -->",
        "<!-- {}\n{} -->",
    ),
    *(
        "```\n{}\n```",
        "- ```\n  {}\n  ```",
        "",
        "",
        "- (none)",
        "(none)",
        "- ",
        "**{}:** {}",
        "**Branch:** {}",
    ),
    *("**Modified:**", "**Goal:** {}", "bead: {}", "phase: {}", "> {}", "{} #", "\\# {}", "- {}: {}"),
    *(
        "| Decision | Reasoning | When |",
        "|---|---|---|",
        "- Phase 1 ({}): ✓ VALIDATED ({})",
        '{{\n"{}": 1\n}}',
    ),
)
KEY_LINES = (
    *(
        "{}: {}",
        "# {}",
        "updated: {}",
        "session_id: {}",
        "platform: claude",
        "bound_track: {}",
        "mode: SA",
        "{}",
        "",
    ),
    *(
        "current_tasks: [{}, {}]",
        "validation:\n  retries: 1\n  {}: {}",
        "bound_bead: |\n  {}\n  {}",
        "tdd_phase: null",
    ),
    *(
        "date: 2025-12-27T10:30:00Z",
        "session_name: {}",
        "branch: {}",
        "status: active",
        "updated: 2025-12-27T10:30:00Z",
    ),
)


def _numbered(lines: list[str], eol: str) -> str:
    """Join lines, with a word of its own in each gap."""
    text = "".join(f"{line}\n" for line in lines)
    count = text.count("{}")
    return text.format(*(f"w{number}w" for number in range(count))).replace("\n", eol)


@st.composite
def documents(draw: st.DrawFn, titles: tuple[str, ...]) -> str:
    """A document with some of the titles as sections, in any order, with anything in them."""
    lines = st.lists(st.sampled_from(LINES), max_size=5)
    parts: list[str] = []
    if draw(st.booleans()):
        parts += ["---", *draw(st.lists(st.sampled_from(KEY_LINES), max_size=6)), "---"]
    parts += draw(lines)
    headings = st.sampled_from(
        [*titles, *titles, "# Session Ledger", "# {}", "## {}", "### {}", "#### {}", "---"]
    )
    for heading in draw(st.lists(headings, max_size=8) | st.just(list(titles))):
        parts += [heading, *draw(lines)]
    eol = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = _numbered(parts, eol)
    return text if draw(st.booleans()) else text.removesuffix(eol)


def changed(value: T, name: str, new: object) -> T:
    """The value with another one in a field that is known by name only."""
    return cast("Callable[..., T]", replace)(value, **{name: new})


def words(text: object) -> Counter[str]:
    """The words of its own that a text, or whatever a value says, holds."""
    return Counter(_WORD.findall(text if isinstance(text, str) else " ".join(strings(text))))


def strings(value: object) -> list[str]:
    """The texts in a value."""
    if isinstance(value, str):
        return [value]
    if is_record(value):
        named = [getattr(value, name) for name in compared_names_of(value)]
        return [text for one in named for text in strings(one)]
    return [text for one in value for text in strings(one)] if isinstance(value, tuple) else []
