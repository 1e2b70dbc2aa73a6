"""Which format a text has."""

import pytest

from passdown.core.formats.registry import (
    ADDRESSED_HANDOFF,
    ARCHIVE,
    EVENT,
    FORMATS,
    JOURNAL,
    LEDGER,
    SESSION_STATE,
    STREAM,
    VIEW,
    Format,
    find_format,
    recognise,
)
from passdown.errors import UsageError


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_a_format_is_found_by_its_name_and_its_example(one: Format) -> None:
    assert find_format(one.name) is one
    assert recognise("x", one.example()) is one


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_a_format_writes_its_own_documents_and_no_others(one: Format) -> None:
    assert one.render(one.parse(one.example())) == one.example()
    for other in FORMATS:
        if other is not one:
            with pytest.raises(TypeError, match=f"is not written as a {type(one.sample).__name__}"):
                one.render(other.sample)


def test_a_name_that_is_no_format_leads_to_those_there_are() -> None:
    with pytest.raises(UsageError, match="there is no format led") as refused:
        find_format("led")

    assert refused.value.hint == "use one of " + ", ".join(one.name for one in FORMATS)


@pytest.mark.requirement("R2", "R53", "R217")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("conductor/sessions/active/LEDGER.md", LEDGER),
        ("conductor\\sessions\\active\\toast\\LEDGER.md", LEDGER),
        ("conductor/sessions/archive/2025-12-28-13-49-stale.md", ARCHIVE),
        ("thoughts/shared/handoffs/auth-refactor/current.md", STREAM),
        ("thoughts/shared/handoffs/current.md", VIEW),
        (".conductor/current.md", VIEW),
        ("thoughts/shared/handoffs/events/2026-01-10T13-03-52Z_toast.md", EVENT),
        ("thoughts/shared/handoffs/events/2026-01-10/2026-01-10T13-03-52Z_toast.md", EVENT),
        (".conductor/session-state_T-abc123.json", SESSION_STATE),
        (".conductor/handoff_T-abc123_to_T-def456.json", ADDRESSED_HANDOFF),
        (".conductor/handoff_T-abc123.2_to_T-def456.json", ADDRESSED_HANDOFF),
        (".conductor/journal/s-1.jsonl", JOURNAL),
        ("README.md", None),
    ],
)
def test_a_text_that_says_nothing_is_known_by_its_path(path: str, expected: Format | None) -> None:
    assert recognise(path, "") is expected
    assert recognise(path, "Just words.\n") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nts: x\nagent: y\n---\n", EVENT),
        ("---\nsession_id: x\ntrigger: y\n---\n", ARCHIVE),
        ("---\nsession_id: x\nplatform: y\n---\n", LEDGER),
        ("---\nsession_name: x\nstatus: y\n---\n", STREAM),
        ("# Session Ledger\n", LEDGER),
        ("# Work Stream: x\n", STREAM),
        ("# Session Handoff\n", ARCHIVE),
        ("text\n---\n_synthesized:\n", VIEW),
        ('{"agentId": "a", "lastUpdated": null}', SESSION_STATE),
        ('{"createdAt": "x", "expiresAt": null}', ADDRESSED_HANDOFF),
        ('{"v":1,"seq":1,', JOURNAL),
        ("{}", None),
        ('{"name": "package"}', None),
        ("---\ntitle: x\n---\n", None),
    ],
)
def test_a_text_is_known_by_what_it_says(text: str, expected: Format | None) -> None:
    assert recognise("x", text) is expected
