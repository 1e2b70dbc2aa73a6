"""The lists of steps in ARCHITECTURE.md are what the program does."""

import gc
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

import passdown
from passdown.engines.files.documents import FileDocuments
from passdown.faces.cli.main import HookWork, main
from passdown.faces.hooks import quick
from tests.support.gits import make_started

ROOT = Path(passdown.__file__).parent
PAGE = Path(__file__).parents[3] / "ARCHITECTURE.md"
STEP = re.compile(r"^[0-9]+\. `([\w/]+\.py):(\w+)`")
MOST_STEPS = 16


def steps(opening: str) -> list[tuple[str, str]]:
    """Read the list that follows a line of the page."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(opening)
    found = []
    for line in rest.lstrip("\n").split("\n"):
        match = STEP.match(line)
        if match is None:
            break
        found.append((match[1], match[2]))
    return found


def record(act: Callable[[], object]) -> list[tuple[str, str]]:
    """Return the functions of the package that a call runs, in order."""
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(ROOT)):
            called.append((Path(path).relative_to(ROOT).as_posix(), frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
        gc.enable()
    return called


def first_missing(wanted: list[tuple[str, str]], called: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first step that was not called after the one before it."""
    rest = iter(called)
    return next((step for step in wanted if step not in rest), None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with settings, and go there."""
    folder = make_started(tmp_path / "project").folder
    (folder / "passdown.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run a command in this process."""
    monkeypatch.setattr(sys, "argv", ["passdown", *arguments])
    assert main() == 0


@pytest.mark.usefixtures("folder")
def test_decide_goes_from_argument_to_event_as_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = steps("`passdown decide KEY TEXT`, from argument to event:")
    run(monkeypatch, "start")

    def act() -> None:
        run(monkeypatch, "decide", "db", "SQLite")
        run(monkeypatch, "publish")

    called = record(act)

    assert 1 < len(wanted) <= MOST_STEPS
    assert first_missing(wanted, called) is None


def call_hook(monkeypatch: pytest.MonkeyPatch, folder: Path, event: str) -> list[tuple[str, str]]:
    """Let a host call a hook; return the functions that run."""
    payload = {"session_id": "h-1", "cwd": str(folder), "hook_event_name": event, "source": "startup"}
    data = json.dumps({**payload, "transcript_path": str(folder / "t.jsonl")}).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    return record(lambda: quick.main([], HookWork()))


def test_a_session_start_goes_from_payload_to_brief_as_drawn(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    wanted = steps("A session start, from payload to brief:")

    called = call_hook(monkeypatch, folder, "SessionStart")

    assert 1 < len(wanted) <= MOST_STEPS
    assert first_missing(wanted, called) is None


@pytest.mark.usefixtures("folder")
def test_claim_goes_from_argument_to_grant_as_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = steps("`passdown claim`, from argument to grant, with SQLite:")
    run(monkeypatch, "start")
    run(monkeypatch, "task", "add", "Write the parser")

    called = record(lambda: run(monkeypatch, "claim"))

    assert 1 < len(wanted) <= MOST_STEPS
    assert first_missing(wanted, called) is None


def test_a_turn_end_goes_from_payload_to_what_follows_as_drawn(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    wanted = steps("A turn end, from payload to the next prompt:")
    call_hook(monkeypatch, folder, "SessionStart")
    said = {"type": "user", "message": {"role": "user", "content": "Add a login page"}}
    (folder / "t.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")

    called = call_hook(monkeypatch, folder, "Stop")

    assert 1 < len(wanted) <= MOST_STEPS
    assert first_missing(wanted, called) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("goal", "x"),
        ("decide", "db", "SQLite"),
        ("done", "x"),
        ("publish",),
        ("heartbeat",),
        ("end",),
        ("end", "--keep"),
        ("handoff", "create", "--archive"),
        ("track", "bind", "login"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_no_verb_reads_a_ledger_more_than_twice(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    run(monkeypatch, "start")
    run(monkeypatch, "now", "y")
    reads: list[str] = []
    read, remove = FileDocuments.read, FileDocuments.remove

    def note_read(documents: FileDocuments, path: str, *, settled: bool = False) -> bytes:
        reads.extend([path] if path.endswith("LEDGER.md") else [])
        return read(documents, path, settled=settled)

    def note_remove(documents: FileDocuments, path: str, data: bytes, **how: bool) -> bool:
        reads.extend(
            [path] if path.endswith("LEDGER.md") else []
        )  # it removes only what it was given, so it reads the file
        return remove(documents, path, data, **how)

    monkeypatch.setattr(FileDocuments, "read", note_read)
    monkeypatch.setattr(FileDocuments, "remove", note_remove)

    run(monkeypatch, *arguments)

    assert 1 <= len(reads) <= 2, reads
