"""Claude Code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from passdown.core.briefs.budgets import Budget
from passdown.hosts.hooks import read_call, write_reply
from passdown.ports.host import Host, Status

if TYPE_CHECKING:
    from passdown.core.hosts.past_sessions import TranscriptStore
    from passdown.core.hosts.transcripts import TranscriptReader
    from passdown.ports.host import Install


def _load_transcripts() -> "TranscriptReader":
    from passdown.hosts.claude.transcripts import READER

    return READER


def _load_store() -> "TranscriptStore":
    from passdown.hosts.claude.history import STORE

    return STORE


def _load_install() -> "Install":
    from passdown.hosts.claude.install import INSTALL

    return INSTALL


def read_status(told: Mapping[str, object]) -> Status:
    """Read the status line input; the folder of a worktree takes precedence over that of the session."""
    folder = _part(told, "workspace").get("current_dir") or told.get("cwd")
    return Status(
        folder if isinstance(folder, str) else "",
        str(told.get("session_id") or ""),
        _part(told, "context_window").get("used_percentage"),
    )


def _part(told: Mapping[str, object], name: str) -> dict[str, object]:
    value = told.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


HOST: Final = Host(
    name="claude",
    title="Claude Code",
    # Claude Code truncates anything above 10,000 characters to a preview of 2,000.
    budget=Budget(tokens=3_000, characters=9_000),
    read_call=read_call,
    write_reply=write_reply,
    load_transcripts=_load_transcripts,
    load_store=_load_store,
    load_install=_load_install,
    read_status=read_status,
    environment_file="CLAUDE_ENV_FILE",
)
