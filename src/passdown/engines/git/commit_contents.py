"""The messages and changes of commits: of the one that git is about to make, and of those in the history."""

import os
from typing import TYPE_CHECKING, Final

from passdown.core.facts import is_commit
from passdown.core.lazy_regex import pattern
from passdown.engines.git.git_folder import is_own, read_text
from passdown.engines.git.process import Git, split_names
from passdown.ports.commit_contents import ChangedLines, CommitContent
from passdown.ports.git_history import DescribedCommit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from passdown.engines.git.git_folder import GitPaths

_INDEX: Final = "GIT_INDEX_FILE"
_PARENT: Final = "GITHEAD_"
_HEAD: Final = "/"
_ID: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAMES: Final = ("-z", "--name-only", "--no-renames", "--relative")
"""Without rename detection, git reports both names of a renamed file."""


def read_staged(git: Git, place: "GitPaths", variables: "Mapping[str, str]") -> CommitContent | None:
    """Return the changes in the index, or None if git cannot report them.

    1. Git tells a `git commit` hook which index it commits: with paths or `-a` it is not the usual one.
    2. A merge changes only what differs from every parent; the rest was changed by the commits it merges.
    3. Git writes the tree itself before it calls the hook. Elsewhere we do not ask for the tree, because git
       would write the user's index.
    """
    told = variables.get(_INDEX)
    if told:
        git.variables = {**git.variables, _INDEX: os.path.join(place.top, told)}  # 1
    paths: dict[str, None] | None = None
    for parent in ((), *((one,) for one in _list_merged(place, variables if told else {}))):
        answer = git.run("diff", "--cached", *_NAMES, "--no-ext-diff", *parent, "--")
        if not answer.is_done:
            return None
        found = dict.fromkeys(split_names(answer.output))
        paths = found if paths is None else {path: None for path in paths if path in found}  # 2
    tree = os.fsdecode(git.run("write-tree").output).strip() if told else ""  # 3
    return CommitContent(tree=tree, paths=tuple(paths or ()))


def _list_merged(place: "GitPaths", variables: "Mapping[str, str]") -> list[str]:
    """Return the commits that are being merged.

    A merge that stopped has recorded them in a file. A merge that commits at once has not yet; it tells its
    hook through the names of variables (C156).
    """
    written = (read_text(os.path.join(place.folder, "MERGE_HEAD")) or "").split()
    told = [name.removeprefix(_PARENT) for name in variables if name.startswith(_PARENT)]
    return [name for name in dict.fromkeys((*written, *told)) if _ID.fullmatch(name)]


def read_commits(git: Git, *span: str) -> list[CommitContent] | None:
    """Return what the commits of a range changed, the oldest first; None if git does not know the range.

    For a merge, `-c` lists what differs from every parent.
    """
    options = ("--reverse", "--root", "-c", "--no-show-signature", "--no-ext-diff", *_NAMES)
    listed = git.run("log", f"--format={_HEAD}%H %T", *options, *span, "--")
    if not listed.is_done:
        return None
    found: list[tuple[str, list[str]]] = []
    before = ""
    for text in os.fsdecode(listed.output).split("\0"):
        if text.startswith(_HEAD):  # no path starts like this
            found.append((text[1:], []))
        elif text:  # git prints a line feed before the first path, but not for a merge
            found[-1][1].append(text[1:] if before.startswith(_HEAD) else text)
        before = text
    return [
        CommitContent(commit=head.split()[0], tree=head.split()[1], paths=tuple(paths))
        for head, paths in found
    ]


def read_pushed(git: Git, tips: "Sequence[str]", known: "Sequence[str]") -> list[CommitContent] | None:
    """Return the changes of the commits that a push adds: those that no remote has, as far as we know."""
    ids = [f"{one}^{{commit}}" for one in (*tips, *known) if _ID.fullmatch(one)]
    answer = git.run(
        "cat-file", "--batch-check=%(objectname)", data="".join(f"{one}\n" for one in ids).encode()
    )
    found = os.fsdecode(answer.output).splitlines()
    there = [one for one, line in zip(ids, found, strict=False) if _ID.fullmatch(line)]
    new = [one for one in there if one.partition("^")[0] in tips]
    old = [f"^{one}" for one in there if one.partition("^")[0] in known]
    return read_commits(git, *new, *old, "--not", "--remotes") if new else []


def read_changed(git: Git, branch: str) -> list[str]:
    """Return the files changed since the last commit that a branch also has."""
    for start in ("refs/heads/", "refs/remotes/origin/"):
        answer = git.run("diff", *_NAMES, "--no-ext-diff", f"{start}{branch}...HEAD", "--")
        if answer.is_done:
            return split_names(answer.output)
    return []


def read_created(git: Git, commit: str, paths: "Sequence[str]") -> list[str]:
    """Return those of the paths that a commit does not have."""
    answer = git.run("ls-tree", "-z", "--name-only", commit, "--", *paths) if _ID.fullmatch(commit) else None
    if answer is None or not answer.is_done:
        return []
    there = frozenset(split_names(answer.output))
    return [path for path in paths if path not in there]


def read_changes(git: Git, commit: str, paths: "Sequence[str]") -> dict[str, ChangedLines]:
    """Return how many lines of tracked files were added and removed since a commit; `-` means no text."""
    if not _ID.fullmatch(commit):
        return {}
    options = ("-z", "--numstat", "--no-renames", "--relative", "--no-ext-diff", "--no-textconv")
    answer = git.run("--literal-pathspecs", "diff", *options, commit, "--", *paths)
    lines = [one.split("\t", 2) for one in split_names(answer.output)] if answer.is_done else []
    return {path: ChangedLines(_count(added), _count(removed)) for added, removed, path in lines}


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def read_file(git: Git, commit: str, path: str) -> bytes | None:
    """Return the content of a file in a commit, by its path from here."""
    answer = git.run("cat-file", "blob", f"{commit}:./{path}") if _ID.fullmatch(commit) else None
    return answer.output if answer is not None and answer.is_done else None


def read_author_name(git: Git) -> str:
    """Return the name of the author of commits, as git's own variable or setting names it."""
    if named := git.variables.get("GIT_AUTHOR_NAME", ""):
        return named
    for setting in ("author.name", "user.name"):
        answer = git.run("config", "-z", setting)
        told = next(iter(split_names(answer.output)), "").strip() if answer.is_done else ""
        if told:
            return told
    return ""


def read_hooks_path(git: Git, place: "GitPaths") -> str:
    """Return the folder that `core.hooksPath` names, absolute and without links; empty if it is not set."""
    answer = git.run("config", "--type=path", "-z", "--get-all", "core.hooksPath")
    *told, _ = split_names(answer.output) or [""]  # the last value is our own option
    return os.path.realpath(os.path.join(place.top, told[-1])) if told else ""


_MARK: Final = "\x01"
_PARTS: Final = 3
_ASKED: Final = (
    *("log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "-z", "--name-only", "--relative"),
    *("--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color"),
    *("--encoding=UTF-8", "--format=%x01%H%x01%s"),
)


def read_described(git: Git, commits: "Sequence[str]") -> list[DescribedCommit]:
    """Describe the commits that git has, in the order of the ids; leave out ours and those on no branch."""
    asked = list(dict.fromkeys(name for name in commits if is_commit(name)))
    answer = git.run(*_ASKED, data="".join(f"{name}\n" for name in asked).encode())
    found = {
        one.id: one for one in _split(os.fsdecode(answer.output)) if not is_own(f"commit: {one.subject}")
    }
    left = _find_unreached(git, list(found)) if found else set[str]()
    return [found[name] for name in asked if name in found and name not in left]


def _split(output: str) -> "Iterator[DescribedCommit]":
    """Split git's output: for each commit a line that begins with a mark, then its files."""
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


def _find_unreached(git: Git, commits: "Sequence[str]") -> set[str]:
    """Return the commits that are on no local or fetched branch and are not checked out."""
    answer = git.run("rev-list", *commits, "--not", "--branches", "--remotes", "HEAD", "--")
    return set(os.fsdecode(answer.output).split()) & set(commits) if answer.is_done else set()
