"""The story of the stream format (S1): a document for one piece of work, clears, and checkpoints."""

import sys
from pathlib import Path

import pytest

from tests.stories import HostedActor, Story, tell

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="the story is told at a terminal"),
]

STREAM = "thoughts/shared/handoffs/tide-tables/current.md"
TEST = """\
import unittest

from tides import high_water


class Tides(unittest.TestCase):
    def test_harbour(self):
        self.assertEqual(high_water("harbour"), "06:12")

    def test_island(self):
        self.assertEqual(high_water("island"), "06:40")
"""
TESTS = "python3 -m unittest test_tides.Tides"
CONTEXT = """\
-Minimal handoff created for ledger tracking. Full context to be added.
+The service is asked once a day, at four.
"""
CODE = 'TIMES = {"harbour": "06:12"}\n\n\ndef high_water(place):\n    return TIMES.get(place)\n'


@pytest.mark.requirement("R55", "R64", "R68", "R74", "R80", "R82", "R91", "R92", "R95", through="command")
def test_a_stream_is_cleared_and_resumed_from_its_checkpoints(tmp_path: Path) -> None:
    with tell("stream", tmp_path) as story:
        story.says("# A work stream that survives a clear")
        story.says(
            "An agent moves tide tables of a harbour to a new source, over several days. What it knows is in "
            "the Ledger section of one document, which every session starts from; the phases of its work are "
            "checkpoints, each with the test that shows it."
        )
        story.prepare({"tides.py": CODE, "test_tides.py": TEST})
        agent = story.host("the agent, in Claude Code")

        _the_document_is_made(story, agent)
        _phases_are_validated(story, agent)
        _the_context_is_cleared(story, agent)
        _another_agent_resumes(story)


def _the_document_is_made(story: Story, agent: HostedActor) -> None:
    story.says("## Make the document")
    agent.calls("SessionStart", source="startup")
    agent.types('passdown goal "Tide tables come from the new service, and all tests pass"')
    agent.types('passdown done "Read what the new service sends"')
    agent.types('passdown now "Times of the harbour"')
    agent.types('passdown next "Times of the island" "Remove the old parser"')
    agent.types('passdown decide times "As text, HH:MM" --because "that is what is printed"')
    agent.types('passdown ask --unconfirmed "The service sends local time"')
    assert agent.types("passdown handoff create --stream tide-tables").endswith("ready for clear\n")
    document = agent.reads(STREAM)
    assert "\n[->] Times of the harbour\n" in document
    assert "- UNCONFIRMED: The service sends local time\n" in document
    story.says("What stands below the Ledger section is for people, and the agent adds what it learnt:")
    agent.edits(STREAM, CONTEXT)


def _phases_are_validated(story: Story, agent: HostedActor) -> None:
    story.says("## Work in phases")
    story.says("A phase is validated if its test passes, and failed if it does not:")
    agent.types("passdown checkpoint start 1 --name Harbour --stream tide-tables")
    agent.types(f'passdown checkpoint validate 1 --test "{TESTS}.test_harbour" --yes')
    agent.types("passdown done")
    agent.types('passdown now "Times of the island"')
    agent.types("passdown checkpoint start 2 --name Island")
    failed = agent.types('passdown checkpoint validate 2 --test "python3 -m unittest" --yes', code=1)
    assert "✗ FAILED (python3 -m unittest: exit 1, 1 of 2 tests passing)" in failed
    shown = agent.types("passdown checkpoint show")
    assert "retries: 1 of 3\n" in shown
    assert "current focus: Times of the island\n" in shown


def _the_context_is_cleared(story: Story, agent: HostedActor) -> None:
    story.says("## Clear the context")
    story.says("The context is nearly full. Nothing has to be saved first: all of it is on disk already.")
    agent.calls("Stop")
    agent.calls("SessionEnd", reason="clear")
    agent.begin("session-2")
    given = agent.calls("SessionStart", source="clear").given
    assert "first ask the user 1 to 3 of those marked UNCONFIRMED" in given
    assert "> Phase 2 (Island): failed" in given
    story.says("The agent asks about what is unconfirmed, and writes the answer down:")
    agent.types('passdown answer "The service sends local time" "No, it is UTC"')
    agent.types("passdown handoff create --stream tide-tables")
    agent.calls("SessionEnd", reason="other")


def _another_agent_resumes(story: Story) -> None:
    story.says("## Resume from the last validated phase")
    story.says("Another agent is given the path of the document. The tests are run again before it goes on:")
    agent = story.host("another agent", session="session-3")
    assert "Last worked on: Times of the island" in agent.calls("SessionStart", source="startup").shown
    resumed = agent.types(f"passdown checkpoint resume {STREAM} --yes")
    assert f"exit 0: {TESTS}.test_harbour\n" in resumed
    assert "continue with: Phase 2 (Island)" in resumed
    agent.edits(
        "tides.py", '-TIMES = {"harbour": "06:12"}\n+TIMES = {"harbour": "06:12", "island": "06:40"}\n'
    )
    agent.types('passdown checkpoint validate 2 --test "python3 -m unittest" --yes')
    agent.types("passdown done")
    agent.types('passdown now "Remove the old parser"')
    agent.calls("Stop")
    agent.types("passdown handoff create --stream tide-tables")
    story.says("The Ledger section was written anew; what is around it was not:")
    document = agent.reads(STREAM)
    assert "- Phase 2 (Island): ✓ VALIDATED (2 tests passing)\n" in document
    assert "[->] Remove the old parser\n" in document
    assert "UNCONFIRMED" not in document
    assert document.endswith("The service is asked once a day, at four.\n")
