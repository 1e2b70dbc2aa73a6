"""Real git repositories to try things on."""

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from passdown.engines.git.repository import GitRepository
from passdown.records import record
from tests.looks import hands_on

_CHANGING = frozenset(
    {"add", "branch", "checkout", "clone", "commit", "config", "merge", "pull", "push", "switch"}
)


@record
class Project:
    """One checkout of a real repository."""

    folder: Path

    def git(self, *arguments: str, data: str = "", check: bool = True) -> str:
        """Run git here as the user would, and give what it printed; what changes something is no look."""
        run = hands_on(self._run) if arguments[0] in _CHANGING else self._run
        return run(arguments, data, check=check)

    def _run(self, arguments: tuple[str, ...], data: str, *, check: bool) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, input=data.encode(), check=False, capture_output=True
        )
        assert not check or done.returncode == 0, os.fsdecode(done.stderr)
        return os.fsdecode(done.stdout)

    def write(self, path: str, text: str = "text\n") -> str:
        """Write a file with its folders, and give its path back."""
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text.encode())
        return path

    def repository(self, **changes: str) -> GitRepository:
        """Look at the repository from here, with these variables besides those of the test."""
        return GitRepository(self.folder, variables={**os.environ, **changes}, wait=_no_wait)

    def index(self) -> str:
        """Everything the index says, with its flags, but without the times of files."""
        return self.git("ls-files", "--stage", "-v", "-t") + self.git("diff", "--cached", "--raw")

    def tree(self) -> list[str]:
        """Name the files of the last commit."""
        return self.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]

    def changed(self) -> list[str]:
        """Name the files that the last commit changed, each with how."""
        return self.git("show", "--format=", "--name-status", "HEAD").splitlines()

    def count(self) -> int:
        """Count the commits on this branch."""
        return int(self.git("rev-list", "--count", "HEAD"))


@record
class Files:
    """What git makes is the same each time: it is made once, and written as often as it is asked for."""

    folders: tuple[Path, ...]
    contents: tuple[tuple[Path, bytes], ...]


def _no_wait(seconds: float) -> None:
    """Wait for nobody: nothing in a test sleeps."""
    del seconds


def make_project(folder: Path, *, branch: str = "main") -> Project:
    """Make an empty repository, before its first commit."""
    return _copy(_new_files(branch, _git_variables()), folder)


def make_started(folder: Path) -> Project:
    """Make a repository with one commit that holds `kept.txt` and `other.txt`."""
    return _copy(_started_files(_git_variables()), folder)


def _git_variables() -> tuple[tuple[str, str], ...]:
    """What decides how git makes a repository; a test may set the time of a commit, or who makes it."""
    return tuple(sorted(one for one in os.environ.items() if one[0].startswith("GIT_")))


def _copy(files: Files, folder: Path) -> Project:
    for path in files.folders:
        os.makedirs(folder / path, exist_ok=True)
    for path, data in files.contents:
        (folder / path).write_bytes(data)
    return Project(folder=folder.resolve())


@cache
def _new_files(branch: str, variables: tuple[tuple[str, str], ...]) -> Files:
    del variables  # git reads them
    with tempfile.TemporaryDirectory() as folder:
        return _read_files(_initialise(Path(folder), branch))


@cache
def _started_files(variables: tuple[tuple[str, str], ...]) -> Files:
    del variables  # git reads them
    with tempfile.TemporaryDirectory() as folder:
        project = _initialise(Path(folder), "main")
        project.write("kept.txt", "kept\n")
        project.write("other.txt", "other\n")
        project.git("add", "--all")
        project.git("commit", "--quiet", "--message=one")
        return _read_files(project)


def _initialise(folder: Path, branch: str) -> Project:
    project = Project(folder=folder.resolve())
    project.git("init", "--quiet", f"--initial-branch={branch}")
    for path in (project.folder / ".git" / "hooks").glob("*.sample"):
        path.unlink()
    return project


def _read_files(project: Project) -> Files:
    found = sorted(project.folder.rglob("*"))
    return Files(
        folders=tuple(path.relative_to(project.folder) for path in (project.folder, *found) if path.is_dir()),
        contents=tuple(
            (path.relative_to(project.folder), path.read_bytes()) for path in found if path.is_file()
        ),
    )
