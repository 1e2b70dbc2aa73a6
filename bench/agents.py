"""What ended and running sessions leave behind, the same in every run: journals, transcripts, shared rows."""

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, render_line
from passdown.core.holds import PUBLISHED
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import HostProcess, SessionStart, make_start

BUSY: Final = "s-bbbbbbbbbbbb"
"""The session that runs beside those that are measured, and holds what is reserved."""
TURN: Final = 20_000
"""About how many bytes of a transcript a turn adds."""

_BEGIN: Final = datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)
_A_DAY: Final = 50
_RECORDED: Final = Path(__file__).resolve().parent.parent / "tests/hosts/recordings/claude-code-work"
_NUMBERS: Final = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
_TASK: Final = "'local', 't-' || n.i, 'Do it.', '', 2, '', 'open', '', '', 0, 0, n.i + 100"
_PLACE: Final = "'part' || (n.i / 50) || '/' || n.i || '.py'"
_LEASE: Final = f"'local', 'path', {_PLACE}, ?, n.i + 1000000, 86400.0, ?, 0, '', NULL, 0"
_MEMBER: Final = "'local', ?, 'claude-bbbbbbbb', '', 'default', 'any', ?, 0, ?, NULL, ''"
_ENDED: Final = "'local', 's-' || n.i, 'claude-' || n.i, '', 'default', 'any', '', 0, ?, ?, ''"


def make_journals(count: int, checkout: str) -> Iterator[tuple[str, str, str]]:
    """Make the month, session and journal of so many ended sessions, 50 a day."""
    for number in range(count):
        at = _BEGIN + timedelta(days=1) / _A_DAY * number
        agent = f"claude-{number:08x}"
        facts = [
            fact._replace(agent=agent, at=at + timedelta(minutes=minute))
            for minute, fact in enumerate(_ended_facts(number, checkout))
        ]
        yield f"{at:%Y-%m}", f"s-{number:012x}", _render(facts)


def _ended_facts(number: int, checkout: str) -> list[Fact]:
    start = SessionStart(
        host="claude-code",
        host_session=f"host-{number}",
        checkout=checkout,
        branch="main",
        ledger=f"conductor/sessions/active/claude-{number:08x}/LEDGER.md",
        process=HostProcess(4_000_000, str(number), "another boot"),
        continues=f"s-{number - 1:012x}" if number else "",
    )
    said = random.Random(number).choice(("the parser", "the credential endpoint", "the release notes"))
    stated = (
        (FactKind.GOAL, f"People can use {said} in release {number}", ""),
        (FactKind.NOW, f"Test {said}", ""),
        (FactKind.DECISION, "Measured three times, it is faster", f"choice-{number}"),
        (FactKind.FILE, f"src/part{number % 100}/parser.py", ""),
        (FactKind.DONE, f"Wrote {said}", ""),
        (FactKind.HEARTBEAT, "alive", ""),
        (FactKind.END, "session-end", PUBLISHED),
    )
    return [make_start(start, _BEGIN, ""), *(_fact(kind, text, key) for kind, text, key in stated)]


def make_busy_journal(lines: int, checkout: str, process: HostProcess) -> str:
    """Make the journal of a session that runs in that process and has published nothing."""
    start = SessionStart(
        host="claude-code",
        host_session="busy",
        checkout=checkout,
        branch="main",
        ledger="conductor/sessions/active/claude-bbbbbbbb/LEDGER.md",
        process=process,
    )
    now = datetime.now(UTC).replace(microsecond=0)
    facts = [make_start(start, now, ""), *(_fact(FactKind.DONE, f"Step {one}") for one in range(1, lines))]
    return _render([fact._replace(agent="claude-bbbbbbbb", at=now) for fact in facts])


def _fact(kind: FactKind, text: str, key: str = "") -> Fact:
    return Fact(kind=kind.value, text=text, at=_BEGIN, agent="", key=key)


def _render(facts: list[Fact]) -> str:
    return "".join(render_line(JournalLine(seq=seq, fact=fact)) for seq, fact in enumerate(facts, 1))


def make_transcript(size: int, cwd: str) -> bytes:
    """Repeat the recorded transcript of a host, as if it had been made in this folder."""
    recorded = next(_RECORDED.glob("*.jsonl")).read_text(encoding="utf-8")
    text = recorded.replace('"/project', json.dumps(cwd)[:-1])
    return (text * (size // len(text) + 1)).encode()


def make_turn(cwd: str) -> bytes:
    """Make what one more turn adds to a transcript."""
    lines = make_transcript(1, cwd).splitlines(keepends=True)
    kept: list[bytes] = []
    while sum(map(len, kept)) < TURN:
        kept.append(lines[len(kept)])
    return b"".join(kept)


def fill_statements(
    tasks: int, reservations: int, ended: int, process: HostProcess
) -> list[tuple[str, tuple[float | str, ...]]]:
    """Return what adds so many rows to a database that sessions of a clone share."""
    now = time.time()
    made: list[tuple[str, int, tuple[float | str, ...]]] = [
        (f"tasks SELECT {_TASK}", tasks, ()),
        (f"sessions SELECT {_MEMBER}", 1, (BUSY, json.dumps(process), now)),
        (f"sessions SELECT {_ENDED}", ended, (now, now)),
        (f"leases SELECT {_LEASE}", reservations, (BUSY, now)),
    ]
    return [
        (f"{_NUMBERS} INSERT INTO {text} FROM n", (count, *values)) for text, count, values in made if count
    ]
