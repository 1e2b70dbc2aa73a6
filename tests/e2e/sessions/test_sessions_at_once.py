"""Sessions at work at the same moment, in one checkout and in several: each keeps its own account whole."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.formats.ledgers import parse_ledger
from tests.proof import proof_count
from tests.support.commands import environment
from tests.support.gits import Project, make_started

ROOT: Final = Path(__file__).resolve().parents[3]
# Begins a session, or shares one, then says three things whenever it is told to, and tells what was taken.
WORKER: Final = """
import contextlib, io, json, os, sys
from tests.faults.sessions.lives import call, own_host
from passdown.engines.process import SystemProcesses
SystemProcesses.find_host = own_host
name, folder, session = sys.argv[1:]
os.chdir(folder)

def ask(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = call(*words, "--json")
    return code, json.loads(out.getvalue())

print("ready", flush=True)
sys.stdin.readline()
if not session:
    code, answer = ask("start", "--new", "--nickname", name)
    assert code == 0, answer
    session = answer["session"]
print(session, flush=True)
for line in sys.stdin:
    number, told = line.strip(), []
    said = (["done", f"{name} done {number}"], ["ask", f"{name} asks {number}"], ["now", f"{name} {number}"])
    for words in said:
        code, answer = ask(*words, "--session", session)
        told.append([code, answer.get("line"), words[1]])
    print(json.dumps(told), flush=True)
"""


class Worker:
    """One process that works for a session."""

    def __init__(self, name: str, folder: Path, session: str = "") -> None:
        """Start it; it waits for its first line."""
        self.name = name
        self.folder = folder
        self.session = session
        self.told: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, name, str(folder), session],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, text: str) -> None:
        """Let it go on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def read(self) -> str:
        """Read what it tells."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        return self._process.stdout.readline().strip() or self._process.stderr.read()

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


@contextmanager
def workers(project: Project) -> Iterator[list[Worker]]:
    """Start two sessions in one checkout and three in worktrees, and two more processes for the first one."""
    folders = [project.folder.parent / f"tree-{number}" for number in range(3)]
    for folder in folders:
        project.git("worktree", "add", "-q", str(folder))
    names = [
        ("ada", project.folder),
        ("bob", project.folder),
        *zip(("cy", "dee", "eve"), folders, strict=True),
    ]
    started = [Worker(name, folder) for name, folder in names]
    try:
        begin(started)
        for name in ("ada-two", "ada-three"):
            started.append(Worker(name, project.folder, started[0].session))
            begin(started[-1:])
        yield started
    finally:
        for worker in started:
            worker.close()


def begin(started: list[Worker]) -> None:
    """Let all begin at the same moment."""
    assert [worker.read() for worker in started] == ["ready"] * len(started)
    for worker in started:
        worker.write("go")
    for worker in started:
        worker.session = worker.read()


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R1", "R2")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_sessions_at_the_same_moment_keep_their_accounts_apart(tmp_path: Path) -> None:
    project = make_started(tmp_path / "main")
    rounds = proof_count(fast=5, ci=8, long=200)

    with workers(project) as started:
        sessions = {worker.session for worker in started}
        for number in range(rounds):
            for worker in started:
                worker.write(str(number))
            for worker in started:
                answer = json.loads(worker.read())
                assert [code for code, _, _ in answer] == [0, 0, 0], answer
                worker.told += [text for _, _, text in answer]
            check_round(project, started)

    assert len(sessions) == 5
    ledgers = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("LEDGER.md")}
    assert ledgers == {"main", "tree-0", "tree-1", "tree-2"}
    assert project.git("status", "--porcelain") == ""


def check_round(project: Project, started: list[Worker]) -> None:
    """Nothing told is lost, numbers are unique, and no ledger holds another's facts."""
    said: dict[str, set[str]] = {}
    for path in (project.folder / ".git" / "passdown" / "journal").iterdir():
        journal = parse_journal(path.read_text(encoding="utf-8"))
        numbers = [line.seq for line in journal.lines]
        assert journal.problems == ()
        assert numbers == list(range(1, len(numbers) + 1))
        said[path.stem] = {line.fact.text for line in journal.lines}
    for worker in started:
        assert said[worker.session].issuperset(worker.told)
    names = {
        worker.session: {one.name for one in started if one.session == worker.session} for worker in started
    }
    seen = set()
    for folder in {worker.folder for worker in started}:
        for path in folder.glob("conductor/sessions/active/**/LEDGER.md"):
            ledger = parse_ledger(path.read_text(encoding="utf-8"))
            assert ledger.session_id is not None
            assert ledger.session_id not in seen
            seen.add(ledger.session_id)
            authors = {text.split(" ")[0] for text in (*ledger.done, *ledger.questions, ledger.now)}
            assert authors <= names[ledger.session_id]
            known = {text for text in said[ledger.session_id] if " done " in text}
            # Of verbs of one session at the same moment the last to write may know one line less.
            assert set(ledger.done) <= known
    assert seen == set(names)
