"""The story of the event design (S2): parallel sessions write events, and one view is made of them."""

import sys
from pathlib import Path

import pytest

from tests.stories import Actor, HostedActor, Story, tell

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="the story is told at a terminal"),
]

EVENTS = "thoughts/shared/handoffs/events"
VIEW = "thoughts/shared/handoffs/current.md"


@pytest.mark.requirement(
    "R97", "R105", "R107", "R109", "R116", "R121", "R124", "R127", "R128", through="command"
)
def test_parallel_sessions_are_merged_into_one_view(tmp_path: Path) -> None:
    with tell("events", tmp_path) as story:
        story.says("# Events of many sessions, one view")
        story.says(
            "Two agents work on a garden planner at once, each in a worktree of its own. Each writes "
            "files of its own, so git never has to merge them; the view is generated from all of them."
        )
        story.prepare({})
        ann = story.sit("Ann, at her terminal")
        ann.types("git worktree add --quiet ../beds -b feat/beds")
        ann.types("git worktree add --quiet ../frost -b fix/frost")
        beds = story.host("the agent in beds", folder="beds", session="beds-1")
        frost = story.host("the agent in frost", folder="frost", session="frost-1")

        _two_sessions(story, beds, frost)
        _each_writes_an_event(story, beds, frost)
        _they_are_merged(story, ann)
        _the_next_session(story)
        _archive_and_check(story, ann)


def _two_sessions(story: Story, beds: HostedActor, frost: HostedActor) -> None:
    story.says("## Two sessions at once")
    beds.calls("SessionStart", source="startup")
    beds.types('passdown goal "Everybody can plan a garden"')
    beds.types('passdown done "Beds have a length and a width"')
    beds.types('passdown now "Draw the beds"')
    beds.types('passdown decide units "Centimetres" --because "seed packets use them"')
    story.says("The second agent sees at its start what the first one is doing, published or not:")
    told = frost.calls("SessionStart", source="startup").given
    assert "not published yet) > units: Centimetres" in told
    frost.types('passdown goal "No plant freezes"')
    frost.types('passdown done "Read the dates of the last frost"')
    frost.types('passdown now "Warn before a frost"')
    replaced = frost.types('passdown decide units "Millimetres" --because "rain" --replace')
    assert "replaces: Centimetres" in replaced
    frost.types('passdown ask "Which weather service?"')


def _each_writes_an_event(story: Story, beds: HostedActor, frost: HostedActor) -> None:
    story.says("## Each writes an event")
    story.says(
        "At the end of a turn, and of a session, what is new becomes a file. It is never changed again."
    )
    beds.calls("Stop")
    beds.calls("SessionEnd", reason="clear")
    (name,) = beds.types(f"ls {EVENTS}").split()
    event = beds.reads(f"{EVENTS}/{name}")
    assert "branch: feat/beds\n" in event
    assert "now: Draw the beds\n" in event
    story.says("The first agent goes on after the clear, and is told what it knew, and what the other found:")
    beds.begin("beds-2")
    assert "Draw the beds" in beds.calls("SessionStart", source="clear").given
    beds.types("passdown done")
    story.says("Both end by a command, which also commits:")
    beds.types("passdown end")
    assert beds.types("git status --short") == ""
    frost.types("passdown end")


def _they_are_merged(story: Story, ann: Actor) -> None:
    story.says("## Git merges two branches, and nothing conflicts")
    ann.types("git merge --quiet feat/beds")
    ann.types("git merge --quiet --no-edit fix/frost")
    assert len(ann.types(f"ls {EVENTS}").split()) == 3
    story.says("There is no view of them yet, which CI would notice:")
    ann.types("cc-synthesize --check", code=4)
    ann.types("cc-synthesize --no-confirm")
    view = ann.reads(VIEW)
    story.says(
        "Of what each was doing, the last one holds; of two decisions under one key, the newer; of all else, "
        "everything. The same events give the same bytes, on every machine:"
    )
    assert "Millimetres" in view
    ann.types("cc-synthesize --no-confirm")
    ann.types("cc-synthesize --check")


def _the_next_session(story: Story) -> None:
    story.says("## The next session starts with all of it")
    agent = story.host("the next agent", session="next-1")
    answer = agent.calls("SessionStart", source="startup")
    assert "3 events combined" in answer.shown
    agent.calls("SessionEnd", reason="other")


def _archive_and_check(story: Story, ann: Actor) -> None:
    story.says("## Archive and commit")
    ann.types("cc-synthesize --no-confirm --archive --commit")
    ann.types("git log --oneline --no-decorate --max-count 1")
