"""The conflicts of an unfinished merge, rebase, cherry-pick or revert, and how the index settles them."""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from passdown.engines.git.commits import explain
from passdown.engines.git.git_folder import GitPaths
from passdown.engines.git.process import Git, split_names
from passdown.ports.archive_branch import Conflicts
from passdown.ports.repository import Skipped

_FILE: Final = "100644"
_NO_FILE: Final = f"0 {'0' * 40}"


class _Command(NamedTuple):
    """A command that can stop with conflicts: what shows it, and the commit that it merges."""

    sign: str
    theirs: str
    words: str
    proceed: str


_COMMANDS: Final = (
    _Command("rebase-merge", "REBASE_HEAD", "a rebase", "git rebase --continue"),
    _Command("rebase-apply", "REBASE_HEAD", "a rebase", "git rebase --continue"),
    _Command("MERGE_HEAD", "MERGE_HEAD", "a merge", "git commit --no-edit"),
    _Command("CHERRY_PICK_HEAD", "CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue"),
    _Command("REVERT_HEAD", "REVERT_HEAD^", "a revert", "git revert --continue"),
)
"""A rebase stops at one commit after the other, also at merges and picks; it comes first."""


def read_conflicts(git: Git, place: GitPaths, folders: Sequence[str]) -> Conflicts | None:
    """Return the conflicts in some folders, or None if there are none."""
    command = next((one for one in _COMMANDS if os.path.lexists(os.path.join(place.folder, one.sign))), None)
    unmerged = _list_unmerged(git)
    ours = tuple(f"{folder}/" for folder in folders)
    found = {path: tuple(ids) for path, ids in unmerged.items() if path.startswith(ours)}
    if command is None or not found:
        return None
    return Conflicts(
        command=command.words,
        proceed=command.proceed,
        unmerged=found,
        ours=_list_tree(git, "HEAD", ours),
        theirs=_list_tree(git, command.theirs, ours),
        merged=_list_merged(git, ours),
        others=len(unmerged) - len(found),
    )


def _list_unmerged(git: Git) -> dict[str, list[tuple[int, str]]]:
    """Return the contents of all files with conflicts; those above the project's folder start with `../`."""
    found: dict[str, list[tuple[int, str]]] = {}
    for line in split_names(git.run("ls-files", "-u", "-z", "--", ":/").output):
        facts, _, path = line.partition("\t")
        _, name, stage = facts.split(" ")
        found.setdefault(path, []).append((int(stage), name))
    return found


def _list_tree(git: Git, commit: str, folders: Sequence[str]) -> Mapping[str, str]:
    listed = git.run("--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *folders)
    lines = (line.partition("\t") for line in split_names(listed.output))
    return {path: facts.split(" ")[2] for facts, _, path in lines}


def _list_merged(git: Git, folders: Sequence[str]) -> Mapping[str, str]:
    listed = git.run("--literal-pathspecs", "ls-files", "-s", "-z", "--", *folders)
    lines = [line.partition("\t") for line in split_names(listed.output)]
    return {path: facts.split(" ")[1] for facts, _, path in lines if facts.endswith(" 0")}


def settle(git: Git, prefix: str, contents: Mapping[str, str | None]) -> Skipped | None:
    """Give files one content each in the index, or remove them from it; return why that failed."""
    start = f"{prefix}/" if prefix else ""
    lines = (
        f"{_NO_FILE if content is None else f'{_FILE} {content}'}\t{start}{path}\0"
        for path, content in contents.items()
    )
    done = git.run("update-index", "-z", "--index-info", data=os.fsencode("".join(lines)))
    return None if done.is_done else explain(done)
