"""Whether a person runs a command: the order of the signs, and what the system tells about processes."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.actions.callers import Caller, find_person, need_person, open_caller
from passdown.core.hosts.persons import Ancestor, CallerSigns, CommandCaller, decide_caller
from passdown.engines.process import SystemProcesses
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import find_environment
from passdown.hosts import HOSTS
from tests.unit.engines.test_processes import make_proc

KNOWN = HOSTS.agent_signs()
SHELL = Ancestor("bash", ("bash", "-i"), frozenset({"HOME"}))
TERMINAL = CallerSigns("", frozenset({"HOME", "TERM"}), (SHELL,), has_terminal=True)
CLAUDE = Ancestor("claude", ("/usr/bin/claude",))


@pytest.mark.requirement("C122", "C154", through="inside")
@pytest.mark.parametrize(
    ("signs", "because"),
    [
        (TERMINAL, ""),
        (TERMINAL._replace(session="amber"), "--session names amber"),
        (
            TERMINAL._replace(variables=frozenset({"CLAUDE_CODE_SESSION_ID", "PASSDOWN_SESSION"})),
            "PASSDOWN_SESSION is set",
        ),
        (TERMINAL._replace(variables=frozenset({"CODEX_THREAD_ID"})), "CODEX_THREAD_ID is set"),
        (TERMINAL._replace(variables=frozenset({"COPILOT_CLI"})), "COPILOT_CLI is set"),
        (TERMINAL._replace(ancestors=(SHELL, CLAUDE)), "claude started it"),
        (
            TERMINAL._replace(ancestors=(SHELL._replace(variables=frozenset({"CODEX_SESSION_ID"})),)),
            "CODEX_SESSION_ID was set for bash, which started it",
        ),
        (TERMINAL._replace(has_terminal=False), "there is no terminal"),
        (TERMINAL._replace(ancestors=(), has_terminal=False), "there is no terminal"),
        (TERMINAL._replace(variables=frozenset({"AGENT_ID", "THREAD_ID"})), ""),
    ],
)
def test_a_person_is_whoever_sits_at_a_terminal_without_a_sign_of_an_agent(
    signs: CallerSigns, because: str
) -> None:
    assert decide_caller(signs, KNOWN) == CommandCaller(not because, because)


SIGNS = st.builds(
    CallerSigns,
    session=st.sampled_from(["", "amber"]),
    variables=st.frozensets(st.sampled_from(["HOME", "PASSDOWN_SESSION", "CODEX_THREAD_ID"])),
    ancestors=st.lists(st.sampled_from([SHELL, CLAUDE])),
    has_terminal=st.booleans(),
)


@pytest.mark.requirement("C122", through="inside")
@given(SIGNS)
def test_the_first_sign_in_the_order_is_the_reason(signs: CallerSigns) -> None:
    holds = {
        "--session names amber": bool(signs.session),
        "PASSDOWN_SESSION is set": "PASSDOWN_SESSION" in signs.variables,
        "CODEX_THREAD_ID is set": "CODEX_THREAD_ID" in signs.variables,
        "claude started it": CLAUDE in signs.ancestors,
        "there is no terminal": not signs.has_terminal,
    }

    found = decide_caller(signs, KNOWN)

    assert found.because == next((reason for reason, is_so in holds.items() if is_so), "")
    assert found.is_person is not any(holds.values())


@pytest.mark.requirement("C122", through="inside")
@pytest.mark.parametrize(
    ("process", "program"),
    [
        (Ancestor("codex"), "codex"),
        (Ancestor("MainThread", ("node", "/lib/node_modules/.bin/codex", "exec")), "codex"),
        (Ancestor("node", ("node", "/lib/@openai/codex/bin/codex.js")), "codex"),
        (Ancestor("node", ("/usr/bin/node", "--no-warnings", "/lib/@github/copilot/index.js")), "copilot"),
        (Ancestor("node", ("node", "/lib/@anthropic-ai/claude-code/cli.js")), "claude-code"),
        (Ancestor("bun", ("bun", "claude.mjs")), "claude"),
        (Ancestor("claude.exe", ("C:\\Programs\\claude.exe",)), "claude"),
        (Ancestor("renamed", ("/opt/claude",)), "claude"),
        (Ancestor("node", ("node",)), ""),
        (Ancestor("node", ("node", "/home/codex/tool/server.js")), ""),
        (Ancestor("vim", ("vim", "/notes/claude")), ""),
        (Ancestor("bash", ("bash", "/home/claude/bin/shop.sh")), ""),
        (Ancestor("Codex", ("/Applications/Codex.app/Contents/MacOS/Codex",)), ""),
    ],
)
def test_the_programs_of_hosts_are_recognized(process: Ancestor, program: str) -> None:
    signs = TERMINAL._replace(ancestors=(process,))

    assert decide_caller(signs, KNOWN).because == (f"{program} started it" if program else "")


# --- what the system tells ------------------------------------------------------------------------------


def _tell(folder: Path, pid: int, name: str, content: str) -> None:
    (folder / str(pid) / name).write_text(content, encoding="utf-8")


def test_ancestors_are_told_with_command_line_and_names_of_variables(tmp_path: Path) -> None:
    parent = os.getppid()
    processes = make_proc(tmp_path, (parent, "sh", 71, 100), (71, "my (odd) host", 1, 80), (1, "init", 0, 1))
    _tell(tmp_path, parent, "cmdline", "sh\0-c\0passdown answer\0")
    _tell(tmp_path, parent, "environ", "HOME=/h\0CODEX_THREAD_ID=t-1\0EMPTY=\0")

    assert [*processes.list_ancestors()] == [
        Ancestor("sh", ("sh", "-c", "passdown answer"), frozenset({"HOME", "CODEX_THREAD_ID"}), parent),
        Ancestor("my (odd) host", pid=71),
        Ancestor("init", pid=1),
    ]


def test_ancestors_end_where_nothing_is_told_or_a_number_comes_again(tmp_path: Path) -> None:
    parent = os.getppid()
    ended = make_proc(tmp_path / "ended", (parent, "sh", 71, 100))
    again = make_proc(tmp_path / "again", (parent, "sh", 71, 100), (71, "bash", parent, 90))

    assert [one.name for one in ended.list_ancestors()] == ["sh"]
    assert [one.name for one in again.list_ancestors()] == ["sh", "bash"]
    assert [*SystemProcesses("win32").list_ancestors()] == []


def test_elsewhere_on_posix_ancestors_are_told_without_variables() -> None:
    known = {
        (os.getppid(), "comm"): "-zsh",
        (os.getppid(), "ppid"): "71",
        (71, "comm"): "/usr/local/bin/codex",
        (71, "args"): "codex exec",
        (71, "ppid"): "0",
    }
    processes = SystemProcesses("darwin", ask=lambda pid, field: known.get((pid, field), ""))

    assert [*processes.list_ancestors()] == [
        Ancestor("-zsh", pid=os.getppid()),
        Ancestor("codex", ("codex", "exec"), pid=71),
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_real_ancestors_begin_with_the_parent() -> None:
    name = Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()

    assert next(iter(SystemProcesses().list_ancestors())).name == name


# --- where commands ask ---------------------------------------------------------------------------------


def test_a_command_asks_terminal_variables_and_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ancestors = [SHELL]
    for name in KNOWN.variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(SystemProcesses, "list_ancestors", lambda _: iter(ancestors))
    monkeypatch.setattr(output, "has_person", lambda: True)

    def call_as(session: str = "") -> Caller:
        return open_caller(find_environment(tmp_path), session)

    assert find_person(call_as()).is_person
    need_person(call_as(), "take it", hint="ask")
    assert find_person(call_as("amber")).because == "--session names amber"
    ancestors.append(CLAUDE)
    with pytest.raises(UsageError, match="only a person at a terminal may take it: claude started it"):
        need_person(call_as(), "take it", hint="ask")
    monkeypatch.setenv("PASSDOWN_SESSION", "s-1")
    assert find_person(call_as()).because == "PASSDOWN_SESSION is set"
    monkeypatch.setenv("PASSDOWN_SESSION", "")
    assert find_person(call_as()).because == "claude started it"
