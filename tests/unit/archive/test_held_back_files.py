"""Runs that may not archive, and files that a run leaves where they are (C127)."""

from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.formats.events import render_event
from passdown.core.ids import event_file_name
from passdown.faces.cli import output
from passdown.services.log import archive_runs, archive_writers
from passdown.settings import Settings
from tests.support.clones.archivers import TODAY, Archiver, Calling, make_clones
from tests.support.people import sit_down
from tests.support.projects import ARCHIVE, EVENTS, make_event, open_checkout, put

pytestmark = pytest.mark.requirement("C127")

JOB = '[events]\narchiver = "job"\n'


@pytest.fixture
def alone(tmp_path: Path, calling: Calling) -> Archiver:
    """Make a clone without a remote, with three old events of one day."""
    (clone,) = make_clones(tmp_path, 1, calling=calling)
    clone.git("remote", "remove", "origin")
    clone.write(3, 12)
    clone.commit()
    return clone


def put_named(clone: Archiver, days_ago: int, named: int, top: str = EVENTS, **said: object) -> str:
    """Write an event of a day into a file whose name has another day; give its path."""
    at, other = (TODAY - timedelta(days=days) for days in (days_ago, named))
    folder = f"{ARCHIVE}/{other.date()}" if top == ARCHIVE else EVENTS
    path = f"{folder}/{event_file_name(other, clone.agent)}"
    text = render_event(make_event(at.isoformat().replace("+00:00", "Z"), clone.agent, **said))
    put(clone.root, path, text)
    return path


def state(clone: Archiver) -> str:
    """Say what is not committed of the events."""
    return clone.git("status", "--porcelain", "--", "thoughts").stdout


def flat(text: str) -> str:
    """Give a text as one line."""
    return " ".join(text.split())


def test_an_event_that_is_dated_later_than_its_name_stays(alone: Archiver) -> None:
    path = put_named(alone, 20, 60, now="Misnamed")
    alone.commit()

    done = alone.call("archive", "run")

    assert done.out.startswith("3 events moved to the archive\n")
    assert f"{path}: kept: it is dated later than its name" in flat(done.out)
    assert (alone.root / path).exists()


def test_a_copy_of_a_session_in_another_clone_stays(tmp_path: Path, calling: Calling) -> None:
    (clone,) = make_clones(tmp_path, 1, calling=calling)
    path = put_named(clone, 60, 60, ARCHIVE, session="elsewhere", now="Theirs")
    clone.commit()
    clone.git("push", "-q")

    done = clone.call("archive", "run")

    assert f"{path}: kept: it is of a session in another clone" in flat(done.out)
    assert (clone.root / path).exists()
    assert state(clone) == ""


def test_a_second_run_in_a_clone_waits_for_the_first(
    alone: Archiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_runs, "_WAIT", 0.0)
    with open_checkout(alone.root, Settings()).locks.held("archive", 0.0) as is_held:
        refused = alone.call("archive", "run", check=False)

    assert is_held
    assert (refused.code, "another process of this clone archives" in refused.err) == (1, True)
    assert alone.rollups() == []
    assert alone.call("archive", "run").out.startswith("3 events moved")


def test_an_event_that_came_back_is_put_away_without_another_rollup(alone: Archiver) -> None:
    before = alone.single()
    alone.call("archive", "run")
    rollups = alone.rollups()
    alone.git("checkout", "-q", "HEAD~1", "--", *before)
    alone.commit("Somebody brought them back")

    done = alone.call("archive", "run")

    assert done.out.startswith("3 events moved to the archive\n")
    assert alone.rollups() == rollups
    assert not any((alone.root / path).exists() for path in before)
    assert state(alone) == ""


def test_an_event_whose_copy_says_something_else_stays(alone: Archiver) -> None:
    path = alone.single()[0]
    name = path.rpartition("/")[2]
    copy = put(alone.root, f"{ARCHIVE}/{name[:10]}/{name}", "Somebody's notes\n")
    alone.commit()

    done = alone.call("archive", "run")

    assert done.out.startswith("2 events moved to the archive\n")
    assert f"{path}: kept: it is in the archive with another text" in flat(done.out)
    assert ((alone.root / path).exists(), copy.read_text()) == (True, "Somebody's notes\n")


def test_what_an_interrupted_run_removed_is_committed_and_what_the_user_removed_is_not(
    alone: Archiver,
) -> None:
    alone.call("archive", "run")
    alone.write(2, 1)
    alone.commit()
    copy, user = alone.single()[0], alone.single()[-1]
    for path in (copy, user):
        (alone.root / path).unlink()

    done = alone.call("archive", "run")

    assert "committed as " in done.out
    assert f"{user}: kept: it is not in any rollup of " in flat(done.out)
    assert state(alone) == f" D {user}\n"
    assert alone.call("view", "list", "done").out.count("did step") == 4


def test_copies_that_git_ignores_are_not_committed(alone: Archiver) -> None:
    (alone.root / ".gitignore").write_text(f"/{ARCHIVE}/\n", encoding="utf-8")
    alone.commit()

    done = alone.call("archive", "run")

    assert done.out.startswith("3 events moved to the archive\nnew rollups: 1\ncommitted as ")
    assert (alone.single(), state(alone)) == ([], "")
    assert len(list((alone.root / ARCHIVE).rglob("*.md"))) == 3


def test_a_run_that_cannot_commit_says_so_and_the_next_one_does(alone: Archiver) -> None:
    log = alone.root / ".git" / "logs" / "refs" / "heads" / "main"
    log.rename(log.with_name("kept"))
    put(log, "in-the-way", "")

    refused = alone.call("archive", "run", check=False)

    assert (refused.code, "committed as " in refused.out) == (1, False)
    assert state(alone)
    (log / "in-the-way").unlink()
    log.rmdir()
    assert "committed as " in alone.call("archive", "run").out
    assert state(alone) == ""
    assert alone.call("archive", "verify").code == 0


def test_at_a_terminal_an_interrupted_run_is_finished(
    alone: Archiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone.call("archive", "run")
    for path in alone.single()[:2]:
        (alone.root / path).unlink()
    sit_down(monkeypatch)
    monkeypatch.setattr(output, "agrees", lambda question, **_: question == "Archive them?")

    done = alone.call("archive", "run")

    assert done.out.startswith(
        "2 files removed by an interrupted run\n2 files removed by an interrupted run\ncommitted as "
    )
    assert state(alone) == ""


# --- who may archive ----------------------------------------------------------------------------------


def test_a_clone_that_is_chosen_twice_is_chosen_once(alone: Archiver) -> None:
    assert "3 events moved" in alone.call("archive", "run", "--always").out

    assert alone.call("archive", "run", "--always").out == "nothing to archive\n"
    assert len(alone.rollups()) == 1


def test_committed_settings_that_cannot_be_read_agree_to_nothing(tmp_path: Path, calling: Calling) -> None:
    (clone,) = make_clones(tmp_path, 1, JOB.replace("]", ""), calling=calling)
    clone.write(3, 12)
    clone.commit()
    clone.git("push", "-q")
    (clone.root / "passdown.toml").write_text(JOB, encoding="utf-8")

    refused = clone.call("archive", "run", check=False)

    assert (refused.code, "other clones write events, too" in flat(refused.err)) == (1, True)
    clone.git("commit", "-qam", "Settings")
    assert "3 events moved" in clone.call("archive", "run").out


def test_git_that_could_not_commit_is_a_reason_not_to_archive(
    alone: Archiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{what}")
    alone.git("config", "user.useConfigOnly", "true")

    refused = alone.call("archive", "run", check=False)

    assert refused.code == 1
    assert "user.name" in refused.err
    assert alone.rollups() == []


def test_rollups_that_git_ignores_are_a_reason_not_to_archive(alone: Archiver) -> None:
    (alone.root / ".gitignore").write_text("*.jsonl\n", encoding="utf-8")

    refused = alone.call("archive", "run", check=False)

    assert refused.code == 1
    assert "remove that rule from .gitignore" in flat(refused.err)
    assert len(alone.single()) == 3


def test_events_that_git_ignores_move_without_a_commit(alone: Archiver) -> None:
    alone.git("rm", "-rq", "--cached", "thoughts")
    (alone.root / ".gitignore").write_text("/thoughts/\n", encoding="utf-8")
    alone.commit()
    head = alone.git("rev-parse", "HEAD").stdout
    said = alone.call("synthesize")

    done = alone.call("synthesize", "--archive")

    assert "3 events" in flat(said.out + said.err)
    assert "3 events of 1 day" in flat(done.out)
    assert len(list((alone.root / ARCHIVE).rglob("*.md"))) == 3
    assert alone.git("rev-parse", "HEAD").stdout == head


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let more than two single files be many."""
    monkeypatch.setattr(archive_writers, "MANY_FILES", 2)
    return 2


@pytest.mark.usefixtures("few")
def test_many_files_wait_for_the_job_as_status_says(tmp_path: Path, calling: Calling) -> None:
    (clone,) = make_clones(tmp_path, 1, JOB, calling=calling)
    clone.write(3, 2)
    clone.commit()

    clone.view()
    said = flat(clone.call("status").out)

    assert "3 single event files" in said
    assert "the job on this branch archives them" in said


def test_in_a_worktree_beside_the_main_checkout_no_session_archives(alone: Archiver, tmp_path: Path) -> None:
    (alone.root / "passdown.toml").write_text("[events]\narchive = true\n", encoding="utf-8")
    alone.commit()
    alone.view()
    here = flat(alone.call("status").out)
    alone.git("checkout", "-q", "-b", "feature")
    alone.git("worktree", "add", "-q", str(tmp_path / "beside"), "main")
    beside = Archiver(tmp_path / "beside", "beside", alone.calling)

    beside.view()
    said = flat(beside.call("status").out)

    assert "the next end or start of a session in this checkout archives some of them" in here
    assert "one person archives them" in said


def test_synthesis_offers_to_archive_only_where_it_would(tmp_path: Path, calling: Calling) -> None:
    offered: list[bool] = []
    for folder, what in (("new", "init"), ("plain", "")):
        (tmp_path / folder).mkdir()
        clone = Archiver(tmp_path / folder, folder, calling)
        if what:
            clone.git(what, "-q", "-b", "main")
        offered.append(archive_writers.may_archive(open_checkout(clone.root, Settings())))
    (clone,) = make_clones(tmp_path, 1, calling=calling)
    clone.write(3, 12)
    clone.commit()
    clone.git("push", "-q")
    clone.view()
    offered.append(archive_writers.may_archive(open_checkout(clone.root, Settings())))
    clone.git("remote", "remove", "origin")
    offered.append(archive_writers.may_archive(open_checkout(clone.root, Settings())))

    assert offered == [True, True, False, True]
