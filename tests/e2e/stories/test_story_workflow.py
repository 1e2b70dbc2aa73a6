"""The story of the session workflow (S4): one agent alone, then a team, with tasks in a real Beads 0.44."""

import json
import sys
from pathlib import Path

import pytest

from tests.stories import Actor, HostedActor, Story, tell

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="the story is told at a terminal"),
]

RESULT = {
    "status": "success",
    "summary": "Wrote the page about allergens",
    "beadUpdates": [
        {"id": "tp-2", "action": "close", "reason": "completed", "notes": "COMPLETED: docs/allergens.md"}
    ],
    "filesModified": ["docs/allergens.md"],
}


@pytest.mark.requirement(
    "R161", "R162", "R175", "R182", "R185", "R207", "R210", "R214", "R215", through="command"
)
def test_one_agent_works_alone_and_then_a_team_does(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with tell("workflow", tmp_path) as story:
        story.says("# Sessions with a tracker")
        story.says(
            "A restaurant keeps its tasks in Beads 0.44. First one agent works alone: it looks, claims, "
            "works, closes and syncs. Then two work at once: they reserve files, write to each other, and "
            "hand over."
        )
        story.prepare({"test_menu.py": ""}, beads=tmp_path_factory.getbasetemp() / "beads-0.44.0")
        ann = story.sit("Ann, at her terminal")
        agent = story.host("the agent, in Claude Code")

        _look_first(story, ann, agent)
        _claim_work_and_close(story, agent)
        _use_a_subagent(story, agent)
        _sync_and_end(story, agent)
        _work_together(story)


def _look_first(story: Story, ann: Actor, agent: HostedActor) -> None:
    story.says("## Alone: look first")
    ann.types('bd create "Mark allergens" --id tp-1 -p 1 -d "All 14 of them" --silent')
    ann.types('bd create "A page about them" --id tp-2 -d "For guests" --silent')
    ann.types('bd create "Print the menu" --id tp-3 --deps tp-1 -d "On A5" --silent')
    ann.types('bd create "Show the menu" --id tp-4 -p 3 -d "On the web" --silent')
    story.says(
        "Before its session starts, the agent looks at what could be in the way. That changes nothing:"
    )
    assert "Beads 0.44.0: 3 ready, 0 held, 1 waiting" in agent.types("passdown preflight")


def _claim_work_and_close(story: Story, agent: HostedActor) -> None:
    story.says("## Claim, work test-first, close")
    agent.calls("SessionStart", source="startup")
    agent.types("passdown ready")
    assert agent.types("passdown claim") == "Claimed: tp-1 Mark allergens\n"
    story.says("The state file says what the session works on. Each phase of the cycle is noted on the task:")
    (state,) = (agent.desk.folder / ".conductor").glob("session-state_*.json")
    for phase in ("red", "green", "refactor"):
        agent.types(f"passdown tdd {phase}")
    shown = json.loads(agent.reads(f".conductor/{state.name}"))
    assert (shown["mode"], shown["currentTask"], shown["tddPhase"]) == ("SA", "tp-1", "REFACTOR")
    agent.types('passdown goal "Guests see what they can eat"')
    agent.types('passdown decide names "As the law has them" --because "guests compare them"')
    agent.types('passdown rule-out "Icons without words" --because "nobody knows them"')
    assert "Closed: tp-1 Mark allergens (completed)" in agent.types(
        'passdown close --note "All 14, with tests"'
    )
    shown = json.loads(agent.reads(f".conductor/{state.name}"))
    assert (shown["currentTask"], shown["tddPhase"]) == (None, None)
    kept = agent.types("bd show tp-1")
    assert "Status: closed\nClose reason: completed\n" in kept
    assert "IN_PROGRESS: RED phase - writing failing test\n" in kept
    assert "COMPLETED: All 14, with tests\nKEY DECISION: names: As the law has them\n" in kept


def _use_a_subagent(story: Story, agent: HostedActor) -> None:
    story.says("## A subagent asks, and its session does it")
    agent.types("passdown claim tp-2")
    assert "Beads access is READ-ONLY" in agent.calls("SubagentStart", agent_type="writer").given
    refused = agent.calls(
        "PreToolUse",
        agent_type="writer",
        agent_id="a-1",
        tool_name="Bash",
        tool_input={"command": "bd close tp-2"},
    )
    assert "`bd close` was not run" in refused.reason
    story.says("So it returns what is to be done, and the hook keeps that for the agent:")
    agent.calls("SubagentStop", agent_type="writer", last_assistant_message=json.dumps(RESULT))
    assert "closed tp-2" in agent.types("passdown result apply")


def _sync_and_end(story: Story, agent: HostedActor) -> None:
    story.says("## Sync, and end")
    assert agent.types("passdown sync").startswith("Sync: ")
    agent.types("passdown end")
    story.says(
        "For the next session of an agent that works alone, a context is saved. What is marked PRESERVE is "
        "never shortened:"
    )
    context = agent.reads(".conductor/session-context.md")
    assert "## Intent [PRESERVE]\n\n- Goal: Guests see what they can eat\n" in context
    assert "- RULED_OUT: Icons without words -- nobody knows them\n" in context


def _work_together(story: Story) -> None:
    story.says("## Together: take part, claim, reserve")
    birch = story.host("birch, who prints", session="birch-1")
    cedar = story.host("cedar, who does the web", session="cedar-1")
    birch.types("passdown start --fresh --team kitchen --role print --nickname birch")
    cedar.types("passdown start --fresh --team kitchen --role web --nickname cedar")
    assert birch.types("passdown claim") == "Claimed: tp-3 Print the menu\n"
    assert cedar.types("passdown claim") == "Claimed: tp-4 Show the menu\n"
    birch.types("passdown reserve menu.json --ttl 10")
    held = cedar.types("passdown reserve menu.json", code=3)
    assert "menu.json is held by birch-" in held
    cedar.types('passdown msg "May I have menu.json?" --to birch')
    assert "> May I have menu.json?" in birch.types("passdown inbox")
    story.says("## Done: close releases the files, and tells the team")
    closed = birch.types('passdown close --note "On A5" --msg "tp-3 is done"')
    assert "  released: menu.json\n" in closed
    assert "> tp-3 is done" in cedar.types("passdown inbox")
    cedar.types("passdown reserve menu.json")
    story.says("## Hand over")
    story.says("Cedar has to stop, and leaves birch a handoff: a file, which is shown once.")
    cedar.types('passdown handoff create "The footer is missing" --to birch --pattern context')
    (handoff,) = (cedar.desk.folder / ".conductor").glob("handoff_*.json")
    assert json.loads(cedar.reads(f".conductor/{handoff.name}"))["context"]["taskId"] == "tp-4"
    cedar.types("passdown handoff offer --to birch")
    cedar.types("passdown end")
    assert "The footer is missing" in birch.types("passdown inbox")
    assert not handoff.exists()
    birch.types("passdown handoff accept")
    birch.types("passdown close --note 'With a footer'")
    birch.types("passdown end")
    assert "Status: closed" in birch.types("bd show tp-4")
