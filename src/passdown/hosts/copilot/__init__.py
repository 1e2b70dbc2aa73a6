"""GitHub Copilot CLI."""

from typing import TYPE_CHECKING, Final

from passdown.core.briefs.budgets import Budget
from passdown.hosts.copilot.hooks import read_call, write_reply
from passdown.ports.host import Host, Signs

if TYPE_CHECKING:
    from passdown.core.hosts.past_sessions import TranscriptStore
    from passdown.core.hosts.transcripts import TranscriptReader
    from passdown.ports.host import Install


def _load_transcripts() -> "TranscriptReader":
    from passdown.hosts.copilot.transcripts import READER

    return READER


def _load_store() -> "TranscriptStore":
    from passdown.hosts.copilot.history import STORE

    return STORE


def _load_install() -> "Install":
    from passdown.hosts.copilot.install import INSTALL

    return INSTALL


HOST: Final = Host(
    name="copilot",
    title="Copilot",
    budget=Budget(tokens=3_000, characters=9_000),
    read_call=read_call,
    write_reply=write_reply,
    signs=Signs(variables=("COPILOT_CLI",), transcript="events.jsonl"),
    load_transcripts=_load_transcripts,
    load_store=_load_store,
    load_install=_load_install,
    calls_after_compaction=False,
)
