"""Commits given files, without changing any file or the rest of the user's index.

It does what ``git add -A -- paths`` and ``git commit --only -- paths`` do, in steps that can be undone:

1. ``ls-files`` lists which of the paths are tracked and which are new; ignored paths are in neither list.
2. ``config`` returns the author, and which hooks are defined by settings instead of files.
3. ``update-index`` adds the new paths, if there are any.
4. ``commit --only`` commits. It makes its own copy of the index, and changes the real one only on success.
5. If that fails, ``reset`` restores the new paths to their state in HEAD. That is also right if git made the
   commit and failed afterwards.
"""

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from passdown.engines.git.git_folder import GitPaths, find_unfinished, is_own, read_end
from passdown.engines.git.process import NOT_STARTED, Git, GitResult, in_portions, join_names, split_names
from passdown.ports.repository import UNKNOWN, Skipped, SkipReason

PAUSES: Final = (0.01, 0.03, 0.1)
"""Seconds between attempts to lock the index: editors that run `git status` briefly hold it."""

# No guessed author, no warnings or errors about line endings, nothing in the background.
_OPTIONS: Final = (
    *("-c", "user.useConfigOnly=true"),
    *("-c", "core.safecrlf=false"),
    *("-c", "i18n.commitEncoding=UTF-8"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    "--literal-pathspecs",
)
_COMMIT: Final = (
    "commit",
    "--only",
    "--quiet",
    "--no-verify",
    "--no-gpg-sign",
    "--no-status",
    "--untracked-files=no",
    "--cleanup=whitespace",
)
_FROM_INPUT: Final = ("--pathspec-from-file=-", "--pathspec-file-nul")
_SETTINGS: Final = r"^(user|author|committer)\.(name|email)$|^hook\..*\.(command|event)$"
_NO_MATCH: Final = 1
_NO_CHANGE: Final = 1

NOTHING: Final = Skipped(why=SkipReason.NOTHING, reason="nothing to commit")


def commit_paths(
    git: Git, place: GitPaths, root: str, paths: Sequence[str], *, message: str, wait: Callable[[float], None]
) -> tuple[str, ...] | Skipped:
    """Commit the files at these paths and return those included, or the reason why nothing was committed."""
    chosen = choose_paths(root, paths)
    if chosen and (under_way := find_unfinished(place.folder)):
        return unfinished(under_way)
    sorted_out = sort_out(git, chosen)
    if isinstance(sorted_out, Skipped):
        return sorted_out
    tracked, new = sorted_out
    options = read_options(git) if tracked or new else NOTHING
    if isinstance(options, Skipped):
        return options
    skipped = _add_and_commit(RetryingGit(git, options, wait), tracked, new, message)
    return skipped or tuple(sorted({*tracked, *new}))


class RetryingGit:
    """Git with our options; retries while another process has locked the index."""

    def __init__(self, git: Git, options: Sequence[str], wait: Callable[[float], None]) -> None:
        """Store git, the options that precede every command, and how to wait."""
        self._git = git
        self._options = tuple(options)
        self._wait = wait

    def with_index(self, path: str) -> "RetryingGit":
        """Return the same with another index, which need not exist."""
        return RetryingGit(self._git.with_variables({"GIT_INDEX_FILE": path}), self._options, self._wait)

    def run(self, *arguments: str, names: Iterable[str] = ()) -> GitResult:
        """Run one command; `names` are its input."""
        data = join_names(names)
        for seconds in PAUSES:
            answer = self._git.run(*self._options, *arguments, data=data)
            if not _is_locked(answer):
                return answer
            self._wait(seconds)
        return self._git.run(*self._options, *arguments, data=data)


def _add_and_commit(
    git: RetryingGit, tracked: Sequence[str], new: Sequence[str], message: str
) -> Skipped | None:
    """Add the new files to the index and commit; the index is restored after a failure or interrupt."""
    if not new:
        return _commit(git, tracked, message)
    added = git.run("update-index", "--add", "-z", "--stdin", names=new)
    if not added.is_done:
        return explain(added)
    skipped: Skipped | None = NOTHING
    try:
        skipped = _commit(git, [*tracked, *new], message)
    finally:
        if skipped is not None:
            git.run("reset", "--quiet", *_FROM_INPUT, names=new)
    return skipped


def _commit(git: RetryingGit, paths: Sequence[str], message: str) -> Skipped | None:
    answer = git.run(*_COMMIT, f"--message={message}", *_FROM_INPUT, names=paths)
    if answer.is_done:
        return None
    return NOTHING if answer.code == _NO_CHANGE else explain(answer)


def sort_out(git: Git, paths: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | Skipped:
    """Separate tracked paths from new ones; the rest is ignored, or neither on disk nor tracked."""
    tracked: list[str] = []
    new: list[str] = []
    for portion in in_portions(paths):
        listing = ("ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
        answer = git.run("--literal-pathspecs", *listing, "--", *portion)
        if not answer.is_done:
            return explain(answer)
        for line in split_names(answer.output):
            tag, name = line[0], line[2:]
            if tag == "M":
                reason = f"{name} has an unresolved conflict"
                hint = "resolve it and `git add` the file"
                return Skipped(why=SkipReason.UNFINISHED, reason=reason, hint=hint)
            if tag == "?":
                new.append(name)
            elif tag != "S":  # outside of the sparse checkout: missing on disk, but not deleted
                tracked.append(name)
    return tracked, new


def read_options(git: Git) -> Sequence[str] | Skipped:
    """Return the options that isolate a commit, or a reason if git has no author."""
    answer = git.run("config", "-z", "--get-regexp", _SETTINGS)
    if not answer.is_done and answer.code != _NO_MATCH:
        return explain(answer)
    lines = [line.partition("\n") for line in split_names(answer.output)]
    settings = {name: value for name, _, value in lines}
    has_identity = all(  # otherwise git would guess
        git.variables.get(f"GIT_{role}_{part}".upper())
        or settings.get(f"{role}.{part}")
        or settings.get(f"user.{part}")
        for role in ("author", "committer")
        for part in ("name", "email")
    )
    if not has_identity:
        return _nobody()
    hooks = sorted({name.rpartition(".")[0] for name in settings if name.startswith("hook.")})
    return (*_OPTIONS, *(part for hook in hooks for part in ("-c", f"{hook}.enabled=false")))


def choose_paths(root: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that we may commit (see `Repository.commit`), sorted and unique."""
    folders: dict[str, bool] = {"": True}
    chosen = {posixpath.normpath(path) for path in paths if path and "\0" not in path}
    return sorted(path for path in chosen if _is_ours(root, path, folders))


def _is_ours(root: str, path: str, folders: dict[str, bool]) -> bool:
    parts = path.split("/")
    if path.startswith("/") or parts[0] in {"..", "."} or any(part.lower() == ".git" for part in parts):
        return False
    return _is_own_folder(root, posixpath.dirname(path), folders) and _is_file_or_gone(root, path)


def _is_own_folder(root: str, folder: str, folders: dict[str, bool]) -> bool:
    """Return whether a folder is really inside the root, and not behind a link or in another repository."""
    if folder not in folders:
        full = os.path.join(root, folder)
        folders[folder] = (
            _is_own_folder(root, posixpath.dirname(folder), folders)
            and not os.path.islink(full)
            and not os.path.lexists(os.path.join(full, ".git"))
        )
    return folders[folder]


def _is_file_or_gone(root: str, path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(os.path.join(root, path)).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _is_locked(answer: GitResult) -> bool:
    return not answer.is_done and "index.lock'" in answer.error and "File exists" in answer.error


def unfinished(what: str) -> Skipped:
    """Return that nothing is committed because a command with several steps is in progress."""
    reason = f"{what} is in progress in this checkout"
    return Skipped(why=SkipReason.UNFINISHED, reason=reason, hint="finish or abort it first")


def _nobody() -> Skipped:
    hint = "set user.name and user.email with `git config`"
    return Skipped(why=SkipReason.NO_IDENTITY, reason="git has no name and email for the author", hint=hint)


def explain(answer: GitResult) -> Skipped:
    """Return why git refused to commit."""
    if answer.code == NOT_STARTED:
        return Skipped(why=SkipReason.NO_GIT, reason=answer.reason, hint="install git, or add it to PATH")
    if _is_locked(answer):
        hint = "try again later; if no git command is running, delete index.lock in the git folder"
        return Skipped(why=SkipReason.LOCKED, reason="another git command has locked the index", hint=hint)
    if "auto-detection is disabled" in answer.error or "identity unknown" in answer.error:
        return _nobody()
    hint = "run `git status` here to see what is wrong"
    if "dubious ownership" in answer.error or "safe.directory" in answer.error:
        hint = "the folder belongs to someone else; if you trust it, add it to git's safe.directory"
    return Skipped(why=SkipReason.REFUSED, reason=f"git refused: {answer.reason}", hint=hint)


# --- whether we may commit without being asked --------------------------------------------------------

_REFLOG: Final = 8_192
"""How many bytes at the end of the reflog are read to get its last line."""

_MINUTE: Final = timedelta(minutes=1)


def find_in_files(place: GitPaths, branch: str, head: str) -> Skipped | None:
    """Return the obstacle to a commit that git's files show, without running git.

    1. A command with several steps is in progress.
    2. The index, HEAD or the branch is locked. Unlike a command of the user, a hook does not wait for it. A
       git process that was killed leaves such a file too.
    3. HEAD is detached: the next checkout would lose a commit there.
    4. There is no commit yet. The user makes the first one: a template may still have to be cloned.
    """
    if under_way := find_unfinished(place.folder):  # 1
        return unfinished(under_way)
    locks = (
        (place.folder, "index.lock"),
        (place.folder, "HEAD.lock"),
        (place.common, f"refs/heads/{branch}.lock"),
    )
    for folder, name in locks:
        if os.path.lexists(os.path.join(folder, name)):  # 2
            hint = (
                "the git command that made it will remove it; if none is running, delete it in the git folder"
            )
            return Skipped(why=SkipReason.LOCKED, reason=f"{name} exists", hint=hint)
    if branch == UNKNOWN:  # 3
        hint = "check out a branch"
        return Skipped(why=SkipReason.DETACHED, reason="no branch is checked out", hint=hint)
    if not head:  # 4
        hint = "make the first commit yourself"
        return Skipped(why=SkipReason.NO_COMMIT, reason="the branch has no commit yet", hint=hint)
    return None


def find_with_git(
    git: Git, place: GitPaths, head: str, now: datetime, amendable: timedelta
) -> Skipped | None:
    """Return an obstacle that only git can report: a commit that the user may amend, or no author."""
    if not _is_own_commit(place, head):
        answer = git.run("rev-list", "--max-count=1", "--timestamp", "HEAD", "--not", "--remotes", "--")
        if not answer.is_done:
            return explain(answer)
        if (found := _judge(answer.output, now, amendable)) is not None:
            return found
    options = read_options(git)
    return options if isinstance(options, Skipped) else None


def _is_own_commit(place: GitPaths, head: str) -> bool:
    """Return whether we made the last commit in this checkout, and it was not amended since."""
    last = read_end(os.path.join(place.folder, "logs", "HEAD"), _REFLOG).rstrip(b"\n").rpartition(b"\n")[2]
    facts, _, how = last.decode("utf-8", "replace").partition("\t")
    words = facts.split(" ")
    return len(words) > 1 and words[1] == head and is_own(how)


def _judge(output: bytes, now: datetime, amendable: timedelta) -> Skipped | None:
    """Return the obstacle if the user may still amend a commit; `output` is empty if a remote branch has it.

    A commit dated further ahead than the interval comes from a wrong clock, and does not count.
    """
    seconds = output.split(b" ")[0]
    if not seconds.isdigit():
        return None
    made = datetime.fromtimestamp(int(seconds), UTC)
    age = now - made
    if age >= amendable or -age > amendable:
        return None
    minutes = max(0, age // _MINUTE)
    old = "1 minute" if minutes == 1 else f"{minutes} minutes"
    reason = f"your last commit is {old} old and not pushed, so you may still amend it"
    hint = "push it, or wait until it is 30 minutes old, or run `passdown synthesize --commit`"
    return Skipped(why=SkipReason.AMENDABLE, reason=reason, hint=hint, until=made + amendable)


def list_committable(git: Git, root: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the paths that a commit would include; all that are ours if git cannot be asked."""
    chosen = choose_paths(root, paths)
    sorted_out = sort_out(git, chosen)
    if isinstance(sorted_out, Skipped):
        return chosen
    tracked, new = sorted_out
    return sorted({*tracked, *new})
