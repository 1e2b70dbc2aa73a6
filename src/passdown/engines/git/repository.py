"""The `Repository` that a folder of this machine lies in."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown.engines.git import layout
from passdown.engines.system import pause
from passdown.ports.repository import UNKNOWN, Checkout, Committed, Skipped, Why

if TYPE_CHECKING:
    from passdown.engines.git.process import Git

_HEADS: Final = "refs/heads/"
_REMOTE: Final = "refs/remotes/origin/"
_USUAL: Final = ("main", "master")
_FILE_MODES: Final = ("100644", "100755", "100664")


class GitRepository:
    """The repository around one root folder.

    Branches, checkouts and folders are read from git's files. Git is started for commits, for the content of
    a commit, for ignore rules, and where its files are kept in a way that we do not read.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        variables: Mapping[str, str] | None = None,
        seconds: float = 60.0,
        wait: Callable[[float], None] = pause,
    ) -> None:
        """Keep the root, and the environment as it is now; a git process may take so many seconds."""
        self._root = os.path.abspath(root)  # noqa: PTH100 - as text
        self._variables = dict(os.environ if variables is None else variables)
        self._seconds = seconds
        self._wait = wait
        self._found: tuple[layout.Place | None] | None = None

    def is_there(self) -> bool:
        """Say whether the root lies in a checkout."""
        return self._place() is not None

    def branch(self) -> str:
        """Name the branch we stand on, or `UNKNOWN`."""
        place = self._place()
        if place is None:
            return UNKNOWN
        return layout.read_branch(place.folder) or self._ask_branch(place)

    def integration_branch(self, preferred: str) -> str | None:
        """Name the branch on which all work meets, or None."""
        place = self._place()
        if preferred or place is None:
            return preferred or None
        target = layout.read_target(place.common, f"{_REMOTE}HEAD")
        is_readable = layout.read_branch(place.folder) is not None
        if target is None and not is_readable:
            target = self._ask(place, "symbolic-ref", "--quiet", f"{_REMOTE}HEAD")
        if target and target.startswith(_REMOTE):
            return target.removeprefix(_REMOTE)
        current = self.branch()
        for name in _USUAL:
            if name == current or layout.has_branch(place.common, name):
                return name
            if not is_readable and self._ask(place, "rev-parse", "--quiet", "--verify", _HEADS + name):
                return name
        return None

    def checkouts(self) -> Sequence[Checkout]:
        """List every checkout of the project that is there, in the order of their paths."""
        place = self._place()
        if place is None:
            return ()
        found = layout.read_checkouts(place)
        return sorted(self._ask_checkouts(place) if found is None else found, key=lambda one: one.path)

    def common_folder(self) -> str | None:
        """Give the folder of git that all checkouts share."""
        place = self._place()
        return place.common if place else None

    def listing(self, folder: str) -> Mapping[str, str]:
        """Give the id of every file that the last commit holds below a folder."""
        place = self._place()
        if place is None:
            return {}
        start = folder.strip("/")
        only = ("--", f"{start}/") if start else ()
        answer = self._git(place).run("ls-tree", "-r", "-z", "HEAD", *only)
        found: dict[str, str] = {}
        from passdown.engines.git.process import split_names  # noqa: PLC0415 - most only read files

        for line in split_names(answer.output):
            facts, _, path = line.partition("\t")
            mode, _, name = facts.split(" ")
            if mode in _FILE_MODES:
                found[path] = name
        return found

    def is_ignored(self, path: str) -> bool:
        """Say whether git's rules keep a path out."""
        place = self._place()
        if place is None or "\0" in path:
            return False
        # A path that begins with a colon would be read as a pattern.
        return self._git(place).run("check-ignore", "--quiet", "--", f"./{path}").is_done

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they lie on disk, and nothing else."""
        place = self._place()
        if place is None:
            return Skipped(why=Why.NO_REPOSITORY, reason="the project is not in a git repository")
        if self._variables.get("GIT_INDEX_FILE"):
            # A hook of `git commit`: a commit of ours would make the one under way fail.
            reason = "a git command is under way around this one (GIT_INDEX_FILE is set)"
            return Skipped(why=Why.UNFINISHED, reason=reason, hint="commit again when it has ended")
        from passdown.engines.git.commits import commit_paths  # noqa: PLC0415 - most only read

        done = commit_paths(self._git(place), place, self._root, paths, message=message, wait=self._wait)
        if isinstance(done, Skipped):
            return done
        return Committed(commit=self._last_commit(place), paths=done)

    def _place(self) -> layout.Place | None:
        """Find the checkout once: it does not move while we work."""
        if self._found is None:
            self._found = (layout.find_place(self._root, self._variables),)
        return self._found[0]

    def head(self) -> str:
        """Give the id of the last commit; empty without one."""
        place = self._place()
        return self._last_commit(place) if place else ""

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        """Count the commits made since; None if that one is not known here."""
        place = self._place()
        if place is None or not (commit.isalnum() and commit.isascii()):
            return None
        wanted = ["--", ":/", *(f":(exclude,literal){path}" for path in apart_from)] if apart_from else []
        text = self._ask(place, "rev-list", "--count", f"{commit}..HEAD", *wanted)
        return int(text) if text.isdigit() else None

    def commits_since(self, at: datetime) -> Sequence[str]:
        """Give the commits that were made in this checkout since, the oldest first."""
        place = self._place()
        # Git counts whole seconds.
        return layout.read_made(place.folder, int(at.timestamp())) if place else ()

    def files_since(self, at: datetime) -> Sequence[str]:
        """Give the files that those commits changed, and those that differ and were written since."""
        place = self._place()
        if place is None:
            return ()
        from passdown.engines.git.process import split_names  # noqa: PLC0415 - most only read files

        git = self._git(place)
        names = "".join(f"{name}\n" for name in self.commits_since(at)).encode()
        options = ("-r", "-z", "--root", "--no-commit-id", "--name-only", "--relative")
        found = dict.fromkeys(
            split_names(git.run("diff-tree", "--stdin", *options, data=names).output) if names else ()
        )
        for asked in (
            ("diff", "--name-only", "-z", "--relative", "--no-ext-diff", "HEAD"),
            ("ls-files", "-z", "--others", "--exclude-standard"),
        ):
            # What is gone has no time; if a commit took it away, that tells.
            written = (
                path
                for path in split_names(git.run(*asked).output)
                if self._written_at(path) >= at.timestamp()
            )
            found |= dict.fromkeys(written)
        return list(found)

    def _written_at(self, path: str) -> float:
        try:
            return os.lstat(os.path.join(self._root, path)).st_mtime  # noqa: PTH118 - as text
        except OSError:
            return 0.0

    def _git(self, place: layout.Place) -> "Git":
        from passdown.engines.git.process import Git  # noqa: PLC0415 - most only read files

        return Git(self._root, self._variables, options=place.options, seconds=self._seconds)

    def _ask(self, place: layout.Place, *arguments: str) -> str:
        """Give the one line that git answers; empty when it has no answer."""
        answer = self._git(place).run(*arguments)
        return os.fsdecode(answer.output).strip() if answer.is_done else ""

    def _ask_branch(self, place: layout.Place) -> str:
        ref = self._ask(place, "symbolic-ref", "--quiet", "HEAD")
        return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else UNKNOWN

    def _ask_checkouts(self, place: layout.Place) -> list[Checkout]:
        """List the checkouts that git tells of and that are there."""
        answer = self._git(place).run("worktree", "list", "--porcelain", "-z")
        found: list[Checkout] = []
        for block in os.fsdecode(answer.output).split("\0\0"):
            facts = {key: value for key, _, value in (line.partition(" ") for line in block.split("\0"))}
            path = os.path.realpath(facts.get("worktree", ""))
            if "bare" in facts or not facts.get("worktree") or layout.read_link(path) is None:
                continue
            branch = facts.get("branch", "").removeprefix(_HEADS) or UNKNOWN
            found.append(Checkout(path=path, branch=branch, is_here=path == place.top))
        return found

    def _last_commit(self, place: layout.Place) -> str:
        return layout.read_id(place, self.branch()) or self._ask(place, "rev-parse", "--verify", "HEAD")
