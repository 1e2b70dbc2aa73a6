"""Codex: calls hooks as Claude Code does, and drops a reply that has a member it does not know."""

from typing import TYPE_CHECKING, Final

from passdown.core.briefs.budgets import Budget
from passdown.hosts.codex.hooks import read_call
from passdown.hosts.hooks import write_reply
from passdown.ports.host import Host, Signs

if TYPE_CHECKING:
    from passdown.core.hosts.transcripts import TranscriptReader
    from passdown.ports.host import Install


def _load_transcripts() -> "TranscriptReader":
    from passdown.hosts.codex.transcripts import READER

    return READER


def _load_install() -> "Install":
    from passdown.hosts.codex.install import INSTALL

    return INSTALL


HOST: Final = Host(
    name="codex",
    title="Codex",
    # Codex cuts the middle out of anything above 2,500 tokens, which it counts as 10,000 bytes.
    budget=Budget(tokens=3_000, characters=9_000),
    read_call=read_call,
    write_reply=write_reply,
    signs=Signs(members=("turn_id",), transcript="rollout-"),
    load_transcripts=_load_transcripts,
    load_install=_load_install,
)
