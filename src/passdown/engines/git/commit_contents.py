"""What a commit changes: the one that git is about to make, and those that were made."""

import os
from typing import TYPE_CHECKING, Final

from passdown.core.lazy_regex import pattern
from passdown.engines.git.process import Git, split_names
from passdown.ports.commit_contents import CommitContent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from passdown.engines.git.git_folder import GitPaths

_INDEX: Final = "GIT_INDEX_FILE"
_ID: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAMES: Final = ("-z", "--name-only", "--no-renames", "--relative")
"""Without renames, both names of one are told."""


def read_staged(git: Git, place: "GitPaths", variables: "Mapping[str, str]") -> CommitContent | None:
    """Return what the index changes, or None if git cannot tell.

    1. A hook of `git commit` is told which index is committed: with paths or `-a` it is not the usual one.
    2. A merge changes only what differs from every parent; the rest was changed by the commits it merges.
    3. The tree is written by git itself before it calls the hook. Elsewhere it is not asked for, because that
       would write the user's index.
    """
    told = variables.get(_INDEX)
    if told:
        git.variables = {**git.variables, _INDEX: os.path.join(place.top, told)}  # 1
    paths: dict[str, None] | None = None
    for parent in ((), *((one,) for one in _merged(git))):
        answer = git.run("diff", "--cached", *_NAMES, "--no-ext-diff", *parent, "--")
        if not answer.is_done:
            return None
        found = dict.fromkeys(split_names(answer.output))
        paths = found if paths is None else {path: None for path in paths if path in found}  # 2
    tree = os.fsdecode(git.run("write-tree").output).strip() if told else ""  # 3
    return CommitContent(tree=tree, paths=tuple(paths or ()))


def _merged(git: Git) -> list[str]:
    """Return the commits that are being merged."""
    answer = git.run("rev-parse", "--quiet", "--verify", "MERGE_HEAD")
    found = os.fsdecode(answer.output).split()
    return [name for name in found if _ID.fullmatch(name)]


def read_commits(git: Git, span: str) -> list[CommitContent] | None:
    """Return what the commits of a range changed, the oldest first; None if git does not know the range."""
    listed = git.run("log", "--reverse", "--format=%H %T", span, "--")
    if not listed.is_done:
        return None
    contents: list[CommitContent] = []
    for line in os.fsdecode(listed.output).splitlines():
        commit, tree = line.split()
        # Of a merge, `-c` names what differs from every parent.
        answer = git.run("diff-tree", "-r", "-c", "--root", "--no-commit-id", *_NAMES, commit)
        paths = tuple(split_names(answer.output))
        contents.append(CommitContent(tree=tree, paths=paths, commit=commit))
    return contents


def read_hooks_path(git: Git, place: "GitPaths") -> str:
    """Return the folder that `core.hooksPath` names, absolute and without links; empty if it names none."""
    answer = git.run("config", "--type=path", "-z", "--get-all", "core.hooksPath")
    *told, _ = split_names(answer.output) or [""]  # the last one is the option that we run git with
    return os.path.realpath(os.path.join(place.top, told[-1])) if told else ""
