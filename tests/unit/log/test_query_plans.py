"""One more event costs no more than itself: no query that runs for it looks at every row of a large table."""

import re
import sqlite3
from pathlib import Path

import pytest

from passdown.engines.sqlite import event_index
from passdown.engines.sqlite.database import read_queries

HERE = Path(event_index.__file__).parent
QUERIES = read_queries(HERE / "event_queries.sql")
# These list everything, for whoever asked for everything.
WHOLE = frozenset({"list_folders", "list_days", "count_single", "sessions_of_single"})
# Ranks everything anew, when an event moves others.
WHOLE |= {"all_links"}
LARGE = re.compile(r"SCAN (files|sources|facts|holds|retractions)\b(?!.*USING (COVERING )?INDEX)")
# In the order of time, and the first row that is not retracted, or the last that was asked for, ends it.
IN_ORDER = dict.fromkeys(("newest_places", "newest_ranks"), "SCAN sources USING INDEX sources_by_rank")


def plan_of(query: str) -> list[str]:
    connection = sqlite3.connect(":memory:")
    for name in ("event_schema.sql", "event_indexes.sql"):
        connection.executescript((HERE / name).read_text(encoding="utf-8"))
    names = set(re.findall(r":(\w+)", query))
    numbered = [int(number) for number in re.findall(r"\?(\d+)", query)]
    count = max(numbered, default=query.count("?"))
    values: dict[str, int] | list[int] = dict.fromkeys(names, 1) if names else [1] * count
    rows = connection.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall()
    connection.close()
    return [row[3] for row in rows]


@pytest.mark.requirement("R119")
@pytest.mark.parametrize("name", sorted(QUERIES.keys() - WHOLE))
def test_a_query_that_runs_for_one_event_uses_an_index(name: str) -> None:
    scans = [step for step in plan_of(QUERIES[name]) if step.startswith("SCAN")]

    # Only decisions that contradict each other are in `contested`.
    allowed = ("SCAN CONSTANT ROW", "SCAN notes", "SCAN contested", IN_ORDER.get(name))
    assert [step for step in scans if step not in allowed and not is_end_of_index(step)] == []


def is_end_of_index(step: str) -> bool:
    """Say whether a plan takes only rows of a partial index, or the last row of one."""
    return step in {
        "SCAN files USING INDEX files_with_skipped",
        "SCAN files USING COVERING INDEX files_with_skipped",
        "SCAN files USING INDEX files_uncommitted",
        "SCAN sources USING INDEX sources_odd",
        "SCAN sources USING COVERING INDEX sources_odd",
        "SCAN sources USING INDEX sources_unfollowed",
    }


def test_a_query_that_scans_a_large_table_would_be_found() -> None:
    assert plan_of("SELECT id FROM facts WHERE key = ?") == ["SCAN facts"]
    assert LARGE.match("SCAN facts")


def test_the_next_numbers_come_from_the_ends_of_the_tables() -> None:
    assert [step for step in plan_of(QUERIES["next_ids"]) if LARGE.match(step)] == []


def test_every_query_is_named_once() -> None:
    text = (HERE / "event_queries.sql").read_text(encoding="utf-8")

    assert len(QUERIES) == text.count("-- name: ") > 30
