"""Documents with one typed section, proved on the stream: what stands around it is never touched."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from passdown.core.documents.key_value import Pair
from passdown.core.documents.markdown import cut_region
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.streams import (
    Checkpoint,
    Stream,
    Workflow,
    fix_stream,
    parse_stream,
    render_stream,
)
from passdown.core.phases import PhaseState
from passdown.records import replace
from tests.support.mangled import changed, documents, words
from tests.support.texts import normal_text, said_line, said_text, texts

TITLES = (
    *("## Ledger", "### Now", "### This Session", "### Next", "### Decisions", "### Open Questions"),
    *("### Workflow State", "#### Resolved", "#### Unknowns", "#### Last Failure", "### Checkpoints"),
    *("#### Phase Status", "#### Validation State", "#### Resume Context", "---", "## Context"),
)
NOON = datetime(2026, 1, 10, 12, 0, tzinfo=UTC)
plain = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,3}", fullmatch=True)
lists = st.lists(said_text, max_size=3).map(tuple)
pairs = st.lists(st.builds(Pair, key=plain, value=plain | st.just("")), max_size=3).map(tuple)
CHANGES: dict[str, st.SearchStrategy[object]] = {
    "date": st.none() | st.just(NOON),
    "session_name": st.none() | said_line,
    "title": said_line,
    "updated": st.none() | st.just(NOON),
    "goal": said_line | st.just(""),
    "test": said_line | st.just(""),
    "now": plain | st.just(""),
    "this_session": lists,
    "next": lists,
    "decisions": pairs,
    "workflow": st.builds(Workflow, pattern=st.none() | said_line, phase=st.none() | st.integers(0, 99)),
    "unknowns": lists,
    "last_failure": normal_text,
    "checkpoint": st.builds(
        Checkpoint,
        agent=said_line,
        phases=st.lists(
            st.builds(Phase, phase=st.integers(0, 9), name=plain, state=st.sampled_from(PhaseState))
        ).map(tuple),
        validation=st.none()
        | st.builds(ValidationState, files_modified=lists, last_test_command=st.none() | texts),
    ),
    "context": said_text,
}
changes = st.sampled_from(sorted(CHANGES)).flatmap(lambda name: st.tuples(st.just(name), CHANGES[name]))


def same(one: Stream, other: Stream) -> None:
    """Both say the same; what is unknown may have moved."""
    assert replace(one, unknown=()) == replace(other, unknown=())


@given(texts, texts, texts)
@example("a\n", "## Ledger\n```\n---\n## no\n```\n", "---\n\n## Context\n")
def test_the_parts_of_a_body_are_the_body(before: str, section: str, after: str) -> None:
    for body in (before + section + after, f"{before}\n## Ledger\n{section}\n---\n{after}"):
        assert "".join(cut_region(body, "Ledger")) == body


@pytest.mark.requirement("C33")
@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("# A\n", ("# A\n", "", "", "")),
        ("# A\n## ledger:\nb", ("# A\n", "## ledger:\nb", "", "")),
        ("## Ledger\nb\n---\nc\n---\n", ("", "## Ledger\nb\n", "---\n", "c\n---\n")),
        ("## Ledger\nb\n---", ("", "## Ledger\nb\n", "---", "")),
        ("## Ledger\nb\n### C\nd\n## E\n---\n", ("", "## Ledger\nb\n### C\nd\n", "", "## E\n---\n")),
        ("## Ledger\n```\n---\n## E\n```\n# F", ("", "## Ledger\n```\n---\n## E\n```\n", "", "# F")),
        ("### Ledger\n", ("### Ledger\n", "", "", "")),
    ],
)
def test_a_section_ends_at_a_rule_or_heading_outside_code(
    body: str, parts: tuple[str, str, str, str]
) -> None:
    assert cut_region(body, "Ledger") == parts


@given(documents(TITLES) | texts)
def test_what_is_not_changed_is_written_as_it_was(text: str) -> None:
    assert render_stream(parse_stream(text)) == text


@given(documents(TITLES))
def test_every_line_is_read_into_a_field_or_kept_as_unknown(text: str) -> None:
    assert words(text) - words(parse_stream(text)) == Counter()


@given(documents(TITLES) | texts, changes)
def test_a_changed_field_is_read_back_and_no_other_changes(text: str, change: tuple[str, object]) -> None:
    name, value = change
    stream = changed(parse_stream(text), name, value)
    # A fence or comment that is never closed is an error; new text may close it.
    assume(
        all("never closed" not in problem.problem or problem.field != "text" for problem in stream.problems)
    )

    same(parse_stream(render_stream(stream)), stream)


@given(documents(TITLES), changes)
def test_a_change_loses_nothing_but_the_old_value(text: str, change: tuple[str, object]) -> None:
    name, value = change
    stream = parse_stream(text)

    revised = render_stream(changed(stream, name, value))

    misfits = [one.text for one in stream.unknown if one.place in {"front matter", "Ledger/Workflow State"}]
    gone = words(text) - words(revised)
    assert gone - words(getattr(stream, name)) - words(" ".join(misfits)) == Counter()


@given(documents(TITLES))
def test_a_document_without_its_source_says_the_same(text: str) -> None:
    stream = parse_stream(text)

    again = parse_stream(render_stream(replace(stream, source=None)))

    same(again, stream)
    assert words(stream) - words(again) == Counter()


@given(documents(TITLES) | texts)
def test_fixing_repairs_all_at_once_and_loses_nothing(text: str) -> None:
    stream = parse_stream(text)

    fixed = fix_stream(stream)

    again = parse_stream(fixed)
    assert [problem for problem in again.problems if problem.fixable] == []
    assert words(text) - words(fixed) == Counter()
    same(again, stream)
    assert fix_stream(again) == fixed


@pytest.mark.parametrize(
    ("text", "change", "result"),
    [
        ("", {"goal": "g"}, "## Ledger\n**Goal:** g\n"),
        ("# T", {"goal": "g"}, "# T\n\n## Ledger\n**Goal:** g\n"),
        ("# T\n## Ledger\n**Goal:** f", {"goal": "g"}, "# T\n## Ledger\n**Goal:** g"),
        ("## Ledger\n**Goal:** f\n---\n\nc\n", {"goal": "g"}, "## Ledger\n**Goal:** g\n---\n\nc\n"),
        ("## Ledger\n**Goal:** f\n---\n\nc\n", {"context": "d"}, "## Ledger\n**Goal:** f\n---\n\nd\n"),
        ("## Ledger\n**Goal:** f\n---", {"context": "d"}, "## Ledger\n**Goal:** f\n---\nd\n"),
        ("## Ledger\n**Goal:** f\n", {"context": "d"}, "## Ledger\n**Goal:** f\n\n---\n\nd\n"),
        ("# T\r\n## Ledger\r\n", {"goal": "g"}, "# T\r\n## Ledger\r\n**Goal:** g\r\n"),
        ("# T\n## Ledger\n", {"title": "U"}, "# U\n## Ledger\n"),
        ("", {"session_name": "s"}, "---\nsession_name: s\n---\n\n"),
        ("---\nx: y\n\n## Ledger\n", {"context": "d"}, "---\nx: y\n---\n\n## Ledger\n\n---\n\nd\n"),
    ],
)
def test_a_change_finds_its_section(text: str, change: dict[str, str], result: str) -> None:
    ((name, value),) = change.items()

    assert render_stream(changed(parse_stream(text), name, value)) == result


@pytest.mark.parametrize(
    ("text", "problem"),
    [("# T\n", "section is missing"), ("## Ledger\n", "section does not end with a `---` line")],
)
def test_what_is_wrong_with_the_section_is_told(text: str, problem: str) -> None:
    assert problem in [one.problem for one in parse_stream(text).problems if one.field == "Ledger"]
