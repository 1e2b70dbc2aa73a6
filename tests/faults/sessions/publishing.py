"""Publish one session from eight processes at the same moment: `python -m tests.faults.sessions.publishing`.

Arguments: folder, number of rounds, seed, and what is planted: "" or "unlocked". Prints one JSON object:
rounds by way, events, facts, and what was wrong.

Each process is forked, and calls what the command or the hook calls. One round in `REAL` starts the command
and the hook as programs instead.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from passdown.core.formats.events import Event, parse_event
from passdown.core.formats.journal import SESSION_END
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.engines.files import write
from passdown.errors import StorageError
from passdown.faces.hooks import main as hooks
from passdown.services.sessions.journals import append_fact, read_account
from passdown.services.sessions.publications import publish
from passdown.services.sessions.sessions import StartRequest, publish_end, start_session
from passdown.services.workspace.workspaces import NO_LIMITS, UNCACHED, ReadLimits
from passdown.settings import EventSettings, Settings
from tests.faults.sessions.lives import EVENTS
from tests.faults.sessions.racing import run_all
from tests.support.projects import open_checkout

PUBLISHERS: Final = 8
EACH: Final = 20
"""How many rounds one project gets: a log that grows without end takes longer and longer."""
REAL: Final = 50
WAYS: Final = ("cache", "no cache", "busy cache", "hooks", "ends", "all at once")
HOST: Final = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"
SETTINGS: Final = "[events]\npublish_minutes = 0\n"
_COMMAND: Final = "import sys; from passdown.faces.cli.main import main; sys.exit(main())"


def state(root: Path, session: str, text: str, limits: ReadLimits = NO_LIMITS) -> None:
    """State a fact that no other process states."""
    workspace = open_checkout(root, Settings(), limits)
    append_fact(workspace, read_account(workspace, session), NewFact(FactKind.DONE, text))


def publish_now(root: Path, session: str, text: str, limits: ReadLimits = NO_LIMITS) -> None:
    """State a fact and publish, as `passdown publish` does; a cache that is held is done without."""
    state(root, session, text, limits)
    settings = Settings(events=EventSettings(publish_minutes=0))
    publish(open_checkout(root, settings, limits), session, kind="checkpoint", reason="asked")


def end_turn(root: Path, session: str, text: str) -> None:
    """State a fact, then end a turn, as the host tells it; a hook writes its troubles into its log."""
    state(root, session, text)
    hooks.answer(["--host", "claude"], payload(root), str(root))


def end(root: Path, session: str, text: str) -> None:
    """State a fact and end the session; whoever comes second finds it ended."""
    state(root, session, text)
    workspace = open_checkout(root, Settings())
    publish_end(workspace, read_account(workspace, session), "session-end")


def run_command(root: Path, session: str, text: str) -> None:
    """State a fact and publish by the command itself."""
    for words in (["done", text], ["publish"]):
        subprocess.run([sys.executable, "-c", _COMMAND, *words, "--session", session], cwd=root, check=True)


def run_hook(root: Path, session: str, text: str) -> None:
    """State a fact by the command, and end a turn by the hook."""
    words = [sys.executable, "-c", _COMMAND]
    subprocess.run([*words, "done", text, "--session", session], cwd=root, check=True)
    told = json.dumps(payload(root)).encode()
    subprocess.run([*words, "hook", "--host", "claude"], cwd=root, input=told, check=True)


def payload(root: Path) -> Mapping[str, object]:
    """Return what the host tells at the end of a turn."""
    path = str(root.parent / "none.jsonl")
    return {"hook_event_name": "Stop", "session_id": HOST, "cwd": str(root), "transcript_path": path}


_Act = Callable[[Path, str, str], None]
ACTS: Final[Mapping[str, Sequence[_Act]]] = {
    "cache": [publish_now],
    "no cache": [partial(publish_now, limits=UNCACHED)],
    "busy cache": [end_turn, partial(publish_now, limits=UNCACHED)],
    "hooks": [end_turn],
    "ends": [end, publish_now, partial(publish_now, limits=UNCACHED), end_turn],
    "all at once": [publish_now, partial(publish_now, limits=UNCACHED), end_turn],
    "programs": [run_command, run_hook],
}


@contextmanager
def holding_cache(root: Path) -> Iterator[None]:
    """Hold the cache as another writer does."""
    (path,) = (root / ".git" / "passdown" / "cache").glob("events-*.sqlite")
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        held.execute("ROLLBACK")
        held.close()


def start(root: Path) -> str:
    """Start a session of the host, publish its first fact, and return its name."""
    workspace = open_checkout(root, Settings())
    session = start_session(
        workspace, StartRequest(host="claude", host_session=HOST, is_new=True)
    ).account.session
    publish_now(root, session, "first")
    return session


def run_round(root: Path, session: str, way: str, name: str) -> list[str]:
    """Let all publish at the same moment, then once more alone; return what was wrong."""
    acts = ACTS[way]
    texts = [f"{name} {number}" for number in range(PUBLISHERS)]
    chosen = [
        partial(_ignoring_troubles, acts[number % len(acts)], root, session, text)
        for number, text in enumerate(texts)
    ]
    if way == "busy cache":
        with holding_cache(root):
            codes = run_all(chosen)
    else:
        codes = run_all(chosen)
    wrong = [f"a process ended with {code}" for code in codes if code]
    wrong += [
        f"the last process ended with {code}"
        for code in run_all([partial(_publish_rest, root, session)])
        if code
    ]
    events = read_events(root, session)
    told = [text for event in events for text in event.this_session]
    wrong += [f"lost: {text}" for text in texts if text not in told]
    wrong += [f"told twice: {text}" for text in texts if told.count(text) > 1]
    return wrong + check_ranges(events) + check_ends(events)


def _ignoring_troubles(act: _Act, root: Path, session: str, text: str) -> None:
    # A publisher that could not get the lock in time has left it to the next one.
    with suppress(StorageError):
        act(root, session, text)


def _publish_rest(root: Path, session: str) -> None:
    publish(open_checkout(root, Settings()), session, kind="checkpoint", reason="asked")


def read_events(root: Path, session: str) -> list[Event]:
    """Read the events of a session."""
    found = (parse_event(path.read_text(encoding="utf-8")) for path in (root / EVENTS).glob("*.md"))
    return [event for event in found if event.session == session]


def check_ends(events: Sequence[Event]) -> list[str]:
    """Return the ends that tell nothing, for the session had ended already and has said nothing since."""
    told = sorted(events, key=lambda event: str(event.ts))
    return [
        f"ended twice: {after.id}"
        for before, after in pairwise(told)
        if after.covers is None and before.type == SESSION_END
    ]


def check_ranges(events: Sequence[Event]) -> list[str]:
    """Return the ranges of lines that two events cover, and those that none covers."""
    ranges = sorted(tuple(map(int, event.covers.split("-"))) for event in events if event.covers)
    return [
        f"{before} and {after} {'overlap' if after[0] <= before[1] else 'leave a gap'}"
        for before, after in pairwise([(0, 0), *ranges])
        if after[0] != before[1] + 1
    ]


@contextmanager
def unlocked(
    roots: Mapping[str, str], wait: float | None, *, operations: write.FileOperations = write.HERE
) -> Generator[Mapping[str, bool], None, None]:
    """Lock nothing, and say that everything is locked."""
    del wait, operations
    yield dict.fromkeys(roots, True)


def warm_up(template: Path, root: Path) -> None:
    """Load everything once, before anything is forked."""
    shutil.copytree(template, root)
    session = start(root)
    out = sys.stdout
    with open(os.devnull, "w", encoding="utf-8") as sys.stdout:  # nobody reads it
        for act in (publish_now, end_turn, end):
            act(root, session, "warm")
    sys.stdout = out
    shutil.rmtree(root)


def main() -> None:
    """Run the rounds, one way after the other."""
    folder, rounds, seed, fault = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if fault == "unlocked":
        write.locked = unlocked
    numbers = random.Random(seed)  # the order of the ways, not secrets
    template = folder / "template"
    subprocess.run(["git", "init", "-q", "-b", "main", str(template)], check=True)
    (template / "passdown.toml").write_text(SETTINGS, encoding="utf-8")
    warm_up(template, folder / "warm")
    made: dict[str, int] = {}
    wrong: list[str] = []
    root, session, events, facts = folder, "", 0, 0
    for number in range(rounds):
        if number % EACH == 0:
            root = folder / f"project-{number}"
            shutil.copytree(template, root)
            session = ""
        session = session or start(root)
        way = "programs" if number % REAL == REAL - 1 else numbers.choice(WAYS)
        made[way] = made.get(way, 0) + 1
        before = len(read_events(root, session))
        wrong += [f"{way} {number}: {one}" for one in run_round(root, session, way, f"round {number}")]
        events += len(read_events(root, session)) - before
        facts += PUBLISHERS
        if way == "ends":
            session = ""
        if number % EACH == EACH - 1:
            wrong += [f"{number}: left behind {one}" for one in root.rglob(".passdown-*")]
            shutil.rmtree(root)
    sys.stdout.write(json.dumps({"rounds": made, "events": events, "facts": facts, "wrong": wrong}))


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    main()
