"""Kill `bd`, and us, at every step of a change of the tracker.

It is a process of its own, with one thread, so that it may fork. Arguments: folder, number of runs, seed, and
a real `bd` or nothing for a small one of our own. Prints one JSON object: how often each fault and each step
was hit, how often something had to be repeated, and whatever was wrong.
"""

import importlib
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import passdown
from passdown.core.formats.journal import parse_journal
from passdown.core.work.operations import SharedOperation, read_operations
from passdown.engines import system
from passdown.engines.files import write
from passdown.engines.files.journals import FileJournals
from passdown.engines.programs import SystemPrograms
from tests.faults.sessions.killing import fork
from tests.faults.sessions.lives import JOURNALS, call
from tests.trackers.beads import make_database
from tests.trackers.dying_bd import FAULTS, DyingBd, make_small, make_wrapper

MOST_REPAIRS: Final = 40
SESSION_RUNS: Final = 10


class Steps:
    """Counts what a verb does, and kills the process before one of these steps."""

    def __init__(self, at: int) -> None:
        """Name the step; 0 kills nobody."""
        self.at = at
        self.count = 0

    def wrap(self, owner: Any, name: str) -> None:
        """Count what happens before and after a function is called."""
        real: Callable[..., object] = getattr(owner, name)

        def stepped(*arguments: object, **options: object) -> object:
            self.step()
            found = real(*arguments, **options)
            self.step()
            return found

        setattr(owner, name, stepped)

    def step(self) -> None:
        """Count; die if this is the moment."""
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def run_verb(words: list[str], at: int) -> None:
    """Call a verb in a child, which dies before a step."""
    steps = Steps(at)
    steps.wrap(FileJournals, "extend")
    steps.wrap(SystemPrograms, "run")
    steps.wrap(write, "replace")
    os._exit(call(*words))


def run(words: list[str], at: int = 0) -> int:
    """Run a verb in a child; give its exit code, or the signal that ended it as a negative number."""
    _, status = os.waitpid(fork(run_verb, words, at), 0)
    return os.waitstatus_to_exitcode(status)


def find_version(real: Path) -> str:
    """Give the version that the name of a build has."""
    return real.name.removeprefix("bd-")


def load_all() -> None:
    """Load what verbs need once, for all children."""
    for found in pkgutil.walk_packages(passdown.__path__, "passdown."):
        if not any(part in found.name for part in ("postgres", "testing", "__main__")):
            importlib.import_module(found.name)
    vars(system)["pause"] = lambda _: None  # nothing waits between attempts


class Project:
    """A repository, a tracker that dies, and sessions that change it."""

    def __init__(self, folder: Path, real: str) -> None:
        """Make them."""
        self.real = Path(real) if real else None
        self.beads: DyingBd = make_wrapper(folder, self.real) if self.real else make_small(folder)
        self.root = folder / "project"
        self.root.mkdir()
        os.environ.update(self.beads.environment(), BD_MOMENT=(0.0).hex())
        os.environ |= {"BEADS_NO_DAEMON": "1", "BD_DISABLE_METRICS": "1", "BD_DISABLE_EVENT_FLUSH": "1"}
        os.chdir(self.root)
        (self.root / "passdown.toml").write_text('[tracker]\nkind = "beads"\n', encoding="utf-8")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", *words], check=True)
        self.number = 0
        self.session = ""
        self.sessions = 0
        if self.real:
            self.initialise(self.real)

    def initialise(self, real: Path) -> None:
        """Make the database of a real one, outside of the repository."""
        home = self.beads.folder.parent
        folder = make_database(find_version(real), home, home / "template", str(real))
        self.beads = self.beads._replace(folder=folder)
        os.environ["BEADS_DIR"] = str(self.beads.folder)

    def bd(self, *words: str) -> str:
        """Call the real one itself."""
        assert self.real is not None
        done = subprocess.run([self.real, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def new_session(self) -> None:
        """End the session, and start another."""
        if self.session:
            run(["end", "--session", self.session])
        self.sessions += 1
        self.session = f"h{self.sessions}"
        assert run(["start", "--new", "--session", self.session]) == 0

    def add(self) -> str:
        """Add a task."""
        self.number += 1
        if self.real is None:
            return self.beads.add(f"tp-{self.number}")
        made = json.loads(self.bd("create", f"--title=Task {self.number}", "--json"))
        return str(made["id"])

    def look(self, task: str) -> dict[str, Any]:
        """Give a task as the tracker has it."""
        if self.real is None:
            found: dict[str, Any] = self.beads.issues()[task]
            return found
        (shown,) = json.loads(self.bd("show", task, "--json"))
        return dict(shown)

    def operations(self) -> list[SharedOperation]:
        """Give all operations of the journals."""
        found: list[SharedOperation] = []
        for path in sorted((self.root / JOURNALS).glob("*.jsonl")):
            found += read_operations(path.stem, parse_journal(path.read_text(encoding="utf-8")).lines)
        return found

    def repair(self) -> int:
        """Let other verbs repeat what waits, until nothing does; give how many that were."""
        for number in range(MOST_REPAIRS):
            if not any(one.is_waiting for one in self.operations()):
                return number
            run(["ready"])
        return MOST_REPAIRS


def count_steps(project: Project) -> int:
    """Give how many steps a note takes: what dies at a step dies at all before it."""
    low, high = 1, 40
    while low < high:
        middle = (low + high) // 2
        words = ["task", "note", project.add(), "counted", "--session", project.session]
        low, high = (middle + 1, high) if run(words, middle) < 0 else (low, middle)
    return low


def change(project: Project, verb: str, text: str) -> tuple[str, list[str]]:
    """Prepare a task; give it, and the verb that changes it."""
    task = project.add()
    if verb == "close":
        assert run(["claim", task, "--session", project.session]) == 0, task
        return task, ["close", task, "--note", text, "--session", project.session]
    return task, ["task", "note", task, text, "--session", project.session]


def judge(project: Project, task: str, verb: str, text: str) -> list[str]:
    """Give what is wrong: what was wanted must have happened once, and nothing else at all."""
    wanted = [one for one in project.operations() if one.task == task and one.action in {"update", "close"}]
    found = project.look(task)
    expected = len(wanted)
    wrong = [f"{expected} wanted"] if expected > 1 else []
    if found.get("notes", "").count(text) != expected:
        wrong.append(f"the note is there {found.get('notes', '').count(text)} times, not {expected}")
    if verb == "close" and (found["status"] == "closed") != bool(expected):
        wrong.append(f"it is {found['status']}, and {expected} wanted it closed")
    if found.get("closes", expected) not in {expected, 0 if verb == "note" else expected}:
        wrong.append(f"it was closed {found['closes']} times")
    wrong += [
        f"{one.outcome or 'nothing'} came of it: {one.error}" for one in wanted if one.outcome != "done"
    ]
    return wrong


def main() -> None:
    """Run them."""
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    load_all()
    project = Project(folder, sys.argv[4] if len(sys.argv) > 4 else "")
    numbers = random.Random(seed)  # moments, not secrets
    project.new_session()
    most = 2 * count_steps(project)
    hits: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(count):
        if number % SESSION_RUNS == SESSION_RUNS - 1:
            project.new_session()
        verb, fault = ("note", "close")[number % 2], FAULTS[number // 2 % len(FAULTS)]
        text = f"text {number} of {seed}."
        task, words = change(project, verb, text)
        os.environ["BD_MOMENT"] = numbers.uniform(0, 0.4).hex()
        at = 0 if fault.startswith("kill") else numbers.randint(0, most)
        project.beads.plan(*[fault] * numbers.choice((1, 1, 2, 3)))
        code = run(words, at)
        project.beads.plan()
        hits[f"fault {fault or 'none'}"] += 1
        hits["killed" if code < 0 else "ended"] += 1
        hits[f"step {at}"] += code < 0 and bool(at)
        if numbers.random() < 0.5:
            subprocess.run(["git", "clean", "-fdxq"], check=True)
            hits["cleaned"] += 1
        if numbers.random() < 0.2:
            project.new_session()
        repairs = project.repair()
        hits["repeated"] += repairs > 0
        wrong += [
            f"run {number}, {verb}, {fault}, step {at}: {one}" for one in judge(project, task, verb, text)
        ]
    print(json.dumps({"steps": most, "hits": hits, "wrong": wrong}))


if __name__ == "__main__":
    main()
