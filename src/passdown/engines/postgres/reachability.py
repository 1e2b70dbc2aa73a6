"""Whether a server answers at a `postgresql:` URL, checked before the driver is loaded (C86).

Loading the driver, or looking up a host name, can take longer than a caller may wait.
"""

import os
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, NamedTuple, TypeVar

from passdown.engines.system import SystemClock

T = TypeVar("T")

DEFAULT_PORT: Final = "5432"
_SCHEMES: Final = ("postgresql://", "postgres://")
_ELSEWHERE: Final = ("service", "hostaddr")
"""Options that send the driver to a server other than the one in the rest of the URL."""

_SSL_REQUEST: Final = b"\0\0\0\x08\x04\xd2\x16\x2f"
"""A request for encryption. Every working server answers it with one byte; a server that hangs does not."""

Address = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes] | str


class ServerPlace(NamedTuple):
    """The address of a server: a host and port, or the folder of a socket and the port in its name."""

    host: str
    port: str


class _Waiting:
    """How many seconds may still be waited for something."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    @contextmanager
    def passes(self) -> Generator[float, None, None]:
        """Give the seconds that are left, and take the time in which something is waited for from them."""
        clock = SystemClock()
        begun = clock.monotonic()
        try:
            yield self.left
        finally:
            self.left -= clock.monotonic() - begun


def is_reachable(url: str, connecting: float = 0.225, answering: float = 0.225) -> bool:
    """Return whether a server answers at one of the addresses in a URL, within these seconds.

    A server that is far away takes its time twice: for the connection, and for the answer. Several servers
    are asked at once, so that one that says nothing does not hide the others. If the URL leaves the address
    to the driver, the answer is yes: only the driver knows the address.
    """
    places = find_places(url)
    if len(places) <= 1:
        return not places or _answers(places[0], connecting, answering)
    questions = [partial(_answers, place, connecting, answering) for place in places]
    return any(_ask(questions, connecting + answering))


def _ask(questions: Sequence[Callable[[], T]], seconds: float) -> Iterator[T]:
    """Yield the answers as they come, until none comes for so long; the rest is abandoned in its threads."""
    from queue import Empty, SimpleQueue
    from threading import Thread

    found: SimpleQueue[T] = SimpleQueue()

    def answer(question: Callable[[], T]) -> None:
        found.put(question())

    for question in questions:
        Thread(target=answer, args=(question,), daemon=True).start()
    with suppress(Empty):
        for _ in questions:
            yield found.get(timeout=seconds)


def find_places(url: str) -> tuple[ServerPlace, ...]:
    """Return the addresses in a URL; none if only the driver knows them."""
    _, _, rest = url.partition("://")
    before, _, query = rest.partition("?")
    authority = before.partition("/")[0].rpartition("@")[2]
    options = dict(_split(pair, "=") for pair in query.split("&") if pair)
    if not url.startswith(_SCHEMES) or any(name in options for name in _ELSEWHERE):
        return ()
    named = [_split_host(one) for one in authority.split(",")]
    hosts = [host for host, _ in named]
    ports = [port for _, port in named]
    if "host" in options:
        hosts = options["host"].split(",")
    if "port" in options:
        ports = options["port"].split(",")
    if hosts == [""]:
        hosts = os.environ.get("PGHOST", "").split(",")
    if not all(hosts):
        return ()
    default = os.environ.get("PGPORT", DEFAULT_PORT)
    return tuple(ServerPlace(host, port or default) for host, port in pair_ports(hosts, ports))


def pair_ports(hosts: Sequence[str], ports: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each host with its port; unless there are as many ports as hosts, all have the first."""
    return zip(hosts, ports if len(ports) == len(hosts) else [ports[0]] * len(hosts), strict=True)


def _split_host(text: str) -> tuple[str, str]:
    """Split `host:port`; an address with colons stands in brackets."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":")
    return _split(text, ":")


def _split(text: str, mark: str) -> tuple[str, str]:
    first, _, second = text.partition(mark)
    return _decode(first), _decode(second)


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _answers(place: ServerPlace, connecting: float, answering: float) -> bool:
    to_connect, to_answer = _Waiting(connecting), _Waiting(answering)
    if place.host.startswith(("/", "@")):
        name = _socket_name(place)
        return sys.platform == "win32" or _talks(socket.AF_UNIX, name, to_connect, to_answer)
    addresses = _look_up(place, to_connect)
    return any(_talks(family, address, to_connect, to_answer) for family, address in addresses)


def _socket_name(place: ServerPlace) -> str:
    name = f"{place.host}/.s.PGSQL.{place.port}"
    return f"\0{name[1:]}" if name.startswith("@") else name  # an abstract socket, which only Linux has


def _talks(family: socket.AddressFamily, address: Address, to_connect: _Waiting, to_answer: _Waiting) -> bool:
    """Return whether somebody takes the connection in time, and answers in time."""
    if min(to_connect.left, to_answer.left) <= 0:
        return False
    with socket.socket(family) as plug:
        try:
            with to_connect.passes() as seconds:
                plug.settimeout(seconds)
                plug.connect(address)
            with to_answer.passes() as seconds:
                plug.settimeout(seconds)
                plug.sendall(_SSL_REQUEST)
                return plug.recv(1) != b""
        except (OSError, ValueError):  # a path may be too long or contain a null byte
            return False


def _look_up(place: ServerPlace, to_connect: _Waiting) -> Sequence[tuple[socket.AddressFamily, Address]]:
    """Return the addresses of a host; a look-up that takes too long is abandoned in its thread."""
    if to_connect.left <= 0:
        return ()

    def look_up() -> Sequence[tuple[socket.AddressFamily, Address]]:
        try:
            told = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError):  # `ValueError`: a label that is too long, or empty
            return ()
        return [(family, address) for family, _, _, _, address in told]

    with to_connect.passes() as seconds:
        return next(_ask([look_up], seconds), ())
