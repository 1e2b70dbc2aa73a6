"""The specification is complete, its pages are up to date, and every code leads to it."""

import re
import runpy
import sys
from collections.abc import Callable

import pytest

from tests import specification
from tests.specification import SpecificationError, load_specification, parse_specification

_SCRIPT = specification.ROOT / "scripts" / "spec"
_LAST = {"R": 237, "G": 18, "C": 163}


def test_ids_are_complete_and_in_order() -> None:
    every = [f"{letter}{number}" for letter, last in _LAST.items() for number in range(1, last + 1)]

    assert list(load_specification().entries) == every
    assert [one.name for one in load_specification().documents] == ["S0", "S1", "S2", "S3", "S4"]


def test_titles_tell_entries_apart() -> None:
    for letter in _LAST:
        titles = [one.title for one in load_specification().entries.values() if one.name[0] == letter]
        assert sorted(titles) == sorted(set(titles))


def test_decisions_are_about_requirements_and_amend_earlier_decisions() -> None:
    entries = load_specification().entries
    for entry in entries.values():
        assert all(name in entries and name[0] in "RG" for name in entry.about), entry.name
        earlier = list(entries)[: list(entries).index(entry.name)]
        assert all(name in earlier and name[0] == "C" for name in entry.amends), entry.name


@pytest.mark.slow
def test_every_code_that_is_written_somewhere_exists() -> None:
    known = {*load_specification().entries, *(one.name for one in load_specification().documents)}
    cited = list(specification.find_citations())

    assert len(cited) > 100
    assert [one for one in cited if one.code not in known] == []


@pytest.mark.slow
def test_what_is_planned_is_on_the_roadmap_and_on_no_other_page() -> None:
    planned = {name for name, entry in load_specification().entries.items() if entry.is_planned}
    headings = {
        path.stem: set(re.findall(r"^### (\w+): ", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in specification.FOLDER.glob("*.md")
    }

    assert planned == headings.pop("roadmap") != set()
    assert not planned & set().union(*headings.values())
    assert not planned & specification.find_proofs().keys()


@pytest.mark.slow
def test_pages_are_up_to_date(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the script adds to it
    main: Callable[[list[str]], int] = runpy.run_path(str(_SCRIPT))["main"]
    code = main(["--check"])

    assert (code, capsys.readouterr().out) == (0, "")


def test_markers_of_functions_and_classes_are_proofs() -> None:
    text = """
import pytest

@pytest.mark.requirement("R1", "C59")
@pytest.mark.parametrize("x", [1])
def test_one(x): ...

@pytest.mark.requirement("R2")
class TestMany:
    @pytest.mark.requirement("R3")
    def test_two(self): ...
    def helper(self): ...

def test_three(): ...
"""
    assert list(specification.read_proofs(text)) == [
        ("test_one", ["R1", "C59"]),
        ("TestMany::test_two", ["R2", "R3"]),
        ("test_three", []),
    ]


_TOPIC = '[pages]\na = "A"\n[[topic]]\npage = "a"\ntitle = "T"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_TOPIC + '[topic.R1]\ntitle = "One"\n', "R1: needs a title and a text"),
        (_TOPIC + '[topic.R01]\ntitle = "One"\ntext = "."\n', "topic 'T': R01 is no id"),
        (_TOPIC + '[topic.R1]\ntitle = "One"\ntext = "."\nnote = "x"\n', "R1: unknown keys note"),
        (_TOPIC + '[topic.R1]\ntitle = "One"\ntext = "."\namends = "C1"\n', "amends is no array"),
        (_TOPIC + 'R1 = "One"\n', "R1 is no table"),
        (_TOPIC.replace('page = "a"', 'page = "b"'), "pages without a title or a topic: a, b"),
    ],
)
def test_mistake_in_a_source_is_named(text: str, message: str) -> None:
    with pytest.raises(SpecificationError, match=f"^{message}$"):
        parse_specification([text])


def test_id_that_is_defined_twice_is_refused() -> None:
    text = _TOPIC + '[topic.R1]\ntitle = "One"\ntext = "."\n'

    with pytest.raises(SpecificationError, match=r"^defined twice: R1$"):
        parse_specification([text, text])
