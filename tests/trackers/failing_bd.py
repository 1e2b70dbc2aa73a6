"""A program that stands before a real `bd` and lets calls fail, with what a real one said once.

A plan, a file, says from which call on, how many fail, with what, whether that is after their effect, and
whether only calls of some verbs count.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from passdown.ports.programs import ProgramResult
from tests.trackers.beads import environment

_PROGRAM = """\
import json, os, subprocess, sys

words = sys.argv[1:]
path = os.path.join(HERE, "plan.json")
hit = False
if words[:1] != ["version"] and "--help" not in words and os.path.exists(path):
    with open(path) as file:
        plan = json.load(file)
    counts = not plan["verbs"] or words[0] in plan["verbs"].split()
    plan["seen"] += counts
    hit = counts and plan["first"] <= plan["seen"] < plan["first"] + plan["times"]
    with open(path, "w") as file:
        json.dump(plan, file)
if hit and not plan["after"]:
    sys.stdout.write(plan["text"])
    sys.stderr.write(plan["errors"])
    sys.exit(plan["code"])
done = subprocess.run([REAL, *words], capture_output=True)
sys.stdout.buffer.write(plan["text"].encode() if hit else done.stdout)
sys.stderr.buffer.write(plan["errors"].encode() if hit else done.stderr)
sys.exit(plan["code"] if hit else done.returncode)
"""


class Failure(NamedTuple):
    """Which calls fail, and how."""

    answer: ProgramResult
    first: int
    times: int
    after: bool
    verbs: str = ""

    @property
    def said(self) -> str:
        """The case in words."""
        when = "after" if self.after else "instead of"
        words = (self.answer.errors or self.answer.text or "nothing").split("\n")[0]
        return f"calls {self.first} to {self.first + self.times - 1}, {when} their effect: {words}"


class FailingBd:
    """The program, and the real one for who wants to know what is true."""

    def __init__(self, place: Path, real: Path, database: Path) -> None:
        """Put the program into a folder."""
        self.bin = place / "bin"
        self.bin.mkdir(parents=True)
        self._real, self._database = real, database
        self._plan = self.bin / "plan.json"
        program = self.bin / "bd"
        text = f"#!{sys.executable} -IS\nREAL, HERE = {str(real)!r}, {str(self.bin)!r}\n{_PROGRAM}"
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def fail(self, failure: Failure) -> None:
        """Let calls fail from now on."""
        plan = {**failure.answer._asdict(), **failure._asdict(), "answer": None, "seen": 0}
        self._plan.write_text(json.dumps(plan))

    def mend(self) -> int:
        """Let no call fail any more; give how many were made."""
        seen: int = json.loads(self._plan.read_text())["seen"] if self._plan.exists() else 0
        self._plan.unlink(missing_ok=True)
        return seen

    def ask(self, *words: str) -> list[dict[str, Any]]:
        """Ask the real one."""
        done = subprocess.run(
            [str(self._real), *words, "--json"],
            cwd=self._database.parent,
            env=environment(self._database),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        found = json.loads(done.stdout or b"[]")
        rows: list[dict[str, Any]] = found if isinstance(found, list) else [found]
        return rows

    def titled(self, title: str) -> list[str]:
        """Give the ids of the tasks of a title."""
        return [row["id"] for row in self.ask("list", "--all", "--limit=0") if row["title"] == title]

    def show(self, task: str) -> dict[str, Any]:
        """Give a task as it is."""
        (row,) = self.ask("show", task)
        return row

    def variables(self) -> dict[str, str]:
        """Give what lets a process find it."""
        return {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
