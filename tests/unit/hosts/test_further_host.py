"""A further host is one folder outside the package and its row: hooks, commands and install know it then."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown import hosts
from passdown.core.formats.journal import Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.services.sessions.journals import read_accounts
from passdown.settings import FILE_NAME, Settings
from passdown.wiring.installs import OwnProgram, list_hosts_without_us, open_install_target
from passdown.wiring.transcripts import open_source
from tests.hosts import acme
from tests.hosts.fake_hosts import FakeHosts, write_program
from tests.looks import hands_on
from tests.support.commands import Caller, take_answer
from tests.support.gits import make_started
from tests.support.projects import open_checkout, stop_clock

Hook = Callable[..., dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project whose owner agreed, where a further host is known."""
    monkeypatch.setattr(hosts, "HOSTS", hosts.Table(*hosts.HOSTS.rows, acme.ROW))
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hook:
    """Give a way to call hooks as the host does."""

    @hands_on
    def call(event: str, *arguments: str, **told: object) -> dict[str, Any]:
        data = json.dumps({"event": event, "run": "r-1", **told}).encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        capsys.readouterr()
        assert quick.main(list(arguments), HookWork()) == 0
        return take_answer(capsys)

    return call


def read_account(root: Path) -> Account:
    (account,) = read_accounts(open_checkout(root, Settings()), Scope.ALL)
    return account


@pytest.mark.parametrize("arguments", [("--host", "acme"), ()])
def test_its_hooks_brief_a_session_keep_what_it_did_and_end_it(
    root: Path, hook: Hook, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    log = tmp_path / "acme-1.jsonl"
    lines = [{"no": "1", "said": "fix the parser"}, {"no": "2", "wrote": str(root / "a.py")}]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    answer = hook("begin", *arguments)
    assert answer["to"] == "begin"
    assert "passdown brief" in answer["tell"][0]
    assert hook("ask", *arguments) == {}
    assert hook("rest", *arguments, log=str(log)) == {}

    account = read_account(root)
    assert (account.start.host, account.host_sessions) == ("acme", ("r-1",))
    assert account.agent.startswith("acme-")
    assert [entry.text for entry in account.of(FactKind.PROMPT)] == ["fix the parser"]
    assert [entry.text for entry in account.of(FactKind.FILE)] == ["a.py"]
    assert hook("finish", *arguments) == {}
    assert read_account(root).ended_at is not None
    assert not (root / ".git/passdown/hooks.log").exists()


@pytest.mark.requirement("C84")
def test_its_subagents_are_refused_what_their_session_may_do(root: Path, hook: Hook) -> None:
    told = {"uses": "shell", "runs": "bd close bd-1"}

    assert hook("use", "--host", "acme", **told) == {}
    answer = hook("use", "--host", "acme", **told, by="r-2")

    assert (answer["to"], "`bd close` was not run" in answer["stop"]) == ("use", True)
    assert not (root / "conductor").exists()


def test_a_prompt_is_answered_when_something_waits_for_it(root: Path, hook: Hook) -> None:
    hook("begin", "--host", "acme")
    waiting = root / ".git/passdown/waiting/r-1"
    waiting.parent.mkdir(parents=True, exist_ok=True)
    waiting.touch()

    assert "passdown brief" in hook("ask", "--host", "acme")["tell"][0]

    assert not waiting.exists()
    assert hook("ask", "--host", "acme") == {}


def test_a_command_in_its_shell_finds_the_session(
    root: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hook("begin", "--host", "acme")
    hook("", "--host", "claude", hook_event_name="SessionStart", session_id="c-1", source="startup")
    command = Caller(monkeypatch, capsys, root)
    assert command("now", "writing").code == 2

    monkeypatch.setenv("ACME_RUN", "r-1")

    assert command("now", "writing").code == 0
    accounts = read_accounts(open_checkout(root, Settings()), Scope.ALL)
    assert {one.start.host: one.now and one.now.text for one in accounts} == {
        "acme": "writing",
        "claude": None,
    }


def test_it_is_installed_and_taken_out_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = FakeHosts(tmp_path, monkeypatch)
    write_program(home.programs / "acme")
    command = Caller(monkeypatch, capsys, root)
    before = home.files()

    for name in ("acme", "acme-agent"):
        done = command("install", name, "--yes", "--instructions")
        assert (done.code, "installed into Acme Agent" in done.out) == (0, name == "acme")
    hooks_file = home.home / ".local/share/passdown/plugins/acme/passdown/hooks/hooks.json"
    assert " hook --host acme" in hooks_file.read_text()
    assert "passdown goal" in (root / "ACME.md").read_text()
    assert "Acme" not in command("doctor").out

    assert command("uninstall", "acme", "--yes").out.endswith("\nuninstalled from Acme Agent\n")
    assert home.files() == before
    assert not (root / "ACME.md").exists()


def test_its_transcript_is_observed_by_its_name(
    root: Path,
    hook: Hook,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hook("begin", "--host", "acme")
    (tmp_path / "acme-1.jsonl").write_text('{"no": "1", "said": "fix the parser"}\n')

    done = Caller(monkeypatch, capsys, root)("observe", str(tmp_path / "acme-1.jsonl"), "--json")

    assert json.loads(done.out)["prompts"] == 1


def test_a_host_that_takes_no_plugin_and_writes_no_transcript_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = acme.HOST._replace(load_install=None, load_transcripts=None)
    monkeypatch.setattr(acme, "HOST", plain)

    with pytest.raises(UsageError, match="Acme Agent has no plugin support"):
        open_install_target("acme", OwnProgram("passdown", "/", os.environ))
    assert open_source(root, root / "x", plain, may_come=True) is None
    assert list_hosts_without_us(os.environ) == []


def test_nobody_outside_the_table_is_a_host() -> None:
    with pytest.raises(UsageError, match="unknown host acme"):
        hosts.HOSTS.find("acme")
    assert hosts.HOSTS.find("claude-code").name == "claude"


@pytest.mark.parametrize("name", [row.names[0] for row in hosts.HOSTS.rows])
def test_a_host_loads_nothing_of_others_and_reads_no_transcript_unasked(name: str) -> None:
    script = (
        "import sys; from passdown.hosts import HOSTS; HOSTS.find(sys.argv[1]); print(*sorted(sys.modules))"
    )
    plain = {key: text for key, text in os.environ.items() if not key.startswith(("COV", "PYTHON"))}
    command = [sys.executable, "-c", script, name]
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()

    assert {one for one in loaded if one.startswith("passdown.hosts.")} <= {
        f"passdown.hosts.{name}",
        f"passdown.hosts.{name}.hooks",
        "passdown.hosts.hooks",
    }
    assert not {"passdown.core.hosts.transcripts", "passdown.core.hosts.installs", "json"} & set(loaded)
