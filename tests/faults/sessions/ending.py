"""Eight processes that start and end sessions, put journals away, and bring them back, until they are killed.

Run as a program with a folder, a number of rounds and a seed; it prints what was lost, or nothing.
"""

import os
import random
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.holds import PUBLISHED
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import SessionStart, make_start
from passdown.engines.files.journals import FileJournals
from passdown.engines.sqlite.database import PARTS
from passdown.engines.sqlite.ended_index import open_ended
from passdown.errors import StorageError

PROCESSES: Final = 8
ACTS: Final = 4
LONGEST: Final = 12_000
"""The most calls that a process makes before it is killed; half of them make all of theirs."""
_AT: Final = datetime(2026, 1, 11, 12, tzinfo=UTC)
_AGENT: Final = "crane-0000beef"
_KILLED: Final = 9


def open_journals(folder: Path) -> FileJournals:
    """Open the journals as a process does."""
    index = str(folder / "ended.sqlite")
    return FileJournals([str(folder / "journal")], roots=[str(folder)], open_index=lambda: open_ended(index))


class Racer:
    """What one process does; each line that was acknowledged is noted in a file."""

    def __init__(self, folder: Path, chance: random.Random, name: str) -> None:
        """Begin a round."""
        self.journals = open_journals(folder)
        self.chance = chance
        self.name = name
        self.count = 0
        self.notes = os.open(folder / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def run(self) -> None:
        """Do a few things."""
        for _ in range(ACTS):
            act = self.chance.choice((self.live_and_end, self.put_away, self.put_away, self.come_late))
            act()

    def say(self, session: str, kind: FactKind, key: str) -> None:
        """Add a line with a key of its own, and note it once it was acknowledged."""
        if kind is FactKind.START:
            fact = make_start(SessionStart(host_session=key), _AT, _AGENT)
        else:
            fact = Fact(kind.value, "done", _AT, _AGENT, key=PUBLISHED if kind is FactKind.END else key)
        try:
            line = self.journals.append(session, lambda seq: JournalLine(seq=seq, fact=fact), durable=False)
        except StorageError:
            return
        if kind is not FactKind.END:
            os.write(self.notes, f"{session} {line.seq} {key}\n".encode())

    def make_key(self) -> str:
        """Make up an id that nobody else has."""
        self.count += 1
        return f"id-{self.name}-{self.count}"

    def live_and_end(self) -> None:
        """Run a session."""
        session = f"s-{self.name}-{self.count}"
        for kind in (FactKind.START, FactKind.OPERATION, FactKind.END):
            self.say(session, kind, self.make_key())

    def put_away(self) -> None:
        """Archive some journals that have ended."""
        live = [*self.journals.sessions(Scope.LIVE)]
        for session in self.chance.sample(live, min(len(live), 6)):
            last = self.journals.last(session)
            if last is not None and last.fact.kind == FactKind.END:
                self.journals.put_away(session, last.seq)

    def come_late(self) -> None:
        """Add lines to some session, wherever its journal is."""
        every = [*self.journals.sessions(Scope.ALL)]
        if every:
            session = self.chance.choice(every)
            self.say(session, FactKind.OPERATION, self.make_key())
            self.say(session, FactKind.END, "")


def race(folder: Path, chance: random.Random, number: int) -> None:
    """Let processes do this at once; some are killed at any call."""
    children = [_start(folder, random.Random(chance.random()), f"{number}-{one}") for one in range(PROCESSES)]
    for child in children:
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) not in {0, _KILLED}:
            print(f"round {number}: a process failed")


def _start(folder: Path, chance: random.Random, name: str) -> int:
    child = os.fork()
    if child:
        return child
    left = chance.randint(1, 2 * LONGEST)

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            os._exit(_KILLED)

    code = 1
    try:
        sys.setprofile(count)
        Racer(folder, chance, name).run()
        code = 0
    except Exception:  # noqa: BLE001 - a fork must not go on with the work of the process it came from
        print(f"{name}: {traceback.format_exc()}")
    finally:
        sys.stdout.flush()
        os._exit(code)


def find_lost(folder: Path, notes: list[list[str]]) -> Iterator[str]:
    """Yield what was acknowledged and cannot be found, by name or by its key."""
    journals = open_journals(folder)
    every = {*journals.sessions(Scope.ALL)}
    for session, seq, key in notes:
        lines = journals.read(session)
        if [line.seq for line in lines] != [*range(1, len(lines) + 1)]:
            yield f"{session} has the numbers {[line.seq for line in lines]}"
        found = {
            line.seq: dict(line.fact.others).get("host_session", "").strip('"') or line.fact.key
            for line in lines
        }
        if found.get(int(seq)) != key or session not in every:
            yield f"line {seq} of {session} is lost"
        if session not in journals.mentioning(Scope.ALL, key):
            yield f"{key} does not lead to {session}"
    journals.close()


def main(folder: Path, rounds: int, seed: int) -> None:
    """Race, and tell what was lost."""
    chance = random.Random(seed)
    checked = 0
    for number in range(rounds):
        race(folder, chance, number)
        notes = [line.split() for line in (folder / "notes").read_text().splitlines()]
        new, checked = notes[checked:], len(notes)
        for lost in find_lost(folder, notes if number % 50 == 49 or number == rounds - 1 else new):
            print(f"round {number}: {lost}")
        if chance.random() < 0.1:
            for end in PARTS:
                (folder / f"ended.sqlite{end}").unlink(missing_ok=True)
    ended = len([*(folder / "journal").glob("ended/*/*")])
    print(f"{checked} lines, {ended} archived", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
