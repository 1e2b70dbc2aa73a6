"""A server that takes a statement and says nothing: every verb ends in time, as if it was away."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from threading import Timer
from typing import Final, NamedTuple

import pytest

from passdown.core.coordination.members import Member
from passdown.core.coordination.tasks import Task
from passdown.engines.coordination.away import EngineAway, WatchedCoordination
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.patience import Patience
from passdown.engines.postgres.coordination import open_store
from passdown.engines.system import SystemBootClock, SystemClock
from passdown.errors import AwayError, UnansweredError
from passdown.faces.hooks.quick import GRACE, limit_of
from passdown.settings import Settings
from tests.proof import LEVEL, Level, proof_count
from tests.proofs.coordination.test_outages import _make_ops
from tests.stores.proxies import Proxy
from tests.stores.servers import APP, PORT, MigratedDatabase, Postgres
from tests.support.commands import Done, environment
from tests.support.gits import make_started
from tests.support.listeners import Listener

pytestmark = [pytest.mark.server, pytest.mark.proof]

LIMIT: Final = 1
"""Seconds to wait; 10 by default."""
BUSY: Final = 6.0
"""How many times its usual time a verb may take on a busy machine, without that for which it waits."""
POINTS: Final = proof_count(fast=1, ci=1, long=1_000)
"""At how many statements of a verb the server falls silent; each verb has others."""
STEP: Final = proof_count(fast=4, ci=4, long=1)
"""Every verb, or only every fourth."""
PLACES: Final = 3
"""How many verbs run at once: most of their time is waiting."""
WAIT: Final = proof_count(fast=2, ci=2, long=Settings().coordination.wait_seconds)
"""Seconds that one verb waits; at length, as many as by default."""
MORE_TRIES: Final = 2
"""How often a verb that ended late is called again: others may hold up the machine for seconds."""
TRIES: Final = 5
"""How often a call that prepares something is tried: a server counts as away after 250 ms."""
OTHER: Final = "amber"
"""The session that gets and offers something."""
FREE: Final = "free"
"""The role of tasks that anybody may claim without naming them."""


class Place:
    """A project of its own in which a session works, and its own way to the server."""

    name = "birch"

    def __init__(self, folder: Path, proxy: Proxy, database: MigratedDatabase) -> None:
        """Set the project up for a team, and start the session."""
        self.folder, self.proxy = make_started(folder).folder, proxy
        self._database = database
        self.run("init", "--yes")
        self.run("team", "init", "--yes")
        for name in (self.name, OTHER):
            self.start_session(name)
        self.add_tasks(["t-other"])

    def call(self, *words: str, told: bytes = b"", wait: int = LIMIT, url: str = "") -> Done:
        """Call the command, through the proxy unless another way is named; nothing is remembered."""
        (self.folder / ".git/passdown/engine-away.json").unlink(missing_ok=True)
        variables = environment(
            PASSDOWN_COORDINATION_URL=url or self.proxy.url(APP, "postgres"),
            PASSDOWN_COORDINATION_WAIT_SECONDS=str(wait),
        )
        done = subprocess.run(
            [sys.executable, "-m", "passdown", *words],
            cwd=self.folder,
            env=variables,
            input=told,
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def run(self, *words: str, url: str = "") -> str:
        """Call the command, past the proxy or as the URL says, until a busy machine lets it through."""
        tries = (self.call(*words, wait=60, url=url or self._database.url()) for _ in range(TRIES))
        done = next(one for one in tries if one.code != 5)
        assert done.code == 0, (words, done)
        return done.out

    def act(self, *words: str, who: str = name) -> str:
        """Let a session prepare something."""
        return self.run(*words, "--session", who)

    def start_session(self, name: str) -> str:
        """Start a session; return its agent."""
        said = self.run("start", "--new", "--nickname", name, "--session", name, "--json")
        return str(json.loads(said)["agent"])

    def add_tasks(self, names: Sequence[str], role: str = "named") -> None:
        """Add tasks that nobody claims without their names, unless by their role."""
        self.act("task", "import", self.write_tasks(names[0], names, role))

    def write_tasks(self, file: str, names: Sequence[str], role: str = "named") -> str:
        """Write tasks into a file; return its name."""
        lines = [json.dumps({"id": name, "title": name, "role": role}) for name in names]
        (self.folder / f"{file}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return f"{file}.jsonl"

    def claim(self, names: Sequence[str], who: str = name) -> None:
        """Add tasks, and claim them."""
        self.add_tasks(names)
        self.act("claim", *names, "--another", who=who)

    def bury(self, name: str) -> None:
        """Let no sign of life of a session be newer than a day."""
        self._database.run("UPDATE passdown.sessions SET seen = seen - 90000 WHERE agent LIKE %s", f"{name}%")

    def freeze(self, point: int | None, *, swallows_answer: bool = False) -> None:
        """Let the server fall silent at a message from now on, or at none."""
        self.proxy.restore()
        self.proxy.silent_from, self.proxy.swallows_answer = point, swallows_answer


Prepare = Callable[[Place, Sequence[str]], Sequence[str] | None]


class Verb(NamedTuple):
    """A verb that changes what sessions share, and what must be there before it is called."""

    words: tuple[str, ...]
    """The words; `{}` stands for a name that is another one each time, or for what was prepared."""
    prepare: Prepare = lambda _, names: names
    refusal: int = 5
    """Its exit code without a server (C86); 0 if it does the rest of its work."""
    is_talking: bool = False
    """Whether it says something before it asks for a change."""

    def make_calls(self, place: Place, names: Sequence[str]) -> list[list[str]]:
        """Prepare calls, and return the words of each."""
        subjects = self.prepare(place, names) or names
        calls = [[word.replace("{}", one) for word in self.words] for one in subjects]
        return [call if "--session" in call else [*call, "--session", place.name] for call in calls]


def _reserve(place: Place, names: Sequence[str]) -> None:
    place.act("reserve", *(f"{name}/" for name in names))


def _start(place: Place, names: Sequence[str]) -> list[str]:
    return [place.start_session(name) for name in names]


def _receive(place: Place, names: Sequence[str]) -> None:
    _start(place, names)
    place.act("msg", "look", who=OTHER)


def _add_free(place: Place, names: Sequence[str]) -> None:
    place.add_tasks(names, FREE)


def _lose_tasks(place: Place, names: Sequence[str]) -> None:
    place.start_session(f"s-{names[0]}")
    place.claim(names, f"s-{names[0]}")
    place.bury(f"s-{names[0]}")


def _lose_sessions(place: Place, names: Sequence[str]) -> list[str]:
    agents = _start(place, names)
    for name in names:
        place.act("reserve", f"{name}/", who=name)
        place.bury(name)
    return agents


def _offer(place: Place, names: Sequence[str], who: str = OTHER) -> list[str]:
    place.claim(names, who)
    words = ("handoff", "offer", "--json", "--task")
    return [str(json.loads(place.act(*words, name, who=who))["offer"]) for name in names]


def _offer_own(place: Place, names: Sequence[str]) -> list[str]:
    return _offer(place, names, place.name)


def _write_imports(place: Place, names: Sequence[str]) -> list[str]:
    return [place.write_tasks(name, (f"{name}-a", f"{name}-b")) for name in names]


def _write_results(place: Place, names: Sequence[str]) -> None:
    place.claim(names)
    for name in names:
        updates = [{"id": name, "action": "close", "reason": "completed"}]
        told = {"status": "success", "summary": name, "filesModified": [], "beadUpdates": updates}
        (place.folder / name).write_text(f"```json\n{json.dumps(told)}\n```", encoding="utf-8")


VERBS: Final = (
    Verb(("msg", "soon {}?")),
    Verb(("inbox", "--session", "{}"), _receive),
    Verb(("reserve", "{}/")),
    Verb(("renew", "{}/"), _reserve),
    Verb(("release", "{}/"), _reserve),
    Verb(("claim", "--role", FREE, "--another"), _add_free),
    Verb(("claim", "{}", "--another"), Place.add_tasks),
    Verb(("close", "{}", "--note", "it works", "--msg", "{} is closed"), Place.claim),
    Verb(("takeover", "{}"), _lose_tasks),
    Verb(("takeover", "{}"), _lose_sessions),
    Verb(("task", "add", "{}", "--role", "named")),
    Verb(("task", "note", "{}", "look"), Place.claim),
    Verb(("task", "block", "{}", "t-other"), Place.add_tasks),
    Verb(("task", "change", "{}", "--title", "New"), Place.add_tasks),
    Verb(("task", "give-back", "{}"), Place.claim),
    Verb(("task", "import", "{}"), _write_imports),
    Verb(("result", "apply", "{}"), _write_results, is_talking=True),
    Verb(("handoff", "offer", "--task", "{}"), Place.claim),
    Verb(("handoff", "accept", "{}", "--anyway"), _offer, is_talking=True),
    Verb(("handoff", "decline", "{}"), _offer),
    Verb(("handoff", "withdraw", "{}"), _offer_own),
    Verb(("heartbeat",), refusal=0),
    Verb(("start", "--new", "--session", "{}"), refusal=0),
    Verb(("end", "--session", "{}"), _start, refusal=0),
)


@pytest.fixture
def place(tmp_path: Path, own_postgres: Postgres, proxy: Proxy) -> Place:
    """A project that coordinates through the proxy."""
    return Place(tmp_path / "place", proxy, MigratedDatabase(own_postgres.address, "postgres"))


@pytest.fixture
def places(tmp_path: Path, own_postgres: Postgres, place: Place) -> Iterator[list[Place]]:
    """Projects that coordinate through one server, each through a proxy of its own."""
    database = MigratedDatabase(own_postgres.address, "postgres")
    target = own_postgres.address.folder / f".s.PGSQL.{PORT}"
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(target)) for _ in range(PLACES - 1)]
        folders = [tmp_path / f"place-{number}" for number in range(PLACES - 1)]
        with ThreadPoolExecutor(PLACES) as pool:
            others = pool.map(Place, folders, proxies, [database] * len(folders))
        yield [place, *others]


def choose_points(most: int, share: float) -> list[int]:
    """Choose statements; `share`, from 0 to 1, says which ones."""
    if most <= POINTS:
        return [*range(1, most + 1)]
    return [1 + round((most - 1) * (number + share) / POINTS) for number in range(POINTS)]


def call_frozen(
    place: Place, words: Sequence[str], point: int, *, swallows_answer: bool
) -> tuple[Done, float]:
    """Call a command with a server that falls silent at a statement; give the seconds that it took, too."""
    clock = SystemClock()
    place.freeze(point, swallows_answer=swallows_answer)
    began = clock.monotonic()
    return place.call(*words), clock.monotonic() - began


def freeze_at_statements(place: Place, verb: Verb, number: int) -> list[float]:
    """Call a verb with a server that falls silent at one statement after the other; return what each took."""
    clock, took = SystemClock(), []
    (words,) = verb.make_calls(place, [f"v{number}-usual"])
    place.freeze(None)
    began = clock.monotonic()
    usual = place.run(*words, url=place.proxy.url(APP, "postgres"))
    most = LIMIT + BUSY * (clock.monotonic() - began)
    points = choose_points(place.proxy.messages, number / len(VERBS))
    ways = (False, True) if LEVEL is Level.LONG else (number % 2 == 1,)
    cases = [(point, way) for point in points for way in ways]
    calls = verb.make_calls(place, [f"v{number}-{point}-{way:d}" for point, way in cases])
    for words, (point, swallows_answer) in zip(calls, cases, strict=True):
        done, seconds = call_frozen(place, words, point, swallows_answer=swallows_answer)
        for again in range(MORE_TRIES):
            if seconds < most:
                break
            (later,) = verb.make_calls(place, [f"v{number}-{point}-{swallows_answer:d}-{again}"])
            done, seconds = call_frozen(place, later, point, swallows_answer=swallows_answer)
        took.append(seconds)
        case = (words, point, swallows_answer, took[-1], done)
        assert took[-1] < most, case
        # What was answered before counts; what was not is refused, with a line that says so.
        assert done.code in {0, verb.refusal}, case
        assert done.code == 0 or done.err.startswith("passdown: "), case
        assert done.code != 5 or done.out == "" or verb.is_talking, case
        assert done.code != 0 or done.out[:3] == usual[:3], case
    return took


@pytest.mark.timeout(0)
@pytest.mark.requirement("C144", "C86", through="command")
def test_a_server_that_is_frozen_at_a_statement_ends_no_verb_late(places: list[Place]) -> None:
    free: SimpleQueue[Place] = SimpleQueue()
    for place in places:
        free.put(place)

    def prove(number: int) -> list[float]:
        place = free.get()
        try:
            return freeze_at_statements(place, VERBS[number], number)
        finally:
            free.put(place)

    with ThreadPoolExecutor(PLACES) as pool:
        took = [one for found in pool.map(prove, range(0, len(VERBS), STEP)) for one in found]
    late = sum(one > LIMIT for one in took)
    print(
        f"{-(-len(VERBS) // STEP)} verbs, {len(took)} calls, {late} of them waited, longest {max(took):.1f} s"
    )
    assert 2 * late > len(took)  # otherwise little was frozen


@pytest.mark.requirement("C144", "C77", "C86", through="hook")
def test_a_server_that_is_frozen_holds_up_no_hook(place: Place) -> None:
    clock = SystemClock()
    place.act("reserve", "docs/", who=OTHER)
    place.freeze(1)
    edited = {"tool_name": "Edit", "tool_input": {"file_path": str(place.folder / "docs/a.md")}}
    started = {"source": "startup"}
    for event, more in (("SessionStart", started), ("PreToolUse", edited), ("Stop", {}), ("SessionEnd", {})):
        payload = {"hook_event_name": event, "session_id": "host-1", "cwd": str(place.folder), **more}
        began = clock.monotonic()
        done = place.call("hook", "--host", "claude", told=json.dumps(payload).encode())
        took = clock.monotonic() - began

        assert done.code == 0, (event, done)
        assert took < limit_of(event) + GRACE, (event, took, done)
        assert ("amber" in done.out) == (event in {"SessionStart", "PreToolUse"}), (event, done)
    assert place.proxy.messages == 0  # they do not even ask


@pytest.mark.timeout(0)
@pytest.mark.requirement("C144", through="command")
def test_after_a_second_a_verb_says_what_it_waits_for_and_ends_in_time(place: Place) -> None:
    clock = SystemClock()
    began = clock.monotonic()
    place.act("reserve", "src/")
    usual = clock.monotonic() - began
    place.freeze(3)
    began = clock.monotonic()
    done = place.call("reserve", "docs/", "--session", place.name, wait=WAIT)
    took = clock.monotonic() - began

    print(f"`passdown reserve` ended after {took:.2f} s (limit {WAIT} s, usually {usual:.2f} s)")
    assert done.code == 5
    assert done.err.count("passdown: waiting for PostgreSQL (127.0.0.1:") == 1
    assert f"no answer within {WAIT} s" in done.err
    assert WAIT <= took < WAIT + max(1.0, BUSY * usual)


class Watched:
    """An engine behind a proxy, as a verb has it."""

    def __init__(self, proxy: Proxy, folder: Path, seconds: float = 10.0) -> None:
        """Take part."""
        self.away = EngineAway(str(folder / "away.json"), SystemBootClock())
        self.store = open_store(proxy.url(APP, "postgres"), "p-1", patience=Patience(seconds))
        self.on = WatchedCoordination(Coordinator(self.store, "PostgreSQL"), self.away)
        self.op = _make_ops()
        self.on.members.join(self.op(), Member(session="a", agent="a"))

    def add(self, name: str) -> None:
        """Add a task; a second one of that name would be refused."""
        self.on.tasks.add(self.op(), "a", Task(task=name, title=name))

    def tasks(self) -> list[str]:
        """List the tasks."""
        return [one.task.task for one in self.on.tasks.tasks()]


@pytest.mark.requirement("C144")
def test_a_connection_that_breaks_is_tried_once_more_before_the_server_is_away(
    proxy: Proxy, tmp_path: Path
) -> None:
    made = Watched(proxy, tmp_path)
    proxy.cut()
    made.add("t-1")
    proxy.cut()
    assert made.tasks() == ["t-1"]
    assert not (tmp_path / "away.json").exists()

    proxy.refuse()
    with pytest.raises(AwayError):
        made.add("t-2")
    assert made.away.recall() is not None
    made.store.close()


@pytest.mark.requirement("C144")
def test_an_answer_to_a_commit_that_is_lost_is_asked_for_again_under_the_same_id(
    proxy: Proxy, tmp_path: Path
) -> None:
    made = Watched(proxy, tmp_path)
    made.add("t-1")
    before = proxy.messages
    made.add("t-2")
    proxy.silent_from, proxy.swallows_answer = 2 * proxy.messages - before, True
    timer = Timer(0.3, proxy.restore)
    timer.start()
    made.add("t-3")
    timer.join()

    assert made.tasks() == ["t-1", "t-2", "t-3"]
    made.store.close()


@pytest.mark.requirement("C144")
def test_a_commit_that_nobody_answers_in_time_may_have_been_made(proxy: Proxy, tmp_path: Path) -> None:
    made = Watched(proxy, tmp_path, seconds=1.0)
    before = proxy.messages
    made.add("t-1")
    proxy.silent_from, proxy.swallows_answer = 2 * proxy.messages - before, True

    with pytest.raises(UnansweredError) as raised:
        made.add("t-2")

    assert "Repeat the same command" in raised.value.hint
    made.store.close()


@pytest.mark.requirement("C86", through="command")
def test_one_of_several_servers_that_says_nothing_does_not_hide_the_others(
    place: Place, own_postgres: Postgres
) -> None:
    address = own_postgres.address
    with Listener.on_port(is_stopped=True) as silent:
        url = (
            f"postgresql://{APP}@/postgres?host=127.0.0.1,{address.folder}"
            f"&port={silent.port},{address.port}&connect_timeout=2"
        )
        done = place.call("claim", "t-other", "--session", Place.name, wait=30, url=url)

    assert (done.code, silent.calls > 0) == (0, True), done
    assert done.out.startswith("Claimed: t-other"), done
