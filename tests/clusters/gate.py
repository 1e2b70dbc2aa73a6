"""The network of one machine of a cluster: passes connections on, until the process is stopped (SIGSTOP).

    python -m tests.clusters.gate PORT:TARGET…

Whoever is connected hears nothing then, as when a cable is pulled; nothing is lost when it goes on.
"""

import asyncio
import sys
from contextlib import suppress
from functools import partial
from typing import Final

_HOST: Final = "127.0.0.1"
_SIZE: Final = 65_536


async def serve(routes: dict[int, int]) -> None:
    """Listen on ports, and pass each connection on to another port."""
    servers = [
        await asyncio.start_server(partial(_pass_on, target=target), _HOST, port)
        for port, target in routes.items()
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
    with suppress(OSError):
        far_reader, far_writer = await asyncio.open_connection(_HOST, target)
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
    writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_SIZE):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(
        serve({int(port): int(target) for port, _, target in (one.partition(":") for one in sys.argv[1:])})
    )
