"""Whether a commit may be made that the user did not ask for, and which files it would include."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from passdown.engines.git.commits import choose_paths, explain, read_options, sort_out, unfinished
from passdown.engines.git.git_folder import GitPaths, find_unfinished, is_own, read_end
from passdown.engines.git.process import Git
from passdown.ports.repository import UNKNOWN, Skipped, SkipReason

_REFLOG: Final = 8_192
"""How many bytes at the end of the reflog are read for its last line."""

_MINUTE: Final = timedelta(minutes=1)


def find_in_files(place: GitPaths, branch: str, head: str) -> Skipped | None:
    """Return the obstacle that git's files tell of, without starting git.

    1. A command with several steps is in progress.
    2. The index, HEAD or the branch is locked. Unlike a command of the user, a hook does not wait for it. A
       git that was killed leaves such a file, too.
    3. HEAD is detached: a commit there is lost with the next checkout.
    4. There is no commit yet. The first one is the user's: a clone of a template may still come before it.
    """
    if under_way := find_unfinished(place.folder):  # 1
        return unfinished(under_way)
    if name := _find_lock(place, branch):  # 2
        hint = "it goes away with the git command that holds it; if none runs, remove it from git's folder"
        return Skipped(why=SkipReason.LOCKED, reason=f"{name} exists", hint=hint)
    if branch == UNKNOWN:  # 3
        hint = "check out a branch"
        return Skipped(why=SkipReason.DETACHED, reason="no branch is checked out", hint=hint)
    if not head:  # 4
        hint = "make the first commit yourself"
        return Skipped(why=SkipReason.NO_COMMIT, reason="the branch has no commit yet", hint=hint)
    return None


def _find_lock(place: GitPaths, branch: str) -> str:
    """Return the lock file that would make a commit fail; empty if there is none."""
    locks = (
        (place.folder, "index.lock"),
        (place.folder, "HEAD.lock"),
        (place.common, f"refs/heads/{branch}.lock"),
    )
    return next((name for folder, name in locks if os.path.lexists(os.path.join(folder, name))), "")


def find_with_git(
    git: Git, place: GitPaths, head: str, now: datetime, amendable: timedelta
) -> Skipped | None:
    """Return the obstacle that only git can tell of: a commit the user may amend, or no author."""
    if not _is_own_commit(place, head):
        answer = git.run("rev-list", "--max-count=1", "--timestamp", "HEAD", "--not", "--remotes", "--")
        if not answer.is_done:
            return explain(answer)
        if (found := _judge(answer.output, now, amendable)) is not None:
            return found
    options = read_options(git)
    return options if isinstance(options, Skipped) else None


def _is_own_commit(place: GitPaths, head: str) -> bool:
    """Return whether we made the last commit in this checkout, and nobody has amended it since."""
    last = read_end(os.path.join(place.folder, "logs", "HEAD"), _REFLOG).rstrip(b"\n").rpartition(b"\n")[2]
    facts, _, how = last.decode("utf-8", "replace").partition("\t")
    words = facts.split(" ")
    return len(words) > 1 and words[1] == head and is_own(how)


def _judge(output: bytes, now: datetime, amendable: timedelta) -> Skipped | None:
    """Judge a commit that no remote branch contains; the output is empty if one does.

    A commit from further ahead than the interval comes from a wrong clock, and does not count.
    """
    seconds = output.split(b" ")[0]
    if not seconds.isdigit():
        return None
    age = now - datetime.fromtimestamp(int(seconds), UTC)
    if age >= amendable or -age > amendable:
        return None
    minutes = max(0, age // _MINUTE)
    old = "1 minute" if minutes == 1 else f"{minutes} minutes"
    reason = f"the last commit is yours, {old} old and not pushed: you may still amend it"
    hint = "push it, or wait until it is 30 minutes old, or run `passdown synthesize --commit`"
    return Skipped(why=SkipReason.AMENDABLE, reason=reason, hint=hint)


def list_committable(git: Git, root: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the paths that a commit would include; all of ours if git does not tell."""
    chosen = choose_paths(root, paths)
    sorted_out = sort_out(git, chosen)
    if isinstance(sorted_out, Skipped):
        return chosen
    tracked, new = sorted_out
    return sorted({*tracked, *new})
