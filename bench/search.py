"""Search over 100,000 documents: built, asked, with one more; ripgrep looks at the same files in that run.

`PASSDOWN_BENCH_DOCUMENTS` sets another number of documents.
"""

import gc
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.corpus import make_log
from bench.rows import Row
from passdown.core.project.search_query import parse_query
from passdown.engines.sqlite.search_index import SqliteSearch
from passdown.ports.search import SearchFilter
from passdown.records import record
from passdown.services.project.search import SearchRequest, SearchScope, search
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import read_settings
from passdown.wiring.searches import open_search_scope
from passdown.wiring.workspaces import Outside, open_workspace

COUNT: Final = int(os.environ.get("PASSDOWN_BENCH_DOCUMENTS", "100000"))
CI_COUNT: Final = 40_000
EVENTS: Final = 10
"""One document in so many is an event of 740 bytes; the others are records of 2,250 bytes."""

SELECTIVE: Final = 2.0
ONE_MORE: Final = 5.0
ASKED: Final = 200
MORE: Final = 15
ROUNDS: Final = 3

_SEED: Final = 20_260_110
_START: Final = datetime(2026, 1, 10, 13, 3, tzinfo=UTC)
_LETTERS: Final = "etaoinshrdlucmfwypvbgk"
_VOCABULARY: Final = 20_000
_SENTENCES: Final = 20_000
_PARTS: Final = ("Summary", "Completed", "In Progress", "Next Steps", "Context for Next Session")


@record
class Corpus:
    """Documents on disk, with their size, and what searches them."""

    root: Path
    size: int
    project: Workspace
    scope: SearchScope

    def ask(self, text: str) -> int:
        """Search as the command does; give how many were found."""
        return search(self.project, self.scope, SearchRequest(text=text)).total


def measure_search(count: int = COUNT) -> list[Row]:
    """Measure a corpus of so many documents."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        size = write_corpus(root, count)
        settings, _ = read_settings(root, os.environ)
        project = open_workspace(root, settings, Outside(variables=os.environ))
        scope = open_search_scope(project)
        corpus = Corpus(root=root, size=size, project=project, scope=scope)
        return list(_measure(corpus, count))


def write_corpus(root: Path, count: int) -> int:
    """Write the documents, in folders that look an hour old; give their size in bytes."""
    (root / ".conductor").mkdir()
    archive, events = root / "conductor/sessions/archive", root / "thoughts/shared/handoffs/events"
    archive.mkdir(parents=True)
    size = 0
    for name, text in make_records(count - count // EVENTS):
        (archive / name).write_text(text, encoding="utf-8")
        size += len(text)
    for day, name, text in make_log(count // EVENTS):
        (events / day).mkdir(parents=True, exist_ok=True)
        (events / day / name).write_text(text, encoding="utf-8")
        size += len(text)
    for one in [archive, events, *events.iterdir()]:
        subprocess.run(["touch", "-d", "1 hour ago", str(one)], check=True)  # every system has it
    return size


def make_records(count: int) -> Iterator[tuple[str, str]]:
    """Make the name and text of so many records, each with a word of its own; the same ones in every run."""
    source = random.Random(_SEED)  # the texts must repeat, nobody need be surprised
    words = ["".join(source.choices(_LETTERS, k=source.randint(2, 10))) for _ in range(_VOCABULARY)]
    weights = [1 / (rank + 5) for rank in range(_VOCABULARY)]
    drawn = source.choices(words, weights, k=_SENTENCES * 10)
    sentences = [" ".join(drawn[at * 10 : at * 10 + 10]) for at in range(_SENTENCES)]
    for number in range(count):
        at = _START + timedelta(minutes=number)
        items = source.choices(sentences, k=29)
        parts = [
            f"## {part}\n\n" + "".join(f"- {item}.\n" for item in items[place::5])
            for place, part in enumerate(_PARTS)
        ]
        head = (
            f"date: {at:%Y-%m-%dT%H:%M:%SZ}\nsession_id: s-{source.getrandbits(48):012x}\ntrigger: manual\n"
        )
        title = f"# Session Handoff\n\n{own_word(number)} in src/{words[number % 5000]}.py\n\n"
        yield f"{at:%Y-%m-%d-%H-%M}-manual.md", f"---\n{head}---\n\n{title}" + "\n".join(parts)


def own_word(number: int) -> str:
    """Give the word that only one record has."""
    return f"ticket{number * 7919 % 1_000_003:06}"


def _measure(corpus: Corpus, count: int) -> Iterator[Row]:
    build = _seconds(lambda: corpus.ask(own_word(0)))
    records = count - count // EVENTS
    needles = [own_word(number * 7 % records) for number in range(ASKED)]
    assert all(corpus.ask(needle) == 1 for needle in needles[:3])
    asked = sorted(_timed(corpus.ask, needles))
    found = statistics.median(_timed(lambda needle: _find(corpus, needle), needles))
    common = statistics.median(_timed(corpus.ask, ["summary"] * ROUNDS))
    rg = min(_timed(lambda needle: _run_rg(corpus, needle), needles[:ROUNDS]))
    middle, slow = asked[len(asked) // 2], asked[len(asked) * 95 // 100]
    more = statistics.median(_add_events(corpus, count))
    flat = statistics.median(_add_records(corpus, count))
    index = _close(corpus)
    yield _row("corpus", corpus.size / 1e6, "MB", count / 100_000)
    yield _row("build", build, "s", count / build)
    yield _row("index, to the corpus", index / 1e6, "MB", index / corpus.size)
    yield _row("selective, to 2 ms", middle, "ms", middle / SELECTIVE)
    yield _row("selective, 95 of 100", slow, "ms", slow / SELECTIVE)
    yield _row("of that, the index", found, "ms", found / SELECTIVE)
    yield _row("a word in nearly all", common, "ms", common / SELECTIVE)
    yield _row("ripgrep, to selective", rg, "ms", rg / middle)
    yield _row("one more event, to 5 ms", more, "ms", more / ONE_MORE)
    yield _row("one more record (flat)", flat, "ms", flat / ONE_MORE)


def _row(name: str, value: float, unit: str, ratio: float) -> Row:
    budget = BUDGETS["search"].get(name)
    return Row(part="search", name=name, value=value, unit=unit, ratio=ratio, budget=budget)


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _timed(act: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    """Do something with each text; give the milliseconds that each took."""
    gc.collect()
    times: list[float] = []
    for text in texts:
        start = time.perf_counter()
        act(text)
        times.append((time.perf_counter() - start) * 1000)
    return times


def _close(corpus: Corpus) -> int:
    """Close the index; give the size of its file, which is all that is left of it."""
    index = corpus.scope.index
    assert isinstance(index, SqliteSearch)
    index.close()
    return sum(path.stat().st_size for path in (corpus.root / ".conductor").glob("search-*"))


def _find(corpus: Corpus, text: str) -> None:
    corpus.scope.index.find(parse_query(text), SearchFilter(), 10)


def _run_rg(corpus: Corpus, text: str) -> None:
    done = subprocess.run(["rg", "-l", "-F", "-w", text, str(corpus.root)], check=True, capture_output=True)
    assert done.stdout.count(b"\n") == 1


def _add_events(corpus: Corpus, count: int) -> Iterator[float]:
    """Add events one by one, and find each by a word of its own."""
    events = corpus.root / "thoughts/shared/handoffs/events"
    later = list(make_log(count // EVENTS + MORE + 1))[count // EVENTS :]
    for number, (day, name, text) in enumerate(later):
        (events / day).mkdir(exist_ok=True)
        (events / day / name).write_text(
            text.replace("branch: ", f"branch: fresh{number}/"), encoding="utf-8"
        )
        yield from _timed(corpus.ask, [f"fresh{number}"])
        assert corpus.ask(f"fresh{number}") == 1


def _add_records(corpus: Corpus, count: int) -> Iterator[float]:
    """Add records one by one to the folder that holds all of them, which must be listed."""
    records = list(make_records(ROUNDS))
    for number, (_, text) in enumerate(records):
        name = f"2030-01-10-13-0{number}-manual.md"
        new = text.replace("# Session", f"# new{count}x{number} Session")
        (corpus.root / "conductor/sessions/archive" / name).write_text(new, encoding="utf-8")
        yield from _timed(corpus.ask, [f"new{count}x{number}"])
