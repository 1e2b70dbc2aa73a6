"""Every console block of the docs is run, or listed with the reason why it cannot be."""

import sys
from pathlib import Path

import pytest

from tests import stories, transcripts
from tests.e2e.project import consoles

PLANS = consoles.read_plans()
_RUN = [name for name, plan in PLANS.items() if not plan.elsewhere]


def test_every_page_with_console_blocks_has_a_plan_and_no_other() -> None:
    assert consoles.list_pages() == sorted(PLANS)


def test_what_cannot_be_run_is_a_block_of_its_page_and_has_a_reason() -> None:
    listed = [(name, command, why) for name, plan in PLANS.items() for command, why in plan.skip.items()]
    missing = [
        (name, command)
        for name, command, _ in listed
        if command not in {block.name for block in consoles.find_blocks(consoles.read_page(name))}
    ]

    assert missing == []
    assert all(len(why.split()) > 2 for _, _, why in listed)


def test_what_is_prepared_or_asked_belongs_to_a_command_of_its_page() -> None:
    unused = [
        (name, command)
        for name, plan in PLANS.items()
        for command in (*plan.before, *plan.questions)
        if f"$ {command}\n" not in consoles.read_page(name)
    ]

    assert unused == []


@pytest.mark.parametrize("name", [name for name, plan in PLANS.items() if plan.elsewhere])
def test_a_page_that_another_test_compares_has_no_block_that_it_leaves_out(name: str) -> None:
    page = consoles.read_page(name)
    left_out = {
        block.name
        for block in consoles.find_blocks(page)
        if (transcripts.ROOT / name).parent != stories.PAGES and not transcripts.may_run(block.name)
    }

    assert left_out == set(PLANS[name].skip)


@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="pages are shown as a terminal shows them")
@pytest.mark.parametrize("name", _RUN)
def test_a_page_shows_what_its_commands_print(name: str) -> None:
    with transcripts.make_home() as home:
        assert consoles.correct(name, home) == consoles.read_page(name)


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        ("one\ntwo\nthree\n", True),
        ("one\n…\nthree\n", True),
        ("…\nthree\n", True),
        ("one\nthree\n", False),
        ("one\n…\nfour\n", False),
        ("one\n…\n", True),
    ],
)
def test_lines_that_are_left_out_may_be_any(shown: str, is_right: bool) -> None:
    assert consoles.is_shown(shown, "one\ntwo\nthree\n") is is_right


def test_a_block_in_a_list_or_tab_keeps_its_indent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "=== Shell\n\n    ```console\n    $ passdown --version\n    old\n    ```\n"
    monkeypatch.setattr(consoles, "ROOT", tmp_path)
    monkeypatch.setattr(consoles, "read_plans", lambda: {"page.md": consoles.Plan()})
    (tmp_path / "page.md").write_text(page, encoding="utf-8")

    with transcripts.make_home() as home:
        corrected = consoles.correct("page.md", home)

    assert corrected.startswith("=== Shell\n\n    ```console\n    $ passdown --version\n    passdown ")
