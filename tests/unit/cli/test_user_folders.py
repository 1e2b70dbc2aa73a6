"""Where a machine keeps things: data, hosts' settings, our own program; and running other programs."""

import subprocess
import sys
from pathlib import Path

import pytest

from passdown.engines.files.archive import remove_empty_folders
from passdown.engines.programs import SystemPrograms
from passdown.engines.user_folders import find_data_folder, find_host_folder, find_own_program, read_plugin
from passdown.errors import UsageError
from passdown.hosts.claude.install import INSTALL as CLAUDE
from passdown.hosts.codex.install import INSTALL as CODEX
from passdown.ports.programs import NOT_STARTED, TIMED_OUT, Programs
from tests import timing

MODULE = (sys.executable, "-m", "passdown")


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"HOME": "/home/ada"}, "/home/ada/.local/share/passdown"),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/passdown"),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": "data"}, "/home/ada/.local/share/passdown"),
        ("darwin", {"HOME": "/Users/ada"}, "/Users/ada/Library/Application Support/passdown"),
        ("win32", {"LOCALAPPDATA": "C:/l", "APPDATA": "C:/r"}, "C:/l/passdown"),
        ("win32", {"APPDATA": "C:/r"}, "C:/r/passdown"),
    ],
)
def test_data_lies_where_the_platform_has_it(platform: str, variables: dict[str, str], folder: str) -> None:
    assert find_data_folder(variables, platform) == folder


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_without_a_home_there_is_nowhere_to_install(platform: str) -> None:
    with pytest.raises(UsageError) as found:
        find_data_folder({}, platform)
    assert found.value.hint.startswith("set ")


def test_a_host_may_keep_its_settings_elsewhere() -> None:
    assert find_host_folder(CODEX, {"HOME": "/h"}) == "/h/.codex"
    assert find_host_folder(CODEX, {"HOME": "/h", "CODEX_HOME": "/c"}) == "/c"
    assert find_host_folder(CLAUDE, {"USERPROFILE": "/h", "CLAUDE_CONFIG_DIR": ""}) == "/h/.claude"


def test_our_program_is_found_where_it_was_called(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    link = tmp_path / "passdown"
    link.symlink_to("real")
    link.chmod(0o755)

    assert find_own_program(str(link), str(tmp_path), {}) == (str(link),)
    assert find_own_program("./passdown", str(tmp_path), {}) == (str(link),)
    assert find_own_program("passdown", "/", {"PATH": str(tmp_path)}) == (str(link),)
    (tmp_path / "passdown.exe").write_text("")
    assert find_own_program(str(link), "/", {}, "win32") == (f"{link}.exe",)


@pytest.mark.parametrize("called", ["/x/passdown/__main__.py", "/nowhere/passdown", "passdown"])
def test_where_there_is_no_program_the_module_is_called(called: str) -> None:
    assert find_own_program(called, "/", {"PATH": ""}) == MODULE


def test_the_plugin_comes_with_the_package() -> None:
    assert {".claude-plugin/plugin.json", "hooks/hooks.json", "LICENSE", "README.md"} < set(read_plugin())


def test_a_program_is_run_to_its_end_without_a_shell(tmp_path: Path) -> None:
    programs: Programs = SystemPrograms(str(tmp_path))
    code = "import os, sys; print(os.getcwd(), sys.argv[1], sys.stdin.read()); sys.exit(3)"

    done = programs.run([sys.executable, "-c", code, "$HOME; x"])

    assert (done.code, done.is_done) == (3, False)
    assert done.text == f"{tmp_path} $HOME; x \n"
    assert programs.run([sys.executable, "-c", ""]).is_done


def test_what_a_program_says_is_taken_as_it_comes(tmp_path: Path) -> None:
    code = r"import sys; sys.stderr.buffer.write(b'\xff!')"

    assert SystemPrograms(str(tmp_path)).run([sys.executable, "-c", code]).text == "\ufffd!"


def test_a_program_that_cannot_be_started_is_an_answer(tmp_path: Path) -> None:
    done = SystemPrograms(str(tmp_path)).run([str(tmp_path / "missing")])

    assert done[:2] == (NOT_STARTED, "it could not be started: No such file or directory")


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    done = SystemPrograms(str(tmp_path), seconds=0.1).run([sys.executable, "-c", "while True: pass"])

    assert done[:2] == (TIMED_OUT, "it took longer than 0.1 seconds")


@pytest.mark.timed
@pytest.mark.skipif(sys.platform == "win32", reason="there is no program that sleeps")
def test_the_end_of_a_program_is_seen_at_once(tmp_path: Path) -> None:
    """What we add to it is less than a start of Python; who looks every 50 ms adds four of them."""
    command = ["sleep", "0.066"]
    programs = SystemPrograms(str(tmp_path))
    start = floor = least = float("inf")

    def run() -> None:
        timing.drag_here(timing.take(lambda: programs.run(command))[1].wall)

    for _ in range(timing.MOST_TRIES):
        start = min(start, timing.start_python(1).wall)
        floor = min(
            floor, timing.take(lambda: subprocess.run(command, capture_output=True, check=True))[1].wall
        )
        least = min(least, timing.take(run)[1].wall)

    added = (least - floor) / start
    timing.rule(added <= 1, f"{least * 1000:.1f} ms, {floor * 1000:.1f} ms without us: {added:.2f} P added")


def test_programs_are_found_as_a_shell_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    programs = SystemPrograms(str(tmp_path))

    assert (programs.find("tool"), programs.find("other")) == (str(tmp_path / "tool"), "")


def test_only_folders_without_files_are_removed(tmp_path: Path) -> None:
    for name in ("top/a/b", "top/c", "top/d/e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "top/c/file").write_text("")

    remove_empty_folders(str(tmp_path / "top"))

    assert sorted(path.name for path in (tmp_path / "top").rglob("*")) == ["c", "file"]
    (tmp_path / "top/c/file").unlink()
    remove_empty_folders(str(tmp_path / "top"))
    assert not (tmp_path / "top").exists()
    remove_empty_folders(str(tmp_path / "top"))
