"""The hook protocol of Claude Code, which other hosts have adopted with small differences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply

EVENTS: Final = MappingProxyType(
    {
        "SessionStart": HookPoint.START,
        "UserPromptSubmit": HookPoint.PROMPT,
        "Stop": HookPoint.TURN_END,
        "PreCompact": HookPoint.BEFORE_COMPACTION,
        "SubagentStart": HookPoint.SUBAGENT_START,
        "SubagentStop": HookPoint.SUBAGENT_END,
        "SessionEnd": HookPoint.END,
    }
)


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read the payload of a hook; return None for an event that needs no action."""
    event = _text(payload, "hook_event_name")
    point = EVENTS.get(event)
    if point is None:
        return None
    return HookCall(
        point=point,
        event=event,
        session=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        cause=_text(payload, "source") or _text(payload, "reason"),
        transcript=_text(payload, "transcript_path"),
        subagent=_text(payload, "agent_id"),
    )


def _text(payload: Mapping[str, object], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def write_reply(call: HookCall, reply: HookReply) -> dict[str, object]:
    """Return the reply for Claude Code and Codex, which drops a reply with an unknown member."""
    answer: dict[str, object] = {"systemMessage": reply.notice} if reply.notice else {}
    if reply.context:
        answer["hookSpecificOutput"] = {"hookEventName": call.event, "additionalContext": reply.context}
    return answer
