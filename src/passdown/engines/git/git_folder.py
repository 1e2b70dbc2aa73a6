"""Facts about a checkout, read from git's files without running git.

A function that cannot be certain returns None, and its caller asks git.
"""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.engines.files import read
from passdown.errors import UsageError
from passdown.ports.repository import UNKNOWN, Checkout
from passdown.records import record

_HEADS: Final = "refs/heads/"
_ID: Final = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_MOST: Final = 65_536
"""How many bytes of a small git file are read."""
_PACKED: Final = 67_108_864

UNFINISHED: Final = MappingProxyType(
    {
        "rebase-merge": "a rebase",
        "rebase-apply": "a rebase or `git am`",
        "MERGE_HEAD": "a merge",
        "CHERRY_PICK_HEAD": "a cherry-pick",
        "REVERT_HEAD": "a revert",
        "sequencer": "a cherry-pick or revert",
        "BISECT_LOG": "a bisect",
    }
)
"""The files in a checkout's git folder that exist while a command with several steps is in progress."""


@record
class GitPaths:
    """A checkout and the folders in which git stores its data; all paths are absolute."""

    top: str
    folder: str
    """The folder of this checkout alone: HEAD, the index, a merge in progress."""
    common: str
    """The folder that all checkouts share: refs, objects, settings."""
    options: tuple[str, ...] = ()
    """The options that git needs if it would not find these folders by itself."""


def find_git_paths(root: str, variables: Mapping[str, str]) -> GitPaths | None:
    """Return the checkout that contains a folder, or None; raise a UsageError in a bare repository.

    1. The nearest ``.git`` upward. It wins even if ``GIT_DIR`` names another repository: when we run in a
       hook of one repository, the files of another must not be committed to it.
    2. ``GIT_DIR``, with ``GIT_WORK_TREE`` or the root as the top.
    """
    # 1.
    start = os.path.realpath(root)
    for top in _upward(start):
        if folder := read_link(top):
            return _refuse_bare(GitPaths(top=top, folder=folder, common=read_common(folder)))
        if _is_git_folder(top):
            raise _bare(top)
    # 2.
    if not variables.get("GIT_DIR"):
        return None
    folder = os.path.realpath(variables["GIT_DIR"])
    tree = variables.get("GIT_WORK_TREE")
    top = os.path.realpath(tree) if tree else start
    if not _is_git_folder(folder) or os.path.commonpath([start, top]) != top:
        return None
    options = (f"--git-dir={folder}", f"--work-tree={top}")
    place = GitPaths(top=top, folder=folder, common=read_common(folder), options=options)
    return place if tree else _refuse_bare(place)


def _upward(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def read_link(top: str) -> str | None:
    """Return the git folder of a checkout, even if ``.git`` is a file that names it, or None."""
    path = os.path.join(top, ".git")
    if not os.path.isdir(path):
        text = read_text(path) or ""
        if not text.startswith("gitdir:"):
            return None
        path = os.path.join(top, text.removeprefix("gitdir:").strip())
    path = os.path.realpath(path)
    return path if _is_git_folder(path) else None


def read_common(folder: str) -> str:
    """Return the folder that all checkouts share; for the main checkout it is its own git folder."""
    text = read_text(os.path.join(folder, "commondir"))
    return os.path.realpath(os.path.join(folder, text.strip())) if text else folder


def _is_git_folder(folder: str) -> bool:
    """Return whether git would accept a folder as its own."""
    if not os.path.lexists(os.path.join(folder, "HEAD")):
        return False
    common = read_common(folder)
    return all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))


def _refuse_bare(place: GitPaths) -> GitPaths:
    """Return the paths unless the repository is bare; a worktree of a bare repository is a checkout."""
    is_main = place.folder == place.common
    if is_main and read_core(place.common).get("bare", "").lower() in _TRUE:
        raise _bare(place.folder)
    return place


def _bare(folder: str) -> UsageError:
    message = f"{folder} is a bare repository or inside one: it has no files to work on"
    return UsageError(message, hint="go to a checkout; `git worktree add` makes one")


def read_core(common: str) -> Mapping[str, str]:
    """Return the settings in a repository's own ``[core]`` section, with keys in lower case."""
    values: dict[str, str] = {}
    section = ""
    for line in (read_text(os.path.join(common, "config")) or "").splitlines():
        text = line.strip()
        if text.startswith("["):
            section, _, text = text[1:].partition("]")
            section, text = section.strip().lower(), text.strip()
        if section == "core" and text and text[0] not in "#;":
            key, sign, value = text.partition("=")
            value = value.partition(" #")[0].partition(" ;")[0].strip().strip('"')
            values[key.strip().lower()] = value if sign else "true"
    return values


def ignores_case(common: str) -> bool:
    """Return whether a repository's own settings say that its checkouts ignore case."""
    return read_core(common).get("ignorecase", "").lower() in _TRUE


def read_text(path: str) -> str | None:
    """Return the text of a small file, or None if it cannot be read."""
    try:
        return os.fsdecode(read.read_start(path, _MOST))
    except OSError:
        return None


def read_branch(folder: str) -> str | None:
    """Return the branch of a git folder's HEAD, `UNKNOWN` if there is none, or None if only git knows.

    Only git knows if HEAD is a link, as very old versions of git made it, or if the refs are in a reftable.
    """
    path = os.path.join(folder, "HEAD")
    text = None if os.path.islink(path) else read_text(path)
    if text is None:
        return None
    target = text.removeprefix("ref:").strip()
    if text.startswith(f"ref: {_HEADS}"):
        name = target.removeprefix(_HEADS)
        return None if name in {"", ".invalid"} else name
    return UNKNOWN if text.startswith("ref: refs/") or _ID.fullmatch(target) else None


def read_target(common: str, ref: str) -> str | None:
    """Return the ref that a symbolic ref points to, or None."""
    text = read_text(os.path.join(common, *ref.split("/"))) or ""
    return text.removeprefix("ref:").strip() if text.startswith("ref:") else None


def read_id(place: GitPaths, branch: str) -> str:
    """Return the id of a branch's last commit, or of a detached HEAD; empty if it cannot be read."""
    folder, ref = (place.folder, "HEAD") if branch == UNKNOWN else (place.common, _HEADS + branch)
    text = (read_text(os.path.join(folder, *ref.split("/"))) or "").strip()
    return text if _ID.fullmatch(text) else _read_packed(place.common, ref)


def _read_packed(common: str, ref: str) -> str:
    """Return the id of a packed ref; empty if there is none."""
    for line in _read_refs(common).splitlines():
        name, _, found = line.decode("utf-8", "surrogateescape").partition(" ")
        if found == ref and _ID.fullmatch(name):
            return name
    return ""


def has_branch(common: str, name: str) -> bool:
    """Return whether a branch exists, loose or packed."""
    if os.path.isfile(os.path.join(common, "refs", "heads", *name.split("/"))):
        return True
    return f" {_HEADS}{name}\n".encode() in _read_refs(common)


def _read_refs(common: str) -> bytes:
    try:
        return read.read_trusted(os.path.join(common, "packed-refs"), _PACKED)
    except OSError:
        return b""


def read_checkouts(place: GitPaths) -> list[Checkout] | None:
    """List the existing checkouts, including the main one; None if only git knows the branch of one."""
    found: list[Checkout] = []
    for top, folder in ((place.top, place.folder), *_others(place)):
        branch = read_branch(folder)
        if branch is None:
            return None
        found.append(Checkout(path=top, branch=branch, is_here=folder == place.folder))
    return found


def _others(place: GitPaths) -> Iterator[tuple[str, str]]:
    """Yield top and git folder of every other checkout, if the two refer to each other."""
    main = _main_top(place.common)
    if place.folder != place.common and main is not None and read_link(main) == place.common:
        yield main, place.common
    home = os.path.join(place.common, "worktrees")
    for name in sorted(read.names(home, home)) if os.path.isdir(home) else ():
        folder = os.path.realpath(os.path.join(home, name))
        link = (read_text(os.path.join(folder, "gitdir")) or "").strip()
        top = os.path.dirname(os.path.realpath(os.path.join(folder, link)))
        if link and folder != place.folder and read_link(top) == folder:
            yield top, folder


def list_registered(common: str) -> list[str]:
    """Return the tops of all checkouts that git knows, also of those that cannot be found now."""
    home = os.path.join(common, "worktrees")
    names = sorted(read.names(home, home)) if os.path.isdir(home) else ()
    folders = [os.path.join(home, name) for name in names]
    links = [
        os.path.join(folder, (read_text(os.path.join(folder, "gitdir")) or "").strip()) for folder in folders
    ]
    main = _main_top(common)
    return [*([main] if main else []), *(os.path.dirname(os.path.realpath(link)) for link in links)]


def _main_top(common: str) -> str | None:
    """Return the top of the main checkout, or None for a bare repository."""
    core = read_core(common)
    if core.get("bare", "").lower() in _TRUE:
        return None
    if tree := core.get("worktree"):
        return os.path.realpath(os.path.join(common, tree))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else None


def find_unfinished(folder: str) -> str:
    """Return the command with several steps that is in progress in a checkout; empty if there is none."""
    return next(
        (words for name, words in UNFINISHED.items() if os.path.lexists(os.path.join(folder, name))), ""
    )


_MADE: Final = ("commit", "cherry-pick", "revert", "am")
_OWN: Final = pattern(
    r"commit(?: \(initial\))?: passdown: (?:[0-9]+ (?:event|archive file|document)s?|view)\b.*"
)
_RECORD: Final = 1_048_576
"""How many bytes at the end of a checkout's reflog are read."""


def read_made(folder: str, since: float, after: str = "") -> list[str]:
    """Return the commits made since then according to the reflog of a checkout's HEAD, the oldest first.

    A line holds the ids before and after, who, when, and how: ``commit: subject``. Amended commits are left
    out, and so are our own, and those in the first second up to `after`. A repository that keeps its reflog
    elsewhere has none.
    """
    made: dict[str, None] = {}
    for line in read_end(os.path.join(folder, "logs", "HEAD")).decode("utf-8", "replace").split("\n"):
        facts, _, how = line.partition("\t")
        words = facts.split(" ")
        if len(words) < _RECORD_WORDS or not words[-2].isdigit() or int(words[-2]) < since:
            continue
        if "(amend)" in how.partition(":")[0]:
            made.pop(words[0], None)
        is_merged = how.startswith("merge ") and "Merge made" in how
        if _ID.fullmatch(words[1]) and (how.startswith(_MADE) or is_merged) and not is_own(how):
            made[words[1]] = None
        if words[1] == after and int(words[-2]) == since:
            made.clear()
    return list(made)


def is_own(how: str) -> bool:
    """Return whether a line of the reflog describes a commit that Passdown made and that was not amended."""
    return _OWN.fullmatch(how) is not None


_RECORD_WORDS: Final = 4


def read_end(path: str, most: int = _RECORD) -> bytes:
    """Return the end of a file; empty if it cannot be read."""
    try:
        return read.read_end(path, most)
    except OSError:
        return b""
