"""What archiving asks git: whether others write to the branch, and one commit of many thousands of files.

`commit_paths` names every file to `git commit`, which compares each with the whole index. `commit_many` takes
the same steps in an index of its own, so the time grows only with the number of files:

1. `read-tree`, `update-index` and `write-tree` make the new tree from the last commit and these files.
2. `commit-tree` makes the commit; nothing refers to it yet.
3. `update-index` changes the same files in the user's index.
4. `update-ref` moves the branch, unless it moved in the meantime; then `reset` restores the user's index.
"""

import os
from collections.abc import Sequence

from passdown.engines.git.commits import (
    NOTHING,
    RetryingGit,
    choose_paths,
    explain,
    find_in_files,
)
from passdown.engines.git.git_folder import GitPaths
from passdown.engines.git.process import Git, split_names
from passdown.engines.scratch import scratch_folder
from passdown.ports.repository import Skipped, SkipReason

_FROM_INPUT = ("-z", "--add", "--remove", "--stdin")
_SCRATCH = ("-c", "index.version=4", "-c", "index.skipHash=true")
"""An index that only we read is written in its smallest form."""


def find_refusal(git: Git, place: GitPaths, branch: str, head: str) -> Skipped | None:
    """Return why nothing may be archived on a branch now, or None."""
    if (obstacle := find_in_files(place, branch, head)) is not None:
        return obstacle
    for upstream in ("@{upstream}", f"refs/remotes/origin/{branch}"):
        answer = git.run("rev-list", "--count", f"HEAD..{upstream}", "--")
        if answer.is_done:
            return _judge(branch, int(answer.output))
    return None


def _judge(branch: str, behind: int) -> Skipped | None:
    if not behind:
        return None
    count = "1 commit" if behind == 1 else f"{behind} commits"
    reason = f"{branch} lacks {count} of its upstream, which may have archived the same events"
    return Skipped(why=SkipReason.UNFINISHED, reason=reason, hint="run `git pull`, then try again")


def list_staged(git: Git, folders: Sequence[str]) -> frozenset[str]:
    """Return the files of some folders whose entry in the index differs from the last commit."""
    options = ("--cached", "--name-only", "-z", "--relative", "--no-renames", "--no-ext-diff")
    wanted = [f"{folder}/" for folder in folders]
    answer = git.run("--literal-pathspecs", "diff", *options, "HEAD", "--", *wanted)
    return frozenset(split_names(answer.output))


def commit_many(
    git: RetryingGit, root: str, head: str, paths: Sequence[str], message: str
) -> tuple[str, tuple[str, ...]] | Skipped:
    """Commit the files at these paths; return the commit and the paths, or why nothing was committed."""
    chosen = choose_paths(root, paths)
    made = _make_commit(git, head, chosen, message)  # 1, 2
    if isinstance(made, Skipped):
        return made
    staged = git.run("update-index", *_FROM_INPUT, names=chosen)  # 3
    if not staged.is_done:
        return explain(staged)
    moved = git.run("update-ref", "-m", f"commit: {message}", "HEAD", made, head)  # 4
    if not moved.is_done:
        git.run("reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", names=chosen)
        return explain(moved)
    return made, tuple(chosen)


def _make_commit(git: RetryingGit, head: str, paths: Sequence[str], message: str) -> str | Skipped:
    with scratch_folder() as folder:
        own = git.with_index(os.path.join(folder, "index"))
        for arguments in (("read-tree", head), ("update-index", *_FROM_INPUT)):
            answer = own.run(*_SCRATCH, *arguments, names=paths if "--stdin" in arguments else ())
            if not answer.is_done:
                return explain(answer)
        # A partial clone may lack files outside of our folders.
        tree = own.run("write-tree", "--missing-ok")
        if not tree.is_done:
            return explain(tree)
        new = tree.output.decode().strip()
        if new == own.run("rev-parse", f"{head}^{{tree}}").output.decode().strip():
            return NOTHING
        made = own.run("commit-tree", "--no-gpg-sign", new, "-p", head, "-m", message)
        return made.output.decode().strip() if made.is_done else explain(made)
