"""A small `bd` of our own, and one that stands before a real one: both die when they are told to.

The small one keeps its tasks in a file and does one thing at a time, as real ones do. A plan, a file of
lines, says what happens to the calls that change something: `before`, `during` and `after` its effect it
ends itself, `kill-before`, `kill-during` and `kill-after` it kills whoever started it and goes on.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from passdown.settings import FILE_NAME

FAULTS: Final = ("", "before", "during", "after", "kill-before", "kill-during", "kill-after", "silent")

_SHARED = """\
import fcntl, json, os, signal, subprocess, sys, time

folder = os.environ["BEADS_DIR"]
words = sys.argv[1:]
verb = words[0] if words else ""


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def plan():
    path = os.path.join(folder, "plan")
    if verb not in ("update", "close") or "--help" in words or not os.path.exists(path):
        return ""
    with open(path, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = file.read().splitlines()
        file.seek(0)
        file.truncate()
        file.write("".join(line + "\\n" for line in lines[1:]))
    return lines[0] if lines else ""


def orphan():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.05)  # whoever comes next could be faster than we are


fault = plan()
"""

SMALL: Final = (
    _SHARED
    + """
with open(os.path.join(folder, "calls"), "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(json.dumps(words) + "\\n")
if verb == "version":
    print(json.dumps({"version": VERSION}))
    sys.exit()
if "--help" in words:
    print("--claim --append-notes --set-metadata --if-status" if VERSION >= "1" else "--claim --notes")
    sys.exit(verb == "sync" and not VERSION.startswith("1.3"))
if verb == "sync":
    print(json.dumps({"status": "ok"}))
    sys.exit()
if fault in ("before", "silent"):
    die() if fault == "before" else sys.exit(1)
if fault == "kill-before":
    orphan()
gate = open(os.path.join(folder, "gate"), "a")
fcntl.flock(gate, fcntl.LOCK_EX)
path = os.path.join(folder, "beads.db")
with open(path) as file:
    issues = json.load(file)
options = [word for word in words[1:] if word.startswith("--")]
values = dict(word[2:].partition("=")[::2] for word in options)
names = [word for word in words[1:] if not word.startswith("--")]
found = [issues[name] for name in names if name in issues]
changed = verb in ("update", "close", "create")
if verb in ("ready", "list", "blocked"):
    is_open = {name: one["status"] == "open" for name, one in issues.items()}
    found = [one for name, one in issues.items() if verb == "list" or (verb == "ready" and is_open[name])]
elif verb == "create":
    name = "tp-" + str(len(issues) + 1)
    issues[name] = {"id": name, "title": values["title"], "status": "open"}
    issues[name]["description"] = values.get("description", "")
    found = [issues[name]]
elif not found or len(found) < len(names):
    print(json.dumps({"error": "no issue found matching " + json.dumps(names)}))
    sys.exit(1)
for one in found if changed else ():
    if "claim" in values:
        one["assignee"], one["status"] = values["actor"], "in_progress"
    if "notes" in values:
        one["notes"] = values["notes"]
    if "append-notes" in values:
        one["notes"] = "\\n".join(filter(None, [one.get("notes"), values["append-notes"]]))
    if "set-metadata" in values:
        one.setdefault("metadata", {})[values["set-metadata"].partition("=")[0]] = 1
    if verb == "close":
        one["status"], one["close_reason"] = "closed", values["reason"]
        one["closes"] = one.get("closes", 0) + 1
if changed:
    with open(path + ".new", "w") as file:
        json.dump(issues, file)
    if fault == "during":
        die()
    if fault == "kill-during":
        orphan()
    os.replace(path + ".new", path)
if fault == "after":
    die()
if fault == "kill-after":
    orphan()
print(json.dumps(found))
"""
)

BEFORE_REAL: Final = (
    _SHARED
    + """
if fault == "before":
    die()
if fault == "silent":
    sys.exit(1)
if fault == "kill-before":
    orphan()
if fault in ("during", "kill-during"):
    child = subprocess.Popen([REAL, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(float.fromhex(os.environ["BD_MOMENT"]))
    child.kill() if fault == "during" else os.kill(os.getppid(), signal.SIGKILL)
    child.wait()
    die()
done = subprocess.run([REAL, *words], capture_output=True)
if fault == "after":
    die()
if fault == "kill-after":
    orphan()
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
sys.exit(done.returncode)
"""
)


class DyingBd(NamedTuple):
    """A `bd` in a folder of its own, with its database."""

    bin: Path
    folder: Path

    def plan(self, *faults: str) -> None:
        """Say what happens to the next calls that change something."""
        (self.folder / "plan").write_text("".join(f"{fault}\n" for fault in faults))

    def issues(self) -> dict[str, Any]:
        """Give all tasks of the small one."""
        found: dict[str, Any] = json.loads((self.folder / "beads.db").read_text())
        return found

    def add(self, name: str, **more: str) -> str:
        """Add a task to the small one."""
        issues = self.issues() | {name: {"id": name, "title": f"Task {name}", "status": "open", **more}}
        (self.folder / "beads.db").write_text(json.dumps(issues))
        return name

    def remove(self, name: str) -> None:
        """Take a task out of the small one."""
        (self.folder / "beads.db").write_text(
            json.dumps({key: row for key, row in self.issues().items() if key != name})
        )

    def calls(self) -> list[list[str]]:
        """Give the arguments of all calls of the small one."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def environment(self) -> dict[str, str]:
        """Give the variables by which it is found."""
        return {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "BEADS_DIR": str(self.folder)}

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process find it."""
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)


def make_small(place: Path, version: str = "1.0.0") -> DyingBd:
    """Make the small one, with an empty database."""
    return _make(place, f"VERSION = {version!r}\n{SMALL}", "{}")


def make_wrapper(place: Path, real: Path) -> DyingBd:
    """Make one that stands before a real one, whose database is made by `bd init`."""
    return _make(place, f"REAL = {str(real)!r}\n{BEFORE_REAL}", "")


def _make(place: Path, text: str, database: str) -> DyingBd:
    made = DyingBd(place / "bin", place / "beads")
    made.bin.mkdir(parents=True)
    made.folder.mkdir()
    if database:
        (made.folder / "beads.db").write_text(database)
    program = made.bin / "bd"
    program.write_text(f"#!{sys.executable} -IS\n{text}", encoding="utf-8")
    program.chmod(0o755)
    return made


_HANGS: Final = '#!/bin/sh\necho "$$ $*" >> "$(dirname "$0")/started"\nexec sleep 600\n'


def make_hanging(programs: Path, root: Path) -> None:
    """Give a project Beads, and a folder a `bd` that writes to the file `started`, and hangs."""
    (root / FILE_NAME).write_text('[tracker]\nkind = "beads"\n', encoding="utf-8")
    (root / ".beads").mkdir()
    (root / ".beads" / "metadata.json").write_text("{}", encoding="utf-8")
    programs.mkdir()
    (programs / "bd").write_text(_HANGS, encoding="utf-8")
    (programs / "bd").chmod(0o755)
