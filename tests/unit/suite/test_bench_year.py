"""The days that `bench/year.py` makes are those that sessions and the job would have made."""

from datetime import UTC, date, datetime

from bench.year import SMALL, WHOLE
from bench.year_clones import roll_up
from bench.year_days import Work, Year, make_day
from bench.year_page import render_tables
from passdown.core.formats.archives import parse_archive
from passdown.core.formats.events import parse_event, render_event
from passdown.core.formats.journal import parse_journal, parse_line
from passdown.core.ids import event_file_name
from passdown.core.merge.event_facts import parse_event_facts, read_covered
from passdown.core.merge.rollups import name_rollup, parse_rollup
from passdown.core.problems import Severity
from passdown.records import replace
from passdown.services.log.events import name_event

DAY = date(2026, 5, 5)
YEAR = Year(name="a week", agents=3, events_of_each=20, days=7)


def make_works() -> list[Work]:
    return list(make_day(YEAR, 2, DAY, datetime(2026, 5, 6, tzinfo=UTC)))


def test_the_sizes_are_those_of_the_promise() -> None:
    assert WHOLE.agents * WHOLE.events_of_each * WHOLE.ages[-1] >= 1_800_000
    assert WHOLE.agents * WHOLE.ages[-1] >= 18_000
    assert (WHOLE.ages, SMALL.ages) == ((1, 10, 100, 365), (1, 10, 37))
    assert round(SMALL.agents * SMALL.events_of_each * SMALL.ages[-1], -2) == 18_000


def test_an_event_is_what_the_package_renders() -> None:
    for event in [event for work in make_works() for event in work.events]:
        parsed = parse_event(event.text)
        facts = parse_event_facts(event.text.encode(), event.name)
        assert parsed.problems == ()
        assert render_event(replace(parsed, source=None)) == event.text
        assert name_event(parsed).id == event.id
        assert facts is not None
        assert (facts.rank.at, facts.rank.agent, facts.rank.id, facts.rank.hash) == event[:4]
        assert event.name == event_file_name(event.at, event.agent)
        assert 600 < len(event.text) < 900


def test_the_rollup_of_a_day_holds_its_events() -> None:
    events = [event for work in make_works() for event in work.events]

    made = roll_up(DAY, events)

    held = [member.name for _, text in made for member, _ in parse_rollup(text.encode()).members]
    assert sorted(held) == sorted(event.name for event in events)
    assert [name for name, text in made if name != name_rollup(text)] == []


def test_a_journal_has_nothing_left_to_publish() -> None:
    for work in make_works():
        journal = parse_journal(work.journal)
        assert journal.problems == ()
        assert parse_line(work.journal.splitlines()[-1]).fact.kind == "end"
        covered = {read_covered(parse_event(event.text).covers or "") for event in work.events}
        assert covered == {line.seq for line in journal.lines if line.fact.kind == "done"}


def test_a_record_is_one_of_a_session() -> None:
    problems = [one for work in make_works() for one in parse_archive(work.record).problems]

    assert [one for one in problems if one.severity is Severity.ERROR] == []


def test_the_tables_have_a_column_for_each_clone() -> None:
    rows = [
        {"name": "day 1: start", "value": 11.04, "unit": "P"},
        {"name": "day 9: start", "value": 12.0, "unit": "P"},
        {"name": "day 9: git status", "value": 31.0, "unit": "ms"},
        {"name": "day 9: pack", "value": 1234.5, "unit": "MB"},
        {"name": "made and measured", "value": 99.0, "unit": "s"},
    ]

    lines = render_tables(rows).splitlines()

    assert "| start | 11.0 | 12.0 |" in lines
    assert "| git status | 31.0 |" in lines
    assert "| pack | 1,234 MB |" in lines
    assert not any("made and measured" in line for line in lines)
