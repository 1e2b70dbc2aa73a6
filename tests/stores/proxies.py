"""A proxy before a PostgreSQL server: it refuses connections, or falls silent at a message."""

import socket
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Final, Self

_SIZE: Final = 65_536
SSL_REQUEST: Final = b"\0\0\0\x08\x04\xd2\x16\x2f"
_NO_SSL: Final = b"N"


class Proxy:
    """Passes on what clients and a server say, until it is told otherwise.

    What a client sends at once is a message; the request for encryption, with which every connection and
    every look at a server begins, is none.
    """

    delay: float = 0.0
    """How many seconds later the server gets each message."""

    def __init__(self, socket_file: Path) -> None:
        """Name the socket of the server; a port of this machine leads to it."""
        self._target = str(socket_file)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._lock = Lock()
        self._pairs: list[socket.socket] = []
        self._let_go = Event()
        self.is_refusing = False
        self.messages = 0
        """How many messages of clients there were."""
        self.silent_from: int | None = None
        """The number of the message from which on nothing is passed on any more."""
        self.swallows_answer = False
        """Whether the server still gets that message, and its answer is lost."""

    def url(self, user: str, database: str) -> str:
        """Return where it listens, as a URL of a database."""
        return f"postgresql://{user}@127.0.0.1:{self._server.getsockname()[1]}/{database}"

    def lead_to(self, socket_file: Path) -> None:
        """Lead to another server from now on."""
        self._target = str(socket_file)
        self.cut()

    def refuse(self) -> None:
        """End all connections, and every new one at once."""
        self.is_refusing = True
        self.cut()

    def restore(self) -> None:
        """Pass everything on again; what fell silent is ended."""
        self.is_refusing, self.silent_from, self.swallows_answer = False, None, False
        self.messages = 0
        self.cut()

    def cut(self) -> None:
        """End all connections."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            self._let_go.set()
            self._let_go = Event()
        for one in pairs:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        """Begin to listen."""
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Listen no more."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            if self.is_refusing:
                return
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(self._target)
                with self._lock:
                    self._pairs += [client, server]
                    let_go = self._let_go
                Thread(target=self._pass_answers, args=(client, server), daemon=True).start()
                self._pass_messages(client, server, let_go)

    def _pass_messages(self, client: socket.socket, server: socket.socket, let_go: Event) -> None:
        while message := client.recv(_SIZE):
            if message == SSL_REQUEST:
                client.sendall(_NO_SSL)
                continue
            with self._lock:
                self.messages += 1
                is_silent = self.silent_from is not None and self.messages >= self.silent_from
            if is_silent and not self.swallows_answer:
                let_go.wait()
                return
            if self.delay and let_go.wait(self.delay):
                return
            server.sendall(message)
            if is_silent:
                let_go.wait()
                return

    def _pass_answers(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(_SIZE):
                if self.silent_from is not None and self.messages >= self.silent_from:
                    return
                client.sendall(answer)
            client.shutdown(socket.SHUT_RDWR)
