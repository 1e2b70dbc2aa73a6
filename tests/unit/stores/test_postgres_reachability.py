"""Whether a PostgreSQL server listens is asked in little time, and without the driver."""

import socket
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Final

import pytest

from passdown.engines.postgres.reachability import find_places, is_reachable
from passdown.engines.system import SystemClock
from tests.support.listeners import Listener

LONG: Final = 30.0
"""Who is there has time to answer, however busy the machine is."""


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("postgresql://db.example/passdown", [("db.example", "5432")]),
        ("postgres://ann:pa%40ss@db.example:6432/passdown?sslmode=require", [("db.example", "6432")]),
        ("postgresql://a:1,b,c:3/x", [("a", "1"), ("b", "5432"), ("c", "3")]),
        ("postgresql://[2001:db8::1]:6432/x", [("2001:db8::1", "6432")]),
        ("postgresql://[::1]/x", [("::1", "5432")]),
        ("postgresql://%2Frun%2Fpg:7/x", [("/run/pg", "7")]),
        ("postgresql:///x?host=/run/pg&port=7", [("/run/pg", "7")]),
        ("postgresql://ann@/x?host=a,b&port=1,2", [("a", "1"), ("b", "2")]),
        ("postgresql://ann@/x?host=a,b&port=7", [("a", "7"), ("b", "7")]),
        ("postgresql://", []),
        ("postgresql:///x", []),
        ("postgresql://a/x?service=team", []),
        ("postgresql://a/x?hostaddr=192.0.2.1", []),
        ("host=a port=7", []),
    ],
)
def test_places_of_a_url(url: str, places: list[tuple[str, str]]) -> None:
    assert list(find_places(url)) == places


def test_places_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "a,/run/pg")
    monkeypatch.setenv("PGPORT", "7")

    assert list(find_places("postgresql:///x")) == [("a", "7"), ("/run/pg", "7")]


@pytest.mark.requirement("C86")
def test_who_listens_is_reachable_and_who_does_not_is_not() -> None:
    with Listener.on_port() as server:
        assert is_reachable(server.url, LONG, LONG)
        assert is_reachable(server.url.replace("//", "//127.0.0.1:1,"), LONG, LONG)
        url = server.url

    assert not is_reachable(url)


@pytest.mark.requirement("C86")
def test_who_takes_a_call_and_says_nothing_is_not_reachable() -> None:
    clock = SystemClock()
    start = clock.monotonic()

    with Listener.on_port(is_stopped=True) as server:
        assert not is_reachable(server.url, LONG, 0.1)

    assert clock.monotonic() - start < 5


@pytest.mark.requirement("C86")
def test_who_takes_the_call_at_once_may_take_longer_to_answer() -> None:
    waited = []

    def wait() -> None:
        waited.append(Event().wait(1.5))

    with Listener.on_port(before_answer=wait) as server:
        assert is_reachable(server.url, 1.0, LONG)
    assert waited == [False]


@pytest.mark.requirement("C86")
def test_a_server_that_is_silent_does_not_hide_the_one_behind_it() -> None:
    with Listener.on_port(is_stopped=True) as frozen, Listener.on_port() as server:
        before = f"//127.0.0.1:{frozen.port},"
        assert is_reachable(server.url.replace("//", before), LONG, LONG)
        assert not is_reachable(frozen.url.replace("//", before), LONG, 0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="no such sockets on Windows")
def test_a_socket_in_the_file_system_is_reachable(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / ".s.PGSQL.7"))
        server.listen()
        with Listener(server):
            assert is_reachable(f"postgresql:///x?host={home}&port=7", LONG, LONG)

    assert not is_reachable(f"postgresql:///x?host={home}&port=7")
    assert not is_reachable(f"postgresql:///x?host={home}/{'long' * 50}&port=7")
    assert not is_reachable("postgresql:///x?host=@nobody-listens-here&port=7")


def test_a_place_that_only_the_driver_knows_may_be_reachable() -> None:
    assert is_reachable("postgresql:///x?service=team")


@pytest.mark.requirement("C86")
def test_a_name_that_takes_too_long_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Event()
    clock = SystemClock()
    start = clock.monotonic()

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [answered.wait(30)][1:])
    found = is_reachable("postgresql://slow.example,also.slow.example/x", 0.1)
    took = clock.monotonic() - start
    answered.set()

    assert not found
    assert took < 5


@pytest.mark.parametrize("error", [socket.gaierror(), UnicodeError()])
def test_a_name_that_nobody_knows_is_not_reachable(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert not is_reachable("postgresql://nobody.example/x")


def test_time_that_is_over_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_reachable(f"postgresql://127.0.0.1:{server.getsockname()[1]}/x", 0.0)


@pytest.mark.requirement("C86")
def test_the_driver_is_not_loaded_to_ask() -> None:
    code = (
        "import sys; from passdown.engines.postgres.reachability import is_reachable; "
        "assert not is_reachable('postgresql://127.0.0.1:1/x'); assert 'psycopg' not in sys.modules"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
