"""Commands found in documents are words, never a shell's business."""

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.work.plan_commands import (
    MOST_CHARS,
    MOST_LINES,
    CommandLine,
    PlanCommand,
    find_command_lines,
    is_safe_for_batch,
    read_command_line,
)
from passdown.engines.programs import MOST_BYTES, SystemPrograms
from passdown.ports.programs import NOT_STARTED, TIMED_OUT, ProgramResult
from passdown.services.work.plan_commands import MOST_OUTPUT, CommandRun, cut_output, run_command_lines


def _words(line: str) -> list[tuple[tuple[str, ...], bool]]:
    read = read_command_line(line)
    assert not read.refused, read
    return [(one.words, one.needs_previous) for one in read.commands]


def test_a_line_is_split_into_words_as_a_shell_would() -> None:
    assert _words("pytest -q 'a b' \"c \\\" \\\\ d\" e\\ f g''h") == [
        (("pytest", "-q", "a b", 'c " \\ d', "e f", "gh"), False)
    ]
    assert _words("a 'x;y' \"&&\" \\; x#y z~ ''") == [(("a", "x;y", "&&", ";", "x#y", "z~", ""), False)]


def test_two_operators_make_several_commands() -> None:
    assert _words("a && b; c;") == [(("a",), False), (("b",), True), (("c",), False)]
    assert _words("'cd' x") == [(("cd", "x"), False)]  # a program of that name, if there is one


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a | b", "a pipe"),
        ("a || b", "`||`"),
        ("a & b", "`&`"),
        ("a ;; b", "`;;`"),
        ("a > b", "a redirection"),
        ("a < b", "a redirection"),
        ("a << b", "a here-document"),
        ("(a)", "a subshell"),
        ("a `b`", "a command substitution"),
        ("a $b", "`$`"),
        ('a "$(b)"', "`$` or a backquote in quotes"),
        ('a "`b`"', "`$` or a backquote in quotes"),
        ("a *.py", "a pattern"),
        ("a {b,c}", "braces"),
        ("a ~/b", "`~`"),
        ("a # b", "a comment after the command"),
        ("a 'b", "an unclosed quote"),
        ('a "b', "an unclosed quote"),
        ("a \\", "a backslash at the end of the line"),
        ("A=1 b", "a variable before the command"),
        ("cd a", "`cd`"),
        ("! a", "`!`"),
        ("'' a", "a command without a name"),
        ("a &&", "a command is missing"),
        ("; a", "a command is missing"),
        ("", "a command is missing"),
        ("a\u00a0b", "a character that ends words"),
        ("bash -c 'a'", "it passes a command to a shell"),
        ("env /bin/sh -xc 'a'", "it passes a command to a shell"),
        ("cmd.exe /c a", "it passes a command to a shell"),
    ],
)
def test_what_only_a_shell_can_do_is_refused(line: str, reason: str) -> None:
    read = read_command_line(line)

    assert (read.commands, read.refused) == ((), f"it needs a shell: {reason}")


def test_a_line_that_is_too_long_or_invisible_is_refused() -> None:
    assert "longer than" in read_command_line("x" * (MOST_CHARS + 1)).refused
    assert "invisible" in read_command_line("a \x1b[2J").refused
    assert read_command_line("x" * MOST_CHARS).commands


def _plan(*blocks: str) -> str:
    return "# Plan\n\n" + "\n".join(f"```bash\n{block}\n```\n" for block in blocks)


def test_commands_stand_in_code_blocks_below_a_heading_with_the_word() -> None:
    text = (
        "# Plan\n```\nno\n```\n## Final Verification:\ntext\n```sh\n# comment\na 1\n\n  b\n```\n"
        "### Deeper\n- one\n  ~~~\n  c\n  ~~~\n```python\nimport os\n```\n```console\n$ d\noutput\n$ e\n```\n"
        "<!-- comment\n```\nno\n```\n-->\n## Verifications\n```\nno\n```\n"
    )

    found = [line.text for line in find_command_lines(text.replace("\n", "\r\n"))]

    assert found == ["a 1", "b", "c", "d", "e"]
    assert find_command_lines("## Verification\n```\nnever closed\n") == ()


def test_a_line_that_may_change_the_lines_below_takes_them_with_it() -> None:
    text = "## Verification\n" + _plan("cat <<E\nx\nE", "a | b\nc", "a | b |\nc", "cd x\nmake")[8:]

    found = {line.text: bool(line.refused) for line in find_command_lines(text)}

    assert found == {
        **dict.fromkeys(("cat <<E", "x", "E", "a | b", "a | b |", "cd x", "make"), True),
        "c": True,
    }
    assert [bool(one.refused) for one in find_command_lines(text) if one.text == "c"] == [False, True]


def test_a_document_has_a_limited_number_of_commands() -> None:
    text = "## Verification\n```\n" + "a\n" * (MOST_LINES + 5) + "```\n"

    assert len(find_command_lines(text)) == MOST_LINES


_NASTY = st.text(st.sampled_from(list("ab-'\"\\;&|$`(){}<>*?[]~#! \t\n=\x00\x1b\u202e")), max_size=40)


@given(_NASTY)
def test_words_hold_nothing_that_was_not_in_the_line(line: str) -> None:
    read = read_command_line(line)

    assert bool(read.commands) != bool(read.refused)
    assert all(word in line or set(word) <= set(line) for one in read.commands for word in one.words)


class _Recorder:
    """Programs that note what they are asked to run."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.ran: list[Sequence[str]] = []

    def find(self, name: str) -> str:
        return {"npm": "C:\\npm.CMD"}.get(name, "")

    def run(self, command: Sequence[str]) -> ProgramResult:
        self.ran.append(command)
        return ProgramResult(self.codes.pop(0) if self.codes else 0, f"{command[0]}\n")


def _run(programs: _Recorder, *lines: str) -> list[CommandRun]:
    return list(run_command_lines(programs, [read_command_line(line) for line in lines]))


def test_the_first_failure_of_a_line_is_its_exit_code() -> None:
    programs = _Recorder(2, 0)

    (run,) = _run(programs, "a && b; c")

    assert (run.code, run.has_passed, run.output, programs.ran) == (2, False, "a\nc\n", [["a"], ["c"]])


def test_a_refused_line_is_not_run_and_does_not_pass() -> None:
    programs = _Recorder()

    refused, passed = _run(programs, "a | b", "c")

    assert (refused.has_passed, passed.has_passed, programs.ran) == (False, True, [["c"]])
    assert "a pipe" in refused.output


def test_a_batch_file_gets_no_argument_that_its_shell_would_expand() -> None:
    programs = _Recorder()

    safe, unsafe = _run(programs, "npm test --if-present", "npm test '%PATH%'")

    assert (safe.has_passed, unsafe.has_passed) == (True, False)
    assert programs.ran == [["C:\\npm.CMD", "test", "--if-present"]]
    assert not is_safe_for_batch(["a&b"])


def test_long_output_loses_its_middle() -> None:
    text = "a" * 15_000 + "b" * 15_000

    cut = cut_output(text)

    assert len(cut) <= MOST_OUTPUT
    assert (cut[:100], cut[-100:]) == ("a" * 100, "b" * 100)
    assert "characters omitted" in cut
    assert cut_output("\x1b[1m") == "\\u001b[1m"


def test_a_flood_of_output_is_bounded_while_it_runs(tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(40): sys.stdout.write('x' * 100_000)\nprint('end')"

    done = SystemPrograms(str(tmp_path)).run([sys.executable, "-c", code])

    assert done.is_done
    assert done.text.endswith("end\n")
    assert MOST_BYTES <= len(done.text) < MOST_BYTES + 100


def test_words_that_cannot_be_started_are_an_answer(tmp_path: Path) -> None:
    assert SystemPrograms(str(tmp_path)).run(["a\x00b"]).code == NOT_STARTED


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are of POSIX")
def test_what_a_program_started_is_stopped_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended: list[str] = []
    reader = threading.Thread(target=lambda: ended.append(pipe.read_text()))
    reader.start()
    child = f"import sys, threading; f = open({str(pipe)!r}, 'w'); threading.Event().wait()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    done = SystemPrograms(str(tmp_path), seconds=2.0).run([sys.executable, "-c", code])
    reader.join(20)

    assert done.code == TIMED_OUT
    assert ended == [""]  # nobody holds the pipe any more


def test_a_command_line_is_a_value() -> None:
    assert read_command_line(" a ") == CommandLine("a", (PlanCommand(("a",)),))
