"""The tests that `.ci/run` leaves out, in parts that can be run one by one.

    .ci/nightly                  run every part, the short ones first
    .ci/nightly PART…            run these parts
    .ci/nightly --short          run the parts that take at most 4 minutes
    .ci/nightly --list           list the parts and when each last ran

The last result of each part is kept in bench/results/nightly.json, with its date and commit. `.ci/run` runs
one of the short parts in turn (`--turn`), without keeping its result.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "bench" / "results" / "nightly.json"
SHORT: Final = 4
"""The most minutes that a short part takes on two idle cores."""
_SAID: Final = 160
"""The most characters of a part's last line that are kept."""
_PYTEST: Final = ("python", "-m", "pytest", "-p", "no:cacheprovider", "--timeout=0", "--dist", "worksteal")
_OF_CI: Final = frozenset({"0.44.0", "1.3.0"})
"""The builds of Beads that CI runs."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the nightly run."""

    name: str
    about: str
    command: tuple[str, ...]
    minutes: int
    """How long it takes on two idle cores, rounded up."""
    environment: Mapping[str, str] = field(default_factory=dict)
    is_in_turn: bool = True
    """Whether `.ci/run` has everything that the part needs, if it is short."""

    @property
    def is_short(self) -> bool:
        """Whether the part may be run at any time."""
        return self.minutes <= SHORT


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a part's last run."""

    date: str
    commit: str
    outcome: str
    seconds: int
    said: str
    """The last line that it printed."""


def _prove(name: str, minutes: int, about: str, *files: str, builds: str = "0.44.0") -> Part:
    """Make a part that runs proofs at full size."""
    environment = {"PASSDOWN_PROOF": "long", "PASSDOWN_BD_VERSIONS": builds}
    return Part(
        name, about, (*_PYTEST, "-m", "not timed", *files), minutes, environment, is_in_turn=builds in _OF_CI
    )


def _measure(name: str, minutes: int, about: str, *options: str) -> Part:
    """Make a part that runs `bench/run`."""
    return Part(f"bench-{name}", about, ("bench/run", *options, name), minutes)


def _try_python(version: str) -> Part:
    """Make a part that runs the unit tests on another Python; it reports if that Python is missing."""
    script = f". .ci/run && find_tools && test_python {version} && finished=yes"
    return Part(f"python-{version}", f"unit tests on Python {version}", ("bash", "-c", script), 2)


def _try_beads(version: str, minutes: int) -> Part:
    """Make a part that runs everything that keeps tasks in a real Beads, at the size of CI."""
    environment = {"PASSDOWN_PROOF": "ci", "PASSDOWN_BD_VERSIONS": version}
    about = f"what keeps its tasks in Beads {version}"
    return Part(
        f"beads-{version}",
        about,
        (*_PYTEST, "-m", "beads and not timed", "tests"),
        minutes,
        environment,
        version in _OF_CI,
    )


_PARTS: Final = (
    Part("fuzz", "every parser, a second each", ("fuzz/run",), 2),
    Part(
        "properties",
        "properties and proofs of units, 100 examples each",
        (*_PYTEST, "-m", "(proof or hypothesis) and not timed", "tests/conformance", "tests/unit"),
        3,
        {"PASSDOWN_PROOF": "ci"},
    ),
    *(_try_python(version) for version in ("3.12", "3.13", "3.14")),
    _measure("events", 1, "reading and writing events"),
    _measure("logs", 1, "logs of 1,000 and 10,000 events", "--ci"),
    _measure("start-up", 1, "what the start of a command loads"),
    _measure("hooks", 2, "hooks with 100,000 events"),
    _measure("search", 2, "search in a smaller corpus", "--ci"),
    _measure("questions", 2, "questions that the search answers; LoCoMo's, if PASSDOWN_LOCOMO names them"),
    _measure("transcripts", 1, "reading transcripts of hosts"),
    _try_beads("1.3.0", 4),
    _try_beads("1.0.0", 6),
    Part(
        "processes",
        "what CI tests on the wheel, all of it however slow the machine is",
        (*_PYTEST, "-m", "(process or proof or hypothesis or beads) and not timed", "tests"),
        35,
        {"PASSDOWN_PROOF": "ci"},
    ),
    # At their full size, by what they prove. CI has smaller sizes of all of these.
    _prove(
        "million", 1, "1,000,000 items are merged and logged", "tests/proofs/merge/test_a_million_items.py"
    ),
    _prove("search-lists", 4, "10,000 queries of two indexes", "tests/unit/stores/test_search_agreement.py"),
    _prove("offers", 4, "every order of an offer's steps", "tests/proofs/coordination/test_offer_states.py"),
    _prove("planted-bugs", 4, "bugs in the merge, 20 seeds each", "tests/proofs/merge/test_planted_bugs.py"),
    _prove("plans", 4, "160,000 hostile plans", "tests/proofs/work/test_hostile_plans.py"),
    _prove(
        "walls",
        5,
        "100,000 reads and writes across projects",
        "tests/proofs/coordination/test_project_walls.py",
    ),
    _prove("decisions", 6, "10,000 histories of decisions", "tests/proofs/merge/test_decision_histories.py"),
    _prove("clocks", 8, "10,000 histories with wrong clocks", "tests/proofs/merge/test_clocks.py"),
    _prove(
        "recall", 10, "histories of 20 to 2,000 sessions, 20 of each", "tests/proofs/briefs/test_recall.py"
    ),
    _prove(
        "patterns",
        15,
        "2,000,000 pairs of patterns of each kind",
        "tests/proofs/coordination/test_path_patterns.py",
    ),
    _prove("merge", 20, "1,000,000 random merges", "tests/proofs/merge/test_merge_laws.py"),
    _prove(
        "incremental",
        35,
        "100,000 steps, incremental against full",
        "tests/proofs/merge/test_incremental_equals_full.py",
    ),
    _prove("loops", 20, "loops of 1,000 to 100,000 histories", "tests/proofs/work/test_loops.py"),
    _prove(
        "histories",
        10,
        "20,000 histories of coordination",
        "tests/proofs/coordination/test_coordination_histories.py",
    ),
    _prove("guard", 20, "500,000 steps and 3,000 commits", "tests/proofs/coordination/test_guard.py"),
    _prove(
        "claims",
        60,
        "64 processes, 100,000 claims; 20,000 histories with kills",
        "tests/proofs/coordination/test_claim_races.py",
    ),
    _prove(
        "pressure",
        20,
        "20,000 tasks closed under pressure",
        "tests/proofs/coordination/test_postgres_pressure.py",
    ),
    _prove(
        "outages",
        30,
        "200 outages and 40 promotions of a server",
        "tests/proofs/coordination/test_outages.py",
    ),
    Part(
        "servers",
        "the suite with a plain server, PgBouncer, Patroni and Citus (if PASSDOWN_CITUS is set)",
        ("python", "-m", "tests.clusters.prove_each"),
        15,
    ),
    Part(
        "failover",
        "5 rounds of each fault of a cluster with Patroni",
        ("python", "-m", "tests.clusters.prove_failover"),
        25,
    ),
    Part(
        "citus",
        "10,000 claims and killed servers, if PASSDOWN_CITUS names the sources of Citus",
        ("python", "-m", "tests.clusters.prove_citus"),
        40,
    ),
    Part("soak", "500 sessions for an hour: nothing grows", ("python", "-m", "tests.clusters.soak"), 62),
    _prove("hooks", 17, "hooks alone with 100,000 events", "tests/proofs/briefs/test_hooks_at_any_size.py"),
    _prove(
        "task-texts",
        15,
        "10,000 hostile texts of tasks",
        "tests/proofs/coordination/test_hostile_task_texts.py",
    ),
    _prove(
        "beads-races",
        20,
        "500 races for a task, 500 against a person",
        "tests/proofs/coordination/test_beads_races.py",
    ),
    _prove("attacks", 40, "every thing planted at every place", "tests/attacks"),
    _prove(
        "session-kills",
        30,
        "a kill at every call of every verb",
        "tests/faults/sessions/test_session_kills.py",
    ),
    _prove(
        "commit-kills",
        60,
        "a kill at every call of hooks and git",
        "tests/faults/sessions/test_commit_kills.py",
    ),
    _prove(
        "operation-kills",
        45,
        "200 kills of each of ten verbs",
        "tests/faults/coordination/test_operation_kills.py",
    ),
    _prove(
        "server-kills",
        24,
        "100 kills of each of five verbs",
        "tests/faults/coordination/test_server_kills.py",
    ),
    _prove(
        "coordination-faults",
        120,
        "three faults at every call",
        "tests/faults/coordination/test_coordination_faults.py",
    ),
    _prove(
        "postgres-faults",
        10,
        "200 rounds of killed writers",
        "tests/faults/coordination/test_postgres_faults.py",
    ),
    _prove(
        "served-threads",
        6,
        "2,000 actions of 16 threads, with SQLite and with a server",
        "tests/proofs/coordination/test_served_threads.py",
    ),
    _prove(
        "lost-answers",
        28,
        "510 answers of a server are lost",
        "tests/faults/coordination/test_lost_answers.py",
    ),
    _prove(
        "lost-files",
        28,
        "100 times the file is lost under eight sessions",
        "tests/faults/coordination/test_lost_files.py",
    ),
    _prove(
        "frozen-server",
        180,
        "a server silent at every statement of 24 verbs",
        "tests/faults/coordination/test_frozen_server.py",
    ),
    _prove("outbox-kills", 15, "1,160 kills with a `bd`", "tests/faults/coordination/test_outbox_kills.py"),
    _prove(
        "failing-bd", 90, "1,152 rounds in which `bd` fails", "tests/faults/coordination/test_failing_bd.py"
    ),
    _prove(
        "failing-bd-1.3.0",
        300,
        "the same with 1.3.0",
        "tests/faults/coordination/test_failing_bd.py",
        builds="1.3.0",
    ),
    _prove("races", 30, "2,000 rounds of publishers and editors", "tests/faults/sessions/test_races.py"),
    _prove(
        "synthesisers", 20, "2,000 rounds of eight synthesisers", "tests/e2e/sessions/test_synthesisers.py"
    ),
    _prove(
        "sessions-at-once", 20, "200 rounds in four checkouts", "tests/e2e/sessions/test_sessions_at_once.py"
    ),
    _prove(
        "clones",
        10,
        "200 rounds of two clones",
        "tests/e2e/sessions/test_two_clones.py",
        "tests/e2e/sessions/test_two_machines.py",
    ),
    _prove(
        "import",
        10,
        "1,000 transcripts of three hosts, imported",
        "tests/e2e/project/test_import_promises.py",
    ),
    _prove(
        "months",
        30,
        "three clones over months, 2,400 steps; a month of pull requests",
        "tests/proofs/clones",
    ),
    _prove("formats", 60, "10,000 to 20,000 documents of each format", "tests/formats", "tests/hosts"),
    _prove("units", 120, "properties of units, 5,000 examples each", "tests/unit", "tests/conformance"),
    Part(
        "timed",
        "what has a limit of time, at full size and with each build of Beads, one test after the other",
        (*_PYTEST, "-n", "0", "-m", "timed", "tests"),
        15,
        {"PASSDOWN_PROOF": "long", "PASSDOWN_BD_VERSIONS": "0.44.0 1.0.0 1.3.0"},
    ),
    Part(
        "mutants-changed",
        "60 faults in modules that changed",
        ("scripts/mutate", "--changed", "--sample", "60", "--seconds", "600"),
        12,
    ),
    Part(
        "mutants",
        "the planted faults, each found by a test",
        ("scripts/mutate", "--named", "planted.toml"),
        20,
    ),
    Part("fuzz-long", "1,000,000 executions of each target", ("fuzz/run", "long"), 600),
    _measure("coordination", 15, "1, 8 and 32 workers, a board of 1,000,000 tasks"),
    _measure("year", 60, "1.8 million events of 50 agents in a year"),
    Part("bench-full", "all measurements at their full size", ("bench/run",), 90),
)
"""Minutes are rounded up from bench/results/nightly.json; a part that it does not have is estimated."""


PARTS: Final[Mapping[str, Part]] = MappingProxyType({part.name: part for part in _PARTS})


def list_parts(results: Mapping[str, Result]) -> str:
    """List the parts, their minutes and when each last ran."""
    rows = [f"{'part':<24}{'minutes':>8}  last run"]
    for part in PARTS.values():
        result = results.get(part.name)
        last = (
            f"{result.date} at {result.commit}: {result.outcome}, {result.seconds} s" if result else "never"
        )
        rows.append(f"{part.name:<24}{part.minutes:>8}  {last}")
    return "\n".join(rows)


def choose_in_turn(number: int) -> Part:
    """Return the short part whose turn it is."""
    parts = [part for part in PARTS.values() if part.is_short and part.is_in_turn]
    return parts[number % len(parts)]


def count_commits(today: date) -> int:
    """Return the number of commits; in a shallow clone, which does not know it, the number of the day."""
    if _git("rev-parse", "--is-shallow-repository") != "false":
        return today.toordinal()
    return int(_git("rev-list", "--count", "HEAD"))


def read_results(path: Path = RESULTS) -> dict[str, Result]:
    """Read the outcome of each part's last run."""
    if not path.is_file():
        return {}
    return {name: Result(**kept) for name, kept in json.loads(path.read_text(encoding="utf-8")).items()}


def keep_result(part: Part, result: Result, path: Path = RESULTS) -> None:
    """Write a result next to those of the other parts."""
    results = {**read_results(path), part.name: result}
    known = {name: asdict(results[name]) for name in PARTS if name in results}
    path.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def run_part(part: Part) -> Result:
    """Run a part, show its output, and return its result."""
    print(f"== {part.name}: {part.about} (about {part.minutes} min)", flush=True)
    begin, last = time.monotonic(), ""
    with subprocess.Popen(
        part.command,
        cwd=ROOT,
        env={**os.environ, **part.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    seconds = round(time.monotonic() - begin)
    outcome = "passed" if process.returncode == 0 else "failed"
    if outcome == "passed" and last.startswith("not run:"):
        outcome = "not run"
    print(f"-- {part.name}: {outcome}, {seconds} s", flush=True)
    today = datetime.now(UTC).date().isoformat()
    return Result(today, _name_commit(), outcome, seconds, hide_paths(last)[:_SAID])


def hide_paths(line: str) -> str:
    """Remove paths of this machine from a line."""
    for path, name in ((str(ROOT), "."), (sys.prefix, "<environment>"), (str(Path.home()), "~")):
        line = line.replace(path, name)
    return line


def main(arguments: Sequence[str]) -> int:
    """Run the requested parts; return 1 if one of them failed."""
    options = _read(arguments)
    if options.list or options.turn:
        print(list_parts(read_results()))
    if options.list:
        return 0
    if options.turn:
        chosen = choose_in_turn(count_commits(datetime.now(UTC).date()))
        return 1 if run_part(chosen).outcome == "failed" else 0
    return _run_and_keep([PARTS[name] for name in options.parts] or _list_by_length(is_short=options.short))


def _run_and_keep(parts: Sequence[Part]) -> int:
    """Run parts, store each result as soon as there is one, and print a summary."""
    ended: dict[str, list[str]] = {"passed": [], "failed": [], "not run": []}
    for part in parts:
        result = run_part(part)
        ended[result.outcome].append(part.name)
        if result.outcome != "not run":
            keep_result(part, result)
    count = len(ended.pop("passed"))
    print(f"\nnightly: {count} of {len(parts)} parts passed (bench/results/{RESULTS.name})")
    for outcome, names in ended.items():
        if names:
            print(f"{outcome}: {', '.join(names)}")
    return 1 if ended["failed"] else 0


def _list_by_length(*, is_short: bool) -> list[Part]:
    """List the short parts, or all parts, the short ones first."""
    parts = sorted(PARTS.values(), key=lambda part: part.minutes)
    return [part for part in parts if part.is_short or not is_short]


def _name_commit() -> str:
    others = ("--", ".", ":!bench/results")  # where results are kept
    changes = " with changes" if _git("status", "--porcelain", "--untracked-files=no", *others) else ""
    return f"{_git('rev-parse', '--short', 'HEAD')}{changes}"


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=".ci/nightly", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="a part, as --list names it")
    parser.add_argument(
        "--short", action="store_true", help=f"run the parts that take at most {SHORT} minutes"
    )
    parser.add_argument("--list", action="store_true", help="list the parts and when each last ran")
    parser.add_argument(
        "--turn", action="store_true", help="run the short part whose turn it is; keep no result"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts).difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))} (see --list)")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
