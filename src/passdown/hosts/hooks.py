"""Hooks as Claude Code made them up, which other hosts have taken over with small differences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.moments import Call, Moment, Reply

EVENTS: Final = MappingProxyType(
    {
        "SessionStart": Moment.START,
        "UserPromptSubmit": Moment.PROMPT,
        "Stop": Moment.TURN_END,
        "PreCompact": Moment.BEFORE_COMPACTION,
        "SubagentStart": Moment.SUBAGENT_START,
        "SubagentStop": Moment.SUBAGENT_END,
        "SessionEnd": Moment.END,
    }
)


def read_call(payload: Mapping[str, object]) -> Call | None:
    """Read what a host tells; None for an event at which there is nothing to do."""
    event = _text(payload, "hook_event_name")
    moment = EVENTS.get(event)
    if moment is None:
        return None
    return Call(
        moment=moment,
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


def write_reply(call: Call, reply: Reply) -> dict[str, object]:
    """Answer as Claude Code and Codex understand it; Codex drops an answer with a member it does not know."""
    answer: dict[str, object] = {"systemMessage": reply.notice} if reply.notice else {}
    if reply.context:
        answer["hookSpecificOutput"] = {"hookEventName": call.event, "additionalContext": reply.context}
    return answer
