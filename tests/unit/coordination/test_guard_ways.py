"""Further ways of commits into a repository, by real git: merges and pushes are judged too (C156)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.hosts import HOSTS
from tests.support.commands import Done
from tests.support.committers import Committers
from tests.support.projects import VIEW, put, put_event
from tests.unit.coordination.test_guard import SCRIPTS

HOOKS = ("pre-commit", "pre-merge-commit", "pre-push")


class Pushers(Committers):
    """A team whose repository has a remote, to which `main` was pushed."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Make the remote."""
        super().__init__(folder, monkeypatch, capsys)
        self.remote = folder.parent / "remote.git"
        self.project.git("init", "--quiet", "--bare", str(self.remote))
        self.project.git("remote", "add", "origin", str(self.remote))
        self.project.git("push", "--quiet", "origin", "main")
        self.hooks = folder / ".git" / "hooks"

    def push(self, session: str, *arguments: str) -> Done:
        """Let a session push."""
        return self.git("push", "--quiet", "origin", *(arguments or ("HEAD",)), PASSDOWN_SESSION=session)


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pushers:
    """Give a repository with a remote, two sessions and the guard."""
    made = Pushers(tmp_path / "project", monkeypatch, capsys)
    made.set_up_guard()
    return made


def branch_off(team: Pushers, name: str, path: str, session: str = "amber") -> None:
    """Let a session commit a file on a branch of its own, and go back."""
    team.project.git("switch", "--quiet", "--create", name, "main")
    team.edit(path, f"{name}\n")
    team.project.git("add", "--all")
    assert team.commit("--message=work", PASSDOWN_SESSION=session).code == 0
    team.project.git("switch", "--quiet", "main")


# --- merges -----------------------------------------------------------------------------------------


@pytest.mark.requirement("C156")
@pytest.mark.parametrize("count", [1, 2])
def test_a_clean_merge_of_work_that_another_session_still_holds_passes(team: Pushers, count: int) -> None:
    team.run("amber", "reserve", "kept.txt", "side1.txt")
    branch_off(team, "side0", "kept.txt")
    branch_off(team, "side1", "side1.txt")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    names = [f"side{number}" for number in range(count)]

    done = team.git("merge", "--quiet", "--message=merge", *names, PASSDOWN_SESSION="birch")

    assert (done.code, done.err) == (0, "")
    assert team.project.git("log", "-1", "--format=%P").count(" ") == count
    assert team.push("birch") == (0, "", "")
    assert team.command("guard", "--ci", "HEAD~1..HEAD").code == 0


@pytest.mark.requirement("C156")
def test_what_a_merge_changes_itself_is_judged(team: Pushers) -> None:
    branch_off(team, "side", "side.txt", "birch")
    team.run("amber", "reserve", "kept.txt")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    put(team.hooks, "pre-merge-commit", f"#!/bin/sh\necho evil > kept.txt; git add kept.txt\n{_body(team)}")

    stopped = team.git("merge", "--message=merge", "side", PASSDOWN_SESSION="birch")

    assert stopped.code != 0
    assert "kept.txt is held by" in stopped.err
    stopped = team.commit("--message=merge", PASSDOWN_SESSION="birch")
    assert "kept.txt is held by" in stopped.err


def _body(team: Pushers) -> str:
    return (team.hooks / "pre-merge-commit").read_text().partition("\n")[2]


@pytest.mark.requirement("C156")
def test_variables_of_a_merge_count_in_a_hook_alone(team: Pushers) -> None:
    branch_off(team, "side", "side.txt", "amber")
    team.run("amber", "reserve", "side.txt")
    team.project.git("checkout", "side", "--", "side.txt")
    commit = team.project.git("rev-parse", "side").strip()
    team.monkeypatch.setenv(f"GITHEAD_{commit}", "side")
    team.monkeypatch.setenv("PASSDOWN_SESSION", "birch")

    assert team.command("guard").code == 3
    team.monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")  # as git says to a hook of a clean merge
    assert team.command("guard") == (0, "", "")


# --- pushes -----------------------------------------------------------------------------------------


def cherry_pick(team: Pushers) -> None:
    branch_off(team, "side", "kept.txt")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    team.project.git("cherry-pick", "side")


def rebase(team: Pushers) -> None:
    branch_off(team, "side", "kept.txt")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    team.project.git("switch", "--quiet", "side")
    team.project.git("rebase", "--quiet", "main")


def am(team: Pushers) -> None:
    branch_off(team, "side", "kept.txt")
    patch = team.project.git("format-patch", "--stdout", "main..side")
    team.project.git("branch", "--quiet", "--delete", "--force", "side")
    team.edit("other.txt", "main\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    team.project.git("am", "--quiet", data=patch)


def plumb(team: Pushers) -> None:
    blob = team.project.git("hash-object", "-w", "--stdin", data="plumbed\n").strip()
    team.project.git("update-index", "--cacheinfo", f"100644,{blob},kept.txt")
    tree = team.project.git("write-tree").strip()
    commit = team.project.git("commit-tree", "-p", "HEAD", "-m", "x", tree).strip()
    team.project.git("update-ref", "HEAD", commit)


def skip(team: Pushers) -> None:
    team.edit("kept.txt", "skipped\n")
    team.project.git("commit", "--quiet", "--all", "--no-verify", "--message=x")


@pytest.mark.requirement("C156")
@pytest.mark.parametrize("way", [cherry_pick, rebase, am, plumb, skip])
def test_a_push_is_stopped_for_what_came_in_unseen(team: Pushers, way: Callable[[Pushers], None]) -> None:
    team.run("amber", "reserve", "kept.txt")
    way(team)
    commit = team.project.git("log", "-1", "--format=%H")[:12]

    stopped = team.push("birch")

    assert stopped.code != 0
    assert f"passdown: commit {commit}:\npassdown: kept.txt is held by {team.agent('amber')}" in stopped.err
    warned = team.git("push", "origin", "HEAD:refs/heads/person")
    assert warned.code == 0
    assert "push allowed, because you are a person" in warned.err
    assert team.push("amber", "HEAD:refs/heads/own") == (0, "", "")
    team.run("amber", "release")
    assert team.push("birch", "HEAD:refs/heads/later") == (0, "", "")


@pytest.mark.requirement("C156")
def test_what_a_remote_has_and_what_passed_is_not_judged_again(team: Pushers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt", "amber\n")
    assert team.commit(PASSDOWN_SESSION="amber").code == 0
    assert team.push("birch") == (0, "", "")  # it passed for amber
    skip(team)
    assert team.push("amber") == (0, "", "")
    team.edit("other.txt", "birch\n")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0

    assert team.push("birch", "HEAD", "HEAD:refs/heads/new") == (0, "", "")

    assert team.push("birch", "HEAD") == (0, "", "")
    assert team.push("birch", ":new") == (0, "", "")


@pytest.mark.requirement("C156")
def test_the_hook_below_gets_what_git_says(team: Pushers) -> None:
    team.command("guard", "uninstall")
    kept = team.project.folder.parent / "kept"
    script = f'#!/bin/sh\nset -eu\ncat > {kept}\necho "$1" >> {kept}\n'
    put(team.hooks, "pre-push", script).chmod(0o755)
    team.command("guard", "install", "--yes")
    team.run("amber", "reserve", "other.txt")
    team.edit("kept.txt")
    assert team.commit(PASSDOWN_SESSION="birch").code == 0
    before, after = (team.project.git("rev-parse", one).strip() for one in ("HEAD~1", "HEAD"))

    assert team.push("birch", "HEAD:main") == (0, "", "")

    assert kept.read_text() == f"HEAD {after} refs/heads/main {before}\norigin\n"
    assert team.push("birch", "HEAD:main") == (0, "", "")
    assert kept.read_text() == "origin\n"
    assert team.command("guard", "uninstall").code == 0
    assert (team.hooks / "pre-push").read_text() == script


def test_a_guard_that_is_broken_stops_no_push(team: Pushers) -> None:
    team.run("amber", "reserve", "kept.txt")
    skip(team)
    team.damage()

    passed = team.push("birch")

    assert passed.code == 0
    assert "the push was not checked: " in passed.err


def test_the_framework_tells_in_variables_what_is_pushed(team: Pushers) -> None:
    team.run("amber", "reserve", "kept.txt")
    skip(team)
    before, after = (team.project.git("rev-parse", one).strip() for one in ("HEAD~1", "HEAD"))
    team.monkeypatch.setattr("sys.stdin", None)
    team.monkeypatch.setenv("PASSDOWN_SESSION", "birch")

    assert team.command("guard", "--push").code == 0

    team.monkeypatch.setenv("PRE_COMMIT_FROM_REF", before)
    team.monkeypatch.setenv("PRE_COMMIT_TO_REF", after)
    assert team.command("guard", "--push").code == 3
    told = team.command("guard", "--push", "--json")
    assert (told.code, '"passed": false' in told.out) == (3, True)


def test_every_project_of_a_repository_judges_its_own_push(team: Pushers) -> None:
    part = team.project.folder / "part"
    put(part, "passdown.toml", "")
    put(part, "a.txt", "a")
    team.project.git("add", "--all")
    assert team.commit("--message=part", PASSDOWN_SESSION="amber").code == 0
    team.monkeypatch.chdir(part)
    team.run("amber", "reserve", "a.txt")
    team.monkeypatch.chdir(team.project.folder)
    team.run("amber", "inbox")
    team.edit("part/a.txt", "b")
    team.project.git("commit", "--quiet", "--all", "--no-verify", "--message=x")

    stopped = team.push("birch")

    assert stopped.code != 0
    assert "a.txt is held by" in stopped.err


# --- installing -------------------------------------------------------------------------------------


@pytest.mark.requirement("C156")
@pytest.mark.parametrize("name", [*SCRIPTS, "none"])
def test_each_hook_is_installed_and_taken_out_to_the_byte(team: Pushers, name: str) -> None:
    assert team.command("guard", "uninstall").out == f"removed the guard from {', '.join(HOOKS)}\n"
    script = SCRIPTS.get(name)
    for hook in HOOKS:
        assert not (team.hooks / hook).exists()
        if script is not None:
            put(team.hooks, hook, script.decode()).chmod(0o755)

    told = team.command("guard", "install", "--yes")

    assert [line for line in told.out.splitlines() if line.startswith("written: ")] == [
        f"written: .git/hooks/{hook}" for hook in HOOKS
    ]
    assert all(os.access(team.hooks / hook, os.X_OK) for hook in HOOKS)
    assert "already installed" in team.command("guard", "install", "--yes").err
    team.command("guard", "uninstall")
    for hook in HOOKS:
        path = team.hooks / hook
        assert (path.read_bytes() if path.exists() else None) == script


def test_an_older_install_gets_the_further_hooks(team: Pushers) -> None:
    for hook in HOOKS[1:]:
        (team.hooks / hook).unlink()

    told = team.command("guard", "install", "--yes")

    assert told.out.count("written: ") == 2


@pytest.mark.requirement("C156")
def test_copilot_is_an_agent_also_where_it_does_not_tell_its_session(team: Pushers) -> None:
    team.run("amber", "reserve", "kept.txt")
    team.edit("kept.txt")

    assert team.commit(COPILOT_CLI="1").code != 0
    assert team.commit(COPILOT_AGENT_SESSION_ID="birch").code != 0
    assert team.commit(COPILOT_CLI="1", COPILOT_AGENT_SESSION_ID="amber").code == 0
    assert HOSTS.names_agent({"COPILOT_CLI": "1"})
    assert not HOSTS.names_agent({"COPILOT_CLI": ""})


# --- views that git merged --------------------------------------------------------------------------


def merge_views(team: Pushers) -> None:
    """Let two branches commit a view each, and a person merge them."""
    put(team.project.folder, ".gitattributes", f"/{VIEW} merge=union\n")
    team.project.git("add", "--all")
    team.project.git("commit", "--quiet", "--no-verify", "--message=rules")
    team.project.git("push", "--quiet", "--no-verify", "origin", "main")
    team.project.git("branch", "side")
    for name in ("main", "side"):
        team.project.git("switch", "--quiet", name)
        put_event(team.project.folder, "2026-01-10T10:00:00Z", f"agent-{name}", now=f"On {name}")
        put(team.project.folder, VIEW, team.command("synthesize", "--output", "-").out)
        team.project.git("add", "--all")
        team.project.git("commit", "--quiet", "--no-verify", "--message=view")
    team.project.git("switch", "--quiet", "main")
    team.project.git("merge", "--quiet", "--no-verify", "--no-edit", "side")
    assert (team.project.folder / VIEW).read_text().count("view_sha256") == 2


@pytest.mark.requirement("C156", "C116")
@pytest.mark.parametrize("session", ["birch", ""])
def test_nobody_pushes_a_branch_that_ends_with_a_view_that_git_merged(team: Pushers, session: str) -> None:
    merge_views(team)
    commit = team.project.git("log", "-1", "--format=%H")

    stopped = team.push(session, "main", "side")

    assert stopped.code != 0
    assert (
        f"passdown: {VIEW} in {commit[:12]} was merged by git and not regenerated "
        "hint: on that branch, run `passdown synthesize --no-confirm --commit`, and push again"
    ) in " ".join(stopped.err.split())
    assert team.push(session, "side") == (0, "", "")
    assert team.command("synthesize", "--no-confirm", "--commit").code == 0
    assert team.push(session, "main").code == 0


@pytest.mark.requirement("C156")
def test_a_merged_view_that_the_remote_has_stops_no_push(team: Pushers) -> None:
    merge_views(team)
    team.project.git("push", "--quiet", "--no-verify", "origin", "main")
    team.project.git("tag", "--annotate", "--message=one", "v1")

    assert team.push("birch", "main", "v1", "main:copy") == (0, "", "")


@pytest.mark.requirement("C156")
def test_a_merged_view_stops_a_push_where_no_session_coordinates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = Pushers(tmp_path / "project", monkeypatch, capsys)
    assert team.command("guard", "install", "--yes").code == 0
    merge_views(team)

    assert "was merged by git and not regenerated" in team.push("", "main").err
