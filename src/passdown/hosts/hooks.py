"""The hook protocol of Claude Code, which other hosts have adopted with small differences."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, cast

from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply
from passdown.core.lazy_regex import pattern

EVENTS: Final = MappingProxyType(
    {
        "SessionStart": HookPoint.START,
        "UserPromptSubmit": HookPoint.PROMPT,
        "PreToolUse": HookPoint.BEFORE_TOOL,
        "Stop": HookPoint.TURN_END,
        "PreCompact": HookPoint.BEFORE_COMPACTION,
        "SubagentStart": HookPoint.SUBAGENT_START,
        "SubagentStop": HookPoint.SUBAGENT_END,
        "SessionEnd": HookPoint.END,
    }
)

_PATHS: Final = MappingProxyType(
    {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
)
SHELL: Final = "Bash"
_PATCHED: Final = pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


def find_paths(tool: str, told: object) -> tuple[str, ...]:
    """Return the file that a tool would change, from its input; none for an unknown tool."""
    path = text_at(told, _PATHS[tool]) if tool in _PATHS else ""
    return (path,) if path else ()


def find_patched(patch: str) -> tuple[str, ...]:
    """Return the files that a patch for `apply_patch`, a tool of several hosts, adds, changes or moves."""
    return tuple(dict.fromkeys(path for found in _PATCHED.findall(patch) if (path := found.strip())))


def read_call(
    payload: Mapping[str, object], find_paths: Callable[[str, object], tuple[str, ...]] = find_paths
) -> HookCall | None:
    """Read the payload of a hook; return None for an event that needs no action.

    A host whose tools have other inputs passes its own function to find the paths.
    """
    event = text_at(payload, "hook_event_name")
    point = EVENTS.get(event)
    if point is None:
        return None
    call = HookCall(
        point=point,
        event=event,
        session=text_at(payload, "session_id"),
        cwd=text_at(payload, "cwd"),
        cause=text_at(payload, "source") or text_at(payload, "reason"),
        transcript=text_at(payload, "transcript_path"),
        subagent=text_at(payload, "agent_id"),
        subagent_type=text_at(payload, "agent_type"),
    )
    if point in {HookPoint.TURN_END, HookPoint.SUBAGENT_END}:
        return call._replace(message=text_at(payload, "last_assistant_message"))
    if point is not HookPoint.BEFORE_TOOL:
        return call
    tool, told = text_at(payload, "tool_name"), payload.get("tool_input")
    command = text_at(told, "command") if tool == SHELL else ""
    return call._replace(paths=find_paths(tool, told), command=command)


def text_at(value: object, name: str) -> str:
    """Return a text member of an object, or "" if it is not one."""
    found = cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def write_reply(call: HookCall, reply: HookReply) -> dict[str, object]:
    """Return the reply for Claude Code and Codex, which drops a reply with an unknown member."""
    answer: dict[str, object] = {"systemMessage": reply.notice} if reply.notice else {}
    if reply.refusal and call.point is HookPoint.BEFORE_TOOL:
        return {**answer, **write_refusal(call, reply.refusal)}
    if reply.context:
        answer["hookSpecificOutput"] = {"hookEventName": call.event, "additionalContext": reply.context}
    return answer


def write_refusal(call: HookCall, refusal: str) -> dict[str, object]:
    """Return the answer that denies a tool; the model reads the reason."""
    denial = {"permissionDecision": "deny", "permissionDecisionReason": refusal}
    return {"hookSpecificOutput": {"hookEventName": call.event, **denial}}
