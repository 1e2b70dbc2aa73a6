"""Hooks before a tool runs: they refuse what must not run, and let everything else pass."""

from passdown.core.hosts.hook_calls import HookCall, HookReply
from passdown.core.hosts.subagents import find_coordination, refuse_coordination
from passdown.faces.hooks.hook_context import HookContext


def judge_tool(context: HookContext) -> HookReply:
    """Refuse a tool, or let it pass."""
    return HookReply(refusal=_judge_subagent(context.call))


def _judge_subagent(call: HookCall) -> str:
    """Return why a subagent must not run a command: it coordinates, which its session does (C84)."""
    program = find_coordination(call.command) if call.subagent else ""
    return refuse_coordination(program, call.subagent_type) if program else ""
