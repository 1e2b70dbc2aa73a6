"""Hostile text in the commands of plans: words arrive as they stand, or the line is refused."""

import json
import os
import random
import shlex
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from passdown.core.work.plan_commands import MOST_CHARS, find_command_lines, read_command_line
from passdown.engines.programs import SystemPrograms
from passdown.ports.programs import ProgramResult
from passdown.services.work.plan_commands import run_command_lines
from tests.proof import proof_count
from tests.proofs.conftest import Tell

PIECES: Final = (
    *("--force", "-rf", "--", "-c", "@file", "plain", "two words", "é", "日本", "%PATH%", "!!"),
    *("^", "=", "a=b", "'", '"', '\\"', "\\'", "\\", "'a b'", '"a b"', "''", '""', '"\\\\"'),
    *("'$(touch hacked)'", "\\$HOME", "`touch hacked`", "$(touch hacked)", "${HOME}", "$HOME"),
    *('"$(touch hacked)"', "$'touch'", "<(touch hacked)", "; touch hacked;", "&& touch hacked"),
    *("|| touch hacked", "| touch hacked", "& touch hacked", ";;", "\n", "> hacked", ">> hacked"),
    *("< /dev/null", "<<EOF", "2>&1", "*", "?", "[a-z]", "{a,b}", "~", "~root", "#x", "\t", "\r"),
    *("\x01", "\x1b[31m", "\x7f", "\x00", "\ud800", "\u202e", "\u2028", "\xa0", " ", "```"),
    *("~~~", "## Verification", "<!--", "-->", "sh -c 'touch hacked'", "eval touch hacked"),
    *("cd /", "EOF"),
)
PROBE: Final = """\
import json, sys, zlib
words = json.dumps(sys.argv[1:])
print(words if len(words) < 1_000 else zlib.crc32(words.encode()))
"""
"""Prints its words; what is printed at length is cut."""


def _lines(count: int) -> Iterator[str]:
    dice = random.Random(16)
    for number in range(count):
        if number % 1000 == 999:
            yield "probe " + dice.choice(PIECES) * (60_000 // 8)
        else:
            pieces = dice.choices(PIECES, k=dice.randrange(1, 7))
            yield "probe " + dice.choice(["", " "]).join(pieces)


class _Words:
    """Programs that keep what they are asked to run."""

    def __init__(self) -> None:
        self.ran: list[Sequence[str]] = []

    def find(self, name: str) -> str:
        del name
        return ""

    def run(self, command: Sequence[str]) -> ProgramResult:
        self.ran.append(command)
        return ProgramResult(0, "")


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C102")
def test_hostile_lines_are_words_or_refused(tell: Tell) -> None:
    count = proof_count(fast=2_000, ci=4_000, long=100_000)
    for line in _lines(count):
        read = read_command_line(line)
        programs = _Words()
        (run,) = run_command_lines(programs, [read])

        assert bool(read.commands) != bool(read.refused), line
        assert run.has_passed == bool(read.commands)
        assert [*programs.ran] == [[*one.words] for one in read.commands]
        assert not read.commands or len(line) <= MOST_CHARS
        if len(read.commands) == 1 and ";" not in line:
            assert [*read.commands[0].words] == shlex.split(line.strip()), line
    tell(count)


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C102")
def test_hostile_plans_run_nothing_but_their_own_words(tell: Tell) -> None:
    dice, count = random.Random(102), proof_count(fast=500, ci=2_000, long=50_000)
    for line in _lines(count):
        plan = f"# Plan\n\n## Verification\n\n```{dice.choice(['', 'bash', 'sh'])}\n{line}\n```\n"
        for found in find_command_lines(plan):
            programs = _Words()
            [*run_command_lines(programs, [found])]
            assert all("\n" not in word and "\0" not in word for words in programs.ran for word in words)
            assert not (found.refused and programs.ran)
    tell(count)


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C102")
def test_words_arrive_at_a_real_program_and_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    count = proof_count(fast=100, ci=200, long=10_000)
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    probe = tools / "probe"
    # Without site-packages it starts fast.
    probe.write_text(f"#!{sys.executable} -IS\n{PROBE}", encoding="utf-8")
    probe.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    programs = SystemPrograms(str(work), seconds=20.0)
    ran = 0
    for line in _lines(count):
        read = read_command_line(line)
        if len(read.commands) == 1 and read.commands[0].words[0] == "probe":
            (run,) = run_command_lines(programs, [read])
            assert run.code == 0, line
            words = json.dumps(read.commands[0].words[1:])
            said = words if len(words) < 1_000 else zlib.crc32(words.encode())
            assert run.output == f"{said}\n", line
            ran += 1
    assert ran > 10
    assert os.listdir(work) == []  # `touch hacked` never ran, and nothing was redirected
    tell(count)
