"""Hooks before a tool runs: they refuse what must not run, and let everything else pass."""

from passdown.core.hosts.hook_calls import HookCall, HookReply
from passdown.core.hosts.subagents import find_coordination, refuse_coordination
from passdown.faces.hooks.hook_context import HookContext
from passdown.faces.hooks.quick import CheckoutRoots
from passdown.faces.hooks.quick_edits import find_relative


def judge_tool(context: HookContext) -> HookReply:
    """Refuse a tool, or let it pass."""
    return HookReply(refusal=_judge_subagent(context.call) or _judge_edit(context))


def _judge_subagent(call: HookCall) -> str:
    """Return why a subagent must not run a command: it coordinates, which its session does (C84)."""
    program = find_coordination(call.command) if call.subagent else ""
    return refuse_coordination(program, call.subagent_type) if program else ""


def _judge_edit(context: HookContext) -> str:
    """Return why a file must not be edited: another live session holds it (C88). Every doubt passes."""
    call, root = context.call, str(context.root)
    bases = CheckoutRoots(root)
    paths = [name for path in call.paths for name in find_relative(path, call.cwd or root, bases.find)]
    account = context.find() if paths else None
    coordination = context.workspace.read_coordination() if account else None
    if account is None or coordination is None:
        return ""
    from passdown.core.coordination.choices import refuse_edit  # few edits come this far
    from passdown.services.coordination.edits import find_age, judge_edit

    held = judge_edit(coordination, account.session, paths)
    return refuse_edit(held, find_age(coordination)) if held else ""
