"""Before an edit: a file that another live session holds is refused, and every doubt passes (C88)."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from passdown.core.sessions.session_facts import NO_PROCESS, HostProcess
from passdown.engines.process import SystemProcesses
from passdown.faces.hooks import main as hook_main
from passdown.faces.hooks import quick_edits
from passdown.settings import FILE_NAME
from tests.stores.coordination_files import too_new
from tests.support.projects import put
from tests.support.teams import Team
from tests.unit.hosts.test_hook_tools import HOST_NAMES, Caller

PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"


class Editors(Team):
    """A `Team` of sessions that a host started, and that ask before they edit."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Start two sessions."""
        super().__init__(folder, monkeypatch, capsys)
        self.set_up()
        self.join("amber", "birch")
        self.ask_host = Caller(self.project.folder, monkeypatch, capsys)
        self.file = self.project.folder / ".git" / "passdown" / "coordination.sqlite"

    def edit(self, session: str, path: str, **told: object) -> str:
        """Let Claude Code ask whether a session may edit a file; give the reason why not."""
        given = {"file_path": str(self.project.folder / path)}
        return read_reason(self.ask_host("claude", "Edit", given, session_id=session, **told))


def read_reason(answer: dict[str, Any]) -> str:
    told = answer.get("hookSpecificOutput", {"permissionDecisionReason": ""})
    assert not answer or told["permissionDecision"] == "deny"
    return str(told["permissionDecisionReason"])


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Editors:
    """Give a project with two sessions."""
    return Editors(tmp_path / "project", monkeypatch, capsys)


@pytest.mark.requirement("C88", "R214")
@pytest.mark.parametrize("host", HOST_NAMES)
def test_an_edit_of_a_file_that_another_session_holds_is_refused(team: Editors, host: str) -> None:
    team.run("amber", "reserve", "src/")
    path = str(team.project.folder / "src" / "app.py")
    tools: dict[str, list[tuple[str, object]]] = {
        "claude": [
            ("Edit", {"file_path": path}),
            ("Write", {"file_path": path}),
            ("NotebookEdit", {"notebook_path": path}),
        ],
        "codex": [
            ("apply_patch", {"command": PATCH.format(path="src/app.py")}),
            ("Bash", {"command": f"apply_patch <<'X'\n{PATCH.format(path='src/app.py')}X"}),
        ],
        "copilot": [("Edit", {"path": path}), ("Edit", PATCH.format(path="src/app.py"))],
    }

    for tool, given in tools[host]:
        reason = read_reason(team.ask_host(host, tool, given, session_id="birch"))

        amber = team.agent("amber")
        assert (
            f"src/app.py is held by {amber} (reserved as src/, expires in 11 min if it stays silent)"
            in reason
        )
        first, ask, wait, other = reason.split("\n")
        assert first.startswith("Passdown blocked this edit: ")
        assert f'`passdown msg "May I have src/app.py?" --to {amber}`' in ask
        assert "`passdown inbox`" in wait
        assert "`passdown task ready`" in other
        assert team.ask_host(host, tool, given, session_id="amber") == {}
    assert team.ask_host.log() == ""


@pytest.mark.requirement("C88")
def test_what_nobody_else_holds_is_edited(team: Editors) -> None:
    team.run("amber", "reserve", "src/*.py", "docs/a.md")

    assert team.edit("birch", "src/a.py")
    assert team.edit("birch", "src/a.js") == ""  # found by the quick look, and judged exactly
    assert team.edit("birch", "docs/a.mdx") == ""
    assert team.edit("birch", "README.md") == ""
    assert team.edit("birch", "../elsewhere/src/a.py") == ""
    assert team.edit("amber", "src/a.py") == ""
    team.pass_time(minutes=12)
    assert team.edit("birch", "src/a.py") == ""
    team.run("amber", "renew")
    assert team.edit("birch", "src/a.py")
    team.run("amber", "release")
    assert team.edit("birch", "src/a.py") == ""
    assert team.ask_host.log() == ""


def test_a_file_is_known_by_all_its_names(team: Editors) -> None:
    put(team.project.folder, "src/app.py", "x")
    (team.project.folder / "link.py").symlink_to("src/app.py")
    (team.project.folder.parent / "other").symlink_to(team.project.folder)
    team.run("amber", "reserve", "src/app.py")

    assert "src/app.py is held by" in team.edit("birch", "link.py")
    assert "src/app.py is held by" in team.edit("birch", "../other/src/app.py")
    assert "src/app.py is held by" in team.edit("birch", "src/./x/../app.py")
    given = {"file_path": "app.py"}
    below = str(team.project.folder / "src")
    assert read_reason(team.ask_host("claude", "Edit", given, session_id="birch", cwd=below))


def test_the_own_files_of_a_session_are_found_without_loading_what_judges(
    team: Editors, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.run("amber", "reserve", "src/", "docs/")
    team.run("birch", "reserve", "README.md")
    called: list[str] = []

    def answer(*_: object) -> int:
        called.append("answer")
        return 0

    monkeypatch.setattr(hook_main, "answer", answer)

    team.edit("amber", "src/app.py")
    team.edit("amber", "other.py")
    assert called == []
    team.edit("amber", "readme.md")  # perhaps the same file on this system
    assert called == ["answer"]
    team.edit("birch", "src/ä.py")
    team.edit('x"', "src/app.py")
    assert called == ["answer"] * 3


@pytest.mark.requirement("C88")
def test_every_doubt_passes(team: Editors) -> None:
    team.run("amber", "reserve", "src/")
    assert team.edit("birch", "src/a.py")

    assert team.edit("unknown", "src/a.py") == ""
    for given in (None, {"file_path": 3}, {"file_path": ""}, {"file_path": "\0"}, ["src/a.py"], "src/a.py"):
        assert team.ask_host("claude", "Edit", given, session_id="birch") == {}
    assert team.ask_host("claude", "Read", {"file_path": "src/a.py"}, session_id="birch") == {}
    team.monkeypatch.setenv("PASSDOWN_COORDINATION_ENGINE", "off")
    assert team.edit("birch", "src/a.py") == ""
    team.monkeypatch.delenv("PASSDOWN_COORDINATION_ENGINE")
    team.monkeypatch.setenv("PASSDOWN_PROJECT_KEY", "p-" + "0" * 32)
    assert team.edit("birch", "src/a.py") == ""
    team.monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "unix:/nowhere")
    assert team.edit("birch", "src/a.py") == ""
    team.monkeypatch.delenv("PASSDOWN_COORDINATION_URL")
    team.monkeypatch.delenv("PASSDOWN_PROJECT_KEY")
    assert team.ask_host.log() == ""


@pytest.mark.requirement("C87", "C88")
def test_a_file_that_is_at_rest_locked_newer_damaged_or_gone_stops_no_edit(team: Editors) -> None:
    team.run("amber", "reserve", "src/")
    with too_new(team.file):
        assert team.edit("birch", "src/a.py") == ""
    assert "too new" in team.ask_host.log()
    connection = sqlite3.connect(team.file)
    connection.execute("VACUUM INTO ?", [str(team.file.with_name("copy"))])  # with a rollback journal
    connection.close()
    for path in team.file.parent.glob("coordination.sqlite-*"):
        path.unlink()
    team.file.with_name("copy").replace(team.file)
    assert team.edit("birch", "src/a.py")  # without a log, nobody writes to it

    with sqlite3.connect(team.file, isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        team.file.with_name("coordination.sqlite-journal").touch()
        assert team.edit("birch", "src/a.py") == ""
        connection.execute("ROLLBACK")
    connection.close()
    team.file.write_bytes(b"no database" * 1000)
    assert team.edit("birch", "src/a.py") == ""
    team.file.unlink()
    assert team.edit("birch", "src/a.py") == ""


def test_the_quick_look_finds_whatever_two_patterns_could_share() -> None:
    meet = [
        ("src/", "src/a.py", True),
        ("src/*.py", "src/a.txt", True),
        ("SRC/a.py", "src/A.py", True),
        ("src/[ab].py", "src/a.py", True),
        ("**/a.py", "x/a.py", True),
        ("sr\u0063\u0327/a", "sr\u00e7/a", True),
        ("ä", "x", True),
        ("docs/", "src/a.py", False),
        ("a.py", "b.py", False),
    ]
    for name, path, wanted in meet:
        assert quick_edits._may_meet(name, path) is wanted, (name, path)


def test_a_session_is_known_by_every_id_that_its_host_gave_it(team: Editors) -> None:
    for name in ("amber", "birch"):
        team.run(name, "end")
    process = HostProcess(7, "then", "this boot")
    team.monkeypatch.setattr(SystemProcesses, "find_host", lambda _: process)
    team.monkeypatch.setattr(SystemProcesses, "is_alive", lambda _, one: one == process)
    team.host.call("SessionStart", session_id="first", source="startup")
    team.run("first", "reserve", "src/")
    team.host.call("SessionStart", session_id="second", source="clear")

    for session in ("first", "second"):
        assert team.edit(session, "src/a.py") == ""
    team.monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    team.join("cedar")
    assert team.edit("cedar", "src/a.py")


def test_a_project_without_git_keeps_its_reservations_beside_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, team: Editors
) -> None:
    folder = tmp_path / "plain"
    put(folder, FILE_NAME, "")
    monkeypatch.chdir(folder)
    team.join("amber", "birch")
    team.run("amber", "reserve", "a.py")
    team.ask_host.root = folder

    assert read_reason(team.ask_host("claude", "Edit", {"file_path": "a.py"}, session_id="birch"))
    assert team.ask_host("claude", "Edit", {"file_path": "a.py"}, session_id="amber") == {}
