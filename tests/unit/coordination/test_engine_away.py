"""An engine that is away, and back: nothing is granted, nobody waits twice, nothing is taken over."""

import gc
import json
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Timer

import pytest

from passdown import layout
from passdown.core.coordination.members import EngineTime
from passdown.core.coordination.operations import make_operation
from passdown.core.coordination.tasks import Task
from passdown.engines.coordination.away import EngineAway, WatchedCoordination
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.patience import Patience
from passdown.engines.system import SystemClock
from passdown.errors import AwayError, BrokenError, StorageError, UnansweredError
from passdown.ports.coordination import Coordination
from passdown.testing.memory.coordination import MemoryStore, MemoryTransaction
from tests.stores.coordination_files import MovedBoot, too_new
from tests.support.listeners import Listener
from tests.support.teams import AMBER, BIRCH, Hosts

GRANTING = (
    ("claim",),
    ("reserve", "docs/"),
    ("renew",),
    ("release",),
    ("takeover", "t-form"),
    ("task", "add", "x"),
    ("msg", "x"),
)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a project with two sessions, of which one holds a task and a folder."""
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("amber", AMBER)
    made.add("Sign in form", "--id", "t-form")
    made.run("amber", "claim", "t-form")
    made.run("amber", "reserve", "src/")
    made.begin("birch", BIRCH)
    monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    return made


@contextmanager
def locked(hosts: Hosts) -> Iterator[None]:
    """Keep every writer out, as a process does that was stopped in the middle of a change."""
    with closing(sqlite3.connect(hosts.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def damaged(hosts: Hosts) -> Iterator[None]:
    """Put something else in the place of the file."""
    hosts.break_engine()
    yield
    hosts.mend_engine()


@contextmanager
def newer(hosts: Hosts) -> Iterator[None]:
    """Let a later version have changed the tables."""
    gc.collect()
    with too_new(hosts.database):
        yield


@contextmanager
def unreachable(hosts: Hosts) -> Iterator[None]:
    """Name a server that nobody listens at."""
    with hosts.monkeypatch.context() as patch:
        patch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:9/passdown")
        patch.setenv("PASSDOWN_PROJECT_KEY", f"p-{'0' * 32}")
        yield


@contextmanager
def hanging(hosts: Hosts) -> Iterator[None]:
    """Name a server that takes calls and says nothing."""
    with Listener.on_port(is_stopped=True) as server, hosts.monkeypatch.context() as patch:
        patch.setenv("PASSDOWN_COORDINATION_URL", server.url)
        patch.setenv("PASSDOWN_PROJECT_KEY", f"p-{'0' * 32}")
        yield


LOCAL = {"locked": locked, "damaged": damaged, "newer": newer}
REMOTE = {"unreachable": unreachable, "hanging": hanging}


@pytest.mark.requirement("C86", "R216", through="command")
@pytest.mark.parametrize("how", [*LOCAL, *REMOTE])
def test_no_verb_is_granted_anything_by_an_engine_that_is_away(hosts: Hosts, how: str) -> None:
    before = json.loads(hosts.command("status", "--json").out)

    with {**LOCAL, **REMOTE}[how](hosts):
        for words in GRANTING:
            hosts.pass_time(minutes=2)
            done = hosts.run("birch", *words)
            assert (done.code, done.out) == (5, ""), (words, done)
            assert 2 <= done.err.count("\n") <= 4, done.err
        assert hosts.run("birch", "done", "went on alone").code == 0
        assert hosts.command("status").code == 0

    after = json.loads(hosts.command("status", "--json").out)
    assert after["reservations"].keys() == before["reservations"].keys() == {"src/"}
    assert [one["id"] for one in after["tasks"]] == ["t-form"]


@pytest.mark.requirement("C86", "C91", through="command")
@pytest.mark.parametrize("how", [*LOCAL, *REMOTE])
def test_a_message_to_a_session_of_this_machine_becomes_a_file(hosts: Hosts, how: str) -> None:
    amber = hosts.agent("amber")
    hosts.pass_time(minutes=2)
    with {**LOCAL, **REMOTE}[how](hosts):
        for to in ("nobody", "role:be", "all", hosts.agent("birch")):
            assert hosts.run("birch", "msg", "soon?", "--to", to).code == 5
        done = hosts.run("birch", "msg", "soon?", "--to", amber)
        answer = hosts.ask("birch", "msg", "now?", "--to", amber, "--urgent")

        assert done.code == 0
        assert done.out.startswith(
            f"left as a handoff for {amber}: .conductor/handoff_{hosts.agent('birch')}_to_{amber}"
        )
        assert "not sent as a message: " in done.err
        assert answer["recipients"] == []
        assert answer["handoff"].endswith(f".2_to_{amber}.json")
        started = hosts.command("start", "--session", "amber")
    assert "> soon?" in started.out
    assert "> now?" in started.out


@pytest.mark.requirement("C86", through="hook")
@pytest.mark.parametrize("how", LOCAL)
def test_a_hook_goes_on_without_the_engine_logs_one_line_and_says_it_at_the_start(
    hosts: Hosts, how: str
) -> None:
    hosts.pass_time(minutes=3)

    with LOCAL[how](hosts):
        answer = hosts.begin("birch", BIRCH, source="resume")
        assert "Passdown cannot coordinate with other sessions now: " in answer["systemMessage"]
        assert len(hosts.host.log().splitlines()) == 1
        for count, name in enumerate(("Stop", "SessionEnd"), 2):
            hosts.pass_time(minutes=2)
            assert hosts.host.call(name, session_id="birch", reason="logout") == {}
            assert len(hosts.host.log().splitlines()) == count


def test_hooks_do_without_a_server_whether_it_is_there_or_not(hosts: Hosts) -> None:
    for way in REMOTE.values():
        with way(hosts):
            assert "systemMessage" in hosts.begin("birch", BIRCH, source="resume")
            assert hosts.host.call("Stop", session_id="birch") == {}
    assert hosts.host.log() == ""


@pytest.mark.requirement("C86", through="command")
def test_a_server_that_is_away_is_not_asked_again_for_half_a_minute(hosts: Hosts) -> None:
    hosts.monkeypatch.setenv("PASSDOWN_PROJECT_KEY", f"p-{'0' * 32}")
    with Listener.on_port() as server:
        url = server.url
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_URL", url)
    assert hosts.run("birch", "reserve", "docs/").code == 5

    with Listener.on_port(int(url.rpartition(":")[2].partition("/")[0])) as server:
        for left in (30, 20, 10):
            done = hosts.run("birch", "reserve", "docs/")
            assert done.code == 5
            assert f"Passdown tries again in {left + 1} s." in done.err
            assert hosts.command("status").code == 0
            assert server.calls == 0
            hosts.pass_time(seconds=10)
        assert hosts.run("birch", "reserve", "docs/").code == 5  # no server, but somebody who answers
        assert server.calls > 0


@pytest.mark.requirement("C144", through="command")
def test_a_verb_waits_for_a_busy_file_says_so_after_a_second_and_leaves_no_mark(hosts: Hosts) -> None:
    clock = SystemClock()
    hosts.pass_time(minutes=2)
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "2")
    with locked(hosts):
        began = clock.monotonic()
        refused = hosts.run("birch", "reserve", "docs/")
        waited = clock.monotonic() - began
        assert waited >= 2.0
        assert refused.code == 5
        assert refused.err.count("waiting for another process to release ") == 1
        assert hosts.command("status").code == 0

    assert not (hosts.database.parent / layout.ENGINE_AWAY).exists()
    assert hosts.run("birch", "reserve", "docs/").code == 0


@pytest.mark.requirement("C144", through="command")
def test_a_verb_is_served_by_a_file_that_is_released_while_it_waits(hosts: Hosts) -> None:
    hosts.pass_time(minutes=2)
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "10")
    connection = sqlite3.connect(hosts.database, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    timer = Timer(0.6, connection.rollback)  # longer than a hook waits
    timer.start()
    done = hosts.run("birch", "reserve", "docs/")
    timer.join()
    connection.close()

    assert (done.code, "docs/" in done.out) == (0, True)
    assert "docs/" in hosts.command("status").out


@pytest.mark.requirement("C143", through="command")
def test_nothing_is_taken_over_at_once_after_a_time_in_which_nobody_was_heard(hosts: Hosts) -> None:
    hosts.alive.remove(AMBER)
    hosts.pass_time(minutes=30, quiet=True)

    for seconds in (0, 300, 300):
        hosts.pass_time(seconds=seconds)
        refused = hosts.run("birch", "takeover", "t-form")
        assert (refused.code, "t-form is held by" in refused.err) == (3, True)
        assert hosts.run("birch", "reserve", "src/app.py").code == 3
        assert hosts.run("birch", "claim").out.startswith("No task is ready.")
    hosts.pass_time(seconds=120)

    assert hosts.run("birch", "takeover", "t-form").code == 0
    assert hosts.run("birch", "reserve", "src/app.py").code == 0


@pytest.mark.requirement("C143", through="command")
def test_a_refused_takeover_says_when_one_will_be_possible(hosts: Hosts) -> None:
    hosts.alive.remove(AMBER)
    hosts.pass_time(minutes=30, quiet=True)

    refused = hosts.run("birch", "takeover", "t-form")

    assert "you can take it over in 11 min if its session stays silent" in refused.err


@pytest.mark.requirement("C81", "C143")
def test_a_session_that_lives_on_keeps_what_it_holds_though_the_engine_was_away(hosts: Hosts) -> None:
    hosts.monkeypatch.setattr(type(hosts), "is_alive", lambda _, __: None)
    with locked(hosts):
        for _ in range(4):
            hosts.pass_time(minutes=5, quiet=True)
            hosts.host.call("Stop", session_id="amber")
    hosts.pass_time(seconds=20)
    assert hosts.run("birch", "takeover", "t-form").code == 3
    hosts.host.call("Stop", session_id="amber")
    hosts.pass_time(minutes=5)

    assert hosts.run("birch", "takeover", "t-form").code == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '["boot-a", "x", null, ""]', '["boot-z", 100, null, "x"]'])
def test_what_cannot_be_read_was_never_away(tmp_path: Path, text: str) -> None:
    (tmp_path / "away.json").write_text(text)

    away = EngineAway(str(tmp_path / "away.json"), MovedBoot())

    assert away.recall() is None


def test_a_memory_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "away.json").mkdir()
    away = EngineAway(str(tmp_path / "away.json"), MovedBoot())

    away.note_away("gone")

    assert away.recall() is None


class BreakingStore(MemoryStore):
    """Rows behind a connection that breaks, before a change is made or when it is answered."""

    def __init__(self, *breaks: StorageError | None) -> None:
        """Tell how each change ends; the ones after that are answered."""
        super().__init__(lambda: EngineTime(0.0))
        self.breaks = list(breaks)

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change rows."""
        error = self.breaks.pop(0) if self.breaks else None
        if isinstance(error, BrokenError):
            raise error
        with super().changing() as change:
            yield change
        if error is not None:
            raise error


def add_task(store: BreakingStore, folder: Path) -> Coordination:
    """Add a task as a verb does; give the engine."""
    away = EngineAway(str(folder / "away.json"), MovedBoot())
    on = WatchedCoordination(Coordinator(store, "memory"), away)
    on.tasks.add(make_operation(datetime.fromtimestamp(0, UTC), bytes(10)), "", Task(task="t", title="t"))
    return on


@pytest.mark.requirement("C144")
@pytest.mark.parametrize("error", [BrokenError("broken"), UnansweredError("no answer")])
def test_a_connection_that_breaks_is_tried_once_more_with_the_same_id(
    tmp_path: Path, error: StorageError
) -> None:
    on = add_task(BreakingStore(error), tmp_path)

    assert ([one.task.task for one in on.tasks.tasks()], on.history.position()) == (["t"], 1)
    assert not (tmp_path / "away.json").exists()


@pytest.mark.requirement("C144", "C86")
@pytest.mark.parametrize("first", [BrokenError("first"), UnansweredError("first")])
def test_a_connection_that_breaks_twice_is_away_and_what_nobody_knows_is_told(
    tmp_path: Path, first: StorageError
) -> None:
    store = BreakingStore(first, BrokenError("second"), BrokenError("third"))
    with pytest.raises(AwayError) as raised:
        add_task(store, tmp_path)

    assert type(raised.value) is type(first)
    assert [one.message for one in store.breaks if one] == ["third"]
    assert (tmp_path / "away.json").exists()


@pytest.mark.requirement("C144")
def test_everything_that_waits_takes_from_the_same_time() -> None:
    patience, lock = Patience(0.02), Lock()
    with lock:
        waited = [lock.acquire(timeout=seconds) for seconds in patience.waits("a lock")]

    assert not any(waited)
    assert list(patience.waits("another lock")) == [0.0]


@pytest.mark.requirement("C86", "C89", through="command")
def test_the_guard_lets_pass_what_nobody_can_judge_and_says_so(hosts: Hosts) -> None:
    (hosts.project.folder / "src").mkdir()
    (hosts.project.folder / "src/form.py").touch()
    hosts.project.git("add", "src/form.py")
    with unreachable(hosts):
        judged = hosts.command("guard")

    assert judged.code == 0
    assert "the commit was not checked" in judged.err
