"""The hooks of Copilot CLI: it calls hooks as Claude Code does, and reads replies in its own format."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply
from passdown.hosts import hooks

_EDITS: Final = frozenset({"Edit", "Write"})
_CAUSES: Final = MappingProxyType({"new": "startup"})
_NAMES: Final = MappingProxyType(
    {"sessionId": "session_id", "transcriptPath": "transcript_path", "agentName": "agent_type"}
)
_SUBAGENT_START: Final = "SubagentStart"


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read the payload of a hook.

    Copilot calls a starting session "new". A subagent has its own session, and names its parent's. The
    payload at the start of a subagent is the only one without the name of its event, and its members have
    other names.
    """
    call = hooks.read_call(_rename(payload), _find_paths)
    if call is None:
        return None
    session = hooks.text_at(payload, "parent_agent_id") if call.subagent else ""
    return call._replace(cause=_CAUSES.get(call.cause, call.cause), session=session or call.session)


def _rename(payload: Mapping[str, object]) -> Mapping[str, object]:
    """Rename the members of the payload at the start of a subagent to those of all other payloads."""
    if "hook_event_name" in payload or "agentName" not in payload:
        return payload
    renamed = {_NAMES.get(name, name): value for name, value in payload.items()}
    return {**renamed, "hook_event_name": _SUBAGENT_START}


def _find_paths(tool: str, told: object) -> tuple[str, ...]:
    """Return the files that a tool would change; the input of an edit is an object or a patch."""
    if tool not in _EDITS:
        return ()
    if isinstance(told, str):
        return hooks.find_patched(told)
    path = hooks.text_at(told, "path")
    return (path,) if path else ()


def write_reply(call: HookCall, reply: HookReply) -> dict[str, object]:
    """Return the reply with the context at the top level; Copilot cannot show a notice to the user."""
    if reply.refusal and call.point is HookPoint.BEFORE_TOOL:
        return hooks.write_refusal(call, reply.refusal)
    return {"additionalContext": reply.context} if reply.context else {}
