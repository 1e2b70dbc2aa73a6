"""The program, its code and its pages say things plainly."""

import tomllib
from pathlib import Path

import pytest

from tests.wording import ROOT, Quote, find_in, find_uses, read_phrases, read_quotes

TEXTS = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted((ROOT / "src" / "passdown").rglob("*.py"))
)

SOURCES = frozenset({"S0", "S1", "S2", "S3", "S4"})


def test_no_phrase_of_the_list_came_back() -> None:
    assert [str(use) for use in find_uses()] == []


@pytest.mark.parametrize(
    "text",
    [
        "msg: nobody is there for all",
        "Nobody is there\nfor all",
        'raise Refused("nobody is there "\n    "for all")',
        'f"nobody is "\n    f"there for all"',
        "# nobody is\n    # there for all",
        "> nobody is there\n> for all",
    ],
)
def test_a_phrase_is_found_however_it_is_broken(text: str) -> None:
    assert "nobody is there for all" in {phrase.text for _, phrase in find_in(text)}


@pytest.mark.parametrize("text", ["nobody is thereforeall", "somebody is there", "nobody was there for all"])
def test_other_words_are_left_alone(text: str) -> None:
    assert not list(find_in(text))


def test_the_line_is_that_of_the_phrase() -> None:
    assert [line for line, _ in find_in("One.\nTwo.\nWhoever asks.\n")] == [3]


def test_files_of_every_kind_are_read(tmp_path: Path) -> None:
    for name in (
        "README.md",
        "docs/how-to/a.md",
        "src/passdown/a.py",
        "tests/outputs/a.txt",
        "docs/adr/a.md",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Whoever asks.\n", encoding="utf-8")

    assert {use.path for use in find_uses(tmp_path)} == {
        "README.md",
        "docs/how-to/a.md",
        "src/passdown/a.py",
        "tests/outputs/a.txt",
    }


def test_each_phrase_has_a_plain_one() -> None:
    assert all(phrase.plain and not list(find_in(phrase.plain)) for phrase in read_phrases())


@pytest.mark.parametrize("quote", read_quotes(), ids=lambda quote: quote.text)
def test_what_the_specification_quotes_stays(quote: Quote) -> None:
    spec = ROOT / "docs" / "spec"
    entries = [
        entry
        for name in ("requirements.toml", "decisions.toml")
        for topic in tomllib.loads((spec / name).read_text(encoding="utf-8"))["topic"]
        for code, entry in topic.items()
        if code == quote.code
    ]

    assert quote.code in SOURCES or quote.text in str(entries)
    assert quote.text in TEXTS
