"""One clone archives, the others add events: git merges what they did without a conflict (C127)."""

from pathlib import Path

import pytest

from tests.support.clones.archivers import TODAY, Archiver, Calling, make_clones

JOB = '[events]\narchiver = "job"\n'
EVENTS = 12


def prepare(folder: Path, calling: Calling) -> tuple[Archiver, Archiver]:
    """Make two clones that both have old events and old copies; the second also has a branch."""
    writer, other = make_clones(folder, 2, JOB, calling=calling)
    writer.write(EVENTS, 60)
    writer.write(EVENTS, 12)
    writer.write(EVENTS, 1)
    writer.commit()
    writer.git("push", "-q")
    other.git("pull", "-q")
    other.git("checkout", "-q", "-b", "feature")
    other.write(3, 0, agent="feature")
    other.call("synthesize", "--commit")
    other.git("checkout", "-q", "main")
    return writer, other


def clean(writer: Archiver) -> None:
    """Archive, and remove old copies, by every command that does; then push."""
    writer.call("synthesize", "--archive", "--commit")
    for _ in range(2):
        writer.call("archive", "run", check=False)
        writer.write(2, 0.5)
        writer.commit()
    writer.call("archive", "clean", "--older", "1d", "--yes", check=False)
    writer.commit()
    writer.git("push", "-q")


@pytest.mark.requirement("C127", "C22")
@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_what_one_clone_archived_merges_with_what_the_others_added(
    tmp_path: Path, calling: Calling, way: str
) -> None:
    writer, other = prepare(tmp_path, calling)
    other.call("start")
    other.call("done", "Worked in another clone")
    other.call("end")
    other.write(4, 2, agent="late")
    other.call("synthesize", "--commit")
    before = set(other.single())
    clean(writer)

    pulled = other.git("pull", "--quiet", "--no-edit", way, check=False)

    assert (other.conflicts(), pulled.returncode) == ([], 0), pulled.stdout + pulled.stderr
    for arguments in (("checkout", "-q", "feature"), ("merge", "--quiet", "--no-edit", "main")):
        merged = other.git(*arguments, check=False)
        assert (other.conflicts(), merged.returncode) == ([], 0), merged.stdout + merged.stderr
    other.git("checkout", "-q", "main")
    other.git("merge", "--quiet", "--no-edit", "feature")
    other.git("push", "-q")
    writer.git("pull", "--quiet")
    assert writer.view() == other.view()
    assert other.rollups()
    assert len(before) > len(other.single())
    other.call("synthesize", "--commit")
    assert other.call("view", "verify").code == 0
    assert "Worked in another clone" in other.view()


def make_alone(folder: Path, calling: Calling, settings: str = "") -> Archiver:
    """Make a clone with old events that nobody else has, and no remote."""
    (alone,) = make_clones(folder, 1, settings, calling=calling)
    alone.git("remote", "remove", "origin")
    alone.write(5, 60)
    alone.write(5, 12)
    alone.commit()
    return alone


def events_of(clone: Archiver) -> str:
    """Print all events, whatever file they are in."""
    return clone.call("view", "list", "done").out


@pytest.mark.requirement("C127", "C128")
def test_a_run_is_one_commit_and_the_next_one_removes_old_copies(tmp_path: Path, calling: Calling) -> None:
    alone = make_alone(tmp_path, calling)
    before, count = events_of(alone), alone.git("rev-list", "--count", "HEAD").stdout

    done = alone.call("archive", "run")

    assert done.out.startswith("10 events moved to the archive\nnew rollups: 2\ncommitted as ")
    assert int(alone.git("rev-list", "--count", "HEAD").stdout) == int(count) + 1
    assert alone.git("status", "--porcelain", "--", "thoughts").stdout == ""
    assert [path.split("/")[3] for path in alone.single()] == ["archive"] * 10
    again = alone.call("archive", "run")
    assert again.out.startswith("5 files removed\ncommitted as ")
    assert len(alone.single()) == 5
    assert alone.call("archive", "run").out == "nothing to archive\n"
    assert events_of(alone) == before
    assert alone.call("archive", "verify").code == 0


@pytest.mark.requirement("C127")
def test_a_dry_run_changes_nothing(tmp_path: Path, calling: Calling) -> None:
    alone = make_alone(tmp_path, calling)

    done = alone.call("archive", "run", "--dry-run")

    assert done.out == "10 events would be moved to the archive\n"
    assert (alone.git("status", "--porcelain").stdout, alone.rollups()) == ("", [])


@pytest.mark.requirement("C127")
def test_more_than_2000_files_are_rolled_up_day_by_day_without_waiting(
    tmp_path: Path, calling: Calling
) -> None:
    alone = make_alone(tmp_path, calling, JOB)
    for days_ago, number in ((3, 900), (2, 900), (1, 900), (0, 5)):
        alone.write(number, days_ago)
    alone.commit()
    before = len(alone.single())
    assert before == 2715
    view = alone.view()

    alone.call("archive", "run")

    days = {path.rpartition("/")[2][:10] for path in alone.single()}
    assert len(alone.single()) <= 2000
    assert len(alone.single()) >= 5
    assert max(days) == TODAY.date().isoformat() or len(days) > 1
    assert alone.git("status", "--porcelain", "--", "thoughts").stdout == ""
    assert alone.view() == view


@pytest.mark.requirement("C127")
def test_a_clone_behind_its_upstream_on_another_branch_or_in_a_merge_refuses(
    tmp_path: Path, calling: Calling
) -> None:
    writer, other = prepare(tmp_path, calling)
    other.git("checkout", "-q", "feature")
    refused = other.call("archive", "run", check=False)
    assert (refused.code, "events are archived on main" in refused.err) == (1, True)
    other.git("checkout", "-q", "main")
    writer.write(1, 0)
    writer.commit()
    writer.git("push", "-q")
    other.git("fetch", "-q")
    refused = other.call("archive", "run", check=False)
    assert (refused.code, "main lacks 1 commit of its upstream" in refused.err) == (1, True)
    asked = other.call("synthesize", "--archive")
    assert "not archived: " in asked.err
    other.git("merge", "-q", "--no-commit", "--no-ff", "origin/main")
    refused = other.call("archive", "run", check=False)
    assert (refused.code, "a merge is in progress" in refused.err) == (1, True)
    assert other.rollups() == []


@pytest.mark.requirement("C127")
def test_without_the_committed_setting_a_clone_beside_others_removes_nothing(
    tmp_path: Path, calling: Calling
) -> None:
    writer, other = make_clones(tmp_path, 2, calling=calling)
    writer.write(5, 12)
    writer.commit()
    writer.git("push", "-q")
    other.git("pull", "-q")
    (other.root / "passdown.toml").write_text(JOB, encoding="utf-8")

    refused = other.call("archive", "run", "--always", check=False)

    assert (refused.code, "other clones write events, too" in refused.err) == (1, True)
    assert "nobody archives them" in other.call("status").out.replace("\n  ", " ")
    other.git("commit", "-qam", "The job archives")
    assert "5 events moved" in other.call("archive", "run").out
    assert other.git("status", "--porcelain", "--", "thoughts").stdout == ""


@pytest.mark.requirement("C127")
def test_synthesize_archives_only_in_the_clone_that_a_person_chose(tmp_path: Path, calling: Calling) -> None:
    _, other = prepare(tmp_path, calling)

    asked = other.call("synthesize", "--archive")

    assert "not archived: this is not the clone that archives" in asked.err
    assert other.rollups() == []
    other.call("archive", "run", "--always", "--dry-run")
    assert "not archived" in other.call("synthesize", "--archive").err
    other.call("archive", "run", "--always")
    other.write(2, 13, agent="late")
    other.commit()
    assert "2 events of " in other.call("synthesize", "--archive").out
    other.call("archive", "run", "--no-always")
    assert "not archived" in other.call("synthesize", "--archive").err


@pytest.mark.requirement("C127", "C128")
@pytest.mark.parametrize("damage", ["altered", "cut", "missing"])
def test_nothing_that_a_damaged_rollup_should_hold_is_removed(
    tmp_path: Path, calling: Calling, damage: str
) -> None:
    alone = make_alone(tmp_path, calling)
    alone.call("archive", "run")
    path = next(path for path in alone.rollups() if f"{TODAY.year}-" in path)
    for path in alone.rollups():
        file = alone.root / path
        data = file.read_bytes()
        if damage == "altered":
            file.write_bytes(data.replace(b"did step", b"did Step", 1))
        elif damage == "cut":
            file.write_bytes(data[:-40])
        else:
            file.unlink()
    before = alone.single()

    done = alone.call("archive", "clean", "--older", "1d", "--yes")

    assert done.out.startswith("removed 0 copies")
    assert all(path in done.out.replace("\n  ", "") for path in alone.rollups())
    assert alone.single() == before
    assert all((alone.root / path).exists() for path in before)
    assert alone.call("archive", "verify", check=False).code == 1


@pytest.mark.requirement("C127")
def test_after_git_clean_and_in_partial_clones_only_what_head_has_is_removed(
    tmp_path: Path, calling: Calling
) -> None:
    alone = make_alone(tmp_path, calling, JOB)
    alone.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    alone.git("push", "-q", "-f", "origin", "main")
    alone.write(2, 11, agent="new")
    done = alone.call("archive", "run")
    assert "2 events not committed yet, so not archived" in done.out
    alone.git("clean", "-xdfq")
    before = events_of(alone)
    for name, options in (("shallow", ["--depth=1"]), ("partial", ["--filter=blob:none"])):
        clone = alone.clone(name, *options)
        clone.write(2, 11, agent="new")

        ran = clone.call("archive", "run")

        assert "10 events moved to the archive" in ran.out
        assert "2 events not committed yet, so not archived" in ran.out
        clone.git("clean", "-xdfq")
        assert events_of(clone) == before
        assert clone.git("status", "--porcelain").stdout == ""
