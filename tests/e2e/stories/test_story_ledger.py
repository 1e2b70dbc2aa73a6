"""The story of the ledger format (S0): bound, written, judged, compacted, closed, switched and finished."""

import sys
from pathlib import Path

import pytest

from tests.stories import Actor, HostedActor, Story, tell

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="the story is told at a terminal"),
]

LEDGER = "conductor/sessions/active/LEDGER.md"
TRACK = "conductor/tracks/invoices_20260302"
TOTALS = """\
def total(net, rate):
    return net + net * rate
"""
TEST = """\
import unittest

from totals import total


class Totals(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertEqual(total(1000, 19), 1190)
"""
PLAN = """\
# Plan

- [x] 1 Totals with tax (S)
  - Criteria: 19 % of 1000 cents are added
  - Deliverable: totals.py

## Verification

~~~bash
python3 -m unittest
~~~
"""


@pytest.mark.requirement("R1", "R3", "R33", "R34", "R35", "R36", "R39", "R48", "R49", through="command")
def test_a_ledger_from_its_first_track_to_the_end_of_its_last(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with tell("ledger", tmp_path) as story:
        story.says("# The ledger of a session")
        story.says(
            "An agent in Claude Code writes invoices for a shop. Its ledger says what it is bound to and how "
            "far it is, through a compaction, a gate that a person must lift, and a change of tracks. "
            "The tasks are in Beads 0.44."
        )
        story.prepare(
            {"totals.py": TOTALS, "test_totals.py": TEST, "passdown.toml": '[gates]\nmode = "full"\n'},
            beads=tmp_path_factory.getbasetemp() / "beads-0.44.0",
        )
        ann = story.sit("Ann, at her terminal")
        agent = story.host("the agent, in Claude Code")

        _it_is_made_at_the_start(story, agent)
        _it_is_bound(story, ann, agent)
        _it_says_how_far_the_work_is(story, agent)
        _it_keeps_what_the_gates_said(story, ann, agent)
        _it_survives_a_compaction(story, agent)
        _its_bindings_end(story, agent)


def _it_is_made_at_the_start(story: Story, agent: HostedActor) -> None:
    story.says("## A session starts")
    agent.calls("SessionStart", source="startup")
    story.says("The ledger is there from the first moment. It is personal, so git ignores it:")
    head = agent.types(f"head -n 16 {LEDGER}")
    assert "platform: claude\nbound_track: null\nbound_bead: null\nmode: SA\n" in head
    assert agent.types(f"git check-ignore {LEDGER}") == f"{LEDGER}\n"


def _it_is_bound(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## A track and a task")
    story.says("Ann has put two tasks into Beads; the second waits for the first.")
    ann.types('bd create "Totals with tax" --id tp-1 --description "In cents" --silent')
    ann.types('bd create "One page each" --id tp-2 --deps tp-1 --description "A4" --silent')
    story.says("The agent binds the track, then claims what is ready. The ledger follows each step:")
    agent.types("passdown track bind invoices_20260302")
    assert agent.types(f"grep ^bound {LEDGER}") == "bound_track: invoices_20260302\nbound_bead: null\n"
    assert agent.types("passdown claim") == "Claimed: tp-1 Totals with tax\n"
    assert agent.types(f"grep ^bound {LEDGER}") == "bound_track: invoices_20260302\nbound_bead: tp-1\n"
    assert "in_progress @claude-" in agent.types("bd list --status in_progress")


def _it_says_how_far_the_work_is(story: Story, agent: HostedActor) -> None:
    story.says("## What the agent knows, as it learns it")
    agent.types('passdown goal "Customers get their invoice as a PDF"')
    agent.types('passdown done "Chose the library"')
    agent.types('passdown now "Add the tax"')
    agent.types('passdown next "Draw the table" "Send it by mail"')
    agent.types('passdown decide money "Integers of cents" --because "floats round"')
    agent.types('passdown ask "Is there tax on vouchers?"')


def _it_keeps_what_the_gates_said(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## The gates of the track")
    story.says(
        "The agent writes a plan. Its commands are run by the gate `plan-execution`, which stops the work."
    )
    agent.saves(f"{TRACK}/plan.md", PLAN)
    assert "✅ PASS" in agent.types("passdown gate run plan-structure")
    assert "❌ FAIL" in agent.types("passdown gate run plan-execution --yes", code=1)
    assert "  retries: 1\n" in agent.types(f"grep -A 4 ^validation: {LEDGER}")
    story.says("It tries again, and again. After the third attempt a person must decide, and not the agent:")
    agent.types("passdown gate run plan-execution --yes", code=1)
    assert "a person\n  must decide" in agent.types("passdown gate run plan-execution --yes", code=1)
    kept = agent.types('passdown answer "BLOCKED: the gate plan-execution" "Go on"', code=1)
    assert "kept as a comment" in kept
    story.says("Only Ann can lift that, at her terminal:")
    ann.at_terminal('passdown answer "BLOCKED: the gate plan-execution" "A rate is per cent"')
    agent.edits(
        "totals.py",
        " def total(net, rate):\n-    return net + net * rate\n+    return net + net * rate // 100\n",
    )
    assert "✅ PASS" in agent.types("passdown gate run plan-execution --yes")


def _it_survives_a_compaction(story: Story, agent: HostedActor) -> None:
    story.says("## The context is compacted")
    story.says("The turn ends, and Claude Code compacts the conversation.")
    agent.calls("Stop")
    agent.calls("PreCompact", trigger="auto")
    story.says("The ledger lies outside of it, with all the results and the files that were changed:")
    ledger = agent.reads(LEDGER)
    assert "| plan-execution | ❌ FAIL |" in ledger
    assert "- `totals.py`" in ledger
    story.says("The agent is told what it knew:")
    given = agent.calls("SessionStart", source="compact").given
    for said in ("Add the tax", "Integers of cents (floats round)", "Is there tax on vouchers?"):
        assert f"> {said}" in given or f": {said}" in given


def _its_bindings_end(story: Story, agent: HostedActor) -> None:
    story.says("## The task is closed, the track is changed, and the last one is finished")
    agent.types('passdown close --note "The tax is added"')
    assert agent.types(f"grep ^bound {LEDGER}") == "bound_track: invoices_20260302\nbound_bead: null\n"
    assert "COMPLETED: The tax is added" in agent.types("bd show tp-1")
    story.says("Another track: the ledger is archived first, with what was known of the one before.")
    agent.types("passdown track bind mails_20260302")
    assert "track-switch" in agent.types("ls conductor/sessions/archive")
    agent.types("passdown track finish")
    assert "No such file" in agent.types(f"cat {LEDGER}", code=1)
    assert "track-complete" in agent.types("ls conductor/sessions/archive")
