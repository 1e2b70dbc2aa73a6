"""Large documents of the nastiest shapes are read in time that grows with their size only."""

import sys
from collections.abc import Callable

import pytest

from passdown.core.documents.documents import MAX_CHARS, MAX_LINES
from passdown.core.formats.ledgers import parse_ledger, render_ledger
from passdown.core.formats.streams import parse_stream
from passdown.records import replace
from tests import proof
from tests.pace import works_within

UNITS = {
    "items": "- a\n",
    "empty items": "- \n",
    "items and blanks": "- a\n\n",
    "deep items": "- " * 400 + "a\n",
    "fences": "```\n",
    "long fences": "````\n```\n",
    "fences that open only": "```a\n",
    "fences of both kinds": "```\n~~~~\n",
    "comments": "<!--\n",
    "comments on one line": "<!--",
    "closed comments": "<!-- -->",
    "comment ends": "-->\n",
    "bars": "|",
    "rows": "| a | b | c |\n",
    "rows of one cell": "|\n",
    "separators": "|-" * 500 + "x\n",
    "dashes": "-",
    "one long line": "a",
    "spaces": " ",
    "spaces and text": " " * 1000 + "a\n",
    "blank lines": "\n",
    "line ends": "\r\n",
    "labels": "**a:**\n",
    "label of a place": "**Branch:** a\n",
    "stars": "*",
    "hashes": "#",
    "headings": "# a\n",
    "sections": "## State\n### Now\n",
    "unknown sections": "#### a/b\n",
    "indents": " a\n  a\n   a\n",
    "keys": "key:\n",
    "known keys": "updated:\n",
    "strays and keys": "a\nb: c\n",
    "colons": "a:b",
    "quotes": '"',
    "backslashes": "\\",
    "escaped bars": "|\\",
    "brackets": "[",
    "flow": "[a, ",
    "braces": "{",
    "objects": "{\n",
    "phases": "- Phase 1 (a): (b): (c)\n",
    "phase on one line": "- Phase 1 (" + "a): b (" * 1000,
    "ticks": "[x] ",
    "rules": "---\n",
}
FRAMES: dict[str, tuple[Callable[[str], object], str]] = {
    "front matter": (parse_ledger, "---\n{}\n---\n"),
    "list": (parse_ledger, "## State\n### Now\n{}\n### Next\n{}"),
    "ledger": (parse_stream, "## Ledger\n{}\n### Now\n{}\n---\n{}"),
    "value": (parse_ledger, "---\nupdated: {}\n---\n"),
    "table": (parse_ledger, "## Key Decisions\n{}"),
    "open front matter": (parse_stream, "---\n{}"),
    "labels": (parse_ledger, "## Working Set\n**Branch:** {}\n**Modified:**\n{}"),
    "checkpoints": (
        parse_stream,
        "## Ledger\n### Checkpoints\n#### Phase Status\n{}\n#### Validation State\n{}",
    ),
}
SIZE = proof.proof_count(fast=MAX_CHARS // 8, ci=MAX_CHARS // 4, long=MAX_CHARS)
# Several times what an idle machine needs, and more while coverage counts every line.
SECONDS = (40.0 if "coverage" in sys.modules else 8.0) * SIZE / MAX_CHARS
CASES = [
    pytest.param(unit, *FRAMES[frame], id=f"{name} in {frame}")
    for number, (name, unit) in enumerate(UNITS.items())
    for turn, frame in enumerate(FRAMES)
    if proof.LEVEL is not proof.Level.FAST or number % len(FRAMES) == turn
]


@pytest.mark.proof
@pytest.mark.parametrize(("unit", "parse", "frame"), CASES)
def test_a_large_document_is_read_at_once(unit: str, parse: Callable[[str], object], frame: str) -> None:
    size = (SIZE - len(frame)) // frame.count("{}")
    lines = (MAX_LINES - 20) // frame.count("{}")
    text = frame.replace("{}", unit * min(size // len(unit), lines // (unit.count("\n") or 1)))

    assert works_within(SECONDS, lambda: parse(text))


@pytest.mark.proof
@pytest.mark.parametrize("is_new", [False, True])
def test_a_list_between_texts_that_must_not_change_places_is_written_at_once(is_new: bool) -> None:
    unit = "<!-- {} -->\n  - b\n- c\n\n"
    count = min(SIZE // len(unit), MAX_LINES // 6)
    ledger = parse_ledger("## State\n### Next\n  a\n" + "".join(map(unit.format, range(count))))
    changed = replace(ledger, next=(*ledger.next, "d"), source=None if is_new else ledger.source)

    assert works_within(SECONDS, lambda: render_ledger(changed))
    again = parse_ledger(render_ledger(changed))
    assert again.next == changed.next
    assert len(again.unknown) == len(ledger.unknown) == count
