"""A view's footer tells whether it is ours, and whether somebody edited it."""

import pytest

from passdown.core.formats.registry import VIEW
from passdown.core.formats.view_footer import FooterCheck, ViewOwner, check_footer, find_view_owner, hash_text
from passdown.core.formats.views import parse_view, render_view
from passdown.records import replace

MADE = VIEW.example()


def test_the_seal_of_a_view_says_what_its_footer_says() -> None:
    footer = parse_view(MADE).footer
    assert footer is not None

    assert check_footer(MADE) == FooterCheck(footer.events_sha256 or "", "1", is_whole=True)
    assert render_view(replace(parse_view(MADE), source=None)) == MADE


@pytest.mark.requirement("R96", "C64")
@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (MADE, ViewOwner.OURS),
        (MADE.replace("\n", "\r\n"), ViewOwner.OURS),
        (MADE.replace("passkey", "password"), ViewOwner.EDITED),
        (MADE.replace("renderer: 3", "renderer: 9"), ViewOwner.OURS),
        (MADE.replace("view_sha256", "sha"), ViewOwner.EDITED),
        (MADE + "\n\n", ViewOwner.OURS),
        (MADE + "More.\n", ViewOwner.EDITED),
        (MADE.replace("_synthesized", "synthesized"), ViewOwner.FOREIGN),
        ("# Mine\n", ViewOwner.FOREIGN),
        ("", ViewOwner.FOREIGN),
    ],
)
def test_whose_a_file_is_is_told_by_its_footer(text: str, owner: ViewOwner) -> None:
    assert find_view_owner(text.encode()) is owner


def test_a_file_that_is_not_there_is_nobodys() -> None:
    assert find_view_owner(None) is ViewOwner.NOBODY
    assert find_view_owner(b"\xff") is ViewOwner.FOREIGN


@pytest.mark.requirement("C66")
def test_line_ends_do_not_matter_to_the_hash() -> None:
    assert hash_text("a\r\nb\n") == hash_text("a\nb\n")
    assert hash_text("\ud800") != hash_text("")


def test_a_footer_in_the_middle_is_no_seal() -> None:
    assert check_footer(MADE + MADE) is not None
    assert check_footer(MADE + "# Another\n") is None
