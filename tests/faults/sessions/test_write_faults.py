"""A failing disk, a killed process, many writers: old or new content, never torn, errors reported."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import passdown
from passdown.engines.files import write
from passdown.engines.files.displaced_names import is_leftover
from passdown.records import record

SOURCE = str(Path(passdown.__file__).parents[1])
REFUSED = 3
OLD = b"old\n" * 400
NEW = b"new\n" * 5000
LINE = b'{"n":2}\n'
# What each write may call; `chdir` marks where the write begins and ends.
CALLS = ("openat", "mkdirat", "write", "fsync", "fchmod", "lseek", "linkat", "renameat", "unlinkat", "close")
CHILD = """
import os, sys
from passdown.engines.files import write
from passdown.errors import StorageError
how, folder, path, text = sys.argv[1:]
act, data, code = getattr(write, how), text.encode(), 0
os.chdir(folder)
try:
    done = act(path, data)
except StorageError as error:
    code, done = 3, f"{error.message} / {error.hint}"
os.chdir(folder)
print(done)
sys.exit(code)
"""
WRITER = """
import sys
from passdown.engines.files import write
how, path, own = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
if how == "create":
    print(write.create(path, own.encode() * 9999))
else:
    for number in range(500):
        write.append(path, f"{own} {number} {own * 300}\\n".encode())
"""


@record
class Case:
    """One write, what lies there before, and which contents are fine afterwards."""

    how: str
    data: bytes
    before: bytes | None
    fine: tuple[bytes | None, ...]
    done: bytes
    path: str = "target"
    setup: tuple[str, ...] = ()


CASES = {
    "create": Case(how="create", data=NEW, before=None, fine=(None, NEW), done=NEW),
    "create-in-new-folders": Case(
        how="create", data=NEW, before=None, fine=(None, NEW), done=NEW, path="a/b/target"
    ),
    "create-where-the-name-exists": Case(how="create", data=NEW, before=OLD, fine=(OLD,), done=OLD),
    "create-without-hard-links": Case(
        how="create",
        data=NEW,
        before=None,
        fine=(None, b"", NEW),
        done=NEW,
        setup=("inject=linkat:error=EPERM",),
    ),
    "replace": Case(how="replace", data=NEW, before=OLD, fine=(OLD, NEW), done=NEW),
    "replace-nothing": Case(how="replace", data=NEW, before=None, fine=(None, NEW), done=NEW),
    "append": Case(how="append", data=LINE, before=OLD, fine=(OLD, OLD + LINE), done=OLD + LINE),
    "append-first": Case(how="append", data=LINE, before=None, fine=(None, b"", LINE), done=LINE),
    "append-after-torn-line": Case(
        how="append", data=LINE, before=b"to", fine=(b"to", b"to\n" + LINE), done=b"to\n" + LINE
    ),
}


@pytest.fixture(scope="module")
def strace() -> str:
    """The tracer; CI must have it, elsewhere these tests are skipped."""
    found = shutil.which("strace")
    works = found and subprocess.run([found, "-qq", "true"], capture_output=True, check=False).returncode == 0
    if found and works:
        return found
    missing = "strace is missing or may not trace"
    if os.environ.get("PASSDOWN_CI") == "1" and sys.platform == "linux":
        pytest.fail(missing)
    pytest.skip(missing)


@record
class Outcome:
    """How a traced child ended."""

    code: int
    said: str
    trace: tuple[str, ...]

    def during(self) -> list[str]:
        """Give the calls between the two marks."""
        marks = [number for number, line in enumerate(self.trace) if line.startswith("chdir(")]
        end = marks[1] if len(marks) > 1 else len(self.trace)
        return list(self.trace[marks[0] + 1 : end])

    def names(self) -> list[str]:
        """Give the names of these calls."""
        return [line.partition("(")[0] for line in self.during() if re.match(r"[a-z]+\(", line)]


def run_traced(strace: str, folder: Path, case: Case, *injections: str) -> Outcome:
    """Prepare the folder and run one write under the tracer."""
    work = folder / "work"
    work.mkdir(parents=True)
    if case.before is not None:
        (work / case.path).write_bytes(case.before)
    log = folder / "trace"
    rules = [word for rule in (*case.setup, *injections) for word in ("-e", rule)]
    watched = ["-e", "trace=chdir," + ",".join(CALLS)]
    child = [sys.executable, "-S", "-c", CHILD, case.how, str(work), case.path, case.data.decode()]
    ended = subprocess.run(
        [strace, "-qq", "-o", str(log), *watched, *rules, *child],
        capture_output=True,
        check=False,
        text=True,
        env={"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
    )
    trace = tuple(log.read_text(encoding="utf-8", errors="replace").splitlines())
    return Outcome(code=ended.returncode, said=ended.stdout + ended.stderr, trace=trace)


def points(outcome: Outcome) -> Iterator[tuple[str, int]]:
    """Name every call of a write, each with its number among all calls of that name in the process."""
    start = next(number for number, line in enumerate(outcome.trace) if line.startswith("chdir("))
    counts = {call: sum(line.startswith(call + "(") for line in outcome.trace[:start]) for call in CALLS}
    for call in outcome.names():
        counts[call] += 1
        yield call, counts[call]


def leftovers(folder: Path) -> list[str]:
    """Name the files of a folder that are not the target."""
    return [path.name for path in (folder / "work").rglob("*") if path.is_file() and path.name != "target"]


def target(folder: Path, case: Case) -> bytes | None:
    """Give the content of the target, if it is there."""
    path = folder / "work" / case.path
    return path.read_bytes() if path.exists() else None


def write_again(folder: Path, case: Case) -> None:
    """Do the same write once more, unharmed."""
    act: Callable[[Path, bytes], object] = getattr(write, case.how)
    act(folder / "work" / case.path, case.data)


def after_again(case: Case, left: bytes | None) -> bytes:
    """Give what the target must hold once the write was repeated over what a kill has left."""
    match case.how, left:
        case "create", bytes(there):
            return there
        case "append", bytes(there):
            return there + (b"" if there.endswith(b"\n") or not there else b"\n") + case.data
        case _:
            return case.data


def each_point(
    strace: str, folder: Path, case: Case, fault: str, check: Callable[[str, Path, Outcome], None]
) -> int:
    """Run a write once unharmed, then once for each of its calls with the fault put there."""
    clean = run_traced(strace, folder / "clean", case)
    assert clean.code == 0, clean.said
    assert target(folder / "clean", case) == case.done
    assert leftovers(folder / "clean") == []
    found = [
        (call, number)
        for call, number in points(clean)
        if not any(f"={call}:" in rule for rule in case.setup)
    ]

    def run(point: tuple[str, int]) -> None:
        call, number = point
        place = folder / f"{call}-{number}"
        outcome = run_traced(strace, place, case, f"inject={call}:{fault}:when={number}")
        check(call, place, outcome)

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(run, found))
    return len(found)


@pytest.mark.requirement("R104", "R168")
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("name", CASES)
def test_a_failing_call_leaves_old_or_new_and_is_reported(
    strace: str, tmp_path: Path, name: str, fault: str
) -> None:
    case = CASES[name]

    def check(call: str, folder: Path, outcome: Outcome) -> None:
        assert any("(INJECTED)" in line for line in outcome.during())
        assert target(folder, case) in case.fine, call
        if call == "unlinkat":
            # The write is done by then; what remains is a name that readers skip.
            assert outcome.code == 0
            assert all(is_leftover(left) for left in leftovers(folder))
            return
        assert outcome.code == REFUSED, (call, outcome.said)
        assert "could not write" in outcome.said
        assert os.strerror(getattr(errno, fault)) in outcome.said
        assert leftovers(folder) == []

    assert each_point(strace, tmp_path, case, f"error={fault}", check) >= 5


@pytest.mark.requirement("R104", "R168")
@pytest.mark.parametrize("name", CASES)
def test_a_kill_at_any_call_leaves_old_or_new(strace: str, tmp_path: Path, name: str) -> None:
    case = CASES[name]

    def check(call: str, folder: Path, outcome: Outcome) -> None:
        assert outcome.code == -signal.SIGKILL, (call, outcome.said)
        left = target(folder, case)
        assert left in case.fine, call
        assert all(is_leftover(name) for name in leftovers(folder))

        write_again(folder, case)

        assert target(folder, case) == after_again(case, left)

    assert each_point(strace, tmp_path, case, "signal=SIGKILL", check) >= 5


@pytest.mark.requirement("R104", "R168")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "create",
            "openat openat write fsync close linkat unlinkat fsync close",
        ),
        (
            "replace",
            "openat openat fchmod write fsync close renameat unlinkat fsync close",
        ),
        ("append", "openat openat lseek lseek write fsync close close"),
        ("append-first", "openat openat lseek fsync write fsync close close"),
    ],
)
def test_each_write_syncs_the_file_before_its_name_and_the_folder_after(
    strace: str, tmp_path: Path, name: str, expected: str
) -> None:
    outcome = run_traced(strace, tmp_path, CASES[name])

    assert outcome.names() == expected.split()


def test_no_step_of_a_write_names_a_path_but_the_folder(strace: str, tmp_path: Path) -> None:
    outcome = run_traced(strace, tmp_path, CASES["replace"])

    named = [line for line in outcome.during() if "AT_FDCWD" in line]
    assert [line.partition('"')[2].partition('"')[0] for line in named] == [str(tmp_path / "work")]
    assert all("O_NOFOLLOW" in line and "O_EXCL" in line for line in outcome.during() if "O_CREAT" in line)


def run_writers(how: str, path: Path, names: list[str]) -> list[str]:
    """Start a process for each name, let them go at the same moment, and give what each said."""
    children = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", WRITER, how, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        for name in names
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * len(names)
    return said


@pytest.mark.requirement("R104")
@pytest.mark.parametrize("round_number", range(5))
def test_of_eight_processes_that_create_a_name_exactly_one_succeeds(
    tmp_path: Path, round_number: int
) -> None:
    path = tmp_path / f"deep-{round_number}" / "event.md"
    names = list("abcdefgh")

    said = run_writers("create", path, names)

    assert sorted(said) == ["False\n"] * 7 + ["True\n"]
    assert path.read_bytes() == names[said.index("True\n")].encode() * 9999
    assert [found.name for found in path.parent.iterdir()] == ["event.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="appending is for one writer at a time there")
def test_eight_processes_append_without_tearing_or_losing_a_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    names = list("abcdefgh")

    run_writers("append", path, names)

    lines = [line for line in path.read_text().split("\n") if line]
    for name in names:
        own = [line for line in lines if line.startswith(name)]
        assert own == [f"{name} {number} {name * 300}" for number in range(500)]
    assert len(lines) == 8 * 500
