"""What a measurement gives: rows with a ratio to a floor of the same run, and the budget of that ratio."""

import json
import platform
from collections.abc import Iterable, Sequence

from passdown.records import as_dict, record


@record
class Row:
    """One thing measured. `ratio` compares it with its floor; without a budget it only informs."""

    part: str
    name: str
    value: float
    unit: str
    ratio: float
    budget: float | None = None
    at_least: bool = False
    median_ratio: float | None = None

    @property
    def met(self) -> bool:
        """Whether the budget, if there is one, is kept."""
        if self.budget is None:
            return True
        return self.ratio >= self.budget if self.at_least else self.ratio <= self.budget


def render_table(rows: Iterable[Row]) -> str:
    """The table for people."""
    lines = [f"{'what':<30} {'measured':>12} {'ratio':>8} {'median':>8}  budget"]
    for row in rows:
        measured = f"{row.value:.2f} {row.unit}"
        median = f"{row.median_ratio:.2f}" if row.median_ratio is not None else ""
        lines.append(f"{row.name:<30} {measured:>12} {row.ratio:>8.2f} {median:>8}  {_budget(row)}".rstrip())
    return "\n".join(lines) + "\n"


def _budget(row: Row) -> str:
    if row.budget is None:
        return ""
    word = "at least" if row.at_least else "at most"
    return f"{word} {row.budget:g}: {'kept' if row.met else 'MISSED'}"


def render_json(rows: Sequence[Row]) -> str:
    """The same for programs, with what it ran on."""
    about = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    data = {"version": 1, "on": about, "rows": [{**as_dict(row), "met": row.met} for row in rows]}
    return json.dumps(data, indent=2) + "\n"
