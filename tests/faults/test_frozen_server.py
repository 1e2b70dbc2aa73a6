"""A server that takes a statement and says nothing: every verb ends in time, as if it was away."""

from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Final

import pytest

from passdown.core.coordination.members import Member
from passdown.core.coordination.tasks import Task
from passdown.engines.boot import SystemBootClock
from passdown.engines.coordination.away import EngineAway, WatchedCoordination
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.patience import Patience
from passdown.engines.postgres.coordination import open_store
from passdown.engines.postgres.migrate import migrate
from passdown.engines.system import SystemClock
from passdown.errors import AwayError, UnansweredError
from tests.e2e.test_team_server import Clone, make_clones
from tests.proof import proof_count
from tests.proofs.test_outages import _make_ops
from tests.proxies import Proxy
from tests.servers import APP, PORT, MigratedDatabase, Postgres

pytestmark = [pytest.mark.server, pytest.mark.proof]

LIMIT: Final = 1
"""Seconds to wait; 10 by default."""
MOST: Final = LIMIT + 6.0
"""Seconds after which a verb has ended, with its start on a busy machine."""
POINTS: Final = proof_count(fast=2, ci=5, long=1_000)
"""At how many statements of a verb the server falls silent."""
VERBS: Final = (
    ("msg", "soon?", "--to", "amber"),
    ("reserve", "docs/"),
    ("task", "add", "x"),
    ("claim",),
    ("takeover", "t-form"),
)


@pytest.fixture
def proxy(own_postgres: Postgres) -> Iterator[Proxy]:
    """A proxy before a server with tables."""
    migrate(MigratedDatabase(own_postgres.address, "postgres").url("postgres"))
    with Proxy(own_postgres.address.folder / f".s.PGSQL.{PORT}") as made:
        yield made


@pytest.fixture
def clone(tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone that coordinates through the proxy."""
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", proxy.url(APP, "postgres"))
    monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", str(LIMIT))
    amber, birch = make_clones(tmp_path)
    assert amber("task", "add", "Sign in form", "--id", "t-form").code == 0
    assert amber("claim").code == 0
    return birch


def choose_points(most: int) -> list[int]:
    """Choose statements, with the first and the last."""
    return sorted({1 + (most - 1) * one // max(POINTS - 1, 1) for one in range(min(POINTS, most))})


@pytest.mark.timeout(0)
@pytest.mark.requirement("C144", "C86", through="command")
@pytest.mark.parametrize("swallows_answer", [False, True])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_server_that_is_frozen_at_a_statement_ends_no_verb_late(
    clone: Clone, proxy: Proxy, verb: tuple[str, ...], *, swallows_answer: bool
) -> None:
    clock = SystemClock()
    proxy.restore()
    usual = clone(*verb)
    for point in choose_points(proxy.messages):
        proxy.restore()
        proxy.silent_from, proxy.swallows_answer = point, swallows_answer
        (clone.folder / ".git/passdown/engine-away.json").unlink(missing_ok=True)
        began = clock.monotonic()
        done = clone(*verb)
        took = clock.monotonic() - began
        assert took < MOST, (point, took, done)
        # What was answered before counts; what was not is refused, with a line that says so.
        assert done.code == 5 or (done.code, done.out[:5]) == (usual.code, usual.out[:5]), (point, done)
        assert done.code != 5 or (done.err.startswith("passdown: ") and done.out == ""), (point, done)


@pytest.mark.requirement("C144", through="command")
def test_after_a_second_a_verb_says_what_it_waits_for(
    clone: Clone, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "2")
    proxy.restore()
    proxy.silent_from = 3

    done = clone("reserve", "docs/")

    assert done.code == 5
    assert done.err.count("passdown: waiting for PostgreSQL (127.0.0.1:") == 1
    assert "no answer within 2 s" in done.err


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

    assert "the same operation id" in raised.value.hint
    made.store.close()
