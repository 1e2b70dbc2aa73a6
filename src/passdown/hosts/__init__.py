"""The hosts that Passdown supports: each has a folder that exports one `HOST`, and a row in this table."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.errors import UsageError

if TYPE_CHECKING:
    from passdown.core.hosts.persons import AgentSigns
    from passdown.ports.host import Host

_OWN_VARIABLE: Final = "PASSDOWN_SESSION"
_OLDER_VARIABLES: Final = ("AGENT_ID", "THREAD_ID")


class HostRow(NamedTuple):
    """What is known about a host before its folder is loaded; most commands need only this."""

    names: tuple[str, ...]
    """The name used in files and commands, followed by its other spellings."""
    module: str
    """The module that exports `HOST`."""
    session_variables: tuple[str, ...] = ()
    """The environment variables that hold the id of the session for a command."""
    agent_variables: tuple[str, ...] = ()
    """Further variables that only an agent's commands have, for host versions that do not set the session."""
    programs: tuple[str, ...] = ()
    """The names of its programs in a list of processes."""


class CallingSession(NamedTuple):
    """The session that runs a command, as its host names it."""

    host: str
    session: str


class Table:
    """A table of hosts; each host is loaded on demand."""

    def __init__(self, *rows: HostRow) -> None:
        """Store the rows; the first host is the one whose hook protocol the others have adopted."""
        self.rows = rows

    def names(self) -> list[str]:
        """Return the names of all hosts, and their other spellings."""
        return [name for row in self.rows for name in row.names]

    def session_ids(self, variables: Mapping[str, str]) -> list[str]:
        """Return the session ids that the environment holds: Passdown's own, the host's, older tools'."""
        names = [name for row in self.rows for name in row.session_variables]
        return [text for name in (_OWN_VARIABLE, *names, *_OLDER_VARIABLES) if (text := variables.get(name))]

    def find_given(self, variables: Mapping[str, str]) -> str:
        """Return the id in Passdown's own variable; empty if there is none."""
        return variables.get(_OWN_VARIABLE, "")

    def find_caller(self, variables: Mapping[str, str]) -> "CallingSession | None":
        """Return the host session that runs the command; this works without hooks."""
        for row in self.rows:
            for name in row.session_variables:
                if text := variables.get(name):
                    return CallingSession(row.names[0], text)
        return None

    def names_agent(self, variables: Mapping[str, str]) -> bool:
        """Return whether an agent runs the command: Passdown or a host set a session or another variable.

        The variables of older tools do not count, because other programs use the same names.
        """
        return any(variables.get(name) for name in self._agent_variables())

    def _agent_variables(self) -> list[str]:
        names = [name for row in self.rows for name in (*row.session_variables, *row.agent_variables)]
        return [_OWN_VARIABLE, *names]

    def agent_signs(self) -> "AgentSigns":
        """Return how to recognize agents: by variables of Passdown and of hosts, and by programs."""
        from passdown.core.hosts.persons import AgentSigns  # few commands ask who calls them

        programs = frozenset(name for row in self.rows for name in row.programs)
        return AgentSigns(self._agent_variables(), programs)

    def load(self) -> "Iterator[Host]":
        """Return all hosts."""
        return (_load(row) for row in self.rows)

    def find(self, name: str) -> "Host":
        """Return the host with that name; raise a UsageError if there is none."""
        for row in self.rows:
            if name in row.names:
                return _load(row)
        known = ", ".join(row.names[0] for row in self.rows)
        raise UsageError(f"unknown host {name}", hint=f"use one of: {known}")

    def guess(self, payload: Mapping[str, object], variables: Mapping[str, str]) -> "Host":
        """Return the host that called a hook or wrote a transcript.

        1. The host that set one of its own variables.
        2. The only host that uses such a payload member, or such a name for its transcripts.
        3. The first host in the table.
        """
        first, *others = self.load()
        hosts = (first, *others)
        for host in hosts:  # 1
            if any(variables.get(one) for one in host.signs.variables):
                return host
        name = str(payload.get("transcript_path") or "").replace("\\", "/").rpartition("/")[2]
        for host in hosts:  # 2
            signs = host.signs
            is_named = bool(signs.transcript) and name.startswith(signs.transcript)
            if is_named or any(one in payload for one in signs.members):
                return host
        return first  # 3


def _load(row: HostRow) -> "Host":
    from importlib import import_module  # not needed by commands that load no host

    host: Host = import_module(row.module).HOST
    return host


HOSTS: Final = Table(
    HostRow(
        ("claude", "claude-code"),
        "passdown.hosts.claude",
        ("CLAUDE_CODE_SESSION_ID",),
        programs=("claude", "claude-code"),
    ),
    HostRow(
        ("codex",),
        "passdown.hosts.codex",
        ("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
        ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
        ("codex", "codex-linux-sandbox"),
    ),
    HostRow(
        ("copilot",),
        "passdown.hosts.copilot",
        ("COPILOT_AGENT_SESSION_ID",),
        ("COPILOT_CLI",),
        ("copilot",),
    ),
)
