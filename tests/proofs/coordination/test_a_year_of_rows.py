"""A year of sessions: what coordination stores stays as large as after two months."""

from pathlib import Path
from typing import Final

import pytest

from passdown.engines.coordination.rows import RowTransaction
from tests.proof import proof_count
from tests.proofs.conftest import Figures, Tell
from tests.stores.row_years import (
    DAYS,
    SETTLED,
    PostgresYear,
    RowYear,
    SqliteYear,
    YearPlace,
    name_grown,
    tell_size,
)
from tests.stores.servers import MigratedDatabase

SESSIONS: Final = proof_count(fast=400, ci=1_000, long=18_000)
_MEASURED: Final = (SETTLED, 120, 240, DAYS)


def run_year(place: YearPlace, sessions: int = SESSIONS, days: int = DAYS) -> RowYear:
    """Let a year pass."""
    year = RowYear(place, sessions)
    try:
        year.run(days, _MEASURED)
    finally:
        place.close()
    return year


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C78", "C90", "C92")
def test_a_file_does_not_grow_after_two_months(in_memory: Path, tell: Tell, figures: Figures) -> None:
    year = run_year(SqliteYear(in_memory))

    for day, sizes in year.sizes.items():
        figures(f"SQLite, {SESSIONS:,} sessions a year, day {day}", {"size": tell_size(sizes)})
    assert name_grown(year.sizes) == {}
    tell(SESSIONS)


@pytest.mark.proof
@pytest.mark.server
@pytest.mark.timeout(0)
@pytest.mark.requirement("C78", "C90", "C92")
def test_a_server_does_not_grow_after_two_months(
    database: MigratedDatabase, project: str, tell: Tell, figures: Figures
) -> None:
    year = run_year(PostgresYear(database, project))

    for day, sizes in year.sizes.items():
        figures(f"PostgreSQL, {SESSIONS:,} sessions a year, day {day}", {"size": tell_size(sizes)})
    assert name_grown(year.sizes) == {}
    tell(SESSIONS)


@pytest.mark.proof
@pytest.mark.timeout(0)
def test_growth_is_seen_where_nothing_is_deleted(in_memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowTransaction, "drop_unused", lambda *_: None)

    year = run_year(SqliteYear(in_memory), sessions=400, days=120)

    assert float(name_grown(year.sizes)[120]) > 1.5
