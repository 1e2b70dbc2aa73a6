"""Which requirements are proven, by which tests, and through what: `python -m tests.requirements`.

A test declares what it proves with `@pytest.mark.requirement("R107", "G3")`. Without options, the report
collects the tests without running them, and shows which requirements have a test. With `--outcomes FILE…`,
written by `pytest --outcomes FILE`, it shows what these runs proved: a test proves nothing if one of its
cases was skipped, left out or failed in all of them, and a call whose answer the test did not look at is no
proof through a face. If there was no time for a test, it is no fault that its requirements are not proven.
The report fails if

1. a requirement that `--against` lists as proven is no longer proven, or only further inside,
2. an id that `docs/spec/inside.toml` lists as built is not proven through a face and has no reason there,
3. a reason there is no longer needed,
4. an id shares each of its tests with too many others.

`--write` writes what is proven into the file that `--against` names. `docs/spec/` says what the codes mean.
"""

import argparse
import io
import itertools
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.outcomes import INSIDE, KINDS, Outcome, read_outcomes
from tests.skips import NO_TIME
from tests.specification import FOLDER, find_proofs, load_specification

TITLES = {name: entry.title for name, entry in load_specification().entries.items()}
IDS = tuple(name for name in TITLES if name[0] in "RG")
DECISIONS = tuple(name for name in TITLES if name[0] == "C")
REASONS = FOLDER / "inside.toml"
MOST_OTHERS = 6
"""How many other ids a test may carry and still be the test of one."""
_NO_LOOK = "the test did not look at the answer or at a file"
NOTE = (
    "# Written by `python -m tests.requirements --outcomes FILE… --against THIS --write`: what runs proved.\n"
)

Proofs = Mapping[str, Sequence[str]]


def marked(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """Return for each id in a marker the tests that carry it; cases of one test count once."""
    proofs: dict[str, list[str]] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        for marker in item.iter_markers("requirement"):
            for name in marker.args:
                tests = proofs.setdefault(str(name), [])
                if test not in tests:
                    tests.append(test)
    return proofs


def find_crowded(proofs: Proofs) -> dict[str, int]:
    """Return the ids that share each of their tests with too many others, and with how many at least.

    In a test that proves so much, nobody can see which line belongs to which requirement.
    """
    carried = Counter(test for tests in proofs.values() for test in tests)
    others = {name: min(carried[test] for test in tests) - 1 for name, tests in proofs.items()}
    return {name: count for name, count in others.items() if count > MOST_OTHERS}


def unknown_ids(names: Iterable[str]) -> list[str]:
    """Return the names that are neither a requirement nor a decision."""
    return sorted(set(names).difference(TITLES))


def render_ranges(names: Iterable[str]) -> str:
    """Return ids in order with ranges, like `R1-R3, R5, G2`."""
    wanted = set(names)
    return ", ".join(
        run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
        for _, every in itertools.groupby(TITLES, lambda name: name[0])
        for run in _runs(every, wanted)
    )


def _runs(every: Iterable[str], wanted: set[str]) -> Iterator[list[str]]:
    for chosen, run in itertools.groupby(every, wanted.__contains__):
        if chosen:
            yield list(run)


# --- what is marked ---------------------------------------------------------------------------------


def render_report(proofs: Proofs) -> str:
    """Return the report for people: ids with their tests, then those without."""
    proven = [name for name in IDS if name in proofs]
    missing = [name for name in IDS if name not in proofs]
    decided = [name for name in DECISIONS if name in proofs]
    lines = [f"{name}: {', '.join(proofs[name])}" for name in (*proven, *decided)]
    lines.append(
        f"marked: {len(proven)} of {len(IDS)} requirements have a test ({render_ranges(proven) or 'none'})"
    )
    lines.append(
        f"decisions: {len(decided)} of {len(DECISIONS)} have a test of their own "
        f"({render_ranges(decided) or 'none'})"
    )
    lines.append(f"missing: {len(missing)} ({render_ranges(missing) or 'none'})")
    lines += [f"  {name}: {TITLES[name]}" for name in missing]
    return "\n".join(lines) + "\n"


def render_json(proofs: Proofs) -> str:
    """Return the same report for programs."""
    report = {
        "total": len(IDS),
        "marked": {name: list(proofs[name]) for name in IDS if name in proofs},
        "missing": [name for name in IDS if name not in proofs],
        "titles": {name: TITLES[name] for name in IDS},
        "decisions": {name: list(proofs[name]) for name in DECISIONS if name in proofs},
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


# --- what runs proved -------------------------------------------------------------------------------


class Proof(NamedTuple):
    """What runs show about one id: through what it is proven, by which tests, and why others prove less."""

    through: tuple[str, ...]
    tests: tuple[str, ...]
    wrong: Mapping[str, str]
    unseen: Mapping[str, str] = MappingProxyType({})

    @property
    def kind(self) -> str:
        """The outermost kind through which it is proven; empty if it is not."""
        return self.through[-1] if self.through else ""

    @property
    def is_open(self) -> bool:
        """Whether there was no time for one of its tests, and none failed."""
        ends = self.wrong.values()
        return "failed" not in ends and any(NO_TIME in end for end in ends)


class Reasons(NamedTuple):
    """The ids that are built, and the reasons why some of them are not proven through a face."""

    built: tuple[str, ...]
    reasons: Mapping[str, str]


def judge(outcomes: Iterable[Outcome], proofs: Proofs) -> dict[str, Proof]:
    """Return for each id with a test whether runs proved it: one of its tests passed, and none failed."""
    runs: dict[str, list[Outcome]] = {}
    for one in outcomes:
        runs.setdefault(one.test.partition("[")[0], []).append(one)
    return {name: _judge_one(tests, runs) for name, tests in proofs.items()}


def _judge_one(tests: Sequence[str], runs: Mapping[str, Sequence[Outcome]]) -> Proof:
    ends = {test: _end_of(runs.get(test, ())) for test in tests}
    passed = tuple(test for test, end in ends.items() if end == "passed")
    wrong = {test: end for test, end in ends.items() if end != "passed"}
    seen = {kind for test in passed for run in runs[test] for kind in run.through}
    proven = () if "failed" in wrong.values() else tuple(kind for kind in KINDS if kind in seen)
    unseen = {test: kinds for test in passed if (kinds := _find_unseen(runs[test]))}
    return Proof(proven, passed, wrong, unseen)


def _end_of(cases: Sequence[Outcome]) -> str:
    """Return the outcome of a test from those of its cases: failed if one failed, passed if all passed."""
    ends = {case.outcome for case in cases}
    if "failed" in ends:
        return "failed"
    if ends == {"passed"}:
        return "passed"
    return "; ".join(_render_case(case) for case in cases if case.outcome != "passed") or "not run"


def _render_case(case: Outcome) -> str:
    _, bracket, name = case.test.partition("[")
    return f"{bracket}{name} {case.outcome}".strip() + (f" ({case.why})" if case.why else "")


def _find_unseen(cases: Sequence[Outcome]) -> str:
    """Return the kinds that some case called and no case looked at."""
    called = {kind for case in cases for kind in case.unseen}
    seen = {kind for case in cases for kind in case.through}
    return ", ".join(kind for kind in KINDS if kind in called - seen)


def load_reasons(file: Path = REASONS) -> Reasons:
    """Read the ids that are built, and the reasons."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return Reasons(tuple(_every(data["built"])), {**data["inside"], **data["later"]})


def _every(ranges: Iterable[str]) -> Iterator[str]:
    """Yield `R1`, `R2`, `R3` for `R1-R3`."""
    names = list(TITLES)
    for run in ranges:
        first, _, last = run.partition("-")
        yield from names[names.index(first) : names.index(last or first) + 1]


def find_faults(judged: Mapping[str, Proof], known: Mapping[str, str], reasons: Reasons) -> list[str]:
    """List the reasons for which the report fails, by the numbers above."""
    kinds = {name: proof.kind for name, proof in judged.items()}
    is_open = {name for name, proof in judged.items() if proof.is_open}
    found = [  # 1.
        f"{name} was proven through {kind}, now {_shown(judged.get(name))}"
        for name, kind in known.items()
        if _distance(kinds.get(name, "")) < _distance(kind) and name not in is_open
    ]
    found += [  # 2.
        f"{name} ({TITLES[name]}) has no reason and is {_shown(judged.get(name))}"
        for name in reasons.built
        if kinds.get(name, "") in {"", INSIDE} and name not in reasons.reasons and name not in is_open
    ]
    for name in reasons.reasons:
        if name not in reasons.built:  # 3.
            found.append(f"{name} has a reason in {REASONS.name} but is not built")
        elif kinds.get(name, "") not in {"", INSIDE}:
            found.append(f"{name} is {_shown(judged[name])}: take its reason out of {REASONS.name}")
    return found


def _render_crowded(proofs: Proofs) -> Iterator[str]:  # 4.
    for name, count in find_crowded(proofs).items():
        yield f"{name} ({TITLES[name]}) shares each of its tests with {count} others or more: give it its own"


def _distance(kind: str) -> int:
    return ("", *KINDS).index(kind)


def _shown(proof: Proof | None) -> str:
    if proof is None:
        return "not proven: it has no test"
    if proof.kind == INSIDE and proof.unseen:
        unseen = ", ".join(f"{test} called {kinds}, but {_NO_LOOK}" for test, kinds in proof.unseen.items())
        return f"proven through {INSIDE} alone: {unseen}"
    if proof.through:
        return f"proven through {', '.join(proof.through)}"
    return "not proven: " + ", ".join(f"{test} {end}" for test, end in proof.wrong.items())


def render_outcomes(judged: Mapping[str, Proof], reasons: Reasons) -> str:
    """Return the report of runs: each id, how many are proven through what, and which through no face."""
    lines = [
        f"{name} {_shown(judged[name])}: {', '.join(judged[name].tests)}" for name in TITLES if name in judged
    ]
    for heading, names in (("requirements", IDS), ("decisions", DECISIONS)):
        proven = [name for name in names if name in judged and judged[name].through]
        lines.append(f"proven: {len(proven)} of {len(names)} {heading} ({render_ranges(proven) or 'none'})")
        counts = (sum(judged[name].kind == kind for name in proven) for kind in KINDS)
        outermost = ", ".join(f"{kind} {count}" for kind, count in zip(KINDS, counts, strict=True))
        lines.append(f"  by the outermost: {outermost}")
    late = [name for name, proof in judged.items() if proof.is_open]
    lines.append(f"with a test for which there was no time: {render_ranges(late) or 'none'}")
    lines += _render_less(judged)
    faceless = [name for name in reasons.built if name not in judged or judged[name].kind in {"", INSIDE}]
    lines.append(f"built: {len(reasons.built)}, of these not proven through a face: {len(faceless)}")
    for name in faceless:
        how = judged[name].kind or "not proven" if name in judged else "no test"
        lines.append(f"  {name} {TITLES[name]} ({how}): {reasons.reasons.get(name, 'NO REASON')}")
    return "\n".join(lines) + "\n"


def _render_less(judged: Mapping[str, Proof]) -> Iterator[str]:
    """Name the tests that prove less than their markers claim, each once."""
    unseen = {test: kinds for proof in judged.values() for test, kinds in proof.unseen.items()}
    yield f"tests that called a face and did not look at the answer or at a file: {len(unseen)}"
    yield from (f"  {test}: {kinds}" for test, kinds in sorted(unseen.items()))
    partly = {test: end for proof in judged.values() for test, end in proof.wrong.items()}
    yield f"tests of which not all cases ran and passed: {len(partly)}"
    yield from (f"  {test}: {end}" for test, end in sorted(partly.items()))


def render_known(judged: Mapping[str, Proof]) -> str:
    """Return the content of the file that `--against` reads."""
    rows = (f'{name} = "{judged[name].kind}"\n' for name in TITLES if name in judged and judged[name].kind)
    return NOTE + "".join(rows)


# --- the command ------------------------------------------------------------------------------------


class _Collector:
    """Stores the tests that pytest collected."""

    def __init__(self) -> None:
        self.proofs: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.proofs = marked(session.items)


class CollectionError(Exception):
    """The tests cannot be collected; the message is what pytest printed."""


def collect(folder: Path) -> dict[str, list[str]]:
    """Return the proofs of all tests below a folder; raises CollectionError."""
    collector = _Collector()
    arguments = [str(folder), "--collect-only", "-n0", "-q", "--capture=no", "-p", "no:cacheprovider"]
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest.main(arguments, plugins=[collector])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        shown = re.sub(r"(?m)^\S+::.*\n", "", printed.getvalue())
        raise CollectionError(shown.strip() or f"pytest ended with {code}")
    return collector.proofs


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if tests cannot be collected, name no requirement, or prove too little."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.requirements", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--outcomes", nargs="+", type=Path, metavar="FILE", help="what pytest --outcomes wrote"
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="fail when something in it is lost")
    parser.add_argument("--write", action="store_true", help="write the file of --against instead")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, help="where tests are")
    options = parser.parse_args(arguments)
    if options.outcomes:
        return _report_outcomes(options.outcomes, options.against, write=options.write)
    try:
        proofs = collect(options.folder)
    except CollectionError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(render_json(proofs) if options.json else render_report(proofs))
    return 0


def _report_outcomes(files: Sequence[Path], against: Path | None, *, write: bool) -> int:
    proofs = find_proofs()
    judged = judge(read_outcomes(files), proofs)
    reasons = load_reasons()
    sys.stdout.write(render_outcomes(judged, reasons))
    if against and write:
        against.write_text(render_known(judged), encoding="utf-8", newline="\n")
    known = tomllib.loads(against.read_text(encoding="utf-8")) if against else {}
    faults = [*find_faults(judged, known, reasons), *_render_crowded(proofs)]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
