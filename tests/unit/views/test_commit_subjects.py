"""The subject of a commit names one fact of its events, whoever wrote them."""

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.events import Event
from passdown.core.sessions.commit_subjects import describe_events


def make(**values: object) -> Event:
    """Make an event of an agent."""
    return Event(**{"agent": "claude-639f1a2b", **values})  # type: ignore[arg-type]  # a mix of values


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([], ""),
        ([make()], ""),
        ([make(goal="  ")], ""),
        ([make(next=("Test it", "Ship it"))], "claude-639f: Test it, +1"),
        ([make(goal="Ship it", next=("Test it",))], "claude-639f: Ship it"),
        ([make(answers=(Pair(key="Which?", value="The second"),))], "claude-639f: The second"),
        ([make(decisions=(Pair(key="in files"),))], "claude-639f: in files"),
        ([make(open_questions=("Which?",), now="Ask")], "claude-639f: Which?, +1"),
        ([make(this_session=("One", "Two"), constraints=("No",))], "claude-639f: Two, +2"),
        ([make(this_session=("One",)), make(agent="ann", this_session=("Two",)), make()], "ann: Two, +1"),
        ([make(agent=None, this_session=("One",))], "One"),
    ],
)
def test_the_last_event_that_states_something_gives_author_and_text(events: list[Event], shown: str) -> None:
    assert describe_events(events) == shown


def test_a_hostile_event_cannot_make_a_long_subject_or_a_second_line() -> None:
    shown = describe_events([make(agent="x\n" * 900, this_session=("y\x1b[2J\u202e\r\n" * 900_000,))])

    assert shown.isprintable()
    assert len(shown) < 100
