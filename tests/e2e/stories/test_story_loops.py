"""The story of the loop format (S3): an agent adds turns, a person answers in the file, from idea to end."""

import sys
from pathlib import Path

import pytest

from tests.stories import Actor, HostedActor, Story, tell

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="the story is told at a terminal"),
]

CHANGE = "changes/bread-subscription"
IDEA = "People want the same bread each week.\n\nWhat if somebody is on holiday?"
CRITIQUE = """\
A subscription can pause, by the week.

### Critique

**Missing Cases**: a pause that begins on the day of a delivery
**Suggestions**: the evening before is the last moment"""
FEEDBACK = """\
-(Leave blank to continue. Write notes here to guide the next iteration.)
+They pause it themselves, without a call.
"""
PROPOSAL = "# Proposal\n\nOne delivery each week, until it is paused or ended.\n"
SPEC = "# Pauses\n\nA pause begins with the next week.\n"
TASKS = "# Tasks\n\n## [ ] 01: Pause by the week\n"
PLAN = "# Plan of task 01\n\nA column `paused_until`, and a test for the evening before.\n"


@pytest.mark.requirement(
    "R143", "R144", "R145", "R147", "R149", "R154", "R155", "R156", "C154", through="command"
)
def test_a_change_goes_through_its_loops(tmp_path: Path) -> None:
    with tell("loops", tmp_path) as story:
        story.says("# Loops with a person's feedback")
        story.says(
            "An agent works out a subscription for a bakery, from the first idea to the reconciled "
            "documentation. It never talks with Ann: she answers in the files, when it suits her, and the "
            "next session of any agent reads that."
        )
        story.prepare({})
        ann = story.sit("Ann, at her terminal")
        agent = story.host("the agent, in Claude Code")

        _an_idea(story, ann, agent)
        agent = _another_session(story)
        _a_proposal(story, ann, agent)
        _specs_discovery_and_tasks(story, agent)
        _a_plan_and_its_implementation(story, ann, agent)
        _the_end(story, agent)


def _an_idea(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## An idea")
    agent.calls("SessionStart", source="startup")
    agent.types("passdown loop open bread-subscription ideation")
    agent.types(f'passdown loop append bread-subscription ideation "{IDEA}"')
    story.says(
        "Each turn ends with a section for Ann, and a line. The session ends; she writes in her editor later."
    )
    assert "(Leave blank to continue." in ann.reads(f"{CHANGE}/loops/ideation.md")
    agent.calls("SessionEnd", reason="other")
    ann.edits(f"{CHANGE}/loops/ideation.md", FEEDBACK)


def _another_session(story: Story) -> HostedActor:
    story.says("The next day another session starts. It is told what waits:")
    agent = story.host("another agent", session="session-2")
    assert "They pause it themselves, without a call." in agent.calls("SessionStart", source="startup").given
    shown = agent.types("passdown loop continue")
    assert "> bread-subscription/ideation turn 1: They pause it themselves, without a call." in shown
    story.says(
        "Its turn answers the feedback. How a turn is built is up to the agent; here it has a critique."
    )
    added = agent.types(f'passdown loop append bread-subscription ideation "{CRITIQUE}" --cycles 2')
    assert "answered the feedback on turn 1" in added
    assert agent.types("passdown feedback") == "No open feedback.\n"
    ledger = agent.reads(f"{CHANGE}/loops/ideation.md")
    assert ledger.index("They pause it themselves") < ledger.index("## Turn 2") < ledger.index("### Critique")
    return agent


def _a_proposal(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## A proposal, which Ann approves")
    agent.types("passdown loop open bread-subscription proposal")
    agent.saves(f"{CHANGE}/proposal.md", PROPOSAL)
    agent.types('passdown loop append bread-subscription proposal "See proposal.md. May I go on?"')
    story.says("The agent may not go on by itself, and may not approve it, either:")
    assert "not approved" in agent.types("passdown loop open bread-subscription specs", code=1)
    assert "only a person" in agent.types("passdown loop approve bread-subscription", code=2)
    story.says("Ann reads the proposal, and agrees:")
    ann.at_terminal("passdown loop approve bread-subscription")
    assert "approved" in ann.reads(f"{CHANGE}/state.md")


def _specs_discovery_and_tasks(story: Story, agent: HostedActor) -> None:
    story.says("## Specs, discovery and tasks")
    agent.types("passdown loop open bread-subscription specs")
    agent.saves(f"{CHANGE}/specs/pauses.md", SPEC)
    agent.types('passdown loop append bread-subscription specs "One spec: pauses."')
    agent.types("passdown loop open bread-subscription discovery")
    agent.types('passdown loop append bread-subscription discovery "Orders are in one table."')
    agent.types("passdown loop open bread-subscription tasks")
    agent.saves(f"{CHANGE}/tasks.md", TASKS)
    agent.types('passdown loop append bread-subscription tasks "One task is enough."')


def _a_plan_and_its_implementation(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## A plan, and its implementation")
    agent.types("passdown loop open bread-subscription plan-01")
    agent.saves(f"{CHANGE}/plans/01.md", PLAN)
    agent.types('passdown loop append bread-subscription plan-01 "See plans/01.md."')
    story.says("Ann leaves the section blank: that means to go on.")
    assert "no open feedback" in agent.types("passdown loop continue")
    agent.types("passdown loop open bread-subscription implement-01")
    agent.types(
        'passdown loop append bread-subscription implement-01 "Pauses work." --result SUCCESS '
        '--changed "orders.py=a column" --validation "12 tests passed"'
    )
    ledger = ann.reads(f"{CHANGE}/loops/implement-01.md")
    for heading in ("## Changes Made", "## Validation Results", "## Deviations from Plan", "## Result"):
        assert heading in ledger


def _the_end(story: Story, agent: HostedActor) -> None:
    story.says("## The documentation is reconciled, and the change is finished")
    agent.types("passdown loop open bread-subscription reconcile")
    agent.types('passdown loop append bread-subscription reconcile "README names pauses." --complete')
    agent.types("passdown loop finish bread-subscription")
    assert "finished" in agent.types("passdown loop")
    agent.types(f"ls {CHANGE}/loops")
