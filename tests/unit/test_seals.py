"""A view's footer tells whether it is ours, and whether somebody edited it."""

import pytest

from passdown.core.formats import VIEW
from passdown.core.seals import Ownership, Seal, hash_text, judge_owner, read_seal
from passdown.core.views import parse_view, render_view, seal_view

MADE = VIEW.example()


def test_the_seal_of_a_view_says_what_its_footer_says() -> None:
    footer = parse_view(MADE).footer
    assert footer is not None

    assert read_seal(MADE) == Seal(footer.events_sha256 or "", "1", is_whole=True)
    assert render_view(seal_view(parse_view(MADE))) == MADE


@pytest.mark.requirement("R96")
@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (MADE, Ownership.OURS),
        (MADE.replace("\n", "\r\n"), Ownership.OURS),
        (MADE.replace("passkey", "password"), Ownership.EDITED),
        (MADE.replace("renderer: 1", "renderer: 2"), Ownership.OURS),
        (MADE.replace("view_sha256", "sha"), Ownership.EDITED),
        (MADE + "\n\n", Ownership.OURS),
        (MADE + "More.\n", Ownership.FOREIGN),
        (MADE.replace("_synthesized", "synthesized"), Ownership.FOREIGN),
        ("# Mine\n", Ownership.FOREIGN),
        ("", Ownership.FOREIGN),
    ],
)
def test_whose_a_file_is_is_told_by_its_footer(text: str, owner: Ownership) -> None:
    assert judge_owner(text.encode()) is owner


def test_a_file_that_is_not_there_is_nobodys() -> None:
    assert judge_owner(None) is Ownership.NOBODY
    assert judge_owner(b"\xff") is Ownership.FOREIGN


def test_line_ends_do_not_matter_to_the_hash() -> None:
    assert hash_text("a\r\nb\n") == hash_text("a\nb\n")
    assert hash_text("\ud800") != hash_text("")


def test_a_footer_in_the_middle_is_no_seal() -> None:
    assert read_seal(MADE + MADE) is not None
    assert read_seal(MADE + "# Another\n") is None
