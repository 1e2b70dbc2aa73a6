"""`passdown check` as people and scripts meet it: real processes, real terminals, whole outputs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from passdown.core.formats.registry import (
    EVENT,
    FORMATS,
    HISTORY,
    JOURNAL,
    LEDGER,
    SESSION_STATE,
    STREAM,
    VIEW,
    Format,
)
from tests.answers.check_answers import CHECK, ERROR
from tests.faults.hooked import give_up_rights
from tests.support.commands import Done, Terminal, run, start

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")

VALID = LEDGER.example()
NOW = "- Verifying the assertion signature\n"
TWO_NOWS = VALID.replace(NOW, f"{NOW}- Writing the page\n")
PLAIN_NOW = VALID.replace(NOW, "Verifying the assertion signature\n")
UNCLOSED = VALID.replace("\n---\n\n# Session", "\n\n# Session")
NO_SECTIONS = VALID[: VALID.index("## Key Decisions")].rstrip("\n") + "\n"
NO_TERMINATOR = STREAM.example().replace("\n---\n\n## Context", "\n\n## Context")

TWO_NOWS_SHOWN = (
    "--- LEDGER.md\n+++ LEDGER.md\n@@ -33,9 +33,9 @@\n \n ### Now\n - Verifying the assertion signature\n"
    "-- Writing the page\n \n ### Next\n+- Writing the page\n - Session cookie\n - Log-out\n \n"
)
TWO_NOWS_FOUND = (
    "LEDGER.md:34: State/Now: has more than one item (warning)\n"
    "  hint: keep one; the others belong under Next\n"
)
QUESTION = "Write this change to LEDGER.md? [y/N]: "
REPAIRED = "passdown: repaired LEDGER.md\npassdown: 1 document checked, no problems; 1 repaired\n"


def write(path: Path, text: str) -> Path:
    """Write a file with its folder, to the byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def read(path: Path) -> str:
    """Read a file to the byte."""
    return path.read_bytes().decode()


def usual_path(known: Format) -> str:
    """Give a path at which documents of a format lie."""
    path = known.paths[-1] if known is JOURNAL else known.paths[0]
    names = {"<agent>": "amber", "<stream>": "login", "<session>": "s-1", "<trigger>": "manual"}
    names |= {"<from>": "amber", "<to>": "birch", "<change>": "habits", "<loop>": "ideation"}
    times = {"<stamp>": "2026-03-02T09-30-00.000Z", "<minute>": "2026-03-02-09-30"}
    for mark, text in (names | times).items():
        path = path.replace(mark, text)
    assert "<" not in path
    return path


def each_format() -> pytest.MarkDecorator:
    """Run a test for each of the formats."""
    return pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)


# --- telling formats ------------------------------------------------------------------------------


@each_format()
def test_each_format_is_recognised_by_its_content_alone(tmp_path: Path, known: Format) -> None:
    write(tmp_path / "anything", known.example())

    answer = json.loads(run("check", "--json", "anything", cwd=tmp_path).out)

    jsonschema.validate(answer, CHECK)
    assert [(one["path"], one["format"]) for one in answer["files"]] == [("anything", known.name)]
    jsonschema.Draft202012Validator(known.schema()).validate(answer["files"][0]["data"])


@pytest.mark.parametrize(
    "known", [one for one in FORMATS if one is not HISTORY], ids=lambda known: known.name
)
@pytest.mark.parametrize("text", ["", "???\n", "{"], ids=["empty", "text", "half an object"])
def test_each_format_is_recognised_by_its_path_alone_when_it_is_broken(
    tmp_path: Path, known: Format, text: str
) -> None:
    write(tmp_path / usual_path(known), text)

    done = run("check", "--json", cwd=tmp_path)

    answer = json.loads(done.out)
    jsonschema.validate(answer, CHECK)
    assert [(one["path"], one["format"]) for one in answer["files"]] == [(usual_path(known), known.name)]
    if text and known.name not in {
        "loop",
        "change-state",
    }:  # whatever people write there is a warning at most
        assert done.code == 1
    if answer["files"][0]["data"] is not None:
        jsonschema.Draft202012Validator(known.schema()).validate(answer["files"][0]["data"])


# --- saying what is wrong -------------------------------------------------------------------------


def test_a_project_is_checked_and_every_finding_names_file_line_field_and_problem(tmp_path: Path) -> None:
    write(tmp_path / ".git" / "HEAD", "ref: refs/heads/main\n")
    bad = VALID.replace("updated: 2026-03-02T09:30:00Z", "updated: yesterday").replace(
        "mode: SA", "mode: solo"
    )
    write(tmp_path / usual_path(LEDGER), bad)
    write(tmp_path / usual_path(STREAM), STREAM.example())
    state = SESSION_STATE.example().replace('"mode": "SA"', '"mode": "solo"')
    write(tmp_path / ".conductor" / "session-state_amber.json", state)
    write(tmp_path / "thoughts/shared/handoffs/notes.md", "hello\n")

    assert run("check", cwd=tmp_path) == Done(
        1,
        ".conductor/session-state_amber.json:3: mode: is not a known value: solo\n"
        "  hint: use one of SA, MA\n"
        "conductor/sessions/active/LEDGER.md:2: updated: is not a time: yesterday\n"
        "  hint: write it like 2025-12-27T10:30:00Z\n"
        "conductor/sessions/active/LEDGER.md:7: mode: is not a known value: solo\n"
        "  hint: use one of SA, MA\n",
        "passdown: 3 documents checked, 2 with errors; 1 other file ignored\n",
    )


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    assert run("check", "LEDGR.md", cwd=tmp_path) == Done(
        2,
        "",
        "passdown: no such file or folder: LEDGR.md\n  hint: check the spelling; links are not followed\n",
    )
    done = run("check", "--json", "LEDGR.md", cwd=tmp_path)
    jsonschema.validate(json.loads(done.out), ERROR)
    assert (done.code, done.err) == (2, "")


def test_text_of_a_document_cannot_move_the_cursor_of_whoever_reads_the_findings(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e"
    write(tmp_path / "LEDGER.md", TWO_NOWS.replace("the page", f"the {evil} page").replace("SA", f"a{evil}"))

    shown = [run("check", *options, "LEDGER.md", cwd=tmp_path) for options in ([], ["--fix"])]

    for done in shown:
        assert not set("\x1b\u202e") & set(done.out + done.err)
    assert "+- Writing the \\u001b[2J\\u202e page\n" in shown[1].out


# --- repairing ------------------------------------------------------------------------------------


def test_without_a_terminal_a_repair_is_shown_and_not_written(tmp_path: Path) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    assert run("check", "--fix", "LEDGER.md", cwd=tmp_path) == Done(
        1,
        TWO_NOWS_SHOWN + TWO_NOWS_FOUND,
        "passdown: 1 document checked, 1 with warnings only; 1 repair not written\n"
        "  hint: no terminal to ask on; pass --yes to write without asking\n",
    )
    assert read(path) == TWO_NOWS


def test_without_a_terminal_yes_writes_and_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    assert run("check", "--fix", "--yes", "LEDGER.md", cwd=tmp_path) == Done(0, TWO_NOWS_SHOWN, REPAIRED)
    after = read(path)
    moment = path.stat().st_mtime_ns
    assert run("check", "--fix", "--yes", "LEDGER.md", cwd=tmp_path) == Done(
        0, "", "passdown: 1 document checked, no problems\n"
    )
    assert (read(path), path.stat().st_mtime_ns) == (after, moment)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LEDGER.md", NO_SECTIONS),
        ("LEDGER.md", UNCLOSED),
        ("LEDGER.md", TWO_NOWS),
        ("LEDGER.md", PLAIN_NOW),
        ("handoffs/login/current.md", NO_TERMINATOR),
    ],
    ids=["no sections", "unclosed", "two nows", "plain now", "no terminator"],
)
def test_what_is_safe_to_repair_is_repaired(tmp_path: Path, name: str, text: str, line_end: str) -> None:
    path = write(tmp_path / name, text.replace("\n", line_end))
    before = json.loads(run("check", "--json", name, cwd=tmp_path).out)["files"][0]
    assert any(problem["fixable"] for problem in before["problems"])

    done = run("check", "--fix", "--yes", "--strict", name, cwd=tmp_path)

    after = read(path)
    again = json.loads(run("check", "--json", name, cwd=tmp_path).out)["files"][0]
    assert done.code == 0, done
    assert again["problems"] == []
    assert again["data"] == before["data"]
    assert after.count("\n") == after.count(line_end)
    assert "\\u000d" not in done.out


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (EVENT, EVENT.example().replace("ts: ", "ts: soon ")),
        (EVENT, "---\nts: 2026-03-02T09:30:00.000Z\nagent: amber\n\nnow: a\n"),
        (VIEW, VIEW.example().replace("- [x] ", "- ").replace("\n---\n", "\n")),
        (JOURNAL, JOURNAL.example() + '{"v":1,"seq":4,"fact"'),
        (SESSION_STATE, SESSION_STATE.example().replace('"SA"', '"solo"')),
    ],
    ids=["event", "unclosed event", "view", "journal", "session state"],
)
def test_events_views_journals_and_session_state_are_never_changed(
    tmp_path: Path, known: Format, text: str
) -> None:
    path = write(tmp_path / usual_path(known), text)

    done = run("check", "--fix", "--yes", cwd=tmp_path)

    assert read(path) == text
    assert "repaired" not in done.err
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name]


@posix
def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    target = write(tmp_path / "elsewhere" / "real.md", TWO_NOWS)
    link = tmp_path / "LEDGER.md"
    link.symlink_to(target)

    done = run("check", "--fix", "--yes", "LEDGER.md", cwd=tmp_path)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("passdown: no such file or folder: LEDGER.md\n")
    assert "links are not followed" in done.err
    assert link.is_symlink()
    assert read(target) == TWO_NOWS


# --- a disk that says no --------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only the administrator of a Linux can mount")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("this system lets nobody mount")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_the_file_as_it_was(small_disk: Path) -> None:
    path = write(small_disk / "LEDGER.md", TWO_NOWS)
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 100_000)

    done = run("check", "--fix", "--yes", "LEDGER.md", cwd=small_disk)

    assert done == Done(
        5,
        TWO_NOWS_SHOWN,
        f"passdown: could not write {path}: No space left on device\n"
        "  hint: Free some disk space and try again; what was saved is unchanged.\n",
    )
    assert read(path) == TWO_NOWS
    assert sorted(one.name for one in small_disk.iterdir()) == ["LEDGER.md", "filler"]


def test_a_disk_that_is_read_only_leaves_the_file_as_it_was(small_disk: Path) -> None:
    path = write(small_disk / "LEDGER.md", TWO_NOWS)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    done = run("check", "--fix", "--yes", "LEDGER.md", cwd=small_disk)

    assert (done.code, done.out) == (5, TWO_NOWS_SHOWN)
    assert done.err.splitlines()[0] == f"passdown: could not write {path}: Read-only file system"
    assert "Traceback" not in done.err


@posix
def test_a_folder_that_is_read_only_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "closed" / "LEDGER.md", TWO_NOWS)
    path.parent.chmod(0o555)

    done = run("check", "--fix", "--yes", "LEDGER.md", cwd=path.parent, before=give_up_rights)

    path.parent.chmod(0o755)
    assert (done.code, done.out) == (5, TWO_NOWS_SHOWN)
    assert done.err.splitlines()[0] == f"passdown: could not write {path}: Permission denied"
    assert read(path) == TWO_NOWS


@posix
def test_a_file_that_may_not_be_read_is_an_error_of_that_file(tmp_path: Path) -> None:
    write(tmp_path / "a" / "LEDGER.md", VALID).chmod(0)
    write(tmp_path / "b" / "LEDGER.md", VALID)

    assert run("check", ".", cwd=tmp_path, before=give_up_rights) == Done(
        1,
        "a/LEDGER.md:1: file: could not read: Permission denied\n  hint: Check its owner and permissions.\n",
        "passdown: 2 documents checked, 1 with errors\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_an_output_that_cannot_be_written_is_told(tmp_path: Path, options: list[str]) -> None:
    write(tmp_path / "LEDGER.md", VALID.replace("mode: SA", "mode: solo"))

    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "passdown", "check", *options, "LEDGER.md"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 5
    assert done.stderr == (
        b"passdown: could not write the output: No space left on device\n  hint: the output is incomplete\n"
    )


# --- pipes and signals ----------------------------------------------------------------------------


def many(folder: Path) -> None:
    """Write documents with more to say about them than a pipe holds."""
    lines = "".join(f"| Row {number} | Why | When | Who | More |\n" for number in range(50))
    text = VALID.replace("| Use WebAuthn", f"{lines}| Use WebAuthn").replace("mode: SA", "mode: solo")
    for number in range(20):
        write(folder / f"{number:03}" / "LEDGER.md", text)


def test_the_exit_code_is_true_though_the_reader_has_gone(tmp_path: Path) -> None:
    many(tmp_path)

    with start("check", ".", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert first == b"000/LEDGER.md:7: mode: is not a known value: solo\n"
    assert err.splitlines()[0] == b"passdown: 20 documents checked, 20 with errors"
    assert process.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    many(tmp_path)

    with start("check", ".", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"000/LEDGER.md:7: mode: is not a known value: solo\n"
        process.send_signal(signal.SIGINT)  # it waits for us to read on
        out, err = process.communicate()

    assert process.returncode == 130
    assert err.strip() == b"passdown: interrupted"
    assert b"Traceback" not in out


# --- at a terminal --------------------------------------------------------------------------------


@posix
def test_at_a_terminal_the_difference_is_shown_and_yes_writes_it(tmp_path: Path) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    with Terminal("check", "--fix", "LEDGER.md", cwd=tmp_path) as terminal:
        terminal.read_until(QUESTION)
        assert read(path) == TWO_NOWS
        terminal.type("y\n")
        done = terminal.close()

    assert done == Done(0, f"{TWO_NOWS_SHOWN}{QUESTION}y\n{REPAIRED}", "")
    assert read(path) != TWO_NOWS


@posix
@pytest.mark.parametrize("answer", ["n\n", "\n"], ids=["no", "enter"])
def test_at_a_terminal_anything_but_yes_leaves_the_file_as_it_was(tmp_path: Path, answer: str) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    with Terminal("check", "--fix", "LEDGER.md", cwd=tmp_path) as terminal:
        terminal.read_until(QUESTION)
        terminal.type(answer)
        done = terminal.close()

    assert done == Done(
        1,
        f"{TWO_NOWS_SHOWN}{QUESTION}{answer}{TWO_NOWS_FOUND}"
        "passdown: 1 document checked, 1 with warnings only; 1 repair not written\n",
        "",
    )
    assert read(path) == TWO_NOWS


@posix
@pytest.mark.parametrize("break_off", [Terminal.interrupt, Terminal.end_input], ids=["Ctrl-C", "Ctrl-D"])
def test_at_a_terminal_the_question_can_be_broken_off(
    tmp_path: Path, break_off: Callable[[Terminal], None]
) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    with Terminal("check", "--fix", "LEDGER.md", cwd=tmp_path) as terminal:
        terminal.read_until(QUESTION)
        break_off(terminal)
        done = terminal.close()

    assert done.code == 130
    assert done.out.startswith(TWO_NOWS_SHOWN + QUESTION)
    assert done.out.endswith("\npassdown: interrupted\n")
    assert read(path) == TWO_NOWS


@posix
def test_a_file_that_changed_while_the_question_stood_is_not_written(tmp_path: Path) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)
    newer = TWO_NOWS.replace("the page", "the other page")

    with Terminal("check", "--fix", "LEDGER.md", cwd=tmp_path) as terminal:
        terminal.read_until(QUESTION)
        write(path, newer)
        terminal.type("y\n")
        done = terminal.close()

    assert done == Done(
        5,
        f"{TWO_NOWS_SHOWN}{QUESTION}y\n"
        "passdown: LEDGER.md has changed since; nothing was written\n"
        "  hint: run the command again; nothing was overwritten\n",
        "",
    )
    assert read(path) == newer


@posix
def test_at_a_terminal_a_folder_shows_progress_that_is_gone_at_the_end(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}" / "LEDGER.md", VALID)

    with Terminal("check", ".", cwd=tmp_path) as terminal:
        done = terminal.close()

    pieces = done.out.split("\r")
    assert done.code == 0
    assert pieces[1] == "checking [##########--------------------] 1 of 3"
    assert pieces[-2].strip(" ") == ""
    assert pieces[-1] == "passdown: 3 documents checked, no problems\n"


@posix
def test_at_a_terminal_findings_stand_on_lines_of_their_own_beside_the_progress(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}" / "LEDGER.md", VALID.replace("mode: SA", "mode: solo"))

    with Terminal("check", ".", cwd=tmp_path) as terminal:
        done = terminal.close()

    visible = [line.rpartition("\r")[2] for line in done.out.removesuffix("\n").split("\n")]
    assert visible[:2] == ["0/LEDGER.md:7: mode: is not a known value: solo", "  hint: use one of SA, MA"]
    assert visible[-1] == "passdown: 3 documents checked, 3 with errors"
    assert len(visible) == 7


@posix
def test_at_a_terminal_json_is_not_asked_about(tmp_path: Path) -> None:
    path = write(tmp_path / "LEDGER.md", TWO_NOWS)

    with Terminal("check", "--fix", "--json", "LEDGER.md", cwd=tmp_path) as terminal:
        done = terminal.close()

    answer = json.loads(done.out)
    jsonschema.validate(answer, CHECK)
    assert done.code == 1
    assert answer["files"][0]["repair"] == {"difference": TWO_NOWS_SHOWN, "written": False}
    assert read(path) == TWO_NOWS
