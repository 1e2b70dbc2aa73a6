"""Put faults into modules, one at a time, and see which of them no test notices.

    scripts/mutate merge briefs           all mutants of modules that tests/mutants/modules.toml names
    scripts/mutate src/passdown/…/x.py    those of any module
    scripts/mutate --changed              those of the modules that changed since the branch left origin/main;
                                          if it did not, in the last ten commits
    scripts/mutate --named                the faults in tests/mutants/named.toml, which must all be noticed
    scripts/mutate --named planted.toml   those of C142 to C160, each with the tests that must notice it

    --sample N     try N of them, chosen by the last commit; with --changed, of at most four modules that have
                   tests of their own
    --again FILE   try only those that survived, by what an earlier run printed into this file
    --seconds N    try no more after so long, and say how many were left
    --jobs N       side by side (2)

Exits 1 when fewer are noticed than modules.toml asks for; for a sample, and for modules without a figure
there, when it is fewer than 50 %. Mutants that change nothing are listed in tests/mutants/equivalents.toml.
"""

import argparse
import ast
import random
import subprocess
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from passdown.records import record
from tests.mutants.changes import Mutant, find_mutants
from tests.mutants.runs import (
    TOO_LONG,
    Reach,
    find_reach,
    group_by_path,
    is_noticed,
    name_of,
    prepare,
    try_mutants,
)

FOLDER: Final = Path(__file__).parent
LEAST_OF_SAMPLE: Final = 50
FEWEST: Final = 20
"""A sample that ran out of time before so many were tried says too little to be judged."""
MOST_MODULES: Final = 4
COMMITS: Final = 10
"""How many commits back `--changed` looks if nothing differs from origin/main."""
ALL: Final = 100
SURVIVED: Final = "survived: "
NAMED: Final = "named.toml"
QUICK_FOLDERS: Final = ("tests/unit", "tests/formats", "tests/conformance")


@record
class Score:
    """How many mutants were tried, and those that nobody noticed."""

    tried: int
    survivors: tuple[Mutant, ...]

    @property
    def percent(self) -> float:
        """The part that was noticed; of none, all."""
        return 100.0 * (self.tried - len(self.survivors)) / self.tried if self.tried else 100.0


def main(arguments: Sequence[str]) -> int:
    """Try the mutants that were asked for, print the score and the survivors."""
    options = _read(arguments)
    until = time.monotonic() + options.seconds
    named = tomllib.loads((FOLDER / "modules.toml").read_text(encoding="utf-8"))
    groups = _groups(options, named)
    if not (groups or options.named):
        print("mutate: no module changed")
    further = {path: about.get("tests", []) for about in named.values() for path in about["paths"]}
    is_good = True
    with tempfile.TemporaryDirectory(prefix="mutate-") as compiled:
        prepare(compiled)
        if options.named:
            is_good &= _show("named faults", _try(read_named(options.named), options, until, further), ALL)
        for name, paths in groups.items():
            about = named.get(name, {})
            least = LEAST_OF_SAMPLE if options.sample else about.get("least", LEAST_OF_SAMPLE)
            score = _measure(paths, options, until, further)
            is_enough = not options.sample or score.tried >= FEWEST
            is_good &= _show(name, score, least if is_enough else 0)
    return 0 if is_good else 1


def _groups(options: argparse.Namespace, named: dict[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    if options.named:
        return {}
    if options.changed:
        changed = find_changed()
        return {"what changed": choose_modules(changed) if options.sample else changed} if changed else {}
    return {name: named[name]["paths"] if name in named else [name] for name in options.modules or named}


def _measure(
    paths: Sequence[str], options: argparse.Namespace, until: float, further: Mapping[str, Sequence[str]]
) -> Score:
    """Try the mutants of some modules as far as the time allows."""
    mutants, known = choose(paths, options.sample, options.again)
    if known:
        print(f"mutate: {known} listed as equivalent are left out")
    return _try(mutants, options, until, further)


def _try(
    mutants: Sequence[Mutant], options: argparse.Namespace, until: float, further: Mapping[str, Sequence[str]]
) -> Score:
    reaches: dict[str, Reach] = {}
    for path, faults in group_by_path(mutants).items():
        if time.monotonic() >= until:
            break
        if files := _list_tests(path, faults, further.get(path, ())):
            reaches[path] = find_reach(path, files)
        else:
            print(f"mutate: not tried, no test imports it: {path}")
    chosen = [mutant for mutant in mutants if mutant.path in reaches]
    tried, survivors = 0, []
    for mutant, code in try_mutants(chosen, reaches, options.jobs, until):
        tried += 1
        if not is_noticed(code):
            survivors.append(mutant)
            print(f"{SURVIVED}{mutant}", flush=True)
        elif code == TOO_LONG:
            print(f"noticed, for its tests did not end twice: {mutant}", flush=True)
    if tried < len(mutants):
        print(f"mutate: {len(mutants) - tried} of {len(mutants)} were not tried")
    return Score(tried=tried, survivors=tuple(survivors))


def _list_tests(path: str, faults: Sequence[Mutant], further: Sequence[str]) -> list[str]:
    """Give the tests of a module: those that its faults name, if each of them does."""
    if all(fault.tests for fault in faults):
        return sorted({test for fault in faults for test in fault.tests})
    return find_tests(path, further)


def choose(paths: Sequence[str], sample: int, again: Path | None = None) -> tuple[list[Mutant], int]:
    """Give the mutants to try, and how many are equivalent; the same commit has the same sample."""
    found = [mutant for path in paths for mutant in find_mutants(path, Path(path).read_bytes())]
    kept = leave_out_equivalents(found, read_equivalents())
    known = len(found) - len(kept)
    if again is not None:
        survived = set(again.read_text(encoding="utf-8").splitlines())
        kept = [mutant for mutant in kept if f"{SURVIVED}{mutant}" in survived]
    if sample and len(kept) > sample:
        kept = random.Random(_git("rev-parse", "HEAD")).sample(kept, sample)
        kept.sort(key=lambda mutant: (mutant.path, mutant.start))
    return kept, known


def leave_out_equivalents(mutants: Sequence[Mutant], entries: Iterable[Mapping[str, Any]]) -> list[Mutant]:
    """Leave out what is listed; `places` counts, from 1, among the mutants of one line and change."""
    listed = {(one["module"], one["line"], one["change"]): one.get("places") for one in entries}
    seen: Counter[tuple[str, str, str]] = Counter()
    kept: list[Mutant] = []
    for mutant in mutants:
        key = (mutant.path, mutant.source, mutant.change)
        seen[key] += 1
        places = listed.get(key, ())
        if places is not None and seen[key] not in places:
            kept.append(mutant)
    return kept


def choose_modules(paths: Sequence[str], most: int = MOST_MODULES) -> list[str]:
    """Give the modules of a sample: few, since the tests of each run once before its mutants do."""
    tested = [path for path in paths if has_own_tests(path)]
    if left := [path for path in paths if path not in tested]:
        print(f"mutate: not tried, they have no tests of their own: {', '.join(left)}")
    chosen = sorted(random.Random(_git("rev-parse", "HEAD")).sample(tested, min(most, len(tested))))
    print(f"mutate: {len(chosen)} of {len(tested)} modules that changed: {', '.join(chosen)}")
    return chosen


def read_named(name: str = NAMED) -> list[Mutant]:
    """Read the faults that must be noticed; the text of each stands once in its module."""
    entries = tomllib.loads((FOLDER / name).read_text(encoding="utf-8")).get("fault", [])
    return [make_named(entry, Path(entry["module"]).read_bytes()) for entry in entries]


def make_named(entry: Mapping[str, Any], data: bytes) -> Mutant:
    """Make the fault of an entry."""
    text = entry["text"].encode()
    if data.count(text) != 1:
        raise SystemExit(f"mutate: the text of this fault does not stand once in its module: {entry['name']}")
    start = data.index(text)
    line = data[:start].count(b"\n") + 1
    return Mutant(
        path=entry["module"],
        line=line,
        last_line=line + text.count(b"\n"),
        start=start,
        end=start + len(text),
        text=entry["instead"],
        change=entry["name"],
        source=entry["text"].strip().splitlines()[0],
        tests=tuple(entry.get("tests", ())),
    )


def read_equivalents() -> list[dict[str, Any]]:
    """Read what is listed; every entry has a reason."""
    text = (FOLDER / "equivalents.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text).get("equivalent", [])
    return entries


def has_own_tests(path: str) -> bool:
    """Tell whether a file of tests is named after a module; others are tested through what uses them."""
    files = find_tests(path)
    return bool(files) and Path(files[0]).stem.startswith(_own_tests(path))


def _own_tests(path: str) -> str:
    return f"test_{name_of(path).rpartition('.')[2]}"


def find_tests(path: str, further: Iterable[str] = ()) -> list[str]:
    """Give the files of tests that import a module, the one of its own name first."""
    name = name_of(path)
    own = _own_tests(path)
    files = [str(file) for folder in QUICK_FOLDERS for file in Path(folder).rglob("test_*.py")]
    found = {file for file in files if name in _imports(Path(file))} | set(further)
    return sorted(found, key=lambda file: (not Path(file).stem.startswith(own), file))


@cache
def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def find_changed() -> list[str]:
    """Give the modules that changed since the branch left origin/main; if it did not, in the last commits."""
    head, base = _git("rev-parse", "HEAD"), _git("merge-base", "origin/main", "HEAD")
    if not base or base == head:
        base = _git("rev-list", "--first-parent", f"--max-count={COMMITS + 1}", "HEAD").rpartition("\n")[2]
    if base == head:
        print("mutate: not compared, there is no commit before this one")
        return []
    names = _git("diff", "--name-only", "--diff-filter=AM", base, "--", "src").splitlines()
    return [name for name in names if name.endswith(".py") and Path(name).is_file()]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _show(name: str, score: Score, least: int) -> bool:
    noticed = score.tried - len(score.survivors)
    is_good = score.percent >= least
    word = "" if is_good else "  MISSED"
    wanted = f"at least {least} %" if least else "too few to be judged"
    print(f"{name}: {noticed} of {score.tried} noticed, {score.percent:.1f} %, {wanted}{word}")
    return is_good


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="a name of modules.toml, or a path")
    parser.add_argument("--changed", action="store_true", help="the modules that changed")
    parser.add_argument(
        "--named", nargs="?", const=NAMED, metavar="FILE", help="the faults of a file that must be noticed"
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="try N of them")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try those that this output names")
    parser.add_argument("--seconds", type=float, default=86_400.0, metavar="N", help="stop after N seconds")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="side by side (2)")
    return parser.parse_args(arguments)
