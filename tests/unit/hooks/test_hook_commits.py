"""Hooks commit what sessions published when that was agreed to, and only where the user is not at work."""

import json
import os
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from passdown.core.kinds import FactKind
from passdown.engines.git import process
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock
from passdown.services.log import commit_marks
from passdown.services.sessions import sessions
from passdown.settings import FILE_NAME
from tests.support.gits import Project, make_started
from tests.support.sessions import NOON
from tests.unit.hooks.test_hooks import HOST, Stage

NEXT = "another-session"
VIEW = "thoughts/shared/handoffs/current.md"
EVENTS = "thoughts/shared/handoffs/events/"
RECORDS = "conductor/sessions/archive/"


class Scene:
    """A repository of a user who is at work, and a host that calls hooks in it."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin at noon; the last commit is from the day before."""
        self._monkeypatch = monkeypatch
        self.at = NOON
        monkeypatch.setattr(SystemClock, "now", lambda _: self.at)
        monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: True)
        self._stamp_commits(-1440)
        self.project = make_started(folder)
        self.project.write(FILE_NAME, "")
        self.project.write(".gitignore", ".conductor/\nconductor/sessions/active/\n")
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=set up")
        self.host = Stage(self.project.folder, monkeypatch, capsys)
        self.command = self.host.command

    def pass_time(self, minutes: float) -> None:
        """Move the clock, for git too."""
        self.at += timedelta(minutes=minutes)
        self._stamp_commits(0)

    def _stamp_commits(self, minutes: float) -> None:
        at = self.at + timedelta(minutes=minutes)
        self._monkeypatch.setenv("GIT_COMMITTER_DATE", at.isoformat())

    def set_commits(self, **settings: object) -> None:
        """Write the settings, without a commit."""
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        self.project.write(FILE_NAME, f"[commit]\n{lines}")

    def commit_as_user(self, text: str) -> str:
        """Let the user commit something now; give the id."""
        self._stamp_commits(0)
        self.project.write("user.txt", text)
        self.project.git("add", "user.txt")
        self.project.git("commit", "--quiet", f"--message={text}")
        return self.head()

    def head(self) -> str:
        """Give the id of the last commit."""
        return self.project.git("rev-parse", "HEAD").strip()

    def subjects(self) -> list[str]:
        """Give the subjects of all commits, the newest first."""
        return self.project.git("log", "--format=%s").splitlines()

    def own(self) -> list[str]:
        """Give the subjects of our commits, without what the events state."""
        own = [one for one in self.subjects() if one.startswith("passdown: ")]
        return [re.sub(r" \([^(]*: .*\)$", "", one) for one in own]

    def work(self, text: str, session: str = HOST) -> None:
        """Let the agent say something in a turn, and let the turn end."""
        self.command("done", text, "--session", session)
        self.turn(session)

    def turn(self, session: str = HOST) -> dict[str, Any]:
        """Let a turn end."""
        return self.host.call("Stop", session_id=session)

    def start(self, session: str = HOST) -> dict[str, Any]:
        """Let the host start a session."""
        return self.host.call("SessionStart", session_id=session, source="startup")

    def end(self, session: str = HOST) -> None:
        """Let the host end a session."""
        self.host.call("SessionEnd", session_id=session, reason="logout")

    def waiting(self) -> dict[str, Any] | None:
        """Give what `status` says about what waits."""
        found: dict[str, Any] | None = json.loads(self.command("status", "--json").out)["uncommitted"]
        return found

    def uncommitted(self) -> list[str]:
        """Name the files of ours that git shows as new or changed."""
        shown = self.project.git("status", "--porcelain", "--untracked-files=all").splitlines()
        return [line for line in shown if "thoughts/" in line or "conductor/" in line]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scene:
    """Give a repository whose owner agreed to commits."""
    return Scene(tmp_path / "project", monkeypatch, capsys)


def stage_work(project: Project) -> tuple[str, bytes, bytes]:
    """Leave work staged and unstaged; give the index without our entries, and the files."""
    project.write("kept.txt", "staged\n")
    project.git("add", "kept.txt")
    project.write("kept.txt", "unstaged\n")
    project.write("new.txt", "untracked\n")
    return user_work(project)


def user_work(project: Project) -> tuple[str, bytes, bytes]:
    entries = [
        line for line in project.index().splitlines() if "thoughts/" not in line and RECORDS not in line
    ]
    files = [(project.folder / name).read_bytes() for name in ("kept.txt", "new.txt")]
    return "\n".join(entries), files[0], files[1]


# --- what is committed, and when ----------------------------------------------------------------


@pytest.mark.requirement("C117", "C42", "R135")
def test_a_turn_that_published_is_committed_and_the_work_of_the_user_stays(scene: Scene) -> None:
    before = stage_work(scene.project)
    scene.start()

    scene.work("read the code")

    assert scene.own() == ["passdown: 1 event, view"]
    changed = [line.split("\t")[1] for line in scene.project.changed()]
    assert len(changed) == 2
    assert all(path == VIEW or path.startswith(EVENTS) for path in changed)
    assert user_work(scene.project) == before
    assert scene.uncommitted() == []
    assert scene.host.log() == ""


@pytest.mark.requirement("C117", "R135")
def test_at_most_one_checkpoint_is_committed_in_thirty_minutes_and_the_next_turn_makes_up_for_it(
    scene: Scene,
) -> None:
    scene.start()
    scene.work("one")
    scene.pass_time(minutes=16)
    scene.work("two")
    assert scene.own() == ["passdown: 1 event, view"]
    waiting = scene.waiting()
    assert waiting is not None
    assert waiting["reason"] == (
        "the last checkpoint commit was 16 min ago, and they are at least 30 minutes apart"
    )
    assert waiting["until"] == (NOON + timedelta(minutes=30)).isoformat()

    scene.pass_time(minutes=15)
    scene.turn()  # it has nothing to publish

    assert scene.own() == ["passdown: 1 event, view"] * 2
    assert scene.uncommitted() == []
    assert scene.waiting() is None


@pytest.mark.requirement("C117", "R133")
def test_the_commit_of_an_ended_session_is_made_by_the_next_start(scene: Scene) -> None:
    before = stage_work(scene.project)
    scene.start()
    scene.command("done", "read the code", "--session", HOST)
    scene.end()
    assert scene.own() == []

    answer = scene.start(NEXT)

    assert "read the code" in answer["hookSpecificOutput"]["additionalContext"]
    assert scene.own() == ["passdown: 1 event, view, 1 document"]
    assert any(RECORDS in line for line in scene.project.changed())
    assert user_work(scene.project) == before
    assert scene.uncommitted() == []


@pytest.mark.requirement("C117", "R133")
def test_a_start_by_the_verb_makes_the_owed_commit_too(scene: Scene) -> None:
    scene.start()
    scene.command("done", "read the code", "--session", HOST)
    scene.end()

    answer = json.loads(scene.command("start", "--new", "--json").out)

    assert answer["commit"] == scene.head()
    assert scene.own() == ["passdown: 1 event, view, 1 document"]
    assert json.loads(scene.command("start", "--new", "--json").out)["commit"] is None


@pytest.mark.requirement("C117", "C62")
def test_a_session_that_died_is_committed_by_the_next_start(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    scene.command("done", "read the code", "--session", HOST)
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: False)

    scene.start(NEXT)

    assert scene.own() == ["passdown: 1 event, view, 1 document"]


@pytest.mark.requirement("C117", "R131")
def test_a_start_does_not_commit_for_a_running_session(scene: Scene) -> None:
    scene.set_commits(session_end=True, checkpoint=False)
    scene.start()
    scene.work("one")
    scene.command("publish", "--session", HOST)

    scene.host.call("SessionStart", source="compact")

    assert scene.own() == []
    waiting = scene.waiting()
    assert waiting is not None
    assert waiting["reason"] == "they are committed when their session ends"


@pytest.mark.requirement("C117", "C42")
def test_a_start_and_every_event_are_committed_if_the_settings_say_so(scene: Scene) -> None:
    scene.set_commits(event=True, checkpoint=False, session_end=False)
    scene.start()
    for number in range(3):
        scene.work(f"work {number}")
        scene.pass_time(minutes=16)
    assert scene.own() == ["passdown: 1 event, view"] * 3

    scene.set_commits(start=True, checkpoint=False, session_end=False)
    scene.work("more")
    assert len(scene.own()) == 3
    scene.host.call("SessionStart", source="compact")

    assert len(scene.own()) == 4


@pytest.mark.requirement("C117", "C42")
def test_without_consent_hooks_commit_nothing_and_nothing_waits(scene: Scene) -> None:
    scene.set_commits(session_end=False, checkpoint=False, handoff=False)
    scene.start()
    scene.work("one")
    scene.end()
    scene.start(NEXT)

    assert scene.own() == []
    assert not list((scene.project.folder / ".conductor").glob("to-commit*"))
    assert scene.waiting() is None


@pytest.mark.requirement("C117")
def test_a_project_without_git_has_nothing_to_commit(scene: Scene) -> None:
    os.rename(scene.project.folder / ".git", scene.project.folder.parent / "gone")

    scene.start()
    scene.work("one")
    scene.end()
    scene.start(NEXT)

    assert scene.waiting() is None
    assert not (scene.project.folder / ".conductor" / "hooks.log").exists()


@pytest.mark.requirement("C117")
def test_files_that_git_ignores_do_not_wait(scene: Scene) -> None:
    scene.project.write(".git/info/exclude", "thoughts/\nconductor/\n")
    scene.start()
    scene.work("one")
    scene.end()
    scene.start(NEXT)

    assert scene.own() == []
    assert scene.waiting() is None


# --- where the user is at work ------------------------------------------------------------------


@pytest.mark.requirement("C117")
def test_an_amendment_of_the_user_rewrites_the_commit_of_the_user(scene: Scene) -> None:
    scene.start()
    mine = scene.commit_as_user("my work")
    scene.pass_time(minutes=5)

    scene.work("read the code")
    scene.end()
    scene.start(NEXT)

    assert scene.head() == mine
    waiting = scene.waiting()
    assert waiting is not None
    assert waiting["reason"] == (
        "your last commit is 5 minutes old and not pushed, so you may still amend it"
    )
    scene.project.git("commit", "--quiet", "--amend", "--message=my work, better")
    assert scene.subjects() == ["my work, better", "set up", "one"]
    assert not any(VIEW in line or EVENTS in line for line in scene.project.changed())
    assert VIEW not in scene.project.git("status", "--porcelain", "--untracked-files=all")

    scene.pass_time(minutes=31)
    scene.turn(NEXT)

    assert scene.subjects()[1] == "my work, better"
    assert len(scene.own()) == 1
    assert scene.uncommitted() == []


@pytest.mark.requirement("C117")
def test_on_top_of_a_pushed_commit_a_checkpoint_is_made(scene: Scene, tmp_path: Path) -> None:
    scene.project.git("init", "--quiet", "--bare", str(tmp_path / "remote"))
    scene.project.git("remote", "add", "origin", str(tmp_path / "remote"))
    scene.start()
    scene.commit_as_user("my work")
    scene.work("one")
    assert scene.own() == []

    scene.project.git("push", "--quiet", "origin", "main")
    scene.turn()

    assert scene.own() == ["passdown: 1 event, view"]
    assert scene.project.git("rev-parse", "origin/main") != scene.head()


@pytest.mark.requirement("C117")
def test_a_command_of_the_user_commits_at_once(scene: Scene) -> None:
    scene.start()
    scene.commit_as_user("my work")
    scene.command("done", "read the code", "--session", HOST)

    scene.command("end", "--session", HOST)

    assert scene.own() == ["passdown: 1 event, view, 1 document"]


@pytest.mark.requirement("C117")
def test_our_own_commit_is_built_upon_until_somebody_amends_it(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    scene.pass_time(minutes=16)
    scene.command("done", "two", "--session", HOST)
    scene.end()
    scene.start(NEXT)
    assert len(scene.own()) == 2

    scene.project.git("commit", "--quiet", "--amend", "--no-edit")
    scene.command("done", "three", "--session", NEXT)
    scene.end(NEXT)
    scene.start("third")

    assert len(scene.own()) == 2
    waiting = scene.waiting()
    assert waiting is not None
    assert "you may still amend it" in waiting["reason"]


def lock(scene: Scene) -> None:
    scene.project.write(".git/index.lock")


def detach(scene: Scene) -> None:
    scene.project.git("checkout", "--quiet", "--detach")


def merge(scene: Scene) -> None:
    scene.project.write(".git/MERGE_HEAD", f"{scene.head()}\n")


def bisect(scene: Scene) -> None:
    scene.project.write(".git/BISECT_LOG")


OBSTACLES: dict[str, tuple[Callable[[Scene], object], str, Callable[[Scene], object]]] = {
    "lock": (lock, "index.lock exists", lambda scene: (scene.project.folder / ".git/index.lock").unlink()),
    "detached": (
        detach,
        "no branch is checked out",
        lambda scene: scene.project.git("checkout", "--quiet", "main"),
    ),
    "merge": (
        merge,
        "a merge is in progress in this checkout",
        lambda scene: (scene.project.folder / ".git/MERGE_HEAD").unlink(),
    ),
    "bisect": (
        bisect,
        "a bisect is in progress in this checkout",
        lambda scene: (scene.project.folder / ".git/BISECT_LOG").unlink(),
    ),
}


@pytest.mark.requirement("C117", "C42")
@pytest.mark.parametrize("name", OBSTACLES)
def test_where_the_user_is_in_the_middle_of_something_the_commit_waits(scene: Scene, name: str) -> None:
    arrange, reason, clear = OBSTACLES[name]
    scene.start()
    arrange(scene)
    scene.work("one")
    scene.turn()
    assert scene.own() == []
    waiting = scene.waiting()
    assert waiting is not None
    assert (waiting["reason"], len(waiting["paths"])) == (reason, 1)
    assert not (scene.project.folder / VIEW).exists()
    assert scene.host.log() == ""

    clear(scene)
    scene.turn()

    assert scene.own() == ["passdown: 1 event, view"]
    assert scene.uncommitted() == []


@pytest.mark.requirement("C117", "C42")
@pytest.mark.parametrize("name", OBSTACLES)
def test_the_commit_that_a_start_could_not_make_is_made_by_a_turn(scene: Scene, name: str) -> None:
    arrange, reason, clear = OBSTACLES[name]
    scene.set_commits(session_end=True, checkpoint=False)
    scene.start()
    scene.command("done", "one", "--session", HOST)
    scene.end()
    arrange(scene)
    scene.start(NEXT)
    assert scene.own() == []
    waiting = scene.waiting()
    assert waiting is not None
    assert waiting["reason"] == reason

    clear(scene)
    assert (scene.waiting() or {})["reason"] == "the next session start commits them"
    scene.turn(NEXT)

    assert scene.own() == ["passdown: 1 event, view, 1 document"]


@pytest.mark.requirement("C117", "C42")
def test_without_an_identity_nothing_is_committed_and_the_log_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    scene.start()
    scene.work("one")

    assert scene.own() == []
    assert "Stop: not committed: git has no name and email for the author" in scene.host.log()
    waiting = scene.waiting()
    assert waiting is not None
    assert (waiting["reason"], waiting["hint"]) == (
        "git has no name and email for the author",
        "set user.name and user.email with `git config`",
    )


@pytest.mark.requirement("C117")
def test_the_first_commit_of_a_branch_is_left_to_the_user(scene: Scene) -> None:
    scene.project.git("checkout", "--quiet", "--orphan", "fresh")
    scene.start()
    scene.work("one")

    assert scene.project.git("rev-parse", "--verify", "--quiet", "HEAD", check=False) == ""
    waiting = scene.waiting()
    assert waiting is not None
    assert waiting["reason"] == "the branch has no commit yet"


# --- what it costs, and what is lost --------------------------------------------------------------


@pytest.mark.requirement("C117", "C62")
def test_where_nothing_is_to_be_committed_no_hook_starts_git(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    scene.work("one")
    scene.pass_time(minutes=16)
    scene.start()  # asks git once whether all is committed
    scene.work("two")  # a checkpoint that must wait
    scene.pass_time(minutes=1)
    calls: list[tuple[str, ...]] = []
    run = process.Git.run

    def count(git: process.Git, *arguments: str, data: bytes = b"") -> process.GitResult:
        calls.append(arguments)
        return run(git, *arguments, data=data)

    monkeypatch.setattr(process.Git, "run", count)
    assert scene.turn() == {}
    assert calls == []

    scene.pass_time(minutes=30)
    scene.turn()
    made = len(calls)
    assert made == 7
    scene.start()
    assert scene.turn() == {}

    assert len(calls) == made
    assert scene.own() == ["passdown: 1 event, view"] * 2


@pytest.mark.requirement("C117")
def test_marks_that_are_lost_cost_nothing_but_time(scene: Scene) -> None:
    scene.start()
    scene.project.write(".git/index.lock")
    scene.work("one")
    (scene.project.folder / ".git/index.lock").unlink()
    (scene.project.folder / ".conductor/to-commit.txt").unlink()
    scene.turn()
    assert scene.own() == []

    scene.end()
    scene.start(NEXT)

    assert scene.own() == ["passdown: 2 events, view, 1 document"]


@pytest.mark.requirement("C117")
def test_a_mark_that_cannot_be_written_keeps_nobody_from_publishing(scene: Scene) -> None:
    scene.start()
    (scene.project.folder / ".conductor/to-commit.txt").mkdir()
    scene.work("one")

    assert scene.own() == ["passdown: 1 event, view"]
    assert commit_marks.TO_COMMIT.is_put(scene.host.project())


@pytest.mark.requirement("C117")
def test_our_commits_are_not_the_work_of_a_session(scene: Scene) -> None:
    scene.start()
    scene.host.write("fix it")
    scene.work("one")
    scene.commit_as_user("my work")
    scene.host.write("go on")
    scene.turn()

    commits = [one.text for one in scene.host.own().of(FactKind.COMMIT)]
    assert commits == [scene.head()]


@pytest.mark.requirement("C117")
def test_a_commit_that_fails_is_logged_and_the_host_is_answered(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    scene.command("done", "one", "--session", HOST)
    scene.end()
    events = scene.project.folder / "thoughts/shared/handoffs/events"
    events.parent.mkdir(parents=True)
    monkeypatch.setattr(sessions, "recover", lambda _: ())
    (scene.project.folder / "conductor/sessions/archive").write_text("a file\n", encoding="utf-8")

    answer = scene.start(NEXT)

    assert answer["systemMessage"].startswith("Passdown is on. ")
    assert "SessionStart: not committed: " in scene.host.log()


@pytest.mark.requirement("C117")
def test_a_status_tells_people_what_waits(scene: Scene) -> None:
    scene.start()
    scene.project.write(".git/index.lock")
    scene.work("one")

    done = scene.command("status")

    assert done.out.endswith("1 event not committed yet: index.lock exists\n")
    assert "hint: the git command that made it will remove it" in done.err


@pytest.mark.requirement("C117", "C42")
def test_what_the_user_removed_is_committed_by_the_user(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    (event,) = [name for name in scene.project.tree() if name.startswith(EVENTS)]
    (scene.project.folder / event).unlink()
    scene.pass_time(minutes=1)
    scene.command("done", "two", "--session", HOST)
    scene.end()
    scene.start(NEXT)

    assert len(scene.own()) == 2
    assert event in scene.project.tree()
    assert f" D {event}" in scene.uncommitted()


@pytest.mark.requirement("C117", "C58")
def test_a_start_archives_old_events_in_the_same_commit(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    (event,) = [name for name in scene.project.tree() if name.startswith(EVENTS)]
    scene.pass_time(minutes=60 * 24 * 9)
    scene.command("done", "two", "--session", HOST)
    scene.end()
    scene.start(NEXT)

    tree = scene.project.tree()
    assert event not in tree
    assert any(name.endswith(event.rpartition("/")[2]) for name in tree if "/archive/" in name)
    assert scene.uncommitted() == []


@pytest.mark.requirement("C117")
def test_a_status_says_who_commits_what_a_running_session_published(scene: Scene) -> None:
    scene.start()
    scene.command("done", "one", "--session", HOST)
    scene.command("publish", "--session", HOST)

    assert (scene.waiting() or {})["reason"] == "they are committed at the end of the turn or session"
