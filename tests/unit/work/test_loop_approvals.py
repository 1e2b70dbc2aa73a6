"""What only a person does in a loop, and what they do whichever sessions are running (C105, C122, C154)."""

import json

import pytest

from passdown.core.hosts.persons import Ancestor
from tests.support.commands import Caller, run
from tests.support.gits import Project
from tests.support.people import sit_down, stand_up
from tests.support.projects import listing, put

STATE = "changes/habits/state.md"
LEDGER = "changes/habits/loops/proposal.md"
SLOT = "## User Feedback\n\n(Leave blank to continue. Write notes here to guide the next iteration.)\n\n---\n"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with a proposal of one turn."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("start", "--nickname", "forge").code == 0
    assert call("loop", "open", "habits", "proposal").code == 0
    assert call("loop", "append", "habits", "proposal", "Streaks, with a penalty.").code == 0
    return call


@pytest.fixture
def ancestors(monkeypatch: pytest.MonkeyPatch) -> list[Ancestor]:
    """Sit a person down at a terminal; what is added to this list started their command."""
    found = [Ancestor("bash", ("bash", "-i"))]
    sit_down(monkeypatch, found)
    return found


# --- approval -------------------------------------------------------------------------------------


@pytest.mark.requirement("G16", "C105", "C122", "C154", through="command")
@pytest.mark.usefixtures("ancestors")
def test_a_person_approves_a_proposal_with_a_command(command: Caller, project: Project) -> None:
    put(project.folder, STATE, (project.folder / STATE).read_text(encoding="utf-8") + "\n## Notes\n\nMine.\n")
    before = (project.folder / STATE).read_text(encoding="utf-8")
    refused = command("loop", "open", "habits", "specs")

    done = command("loop", "approve", "habits")
    again = command("loop", "approve", "habits")

    assert refused.err == (
        "passdown: the proposal of habits is not approved\n"
        "  hint: to approve it, a person runs `passdown loop approve habits`\n"
    )
    assert (done.code, done.out) == (0, "approved the proposal of habits\n")
    assert (again.code, again.out) == (0, "habits is already approved\n")
    after = (project.folder / STATE).read_text(encoding="utf-8")
    assert after == before.replace("- Status: draft", "- Status: approved")
    assert "habits: proposal (full lane, manual mode, approved)" in command("loop").out
    assert command("loop", "open", "habits", "specs").code == 0
    assert json.loads(command("loop", "approve", "habits", "--json").out) == {
        "version": 1,
        "change": "habits",
        "is_approved": True,
        "state": STATE,
        "is_new": False,
    }


@pytest.mark.requirement("C122", "C154", through="command")
@pytest.mark.parametrize("sign", ["PASSDOWN_SESSION", "CLAUDE_CODE_SESSION_ID", "ancestor", "terminal"])
def test_an_agent_cannot_approve_its_own_proposal(
    monkeypatch: pytest.MonkeyPatch, command: Caller, project: Project, ancestors: list[Ancestor], sign: str
) -> None:
    why = f"{sign} is set"
    if sign == "ancestor":
        ancestors.append(Ancestor("codex", ("codex", "exec")))
        why = "codex started it"
    elif sign == "terminal":
        stand_up(monkeypatch)
        why = "there is no terminal"
    else:
        monkeypatch.setenv(sign, "s-1")
    before = listing(project.folder / "changes")

    done = command("loop", "approve", "habits")

    assert done.code == 2
    said = " ".join(done.err.split())
    assert f"only a person at a terminal may approve the proposal of habits: {why}" in said
    assert "hint: ask the user to run `passdown loop approve habits`" in said
    assert listing(project.folder / "changes") == before
    assert "not approved" in command("loop").out


@pytest.mark.requirement("C154", through="command")
def test_a_process_without_a_terminal_cannot_approve(command: Caller, project: Project) -> None:
    done = run("loop", "approve", "habits", cwd=project.folder)

    assert done.code == 2
    assert "only a person at a terminal may approve the proposal of habits" in done.err
    assert "not approved" in command("loop").out


@pytest.mark.requirement("G16", through="command")
@pytest.mark.usefixtures("ancestors")
@pytest.mark.parametrize(
    ("name", "code", "problem", "hint"),
    [
        ("habit", 2, "there is no change habit", "the changes are done, habits, ideas"),
        ("ideas", 1, "ideas has no proposal yet", "passdown loop open ideas proposal"),
        ("done", 1, "done is finished", "open a new change"),
    ],
)
def test_what_has_no_proposal_cannot_be_approved(
    command: Caller, project: Project, name: str, code: int, problem: str, hint: str
) -> None:
    put(project.folder, "changes/ideas/loops/ideation.md", f"# Ideation Loop\n\nAn idea.\n\n{SLOT}")
    put(project.folder, "changes/done/state.md", "# SDD State: done\n\n## Phase\n\nfinished\n")
    before = listing(project.folder / "changes")

    done = command("loop", "approve", name)

    assert done.code == code
    assert problem in done.err
    assert hint in done.err
    assert listing(project.folder / "changes") == before


@pytest.mark.requirement("G16", through="command")
@pytest.mark.usefixtures("ancestors")
def test_a_folder_of_ledgers_is_approved_as_far_as_it_is(command: Caller, project: Project) -> None:
    put(project.folder, "changes/mine/loops/specs.md", f"# Specs Loop\n\nSaid.\n\n{SLOT}")

    assert command("loop", "approve", "mine").out == "approved the proposal of mine\n"
    assert "mine: specs (full lane, manual mode, approved)" in command("loop", "status", "mine").out
    assert command("loop", "open", "mine", "specs").code == 0


# --- feedback -------------------------------------------------------------------------------------


def _journals(project: Project) -> dict[str, bytes]:
    """Give the journals of all sessions."""
    return {path.name: path.read_bytes() for path in project.folder.rglob("*.jsonl") if path.is_file()}


@pytest.mark.requirement("C105", "C122", "R146", through="command")
@pytest.mark.usefixtures("ancestors")
@pytest.mark.parametrize("sessions", [0, 1, 2])
def test_feedback_at_a_terminal_goes_into_the_ledger_whichever_sessions_run(
    command: Caller, project: Project, sessions: int
) -> None:
    if sessions == 0:
        assert command("end").code == 0
    if sessions == 2:
        assert command("start", "--session", "amber", "--nickname", "amber").code == 0
    before = _journals(project)

    done = command("loop", "feedback", "habits", "proposal", "Nobody should feel guilty")

    assert (done.code, done.out) == (0, "left feedback on habits/proposal turn 1\n")
    assert "## User Feedback\n\nNobody should feel guilty\n" in (project.folder / LEDGER).read_text(
        encoding="utf-8"
    )
    (name,) = [name for name, data in _journals(project).items() if data != before.get(name)]
    assert b"Nobody should feel guilty" in _journals(project)[name]
    brief = command("brief").out
    assert "habits/proposal turn 1: Nobody should feel guilty" in brief
    assert "(ada-author-" in brief.partition("Nobody should feel guilty")[0]

    # No other session takes it in once more.
    assert command("start", "--session", "birch", "--nickname", "birch").code == 0
    taken_in = {name for name, data in _journals(project).items() if b"Nobody should feel guilty" in data}
    assert taken_in == {name}


@pytest.mark.requirement("C105", through="command")
def test_the_next_loop_verb_of_a_session_takes_in_what_a_person_left(
    command: Caller, project: Project, ancestors: list[Ancestor]
) -> None:
    text = (project.folder / LEDGER).read_text(encoding="utf-8")
    assert SLOT in text
    put(project.folder, LEDGER, text.replace(SLOT, "## User Feedback\n\nNobody should feel guilty\n\n---\n"))
    before = _journals(project)
    ancestors.append(Ancestor("claude"))

    assert command("loop", "open", "habits", "proposal").code == 0

    (journal,) = [data for name, data in _journals(project).items() if data != before.get(name)]
    assert b"habits/proposal turn 1: Nobody should feel guilty" in journal


def test_a_loop_is_opened_by_whom_no_session_can_be_told(command: Caller) -> None:
    assert command("start", "--session", "amber", "--nickname", "amber").code == 0

    done = command("loop", "open", "habits", "proposal")

    assert (done.code, done.err) == (0, "")


@pytest.mark.requirement("C122", through="command")
@pytest.mark.usefixtures("ancestors")
def test_feedback_of_a_named_session_is_recorded_by_it(command: Caller, project: Project) -> None:
    before = _journals(project)

    assert command("loop", "feedback", "habits", "proposal", "No guilt", "--session", "nobody").code == 2
    agent = json.loads(command("status", "--json").out)["sessions"][0]["agent"]
    assert command("loop", "feedback", "habits", "proposal", "No guilt", "--session", agent).code == 0

    (journal,) = [data for name, data in _journals(project).items() if data != before.get(name)]
    assert b"No guilt" in journal
