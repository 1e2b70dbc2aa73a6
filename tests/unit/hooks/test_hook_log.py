"""What a hook notes: why something went wrong, what it cost, and that it rests where nobody agreed."""

import io
import json
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from passdown.engines.files import read
from passdown.engines.files.rolling import add_line
from passdown.engines.user_folders import find_state_folder
from passdown.errors import StorageError, UsageError
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import hook_log, opt_in_notice, quick
from passdown.faces.hooks import main as whole
from passdown.settings import FILE_NAME
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock

HOST = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project whose owner agreed, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    return folder


def call(monkeypatch: pytest.MonkeyPatch, root: Path, event: str, *arguments: str, **told: object) -> None:
    """Call a hook as a host does."""
    payload = {"hook_event_name": event, "session_id": HOST, "cwd": str(root), **told}
    data = io.BytesIO(json.dumps(payload).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    assert quick.main(list(arguments), HookWork()) == 0


# --- files that stay small ------------------------------------------------------------------------


def test_a_file_of_lines_keeps_the_newest_half_when_it_grows_too_long(tmp_path: Path) -> None:
    path = tmp_path / "new" / "notes"
    for number in range(200):
        add_line(str(path), f"line {number}", 1000)

    lines = path.read_text(encoding="utf-8").splitlines()

    assert path.stat().st_size <= 1000
    assert lines[-1] == "line 199"
    assert lines == [f"line {number}" for number in range(200 - len(lines), 200)]
    assert 40 <= len(lines) <= 110


def test_a_file_that_is_gone_when_it_should_be_cut_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: read.OpenFolder, name: str) -> os.stat_result:
        raise FileNotFoundError(name)

    with monkeypatch.context() as patched:
        patched.setattr(read.OpenFolder, "status", gone)
        add_line(str(tmp_path / "notes"), "line", 1)

    assert (tmp_path / "notes").read_text(encoding="utf-8") == "line\n"
    with pytest.raises(StorageError, match="could not write"):
        add_line(str(tmp_path / "notes" / "below"), "line")


@pytest.mark.parametrize(
    ("variables", "platform", "folder"),
    [
        ({"HOME": "/h"}, "linux", "/h/.local/state/passdown"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "linux", "/s/passdown"),
        ({"HOME": "/h", "XDG_STATE_HOME": "s"}, "linux", "/h/.local/state/passdown"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/passdown"),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/passdown"),
    ],
)
def test_what_is_noted_for_a_user_lies_where_the_platform_has_it(
    variables: dict[str, str], platform: str, folder: str
) -> None:
    assert find_state_folder(variables, platform).replace(os.sep, "/") == folder
    with pytest.raises(UsageError):
        find_state_folder({}, platform)


# --- trouble --------------------------------------------------------------------------------------


@pytest.mark.requirement("G17")
def test_trouble_is_noted_in_the_first_place_that_can_be_written(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [root / ".git/passdown", root / ".conductor", home / ".local/state/passdown"]
    (root / ".conductor").mkdir()
    for number, place in enumerate(places):
        hook_log.log_trouble(str(root), f"number {number}\nand more")
        assert (place / "hooks.log").read_text().startswith(f"2026-01-11T12:00:00Z number {number}")
        assert (place / "hooks.log").read_text().count("\n") == 1
        (place / "hooks.log").unlink()
        (place / "hooks.log").mkdir()
    assert capsys.readouterr().err == ""

    hook_log.log_trouble(str(root), "nowhere")
    assert capsys.readouterr().err == "passdown: 2026-01-11T12:00:00Z nowhere\n"
    for name in ("HOME", "USERPROFILE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    hook_log.log_trouble(str(root), "no home")
    assert "no home" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", None)
    hook_log.log_trouble(str(root), "nobody")


@pytest.mark.requirement("C119")
def test_a_log_that_git_tracks_is_not_written(root: Path, home: Path) -> None:
    project = Project(folder=root)
    project.write(".conductor/hooks.log", "theirs\n")
    project.write(".conductor/metrics.jsonl", "theirs\n")
    project.git("add", "--force", ".conductor")
    project.write(".git/passdown", "in the way")

    hook_log.log_trouble(str(root), "ours")
    hook_log.log_cost(str(root), "start", 1.0, 2)

    assert "ours" in (home / ".local/state/passdown/hooks.log").read_text()
    assert {path.read_text() for path in (root / ".conductor").iterdir()} == {"theirs\n"}


def test_a_note_makes_no_folder_where_git_leads_nowhere(tmp_path: Path, home: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere")

    hook_log.log_trouble(str(tmp_path), "lost")

    assert "lost" in (home / ".local/state/passdown/hooks.log").read_text()
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


def test_a_damaged_folder_of_git_is_noted_and_the_work_is_done(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / ".git" / "refs").rename(root / ".git" / "torn")

    call(monkeypatch, root, "SessionStart", source="startup")

    assert "passdown brief" in capsys.readouterr().out
    assert "SessionStart: the git folder is damaged" in (root / ".git/passdown/hooks.log").read_text()
    assert list((root / ".conductor/journal").iterdir())


def test_a_cache_that_somebody_holds_is_noted_and_done_without(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, root, "SessionStart", source="startup")
    Caller(monkeypatch, capsys, root)("done", "one")
    (path,) = (root / ".git/passdown/cache").glob("events-*.sqlite")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    call(monkeypatch, root, "PreCompact")
    holder.close()

    assert len(list((root / "thoughts").rglob("*.md"))) == 1
    (line,) = (root / ".git/passdown/hooks.log").read_text().splitlines()
    assert "PreCompact: the cache of the event log cannot be used: database is locked" in line


def test_an_answer_that_cannot_be_said_is_noted(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    for stream in (Full(), None):
        monkeypatch.setattr(sys, "stdout", stream)
        call(monkeypatch, root, "SessionStart", source="startup")

    lines = (root / ".git/passdown/hooks.log").read_text().splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "could not answer: No space left on device",
        "stdout is closed",
    ]
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("G17")
def test_what_nobody_foresaw_is_noted_and_breaks_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(whole, "answer", None)
    call(monkeypatch, root, "Stop")

    (line,) = (root / ".git/passdown/hooks.log").read_text().splitlines()
    assert line.endswith("hook: TypeError: 'NoneType' object is not callable")
    monkeypatch.setattr(hook_log, "log_trouble", None)
    call(monkeypatch, root, "Stop")


@pytest.mark.parametrize(
    ("data", "reason"), [(b"{", "not valid JSON"), (b"3", "not a JSON object"), (b" ", "")]
)
def test_what_is_no_payload_is_noted(
    root: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    assert quick.main([], HookWork()) == 0

    log = root / ".git/passdown/hooks.log"
    assert (reason in log.read_text()) if reason else not log.exists()


# --- time -----------------------------------------------------------------------------------------


class LeftError(BaseException):
    """Stands for the end of the process."""


def test_work_is_interrupted_once_and_then_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        raise LeftError

    monkeypatch.setattr(os, "_exit", leave)
    guard = quick.Guard(HookWork())
    guard.watch(60, str(root), "Stop: not done")
    try:
        with pytest.raises(quick.OutOfTimeError):
            guard._ring()  # the alarm itself
        with pytest.raises(LeftError):
            guard._ring()
    finally:
        guard.lift()

    assert codes == [0]
    assert "Stop: not done" in (root / ".git/passdown/hooks.log").read_text()


def test_work_that_is_interrupted_ends_with_0(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> int:
        raise quick.OutOfTimeError

    def leave(code: int) -> None:
        assert code == 0
        raise LeftError

    monkeypatch.setattr(whole, "find_host", late)
    monkeypatch.setattr(os, "_exit", leave)

    with pytest.raises(LeftError):
        call(monkeypatch, root, "Stop")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals to take away")
def test_without_signals_a_thread_looks_at_the_clock(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda _: left.set())
    monkeypatch.delattr(sys.modules["_signal"], "setitimer")
    before = signal.getsignal(signal.SIGALRM)
    guard = quick.Guard(HookWork())
    guard.watch(0.01)  # while it reads, nobody looks
    guard.watch(0.01, str(root), "Stop: not done")

    assert left.wait(30)

    signal.signal(signal.SIGALRM, before)
    assert "Stop: not done" in (root / ".git/passdown/hooks.log").read_text()
    left.clear()
    guard = quick.Guard(HookWork())
    guard.watch(60, str(root), "Stop: not done")
    guard.lift()
    signal.signal(signal.SIGALRM, before)
    assert not left.is_set()


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.requirement("G13")
def test_hooks_measure_themselves_and_the_doctor_sums_up(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, root, "SessionStart", source="startup")
    brief = json.loads(capsys.readouterr().out)["hookSpecificOutput"]["additionalContext"]
    for event in ("UserPromptSubmit", "Stop", "Stop", "PreToolUse", "SessionEnd"):
        call(monkeypatch, root, event)
    command = Caller(monkeypatch, capsys, root)

    told = json.loads(command("doctor", "--cost", "--json").out)

    assert told["skipped"] == 0
    assert [(one["what"], one["count"], one["p95_chars"]) for one in told["costs"]] == [
        ("end", 1, 0),
        ("start", 1, len(brief)),
        ("turn-end", 2, 0),
    ]
    assert all(0 < one["p50_ms"] <= one["p95_ms"] for one in told["costs"])
    shown = command("doctor", "--cost").out.splitlines()
    assert [line.split()[0] for line in shown] == ["what", "end", "start", "turn-end"]


def test_a_hook_that_fails_is_measured_and_one_that_cannot_be_noted_does_no_harm(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / FILE_NAME).write_text("= nonsense")
    call(monkeypatch, root, "Stop")
    metrics = root / ".git/passdown/metrics.jsonl"

    assert json.loads(metrics.read_text())["what"] == "turn-end"

    metrics.unlink()
    metrics.mkdir()
    call(monkeypatch, root, "Stop")
    assert not (root / ".conductor").exists()


# --- rests ----------------------------------------------------------------------------------------


def files_of(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


@pytest.mark.requirement("G14", "C50")
def test_where_nobody_agreed_that_is_said_once_and_nothing_is_written(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE_NAME).unlink()
    (root / "src").mkdir()
    before = files_of(root)
    for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
        call(monkeypatch, root, event)
    assert capsys.readouterr().out == ""

    call(monkeypatch, root / "src", "SessionStart", source="startup")
    assert json.loads(capsys.readouterr().out) == {"systemMessage": whole.NOT_SET_UP}
    call(monkeypatch, root, "SessionStart", source="startup")
    assert capsys.readouterr().out == ""

    assert files_of(root) == before
    assert (home / ".local/state/passdown/rests.log").read_text() == f"{root}\n"


def test_it_is_not_said_outside_of_repositories_nor_where_it_cannot_be_remembered(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE_NAME).unlink()
    plain = tmp_path / "plain"
    plain.mkdir()
    call(monkeypatch, plain, "SessionStart")
    monkeypatch.setenv("XDG_STATE_HOME", str(root / ".git" / "HEAD"))
    call(monkeypatch, root, "SessionStart")
    monkeypatch.delenv("XDG_STATE_HOME")
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.delenv(name)
    call(monkeypatch, root, "SessionStart")

    assert capsys.readouterr().out == ""
    assert not opt_in_notice.should_notify("a\nb")


def test_a_host_without_a_place_for_a_word_to_the_person_is_told_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE_NAME).unlink()

    call(monkeypatch, root, "SessionStart", "--host", "copilot")

    assert capsys.readouterr().out == ""


# --- levels ---------------------------------------------------------------------------------------


def test_the_end_forgets_how_full_the_context_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(monkeypatch, root, "SessionStart", source="startup")
    levels = [root / ".git/passdown/levels", root / ".conductor/levels"]
    for folder in levels:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (HOST, "another"):
            (folder / name).write_text("86 save\n")

    call(monkeypatch, root, "SessionEnd", reason="logout")

    assert [[path.name for path in folder.iterdir()] for folder in levels] == [["another"], ["another"]]
    (levels[0] / HOST).mkdir()
    call(monkeypatch, root, "SessionStart", source="startup")
    call(monkeypatch, root, "SessionEnd", reason="logout")
    assert not (root / ".git/passdown/hooks.log").exists()
