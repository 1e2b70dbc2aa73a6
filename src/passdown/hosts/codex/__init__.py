"""Codex: it calls hooks as Claude Code does, and drops replies with unknown members.

A patch names the files that it would change.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from passdown.core.briefs.budgets import Budget
from passdown.core.hosts.hook_calls import HookCall
from passdown.hosts import hooks
from passdown.ports.host import Host, Signs

if TYPE_CHECKING:
    from passdown.core.hosts.past_sessions import TranscriptStore
    from passdown.core.hosts.transcripts import TranscriptReader
    from passdown.ports.host import Install

_PATCH: Final = "apply_patch"


def _load_transcripts() -> "TranscriptReader":
    from passdown.hosts.codex.transcripts import READER

    return READER


def _load_store() -> "TranscriptStore":
    from passdown.hosts.codex.history import STORE

    return STORE


def _load_install() -> "Install":
    from passdown.hosts.codex.install import INSTALL

    return INSTALL


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read the payload of a hook."""
    return hooks.read_call(payload, _find_paths)


def _find_paths(tool: str, told: object) -> tuple[str, ...]:
    """Return the files of a patch, which may also be a here-document in a shell command."""
    patch = hooks.text_at(told, "command")
    if tool != _PATCH and not (tool == hooks.SHELL and patch.lstrip().startswith(_PATCH)):
        return ()
    return hooks.find_patched(patch)


HOST: Final = Host(
    name="codex",
    title="Codex",
    # Codex cuts the middle out of anything above 2,500 tokens, which it counts as 10,000 bytes.
    budget=Budget(tokens=3_000, characters=9_000),
    read_call=read_call,
    write_reply=hooks.write_reply,
    signs=Signs(members=("turn_id",), transcript="rollout-"),
    load_transcripts=_load_transcripts,
    load_store=_load_store,
    load_install=_load_install,
)
