"""The event log at 1,000, 10,000 and 100,000 events: rebuilt, and with one more event."""

import contextlib
import gc
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.corpus import make_log
from bench.rows import Row
from passdown.engines.files.documents import FileDocuments
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite.event_index import SqliteIndex, open_index
from passdown.engines.system import SystemClock
from passdown.ports.index import Index
from passdown.records import record
from passdown.services.log.events import update_index
from passdown.services.log.views import make_text, write_view

SIZES: Final = (1_000, 10_000, 100_000)
LAYOUTS: Final = ("flat", "day")
ONE_MORE: Final = 10.0
VIEW_BYTES: Final = 16_384
ROUNDS: Final = 3
MORE: Final = 15


@record
class Log:
    """A log on disk, with what is made from it."""

    root: Path
    layout: str
    count: int

    @property
    def name(self) -> str:
        """How it is called in the table."""
        return f"{self.count // 1000}k {self.layout}"

    def open(self) -> FileEventLog:
        """Open the log."""
        return FileEventLog(str(self.root / "events"), str(self.root / "archive"), SystemClock())

    def open_cache(self) -> SqliteIndex:
        """Open its cache, made anew."""
        for old in self.root.glob("cache*"):
            old.unlink()
        return open_index(str(self.root / "cache"), shared_memory=True)


def measure_logs(*, is_ci: bool = False) -> list[Row]:
    """Measure each log in each layout; the time of one more event is compared over the sizes.

    CI leaves the largest size to .ci/nightly.
    """
    rows: list[Row] = []
    first: dict[str, float] = {}
    for layout in LAYOUTS:
        for count in SIZES[:-1] if is_ci else SIZES:
            with make_log_files(layout, count) as log:
                rows += _measure(log, first)
    return rows


@contextlib.contextmanager
def make_log_files(layout: str, count: int) -> Iterator[Log]:
    """Write a log, and take it away again."""
    with tempfile.TemporaryDirectory() as folder:
        log = Log(root=Path(folder), layout=layout, count=count)
        for day, name, text in make_log(count):
            write_event_file(log, day, name, text)
        # A folder that was written just now is listed again and again; a log is usually older than that.
        _age(log.root / "events")
        yield log


def write_event_file(log: Log, day: str, name: str, text: str) -> None:
    """Write one event of a log."""
    target = log.root / "events" / (day if log.layout == "day" else "")
    try:
        (target / name).write_text(text, encoding="utf-8")
    except FileNotFoundError:
        target.mkdir(parents=True)
        (target / name).write_text(text, encoding="utf-8")


def _age(folder: Path) -> None:
    for one in [folder, *(path for path in folder.iterdir() if path.is_dir())]:
        subprocess.run(["touch", "-d", "1 hour ago", str(one)], check=True)  # every system has it


def _measure(log: Log, first: dict[str, float]) -> list[Row]:
    cat = min(_timed(lambda: _cat(log)) for _ in range(ROUNDS))
    rebuild = min(
        _timed(lambda: _build(log, MemoryIndex())) for _ in range(ROUNDS if log.count < SIZES[-1] else 2)
    )
    index = log.open_cache()
    build = _timed(lambda: _build(log, index))
    size = len(make_text(index).encode())
    more = _measure_one_more(log, index)
    index.close()
    base = first.setdefault(log.layout, more)
    return [
        _row(log, "cat", cat * 1000, "ms", 1.0),
        _row(log, "rebuild", rebuild * 1000, "ms", rebuild / cat),
        _row(log, "with cache built", build * 1000, "ms", build / cat),
        _row(log, "view", float(size), "bytes", size / VIEW_BYTES),
        _row(log, "one more event", more * 1000, "ms", more * 1000 / ONE_MORE),
        _row(log, "one more, to 1k", more * 1000, "ms", more / base),
    ]


def _row(log: Log, what: str, value: float, unit: str, ratio: float) -> Row:
    # One more event in a flat folder takes as long as listing the folder does.
    is_free = log.layout == "flat" and what.startswith("one more")
    budget = None if is_free else BUDGETS["logs"].get(what)
    return Row(part="logs", name=f"{log.name}: {what}", value=value, unit=unit, ratio=ratio, budget=budget)


def _timed(act: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _cat(log: Log) -> None:
    events = str(log.root / "events")
    command = f"find '{events}' -name '*.md' -print0 | xargs -0 cat >/dev/null"
    subprocess.run(["sh", "-c", command], check=True)  # the shell is the floor


def _build(log: Log, index: Index) -> str:
    gc.disable()
    try:
        update_index(log.open(), index)
        return make_text(index)
    finally:
        gc.enable()


def _measure_one_more(log: Log, index: Index) -> float:
    """Add events one by one: find each, fold it, make the view, and write it durably; the median counts."""
    documents = FileDocuments(log.root)
    events = log.open()
    times: list[float] = []
    later = list(make_log(log.count + MORE + 1))[log.count :]
    for day, name, text in later:
        write_event_file(log, day, name, text)
        start = time.perf_counter()
        update_index(events, index)
        write_view(documents, "current.md", make_text(index), ".conductor")
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])
