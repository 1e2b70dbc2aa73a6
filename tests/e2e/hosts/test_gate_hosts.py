"""Agents in real hosts try to lift an escalated gate, and do not; then a person at a terminal does.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.settings import FILE_NAME
from tests.hosts.drivers import ClaudeCode, Codex, Driver, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, make_ground, need, text_of
from tests.support.terminals import Terminal

pytestmark = pytest.mark.timeout(240)

TRACK: Final = "auth_20260111"
BEGIN: Final = f"passdown track bind {TRACK}"
FAIL: Final = "passdown gate fail plan-execution --note '2 tests fail'"
KEPT: Final = "kept as a comment: only a person can lift an escalated gate, not an agent ("
BARE: Final = 'env -i HOME="$HOME" PATH="$PATH" PYTHONPATH="$PYTHONPATH"'
TRY_GATE: Final = "passdown gate pass plan-execution --note mine; echo ended with $?"


def _lift(number: int) -> str:
    return f"passdown answer 'BLOCKED: the gate' 'attempt {number}'"


UNSET: Final = "env -u CLAUDECODE -u CLAUDE_CODE_SESSION_ID -u CODEX_THREAD_ID -u CODEX_SESSION_ID"
ATTEMPTS: Final = (
    (_lift(0), "_ID is set"),
    (f"{UNSET} {_lift(1)}", "_ID was set for bash, which started it"),
    (f'{BARE} script -qec "{_lift(2)}" /dev/null', "_ID was set for bash, which started it"),
    (f'{BARE} setsid -w script -qec "{_lift(3)}" /dev/null', "_ID was set for bash, which started it"),
    (TRY_GATE, ""),
    (f'exec {BARE} script -qec "{_lift(5)}" /dev/null', "{host} started it"),
)
"""What an agent tries, and why it is no person; the last replaces the shell of its host."""


class Dialect(NamedTuple):
    """How a host is driven, and how its model runs a command; at a terminal, if the host gives it one."""

    make: Callable[[str, Ground], Driver]
    options: tuple[str, ...]
    run: Callable[[str], Call]
    run_at_terminal: Callable[[str], Call]


def _run_bash(words: str) -> Call:
    return Call(tool="Bash", input={"command": words, "description": "run"})


def _run_shell(words: str, *, is_terminal: bool = False) -> Call:
    # Its shell is a login shell, which sets the path anew.
    own = f'PATH="{PASSDOWN.parent}:$PATH"; {words}'
    return Call(tool="exec_command", input={"cmd": own, "tty": is_terminal, "yield_time_ms": 30_000})


HOSTS: Final[Mapping[str, Dialect]] = {
    "claude": Dialect(ClaudeCode, (), _run_bash, _run_bash),
    "codex": Dialect(
        Codex, ("--dangerously-bypass-hook-trust",), _run_shell, partial(_run_shell, is_terminal=True)
    ),
}


def _make_place(tmp_path: Path, address: str) -> Ground:
    path = f"{PASSDOWN.parent}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
    place = make_ground(tmp_path, address, PATH=path, PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    (place.root / FILE_NAME).write_text('[gates]\nmode = "full"\n', encoding="utf-8")
    return place


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="`script` and `setsid` are those of Linux")
@pytest.mark.requirement("R49", "C154", "C122")
@pytest.mark.parametrize("name", HOSTS)
def test_an_agent_does_not_lift_an_escalated_gate_and_a_person_does(tmp_path: Path, name: str) -> None:
    dialect = HOSTS[name]
    with Model() as model:
        place = _make_place(tmp_path, model.address)
        driver = dialect.make(need(name), place)
        words = "; ".join((BEGIN, FAIL, FAIL, FAIL, *(one for one, _ in ATTEMPTS)))
        model.prepare([Step(calls=(dialect.run_at_terminal(words),)), Step(text="ok")], str(place.root))

        ended = driver.turn("lift the gate", dialect.options)

        assert (ended.code, model.left) == (0, 0), ended
        told = " ".join(text_of(model.requests[-1]).split())
        assert f"BLOCKED: the gate plan-execution of {TRACK} failed 3 times" in told
        for number, (_, reason) in enumerate(ATTEMPTS):
            kept = told.partition(f"{TRACK}: attempt {number} ")[2][: len(KEPT) + 80]
            assert not reason or kept.startswith(KEPT), told
            assert reason.format(host=name) in kept
        assert "a person decides at a terminal" in told
        assert "ended with 1" in told

        variables = {"HOME": str(place.home), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        with Terminal(place.root, variables) as terminal:
            lifted = terminal.run("passdown answer 'BLOCKED: the gate' 'Skip the slow test'", "$ ")
            assert "answer: Skip the slow test" in lifted, lifted
            assert "comment" not in lifted

            model.prepare(
                [Step(calls=(dialect.run(f"{BEGIN}; {TRY_GATE}"),)), Step(text="ok")], str(place.root)
            )
            ended = driver.turn("go on", dialect.options)

        assert (ended.code, model.left) == (0, 0), ended
        told = text_of(model.requests[-1])
        assert "PASS plan-execution: mine" in told
        assert "ended with 0" in told
