"""A hook that has something to do: it brings the session up to date and answers in the host's own dialect."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from passdown import wiring
from passdown.core.budgets import Budget
from passdown.core.moments import Call, Moment, Reply
from passdown.errors import CacheError, PassdownError, UnreadError
from passdown.faces.hooks import notes, quick
from passdown.faces.hooks.scenes import Scene
from passdown.services.checkouts import Haste

HASTE: Final = Haste(wait=0.02, most=2_000)
"""A cache that another process writes is done without, and so is a large log that was never read."""

RESTS: Final = "Passdown does nothing here: `passdown init` lets it work. This is said once"

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


def answer(
    arguments: list[str],
    payload: Mapping[str, object],
    root: str,
    elapsed: Callable[[], float] | None = None,
) -> int:
    """Do what the moment calls for and answer; what goes wrong is noted in our log and nowhere else.

    What it cost is written down when all is said, if somebody tells the milliseconds that it took.
    """
    moment, chars = "", 0
    try:
        dialect = find_dialect(arguments, payload)
        call = dialect.read_call(payload)
        if call is not None:
            moment = call.moment.value
            chars = _answer(dialect, call, Path(root))
    except quick.OutOfTimeError:
        raise
    except PassdownError as found:
        _note(root, payload, found.message)
    except Exception as found:  # noqa: BLE001 - a hook never breaks the agent
        _note(root, payload, f"{type(found).__name__}: {found}")
    if moment and elapsed is not None:
        notes.note_cost(root, moment, elapsed(), chars)
    return 0


def _note(root: str, payload: Mapping[str, object], text: str) -> None:
    notes.note_trouble(root, f"{payload.get('hook_event_name')}: {text}")


def _answer(dialect: Dialect, call: Call, root: Path) -> int:
    """Answer a call; say how many characters the model is to read."""
    scene = _open(dialect, call, root, HASTE)
    _note_damage(scene)
    module, name = ACTS[call.moment]
    act: Callable[[Scene], Reply] = getattr(importlib.import_module(f"passdown.faces.hooks.{module}"), name)
    try:
        reply = act(scene)
    except CacheError as found:  # another process may hold it for long; there is a way without it
        notes.note_trouble(str(root), f"{call.event}: {found.message}")
        reply = act(_open(dialect, call, root, HASTE._replace(is_cached=False)))
        if isinstance(found, UnreadError) and call.moment is Moment.START:
            reply = reply._replace(notice=f"Passdown: {found.message}; {found.hint}")
    told = dialect.write_reply(call, reply)
    if told and (reason := _say(json.dumps(told, ensure_ascii=True))):
        notes.note_trouble(str(root), f"{call.event}: {reason}")
    return len(reply.context)


def _open(dialect: Dialect, call: Call, root: Path, haste: Haste) -> Scene:
    settings, _ = wiring.read_settings(root)
    return Scene(
        call=call,
        platform=dialect.PLATFORM,
        budget=dialect.MOST,
        root=root,
        project=wiring.open_project(root, settings, haste),
        haste=haste,
    )


def _note_damage(scene: Scene) -> None:
    """Note that git's folder is there and cannot be used: what is known lies in the checkout meanwhile."""
    if quick.find_top(str(scene.root)) and not scene.project.checkout.repository.is_there():
        text = "git's folder is damaged, so what is known is kept in the checkout"
        notes.note_trouble(str(scene.root), f"{scene.call.event}: {text}")


def _say(text: str) -> str:
    """Answer a host, and give why that failed; it may be gone by now, and then nothing went wrong."""
    if sys.stdout is None:  # closed by whoever started us
        return "there is nobody to answer"
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as found:
        # The interpreter must not try to flush the rest at its end.
        sys.stdout = None
        return "" if isinstance(found, BrokenPipeError) else f"could not answer: {found.strerror}"
    return ""


def say_rest(arguments: list[str], payload: Mapping[str, object]) -> None:
    """Say that nothing is done in a repository, because its owner did not agree (C50)."""
    dialect = find_dialect(arguments, payload)
    call = dialect.read_call(payload)
    if call is not None and (told := dialect.write_reply(call, Reply(notice=RESTS))):
        _say(json.dumps(told, ensure_ascii=True))


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
