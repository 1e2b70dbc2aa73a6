"""Agents in real hosts try to approve their own proposal, and cannot; then a person at a terminal does.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.hosts.drivers import ClaudeCode, Codex, Driver, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, make_ground, need, text_of
from tests.support.terminals import Terminal

pytestmark = pytest.mark.timeout(240)

BARE: Final = 'env -i HOME="$HOME" PATH="$PATH" PYTHONPATH="$PYTHONPATH"'
TRY: Final = "passdown loop approve habits"
WORDS: Final = "; ".join(
    (
        "passdown loop open habits proposal",
        "passdown loop append habits proposal 'Streaks, with a penalty.'",
        TRY,
        f'{BARE} script -qec "{TRY}" /dev/null',
        "passdown loop open habits specs",
    )
)


class Dialect(NamedTuple):
    """How a host is driven, and how its model runs a command."""

    make: Callable[[str, Ground], Driver]
    options: tuple[str, ...]
    call: Call


HOSTS: Final[Mapping[str, Dialect]] = {
    "claude": Dialect(
        ClaudeCode, (), Call(tool="Bash", input={"command": WORDS, "description": "approve the proposal"})
    ),
    "codex": Dialect(
        Codex,
        ("--dangerously-bypass-hook-trust",),
        # Its shell is a login shell, which sets the path anew.
        Call(
            tool="exec_command",
            input={"cmd": f'PATH="{PASSDOWN.parent}:$PATH"; {WORDS}', "tty": True, "yield_time_ms": 30_000},
        ),
    ),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="`script` is that of Linux")
@pytest.mark.requirement("C105", "C122", "C154", "G16")
@pytest.mark.parametrize("name", HOSTS)
def test_an_agent_does_not_approve_its_proposal_and_a_person_does(tmp_path: Path, name: str) -> None:
    dialect = HOSTS[name]
    variables = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    with Model() as model:
        path = f"{PASSDOWN.parent}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        place = make_ground(tmp_path, model.address, PATH=path, **variables)
        driver = dialect.make(need(name), place)
        model.prepare([Step(calls=(dialect.call,)), Step(text="ok")], str(place.root))

        ended = driver.turn("approve it yourself", dialect.options)

    assert (ended.code, model.left) == (0, 0), ended
    told = " ".join(text_of(model.requests[-1]).split())
    assert told.count("only a person at a terminal may approve the proposal of habits: ") == 2, told
    assert "ask the user to run `passdown loop approve habits`" in told
    assert "the proposal of habits is not approved" in told

    with Terminal(place.root, {"HOME": str(place.home), **variables}) as terminal:
        assert "not approved" in terminal.run("passdown loop", "$ ")
        said = terminal.run("passdown loop feedback habits proposal 'No penalty'", "$ ")
        assert "left feedback on habits/proposal turn 1" in said
        assert "approved the proposal of habits" in terminal.run(TRY, "$ ")
        assert "manual mode, approved)" in terminal.run("passdown loop", "$ ")
