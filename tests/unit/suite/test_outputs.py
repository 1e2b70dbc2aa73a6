"""What `scripts/outputs` says about outputs that changed: in a terminal, and on a page."""

import runpy
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.transcripts import ROOT

SCRIPT: Final[dict[str, Any]] = runpy.run_path(str(ROOT / "scripts" / "outputs"))


def test_outputs_that_are_the_same_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show: Callable[[dict[str, str], dict[str, str]], int] = SCRIPT["show_outdated"]

    assert show({"end": "ended\n"}, {"end": "ended\n"}) == 0
    assert capsys.readouterr() == ("", "")


def test_outputs_that_changed_came_or_went_are_named_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show: Callable[[dict[str, str], dict[str, str]], int] = SCRIPT["show_outdated"]

    code = show({"end": "$ x\nold\n", "gone": "a\n"}, {"end": "$ x\nnew\n", "came": "b\n"})

    shown = capsys.readouterr()
    assert code == 1
    assert "--- tests/outputs/end.txt\n+++ what is printed\n@@ -1,2 +1,2 @@\n $ x\n-old\n+new\n" in shown.out
    assert shown.err == "outputs: out of date: came, end, gone; run scripts/outputs\n"


@pytest.mark.parametrize(
    ("kept", "taken", "code"),
    [
        ("seen 2 min ago:\n  it ended\n", "seen 2 min ago: it\n  ended\n", 0),
        ("seen 2 min ago:\n  it ended\n", "seen 2 min ago:\n  it is over\n", 1),
        ("task t-1\n  ready\n", "task t-1\nready\n", 1),
        ("", "came\n", 1),
    ],
)
def test_only_lines_with_an_age_may_be_broken_elsewhere(kept: str, taken: str, code: int) -> None:
    show: Callable[[dict[str, str], dict[str, str]], int] = SCRIPT["show_outdated"]

    assert show({"end": kept}, {"end": taken}) == code


def test_a_page_shows_only_what_changed_side_by_side_and_as_text() -> None:
    make: Callable[[dict[str, str], dict[str, str]], str] = SCRIPT["make_page"]

    page = make({"end": "$ x\n<b>\n", "log": "one\n"}, {"end": "$ x\n\nA & B\n", "log": "one\n"})

    assert "Of 2 outputs in `tests/outputs`, 1 changed: [end](#end)." in page
    assert '<tr class="equal"><td><pre>\n$ x</pre></td><td><pre>\n$ x</pre></td></tr>' in page
    assert '<tr class="replace"><td><pre>\n&lt;b&gt;</pre></td><td><pre>\n\nA &amp; B</pre></td></tr>' in page
    assert "## log" not in page
