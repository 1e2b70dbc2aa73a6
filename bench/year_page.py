"""Write the tables about a year into docs/explanation/scale.md, from what was measured.

bench/run year --json bench/results/year.json
python -m bench.year_page
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.year_clones import OWN_FILES

_ROOT: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = _ROOT / "bench" / "results" / "year.json"
PAGE: Final = _ROOT / "docs" / "explanation" / "scale.md"
START: Final = (
    "<!-- Written by bench/year_page.py from bench/results/year.json: measure again, do not edit. -->\n"
)
_WHOLE: Final = 100
"""From here on a figure has no decimals."""
END: Final = "<!-- The end of the tables. -->\n"


def render_tables(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables: what is waited for, the user's git, and sizes; one column for each clone."""
    found = {tuple(row["name"].split(": ", 1)): row for row in rows if ": " in row["name"]}
    names = list(dict.fromkeys(clone for clone, _ in found))
    tables = (
        ("cost in P, the start of Python", [what for _, what in found if _unit(found, what) == "P"]),
        (f"the user's git, ms ({OWN_FILES:,} files of their own, or no files)", _of_git(found)),
        (
            "size and time",
            [what for _, what in found if what not in _of_git(found) and _unit(found, what) != "P"],
        ),
    )
    return "\n".join(line for title, wanted in tables for line in _render(title, names, wanted, found))


Rows = dict[tuple[str, ...], dict[str, Any]]


def _of_git(found: Rows) -> list[str]:
    return [what for _, what in found if what.endswith(("git status", "git commit"))]


def _unit(found: Rows, what: str) -> str:
    return next(str(row["unit"]) for (_, other), row in found.items() if other == what)


def _render(title: str, names: Sequence[str], wanted: Sequence[str], found: Rows) -> Iterator[str]:
    shown = [name for name in names if any((name, what) in found for what in wanted)]
    yield f"\n| {title} | {' | '.join(shown)} |"
    yield f"|{'---|' * (len(shown) + 1)}"
    for what in dict.fromkeys(wanted):
        cells = [_cell(found.get((name, what))) for name in shown]
        yield f"| {what} | {' | '.join(cells)} |"
    yield ""


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    value, unit = float(row["value"]), str(row["unit"])
    number = f"{value:,.0f}" if value >= _WHOLE or unit in {"files", ""} else f"{value:.1f}"
    return f"{number} {unit}" if unit not in {"P", "ms", "files", ""} else number


def main() -> None:
    """Write the tables into the page."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}{render_tables(rows)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
