"""A hook that has something to do: it brings the session up to date and answers in the host's own dialect."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from passdown import wiring
from passdown.core.budgets import Budget
from passdown.core.moments import Call, Moment, Reply
from passdown.errors import PassdownError
from passdown.faces.hooks.scenes import Scene

_SEVERAL: Final = 2


class Dialect(Protocol):
    """How a host calls and is answered."""

    PLATFORM: str
    MOST: Budget

    def read_call(self, payload: Mapping[str, object]) -> Call | None:
        """Read what the host tells."""
        ...

    def write_reply(self, call: Call, reply: Reply) -> dict[str, object]:
        """Answer."""
        ...


ACTS: Final = MappingProxyType(
    {
        Moment.START: ("starts", "start"),
        Moment.PROMPT: ("starts", "prompt"),
        Moment.SUBAGENT_START: ("starts", "start_subagent"),
        Moment.TURN_END: ("turns", "end_turn"),
        Moment.BEFORE_COMPACTION: ("turns", "save"),
        Moment.SUBAGENT_END: ("turns", "end_subagent"),
        Moment.END: ("ends", "end"),
    }
)
"""Where each moment is answered; only that part is loaded."""


def answer(arguments: list[str], payload: Mapping[str, object], root: str) -> int:
    """Do what the moment calls for and answer; what goes wrong is noted in our log and nowhere else."""
    try:
        _answer(arguments, payload, Path(root))
    except PassdownError as found:
        _note(root, payload, found.message)
    except Exception as found:  # noqa: BLE001 - a hook never breaks the agent
        _note(root, payload, f"{type(found).__name__}: {found}")
    return 0


def _note(root: str, payload: Mapping[str, object], text: str) -> None:
    with suppress(PassdownError, OSError):  # the log was the last place to tell
        wiring.note_trouble(Path(root), f"{payload.get('hook_event_name')}: {text}")


def _answer(arguments: list[str], payload: Mapping[str, object], root: Path) -> None:
    dialect = find_dialect(arguments, payload)
    call = dialect.read_call(payload)
    if call is None:
        return
    settings, _ = wiring.read_settings(root)
    scene = Scene(
        call=call,
        platform=dialect.PLATFORM,
        budget=dialect.MOST,
        root=root,
        project=wiring.open_project(root, settings),
    )
    module, name = ACTS[call.moment]
    act: Callable[[Scene], Reply] = getattr(importlib.import_module(f"passdown.faces.hooks.{module}"), name)
    reply = dialect.write_reply(call, act(scene))
    if reply:
        _say(json.dumps(reply, ensure_ascii=True))


def _say(text: str) -> None:
    """Answer a host, which may be gone by now: then nobody reads, and nothing went wrong."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter must not try to flush the rest at its end.
        sys.stdout = None


def find_dialect(arguments: list[str], payload: Mapping[str, object]) -> Dialect:
    """Find how the host speaks that was named, or that the signs tell of."""
    named = arguments[1] if len(arguments) >= _SEVERAL and arguments[0] == "--host" else ""
    host = named or guess_host(payload, os.environ)
    return cast("Dialect", importlib.import_module(f"passdown.hosts.{_MODULES[host]}.hooks"))


_MODULES: Final = MappingProxyType({"claude": "claude_code", "codex": "codex", "copilot": "copilot"})


def guess_host(payload: Mapping[str, object], variables: Mapping[str, str]) -> str:
    """Tell the host by signs that no other one has: variables that others inherit or imitate are none."""
    if variables.get("COPILOT_CLI"):
        return "copilot"
    transcript = str(payload.get("transcript_path") or "")
    name = transcript.replace("\\", "/").rpartition("/")[2]
    if name.startswith("rollout-") or "turn_id" in payload:
        return "codex"
    return "claude"
