"""The hooks of Copilot CLI: it calls as Claude Code does, and reads the answer in a way of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.budgets import Budget
from passdown.core.moments import Call, Reply
from passdown.hosts import hooks

PLATFORM: Final = "copilot"
MOST: Final = Budget(tokens=3_000, characters=9_000)

_CAUSES: Final = MappingProxyType({"new": "startup"})


def read_call(payload: Mapping[str, object]) -> Call | None:
    """Read what the host tells; a session that begins is called new."""
    call = hooks.read_call(payload)
    return call and call._replace(cause=_CAUSES.get(call.cause, call.cause))


def write_reply(call: Call, reply: Reply) -> dict[str, object]:
    """Answer with the context at the top; there is no place for a word to the person."""
    del call
    return {"additionalContext": reply.context} if reply.context else {}
