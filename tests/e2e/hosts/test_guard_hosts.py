"""Real hosts beside a session that holds a file: an edit is refused, and `sed` is stopped at the commit.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.hosts.drivers import ClaudeCode, Codex, Driver, Ended, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, make_ground, need, text_of

pytestmark = pytest.mark.timeout(240)

SED: Final = "sed -i.bak s/one/two/ {path} && rm {path}.bak && git add {path} && git commit -q -m {path}"


class Dialect(NamedTuple):
    """How a host is driven, and how its model calls tools."""

    make: Callable[[str, Ground], Driver]
    options: Sequence[str]
    run: Callable[[str], Call]
    edit: Callable[[str], Sequence[Call]]


def _shell(words: str) -> Call:
    # Its shell is a login shell, which sets the path anew.
    return Call(tool="exec_command", input={"cmd": f'PATH="{PASSDOWN.parent}:$PATH"; {words}'})


HOSTS: Final[Mapping[str, Dialect]] = {
    "claude": Dialect(
        make=ClaudeCode,
        options=(),
        run=lambda words: Call(tool="Bash", input={"command": words, "description": "run"}),
        edit=lambda path: (
            Call(tool="Read", input={"file_path": f"{{root}}/{path}"}),
            Call(
                tool="Edit",
                input={"file_path": f"{{root}}/{path}", "old_string": "one", "new_string": "two"},
            ),
        ),
    ),
    "codex": Dialect(
        make=Codex,
        options=("--dangerously-bypass-hook-trust",),
        run=_shell,
        edit=lambda path: (
            Call(
                tool="apply_patch",
                input=f"*** Begin Patch\n*** Update File: {path}\n@@\n-one\n+two\n*** End Patch\n",
            ),
        ),
    ),
}


def passdown(place: Ground, *arguments: str) -> Ended:
    ended = place.run([str(PASSDOWN), *arguments])
    assert ended.code == 0, ended
    return ended


def git(place: Ground, *arguments: str) -> str:
    ended = place.run(["git", *arguments])
    assert ended.code == 0, ended
    return ended.out


@pytest.mark.skipif(sys.platform == "win32", reason="`sed` and the paths are those of a POSIX system")
@pytest.mark.requirement("C88", "C89", "R212", "R214")
@pytest.mark.parametrize("name", HOSTS)
def test_a_held_file_is_neither_edited_nor_committed(tmp_path: Path, name: str) -> None:
    dialect = HOSTS[name]
    with Model() as model:
        path = f"{PASSDOWN.parent}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        place = make_ground(tmp_path, model.address, PATH=path)
        driver = dialect.make(need(name), place)
        for path in ("held.txt", "free.txt", "late.txt"):
            (place.root / path).write_text("one\n", encoding="utf-8")
        git(place, "config", "user.name", "somebody")
        git(place, "config", "user.email", "somebody@example.com")
        git(place, "add", "held.txt", "free.txt", "late.txt")
        git(place, "commit", "-q", "-m", "files")
        passdown(place, "install", name, "--edits", "--yes")
        passdown(place, "guard", "install", "--yes")
        passdown(place, "start", "--new", "--session", "amber", "--nickname", "amber")
        held = passdown(place, "reserve", "held.txt", "--session", "amber", "--json")
        assert json.loads(held.out)["outcome"] == "reserved"
        steps = [
            *(Step(calls=(call,)) for path in ("held.txt", "free.txt") for call in dialect.edit(path)),
            Step(calls=(dialect.run(SED.format(path="held.txt")),)),
            Step(calls=(dialect.run("git reset -q; git checkout -q held.txt"),)),
            Step(calls=(dialect.run(SED.format(path="late.txt")),)),
            Step(text="ok"),
        ]
        model.prepare(steps, str(place.root))

        ended = driver.turn("change the files", dialect.options)

        assert (ended.code, model.left) == (0, 0), ended
        told = "\n".join(map(text_of, model.requests))
        assert "Passdown blocked this edit: held.txt is held by amber-" in told, told
        assert re.search(r"held by amber-\w+ \(expires in \d+ min if it stays silent\)\. Do not", told)
        assert "`passdown task ready`" in told
        assert told.count("passdown: held.txt is held by amber-") >= 1  # the guard, after `sed`
        assert git(place, "log", "-2", "--format=%s").split() == ["late.txt", "files"]
        contents = [(place.root / path).read_text() for path in ("held.txt", "free.txt", "late.txt")]
        assert contents == ["one\n", "two\n", "two\n"]
        assert place.hook_errors() == []
