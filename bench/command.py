"""Measure, and print a table of ratios with their trend against the recorded ones.

    bench/run [events] [logs] [commits] [start-up] [verbs] [hooks] [sessions] [coordination] [search]
              [questions] [transcripts] [year] [--ci] [--json FILE] [--save] [--strict]

With --ci logs, commits, sessions, coordination, search and the year are smaller; .ci/nightly has all of it.
Absolute times belong to the machine; the ratios compare with a floor that is measured in the same run. A busy
machine moves them, too: a run fails when a size misses its budget, and for a time only with --strict.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from bench.commits import measure_commits
from bench.coordination import CI, measure_coordination
from bench.events import measure_events
from bench.hooks import measure_hooks
from bench.logs import measure_logs
from bench.projects import CI_SIZE
from bench.questions import measure_questions
from bench.rows import Row, render_json, render_table
from bench.search import CI_COUNT, measure_search
from bench.sessions import measure_sessions
from bench.start_up import measure_start_up
from bench.transcripts import measure_transcripts
from bench.verbs import measure_verbs
from bench.year import SMALL, measure_year

PARTS: Final[Mapping[str, Callable[[], list[Row]]]] = MappingProxyType(
    {
        "events": measure_events,
        "logs": measure_logs,
        "commits": measure_commits,
        "start-up": measure_start_up,
        "verbs": measure_verbs,
        "hooks": measure_hooks,
        "sessions": measure_sessions,
        "coordination": measure_coordination,
        "search": measure_search,
        "questions": measure_questions,
        "transcripts": measure_transcripts,
        "year": measure_year,
    }
)
_PARTS_OF_CI: Final[Mapping[str, Callable[[], list[Row]]]] = MappingProxyType(
    {
        "logs": partial(measure_logs, is_ci=True),
        "commits": partial(measure_commits, is_ci=True),
        "coordination": partial(measure_coordination, CI),
        "search": partial(measure_search, CI_COUNT),
        "sessions": partial(measure_sessions, 3, CI_SIZE),
        "year": partial(measure_year, SMALL),
    }
)
RESULTS: Final = Path(__file__).resolve().parent / "results" / "ratios.json"


def main(arguments: Sequence[str]) -> int:
    """Run the parts that were asked for, all of them by default; 1 when a size misses its budget."""
    options = _read(arguments)
    recorded = read_recorded()
    rows: list[Row] = []
    for name in options.parts or PARTS:
        measure = _PARTS_OF_CI.get(name, PARTS[name]) if options.ci else PARTS[name]
        found = measure()
        print(f"{name}\n{render_table(found, recorded.get(name, {}))}", flush=True)
        rows += found
    if options.save:
        RESULTS.write_text(render_recorded(recorded, rows), encoding="utf-8")
    if options.json is not None:
        options.json.write_text(render_json(rows), encoding="utf-8")
    return judge(rows, is_strict=options.strict)


def judge(rows: Sequence[Row], *, is_strict: bool) -> int:
    """Tell what misses its budget; 1 if that fails the run."""
    slow = [row.name for row in rows if not row.met and row.is_time]
    large = [row.name for row in rows if not row.met and not row.is_time]
    if slow:
        sys.stderr.write(f"bench: slower than allowed: {', '.join(slow)}\n")
    if large:
        sys.stderr.write(f"bench: larger than allowed: {', '.join(large)}\n")
    return 1 if large or (slow and is_strict) else 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--ci", action="store_true", help="measure the smaller sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--save", action="store_true", help="record the ratios in bench/results/ratios.json")
    parser.add_argument("--strict", action="store_true", help="fail also when a time misses its budget")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts).difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return options


def read_recorded(path: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Give the ratios that were recorded, by part and name."""
    found: dict[str, dict[str, float]] = {}
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def render_recorded(recorded: Mapping[str, Mapping[str, float]], rows: Sequence[Row]) -> str:
    """Write down ratios; what was not measured now stays as it was."""
    ratios = {part: dict(known) for part, known in recorded.items()}
    for row in rows:
        ratios.setdefault(row.part, {})[row.name] = round(row.ratio, 3)
    return json.dumps(ratios, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
