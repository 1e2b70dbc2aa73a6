"""What a measurement gives: rows with a ratio to a floor of the same run, and the budget of that ratio."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bench.budgets import Budget
from passdown.records import as_dict, record

_UNITS_OF_TIME: Final = frozenset({"µs", "ms", "s", "/s", "P"})


@record
class Row:
    """One thing measured. `ratio` compares it with its floor; without a budget it only informs.

    `median_ratio` compares the medians where `ratio` compares the minima: the better one counts, since noise
    only slows down.
    """

    part: str
    name: str
    value: float
    unit: str
    ratio: float
    budget: Budget | None = None
    median_ratio: float | None = None

    @property
    def is_time(self) -> bool:
        """Whether it belongs to the machine; a size is the same on all of them."""
        return self.unit in _UNITS_OF_TIME

    @property
    def met(self) -> bool:
        """Whether what is allowed, if there is a budget, is kept."""
        return self.budget is None or any(map(self.budget.is_allowed, self._ratios))

    @property
    def reaches_aim(self) -> bool:
        """Whether it is what was asked for, if something was."""
        return self.budget is None or any(map(self.budget.is_aim_met, self._ratios))

    @property
    def _ratios(self) -> tuple[float, ...]:
        return (self.ratio,) if self.median_ratio is None else (self.ratio, self.median_ratio)


def render_table(rows: Iterable[Row], recorded: Mapping[str, float] = MappingProxyType({})) -> str:
    """The table for people, with how each ratio differs from the recorded one."""
    head = f"{'what':<38} {'measured':>12} {'ratio':>8} {'median':>8} {'recorded':>9} {'trend':>6}"
    lines = [f"{head} {'aim':>6} {'allowed':>8}"]
    for row in rows:
        measured = f"{row.value:.2f} {row.unit}"
        median = f"{row.median_ratio:.2f}" if row.median_ratio is not None else ""
        figures = f"{row.name:<38} {measured:>12} {row.ratio:>8.2f} {median:>8}"
        lines.append(f"{figures} {_trend(row, recorded)} {_budget(row)}".rstrip())
    return "\n".join(lines) + "\n"


def _trend(row: Row, recorded: Mapping[str, float]) -> str:
    known = recorded.get(row.name)
    return f"{'':16}" if not known else f"{known:>9.2f} {row.ratio / known - 1:>+6.0%}"


def _budget(row: Row) -> str:
    if row.budget is None:
        return ""
    word = "≥" if row.budget.at_least else "≤"
    figures = f"{f'{word}{row.budget.aim:g}':>6} {f'{word}{row.budget.allowed:g}':>8}"
    if not row.met:
        return f"{figures}  {'SLOW' if row.is_time else 'MISSED'}"
    if row.reaches_aim:
        return f"{figures}  kept"
    return f"{figures}  over its aim: {row.budget.limited_by or 'nobody has looked why'}"


def render_json(rows: Sequence[Row]) -> str:
    """The same for programs, with what it ran on."""
    about = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    data = {"version": 2, "on": about, "rows": [_as_data(row) for row in rows]}
    return json.dumps(data, indent=2) + "\n"


def _as_data(row: Row) -> dict[str, object]:
    budget = None if row.budget is None else as_dict(row.budget)
    return {**as_dict(row), "budget": budget, "met": row.met, "reaches_aim": row.reaches_aim}
