"""A process that feeds hostile texts to parsers and measures what they do.

    python -m tests.hostile.hostile_runs SIZE PARSER…

It prints a JSON list for each input: parser, name, how it ended, its seconds, the peak memory of the process.
SIZE scales the inputs; 1 is their full size. Seconds are of the processor, for a parser waits for nothing; on
a machine that is slow they are counted as on one that is not. The parent only reads, so that a parser that
kills its process is seen too.
"""

import gc
import json
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Final, NamedTuple, NoReturn

from passdown.core.formats import events
from passdown.core.formats.registry import FORMATS, recognise
from passdown.core.problems import Malformed
from passdown.errors import PassdownError
from tests.hostile.texts import Hostile, bare, corpus
from tests.pace import pace

SECONDS: Final = 1.0
MEGABYTES: Final = 256
PATIENCE: Final = 10.0
"""After so many seconds an input is given up."""
EVERYWHERE: Final = 0.3
"""From this size on, a text is tried in every place of a document too."""
_STATUS: Final = Path("/proc/self/status")

PARSERS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        **{found.name: found.parse for found in FORMATS},
        "read_event": events.read_event,
        "recognise": lambda text: recognise("x.md", text),
    }
)


class Outcome(NamedTuple):
    """What one input did: how it ended, in what time, and the peak memory of the process."""

    parser: str
    name: str
    ending: str
    seconds: float
    megabytes: float

    @property
    def fault(self) -> str:
        """What was not allowed; empty when all was."""
        if self.ending not in {"value", "refused"}:
            return self.ending
        if self.seconds > SECONDS:
            return f"took {self.seconds:.1f} s"
        return f"needed {self.megabytes:.0f} MB" if self.megabytes > MEGABYTES else ""


class GaveUp(BaseException):
    """An input took too long; like KeyboardInterrupt, it passes whoever catches exceptions."""


def _give_up(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise GaveUp


def measure(parser: str, hostile: Hostile, size: float) -> Outcome:
    """Parse one text; one that was slow gets a second chance, for its caches may have been cold.

    Then it counts how slow the machine is at that moment.
    """
    text = hostile.make(size)
    _forget_peak()
    ending, seconds = _timed(parser, text)
    if SECONDS < seconds < PATIENCE:
        seconds = min(seconds, _timed(parser, text)[1]) / pace()
    return Outcome(parser, hostile.name, ending, seconds, _peak_megabytes())


def _timed(parser: str, text: str) -> tuple[str, float]:
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            ending = _parse(parser, text)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except GaveUp:
        ending = f"given up after {PATIENCE:.0f} s"
    return ending, time.process_time() - start


def _parse(parser: str, text: str) -> str:
    refusals = (PassdownError, Malformed) if parser == "read_event" else (PassdownError,)
    try:
        PARSERS[parser](text)
    except refusals:
        return "refused"
    except Exception as found:  # noqa: BLE001 - every other exception is what we look for
        return f"raised {type(found).__name__}: {str(found)[:100]}"
    return "value"


def _forget_peak() -> None:
    """Let the kernel measure the peak anew; where it cannot, the peak is that of all inputs so far."""
    gc.collect()
    if _STATUS.exists():
        _STATUS.with_name("clear_refs").write_text("5", encoding="ascii")


def _peak_megabytes() -> float:
    if _STATUS.exists():
        return int(_STATUS.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1024
    import resource  # there is none on Windows, where this is not run

    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1024**2


def main(arguments: list[str]) -> int:
    """Measure the corpus of the parsers that are named."""
    import resource  # there is none on Windows, where this is not run

    size = float(arguments[0])
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    signal.signal(signal.SIGPROF, _give_up)
    gc.freeze()
    for parser in arguments[1:]:
        for hostile in corpus(parser) if size >= EVERYWHERE else bare():
            sys.stdout.write(json.dumps(measure(parser, hostile, size)) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
