"""The hooks of Copilot CLI: it calls hooks as Claude Code does, and reads replies in its own format."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.hosts.hook_calls import HookCall, HookReply
from passdown.hosts import hooks

_CAUSES: Final = MappingProxyType({"new": "startup"})


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read the payload of a hook; Copilot calls a session that begins "new"."""
    call = hooks.read_call(payload)
    return call and call._replace(cause=_CAUSES.get(call.cause, call.cause))


def write_reply(call: HookCall, reply: HookReply) -> dict[str, object]:
    """Return the reply with the context at the top level; Copilot cannot show a notice to the user."""
    del call
    return {"additionalContext": reply.context} if reply.context else {}
