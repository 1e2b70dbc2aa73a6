"""The budgets of `bench/` are those that were asked for; the table tells aim, allowance, trend and limits.

A time that is over its budget is told, and fails no run: it may be the machine that is slow.
"""

import json
from pathlib import Path
from typing import Final

import pytest

from bench.budgets import BUDGETS, Budget
from bench.command import PARTS, judge, main, read_recorded, render_recorded
from bench.rows import Row, render_json, render_table

ASKED: Final = [
    ("start-up", "passdown --version", 2),
    ("start-up", "passdown --help", 5.5),
    ("start-up", "synthesize --check", 5.5),
    ("verbs", "", 8),
    ("hooks", "prompt", 2),
    ("hooks", "start", 4),
    ("hooks", "turn end", 5),
    ("sessions", "start", 12),
    ("sessions", "turn end", 7),
    ("sessions", "turn end with event, view and commit", 15),
    ("sessions", "decide", 7),
    ("sessions", "note", 7),
    ("sessions", "end", 20),
    ("sessions", "edit of a held file", 3),
    ("sessions", "to day 1", 1.3),
    ("events", "read_event", 5),
    ("events", "parse_event", 3),
    ("logs", "rebuild", 6),
    ("logs", "with cache built", 20),
    ("logs", "one more, to 1k", 1.5),
    ("commits", "our commit", 1.2),
    ("coordination", "claim and close", 0.7),
    ("coordination", "reserve, renew, release", 0.7),
    ("coordination", "message", 0.7),
    ("coordination", "sign of life", 0.7),
    ("coordination", "claim, to 1k tasks", 1.3),
    ("search", "index, to the corpus", 0.6),
    ("search", "ripgrep, to selective", 100),
    ("questions", "half kept aside, hit@5", 0.9),
    ("questions", "half kept aside, unrelated refused", 0.7),
    ("questions", "half kept aside, right called weak", 0.2),
    ("questions", "LoCoMo, hit@1", 0.7),
    ("questions", "LoCoMo, hit@5", 0.91),
    ("questions", "LoCoMo, MRR", 0.8),
]


def make_row(ratio: float, budget: Budget | None, median_ratio: float | None = None, unit: str = "ms") -> Row:
    return Row(
        part="p", name="thing", value=1.0, unit=unit, ratio=ratio, budget=budget, median_ratio=median_ratio
    )


@pytest.mark.parametrize(("part", "name", "aim"), ASKED)
def test_each_budget_that_was_asked_for_is_there(part: str, name: str, aim: float) -> None:
    assert BUDGETS[part][name].aim == aim


def test_every_part_has_budgets() -> None:
    assert set(BUDGETS) == set(PARTS)


def test_an_allowance_is_not_stricter_than_its_aim() -> None:
    for budgets in BUDGETS.values():
        for budget in budgets.values():
            assert budget.is_allowed(budget.aim), budget


@pytest.mark.parametrize(
    ("ratio", "median", "told", "is_met"),
    [
        (4.0, None, "kept", True),
        (4.1, None, "over its aim: loading", True),
        (9.0, None, "over its aim: loading", True),
        (9.1, None, "SLOW", False),
        (9.1, 8.9, "over its aim: loading", True),
        (9.1, 4.0, "kept", True),
    ],
)
def test_the_table_tells_aim_and_allowance_and_what_limits(
    ratio: float, median: float | None, told: str, is_met: bool
) -> None:
    row = make_row(ratio, Budget(aim=4, allowed=9, limited_by="loading"), median)
    line = render_table([row]).splitlines()[1]

    assert line.endswith(f"    ≤4       ≤9  {told}")
    assert row.met is is_met
    assert json.loads(render_json([row]))["rows"][0]["met"] is is_met


@pytest.mark.parametrize(
    ("ratio", "told"), [(5.0, "kept"), (4.9, "over its aim: nobody has looked why"), (2.9, "SLOW")]
)
def test_what_must_be_at_least_so_fast_is_told_the_other_way_round(ratio: float, told: str) -> None:
    line = render_table([make_row(ratio, Budget(aim=5, allowed=3, at_least=True))]).splitlines()[1]

    assert line.endswith(f"    ≥5       ≥3  {told}")


def test_what_has_no_budget_only_informs() -> None:
    row = make_row(1000.0, None)

    assert row.met
    assert row.reaches_aim
    assert render_table([row]).splitlines()[1].endswith(" 1000.00")


@pytest.mark.parametrize(
    ("unit", "is_strict", "code", "said"),
    [
        ("ms", False, 0, "bench: slower than allowed: thing\n"),
        ("/s", False, 0, "bench: slower than allowed: thing\n"),
        ("ms", True, 1, "bench: slower than allowed: thing\n"),
        ("bytes", False, 1, "bench: larger than allowed: thing\n"),
        ("MB", False, 1, "bench: larger than allowed: thing\n"),
    ],
)
def test_a_slow_machine_fails_no_run_and_a_size_does(
    unit: str, code: int, said: str, capsys: pytest.CaptureFixture[str], *, is_strict: bool
) -> None:
    rows = [make_row(3.0, Budget(aim=1, allowed=2), unit=unit), make_row(1.0, Budget(aim=1, allowed=2))]

    assert judge(rows, is_strict=is_strict) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("recorded", "told"),
    [({"thing": 4.0}, "     4.00   +50%"), ({"thing": 8.0}, "     8.00   -25%"), ({}, " " * 16)],
)
def test_the_table_tells_the_trend_against_the_recorded_ratio(recorded: dict[str, float], told: str) -> None:
    line = render_table([make_row(6.0, Budget(aim=7, allowed=9))], recorded).splitlines()[1]

    assert line.endswith(f"{told}     ≤7       ≤9  kept")


def test_what_is_recorded_is_read_again_and_the_rest_of_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "ratios.json"
    path.write_text(render_recorded({"p": {"other": 2.0, "thing": 9.0}}, [make_row(1.2345, None)]))

    assert read_recorded(path) == {"p": {"other": 2.0, "thing": 1.234}}
    assert read_recorded(tmp_path / "none.json") == {}


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["speed"])
    assert "no such part: speed" in capsys.readouterr().err
