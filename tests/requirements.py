"""Which requirements are proven, and by which tests: `python -m tests.requirements [--json]`.

A test says what it proves with `@pytest.mark.requirement("R107", "G3")`. The report collects the
tests without running them. What the codes mean stands in `docs/spec/`.
"""

import argparse
import io
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.specification import load_specification

TITLES = {name: entry.title for name, entry in load_specification().entries.items()}
IDS = tuple(name for name in TITLES if name[0] in "RG")
DECISIONS = tuple(name for name in TITLES if name[0] == "C")

FACES = (
    ("host", r"/test_\w*hosts\w*\.py|^tests/hosts/"),
    ("hook", r"/test_\w*hooks?_?\w*\.py"),
    ("cli", r"/test_cli_|^tests/e2e/"),
    ("service", r"_service\.py"),
    ("engine", r"^tests/(conformance|faults)/|/test_(file|git|sqlite|write|lock|homes|processes)"),
    ("core", r"^tests/(unit|formats|proofs)/"),
)
"""Through what a test proves something, by the path of its file; the first that matches."""

Proofs = Mapping[str, Sequence[str]]


def marked(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """For each id that a marker names, the tests that carry it; cases of one test count once."""
    proofs: dict[str, list[str]] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        for marker in item.iter_markers("requirement"):
            for name in marker.args:
                tests = proofs.setdefault(str(name), [])
                if test not in tests:
                    tests.append(test)
    return proofs


def unknown_ids(names: Iterable[str]) -> list[str]:
    """The names that are neither a requirement nor a decision."""
    return sorted(set(names).difference(TITLES))


def faces_of(tests: Iterable[str]) -> list[str]:
    """The faces through which tests prove something, from the inside out."""
    files = {test.partition("::")[0] for test in tests}
    found = {next((face for face, path in FACES if re.search(path, file)), "") for file in files}
    return [face for face, _ in reversed(FACES) if face in found]


def render_ranges(names: Iterable[str]) -> str:
    """`R1-R3, R5, G2` for the ids in their order."""
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


def render_report(proofs: Proofs) -> str:
    """The report for people: proven ids with their faces and tests, then what is missing."""
    proven = [name for name in IDS if name in proofs]
    missing = [name for name in IDS if name not in proofs]
    decided = [name for name in DECISIONS if name in proofs]
    lines = [_proof_line(name, proofs[name]) for name in (*proven, *decided)]
    lines.append(f"proven: {len(proven)} of {len(IDS)} requirements ({render_ranges(proven) or 'none'})")
    lines += _face_lines(proofs, proven)
    lines.append(
        f"decisions: {len(decided)} of {len(DECISIONS)} have a test of their own "
        f"({render_ranges(decided) or 'none'})"
    )
    lines.append(f"missing: {len(missing)} ({render_ranges(missing) or 'none'})")
    lines += [f"  {name}: {TITLES[name]}" for name in missing]
    return "\n".join(lines) + "\n"


def _proof_line(name: str, tests: Sequence[str]) -> str:
    faces = ", ".join(faces_of(tests))
    return f"{name} ({faces}): {', '.join(tests)}" if faces else f"{name}: {', '.join(tests)}"


def _face_lines(proofs: Proofs, proven: Sequence[str]) -> list[str]:
    """How many requirements each face proves, in one line."""
    every = [face for name in proven for face in faces_of(proofs[name])]
    counts = [f"{face} {every.count(face)}" for face, _ in reversed(FACES) if face in every]
    return [f"proven through: {', '.join(counts)}"] if counts else []


def render_json(proofs: Proofs) -> str:
    """The same report for programs."""
    missing = [name for name in IDS if name not in proofs]
    proven = {name: list(proofs[name]) for name in IDS if name in proofs}
    report = {
        "total": len(IDS),
        "proven": proven,
        "missing": missing,
        "faces": {name: faces_of(tests) for name, tests in proven.items()},
        "titles": {name: TITLES[name] for name in IDS},
        "decisions": {name: list(proofs[name]) for name in DECISIONS if name in proofs},
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


class _Collector:
    """Keeps what pytest collected."""

    def __init__(self) -> None:
        self.proofs: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.proofs = marked(session.items)


class CollectionError(Exception):
    """The tests cannot be collected; the message is what pytest printed."""


def collect(folder: Path) -> dict[str, list[str]]:
    """The proofs of all tests below a folder; raises CollectionError."""
    collector = _Collector()
    arguments = [str(folder), "--collect-only", "-n0", "-q", "--capture=no", "-p", "no:cacheprovider"]
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest.main(arguments, plugins=[collector])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        shown = re.sub(r"(?m)^\S+::.*\n", "", printed.getvalue())
        raise CollectionError(shown.strip() or f"pytest ended with {code}")
    return collector.proofs


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 when the tests cannot be collected or name unknown requirements."""
    parser = argparse.ArgumentParser(prog="python -m tests.requirements", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, help="where tests are")
    options = parser.parse_args(arguments)
    try:
        proofs = collect(options.folder)
    except CollectionError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(render_json(proofs) if options.json else render_report(proofs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
