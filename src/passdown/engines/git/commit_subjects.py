"""Reads what commits are about: their subjects and the files they changed."""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from passdown.core.facts import is_commit
from passdown.engines.git.git_folder import is_own
from passdown.engines.git.process import Git
from passdown.ports.git_history import DescribedCommit

_MARK: Final = "\x01"
_PARTS: Final = 3
_ASKED: Final = (
    *("log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "-z", "--name-only", "--relative"),
    *("--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color"),
    *("--encoding=UTF-8", "--format=%x01%H%x01%s"),
)


def read_described(git: Git, commits: Sequence[str]) -> Sequence[DescribedCommit]:
    """Describe the commits that git has, in the order of the ids; leave out ours and those on no branch."""
    asked = list(dict.fromkeys(name for name in commits if is_commit(name)))
    answer = git.run(*_ASKED, data="".join(f"{name}\n" for name in asked).encode())
    found = {
        one.id: one for one in _split(os.fsdecode(answer.output)) if not is_own(f"commit: {one.subject}")
    }
    left = _find_unreached(git, list(found)) if found else set[str]()
    return [found[name] for name in asked if name in found and name not in left]


def _split(output: str) -> Iterator[DescribedCommit]:
    """Split what git prints: a line that begins with a mark for each commit, then its files."""
    subject, name, files = "", "", list[str]()
    for part in output.split("\0"):
        words = part.split(_MARK, _PARTS - 1)
        if len(words) == _PARTS and not words[0].strip():
            if name:
                yield DescribedCommit(name, subject, tuple(files))
            name, subject, files = words[1], words[2], []
        elif path := part.lstrip("\n"):
            files.append(path)
    if name:
        yield DescribedCommit(name, subject, tuple(files))


def _find_unreached(git: Git, commits: Sequence[str]) -> set[str]:
    """Return the commits that no branch has, here or as last fetched, and that are not checked out."""
    answer = git.run("rev-list", *commits, "--not", "--branches", "--remotes", "HEAD", "--")
    return set(os.fsdecode(answer.output).split()) & set(commits) if answer.is_done else set()
