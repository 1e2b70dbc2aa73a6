"""Commits by real git: no session commits what another one holds, or what it lost to another one (C89)."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from passdown.core.coordination.guard_hooks import HookOwner, find_owner
from tests.support.committers import Committers
from tests.support.gits import Project
from tests.support.projects import put


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Committers:
    """Give a repository with two sessions and the guard."""
    made = Committers(tmp_path / "project", monkeypatch, capsys)
    made.set_up_guard()
    return made


@pytest.mark.requirement("C89", "R214")
def test_an_edit_that_no_host_saw_is_stopped_at_the_commit(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    before = team.project.count()

    stopped = team.commit(PASSDOWN_SESSION="birch")

    assert stopped.code != 0
    assert team.project.count() == before
    amber = team.agent("amber")
    assert f"kept.txt is held by {amber} (expires in 11 min if it stays silent)" in " ".join(
        stopped.err.split()
    )
    assert f"--to {amber}" in stopped.err
    assert "`passdown inbox`" in stopped.err
    assert "`passdown task ready`" in stopped.err
    allowed = team.commit(PASSDOWN_SESSION="amber")
    assert (allowed.code, allowed.err, team.project.count()) == (0, "", before + 1)


@pytest.mark.requirement("C89")
@pytest.mark.parametrize("variable", ["PASSDOWN_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"])
def test_the_session_is_the_one_that_the_environment_names(team: Committers, variable: str) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")

    assert team.commit(**{variable: "birch"}).code != 0
    assert team.commit(**{variable: "nobody-knows"}).code != 0
    assert team.commit(**{variable: "amber"}).code == 0


@pytest.mark.requirement("C89")
def test_who_lost_a_file_to_another_session_is_refused_though_nobody_holds_it(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    team.pass_time(minutes=12)
    assert team.run("birch", "reserve", "kept.txt").code == 0
    assert team.run("birch", "release").code == 0

    stopped = team.commit(PASSDOWN_SESSION="amber")

    assert stopped.code != 0
    assert f"kept.txt is no longer yours: your reservation expired and {team.agent('birch')} reserved it" in (
        stopped.err
    )
    assert "`passdown reserve kept.txt`" in " ".join(stopped.err.split())
    assert team.run("amber", "reserve", "kept.txt").code == 0
    assert team.commit(PASSDOWN_SESSION="amber").code == 0


@pytest.mark.requirement("C89")
def test_what_passed_cannot_be_taken_while_the_commit_ends(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    team.pass_time(minutes=12)  # nobody took it yet

    assert team.commit(PASSDOWN_SESSION="amber").code == 0

    team.run("amber", "release")
    team.run("amber", "reserve", "kept.txt")
    team.pass_time(minutes=10, seconds=30)
    team.edit("kept.txt", "again\n")
    assert team.commit(PASSDOWN_SESSION="amber").code == 0
    team.pass_time(minutes=1, seconds=50)
    assert team.run("birch", "reserve", "kept.txt").code == 3


@pytest.mark.requirement("C89")
@pytest.mark.parametrize("how", ["delete", "rename from", "rename to", "one of two", "staged only"])
def test_every_path_of_a_commit_is_judged_and_no_other(team: Committers, how: str) -> None:
    project = team.project
    team.run("amber", "reserve", "kept.txt")
    if how == "delete":
        project.git("rm", "--quiet", "kept.txt")
    elif how == "rename from":
        project.git("mv", "kept.txt", "moved.txt")
    elif how == "rename to":
        project.git("rm", "--quiet", "kept.txt")
        assert team.commit("--message=gone", PASSDOWN_SESSION="amber").code == 0
        project.git("mv", "other.txt", "kept.txt")
    else:
        team.edit("kept.txt")
        team.edit("other.txt")
        assert team.commit("--message=x", "--", "other.txt", PASSDOWN_SESSION="birch").code == 0
        if how == "staged only":
            project.git("add", "kept.txt")
            team.edit("kept.txt", "kept\n")

    commit = ("--message=x", "--", "kept.txt") if how == "one of two" else ("--message=x",)
    stopped = team.commit(*commit, PASSDOWN_SESSION="birch")

    assert stopped.code != 0
    assert "kept.txt is held by" in stopped.err


@pytest.mark.requirement("C89")
def test_a_person_is_warned_and_stopped_where_the_settings_say_so(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")

    warned = team.commit()

    assert warned.code == 0
    assert f"kept.txt is held by {team.agent('amber')}" in warned.err
    assert "commit allowed, because you are a person" in warned.err
    put(team.project.folder, "passdown.toml", '[guard]\npeople = "stop"\n')
    team.edit("kept.txt", "again\n")
    assert team.commit().code != 0
    assert team.commit(AGENT_ID="amber").code == 0  # an older variable names a session that is known


def test_what_goes_wrong_with_the_guard_itself_stops_nobody(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    team.damage()

    passed = team.commit(PASSDOWN_SESSION="birch")

    assert passed.code == 0
    assert "the commit was not checked: " in passed.err
    team.edit("kept.txt", "again\n")
    git = subprocess.run(["git", "--exec-path"], check=True, capture_output=True).stdout.decode().strip()
    assert team.commit(PATH=f"{git}:/usr/bin:/bin", PASSDOWN_SESSION="birch") == (0, "", "")


@pytest.mark.requirement("C87", "C89")
def test_a_file_that_another_process_keeps_locked_is_read_to_judge_a_commit(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    team.edit("other.txt")
    team.project.git("add", "--all")
    file = team.project.folder / ".git/passdown/coordination.sqlite"
    team.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for session, code in (("birch", 3), ("amber", 0)):
            team.monkeypatch.setenv("PASSDOWN_SESSION", session)
            judged = team.command("guard")
            assert judged.code == code
            assert "used the last known reservations" in " ".join(judged.err.split())
            assert ("kept.txt is held by" in judged.err) is bool(code)
        team.monkeypatch.delenv("PASSDOWN_SESSION")
        assert team.command("guard").code == 0  # a person is warned


def test_where_nobody_coordinates_a_commit_passes_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = Committers(tmp_path / "project", monkeypatch, capsys)
    team.command("guard", "install", "--yes")
    team.edit("kept.txt")

    assert team.commit(PASSDOWN_SESSION="birch") == (0, "", "")
    assert not (team.project.folder / ".git" / "passdown" / "coordination.sqlite").exists()
    assert team.command("guard").code == 0
    assert team.command("guard", "--ci", "HEAD~1..HEAD") == (
        0,
        "",
        "passdown: no sessions coordinate in this clone; nothing to check\n",
    )


def test_a_merge_is_judged_by_what_it_changes_itself(team: Committers) -> None:
    project = team.project
    team.run("amber", "reserve", "kept.txt")
    project.git("switch", "--quiet", "--create", "side")
    team.edit("kept.txt", "side\n")
    team.edit("other.txt", "side\n")
    assert team.commit(PASSDOWN_SESSION="amber").code == 0
    project.git("switch", "--quiet", "main")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    project.git("merge", "side", check=False)
    team.edit("other.txt", "both\n")

    assert team.commit(PASSDOWN_SESSION="birch").code == 0  # `kept.txt` comes as amber committed it

    assert project.git("log", "-1", "--format=%P").count(" ") == 1
    assert team.command("guard", "--ci", "HEAD~1..HEAD").code == 0


def test_every_project_of_a_repository_judges_its_own_files(team: Committers) -> None:
    part = team.project.folder / "part"
    put(part, "passdown.toml", "")
    put(part, "a.txt", "a")
    team.project.git("add", "--all")
    assert team.commit("--message=part", PASSDOWN_SESSION="amber").code == 0
    team.monkeypatch.chdir(part)
    team.run("amber", "reserve", "a.txt")
    team.edit("part/a.txt")
    team.edit("kept.txt")

    stopped = team.commit(PASSDOWN_SESSION="birch")

    assert stopped.code != 0
    assert "a.txt is held by" in stopped.err
    assert team.commit(PASSDOWN_SESSION="amber").code == 0


# --- in CI ------------------------------------------------------------------------------------------


@pytest.mark.requirement("C89")
def test_ci_knows_a_commit_that_passed_by_its_tree(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")
    assert team.commit(PASSDOWN_SESSION="amber").code == 0
    team.project.git("commit", "--quiet", "--amend", "--no-verify", "--message=another word")

    assert team.command("guard", "--ci", "HEAD~1..HEAD") == (0, "", "")

    team.edit("kept.txt", "again\n")
    team.commit("--all", "--no-verify", "--message=unseen", PASSDOWN_SESSION="birch")
    refused = team.command("guard", "--ci", "HEAD~2..HEAD")
    assert refused.code == 3
    commit = team.project.git("rev-parse", "HEAD")[:12]
    assert refused.err.startswith(f"passdown: commit {commit}:\npassdown: kept.txt is held by")
    answer = json.loads(team.command("guard", "--ci", "HEAD~2..HEAD", "--json").out)
    assert answer["passed"] is False
    assert [one["commit"][:12] for one in answer["refused"]] == [commit]
    team.run("amber", "release")
    assert team.command("guard", "--ci", "HEAD~2..HEAD").code == 0


def test_ci_lets_nothing_pass_for_later(team: Committers) -> None:
    team.run("amber", "inbox")
    team.edit("kept.txt")
    team.commit("--all", "--no-verify", "--message=unseen", PASSDOWN_SESSION="birch")
    before = team.host.project().coordination.history.position()
    assert team.command("guard", "--ci", "HEAD~1..HEAD").code == 0
    assert team.host.project().coordination.history.position() == before

    team.run("amber", "reserve", "kept.txt")

    assert team.command("guard", "--ci", "HEAD~1..HEAD").code == 3


def test_ci_says_when_it_cannot_know(team: Committers) -> None:
    team.run("amber", "reserve", "kept.txt")
    for span in ("nowhere..HEAD", "--all", "HEAD"):
        assert team.command("guard", f"--ci={span}").code == 2
    team.damage()

    assert team.command("guard", "--ci", "HEAD..HEAD").code == 5


# --- installing -------------------------------------------------------------------------------------


SCRIPTS = {
    "sh": b"#!/bin/sh\necho mine\n",
    "bash by env": b"#!/usr/bin/env bash\nset -e\necho mine",
    "one line": b"#!/bin/sh",
    "its line": b"#!/bin/sh\n",
    "carriage returns": b"#!/bin/sh\r\necho mine\r\n",
}


@pytest.mark.requirement("C89")
@pytest.mark.parametrize("name", [*SCRIPTS, "none"])
def test_the_guard_is_installed_shown_first_and_taken_out_to_the_byte(team: Committers, name: str) -> None:
    assert team.command("guard", "uninstall").code == 0
    assert not team.hook.exists()
    script = SCRIPTS.get(name)
    if script is not None:
        put(team.hook.parent, "pre-commit", script.decode()).chmod(0o755)

    shown = team.command("guard", "install")

    assert (shown.code, "+  passdown guard ||" in shown.out) == (1, True)
    assert (team.hook.read_bytes() if team.hook.exists() else None) == script
    assert "\nwritten: .git/hooks/pre-commit\n" in team.command("guard", "install", "--yes").out
    installed = team.hook.read_bytes()
    assert installed.splitlines()[1 if script else 2] == b"# >>> passdown >>>"
    assert os.access(team.hook, os.X_OK)
    again = team.command("guard", "install", "--yes")
    assert (again.code, again.out) == (0, "")
    assert team.hook.read_bytes() == installed
    assert team.command("guard", "uninstall").code == 0
    assert (team.hook.read_bytes() if team.hook.exists() else None) == script
    assert "is not installed in this clone" in team.command("guard", "uninstall").err


@pytest.mark.requirement("C89")
def test_the_guard_runs_beside_a_script_and_in_every_worktree(team: Committers, tmp_path: Path) -> None:
    team.command("guard", "uninstall")
    put(team.hook.parent, "pre-commit", "#!/bin/sh\nset -eu\necho mine >&2\n").chmod(0o755)
    team.command("guard", "install", "--yes")
    team.project.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    tree = Project(folder=tmp_path / "tree")
    team.run("amber", "reserve", "kept.txt")
    tree.write("kept.txt", "there\n")
    team.tree = tree.folder

    stopped = team.commit(PASSDOWN_SESSION="birch")

    assert stopped.code != 0
    assert "kept.txt is held by" in stopped.err
    allowed = team.commit(PASSDOWN_SESSION="amber")
    assert (allowed.code, allowed.err) == (0, "mine\n")
    team.monkeypatch.chdir(tree.folder)
    assert "already installed" in team.command("guard", "install", "--yes").err


@pytest.mark.requirement("C89")
@pytest.mark.parametrize(
    "tool", ["husky", "all repositories", "pre-commit", "its file", "lefthook", "python"]
)
def test_a_hook_of_a_tool_is_left_alone_and_the_lines_to_add_are_printed(
    team: Committers, tmp_path: Path, tool: str
) -> None:
    team.command("guard", "uninstall")
    folder = team.project.folder
    texts = {
        "pre-commit": "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
        "lefthook": '#!/bin/sh\nif [ "$LEFTHOOK" = "0" ]; then\n  exit 0\nfi\n',
        "python": "#!/usr/bin/env python3\nprint('mine')\n",
    }
    hooks = folder / ".git" / "hooks"
    if tool == "husky":
        hooks = folder / ".husky" / "_"
        team.project.git("config", "core.hooksPath", ".husky/_")
        put(hooks, "pre-commit", "#!/bin/sh\n")
    elif tool == "all repositories":
        hooks = tmp_path / "everywhere"
        team.project.git("config", "core.hooksPath", str(hooks))
        put(hooks, "pre-commit", "#!/bin/sh\n")
    elif tool == "its file":
        put(folder, ".pre-commit-config.yaml", "repos: []\n")
    else:
        put(hooks, "pre-commit", texts[tool])
    before = {path: path.read_bytes() for path in hooks.iterdir()}

    told = team.command("guard", "install", "--yes")

    assert told.code == 0
    places = {
        "husky": ".husky/_/pre-commit is not changed; add a call like this",
        "all repositories": f"{hooks}/pre-commit is not changed; add a call like this",
        "pre-commit": ".pre-commit-config.yaml is not changed; add these lines",
        "its file": ".pre-commit-config.yaml is not changed; add these lines",
        "lefthook": "lefthook.yml is not changed; add these lines",
        "python": ".git/hooks/pre-commit is not changed; add a call like this",
    }
    assert places[tool] in told.err
    assert "passdown guard" in told.out
    assert {path: path.read_bytes() for path in before} == before
    assert (hooks / "pre-push").exists() is (tool == "python")  # it concerns that hook alone
    team.command("guard", "uninstall")
    assert {path: path.read_bytes() for path in hooks.iterdir()} == before
    assert "by hand" in team.command("guard", "uninstall").err


def test_lines_of_a_script_are_run_through_the_folder_of_hooks(team: Committers) -> None:
    team.command("guard", "uninstall")
    team.project.git("config", "core.hooksPath", ".husky")
    lines = team.command("guard", "install").out
    put(team.project.folder, ".husky/pre-commit", f"#!/bin/sh\n{lines}").chmod(0o755)
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")

    assert team.commit(PASSDOWN_SESSION="birch").code != 0
    assert team.commit(PASSDOWN_SESSION="amber").code == 0


def test_a_folder_that_is_named_as_git_would_is_gits_own(team: Committers) -> None:
    team.project.git("config", "core.hooksPath", str(team.hook.parent))

    assert "already installed" in team.command("guard", "install").err


def test_a_folder_without_git_has_no_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, team: Committers
) -> None:
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(tmp_path / "bare")

    assert team.command("guard", "install").code == 2
    assert team.command("guard", "--ci", "a..b").code == 0
    assert team.command("guard") == (0, "", "")


def test_who_wrote_a_hook_is_known_by_its_content() -> None:
    for line in (b"#!/bin/sh", b"#! /bin/bash -e", b"#!/usr/bin/env -S zsh", b"#!sh", b"#!/usr/bin/dash"):
        assert find_owner(line + b"\nx") is HookOwner.SCRIPT
    for line in (b"#!/usr/bin/env node", b"#!/usr/bin/python", b"\x7fELF", b"", b"#!/bin/fish", b"echo x"):
        assert find_owner(line + b"\nx") is HookOwner.PROGRAM


def test_what_many_files_conflict_with_is_told_in_short(team: Committers) -> None:
    names = [f"f{number}.txt" for number in range(20)]
    for name in names:
        team.edit(name)
    team.project.git("add", "--all")
    team.run("amber", "reserve", "f1*.txt")
    team.run("birch", "reserve", *[f"f{number}.txt" for number in range(10) if number != 1])

    stopped = team.commit("--message=x", PASSDOWN_SESSION="another")

    assert stopped.err.count(" is held by ") == 12
    assert "and 8 more" in stopped.err
    assert stopped.err.count("ask for it") == 2
    team.monkeypatch.setenv("PASSDOWN_SESSION", "another")
    done = team.command("guard", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["passed"], len(answer["conflicts"])) == (3, False, 20)
