"""The view: a Ledger section with a footer that says what it was made of."""

from datetime import UTC, datetime

import pytest

from passdown.core.documents.places import ListOf
from passdown.core.formats import examples
from passdown.core.formats.view_footer import hash_text
from passdown.core.formats.views import (
    BoundedEntries,
    BoundedList,
    Earlier,
    Footer,
    View,
    parse_view,
    render_view,
)
from passdown.core.problems import Severity
from passdown.records import replace


@pytest.mark.requirement("G14")
def test_a_view_begins_with_a_ledger_section_that_a_rule_ends() -> None:
    text = render_view(examples.VIEW)
    _, _, section = text.partition("\n## Ledger\n")

    assert text.startswith("# Project Ledger\n\n## Ledger\n")
    assert "### Now\n[->] Verifying" in section.partition("\n---\n")[0]


@pytest.mark.requirement("R118")
def test_equal_views_have_equal_bytes_and_the_footer_holds_their_hash() -> None:
    text = render_view(examples.VIEW)
    above, _, footer = text.partition("---\n_synthesized:\n")

    assert render_view(replace(examples.VIEW)) == text
    assert f'view_sha256: "{hash_text(above)}"' in footer
    assert hash_text(above) == hash_text(above.replace("\n", "\r\n"))


@pytest.mark.requirement("C3")
def test_a_view_edited_by_hand_is_found_out() -> None:
    text = render_view(examples.VIEW).replace("passkey", "password", 1)

    found = [one for one in parse_view(text).problems if one.severity is Severity.ERROR]

    assert [one.problem for one in found] == ["does not match the text above"]
    assert found[0].line == text.split("\n").index("_synthesized:") + 2


def test_line_ends_do_not_change_the_hash() -> None:
    text = render_view(examples.VIEW).replace("\n", "\r\n")

    assert parse_view(text).problems == ()


def test_what_a_section_leaves_out_is_told_from_its_items() -> None:
    view = parse_view(render_view(View(constraints=("And 3 earlier: `x`",), footer=Footer())))
    earlier = Earlier(count=3, command="x")
    bounded = parse_view(render_view(View(constraints=("a",), constraints_earlier=earlier, footer=Footer())))

    assert view.constraints == ("And 3 earlier: `x`",)
    assert view.constraints_earlier is None
    assert (bounded.constraints, bounded.constraints_earlier) == (("a",), earlier)


def test_keys_below_a_key_of_the_footer_are_not_its_own() -> None:
    text = "# T\n\n## Ledger\n\n---\n_synthesized:\n  event_count: 1\n  by_agent:\n    skipped: 7\n---\n"

    view = parse_view(text)

    assert view.footer == Footer(event_count=1)
    assert [one.text for one in view.unknown] == ["by_agent:\n  skipped: 7"]


def test_a_changed_view_is_written_anew() -> None:
    view = parse_view(render_view(examples.VIEW))

    changed = render_view(replace(view, goal="Another goal"))

    assert parse_view(changed).goal == "Another goal"
    assert parse_view(changed).problems == ()


def test_text_where_the_footer_should_be_is_kept() -> None:
    text = "# T\n\n## Ledger\n\n---\n\n## Context\n\nBy hand.\n"

    view = parse_view(text)

    assert view.footer is None
    assert [(one.place, one.text) for one in view.unknown] == [("footer", "## Context\n\nBy hand.")]
    assert render_view(replace(view, source=None)).endswith("---\n\n## Context\n\nBy hand.\n")


def test_times_of_the_footer_are_written_to_the_millisecond() -> None:
    at = datetime(2026, 1, 1, 0, 0, 0, 5000, tzinfo=UTC)

    assert "  latest_ts: 2026-01-01T00:00:00.005Z\n" in render_view(View(footer=Footer(latest_ts=at)))


def test_a_bounded_list_ends_with_what_it_leaves_out() -> None:
    codec = BoundedList(ListOf(str, str))
    earlier = Earlier(count=2, command="passdown log")

    assert codec.write(BoundedEntries(("b",), earlier)) == "- b\n\nAnd 2 earlier: `passdown log`"
    assert codec.write(BoundedEntries((), earlier)) == "And 2 earlier: `passdown log`"
