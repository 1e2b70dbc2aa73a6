"""Somebody who listens where a server could be, and answers the first bytes as PostgreSQL does."""

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Final, Self

SSL_REQUEST: Final = b"\0\0\0\x08\x04\xd2\x16\x2f"


class Listener:
    """Listens until it is left; counts who came. One that is stopped takes calls and says nothing."""

    def __init__(
        self,
        server: socket.socket,
        *,
        is_stopped: bool = False,
        before_answer: Callable[[], object] = lambda: None,
    ) -> None:
        """Use a socket that listens."""
        self._server = server
        self._is_stopped = is_stopped
        self._before_answer = before_answer
        self._open: list[socket.socket] = []
        self.calls = 0

    @classmethod
    def on_port(
        cls, port: int = 0, *, is_stopped: bool = False, before_answer: Callable[[], object] = lambda: None
    ) -> Self:
        """Listen on this machine, on a port that is free or given."""
        server = socket.create_server(("127.0.0.1", port))
        return cls(server, is_stopped=is_stopped, before_answer=before_answer)

    @property
    def port(self) -> int:
        """Its port on this machine."""
        return int(self._server.getsockname()[1])

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"postgresql://127.0.0.1:{self.port}/x"

    def __enter__(self) -> Self:
        """Begin to answer."""
        Thread(target=self._answer, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Listen no more."""
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _answer(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._server.accept()
                self.calls += 1
                self._open.append(caller)
                if not self._is_stopped and caller.recv(8) == SSL_REQUEST:
                    self._before_answer()
                    caller.sendall(b"N")
