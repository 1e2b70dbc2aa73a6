"""Programs that take plugins as the real hosts do: they note them in their settings, in their own layout."""

import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

_SCRIPT: Final = """\
import json, os, sys

name = os.path.basename(sys.argv[0])
words = sys.argv[1:]
home = os.environ["HOME"]
if os.path.exists(os.path.join(home, "refuses")):
    sys.exit("no such luck\\\\n")
with open(os.path.join(home, "asked"), "a") as file:
    file.write(" ".join([name, *words]).replace(home, "~") + "\\\\n")


def edit_json(path):
    data = {}
    if os.path.exists(path) and open(path).read().strip():
        data = json.load(open(path))
    places = data.setdefault("extraKnownMarketplaces", {})
    plugins = data.setdefault("enabledPlugins", {})
    if words[1:3] == ["marketplace", "add"]:
        places["passdown"] = {"source": {"source": "directory", "path": words[3]}}
    elif words[1:3] == ["marketplace", "remove"]:
        del places["passdown"]
    elif words[1] == "install":
        plugins["passdown@passdown"] = True
    elif name == "copilot":
        plugins["passdown@passdown"] = False
    else:
        del plugins["passdown@passdown"]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(json.dumps(dict(sorted(data.items())), indent=2) + "\\\\n")


def edit_toml(path):
    text = open(path).read() if os.path.exists(path) else ""
    place = '\\\\n[marketplaces.passdown]\\\\nsource = "%s"\\\\n'
    plugin = '\\\\n[plugins."passdown@passdown"]\\\\nenabled = true\\\\n'
    if text and not text.endswith("\\\\n"):
        text += "\\\\n"
    if words[1:3] == ["marketplace", "add"]:
        text += place % words[3]
    elif words[1:3] == ["marketplace", "remove"]:
        text = text.partition(place.partition("]")[0])[0]
    elif words[1] == "add":
        text = text.replace(plugin, "") + plugin
    else:
        text = text.replace(plugin, "")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


if name == "codex":
    edit_toml(os.path.join(home, ".codex", "config.toml"))
else:
    edit_json(os.path.join(home, "." + name, "settings.json"))
"""


def write_program(path: Path) -> None:
    """Write a host that takes plugins; its name says which one it is."""
    path.write_text(f"#!{sys.executable} -SE\n" + _SCRIPT.replace("\\\\n", "\\n"), encoding="utf-8")
    path.chmod(0o755)


class FakeHosts:
    """A home with the three hosts on its PATH, and git."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the home and the programs."""
        self.home = folder / "a home"
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        self.home.mkdir()
        for name in ("claude", "codex", "copilot"):
            write_program(self.programs / name)
        (self.programs / "git").symlink_to(shutil.which("git") or "git")
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", str(self.programs))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
            monkeypatch.delenv(name, raising=False)

    def asked(self) -> list[str]:
        """Give what the hosts were asked since the last time."""
        path = self.home / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def refuse(self) -> None:
        """Let the hosts refuse everything."""
        (self.home / "refuses").touch()

    def files(self) -> dict[str, bytes]:
        """Give every file of the home."""
        found = [path for path in self.home.rglob("*") if path.is_file() and path.name != "asked"]
        return {path.relative_to(self.home).as_posix(): path.read_bytes() for path in found}
