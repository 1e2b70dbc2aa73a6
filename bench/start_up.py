"""How long commands take to start, in multiples of P: the interpreter of the wheel's environment alone."""

import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.corpus import make_log
from bench.rows import Row
from bench.timing import time_commands
from passdown.core.formats.registry import LEDGER
from passdown.wiring.checks import peek_view
from passdown.wiring.projects import read_settings

ROUNDS: Final = 25
CHECKED: Final = "synthesize --check"
EVENTS: Final = 1_000
OLD: Final = 1_700_000_000
_ROOT: Final = Path(__file__).resolve().parent.parent
_CACHE: Final = _ROOT / ".ci-cache"


def measure_start_up(rounds: int = ROUNDS) -> list[Row]:
    """Start each command in turn, round by round; ratios are of the minima, and of the medians to inform."""
    folder = make_environment()
    with tempfile.TemporaryDirectory() as home:
        document = Path(home) / "LEDGER.md"
        document.write_text(LEDGER.example(), encoding="utf-8")
        project = _make_project(Path(home) / "project", folder / "bin" / "passdown")
        times = time_commands(_commands(folder / "bin", document, project), home, rounds)
        looking = _time_of_looking(project)
    floor, middle = min(times["P"]), statistics.median(times["P"])
    times[CHECKED] = [seconds - looking for seconds in times[CHECKED]]
    return [
        Row(
            part="start-up",
            name=name,
            value=min(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / floor,
            budget=BUDGETS["start-up"].get(name),
            median_ratio=statistics.median(seconds) / middle,
        )
        for name, seconds in times.items()
    ]


def _make_project(folder: Path, program: Path) -> Path:
    """Make a repository with a thousand events, and its view."""
    for day, name, text in make_log(EVENTS):
        place = folder / "thoughts/shared/handoffs/events" / day
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    for command in (["git", "init", "-q", "-b", "main"], [str(program), "synthesize", "--no-confirm"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    # The folders are not new: what was written just now would be listed again.
    for one in [path for path in (folder / "thoughts").rglob("*") if path.is_dir()]:
        os.utime(one, (OLD, OLD))
    subprocess.run([str(program), "synthesize", "--check"], cwd=folder, check=True, capture_output=True)
    return folder


def _time_of_looking(project: Path) -> float:
    """Time the look at the log itself, which the budget of a check leaves out."""
    settings, _ = read_settings(project, os.environ)
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        assert peek_view(project, settings, os.environ) is not None
        times.append(time.perf_counter() - start)
    return min(times)


def _commands(programs: Path, document: Path, project: Path) -> dict[str, list[str]]:
    python, passdown = str(programs / "python"), str(programs / "passdown")
    return {
        "P": [python, "-I", "-c", "pass"],
        "passdown --version": [passdown, "--version"],
        "passdown --help": [passdown, "--help"],
        "passdown check FILE": [passdown, "check", str(document)],
        "passdown format": [passdown, "format"],
        CHECKED: ["/bin/sh", "-c", f"cd '{project}' && exec '{passdown}' synthesize --check"],
    }


def make_environment() -> Path:
    """Build the wheel and install it alone, compiled as pip would; what is current is used again."""
    folder, wanted = _CACHE / "bench-venv", _digest()
    mark = folder / "passdown-digest"
    if mark.is_file() and mark.read_text(encoding="ascii") == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as built:
        _uv("build", "--wheel", "--python", sys.executable, "--out-dir", built, str(_ROOT))
        wheel = next(Path(built).glob("*.whl"))
        _uv("venv", "--python", sys.executable, str(folder))
        python = str(folder / "bin" / "python")
        _uv(
            *("pip", "install", "--compile-bytecode", "--python", python),
            *("--constraints", str(_ROOT / "requirements.lock"), str(wheel)),
        )
    mark.write_text(wanted, encoding="ascii")
    return folder


def _uv(*arguments: str) -> None:
    program = shutil.which("uv")
    if program is None:
        sys.exit("bench: uv is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([program, *arguments, "--quiet"], check=True, env=environment)


def _digest() -> str:
    """What the environment is made of: the package, its metadata, the lock, and the interpreter."""
    total = hashlib.sha256(f"{sys.executable} {sys.version}".encode())
    sources = (path for path in (_ROOT / "src").rglob("*") if path.suffix in {".py", ".sql", ".md"})
    files = [*sorted(sources), _ROOT / "pyproject.toml", _ROOT / "requirements.lock"]
    for path in files:
        total.update(f"{path.relative_to(_ROOT)}\n".encode() + path.read_bytes())
    return total.hexdigest()
