"""The session archive: its names, its repair, the ledger that older ones carry."""

from datetime import UTC, datetime

import pytest

from passdown.core.formats import examples
from passdown.core.formats.archives import (
    archive_file_name,
    fix_archive,
    parse_archive,
    parse_archive_file_name,
    render_archive,
)
from passdown.records import replace

AT = datetime(2025, 12, 28, 13, 49, tzinfo=UTC)
HEAD = "---\ndate: 2025-12-28T13:49:00Z\nsession_id: T-1\ntrigger: manual\nstatus: complete\n---\n\n"


@pytest.mark.requirement("G2")
def test_an_archive_is_named_by_minute_trigger_and_agent() -> None:
    assert archive_file_name(AT, "stale", "toast-1") == "2025-12-28-13-49-stale-toast-1.md"
    assert archive_file_name(AT, "stale", "toast-1", 2) == "2025-12-28-13-49-stale-toast-1-2.md"
    assert archive_file_name(AT, "stale", "") == "2025-12-28-13-49-stale.md"
    named = archive_file_name(AT, "track-switch", "track-switch-1", 3)
    assert parse_archive_file_name(named) == (AT, "track-switch")


@pytest.mark.requirement("G2", "C116")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2025-12-28T13-49-stale.md", (AT, "stale")),
        ("2025-12-28-13-49-session-end.md", (AT, "session-end")),
        ("2025-12-28-13-49-session-end-2.md", (AT, "session-end")),
        ("2025-12-28-13-49-session-end-claude-1a2b3c4d.md", (AT, "session-end")),
        ("2025-12-28-13-49-session-end-claude-1a2b3c4d-2.md", (AT, "session-end")),
        ("2025-12-28-13-49-lunch-2.md", (AT, "lunch")),
        ("2025-13-28-13-49-stale.md", None),
        ("2025-12-28-stale.md", None),
        ("notes.md", None),
    ],
)
def test_names_of_archives_are_read(name: str, expected: tuple[datetime, str] | None) -> None:
    assert parse_archive_file_name(name) == expected


def test_a_change_keeps_the_rest() -> None:
    text = f"{HEAD}# Session Handoff\n\n## Thanks\n\nTo all.\n\n## Summary\n\nOld.\n"

    changed = render_archive(replace(parse_archive(text), summary="New."))

    assert changed == text.replace("Old.", "New.")


def test_a_repair_adds_what_is_missing_and_leaves_the_ledger_of_an_older_archive_alone() -> None:
    ledger = (
        "---\nupdated: 2025-12-27T10:30:00Z\n---\n\n# Session Ledger\n\n## Summary\n\nNot the archive's.\n"
    )
    text = f"{HEAD}## Source\n\nLEDGER.md\n\n{ledger}"

    repaired = fix_archive(parse_archive(text))

    archive = parse_archive(repaired)
    assert (archive.title, archive.summary) == ("Session Handoff", "")
    assert repaired.endswith(ledger)
    assert archive.problems == ()


def test_a_rule_in_the_text_begins_no_ledger() -> None:
    text = f"{HEAD}# Session Handoff\n\n## Summary\n\nA.\n\n---\n\n## Completed\n\n- b\n"

    assert parse_archive(text).completed == ("b",)


def test_a_sound_archive_needs_no_repair() -> None:
    text = render_archive(examples.ARCHIVE)

    assert fix_archive(parse_archive(text)) == text
