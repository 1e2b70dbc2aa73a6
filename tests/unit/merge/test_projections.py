"""The view of merged events: the newest of everything, bounded, and saying what it leaves out."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.documents.key_value import Pair
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Question, QuestionKind
from passdown.core.formats.views import VERSION, Earlier, Footer, parse_view, render_view
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventRank
from passdown.core.merge.merge import Digest, NewestFacts, make_digest, merge_events
from passdown.core.merge.projections import LIMIT, MAX_TEXT, make_view
from passdown.core.phases import PhaseState
from passdown.core.problems import Severity
from passdown.records import replace
from tests.support.events import SEED_EXAMPLE, Value, make_text, make_text_of, merge_texts, read
from tests.support.texts import PIECES, any_text

AT = datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)
MOST_BYTES = 16_384


def digest_of(*texts: str, skipped: int = 0) -> Digest:
    return make_digest(merge_texts(*texts), skipped, LIMIT)


@pytest.mark.requirement("R96", "R114")
def test_the_view_of_the_seeds_example_is_a_valid_current_md() -> None:
    digest = digest_of(SEED_EXAMPLE)

    text = render_view(make_view(digest))

    view = parse_view(text)
    assert view.problems == ()
    assert view.now == "Create PR from carmandale:fix/hooks-path-spaces to parcadei:main (by toast, ended)"
    assert view.this_session == (
        "Compiled TypeScript hooks",
        "Wrapped 25 hooks in bash -c for spaced path support",
        "Forked parcadei/Continuous-Claude-v3",
    )
    assert view.decisions == (
        Pair(key="single_quotes_outer", value="Single quotes outside, double inside"),
        Pair(key="bash_c_wrapper", value="Use bash -c '...' for shell quoting"),
    )
    assert view.checkpoints == (
        Phase(phase=5, state=PhaseState.VALIDATED, detail="toast, 2026-01-10T13:00Z"),
    )
    assert view.footer is not None
    assert view.footer.view_sha256
    assert (view.footer.event_count, view.footer.latest_ts, view.footer.skipped) == (1, AT, 0)


@pytest.mark.requirement("R96", "C23")
def test_the_footer_depends_on_the_events_alone() -> None:
    digest = digest_of(SEED_EXAMPLE, skipped=2)

    assert make_view(digest).footer == Footer(
        event_count=1,
        latest_ts=AT,
        generated_at=AT,
        skipped=2,
        renderer=VERSION,
        events_sha256=digest.events_sha256,
    )


def test_without_events_the_view_is_empty_and_valid() -> None:
    view = make_view(digest_of())

    assert (view.goal, view.now, view.next, view.updated) == ("", "", (), None)
    assert parse_view(render_view(view)).problems == ()


@pytest.mark.requirement("C24", "C32")
def test_goal_now_next_constraints_and_questions_are_shown() -> None:
    view = make_view(
        digest_of(
            make_text(
                goal="the\ngoal",
                now="this",
                next=["first", "second"],
                constraints=["never"],
                open_questions=["UNCONFIRMED: is it?", "why"],
            )
        )
    )

    assert (view.goal, view.now, view.next, view.constraints) == (
        "the goal",
        "this",
        ("first", "second"),
        ("never",),
    )
    assert view.questions == (Question(text="why"), Question(text="is it?", kind=QuestionKind.UNCONFIRMED))


def test_what_does_not_fit_is_counted_with_the_command_that_shows_it() -> None:
    texts = [f"item {number}" for number in range(30)]

    view = make_view(digest_of(make_text(this_session=texts, next=texts)))

    assert view.this_session == tuple(reversed(texts[15:]))
    assert view.this_session_earlier == Earlier(count=15, command="passdown view list done")
    assert view.next == tuple(texts[:10])
    assert view.next_earlier == Earlier(count=20, command="passdown view list next")


def test_a_section_also_ends_where_its_bytes_are_used_up() -> None:
    texts = [f"{number} {'x' * 290}" for number in range(20)]

    view = make_view(digest_of(make_text(this_session=texts)))

    assert 5 < len(view.this_session) < 15
    assert view.this_session_earlier is not None
    assert view.this_session_earlier.count == 20 - len(view.this_session)


def test_a_long_text_is_cut_and_names_the_command_that_shows_it_whole() -> None:
    text = make_text(this_session=["x" * (MAX_TEXT + 1)], goal="y" * MAX_TEXT, now="é" * 299 + "🙂" * 200)

    view = make_view(digest_of(text))

    command = f"… `passdown log show {read(text).rank.hash[:16]}`"
    assert view.this_session == ("x" * MAX_TEXT + command,)
    assert view.goal == "y" * MAX_TEXT
    assert view.now == "é" * 299 + "🙂" + command


def test_a_text_of_few_characters_and_many_bytes_is_cut_between_characters() -> None:
    view = make_view(digest_of(make_text(now="🙂" * 250)))

    kept, _, command = view.now.partition("…")
    assert set(kept) == {"🙂"}
    assert command
    assert len(view.now.encode()) <= 900


def test_phases_have_numbers_or_names_and_a_state() -> None:
    records = [
        {"phase": "2", "status": "odd", "name": "build (all)", "task": "t"},
        {"phase": "design", "status": "failed", "agent": "b"},
        {"name": "only"},
    ]

    view = make_view(digest_of(make_text("2026-01-10T13:03:52Z", "a", checkpoints=records)))

    at = "2026-01-10T13:03Z"
    assert view.checkpoints == (
        Phase(phase=0, name="only", detail=f"a, {at}"),
        Phase(phase=0, name="design", state=PhaseState.FAILED, detail=f"b, {at}"),
        Phase(phase=2, name="build [all]", detail=f"t, a, {at}"),
    )


def test_control_characters_are_shown_and_do_nothing() -> None:
    view = make_view(digest_of(make_text(now="a\x1b[2Jb\u202ec")))

    assert view.now == "a\\u001b[2Jb\\u202ec"


nasty = st.lists(st.sampled_from([*PIECES, "🙂" * 100, "\x1b" * 60, '"\\' * 150, "x" * 290]), max_size=6).map(
    "".join
)
entries = st.lists(any_text | nasty, max_size=25)


@given(entries, entries, nasty, st.integers(0, 40))
@pytest.mark.requirement("R114", "R116")
def test_a_view_of_anything_is_valid_and_stays_under_its_size(
    texts: list[str], more: list[str], one: str, repeat: int
) -> None:
    several = [f"{number}{text}" for number in range(repeat) for text in more]
    keys: dict[str, Value] = {
        "goal": one,
        "now": one,
        "next": texts,
        "this_session": [*texts, *several],
        "constraints": [*more, *several],
        "open_questions": texts,
        "decisions": {f"k{number}": text for number, text in enumerate([*texts, *several])},
        "checkpoints": [{"phase": str(number), "name": "n" * number} for number in range(repeat)],
    }
    source = read(make_text_of(keys))
    long_names = source._replace(rank=EventRank(source.rank.at, one or "a", one, source.rank.hash))

    text = render_view(make_view(make_digest(merge_events([long_names]), 0, LIMIT)))

    assert len(text.encode()) <= MOST_BYTES
    view = parse_view(text)
    assert [problem for problem in view.problems if problem.severity is Severity.ERROR] == []
    assert view.unknown == ()
    assert render_view(view) == text


def test_the_largest_view_stays_under_its_size() -> None:
    for filler in ("x", "🙂", '"', "\\", "\x1b", "*", "é", "<", "`"):
        texts = [f"{number} {filler * 290}"[:MAX_TEXT] for number in range(40)]
        text = make_text(
            goal=texts[0],
            now=texts[0],
            next=texts,
            this_session=texts,
            constraints=texts,
            open_questions=texts,
            decisions={f"k{number}": one for number, one in enumerate(texts)},
            checkpoints=[
                {"phase": str(10**8 + number), "name": "n" * 200, "task": "t" * 200, "agent": "a" * 200}
                for number in range(40)
            ],
        )

        shown = render_view(make_view(digest_of(text)))

        assert len(shown.encode()) <= MOST_BYTES
        assert parse_view(shown).problems == ()


def test_what_was_not_even_looked_up_is_counted_too() -> None:
    digest = digest_of(make_text(decisions={"k": "v"}))
    fact = digest.kinds[FactKind.DECISION].facts[0]
    kinds = {**digest.kinds, FactKind.DECISION.value: NewestFacts((fact,), 5)}

    view = make_view(replace(digest, kinds=kinds, latest=AT))

    assert len(view.decisions) == 1
    assert view.decisions_earlier == Earlier(count=4, command="passdown view list decisions")
