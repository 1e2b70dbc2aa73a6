"""The plugin works in real hosts: installed, briefed, kept, and taken out without a trace.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import passdown
from passdown.core.hosts.installs import command_line, hook_line
from passdown.engines.user_folders import read_plugin
from passdown.hosts import HOSTS
from passdown.hosts.codex.install import INSTALL as CODEX
from passdown.hosts.plugins import MANIFEST, guard_line
from tests.hosts.drivers import ClaudeCode, Codex, Copilot, Ended, Ground
from tests.hosts.fake_hosts import FakeHosts
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import FOLDER, need
from tests.hosts.talks import list_hooks
from tests.support.commands import Terminal
from tests.support.gits import make_started
from tests.support.projects import put

GOAL: Final = "Visitors find the lighthouse by its colour"
SETTINGS: Final = """{
    "model":  "opus",
  "statusLine": {"type": "command", "command": "echo 'mine: '; cat >/dev/null # my own", "padding": 1},
  "permissions": {"allow": ["Bash(ls:*)",
     "Read"]}
}"""
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class World:
    """A home and a project below a folder with a space in its name, and a scripted model."""

    def __init__(self, folder: Path, model: Model) -> None:
        """Make the project, with a session that is over and an empty home."""
        self.model = model
        variables = {"PATH": f"{FOLDER}:{_PATH}", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
        self.ground = Ground(folder=folder, address=model.address, variables=variables)
        self.home = self.ground.home
        self.home.mkdir(parents=True)
        self.program = folder / "my programs" / "passdown"
        self.program.parent.mkdir()
        self.program.symlink_to(Path(sys.executable).parent / "passdown")
        make_started(self.ground.root)
        self.passdown("init", "--yes", "--no-commit")
        self.passdown("goal", GOAL)
        self.passdown("end")
        self._over = self._journal_files()

    def passdown(self, *arguments: str, code: int = 0) -> Ended:
        """Call the command as a person would whose PATH has it."""
        ended = self.ground.run([str(self.program), *arguments])
        assert ended.code == code, ended
        return ended

    def files(self) -> dict[str, bytes]:
        """Give every file of the home, but for what hosts write at every start."""
        ours = [path for path in self.home.rglob("*") if path.is_file() and not _is_noise(path, self.home)]
        return {str(path.relative_to(self.home)): path.read_bytes() for path in ours}

    def journals(self) -> list[str]:
        """Give the journals of sessions that a host began."""
        return [path.read_text() for path in self._journal_files() if path not in self._over]

    def _journal_files(self) -> list[Path]:
        folder = self.ground.root / ".git" / "passdown" / "journal"
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def told(self) -> list[str]:
        """Give what the model was asked, each request as a text; only those of the conversation."""
        return [json.dumps(one) for one in self.model.requests if one.get("tools")]


def _is_noise(path: Path, home: Path) -> bool:
    name = path.relative_to(home).as_posix()
    starts = (
        ".claude/session-env",
        ".claude/backups",
        ".claude/telemetry",
        ".claude/plugins",
        ".claude/projects",
        ".claude.json",
    )
    more = (".codex/plugins", ".codex/.tmp", ".codex/log", ".cache", ".copilot/logs", ".claude/.")
    return name.startswith((*starts, *more)) or name.endswith((".lock", ".sqlite", "-wal", "-shm"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Give a place to install into."""
    need("claude")
    with Model() as model:
        yield World(tmp_path / "a folder", model)


def install(world: World, host: str) -> None:
    """Install, and once more, which changes nothing."""
    shown = world.passdown("install", host, code=1)
    assert "nothing was changed" in shown.err
    said = world.passdown("install", host, "--yes")
    assert f"installed into {HOSTS.find(host).title}" in said.out
    before = world.files()

    again = world.passdown("install", host, "--yes")

    assert "nothing was changed" in again.err
    assert world.files() == before


@pytest.mark.timeout(180)
@pytest.mark.requirement("R80", "R120")
def test_claude_is_briefed_and_its_settings_come_back_to_the_byte(world: World) -> None:
    host = ClaudeCode(need("claude"), world.ground)
    put(world.home, ".claude/settings.json", SETTINGS)
    before = world.files()
    install(world, "claude")
    world.model.prepare([Step(text="Hello.")], str(world.ground.root))

    ended = host.turn("What is the goal?", [])

    assert ended.code == 0, ended
    assert GOAL in world.told()[0]
    assert len(world.journals()) == 1
    assert host.session in world.journals()[0]
    world.passdown("uninstall", "claude", "--yes")
    assert world.files() == before
    assert "does not have the plugin" in world.passdown("uninstall", "claude", "--yes").err


@pytest.mark.timeout(180)
def test_what_the_user_changed_after_the_install_survives(world: World) -> None:
    need("claude")
    put(world.home, ".claude/settings.json", SETTINGS)
    install(world, "claude")
    path = world.home / ".claude" / "settings.json"
    changed = json.loads(path.read_text())
    changed["enabledPlugins"]["other@place"] = True
    path.write_text(json.dumps({**changed, "model": "sonnet", "env": {"A": "1"}}, indent=4))

    world.passdown("uninstall", "claude", "--yes")

    wanted = {**json.loads(SETTINGS), "model": "sonnet", "env": {"A": "1"}}
    assert json.loads(path.read_text()) == {**wanted, "enabledPlugins": {"other@place": True}}
    assert path.read_text().startswith('{\n    "model":  "sonnet",\n  "statusLine": {"type": "command", ')


@pytest.mark.requirement("C71")
@pytest.mark.timeout(180)
def test_the_status_line_shows_ours_and_the_one_that_was_there(world: World) -> None:
    need("claude")
    put(world.home, ".claude/settings.json", SETTINGS)
    install(world, "claude")
    settings = json.loads((world.home / ".claude" / "settings.json").read_text())
    told = {
        "session_id": "abc",
        "workspace": {"current_dir": str(world.ground.root)},
        "context_window": {"used_percentage": 86.4},
    }

    shown = subprocess.run(
        ["/bin/sh", "-c", settings["statusLine"]["command"]],
        input=json.dumps(told),
        env={"HOME": str(world.home), "PATH": _PATH},
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout == "passdown: context 86 %: hand off now\nmine: \n"
    level = world.ground.root / ".git" / "passdown" / "levels" / "abc"
    assert level.read_text().startswith("86 save ")
    assert settings["statusLine"]["padding"] == 1


@pytest.mark.timeout(180)
@pytest.mark.requirement("R80", "R120")
def test_codex_is_briefed_and_its_settings_come_back_to_the_byte(world: World) -> None:
    host = Codex(need("codex"), world.ground)
    before = world.files()
    install(world, "codex")
    world.model.prepare([Step(text="Hello.")], str(world.ground.root))

    ended = host.turn("What is the goal?", ["--dangerously-bypass-hook-trust"])

    assert ended.code == 0, ended
    assert GOAL in world.told()[0]
    assert len(world.journals()) == 1
    assert '"codex' in world.journals()[0]
    world.passdown("uninstall", "codex", "--yes")
    after = world.files()
    assert {name: after.get(name) for name in before} == before
    assert [name for name in after if "passdown" in name] == []


@pytest.mark.timeout(180)
def test_a_newer_version_need_not_be_trusted_again(world: World) -> None:
    program = need("codex")
    install(world, "codex")
    trusted = list_hooks(program, world.ground)
    plugin = {**read_plugin(), "README.md": b"of another version"}
    about = plugin[MANIFEST].replace(b'"version": "', b'"version": "9.')
    folder = world.home / ".local/share/passdown/plugins/codex"

    called = guard_line(hook_line(command_line([str(world.program)], sys.platform), "codex"))
    for path, data in CODEX.render({**plugin, MANIFEST: about}, called).items():
        (folder / path).write_bytes(data)
    world.ground.run([program, "plugin", "add", "passdown@passdown"])

    assert len(trusted) == 7
    assert list_hooks(program, world.ground) == trusted


@pytest.mark.timeout(180)
@pytest.mark.requirement("R80", "R120")
def test_copilot_is_briefed_and_its_settings_come_back_to_the_byte(world: World) -> None:
    host = Copilot(need("copilot"), world.ground)
    put(world.home, ".copilot/settings.json", '{"banner": "never"}')
    install(world, "copilot")
    world.model.prepare([Step(text="Hello.")], str(world.ground.root))

    ended = host.turn("What is the goal?", [])

    assert ended.code == 0, ended
    assert GOAL in world.told()[0]
    assert len(world.journals()) == 1
    world.passdown("uninstall", "copilot", "--yes")
    assert (world.home / ".copilot" / "settings.json").read_text() == '{"banner": "never"}'
    assert not (world.home / ".local" / "share" / "passdown").exists()


@pytest.mark.timeout(180)
def test_the_plugin_is_valid_for_its_own_host(world: World) -> None:
    program = need("claude")
    top = world.ground.folder / "market"
    plugin = top / "src" / "passdown" / "plugin"
    shutil.copytree(Path(passdown.__file__).parent / "plugin", plugin)
    shutil.copytree(Path(__file__).parents[3] / ".claude-plugin", top / ".claude-plugin")

    for folder in (plugin, top):
        ended = world.ground.run([program, "plugin", "validate", "--strict", str(folder)])
        assert (ended.code, "Validation passed" in ended.out) == (0, True), ended
    options = ["--strict", "--profile", "directory"]
    ended = world.ground.run([program, "plugin", "validate", *options, str(plugin)])
    assert ended.code == 0, ended


@pytest.mark.parametrize(
    ("key", "code", "said"), [("y", 0, "installed into Codex"), ("n", 1, "nothing was changed")]
)
def test_at_a_terminal_it_asks_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, code: int, said: str
) -> None:
    hosts = FakeHosts(tmp_path, monkeypatch)

    with Terminal("install", "codex", cwd=tmp_path) as terminal:
        terminal.read_until("Proceed? [Y/n]: ")
        terminal.type(f"{key}\n")
        done = terminal.close()

    assert (done.code, said in done.out) == (code, True)
    assert bool(hosts.asked()) is (key == "y")


def test_a_purge_is_not_agreed_to_by_a_bare_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeHosts(tmp_path, monkeypatch)
    project = make_started(tmp_path / "project")
    put(project.folder, ".conductor/state", "x")

    with Terminal("uninstall", "codex", "--purge", cwd=project.folder) as terminal:
        terminal.read_until("Proceed? [y/N]: ")
        terminal.type("\n")
        done = terminal.close()

    assert done.code == 1
    assert (project.folder / ".conductor/state").exists()
