"""Where real hosts are tried: their programs, our hooks, a project that knows things, and what was told."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from passdown.core.formats.journal import Scope
from passdown.core.hosts.installs import EDIT_EVENT
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.hosts.hooks import EVENTS
from passdown.services.sessions.journals import append_fact, read_accounts
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.settings import FILE_NAME, Settings
from tests.hosts.drivers import Ground
from tests.support.gits import make_started
from tests.support.projects import open_checkout
from tests.support.sessions import end_session

# What begins with PASSDOWN_ is not there any more when a test runs.
IS_CI: Final = bool(os.environ.get("PASSDOWN_CI"))
FOLDER: Final = os.environ.get("PASSDOWN_HOSTS", "")
OLDER: Final = os.environ.get("PASSDOWN_OLDER_HOSTS", "")
USUAL: Final = tuple(event for event in EVENTS if event != EDIT_EVENT)
PASSDOWN: Final = Path(sys.executable).parent / "passdown"
GOAL: Final = "Fix the parser before Friday"
FACTS: Final = (GOAL, "writing the tests", "SQLite", "read the grammar", "a daemon")
SAYING: Final = " && ".join(
    f"'{PASSDOWN}' {verb}"
    for verb in (
        f"goal '{FACTS[0]}'",
        f"now '{FACTS[1]}'",
        f"decide store '{FACTS[2]}' --because 'it is there'",
        f"done '{FACTS[3]}'",
        f"rule-out '{FACTS[4]}'",
    )
)
_BRIEF: Final = re.compile(
    r"===== passdown brief ([0-9a-f]+) begins.*?===== passdown brief \1 ends", re.DOTALL
)


def need(program: str, folder: str = FOLDER, variable: str = "PASSDOWN_HOSTS") -> str:
    """Give the path of a host's program, or skip the test; in CI it must be there."""
    path = Path(folder) / program
    if not folder or not path.exists():
        assert not IS_CI, f"{program} is not in the folder that {variable} names"
        pytest.skip(f"{variable} names no folder with the program {program}")
    return str(path)


def need_older(program: str) -> str:
    """Give the path of a host's program in an older version."""
    return need(program, OLDER, "PASSDOWN_OLDER_HOSTS")


def hooks(command: str = f"'{PASSDOWN}' hook", **more: object) -> str:
    """Give the hooks as a person would write them down, with more members if told so."""
    entry = [{"hooks": [{"type": "command", "command": command, **more}]}]
    return json.dumps({"hooks": dict.fromkeys(USUAL, entry)})


def make_ground(folder: Path, address: str, **variables: str) -> Ground:
    """Make a project whose owner agreed, and an empty home."""
    place = Ground(folder=folder, address=address, variables=variables)
    make_started(place.root)
    (place.root / FILE_NAME).touch()
    place.home.mkdir()
    return place


def teach(place: Ground, facts: Iterable[NewFact]) -> None:
    """Let a session say these facts, and end."""
    project = open_checkout(place.root, Settings())
    account = start_session(project, StartRequest(nickname="first")).account
    for fact in facts:
        append_fact(project, account, fact)
    end_session(project, account)


def accounts(place: Ground) -> list[Account]:
    """Give what the sessions of the project know, in the order in which they began."""
    return list(read_accounts(open_checkout(place.root, Settings()), Scope.ALL))


def briefs(requests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give the briefs that the model was sent whole, of each request the last."""
    found = [list(_BRIEF.finditer(text_of(request))) for request in requests]
    return [one[-1][0] for one in found if one]


def has_all(brief: str) -> bool:
    """Say whether a brief holds all that `SAYING` says."""
    return all(fact in brief for fact in FACTS)


def text_of(value: object) -> str:
    """Give all texts of a request, one after the other."""
    return "\n".join(_texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _texts(part)


def copilot_hooks() -> str:
    """Give the hooks as a project of a person with Copilot would have them."""
    entry = [{"type": "command", "bash": f"'{PASSDOWN}' hook --host copilot", "timeoutSec": 30}]
    return json.dumps({"version": 1, "hooks": dict.fromkeys(USUAL, entry)})
