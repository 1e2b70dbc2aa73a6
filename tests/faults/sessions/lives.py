"""Sessions that are killed: what each verb is called with, and what must hold afterwards."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from passdown.core.formats.events import parse_event
from passdown.core.formats.journal import parse_journal
from passdown.core.formats.ledgers import parse_ledger
from passdown.core.formats.state_file import parse_session_state
from passdown.core.kinds import FactKind
from passdown.core.problems import Severity
from passdown.core.sessions.ledger_sync import RULED_OUT
from passdown.core.sessions.session_facts import HostProcess, fold_journal
from passdown.engines.files.displaced_names import is_leftover
from passdown.engines.process import SystemProcesses
from passdown.faces.cli.main import main

JOURNALS: Final = ".git/passdown/journal"
EVENTS: Final = "thoughts/shared/handoffs/events"
VERBS: Final[dict[str, Callable[[str], list[str]]]] = {
    "start": lambda _: ["start", "--new"],
    "heartbeat": lambda _: ["heartbeat"],
    "goal": lambda text: ["goal", text],
    "now": lambda text: ["now", text],
    "done": lambda text: ["done", text],
    "next": lambda text: ["next", "--add", text],
    "decide": lambda text: ["decide", text.replace(" ", "_"), text],
    "rule-out": lambda text: ["rule-out", text],
    "ask": lambda text: ["ask", text],
    "answer": lambda text: ["answer", "why?", text],
    "note": lambda text: ["note", text],
    "retract": lambda text: ["retract", text, "--kind", "done"],
    "publish": lambda text: ["publish", "--checkpoint", "1", "--name", text],
    "end": lambda _: ["end"],
}
KINDS: Final = {
    "goal": "goal",
    "now": "now",
    "done": "done",
    "next": "next",
    "decide": "decision",
    "rule-out": "constraint",
    "ask": "question",
    "answer": "answer",
    "note": "note",
    "retract": "retraction",
    "publish": "checkpoint",
    "end": "end",
}
_LISTS: Final = (FactKind.DONE, FactKind.CONSTRAINT, FactKind.QUESTION, FactKind.DECISION)


def call(*arguments: str) -> int:
    """Call the command in this process."""
    sys.argv = ["passdown", *arguments]
    return main()


def own_host(processes: SystemProcesses) -> HostProcess:
    """Give this very process as the host: it dies with us."""
    del processes
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return HostProcess(os.getpid(), fields[19], f"{boot} {Path('/proc/self/ns/pid').readlink()}")


def said(root: Path) -> set[tuple[str, str]]:
    """Give kind and text of every line in every journal."""
    found = set()
    for path in (root / JOURNALS).glob("*.jsonl"):
        lines = parse_journal(path.read_text(encoding="utf-8", errors="replace")).lines
        texts = {(line.fact.kind, text) for line in lines for text in line.fact.text.split("\n")}
        texts |= {(line.fact.kind, line.fact.because) for line in lines}  # the name of a phase
        found |= {(kind, text.removeprefix(RULED_OUT)) for kind, text in texts}
    return found


def find_torn(root: Path) -> Iterator[str]:
    """Name what does not parse; of a journal only the last line may be cut off."""
    for path in (root / JOURNALS).glob("*.jsonl"):
        text = path.read_text(encoding="utf-8", errors="replace")
        last = text.count("\n") + 1
        if any(problem.line != last for problem in parse_journal(text).problems):
            yield str(path)
    for path in (root / "conductor").rglob("LEDGER.md"):
        if _is_bad(parse_ledger(path.read_text(encoding="utf-8")).problems):
            yield str(path)
    for path in (root / EVENTS).glob("*.md"):
        event = parse_event(path.read_text(encoding="utf-8"))
        if _is_bad(event.problems) or not event.id:
            yield str(path)
    for path in (root / ".conductor").glob("session-state_*.json"):
        if _is_bad(parse_session_state(path.read_text(encoding="utf-8")).problems):
            yield str(path)


def _is_bad(problems: object) -> bool:
    return any(one.severity is Severity.ERROR for one in problems)  # type: ignore[attr-defined]


def leftovers(root: Path) -> list[str]:
    """Name the unfinished writes below a project, git's folder included."""
    return [str(path) for path in root.rglob(".passdown-*") if is_leftover(path.name)]


def unpublished(root: Path) -> list[str]:
    """Name what ended sessions know and no event says."""
    events = [parse_event(path.read_text(encoding="utf-8")) for path in (root / EVENTS).glob("*.md")]
    stated = {text for event in events for text in (*event.this_session, *event.constraints)}
    stated |= {text for event in events for text in event.open_questions}
    stated |= {pair.value for event in events for pair in event.decisions}
    missing: list[str] = []
    for path in (root / JOURNALS).glob("*.jsonl"):
        lines = parse_journal(path.read_text(encoding="utf-8", errors="replace")).lines
        account = fold_journal(path.stem, lines)
        if account.ended_at is not None:
            missing += [one.text for kind in _LISTS for one in account.of(kind) if one.text not in stated]
    return missing
