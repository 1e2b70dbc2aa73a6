"""The hook at the end of a session."""

from passdown import layout
from passdown.actions.callers import ask
from passdown.actions.sessions.host_ends import HostEndRequest, end_hosted
from passdown.core.hosts.hook_calls import HookReply
from passdown.faces.hooks import quick
from passdown.faces.hooks.main import HookContext


def answer_end(context: HookContext) -> HookReply:
    """Record the end of the session."""
    root, session = str(context.root), context.call.session
    request = HostEndRequest(
        cause=context.call.cause,
        has_level=quick.has_file(root, layout.CONTEXT_LEVELS, session),
        has_signs=quick.has_file(root, layout.SIGNALS, session),
        has_notice=quick.is_waiting(root, session),
    )
    ask(end_hosted, context.caller, request)
    return HookReply()
