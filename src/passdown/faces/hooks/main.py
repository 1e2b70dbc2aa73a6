"""Hooks that have something to do: they update the session and answer in the format of the host."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from passdown.actions.answers import NoticeKind
from passdown.actions.callers import CallEnvironment, Caller, find_host, open_caller
from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply
from passdown.errors import PassdownError
from passdown.faces.hooks import hook_log, quick
from passdown.ports.host import Host
from passdown.records import record
from passdown.services.workspace.workspaces import ReadLimits

LIMITS: Final = ReadLimits(wait=0.02, lock_wait=0.25, most=1_500)
"""Hooks do not wait for a cache that another process writes, and read a large new log in portions (C131).

They wait briefly for another process that writes to the same journal, and then leave publishing to that
process or to the next hook.
"""

NOT_SET_UP: Final = (
    "Passdown is not set up in this repository; run `passdown init` to set it up. (Shown once.)"
)

_SEVERAL: Final = 2


ACTS: Final = MappingProxyType(
    {
        HookPoint.START: ("starts", "answer_start"),
        HookPoint.PROMPT: ("starts", "answer_prompt"),
        HookPoint.SUBAGENT_START: ("starts", "answer_subagent"),
        HookPoint.BEFORE_TOOL: ("tools", "answer_tool"),
        HookPoint.TURN_END: ("turns", "answer_turn_end"),
        HookPoint.BEFORE_COMPACTION: ("turns", "answer_compaction"),
        HookPoint.SUBAGENT_END: ("turns", "answer_subagent_end"),
        HookPoint.END: ("ends", "answer_end"),
    }
)
"""The module and function for each hook; only that module is loaded."""

AFTER: Final = MappingProxyType(
    {
        HookPoint.START: ("starts", "follow_up"),
        HookPoint.TURN_END: ("turns", "follow_turn"),
        HookPoint.BEFORE_COMPACTION: ("turns", "follow_compaction"),
    }
)
"""What runs after the host was answered, in the time that is left; the next hook does the rest."""

_WORDS: Final = MappingProxyType(
    {
        NoticeKind.NO_CACHE: "{reason}",
        NoticeKind.VIEW_NOT_UPDATED: "the view was not updated: {reason}",
    }
)
"""The log lines of notices that are more than a text."""


@record
class HookContext:
    """A hook call, with everything needed to answer it."""

    call: HookCall
    host: Host
    root: Path
    caller: Caller


def answer(
    arguments: list[str],
    payload: Mapping[str, object],
    root: str,
    elapsed: Callable[[], float] | None = None,
) -> int:
    """Handle a hook call and answer the host; errors go only to the hook log.

    If `elapsed` is given, the cost is recorded after the answer; it returns milliseconds.
    """
    point, chars = "", 0
    try:
        host = _find_host(arguments, payload)
        call = host.read_call(payload)
        if call is not None and not _is_idle(call, root):
            point = call.point.value
            chars = _answer(host, call, Path(root))
    except quick.OutOfTimeError:
        raise
    except PassdownError as found:
        _note(root, payload, found.message)
    except Exception as found:  # noqa: BLE001 - a hook never breaks the agent
        _note(root, payload, f"{type(found).__name__}: {found}")
    if point and elapsed is not None:
        hook_log.log_cost(root, point, elapsed(), chars)
    return 0


def _is_idle(call: HookCall, root: str) -> bool:
    """Return whether a call needs no answer; the quick path finds this out only for most hosts.

    1. A prompt with no waiting message.
    2. A tool that edits no file and is not a subagent's command.
    """
    if call.point is HookPoint.PROMPT:  # 1
        return not quick.is_waiting(root, call.session)
    return call.point is HookPoint.BEFORE_TOOL and not (call.paths or (call.subagent and call.command))  # 2


def _note(root: str, payload: Mapping[str, object], text: str) -> None:
    hook_log.log_trouble(root, f"{payload.get('hook_event_name')}: {text}")


def _answer(host: Host, call: HookCall, root: Path) -> int:
    """Answer a call; return the number of characters that the model will read."""
    context = _open(host, call, root)
    caller = context.caller
    try:
        _note_damage(context)
        act: Callable[[HookContext], HookReply] = _load(*ACTS[call.point])
        reply = act(context)
        for one in caller.notices:
            if one.kind is NoticeKind.WARNING:
                text = one.values["text"]
                notice = f"{reply.notice}\n{text}" if reply.notice else f"Passdown: {text}"
                reply = reply._replace(notice=notice)
        told = host.write_reply(call, reply)
        reason = _say(json.dumps(told, ensure_ascii=True)) if told else ""
        if reason:
            caller.note_trouble(reason)
        if reason is None:
            _do_deferred(caller)
        if call.point in AFTER:
            _follow_up(context)
    finally:
        _log(context)
        caller.close()
    return len(reply.context) + len(reply.refusal)


def _load(module: str, name: str) -> Any:  # noqa: ANN401 - the two tables say what each is
    return getattr(importlib.import_module(f"passdown.faces.hooks.{module}"), name)


def _do_deferred(caller: Caller) -> None:
    """Run what had to wait for the answer."""
    for act in caller.after:
        try:
            act()
        except PassdownError as found:
            caller.note_trouble(found.message)


def _follow_up(context: HookContext) -> None:
    """Do what can wait until the host was answered."""
    act: Callable[[HookContext], str] = _load(*AFTER[context.call.point])
    try:
        trouble = act(context)
    except PassdownError as found:
        trouble = found.message
    if trouble:
        context.caller.note_trouble(f"not committed: {trouble}")


def _log(context: HookContext) -> None:
    """Log the notices of a call, however it ended."""
    for one in context.caller.notices:
        text = _WORDS.get(one.kind, "{text}").format_map(one.values)
        hook_log.log_trouble(str(context.root), f"{context.call.event}: {text}")


def _open(host: Host, call: HookCall, root: Path) -> HookContext:
    around = CallEnvironment(
        folder=root,
        variables=os.environ,
        limits=LIMITS,
        record_metrics=hook_log.log_metrics,
    )
    caller = open_caller(around, call.session, root=root)
    caller.notices.clear()  # commands report problems with the settings
    return HookContext(call=call, host=host, root=root, caller=caller)


def _note_damage(context: HookContext) -> None:
    """Log that the git folder exists but cannot be used; facts are kept in the checkout meanwhile."""
    if quick.find_top(str(context.root)) and not context.caller.workspace.repository.is_there():
        context.caller.note_trouble("the git folder is damaged, so facts are kept in the checkout")


def _say(text: str) -> str | None:
    """Write the answer to the host; return why that failed, "" if the host is gone, or None if it worked."""
    if sys.stdout is None:  # closed by the caller
        return "stdout is closed"
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as found:
        # The interpreter must not try to flush the rest at exit.
        sys.stdout = None
        return "" if isinstance(found, BrokenPipeError) else f"could not answer: {found.strerror}"
    return None


def say_not_set_up(arguments: list[str], payload: Mapping[str, object]) -> None:
    """Tell the user that Passdown is not set up in this repository (C50)."""
    host = _find_host(arguments, payload)
    call = host.read_call(payload)
    if call is not None and (told := host.write_reply(call, HookReply(notice=NOT_SET_UP))):
        _say(json.dumps(told, ensure_ascii=True))


def _find_host(arguments: list[str], payload: Mapping[str, object]) -> Host:
    """Find the host that was named, or guess it from the payload and the environment."""
    named = arguments[1] if len(arguments) >= _SEVERAL and arguments[0] == "--host" else ""
    return find_host(named, payload, os.environ)
