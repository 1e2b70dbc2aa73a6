"""Checkpoints: phases are read back in every spelling, and the JSON block keeps what it does not know."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.places import PlacePosition, rewrite
from passdown.core.formats.checkpoints import JsonBlock, Phase, ValidationState, read_phase, write_phase
from passdown.core.json_text import dump
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed
from tests.support.texts import one_line, texts

AT = PlacePosition(7, "Validation State")
CODEC = JsonBlock()
names = one_line.map(lambda text: text[:300].replace("):", ")")).filter(lambda text: text == text.strip())
phases = st.builds(
    Phase, phase=st.integers(0, 999_999_999), name=names, state=st.sampled_from(PhaseState), detail=one_line
)
counts = st.integers(-9, 999)
others = st.dictionaries(
    st.text().filter(lambda name: "_" not in name), st.integers() | st.text(), max_size=3
)
states = st.builds(
    ValidationState,
    test_count=st.none() | counts,
    tests_passing=st.none() | counts,
    files_modified=st.lists(texts, max_size=3).map(tuple),
    last_test_command=st.none() | texts,
    last_test_exit_code=st.none() | counts,
    others=others.map(lambda members: tuple((name, dump(value)) for name, value in members.items())),
)


@given(phases)
@example(Phase(phase=1, name="a (b)", detail="c) (d"))
def test_a_written_phase_is_read_back(phase: Phase) -> None:
    assert read_phase(write_phase(phase)) == phase


@pytest.mark.requirement("C11")
@given(
    phases,
    st.sampled_from(["", "✓ ", "-> ", "→", "✅ ", "⚠️ "]),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_a_phase_is_read_with_any_symbol_or_none_in_any_case(
    phase: Phase, symbol: str, case: type[str]
) -> None:
    name = f" ({phase.name})" if phase.name else ""
    detail = f" ({phase.detail})" if phase.detail else ""
    for state in (
        phase.state.value,
        phase.state.value.replace("_", " "),
        phase.state.value.replace("_", "-"),
    ):
        assert read_phase(f"phase {phase.phase}{name}: {symbol}{case(state)}{detail}") == phase


def test_a_phase_stays_on_its_line() -> None:
    assert write_phase(Phase(phase=1, name="a\nb", detail="c\nd")) == "Phase 1 (a b): ○ PENDING (c d)"


@pytest.mark.parametrize(
    "text", ["", "Phase", "Phase one: PENDING", "Phase 1: (a)", "Phase 1: PENDING - why", "Phase 1 PENDING"]
)
def test_what_is_no_phase_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is not a phase"):
        read_phase(text)


def test_an_unknown_state_is_refused_with_the_set() -> None:
    with pytest.raises(Malformed, match="is not a known value: done") as refused:
        read_phase("Phase 1: done")

    assert "validated" in refused.value.hint


@pytest.mark.requirement("C11")
@pytest.mark.parametrize("text", ["validated", "VALIDATED", " ✓ Validated "])
def test_a_state_is_read_in_any_case(text: str) -> None:
    assert read_state(text) is PhaseState.VALIDATED


@given(states)
def test_a_written_block_is_read_back(state: ValidationState) -> None:
    reading = CODEC.read(CODEC.write(state), AT)

    assert reading.value == state
    assert not reading.strays
    assert not reading.problems


@given(
    states,
    st.none() | states,
    st.sampled_from(["", "text\n\n", "<!-- c -->\n", "see {x}\n\n", "{broken\n\n"]),
)
def test_a_revised_block_says_what_it_should_and_keeps_what_is_around_it(
    old: ValidationState, new: ValidationState | None, before: str
) -> None:
    content = f"{before}{CODEC.write(old)}\n\nafter"

    revised = rewrite(CODEC, content, new)

    assert CODEC.read(revised, AT).value == new
    for text in (before.strip(), "after"):
        assert text in revised


@pytest.mark.parametrize(
    ("content", "strays"),
    [
        ('```json\n{\n"test_count": 3\n}\n```', []),
        ('```\r\n{"test_count": 3}\r\n```', []),
        ('{"test_count": 3}', []),
        ('state: {"test_count": 3} so far', ["state: ", " so far"]),
        ('```json\n{"test_count": 3}\nResume Context\n- a', ["Resume Context\n- a"]),
        ('~~~json\n{"test_count": 3}\n~~~', ["~~~json", "~~~"]),
    ],
)
def test_the_object_is_found_wherever_it_stands(content: str, strays: list[str]) -> None:
    reading = CODEC.read(content, AT)

    assert reading.value == ValidationState(test_count=3)
    assert [stray.strip() for stray in reading.strays] == [text.strip() for text in strays]
    assert [problem.problem for problem in reading.problems] == ["has text around its JSON block"][
        : len(strays)
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("nothing here", "does not contain a JSON object"),
        ("```json\n{\n```", "is not valid JSON"),
        ('{"test_count": "3"}', "`test_count` is not a whole number"),
        ('{"a": 1, "a": 2}', "has a duplicate member"),
        ("{" * 100_000, "is not valid JSON"),
    ],
)
def test_what_is_no_such_object_is_kept(content: str, problem: str) -> None:
    reading = CODEC.read(content, AT)

    assert reading.value is None
    assert list(reading.strays) == [content]
    assert [(one.field, one.problem) for one in reading.problems] == [("Validation State", problem)]


def test_a_refusal_says_where_in_the_document() -> None:
    assert CODEC.read('```json\n{\n"a": x\n}\n```', AT).problems[0].line == 9


def test_nothing_is_nothing() -> None:
    assert CODEC.read("", AT).value is None
    assert CODEC.write(None) == ""
    assert rewrite(CODEC, "", None) == ""
