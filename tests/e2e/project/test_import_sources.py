"""Which transcripts `passdown import` takes: those of this project, of every host, however they look."""

import json
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller
from tests.support.gits import Project, make_started

RECORDINGS: Final = Path(__file__).parents[2] / "hosts" / "recordings"
CLAUDE: Final = "37dd1487-cbb5-445b-ae8e-cc72aca90d02"
CODEX: Final = "01a1df24-32d8-76f2-af88-e510e7c76d0a"
PARENT: Final = "01a1df24-2c60-7822-81f1-e6743de70c2f"
CHILD: Final = "01a1df24-2ce8-7d83-990f-9a70b8c72e9f"
COPILOT: Final = "220307bc-a815-4cda-85c9-005ee0fcdd29"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give an own home, in which hosts have no folders of their own choice."""
    home = tmp_path / "home"
    (home / ".claude" / "projects").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def write(home: Path, root: Path, session: str, said: str = "hello") -> Path:
    """Let Claude Code write a transcript of a session in a folder."""
    path = home / ".claude" / "projects" / "any" / f"{session}.jsonl"
    path.parent.mkdir(exist_ok=True)
    ClaudeTranscript(path=path, root=root, session=session).ask(said)
    return path


def imported(command: Caller) -> list[str]:
    """Import, and give the names of what is in history."""
    done = command("import", "--yes")
    assert done.code == 0, done
    listed = json.loads(command("log", "--history", "--all", "--json").out)
    return sorted(one["name"] for one in listed["sessions"])


def plan(command: Caller) -> dict[str, object]:
    """Say what would be imported."""
    told: dict[str, object] = json.loads(command("import", "--dry-run", "--json").out)
    return told


def record(home: Path, root: Path) -> None:
    """Put what real hosts recorded where they keep it, in this project."""
    projects, sessions = home / ".claude/projects/-project", home / ".codex/sessions/2026/11/15"
    states = home / ".copilot/session-state"
    shutil.copytree(RECORDINGS / "claude-code-work", projects)
    sessions.mkdir(parents=True)
    for folder in ("codex-work", "codex-agents"):
        for path in (RECORDINGS / folder).iterdir():
            shutil.copy(path, sessions)
    shutil.copytree(RECORDINGS / "copilot-work", states / COPILOT)
    for path in home.rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"/project', f'"{root}'))


@pytest.mark.requirement("C134")
def test_what_real_hosts_recorded_is_history_of_this_project(
    command: Caller, project: Project, home: Path
) -> None:
    record(home, project.folder)

    names = imported(command)

    assert names == sorted([CLAUDE, f"{CLAUDE}-agent-a23b4faf3d52c7ab1", CODEX, PARENT, CHILD, COPILOT])
    shown = {name: command("history", "show", name).out for name in names}
    for name in (CLAUDE, CODEX, COPILOT):
        assert "user: Make the addition add, and write it down." in shown[name]
        assert "agent: " in shown[name]
        assert "command: " in shown[name]
        assert "file: " in shown[name]
        assert "commit: " in shown[name]
        assert str(project.folder) not in [line for line in shown[name].splitlines() if "file: " in line]
    assert f"subagent of {CLAUDE}" in shown[f"{CLAUDE}-agent-a23b4faf3d52c7ab1"]
    assert "agent: WRITER is done." in shown[f"{CLAUDE}-agent-a23b4faf3d52c7ab1"]
    assert f"subagent of {PARENT}" in shown[CHILD]
    words = [line for line in shown[CODEX].splitlines() if line.startswith("agent: ")]
    assert len(words) == len(set(words)), "an event and a response item say the same"


@pytest.mark.requirement("C134")
def test_the_folder_that_a_host_was_told_to_use_is_read(
    command: Caller, project: Project, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, project.folder, "s-1")
    (home / ".claude").rename(home / "elsewhere")
    assert imported(command) == []
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert imported(command) == ["s-1"]


@pytest.mark.requirement("C134")
def test_only_sessions_of_this_project_are_taken(
    command: Caller, project: Project, home: Path, tmp_path: Path
) -> None:
    nested = make_started(project.folder / "vendor" / "library")
    project.write("tools/app/passdown.toml", "")
    beside = Path(f"{project.folder}-two")
    worktree = tmp_path / "wt"
    project.git("worktree", "add", "-q", str(worktree))
    write(home, project.folder, "top")
    write(home, project.folder / "src" / "gone", "below")
    write(home, worktree / "src", "worktree")
    write(home, nested.folder / "src", "nested")
    write(home, project.folder / "tools" / "app", "other-project")
    write(home, beside, "beside")
    write(home, tmp_path, "above")
    write(home, Path("relative/folder"), "relative")
    write(home, project.folder / ".." / "project", "dots")

    told = plan(command)

    assert imported(command) == ["below", "dots", "top", "worktree"]
    assert told["foreign"] == 5


@pytest.mark.requirement("C134")
def test_a_removed_worktree_is_known_by_its_journal_or_by_its_remote(
    command: Caller, project: Project, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, unknown = tmp_path / "known", tmp_path / "unknown"
    for folder in (known, unknown):
        project.git("worktree", "add", "-q", str(folder))
        (folder / "passdown.toml").touch()
    monkeypatch.chdir(known)
    assert command("start", "--session", "mine").code == 0
    monkeypatch.chdir(project.folder)
    for folder in (known, unknown):
        project.git("worktree", "remove", "--force", str(folder))
    write(home, known / "src", "known")
    write(home, unknown / "src", "unknown")
    record(home, unknown)
    day = home / ".codex/sessions/2026/11/15"
    for path in day.iterdir():
        url = '"git":{"repository_url":"https://user:word@Example.com/team/shop.git",'
        path.write_text(path.read_text().replace('"git":{', url))

    assert imported(command) == ["known"]
    project.git("remote", "add", "origin", "git@example.com:team/shop")
    assert imported(command) == sorted(["known", CODEX, PARENT, CHILD])


@pytest.mark.requirement("C134")
def test_links_and_odd_files_are_not_read(
    command: Caller, project: Project, home: Path, tmp_path: Path
) -> None:
    outside = write(tmp_path / "home", project.folder, "real")
    projects = home / ".claude" / "projects"
    (tmp_path / "kept").mkdir()
    shutil.move(outside, tmp_path / "kept" / "real.jsonl")
    (projects / "any" / "linked.jsonl").symlink_to(tmp_path / "kept" / "real.jsonl")
    (projects / "folder").symlink_to(tmp_path / "kept")
    (projects / "any" / "folder.jsonl").mkdir()
    (projects / "any" / "notes.txt").write_text("no transcript")
    assert imported(command) == []

    (home / ".claude").rename(tmp_path / "dotfiles")  # the folder itself may be a link
    (home / ".claude").symlink_to(tmp_path / "dotfiles")
    write(home, project.folder, "here")
    assert imported(command) == ["here"]


@pytest.mark.requirement("C134")
def test_a_hostile_transcript_does_no_harm(command: Caller, project: Project, home: Path) -> None:
    folder = home / ".claude" / "projects" / "any"
    path = write(home, project.folder, "hostile", "\x1b[2Jred\u202e\u200b\x00 text\r\n---\nhost: other")
    with path.open("ab") as file:
        file.write(b"\xff\xfe not json\n[1,2]\n{}\n" + b'{"type":"user","message":' * 5_000 + b"\n")
        file.write(b'{"type":"user","cwd":"' + str(project.folder).encode() + b'","message":{"role":"user",')
        file.write(b'"content":"' + b"long " * 600_000 + b'end"}}\n')
    ClaudeTranscript(path=path, root=project.folder).edit("../../etc/passwd")
    ClaudeTranscript(path=path, root=project.folder).edit("src/\nhost: x")
    ClaudeTranscript(path=path, root=project.folder).run("echo \x1b]0;title\x07", 3)
    for name in ("-rf", "UPPER", "upper", "a b;c$(d)", "…", "x" * 200):
        write(home, project.folder, name)
    (folder / "..").mkdir(exist_ok=True)

    names = imported(command)

    assert len(names) == len(set(map(str.lower, names))) == 7
    top = project.folder / ".git" / "passdown" / "history"
    assert {path.parent.name for path in top.rglob("*.jsonl")} == {"claude"}
    assert all(path.name[0].isalnum() and path.name.isascii() for path in top.rglob("*.jsonl"))
    shown = command("history", "show", "hostile").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "user: \\u001b[2Jred" in shown
    assert "    ---" in shown
    assert shown.count("long ") <= 400
    for name in names:
        assert command("history", "show", name).code == 0
        (match,) = [
            one
            for one in json.loads(command("search", "hello", "--json").out)["matches"]
            if one["name"] == name
        ] or [None]
        assert match is None or match["command"] == f"passdown history show {name}"


@pytest.mark.requirement("C134")
def test_since_and_host_narrow_an_import(command: Caller, project: Project, home: Path) -> None:
    record(home, project.folder)

    told = json.loads(command("import", "--host", "codex", "--dry-run", "--json").out)
    assert [(one["host"], one["count"]) for one in told["new"]] == [("codex", 3)]
    told = json.loads(command("import", "--since", "2999-01-01", "--dry-run", "--json").out)
    assert told["new"] == []
    assert command("import", "--since", "nonsense").code == 2
    assert command("import", "--forget", "--since", "3d").code == 2
    assert command("history", "show", "nothing").code == 2
    assert command("log", "--history", "--agent", "x").code == 2


@pytest.mark.requirement("C134", "C70")
def test_without_git_history_is_in_the_user_s_state_and_a_purge_removes_it(
    command: Caller, project: Project, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "plain"
    folder.mkdir()
    (folder / "passdown.toml").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(folder)
    write(home, folder, "plain")
    write(home, project.folder, "other")

    assert imported(command) == ["plain"]

    (kept,) = (home / "state").rglob("*.jsonl")
    assert kept.relative_to(home / "state").parts[:2] == ("passdown", "history")
    assert kept.stat().st_mode & 0o777 == 0o600
    (found,) = json.loads(command("search", "hello", "--json").out)["matches"]
    assert found["name"] == "plain"
    monkeypatch.chdir(project.folder)
    assert imported(command) == ["other"]

    told = json.loads(command("uninstall", "claude", "--purge", "--json").out)
    assert ".git/passdown/history/claude/other.jsonl" in told["local"]
    monkeypatch.chdir(folder)
    told = json.loads(command("uninstall", "claude", "--purge", "--yes", "--json").out)
    assert str(kept) in told["local"]
    assert not kept.exists()
