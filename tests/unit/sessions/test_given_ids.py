"""A session that the user named: ledger, state file and handoffs have that id, so that scripts find them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.formats.ledgers import parse_ledger
from passdown.core.ids import is_id, name_file
from passdown.core.sessions.session_facts import SessionStart, make_start, read_start
from passdown.core.times import parse_instant
from tests.support.teams import Team

RUNTIME = ".conductor"
LEDGER = "conductor/sessions/active/LEDGER.md"

INCOMING = """
for handoff in .conductor/handoff_*_to_${AGENT_ID}.json; do
  [[ -f "$handoff" ]] || continue
  FROM=$(jq -r '.from' "$handoff")
  CONTENT=$(jq -r '.content' "$handoff")
  CREATED=$(jq -r '.createdAt' "$handoff")
  echo "Handoff from $FROM (created: $CREATED):"
  echo "   $CONTENT"
  mkdir -p .conductor/processed_handoffs
  mv "$handoff" ".conductor/processed_handoffs/"
done
"""
"""How the source document's own script reads handoffs (S4)."""


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project that is set up."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    return made


def states(team: Team) -> list[str]:
    """Name the state files."""
    return sorted(path.name for path in (team.project.folder / RUNTIME).glob("session-state_*"))


@pytest.mark.requirement("R217", "C5")
def test_a_given_id_is_in_ledger_and_state_file_and_is_the_nickname(team: Team) -> None:
    started = json.loads(team.command("start", "--session", "T-abc123", "--json").out)

    assert started["agent"].startswith("t-abc123-")
    ledger = (team.project.folder / LEDGER).read_text()
    assert "\nsession_id: T-abc123\n" in ledger
    assert states(team) == ["session-state_T-abc123.json"]
    state = json.loads((team.project.folder / RUNTIME / "session-state_T-abc123.json").read_text())
    assert state["agentId"] == "T-abc123"
    assert team.command("goal", "Ship it", "--session", "T-abc123").code == 0
    assert "\n## Goal\n\nShip it\n" in (team.project.folder / LEDGER).read_text()
    assert states(team) == ["session-state_T-abc123.json"]


@pytest.mark.requirement("R220", "C91")
def test_the_source_documents_script_finds_a_handoff(team: Team) -> None:
    team.command("start", "--session", "T-abc123")

    made = team.command("handoff", "create", "--to", "T-new", "Review auth", "--session", "T-abc123")

    path = f"{RUNTIME}/handoff_T-abc123_to_T-new.json"
    assert made.out.startswith(f"Handoff created: {path}\n")
    told = json.loads((team.project.folder / path).read_text())
    assert (told["from"], told["to"]) == ("T-abc123", "T-new")
    if shutil.which("bash") and shutil.which("jq"):
        done = subprocess.run(
            ["bash", "-c", INCOMING],
            cwd=team.project.folder,
            env={**os.environ, "AGENT_ID": "T-new"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"Handoff from T-abc123 (created: {told['createdAt']}):\n   Review auth\n"
        assert (team.project.folder / RUNTIME / "processed_handoffs" / Path(path).name).exists()


@pytest.mark.requirement("C91")
def test_a_handoff_to_a_given_id_is_shown_to_it_whether_it_runs_or_not(team: Team) -> None:
    team.command("start", "--session", "T-abc123")
    team.command("handoff", "create", "--to", "T-new", "Review auth", "--session", "T-abc123")

    started = team.command("start", "--session", "T-new")
    assert "Handoff from T-abc123, 0 s ago" in started.out
    assert "> Review auth" in started.out
    for to in ("T-new", "t-NEW", team.agent("T-new")):
        made = team.command("handoff", "create", "--to", to, "Again", "--session", "T-abc123")
        assert "handoff_T-abc123" in made.out
        assert "_to_T-new.json" in made.out
    assert team.run("T-new", "inbox").out.count("> Again") == 3
    assert "> " not in team.run("T-abc123", "inbox").out


@pytest.mark.requirement("C83", "C90")
@pytest.mark.parametrize("name", ["T-abc123", "T_abc.1", "Ünï 1"])
def test_a_message_reaches_a_session_by_its_given_id(team: Team, name: str) -> None:
    team.join("amber")
    team.command("start", "--new", "--session", name)

    sent = team.ask("amber", "msg", "hello", "--to", name)

    assert sent["recipients"] == [team.agent(name)]


def test_ids_that_differ_only_in_case_and_device_names_have_files_of_their_own(team: Team) -> None:
    for name in ("T-abc", "t-ABC", "nul.x", "a/b", "x."):
        assert team.command("start", "--new", "--session", name).code == 0
        path = team.account(name).start.ledger
        assert parse_ledger((team.project.folder / path).read_text()).session_id == name

    folded = {one.removeprefix("session-state_").removesuffix(".json") for one in states(team)}
    assert len(folded) == 5
    assert "T-abc" in folded
    assert all(is_id(one) for one in folded - {"T-abc"})
    assert team.command("doctor").err == "passdown: no problems found\n"


def test_a_second_session_of_the_name_takes_in_nothing_of_the_first(team: Team) -> None:
    team.command("start", "--session", "T-abc")
    team.command("done", "Parser", "--session", "T-abc")
    assert team.command("end", "--keep", "--session", "T-abc").code == 0

    team.command("start", "--session", "T-abc")
    team.command("done", "Printer", "--session", "T-abc")

    second = team.account("T-abc")
    assert [one.text for one in second.lists["done"]] == ["Printer"]
    assert parse_ledger((team.project.folder / second.start.ledger).read_text()).session_id == "T-abc"
    assert states(team) == ["session-state_T-abc.json"]
    assert " facts found: " in team.command("certify").out
    other = json.loads(team.command("start", "--new", "--session", "T-abc", "--json").out)
    assert other["agent"].startswith("generic-")
    assert f"session-state_{other['agent']}.json" in states(team)


def test_an_edit_by_hand_of_a_named_ledger_is_taken_in(team: Team) -> None:
    team.command("start", "--session", "T-abc")
    path = team.project.folder / LEDGER
    team.command("done", "Parser", "--session", "T-abc")
    path.write_text(path.read_text().replace("- Parser\n", "- Parser\n- Printer\n"))

    team.command("done", "Docs", "--session", "T-abc")

    assert {one.text for one in team.account("T-abc").lists["done"]} == {"Parser", "Printer", "Docs"}
    assert team.agent("T-abc") in team.command("search", "Printer").out


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("T-abc123", True),
        ("a", True),
        ("a.b_c-", True),
        ("9" * 64, True),
        ("9" * 65, False),
        ("", False),
        (".a", False),
        ("_a", False),
        ("-a", False),
        ("a.", False),
        ("a b", False),
        ("a/b", False),
        ("ä", False),
        ("CON", False),
        ("nul", False),
        ("Com1.txt", False),
        ("lpt9.a.b", False),
        ("console", True),
        ("T-new", False),
        ("T-NEW", True),
    ],
)
def test_an_id_stays_in_a_file_name_if_every_system_can_have_it(text: str, kept: bool) -> None:
    assert (name_file(text, ("other", "T-NEW")) == text) is kept


@given(st.text(), st.lists(st.text()))
def test_a_file_name_is_safe_and_no_other_without_case(text: str, taken: list[str]) -> None:
    found = name_file(text, taken)

    assert found == text or is_id(found)
    assert not found.endswith(".")
    assert "/" not in found
    if found == text and not is_id(found):
        assert all(one == text or one.casefold() != text.casefold() for one in taken)


def test_a_journal_of_somebody_else_names_no_file_elsewhere() -> None:
    at = parse_instant("2026-01-11T12:00:00Z")
    assert at is not None
    for file in ("../../x", "a/b", "a.", "CON"):
        assert read_start(make_start(SessionStart(name="x", file=file), at, "x-1")).file == ""


def test_an_id_of_several_lines_names_the_session_in_commands_alone(team: Team) -> None:
    started = json.loads(team.command("start", "--session", "a\nb", "--json").out)

    assert states(team) == [f"session-state_{started['agent']}.json"]
    assert f"\nsession_id: {started['session']}\n" in (team.project.folder / LEDGER).read_text()
    assert team.command("goal", "Ship it", "--session", "a\nb").code == 0
