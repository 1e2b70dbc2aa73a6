"""`passdown install` and `uninstall` show what changes, ask, do it, and say what is left to the person."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from passdown.core.hosts.installs import find_called
from passdown.hosts.copilot import install as copilot
from tests.answers.setup_answers import INIT, INSTALL
from tests.hosts.fake_hosts import FakeHosts
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import put

LINE = f"{sys.executable} -m passdown"
NOT_DONE = "passdown: nothing was changed\n  hint: no terminal to ask on; pass --yes to skip the question\n"


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHosts:
    """Give a home with hosts."""
    return FakeHosts(tmp_path, monkeypatch)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with a commit."""
    return make_started(tmp_path / "project")


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project, hosts: FakeHosts
) -> Caller:
    """Give a way to call the command, in a project."""
    del hosts
    return Caller(monkeypatch, capsys, project.folder)


def test_without_a_terminal_it_shows_and_changes_nothing(command: Caller, hosts: FakeHosts) -> None:
    before = hosts.files()

    done = command("install", "claude")

    folder = f"{hosts.home}/.local/share/passdown"
    assert (done.code, done.err) == (1, NOT_DONE)
    assert hosts.files() == before
    lines = done.out.splitlines()
    assert f"\n+++ {hosts.home}/.claude/settings.json\n" in done.out
    assert lines[-4:] == [
        f"{folder}: 16 plugin files added",
        f"hooks call: {LINE} hook --host claude",
        f'run: claude plugin marketplace add "{folder}/plugins/claude"',
        "run: claude plugin install passdown@passdown",
    ]


def test_without_a_host_it_lists_them_and_says_which_are_here(command: Caller, hosts: FakeHosts) -> None:
    before = hosts.files()

    done = command("install")
    command("install", "codex", "--yes")
    after = command("uninstall")

    assert (done.code, done.out.splitlines()) == (
        0,
        [
            "claude   Claude Code: on this machine, without the plugin",
            "codex    Codex: on this machine, without the plugin",
            "copilot  Copilot: on this machine, without the plugin",
        ],
    )
    assert done.err == "  hint: run `passdown install claude` to add Passdown to it\n"
    assert hosts.files() != before
    assert after.out.splitlines()[1] == "codex    Codex: has the plugin"


def test_a_long_line_of_a_difference_is_shown_whole(command: Caller, hosts: FakeHosts) -> None:
    line = '{"statusLine": {"type": "command", "command": "' + "echo mine; " * 20 + 'true"}}'
    put(hosts.home / ".claude", "settings.json", line)

    done = command("install", "claude")

    assert f"\n-{line}" in done.out


def test_yes_installs_and_again_says_that_nothing_changed(command: Caller, hosts: FakeHosts) -> None:
    done = command("install", "claude", "--yes")

    assert (done.code, done.out.endswith("\ninstalled into Claude Code\n")) == (0, True)
    assert done.err == "  hint: active from your next session, in projects with a passdown.toml\n"
    before = hosts.files()
    again = command("install", "claude")
    assert again == (0, "", "passdown: Claude Code already has the plugin; nothing was changed\n")
    assert hosts.files() == before


def test_codex_leaves_one_step_to_the_person(command: Caller) -> None:
    done = command("install", "codex", "--yes")

    assert done.err == (
        "  hint: start codex, type /hooks, and trust the passdown hooks; until then codex\n"
        "        skips them\n"
    )


def test_uninstall_shows_asks_and_undoes(command: Caller, hosts: FakeHosts) -> None:
    command("install", "copilot", "--yes")

    shown = command("uninstall", "copilot")
    done = command("uninstall", "copilot", "--yes")

    assert (shown.code, shown.err) == (1, NOT_DONE)
    assert "17 plugin files removed" in shown.out
    assert (done.code, done.out.endswith("\nuninstalled from Copilot\n")) == (0, True)
    assert hosts.files() == {}
    again = command("uninstall", "copilot", "--yes")
    assert again == (0, "", "passdown: Copilot does not have the plugin; nothing was changed\n")


def test_what_a_host_refuses_is_told(command: Caller, hosts: FakeHosts) -> None:
    command("install", "claude", "--yes")
    hosts.refuse()

    done = command("uninstall", "claude", "--yes")

    assert done.code == 0
    assert done.err == "passdown: Claude Code refused: no such luck\n" * 2
    assert command("install", "codex", "--yes").code == 1


def test_a_status_line_that_is_left_is_told(command: Caller, hosts: FakeHosts) -> None:
    put(hosts.home, ".claude/settings.json", '{"statusLine": 1}')

    done = command("install", "claude", "--yes")
    again = command("install", "claude", "--yes")

    told = "passdown: the settings have another kind of status line; it was not changed\n"
    assert done.err.startswith(told)
    assert again.err.startswith(told)


@pytest.mark.requirement("C70")
def test_purge_lists_local_data_and_leaves_the_rest(command: Caller, project: Project) -> None:
    put(project.folder, ".git/passdown/journal/s-1.jsonl", "x")
    for number in range(25):
        put(project.folder, f".conductor/x{number}", "x")
    put(project.folder, "passdown.toml", "[nosuch]\n")

    shown = command("uninstall", "claude", "--purge")
    done = command("uninstall", "claude", "--purge", "--yes")

    assert shown.code == 1
    assert shown.out.splitlines()[:2] == [
        "26 local files of this project will be deleted:",
        "  .git/passdown/journal/s-1.jsonl",
    ]
    assert shown.out.splitlines()[-1] == "  and 6 more"
    assert "unknown section [nosuch]" in shown.err
    assert done.out.endswith("deleted 26 local files of this project\n")
    assert not (project.folder / ".git/passdown/journal/s-1.jsonl").exists()
    assert (project.folder / "passdown.toml").exists()


@pytest.mark.requirement("C71")
def test_instructions_are_written_only_when_asked_for(command: Caller, project: Project) -> None:
    command("install", "codex", "--yes")
    assert not (project.folder / "AGENTS.md").exists()

    done = command("install", "codex", "--yes", "--instructions")

    assert "+<!-- >>> passdown >>> -->" in done.out.splitlines()
    assert "passdown brief" in (project.folder / "AGENTS.md").read_text()
    command("uninstall", "codex", "--yes")
    assert not (project.folder / "AGENTS.md").exists()


def read_tools(hosts: FakeHosts, host: str) -> list[dict[str, Any]]:
    """Give the hooks before a tool."""
    path = hosts.home / f".local/share/passdown/plugins/{host}/passdown/hooks/hooks.json"
    groups: list[dict[str, Any]] = json.loads(path.read_text())["hooks"].get("PreToolUse", [])
    return groups


@pytest.mark.requirement("C88")
@pytest.mark.parametrize("host", ["claude", "codex", "copilot"])
def test_edits_are_judged_only_where_somebody_asked_for_it(
    command: Caller, hosts: FakeHosts, host: str
) -> None:
    command("install", host, "--yes")
    before = hosts.files()
    assert read_tools(hosts, host) == []

    done = command("install", host, "--edits", "--yes")

    assert done.code == 0
    assert f"hooks call: {LINE} hook --host {host}, also before edits and commands\n" in done.out
    assert "1 plugin file changed" in done.out
    edits, *commands = read_tools(hosts, host)
    assert edits["matcher"] == "Edit|Write|MultiEdit|NotebookEdit|apply_patch"
    assert {one["matcher"] for one in commands} == {"Bash"}
    conditions = [one["hooks"][0].get("if") for one in commands]
    assert conditions == (["Bash(bd *)", "Bash(passdown *)"] if host == "claude" else [None])
    lines = {find_called(call["command"]) for one in (edits, *commands) for call in one["hooks"]}
    assert lines == {f"{LINE} hook --host {host}"}
    with_edits = hosts.files()
    again = command("install", host)  # leaves it as it is
    assert (again.code, hosts.files()) == (0, with_edits)
    assert command("install", host, "--no-edits", "--yes").code == 0
    assert hosts.files() == before


def test_a_host_that_does_not_ask_before_an_edit_says_so(
    command: Caller, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copilot, "INSTALL", copilot.INSTALL._replace(edit_hooks=()))

    done = command("install", "copilot", "--edits", "--yes")

    assert (done.code, done.err) == (
        2,
        "passdown: Copilot has no hook before an edit\n  hint: leave out --edits\n",
    )
    assert hosts.files() == {}


def test_hooks_that_cannot_be_read_are_written_without_edits(command: Caller, hosts: FakeHosts) -> None:
    command("install", "claude", "--edits", "--yes")
    path = hosts.home / ".local/share/passdown/plugins/claude/passdown/hooks/hooks.json"
    path.write_text("{")

    assert command("install", "claude", "--yes").code == 0

    assert read_tools(hosts, "claude") == []


def test_an_install_with_edits_is_undone_as_any_other(command: Caller, hosts: FakeHosts) -> None:
    before = hosts.files()

    answer = json.loads(command("install", "codex", "--edits", "--yes", "--json").out)

    assert answer["edits"] is True
    assert command("uninstall", "codex", "--yes").code == 0
    assert hosts.files() == before


def test_json_tells_what_would_be_done_and_only_yes_does_it(command: Caller) -> None:
    for arguments, code, is_done, count in (([], 1, False, 2), (["--yes"], 0, True, 2), ([], 0, False, 0)):
        done = command("install", "codex", "--json", *arguments)
        answer = json.loads(done.out)
        jsonschema.validate(answer, INSTALL)
        assert (done.code, answer["done"], len(answer["commands"])) == (code, is_done, count)
        assert answer["line"] == f"{LINE} hook --host codex"

    answer = json.loads(command("uninstall", "codex", "--json", "--yes").out)
    jsonschema.validate(answer, INSTALL)
    assert (answer["step"], answer["commands"][0][1:]) == ("", ["plugin", "remove", "passdown@passdown"])


def test_a_program_that_was_started_for_once_is_warned_about(
    command: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0" / "x" / "python"))

    done = command("install", "claude")

    assert done.err.startswith("passdown: passdown runs from a temporary path that may soon be gone\n")


def test_a_host_that_nobody_knows_is_refused(command: Caller) -> None:
    assert command("install", "emacs").code == 2


def test_a_project_with_a_space_in_its_path_can_be_shown(command: Caller, hosts: FakeHosts) -> None:
    done = command("install", "copilot", "--yes")

    assert f'run: copilot plugin marketplace add "{hosts.home}' in done.out


# --- what agents are allowed ----------------------------------------------------------------------


@pytest.mark.requirement("C71")
def test_claude_code_is_offered_rules_for_the_commands_that_record(command: Caller, hosts: FakeHosts) -> None:
    put(hosts.home, ".claude/settings.json", '{"permissions": {"deny": ["Bash(rm:*)"]}}')
    before = hosts.files()

    shown = command("install", "claude")
    command("install", "claude", "--yes")

    lines = shown.out.splitlines()
    assert '+      "Bash(passdown now:*)",' in lines
    assert "Bash(passdown gate" not in shown.out
    allowed = json.loads((hosts.home / ".claude/settings.json").read_text())["permissions"]
    assert allowed["deny"] == ["Bash(rm:*)"]
    assert "Bash(passdown rule-out:*)" in allowed["allow"]
    assert "Bash(passdown:*)" not in allowed["allow"]
    assert command("uninstall", "claude", "--yes").code == 0
    assert hosts.files() == before


def test_the_log_is_allowed_and_a_retraction_is_not(command: Caller, hosts: FakeHosts) -> None:
    command("install", "claude", "--yes")
    settings = hosts.home / ".claude/settings.json"
    allowed = [one for one in json.loads(settings.read_text())["permissions"]["allow"] if " log" in one]

    assert sorted(allowed) == [
        "Bash(passdown log --json)",
        "Bash(passdown log --sessions)",
        "Bash(passdown log show:*)",
        "Bash(passdown log)",
    ]


def test_an_uninstall_removes_the_rules_of_earlier_versions(command: Caller, hosts: FakeHosts) -> None:
    before = hosts.files()
    command("install", "claude", "--yes")
    settings = hosts.home / ".claude/settings.json"
    former = settings.read_text().replace("Bash(passdown log show:*)", "Bash(passdown log:*)")
    settings.write_text(former)

    assert command("uninstall", "claude", "--yes").code == 0

    assert hosts.files() == before


def test_whoever_does_not_want_rules_is_given_none(command: Caller, hosts: FakeHosts) -> None:
    assert command("install", "claude", "--no-permissions", "--yes").code == 0

    assert "permissions" not in json.loads((hosts.home / ".claude/settings.json").read_text())


def writable(hosts: FakeHosts) -> list[str]:
    """Give the folders that the sandbox of Codex may write."""
    settings = tomllib.loads((hosts.home / ".codex/config.toml").read_text())
    roots: list[str] = settings.get("sandbox_workspace_write", {}).get("writable_roots", [])
    return roots


@pytest.mark.requirement("C158")
def test_the_sandbox_of_codex_is_told_the_folder_of_this_project(
    command: Caller, hosts: FakeHosts, project: Project
) -> None:
    put(hosts.home, ".codex/config.toml", "model = 'x'\n")
    put(project.folder, "passdown.toml", "")
    before = hosts.files()
    root = project.folder / ".git" / "passdown"

    shown = command("install", "codex")
    assert not root.exists()
    done = command("install", "codex", "--yes")

    assert "+[sandbox_workspace_write]" in shown.out.splitlines()
    assert done.code == 0
    assert writable(hosts) == [str(root)]
    assert root.is_dir()  # where it is missing, the sandbox does not even start
    assert command("install", "codex").err == "passdown: Codex already has the plugin; nothing was changed\n"
    assert command("uninstall", "codex", "--yes").code == 0
    assert hosts.files() == before


@pytest.mark.requirement("C158")
def test_outside_of_a_project_and_without_permissions_no_folder_is_told(
    command: Caller, hosts: FakeHosts, project: Project
) -> None:
    command("install", "codex", "--yes")
    assert writable(hosts) == []
    put(project.folder, "passdown.toml", "")

    assert command("install", "codex", "--no-permissions").code == 0
    assert writable(hosts) == []
    assert command("install", "codex", "--yes").code == 0
    assert len(writable(hosts)) == 1


@pytest.mark.requirement("C158")
def test_init_tells_the_sandbox_of_a_host_that_has_the_plugin(
    command: Caller, hosts: FakeHosts, project: Project
) -> None:
    put(hosts.home, ".codex/config.toml", "model = 'x'\n")
    before = hosts.files()
    command("install", "codex", "--yes")
    installed = hosts.files()

    shown = command("init")
    assert (shown.code, hosts.files()) == (1, installed)
    done = command("init", "--yes")

    assert "+[sandbox_workspace_write]" in shown.out.splitlines()
    assert done.out.endswith(f"written: {hosts.home}/.codex/config.toml\n")
    assert writable(hosts) == [str(project.folder / ".git" / "passdown")]
    assert (project.folder / ".git" / "passdown").is_dir()
    assert command("init").err == "passdown: project is already set up; nothing was changed\n"
    assert command("uninstall", "codex", "--yes").code == 0
    assert hosts.files() == before


@pytest.mark.requirement("C158")
def test_init_tells_it_also_where_the_project_is_set_up_already(
    command: Caller, hosts: FakeHosts, project: Project
) -> None:
    command("init", "--yes")
    command("install", "codex", "--yes", "--no-permissions")
    assert [one["code"] for one in json.loads(command("doctor", "--json").out)["findings"]] == [
        "sandbox",
    ]

    answer = json.loads(command("init", "--yes", "--json").out)

    jsonschema.validate(answer, INIT)
    assert [one["path"] for one in answer["changes"]] == [f"{hosts.home}/.codex/config.toml"]
    assert writable(hosts) == [str(project.folder / ".git" / "passdown")]
    assert json.loads(command("doctor", "--json").out)["findings"] == []


def test_settings_of_a_host_that_cannot_be_read_do_not_stop_init(command: Caller, hosts: FakeHosts) -> None:
    command("install", "codex", "--yes")
    put(hosts.home, ".codex/config.toml", "[")

    done = command("init", "--yes")

    assert done.code == 0
    assert f"{hosts.home}/.codex/config.toml: " in " ".join(done.err.split())
    assert "sandbox" not in [one["code"] for one in json.loads(command("doctor", "--json").out)["findings"]]


def test_settings_of_another_form_are_told_at_init(command: Caller, hosts: FakeHosts) -> None:
    command("install", "codex", "--yes")
    path = hosts.home / ".codex/config.toml"
    path.write_text("sandbox_workspace_write = {network_access = true}\n" + path.read_text())
    before = path.read_text()

    done = command("init", "--yes")

    assert done.code == 0
    assert "to writable_roots under [sandbox_workspace_write] yourself" in " ".join(done.err.split())
    assert path.read_text() == before


def test_a_plugin_that_another_source_gave_is_not_touched_by_init(command: Caller, hosts: FakeHosts) -> None:
    command("install", "codex", "--yes")
    path = hosts.home / ".codex/config.toml"
    path.write_text(path.read_text().replace("plugins/codex", "elsewhere"))

    assert command("init", "--yes").code == 0

    assert writable(hosts) == []
