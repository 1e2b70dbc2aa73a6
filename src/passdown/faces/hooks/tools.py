"""Hooks before a tool runs: they refuse what must not run, and let everything else pass."""

from passdown.actions.callers import ask
from passdown.actions.coordination.edits import judge_edit
from passdown.core.hosts.hook_calls import HookCall, HookReply
from passdown.core.hosts.subagents import find_coordination, refuse_coordination
from passdown.faces.hooks.main import HookContext
from passdown.faces.hooks.quick import CheckoutRoots
from passdown.faces.hooks.quick_edits import find_relative


def answer_tool(context: HookContext) -> HookReply:
    """Refuse a tool, or let it pass."""
    return HookReply(refusal=_judge_subagent(context.call) or _judge_edit(context))


def _judge_subagent(call: HookCall) -> str:
    """Return why a subagent must not run a command: only its session may coordinate (C84)."""
    program = find_coordination(call.command) if call.subagent else ""
    return refuse_coordination(program, call.subagent_type) if program else ""


def _judge_edit(context: HookContext) -> str:
    """Return why a file must not be edited: another live session holds it (C88)."""
    call, root = context.call, str(context.root)
    bases = CheckoutRoots(root)
    paths = [name for path in call.paths for name in find_relative(path, call.cwd or root, bases.find)]
    found = ask(judge_edit, context.caller, tuple(paths)).result
    if not found.held:
        return ""
    from passdown.core.coordination.refusals import refuse_edit  # few edits are refused

    return refuse_edit(found.held, found.age)
