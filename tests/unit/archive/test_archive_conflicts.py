"""Two clones archived at once: `passdown archive resolve` settles what git could not merge (C127)."""

from pathlib import Path

import pytest

from tests.support.clones.archivers import Archiver, Calling, make_clones

JOB = '[events]\narchiver = "job"\n'


def make_rivals(folder: Path, calling: Calling) -> tuple[Archiver, Archiver]:
    """Let one clone move events and the other one remove them; both write new ones that look alike."""
    one, other = make_clones(folder, 2, JOB, calling=calling)
    for days in (60, 50, 12):
        one.write(6, days)
    one.commit()
    one.git("push", "-q")
    other.git("pull", "-q")
    for clone, retentions in ((one, (7, 7)), (other, (55, 20))):
        for number, days in enumerate(retentions):
            clone.call("archive", "run", PASSDOWN_EVENTS_RETENTION_DAYS=str(days))
            clone.write(6, 0.1 + number)
            clone.commit()
    return one, other


def done(clone: Archiver) -> set[str]:
    """Give everything that events say is done."""
    return {line for line in clone.call("view", "list", "done").out.splitlines() if "did step" in line}


def settle(clone: Archiver) -> int:
    """Resolve and go on until the command is finished; give how often it had stopped."""
    stops = 0
    while clone.conflicts() or (clone.root / ".git" / "rebase-merge").exists():
        stops += 1
        assert stops < 20
        said = clone.call("archive", "resolve").out
        assert clone.conflicts() == [], said
        if (clone.root / ".git" / "rebase-merge").exists():
            clone.git("-c", "core.editor=true", "rebase", "--continue", check=False)
        elif (clone.root / ".git" / "CHERRY_PICK_HEAD").exists():
            clone.git("-c", "core.editor=true", "cherry-pick", "--continue", check=False)
        else:
            clone.git("commit", "--no-edit", "-q")
    return stops


@pytest.mark.requirement("C127")
@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
@pytest.mark.parametrize("is_cleaner_first", [True, False])
def test_conflicts_of_two_runs_are_settled_and_no_event_is_lost(
    tmp_path: Path, calling: Calling, way: str, *, is_cleaner_first: bool
) -> None:
    one, other = make_rivals(tmp_path, calling)
    if not is_cleaner_first:
        one, other = other, one
    one.git("push", "-q")
    everything = done(one) | done(other)

    pulled = other.git("pull", "--quiet", "--no-edit", way, check=False)
    assert pulled.returncode != 0
    warned = other.call("synthesize").err + other.call("status").err
    examined = other.call("doctor", check=False)
    stops = settle(other)

    assert "has conflicts in" in warned
    assert warned.count("passdown archive resolve") == 2
    assert "passdown archive resolve" in examined.out + examined.err
    assert stops
    assert done(other) == everything
    assert other.git("status", "--porcelain", "--", "thoughts").stdout in {
        "",
        " M thoughts/shared/handoffs/current.md\n",
        "?? thoughts/shared/handoffs/current.md\n",
    }
    assert other.call("archive", "verify").code == 0
    assert other.call("archive", "resolve").out == "no conflict in events or archived events\n"
    other.git("push", "-q")
    one.git("pull", "-q", "--no-edit")
    assert done(one) == everything


@pytest.mark.requirement("C127")
def test_a_conflict_of_the_user_stays_and_what_no_rollup_holds_is_kept(
    tmp_path: Path, calling: Calling
) -> None:
    one, other = make_rivals(tmp_path, calling)
    for clone in (one, other):
        (clone.root / "mine.txt").write_text(clone.agent, encoding="utf-8")
        clone.commit()
    one.git("push", "-q")
    everything = done(one) | done(other)
    other.git("pull", "--quiet", "--no-edit", "--no-rebase", check=False)
    before = other.conflicts()

    said = other.call("archive", "resolve")

    assert "mine.txt" in before
    assert other.conflicts() == ["mine.txt"]
    assert "1 other file with conflicts" in said.err
    assert done(other) == everything


@pytest.mark.requirement("C127")
def test_without_an_intact_rollup_every_file_stays(tmp_path: Path, calling: Calling) -> None:
    one, other = make_rivals(tmp_path, calling)
    for clone in (one, other):
        for path in clone.rollups():
            file = clone.root / path
            file.write_bytes(file.read_bytes().replace(b"did step", b"did Step", 1))
        clone.commit("damage")
    one.git("push", "-q")
    other.git("pull", "--quiet", "--no-edit", "--no-rebase", check=False)
    before = {path for path in other.conflicts() if (other.root / path).exists()}

    other.call("archive", "resolve", check=False)

    assert before
    assert all((other.root / path).exists() for path in before)


@pytest.mark.requirement("C127")
def test_an_index_that_git_cannot_write_is_named_and_nothing_is_lost(
    tmp_path: Path, calling: Calling
) -> None:
    one, other = make_rivals(tmp_path, calling)
    one.git("push", "-q")
    everything = done(one) | done(other)
    other.git("pull", "--quiet", "--no-edit", "--no-rebase", check=False)
    before = other.conflicts()
    lock = other.root / ".git" / "index.lock"
    lock.touch()

    refused = other.call("archive", "resolve", check=False)

    assert (refused.code, "index.lock" in refused.err) == (1, True)
    assert other.conflicts() == before
    lock.unlink()
    for path in before:  # somebody tidied up meanwhile
        (other.root / path).unlink(missing_ok=True)
    assert settle(other) == 1
    assert done(other) == everything
