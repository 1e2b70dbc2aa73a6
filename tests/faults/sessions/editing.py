"""Edit a ledger by hand while verbs run: `python -m tests.faults.sessions.editing`.

Arguments: folder, number of edits, seed, and what is planted or missing: "", "plain-replace", "no-exchange"
or "no-leases". Prints one JSON object: edits by way, what was lost, and what was left behind.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from passdown.core.formats.journal import parse_journal
from passdown.core.formats.ledgers import parse_ledger
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import fold_journal
from passdown.engines.files import write
from passdown.engines.files.documents import FileDocuments
from passdown.records import replace
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Settings
from tests.faults.sessions.racing import run_all
from tests.support.projects import open_checkout

LEDGER: Final = "conductor/sessions/active/LEDGER.md"
WAYS: Final = ("rename", "truncate", "append", "in-place")
WAYS_WITHOUT_LEASES: Final = ("rename", "append")
"""Where nobody tells who has a file open, half of a slow save in place may be taken for the whole."""
EACH: Final = 40
"""How many edits one project gets: a ledger that grows without end takes longer and longer."""
_DONE: Final = "### Done\n"


def edit(path: Path, way: str, name: str, numbers: random.Random) -> bool:
    """Add a line with a name of its own, as an editor or a shell would; return False if it could not."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:  # where the system cannot exchange there is none for a moment
        return False
    if way == "append":
        with path.open("a", encoding="utf-8") as file:
            _pause(numbers)
            file.write(f"| {name} | pass | 12:00 | by hand |\n")
        return True
    if _DONE not in text or "## Validation History" not in text:
        return False  # half of what we ourselves are writing: an editor would load it again
    text = text.replace(_DONE, f"{_DONE}- {name}\n")
    if way == "rename":
        beside = path.with_name(f"{path.name}.swp")
        beside.write_text(text, encoding="utf-8")
        _pause(numbers)
        beside.replace(path)
        return True
    with path.open("w" if way == "truncate" else "r+", encoding="utf-8") as file:
        half = numbers.randrange(len(text))
        file.write(text[:half])
        file.flush()
        _pause(numbers)
        file.write(text[half:])
    return True


def _pause(numbers: random.Random) -> None:
    """Let others work, for a moment of up to 4 ms."""
    until = time.perf_counter() + numbers.uniform(0, 0.004)
    while time.perf_counter() < until:
        os.sched_yield()


def edit_all(root: Path, way: str, count: int, seed: int) -> None:
    """Make all edits of a project, one after the other."""
    numbers = random.Random(seed)  # moments, not secrets
    for number in range(count):
        while not edit(root / LEDGER, way, f"edit-{number}", numbers):
            _pause(numbers)
        _pause(numbers)
    (root / "edited").touch()


def speak_all(root: Path, session: str, name: str) -> None:
    """State facts until all edits are made."""
    workspace = open_checkout(root, Settings())
    number = 0
    while not (root / "edited").exists():
        number += 1
        account = read_account(workspace, session)
        update_ledger(workspace, account, [NewFact(FactKind.QUESTION, f"{name}-{number}")])
        (root / name).write_text(str(number), encoding="utf-8")


def run_project(root: Path, way: str, count: int, seed: int) -> list[str]:
    """Edit one ledger while two processes state facts; return what is lost or left behind."""
    workspace = open_checkout(root, Settings())
    session = start_session(workspace, StartRequest(is_new=True)).account.session
    codes = run_all(
        [
            lambda: edit_all(root, way, count, seed),
            lambda: speak_all(root, session, "ada"),
            lambda: speak_all(root, session, "bob"),
        ]
    )
    wrong = [f"a process ended with {code}" for code in codes if code]
    for _ in range(3):  # the next verbs take in what came last
        kept = update_ledger(workspace, read_account(workspace, session))
        wrong += [f"{problem.field} {problem.problem}" for problem in kept.problems]
    return wrong + check(workspace, root, session, count)


def check(workspace: Workspace, root: Path, session: str, count: int) -> list[str]:
    """Name the edits and facts that neither journal nor ledger has, and the files that were left behind."""
    path = root / ".git" / "passdown" / "journal" / f"{session}.jsonl"
    account = fold_journal(session, parse_journal(path.read_text(encoding="utf-8")).lines)
    text = workspace.documents.read(LEDGER).decode()
    ledger = parse_ledger(text)
    known = {fact.text for kind in (FactKind.DONE, FactKind.QUESTION) for fact in account.of(kind)}
    shown = {*ledger.done, *ledger.questions}
    wanted = {f"edit-{number}" for number in range(count)}
    tables = {name for name in wanted if f"| {name} |" in text}
    said = {
        f"{name}-{number}"
        for name in ("ada", "bob")
        if (root / name).exists()
        for number in range(1, int((root / name).read_text(encoding="utf-8") or "0") + 1)
    }
    lost = sorted((wanted - known - tables) | (said - known))
    hidden = sorted(known - shown)
    beside = sorted(
        one for one in os.listdir((root / LEDGER).parent) if one not in {"LEDGER.md", ".gitignore"}
    )
    return [
        *(f"lost: {one}" for one in lost),
        *(f"not in the ledger: {one}" for one in hidden),
        *(f"left behind: {one}" for one in beside),
    ]


def plant(fault: str) -> None:
    """Take away what the proof relies on, or what a system may lack."""
    ways = {
        "no-exchange": replace(write.HERE, exchange=lambda *_: False),
        "no-leases": replace(write.HERE, is_unused=lambda _: None),
    }
    if fault in ways:
        chosen = ways[fault]
        before = FileDocuments.__init__

        def init(documents: FileDocuments, root: object, **_: object) -> None:
            before(documents, root, operations=chosen)  # type: ignore[arg-type]  # as it came

        FileDocuments.__init__ = init  # type: ignore[method-assign,assignment]
    if fault == "plain-replace":
        exchange = write.replace

        def plain(path: str, data: bytes, **more: object) -> None:
            exchange(path, data, **{**more, "expected": None})  # type: ignore[arg-type]  # as it came

        write.replace = plain  # type: ignore[assignment]


def main() -> None:
    """Edit project after project, each in another way."""
    folder, count, seed, fault = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    plant(fault)
    template = folder / "template"
    subprocess.run(["git", "init", "-q", "-b", "main", str(template)], check=True)
    made = dict.fromkeys(WAYS, 0)
    wrong: list[str] = []
    number = 0
    while sum(made.values()) < count:
        ways = WAYS if fault != "no-leases" else WAYS_WITHOUT_LEASES
        way = ways[number % len(ways)]
        root, edits = folder / f"project-{number}", min(EACH, count - sum(made.values()))
        shutil.copytree(template, root)
        found = run_project(root, way, edits, seed + number)
        if fault == "no-leases":  # there, displaced files are kept for half a minute
            found = [one for one in found if not one.endswith(".displaced")]
        wrong += [f"{way} {number}: {one}" for one in found]
        made[way] += edits
        number += 1
        shutil.rmtree(root)
    sys.stdout.write(json.dumps({"edits": made, "wrong": wrong}))


if __name__ == "__main__":
    main()
