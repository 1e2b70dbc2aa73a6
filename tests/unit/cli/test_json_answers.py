"""What every command prints with `--json`, recorded: code that moves must not change it.

`uv run python -m tests.stories` records it anew.
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Final

import click
import jsonschema
import pytest

from passdown.actions.answers import encode
from passdown.actions.callers import ask
from passdown.engines.system import SystemEntropy
from passdown.faces.cli.tree import cli
from tests.answer_schemas import Call, Schema, answer_of, name_part, read_calls
from tests.stories import compare
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import call_at_noon

RECORDED: Final = Path(__file__).with_name("json_answers.txt")
VARYING: Final = frozenset({"age", "expires", "left", "sent"})
"""Numbers that depend on the moment: the engine has a clock of its own."""
PROGRAM: Final = re.compile(r"(?<=\")[^\"]*passdown hook")
"""Where the program is installed."""
SILENT: Final = frozenset({"completion", "guard install", "guard uninstall", "help", "task export", "try"})
"""Commands without `--json`, and `try`, which runs processes of its own at the real time."""
TASKS: Final = '{"id": "t-9", "title": "Document the store"}\n'
TRANSCRIPT: Final = '{"type": "user", "message": {"role": "user", "content": "Add a login page"}}\n'
UPDATE: Final = '{"id": "t-3", "action": "update", "notes": "good"}'
RESULT: Final = f'{{"status": "success", "summary": "reviewed", "beadUpdates": [{UPDATE}]}}\n'
EVENT: Final = """\
---
ts: 2026-01-10T09:00:00Z
agent: toast
branch: main
type: session_end
id: ev-00000000deadbeef
---

## Done
- wrote the first page
"""
FILES: Final = {
    "tasks.jsonl": TASKS,
    "transcript.jsonl": TRANSCRIPT,
    "README.md": "# Shop\n",
    "result.json": RESULT,
    "src/form.py": "form = 1\n",
    "thoughts/shared/handoffs/events/2026-01-10T09-00-00.000Z_toast-0000beef.md": EVENT,
}
DAY: Final = """
passdown init --yes
passdown install claude --yes
passdown format schema ledger
passdown format example archive
passdown start --host generic --session T-amber --track login
passdown goal "Add a login page"
passdown now "Write the form"
passdown next "Write the tests" "Write the docs"
passdown done "Looked at the old page"
passdown decide store "SQLite" --because "no server"
passdown rule-out "JWT" --because "revocation"
passdown ask "Which colours?"
passdown answer "Which colours?" "Blue"
passdown tell "The footer is wrong"
passdown feedback
passdown feedback dismiss "The footer is wrong"
passdown note "The designer is away"
passdown retract "JWT"
passdown heartbeat
passdown status
passdown status --all
passdown observe transcript.jsonl --host claude
passdown task add "Write the form" --id t-1
passdown task add "Test the form" --id t-2 --after t-1 --priority 1
passdown task add "Test the form"
passdown task import tasks.jsonl
passdown task change t-2 --title "Test the whole form"
passdown task block t-9 t-1
passdown task note t-1 "with labels"
passdown task list
passdown task show t-1
passdown task ready
passdown task blocked
passdown ready
passdown blocked
passdown preflight
passdown claim t-1
passdown claim t-2
passdown claim nothing
passdown reserve src/ README.md
passdown reserve docs/ --ttl 10m
passdown renew
passdown release docs/
passdown tdd
passdown tdd red
passdown tdd green
passdown tdd refactor
passdown track
passdown track show
passdown track bind login
passdown checkpoint start 1 --name form
passdown checkpoint validate 1 --test true --yes
passdown checkpoint start 2 --name tests
passdown checkpoint fail 2 "no browser"
passdown checkpoint show
passdown checkpoint resume --yes
passdown context check
passdown context save
passdown rule-out "two pages"
passdown context save
passdown context check
passdown context recall
passdown gate list
passdown gate show design
passdown gate pass design
passdown gate pass design --note "read it"
passdown gate fail design --note "too long"
passdown gate run design --yes
passdown loop
passdown loop open navigation proposal
passdown loop status navigation
passdown loop append navigation proposal "A menu"
passdown loop approve navigation
passdown loop feedback navigation proposal "More colours"
passdown loop continue navigation --yes
passdown loop finish navigation
passdown msg "I need the form" --to T-amber
passdown inbox --keep
passdown inbox
passdown publish
passdown start --host generic --session T-birch --new
passdown claim t-1 --session T-birch
passdown takeover t-1 --session T-birch
passdown handoff offer --to T-birch --session T-amber
passdown handoff offers
passdown handoff decline --session T-birch
passdown handoff offer --task t-1 --session T-amber
passdown handoff withdraw --session T-amber
passdown handoff create --session T-amber
passdown handoff create "Go on with the tests" --to T-birch --session T-amber
passdown inbox --session T-birch
passdown handoff
passdown handoff list
passdown handoff show
passdown handoff resume --session T-birch
passdown handoff accept --session T-birch
passdown task add "Review the form" --id t-3
passdown claim t-3 --session T-birch
passdown handoff offer --task t-3 --session T-birch
passdown handoff accept --session T-amber --anyway
passdown result rules
passdown result apply result.json --session T-amber
passdown result list --session T-amber --all
passdown result show nothing --session T-amber
passdown result drop nothing --session T-amber
passdown task give-back t-3 --session T-amber
passdown close t-1 --session T-amber
passdown sync
passdown track finish --session T-amber
passdown track unbind --session T-birch
passdown end --session T-amber
passdown brief
passdown brief --session T-birch --tokens 500
passdown certify
passdown log
passdown log --limit 1
passdown search "form"
passdown event
passdown event show ev-00000000deadbeef
passdown event retract ev-00000000deadbeef --because "a mistake"
passdown synthesize --no-confirm
passdown synthesize --check
passdown view
passdown view show
passdown view list decisions
passdown view verify
passdown check
passdown archive
passdown archive verify
passdown archive clean --older 0d --yes
passdown archive run --dry-run
passdown archive run --yes
passdown archive resolve
passdown migrate
passdown pause
passdown unpause
passdown metrics
passdown doctor
passdown doctor --all
passdown log show ev-00000000deadbeef
passdown log retract ev-00000000deadbeef
passdown tell "The header is wrong" --session T-birch
passdown tell --list --session T-birch
passdown answer "The header is wrong" --dismiss --session T-birch
passdown task add "Release the form" --id t-4
passdown claim t-4 --session T-birch
passdown reserve docs/ --session T-birch
passdown release t-4 docs/ --session T-birch
passdown guard
passdown team init --yes
passdown team migrate
passdown uninstall claude --yes
passdown end --session T-birch
passdown log --sessions
passdown import --yes
passdown history
passdown history show nothing
passdown log --history
passdown nonsense
"""


def list_commands(group: click.Group, above: str = "") -> Iterator[str]:
    """List the commands that a person can type."""
    context = click.Context(group, info_name=above or "passdown")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        path = f"{above} {name}".strip()
        if isinstance(command, click.Group):
            yield from list_commands(command, path)
        else:
            yield path


def list_missing(day: str) -> list[str]:
    """List commands that no line calls."""
    return [
        name
        for name in list_commands(cli)
        if name not in SILENT and not re.search(rf"^passdown {name}\b", day, re.MULTILINE)
    ]


def test_every_command_is_recorded() -> None:
    assert list_missing(DAY) == []


def quiet(value: object, name: str = "") -> object:
    """Give a value without numbers that differ each time."""
    if isinstance(value, dict):
        return {key: quiet(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [quiet(one, name) for one in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return 0 if is_number and name in VARYING else value


class CountingEntropy:
    """Gives other bytes each time, and the same ones in each run."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0

    def token(self, size: int) -> bytes:
        """Give that many bytes."""
        self._count += 1
        return sha256(str(self._count).encode()).digest()[:size]


def is_inner(caller: FrameType | None) -> bool:
    """Whether an encoder calls."""
    return caller is not None and caller.f_globals["__name__"] == encode.__module__


@contextmanager
def watch_answers() -> Iterator[list[str]]:
    """Name the actions that are called in the meantime, and the outermost records that are encoded."""
    found: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event != "call":
            return
        if frame.f_code is ask.__code__:
            found.append(name_part(frame.f_locals["action"]))
        elif frame.f_code is encode.__code__ and not is_inner(frame.f_back):
            found.append(name_part(type(frame.f_locals["result"])))

    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(None)


def record(call: Caller, line: str) -> str:
    """Run a command with `--json`; tell how it ended, its actions and records, and what it printed."""
    with watch_answers() as answers:
        done = call(*shlex.split(line)[1:], "--json")
    try:
        shown = json.dumps(quiet(json.loads(done.out)), indent=1, ensure_ascii=False)
    except ValueError:
        shown = done.out.rstrip("\n")
    ended = " ".join([str(done.code), *dict.fromkeys(answers)])
    return f"$ {line}\n{ended}\n{PROGRAM.sub('passdown hook', shown)}\n"


def leave_programs(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let there be no other programs: hosts and trackers of this machine would be found."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="recorded with paths of other systems")
def test_every_command_prints_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_programs(tmp_path / "bin", monkeypatch, "git", "true")
    entropy = CountingEntropy()
    monkeypatch.setattr(SystemEntropy, "token", lambda _, size: entropy.token(size))
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-01-11T11:00:00Z")
    project = make_started(tmp_path / "shop")
    for path, text in FILES.items():
        project.write(path, text)
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=Start")
    call = call_at_noon(monkeypatch, capsys, project.folder)

    answers = [record(call, line) for line in DAY.strip().splitlines()]

    compare(RECORDED, "\n".join(answers).replace(str(tmp_path), "/home/ann"))


@pytest.mark.parametrize("recorded", [one for one in read_calls() if one.records], ids=lambda one: one.line)
def test_what_was_recorded_is_what_the_schema_says(recorded: Call) -> None:
    definitions: dict[str, Schema] = {}
    schema = {**answer_of(recorded.records, definitions), "$defs": definitions}
    answer = json.loads(recorded.printed)

    jsonschema.validate(answer, schema)

    assert schema.get("additionalProperties") or answer.keys() == {"version", *schema["properties"]}
