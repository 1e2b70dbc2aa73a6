"""Fuzz every target, as many at once as there are cores, and say what was found.

    fuzz/run ci      1 second for each target
    fuzz/run long    1,000,000 executions of each target; `--most 600` ends each after ten minutes

Without an argument PASSDOWN_PROOF chooses; unset means `ci`. Names of targets after it choose some of them.
Seeds are copied to a temporary folder; the checkout is not written to. Exits with 1 on a finding, whose
input is printed in base64: `echo … | base64 -d > found; python fuzz/target.py NAME found` runs it again.
"""

import argparse
import base64
import importlib.util
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from fuzz.targets import TARGETS, seeds
from passdown.records import record

SECONDS: Final = 1
RUNS: Final = 1_000_000
_FOLDER: Final = Path(__file__).resolve().parent
_ROOT: Final = _FOLDER.parent
_EXECUTED: Final = re.compile(r"^stat::number_of_executed_units:\s*([0-9]+)", re.MULTILINE)
_PROGRESS: Final = re.compile(r"^#([0-9]+)\s", re.MULTILINE)
_CHATTER: Final = re.compile(r"#[0-9]+\s|INFO:|WARNING:|stat::|0x|MS:|Base64:|artifact_prefix=")
_EXCERPT: Final = 40
# A text of a few pages reaches every branch; larger ones are the business of tests/hostile/texts.py.
_COMMON: Final = (
    "-max_len=4096",
    "-timeout=10",
    "-rss_limit_mb=1024",
    "-print_final_stats=1",
    "-len_control=20",
)


@record
class Outcome:
    """What fuzzing one target gave."""

    name: str
    executions: int
    seconds: float
    code: int
    log: str
    findings: tuple[tuple[str, bytes], ...]

    @property
    def failed(self) -> bool:
        """Whether something was found, or the fuzzer itself did not come to its end."""
        return bool(self.findings) or self.code != 0


def read_limits(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Choose the limits of the run, as options of the fuzzer, and the targets."""
    parser = argparse.ArgumentParser(
        prog="fuzz/run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("level", nargs="?", choices=("ci", "long"), help="how long")
    parser.add_argument("--most", type=int, metavar="SECONDS", help="end a target after so long")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}")
    options = parser.parse_intermixed_args(arguments)
    level = options.level or ("long" if environment.get("PASSDOWN_PROOF") == "long" else "ci")
    if unknown := set(options.targets).difference(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    seconds = options.most or (SECONDS if level == "ci" else 0)
    limits = [f"-runs={RUNS}"] if level == "long" else []
    limits += [f"-max_total_time={seconds}"] if seconds else []
    limits += ["-seed=1"] if level == "ci" else []  # a check repeats itself; a long run looks elsewhere
    return limits, options.targets or list(TARGETS)


def has_fuzzer() -> bool:
    """Tell whether atheris is there; stop when it should be."""
    if importlib.util.find_spec("atheris") is not None:
        return True
    if platform.system() == "Linux" and tuple(sys.version_info) < (3, 14):
        sys.exit("fuzz/run: atheris is not installed; `uv sync --group fuzz` brings it")
    return False


def write_seeds(folder: Path) -> None:
    """Write the texts that fuzzing begins with."""
    folder.mkdir()
    for name, text in seeds().items():
        (folder / name).write_text(text, encoding="utf-8")


def fuzz(name: str, limits: Sequence[str], seeded: Path, folder: Path) -> Outcome:
    """Fuzz one target in a process of its own."""
    corpus, artifacts = folder / f"{name}-corpus", folder / f"{name}-found"
    corpus.mkdir()
    artifacts.mkdir()
    command = [sys.executable, str(_FOLDER / "target.py"), name, *limits, *_COMMON]
    command += [f"-artifact_prefix={artifacts}{os.sep}", str(corpus), str(seeded)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    seconds = time.perf_counter() - start
    found = tuple((path.name, path.read_bytes()) for path in sorted(artifacts.iterdir()))
    log = done.stdout + done.stderr
    return Outcome(
        name=name, executions=_count(log), seconds=seconds, code=done.returncode, log=log, findings=found
    )


def _count(log: str) -> int:
    final = _EXECUTED.search(log)
    steps = _PROGRESS.findall(log)
    return int(final[1]) if final else int(steps[-1]) if steps else 0


def describe(outcome: Outcome) -> str:
    """One line of the table."""
    rate = outcome.executions / outcome.seconds if outcome.seconds else 0.0
    found = (
        str(len(outcome.findings)) if outcome.findings or not outcome.code else f"ended with {outcome.code}"
    )
    return f"{outcome.name:<14} {outcome.executions:>10,} {outcome.seconds:>9.1f} {rate:>9,.0f}  {found}"


def explain(outcome: Outcome) -> str:
    """What was found: the end of the log, and the input."""
    tail = [line for line in outcome.log.splitlines() if line.strip() and not _CHATTER.match(line)][
        -_EXCERPT:
    ]
    inputs = [f"{name}: {base64.b64encode(data).decode('ascii')}" for name, data in outcome.findings]
    text = "\n".join([f"\n== {outcome.name}", *tail, *inputs])
    return text.replace(f"{_ROOT}{os.sep}", "")


def main(arguments: Sequence[str]) -> int:
    """Fuzz, print the table, and return 1 on a finding."""
    limits, names = read_limits(arguments, os.environ)
    if not has_fuzzer():
        print("atheris does not run on this system; nothing was fuzzed")
        return 0
    print(f"{'target':<14} {'executions':>10} {'seconds':>9} {'exec/s':>9}  findings", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = _run_all(limits, names, Path(folder))
    total = sum(outcome.executions for outcome in outcomes)
    failed = [outcome for outcome in outcomes if outcome.failed]
    print(f"{total:,} executions of {len(outcomes)} targets, {len(failed)} with findings")
    for outcome in failed:
        print(explain(outcome))
    return 1 if failed else 0


def _run_all(limits: Sequence[str], names: Sequence[str], folder: Path) -> list[Outcome]:
    """Fuzz the targets two at a time, or as many as there are cores; print each when it is done."""
    seeded = folder / "seeds"
    write_seeds(seeded)
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        for outcome in pool.map(lambda name: fuzz(name, limits, seeded, folder), names):
            print(describe(outcome), flush=True)
            outcomes.append(outcome)
    return outcomes
