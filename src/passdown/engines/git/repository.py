"""The `Repository` that contains a folder on this machine, and its `GitHistory`."""

import os
import posixpath
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from passdown.engines.git import git_folder
from passdown.engines.system import pause
from passdown.ports.repository import UNKNOWN, Checkout, Committed, Skipped, SkipReason

if TYPE_CHECKING:
    from passdown.core.project.tracked_paths import TrackedPaths
    from passdown.engines.git.index_file import Mark
    from passdown.engines.git.process import Git
    from passdown.ports.archive_branch import Conflicts
    from passdown.ports.commit_contents import CommitContent
    from passdown.ports.git_history import DescribedCommit, UnfinishedWork

_HEADS: Final = "refs/heads/"
_REMOTE: Final = "refs/remotes/origin/"
_USUAL: Final = ("main", "master")
_FILE_MODES: Final = ("100644", "100755", "100664")
_FOLDER_MODE: Final = "040000"
_TRIES: Final = 3
_LARGE_INDEX: Final = 1_000_000
"""Git reads an index of more bytes, of about 10,000 files, faster than we do."""
_FEW: Final = 100
"""For up to this many paths of a folder, git looks them up one by one; for more, it lists the folder."""


class GitRepository:
    """The repository that contains one root folder.

    Branches, checkouts and folders are read from git's files. Git is run for commits, for the content of a
    commit, for ignore rules, and if its files are in a format that we do not read.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        variables: Mapping[str, str] | None = None,
        seconds: float = 60.0,
        wait: Callable[[float], None] = pause,
    ) -> None:
        """Store the root, the current environment, and the time limit of a git process in seconds."""
        self._root = os.path.abspath(root)
        self._variables = dict(os.environ if variables is None else variables)
        self._seconds = seconds
        self._wait = wait
        self._found: tuple[git_folder.GitPaths | None] | None = None
        self._tracked: dict[str, tuple[Mark, TrackedPaths]] = {}

    def is_there(self) -> bool:
        return self._place() is not None

    def branch(self) -> str:
        place = self._place()
        if place is None:
            return UNKNOWN
        return git_folder.read_branch(place.folder) or self._ask_branch(place)

    def last_commit(self) -> str:
        place = self._place()
        branch = git_folder.read_branch(place.folder) if place else None
        return git_folder.read_id(place, branch) if place and branch else ""

    def integration_branch(self, preferred: str) -> str | None:
        place = self._place()
        if preferred or place is None:
            return preferred or None
        target = git_folder.read_target(place.common, f"{_REMOTE}HEAD")
        is_readable = git_folder.read_branch(place.folder) is not None
        if target is None and not is_readable:
            target = self._ask(place, "symbolic-ref", "--quiet", f"{_REMOTE}HEAD")
        if target and target.startswith(_REMOTE):
            return target.removeprefix(_REMOTE)
        current = self.branch()
        for name in _USUAL:
            if name == current or git_folder.has_branch(place.common, name):
                return name
            if not is_readable and self._ask(place, "rev-parse", "--quiet", "--verify", _HEADS + name):
                return name
        return None

    def checkouts(self) -> Sequence[Checkout]:
        place = self._place()
        if place is None:
            return ()
        found = git_folder.read_checkouts(place)
        return sorted(self._ask_checkouts(place) if found is None else found, key=lambda one: one.path)

    def common_folder(self) -> str | None:
        place = self._place()
        return place.common if place else None

    def prefix(self) -> str:
        place = self._place()
        below = os.path.relpath(os.path.realpath(self._root), place.top) if place else os.curdir
        return "" if below == os.curdir else below.replace(os.sep, "/")

    def listing(self, *folders: str) -> Mapping[str, str]:
        place = self._place()
        if place is None:
            return {}
        starts = [folder.strip("/") for folder in folders]
        only = ("--", *(f"{start}/" for start in starts)) if all(starts) else ()
        return self._list_tree(place, *only)

    def committed_among(self, paths: Sequence[str]) -> frozenset[str]:
        from passdown.engines.git.process import in_portions  # most calls only read files

        place = self._place()
        if place is None:
            return frozenset()
        counts = Counter(map(posixpath.dirname, paths))
        many = {folder for folder, count in counts.items() if count > _FEW}
        wanted = [f"{folder or '.'}/" for folder in sorted(many)]
        wanted += [path for path in paths if posixpath.dirname(path) not in many]
        found = (self._list_tree(place, "--", *portion) for portion in in_portions(wanted))
        return frozenset(path for some in found for path in some).intersection(paths)

    def entries(self, folders: Sequence[str]) -> Mapping[str, str]:
        place = self._place()
        if place is None:
            return {}
        return self._list_tree(place, "--", *(f"{folder or '.'}/" for folder in folders), is_deep=False)

    def _list_tree(self, place: git_folder.GitPaths, *only: str, is_deep: bool = True) -> Mapping[str, str]:
        """Return the ids of files in the last commit by path: all of them, or those in `only`.

        If it is not deep, folders are not opened but listed themselves.
        """
        from passdown.engines.git.process import split_names  # most calls only read files

        options = ("-r", "-z") if is_deep else ("-z",)
        found: dict[str, str] = {}
        for line in split_names(self._git(place).run("ls-tree", *options, "HEAD", *only).output):
            facts, _, path = line.partition("\t")
            mode, _, name = facts.split(" ")
            if mode in _FILE_MODES:
                found[path] = name
            elif mode == _FOLDER_MODE:
                found[f"{path}/"] = name
        return found

    def is_ignored(self, path: str) -> bool:
        place = self._place()
        if place is None or "\0" in path:
            return False
        # Git would read a path that starts with a colon as a pattern.
        return self._git(place).run("check-ignore", "--quiet", "--", f"./{path}").is_done

    def tracked(self, folder: str) -> "TrackedPaths":
        """Return what git tracks in a folder; the index is read again only after it has changed."""
        from passdown.core.project.tracked_paths import NOTHING_TRACKED  # asked only where state is found
        from passdown.engines.git.index_file import mark_of

        place = self._place()
        mark = mark_of(os.path.join(place.folder, "index")) if place else None
        if place is None or mark is None:
            return NOTHING_TRACKED
        known = self._tracked.get(folder)
        if known is None or known[0] != mark or not mark[0]:
            known = self._tracked[folder] = (mark, self._read_tracked(place, folder))
        return known[1]

    def names(self) -> Sequence[str] | None:
        place = self._place()
        names = self._read_index(place) if place else None
        start = f"{self.prefix()}/".lstrip("/")
        # A file with conflicts has several index entries.
        return names and list(dict.fromkeys(one[len(start) :] for one in names if one.startswith(start)))

    def ignores_case(self) -> bool:
        """Return whether the checkout's file system treats upper and lower case as the same."""
        place = self._place()
        return place is not None and git_folder.ignores_case(place.common)

    def _read_tracked(self, place: git_folder.GitPaths, folder: str) -> "TrackedPaths":
        from passdown.core.project.tracked_paths import UNKNOWN_TRACKED, find_tracked

        start = f"{self.prefix()}/".lstrip("/")
        is_short = sys.platform == "win32"
        names = self._read_index(place, start + folder, is_short=is_short)
        if names is None:
            return UNKNOWN_TRACKED
        return find_tracked(names, folder, start, has_short_names=is_short)

    def _read_index(
        self, place: git_folder.GitPaths, folder: str = "", *, is_short: bool = False
    ) -> list[str] | None:
        """Return the paths of the index that may be in a folder, or all; None if git does not answer."""
        from passdown.engines.git.index_file import mark_of, read_index
        from passdown.engines.git.process import split_names

        path = os.path.join(place.folder, "index")
        mark = mark_of(path)
        if mark is None:
            return []
        if folder and not is_short and mark[1] > _LARGE_INDEX:
            answer = self._git(place).run("ls-files", "-z", "--full-name", "--", *_match_first_letter(folder))
            if answer.is_done:
                return split_names(answer.output)
        names = read_index(path, folder, has_short_names=is_short)
        if names is None:
            answer = self._git(place).run("ls-files", "-z", "--full-name", "--", ":/")
            names = split_names(answer.output) if answer.is_done else None
        return names

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        place = self._place()
        if place is None or self._variables.get("GIT_INDEX_FILE"):
            return _no_repository() if place is None else _inside_git()
        from passdown.engines.git.commits import commit_paths  # most only read

        done = commit_paths(self._git(place), place, self._root, paths, message=message, wait=self._wait)
        if isinstance(done, Skipped):
            return done
        return Committed(commit=self._last_commit(place), paths=done)

    def _place(self) -> git_folder.GitPaths | None:
        """Find the checkout, once: it does not move while we run."""
        if self._found is None:
            self._found = (git_folder.find_git_paths(self._root, self._variables),)
        return self._found[0]

    def head(self) -> str:
        place = self._place()
        return self._last_commit(place) if place else ""

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        place = self._place()
        if place is None or not (commit.isalnum() and commit.isascii()):
            return None
        wanted = ["--", ":/", *(f":(exclude,literal){path}" for path in apart_from)] if apart_from else []
        text = self._ask(place, "rev-list", "--count", f"{commit}..HEAD", *wanted)
        return int(text) if text.isdigit() else None

    def commits_since(self, at: datetime, after: str = "") -> Sequence[str]:
        place = self._place()
        # Git stores whole seconds.
        return git_folder.read_made(place.folder, int(at.timestamp()), after) if place else ()

    def describe(self, commits: Sequence[str]) -> "Sequence[DescribedCommit]":
        place = self._place()
        if place is None or not commits:
            return ()
        from passdown.engines.git.commit_contents import read_described  # most calls only read files

        return read_described(self._git(place), commits)

    def texts_of(self, path: str) -> Sequence[bytes]:
        place = self._place()
        if place is None or "\n" in path:
            return ()
        git = self._git(place)
        commits = os.fsdecode(git.run("rev-parse", "--quiet", "HEAD", "HEAD^@").output).split()
        shown = (git.run("cat-file", "blob", f"{name}:./{path}") for name in commits)
        return [answer.output for answer in shown if answer.is_done]

    def contents(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        place = self._place()
        if place is None or not ids:
            return {}
        from passdown.engines.git.process import split_objects  # most calls only read files

        wanted = "".join(f"{name}\n" for name in ids).encode()
        return split_objects(self._git(place).run("cat-file", "--batch", data=wanted).output)

    def files_since(self, at: datetime) -> Sequence[str]:
        place = self._place()
        if place is None:
            return ()
        from passdown.engines.git.process import split_names  # most calls only read files

        git = self._git(place)
        names = "".join(f"{name}\n" for name in self.commits_since(at)).encode()
        options = ("-r", "-z", "--root", "--no-commit-id", "--name-only", "--relative")
        found = dict.fromkeys(
            split_names(git.run("diff-tree", "--stdin", *options, data=names).output) if names else ()
        )
        # Deleted files have no time; those that a commit deleted are already listed.
        since = at.timestamp()
        found |= {path: None for path in _list_uncommitted(git) if self._written_at(path) >= since}
        return list(found)

    def find_unfinished(self) -> "UnfinishedWork":
        from passdown.ports.git_history import UnfinishedWork  # few calls ask for it

        place = self._place()
        if place is None:
            return UnfinishedWork()
        git = self._git(place)
        found = _list_uncommitted(git)
        if not git.run("remote").output.strip():
            return UnfinishedWork(tuple(found))
        count = git.run("rev-list", "--count", "HEAD", "--not", "--remotes").output.strip()
        return UnfinishedWork(tuple(found), int(count) if count.isdigit() else None)

    def find_obstacle(
        self, now: datetime, amendable: timedelta, *, files_only: bool = False
    ) -> Skipped | None:
        place = self._place()
        if place is None or self._variables.get("GIT_INDEX_FILE"):
            return _no_repository() if place is None else _inside_git()
        from passdown.engines.git.commits import find_in_files, find_with_git  # most only read

        branch = git_folder.read_branch(place.folder)
        # Files that do not reveal the branch do not reveal its commit either.
        head = git_folder.read_id(place, branch) if branch else self._last_commit(place)
        found = find_in_files(place, branch or self._ask_branch(place), head)
        if found is not None or files_only:
            return found
        return find_with_git(self._git(place), place, head, now, amendable)

    def committable(self, paths: Sequence[str]) -> Sequence[str]:
        place = self._place()
        if place is None:
            return ()
        from passdown.engines.git.commits import list_committable  # most only read

        return list_committable(self._git(place), self._root, paths)

    def staged(self) -> "CommitContent | None":
        place = self._place()
        if place is None:
            return None
        from passdown.engines.git.commit_contents import read_staged  # only the guard asks

        return read_staged(self._git(place), place, self._variables)

    def commits_in(self, span: str) -> "Sequence[CommitContent] | None":
        place = self._place()
        if place is None or span.startswith("-") or ".." not in span or "\0" in span:
            return None
        from passdown.engines.git.commit_contents import read_commits  # only the guard asks

        return read_commits(self._git(place), span)

    def commits_pushed(self, tips: Sequence[str], known: Sequence[str]) -> "Sequence[CommitContent] | None":
        place = self._place()
        if place is None:
            return None
        from passdown.engines.git.commit_contents import read_pushed  # only the guard asks

        return read_pushed(self._git(place), tips, known)

    def changed_since(self, branch: str) -> Sequence[str]:
        place = self._place()
        if place is None or "\0" in branch:
            return ()
        from passdown.engines.git.commit_contents import read_changed  # only on branches beside the main one

        return read_changed(self._git(place), branch)

    def find_created(self, commit: str, paths: Sequence[str]) -> Sequence[str]:
        place = self._place() if paths else None
        if place is None:
            return ()
        from passdown.engines.git.commit_contents import read_created  # only archives ask

        return read_created(self._git(place), commit, paths)

    def is_main_checkout(self) -> bool:
        """Return whether this is the clone's first checkout and not a linked worktree."""
        place = self._place()
        return place is not None and place.folder == place.common

    def has_remote(self) -> bool:
        """Return whether the clone has a remote; a git that fails counts as one."""
        place = self._place()
        if place is None:
            return False
        answer = self._git(place).run("remote")
        return not answer.is_done or bool(answer.output.strip())

    def find_refusal(self) -> Skipped | None:
        """Return why nothing may be archived on this branch now, or None."""
        place = self._place()
        if place is None or self._variables.get("GIT_INDEX_FILE"):
            return _no_repository() if place is None else _inside_git()
        from passdown.engines.git.archive_branch import find_refusal  # few calls archive

        return find_refusal(self._git(place), place, self.branch(), self._last_commit(place))

    def committed_text(self, path: str) -> bytes | None:
        """Return the content of a file in the last commit, or None if it has no such file."""
        place = self._place()
        answer = self._git(place).run("cat-file", "blob", f"HEAD:./{path}") if place else None
        return answer.output if answer and answer.is_done else None

    def staged_in(self, *folders: str) -> frozenset[str]:
        """Return the files of these folders that the index has in another form than the last commit."""
        place = self._place()
        if place is None:
            return frozenset()
        from passdown.engines.git.archive_branch import list_staged  # few calls archive

        return list_staged(self._git(place), folders)

    def commit_files(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they are on disk; fast even for many thousands."""
        place = self._place()
        if place is None:
            return _no_repository()
        if (refused := self.find_refusal()) is not None:
            return refused
        from passdown.engines.git.archive_branch import commit_many  # few calls archive
        from passdown.engines.git.commits import RetryingGit, read_options

        git = self._git(place)
        options = read_options(git)
        if isinstance(options, Skipped):
            return options
        retrying = RetryingGit(git, options, self._wait)
        head = self._last_commit(place)
        made = commit_many(retrying, self._root, head, paths, message)
        for _ in range(_TRIES):
            if not isinstance(made, Skipped) or self._last_commit(place) == head:
                break
            head = self._last_commit(place)  # another session has just committed
            made = commit_many(retrying, self._root, head, paths, message)
        return made if isinstance(made, Skipped) else Committed(commit=made[0], paths=made[1])

    def find_conflicts(self, *folders: str) -> "Conflicts | None":
        """Return the conflicts of an unfinished merge in these folders, or None."""
        place = self._place()
        if place is None or not git_folder.find_unfinished(place.folder):
            return None
        from passdown.engines.git.conflicts import read_conflicts  # few merges conflict

        return read_conflicts(self._git(place), place, folders)

    def settle(self, contents: Mapping[str, str | None]) -> Skipped | None:
        """Mark conflicts as resolved with these contents; None removes a file."""
        place = self._place()
        if place is None:
            return _no_repository()
        from passdown.engines.git.conflicts import settle  # few merges conflict

        return settle(self._git(place), self.prefix(), contents)

    def hooks_path(self) -> str:
        place = self._place()
        if place is None:
            return ""
        from passdown.engines.git.commit_contents import read_hooks_path  # only the guard asks

        return read_hooks_path(self._git(place), place)

    def _written_at(self, path: str) -> float:
        try:
            return os.lstat(os.path.join(self._root, path)).st_mtime
        except OSError:
            return 0.0

    def _git(self, place: git_folder.GitPaths) -> "Git":
        from passdown.engines.git.process import Git  # most calls only read files

        return Git(self._root, self._variables, options=place.options, seconds=self._seconds)

    def _ask(self, place: git_folder.GitPaths, *arguments: str) -> str:
        """Return the single line that git prints; empty if it fails."""
        answer = self._git(place).run(*arguments)
        return os.fsdecode(answer.output).strip() if answer.is_done else ""

    def _ask_branch(self, place: git_folder.GitPaths) -> str:
        ref = self._ask(place, "symbolic-ref", "--quiet", "HEAD")
        return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else UNKNOWN

    def _ask_checkouts(self, place: git_folder.GitPaths) -> list[Checkout]:
        """List the existing checkouts that git reports."""
        answer = self._git(place).run("worktree", "list", "--porcelain", "-z")
        found: list[Checkout] = []
        for block in os.fsdecode(answer.output).split("\0\0"):
            facts = {key: value for key, _, value in (line.partition(" ") for line in block.split("\0"))}
            path = os.path.realpath(facts.get("worktree", ""))
            if "bare" in facts or not facts.get("worktree") or git_folder.read_link(path) is None:
                continue
            branch = facts.get("branch", "").removeprefix(_HEADS) or UNKNOWN
            found.append(Checkout(path=path, branch=branch, is_here=path == place.top))
        return found

    def _last_commit(self, place: git_folder.GitPaths) -> str:
        return git_folder.read_id(place, self.branch()) or self._ask(place, "rev-parse", "--verify", "HEAD")


def _list_uncommitted(git: "Git") -> dict[str, None]:
    """Return the files that differ from the last commit, and those that git does not know."""
    from passdown.engines.git.process import split_names  # most calls only read files

    changed = git.run("diff", "--name-only", "-z", "--relative", "--no-ext-diff", "HEAD")
    others = git.run("ls-files", "-z", "--others", "--exclude-standard")
    return dict.fromkeys((*split_names(changed.output), *split_names(others.output)))


def _match_first_letter(folder: str) -> tuple[str, str]:
    """Return patterns for the names in an index that a file system may treat as that of a folder.

    They have the same first letter, or one that is not ASCII.
    """
    letter = folder[0]
    return f":(top)[\\{letter.lower()}\\{letter.upper()}]*", os.fsdecode(b":(top)[\x80-\xff]*")


def _no_repository() -> Skipped:
    return Skipped(why=SkipReason.NO_REPOSITORY, reason="the project is not in a git repository")


def _inside_git() -> Skipped:
    """Refuse inside a hook of `git commit`: a commit of ours would make the user's commit fail."""
    reason = "this runs inside another git command (GIT_INDEX_FILE is set)"
    return Skipped(why=SkipReason.UNFINISHED, reason=reason, hint="try again when that command has finished")
