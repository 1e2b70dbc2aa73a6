"""The doctor calls what hosts call, in an emptied environment, and says when nobody answers (C71)."""

import json
import os
import sys
from pathlib import Path

import pytest

from passdown.core.hosts.installs import command_line, read_hook_lines, split_line
from passdown.engines import user_folders
from passdown.engines.programs import SystemPrograms
from passdown.hosts import HOSTS
from passdown.hosts.plugins import guard_line
from passdown.services.project.installs import render_files
from tests.support.commands import Caller, Done
from tests.support.gits import make_started

HEALTHY = Done(0, "", "passdown: no problems found\n")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command, in a project that is set up."""
    call = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    assert call("init", "--yes").code == 0
    return call


def install(line: str, host: str = "claude", *, edits: bool = False) -> Path:
    """Write the plugin as an install does; give the file of its hooks."""
    folder = Path(user_folders.find_data_folder(os.environ, sys.platform)) / "plugins" / host
    load = HOSTS.find(host).load_install
    assert load is not None
    for path, data in render_files(load(), user_folders.read_plugin(), line, checks_edits=edits).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder / "passdown" / "hooks" / "hooks.json"


def find(command: Caller, code: str = "hooks") -> list[str]:
    answer = json.loads(command("doctor", "--json").out)
    return [one["what"] for one in answer["findings"] if one["code"] == code]


def python_line(*words: str) -> str:
    return command_line([sys.executable, *words], sys.platform)


def test_hooks_that_answer_are_healthy(command: Caller) -> None:
    install(python_line("-m", "passdown", "hook", "--host", "claude"))

    assert command("doctor") == HEALTHY


@pytest.mark.requirement("C88")
@pytest.mark.parametrize("host", [row.names[0] for row in HOSTS.rows])
@pytest.mark.parametrize("edits", [False, True])
def test_hooks_of_another_version_are_named(command: Caller, host: str, *, edits: bool) -> None:
    line = python_line("-m", "passdown", "hook", "--host", host)
    path = install(line, host, edits=edits)
    assert command("doctor") == HEALTHY
    title = HOSTS.find(host).title
    older = json.loads(path.read_text())
    older["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 5
    path.write_text(json.dumps(older))

    done = command("doctor")

    assert done.code == 0  # they work, but not as this version's would
    told = " ".join(done.out.split())
    assert f"the plugin of {title} is from another version of Passdown: hooks/hooks.json differs" in told
    assert f"run `passdown install {host}` to update it" in told
    assert find(command, "plugin") == [
        f"the plugin of {title} is from another version of Passdown: hooks/hooks.json differs"
    ]
    skill = path.parents[1] / "skills" / "resume" / "SKILL.md"
    skill.unlink()
    (skill.parent / "OLD.md").touch()
    (found,) = find(command, "plugin")
    assert found.endswith(": hooks/hooks.json, skills/resume/OLD.md, skills/resume/SKILL.md differ")


@pytest.mark.skipif(sys.platform == "win32", reason="only some users of Windows can make symbolic links")
def test_files_that_cannot_be_read_are_named_as_differing(command: Caller) -> None:
    path = install(python_line("-m", "passdown", "hook", "--host", "claude"))
    path.rename(path.with_name("kept"))
    path.symlink_to(path.with_name("kept"))

    assert find(command) == []
    assert find(command, "plugin") == [
        "the plugin of Claude Code is from another version of Passdown: hooks/hooks.json, hooks/kept differ"
    ]


def test_a_plugin_of_another_version_that_is_the_same_is_not_named(command: Caller) -> None:
    path = install(python_line("-m", "passdown", "hook", "--host", "claude"))
    about = path.parents[1] / ".claude-plugin" / "plugin.json"
    data = json.loads(about.read_text())
    about.write_text(json.dumps({**data, "version": "0.0.1"}))
    assert command("doctor") == HEALTHY

    about.write_text(json.dumps({**data, "name": "another"}))
    assert len(find(command, "plugin")) == 1
    about.write_text("[")
    assert len(find(command, "plugin")) == 1


@pytest.mark.requirement("C71")
def test_hooks_are_called_with_nothing_in_their_environment(
    command: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING", "1")
    script = tmp_path / "a hook.py"
    script.write_text("import os, sys; sys.exit('SOMETHING' in os.environ or 'HOME' in os.environ)")
    install(python_line(str(script)))
    assert find(command) == []

    script.write_text("import sys; print('nobody home'); sys.exit(3)")
    assert find(command) == [
        f"the hooks of Claude Code do not answer: {python_line(str(script))}: nobody home"
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/nowhere/passdown hook", "it could not be started: "),
        ("passdown-that-is-nowhere hook", "it could not be started: "),
        ('"unfinished', "not a command"),
        (python_line("-c", "raise SystemExit(7)"), "exit code 7"),
    ],
)
def test_hooks_that_do_not_answer_are_named(command: Caller, line: str, reason: str) -> None:
    install(line, "codex")

    (found,) = find(command)

    assert found.startswith(f"the hooks of Codex do not answer: {line}: {reason}")
    done = command("doctor")
    assert done.code == 1
    assert "or run `passdown install codex` again" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "data", [b"", b"[", b"[]", b'{"hooks": []}', b'{"hooks": {"Stop": [{"hooks": [{}]}]}}']
)
def test_hooks_that_cannot_be_read_name_nothing(data: bytes) -> None:
    assert read_hook_lines(data) == ()


def test_the_plugin_as_it_comes_has_one_line() -> None:
    assert read_hook_lines(user_folders.read_plugin()["hooks/hooks.json"]) == (guard_line("passdown hook"),)


@pytest.mark.parametrize("words", [("/a/b", "hook"), ("/a b/c", 'x"y', "$z\\"), ("a",)])
def test_a_line_has_the_words_it_was_written_from(words: tuple[str, ...]) -> None:
    assert split_line(command_line(words, "linux")) == words


def test_without_a_home_no_plugin_was_installed() -> None:
    assert user_folders.read_installed(HOSTS.load(), {}, "linux") == []
    assert user_folders.emptied({"PATH": "x", "SystemRoot": "w"}) == {"SystemRoot": "w"}
    assert SystemPrograms("/").run([sys.executable, "-c", "import os; os.environ['HOME']"]).is_done
