"""Clones of one repository in which real commands archive, and git merges what they did."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.support.commands import Caller, Done
from tests.support.projects import put_event

TODAY: Final = datetime.now(UTC).replace(microsecond=0)
FOLDERS: Final = ("thoughts/shared/handoffs/events/", "thoughts/shared/handoffs/archive/")


Calling = Callable[[Path, tuple[str, ...], Mapping[str, str]], Done]
"""How the command is called: in a folder, with these words, and with these variables besides the others."""


def call_process(root: Path, words: tuple[str, ...], variables: Mapping[str, str]) -> Done:
    """Run the command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "passdown", *words],
        cwd=root,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def make_call(patch: pytest.MonkeyPatch, command: Caller) -> Calling:
    """Give a way to call the command in this process."""

    def call(root: Path, words: tuple[str, ...], variables: Mapping[str, str]) -> Done:
        with patch.context() as changed:
            changed.chdir(root)
            for name, value in variables.items():
                changed.setenv(name, value)
            return command(*words)

    return call


class Archiver:
    """A clone with a person at work in it."""

    def __init__(self, root: Path, agent: str, calling: Calling) -> None:
        """Work in this folder."""
        self.root = root
        self.agent = agent
        self.calling = calling

    def git(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run git as a user does."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def call(self, *words: str, check: bool = True, **variables: str) -> Done:
        """Call the command."""
        done = self.calling(self.root, words, variables)
        assert not check or done.code == 0, done.out + done.err
        return done

    def clone(self, name: str, *options: str) -> "Archiver":
        """Clone the remote once more, in a folder beside this one."""
        there = self.root.parent / name
        origin = (self.root.parent / "origin.git").as_uri()
        self.git("clone", "-q", "-c", "uploadpack.allowFilter=true", *options, origin, str(there))
        return Archiver(there, name, self.calling)

    def write(self, count: int, days_ago: float, *, agent: str = "") -> None:
        """Put events of a day, each a minute later than the one before, that look like each other."""
        first = TODAY - timedelta(days=days_ago, minutes=count)
        for number in range(count):
            at = first + timedelta(minutes=number)
            text = f"{agent or self.agent} did step {number} of the day {days_ago:g} days ago"
            put_event(
                self.root, at.isoformat().replace("+00:00", "Z"), agent or self.agent, this_session=(text,)
            )

    def commit(self, message: str = "work") -> None:
        """Commit everything, if there is anything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")

    def single(self) -> list[str]:
        """Give the tracked event files in `events/` and in the archive."""
        listed = self.git("ls-files", "--", *FOLDERS).stdout.split()
        return [path for path in listed if path.endswith(".md")]

    def rollups(self) -> list[str]:
        """Give the tracked rollups."""
        return [
            path for path in self.git("ls-files", "--", FOLDERS[0]).stdout.split() if path.endswith(".jsonl")
        ]

    def conflicts(self) -> list[str]:
        """Give the files with conflicts."""
        return self.git("diff", "--name-only", "--diff-filter=U").stdout.split()

    def view(self) -> str:
        """Print the view of what is there."""
        return self.call("synthesize", "--output", "-").out


def make_clones(folder: Path, count: int, settings: str = "", *, calling: Calling) -> list[Archiver]:
    """Make clones of a bare repository whose first commit has the settings."""
    origin = folder / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    clones = [Archiver(folder / f"clone{number}", f"agent{number}", calling) for number in range(count)]
    for number, clone in enumerate(clones):
        subprocess.run(["git", "clone", "-q", str(origin), str(clone.root)], check=True, capture_output=True)
        if number == 0:
            clone.git("checkout", "-q", "-B", "main")
            (clone.root / "passdown.toml").write_text(settings, encoding="utf-8")
            (clone.root / ".gitattributes").write_text(
                "/thoughts/shared/handoffs/** -text\n/thoughts/shared/handoffs/current.md merge=union\n",
                encoding="utf-8",
            )
            clone.commit("begin")
            clone.git("push", "-q", "-u", "origin", "main")
    return clones
