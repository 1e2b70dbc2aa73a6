"""Where this machine keeps what an install touches: hosts' folders, our own data, our program, the plugin."""

# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH119, PTH120, PTH122 (paths as text, as they are written down)

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from passdown.core.installs import HOOKS, HOSTS, PLUGIN, Host
from passdown.errors import UsageError

_NAME: Final = "passdown"
_SUFFIX: Final = ".exe"
_NO_HOME: Final = "set HOME to your home folder, then repeat"


def find_data_folder(variables: Mapping[str, str], platform: str) -> str:
    """Give the folder for what we keep for a user, where the platform has it (C69)."""
    if platform == "win32":
        folder = variables.get("LOCALAPPDATA") or variables.get("APPDATA")
        if not folder:
            raise UsageError("there is no folder for the data of programs", hint="set LOCALAPPDATA")
        return os.path.join(folder, _NAME)
    if platform == "darwin":
        return os.path.join(_find_home(variables), "Library", "Application Support", _NAME)
    shared = variables.get("XDG_DATA_HOME", "")
    if not os.path.isabs(shared):  # the standard says to ignore such a value
        shared = os.path.join(_find_home(variables), ".local", "share")
    return os.path.join(shared, _NAME)


def list_hosts_without_us(variables: Mapping[str, str], platform: str) -> list[Host]:
    """Name the hosts that are on this machine and do not have the plugin; none where nobody can tell."""
    lacking = [name for name, folder in _list_plugins(variables, platform).items() if not folder.is_dir()]
    return [HOSTS[name] for name in lacking if shutil.which(HOSTS[name].program)]


def _list_plugins(variables: Mapping[str, str], platform: str) -> Mapping[str, Path]:
    """Name the folder of each plugin by its host; none where there is no place for our data."""
    try:
        folder = Path(find_data_folder(variables, platform)) / "plugins"
    except UsageError:
        return {}
    return {name: folder / name for name in HOSTS}


def find_state_folder(variables: Mapping[str, str], platform: str) -> str:
    """Give the folder for what we note on a user's machine, and nobody would miss."""
    if platform in {"win32", "darwin"}:
        return find_data_folder(variables, platform)
    state = variables.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(_find_home(variables), ".local", "state")
    return os.path.join(state, _NAME)


def _find_home(variables: Mapping[str, str]) -> str:
    home = variables.get("HOME") or variables.get("USERPROFILE")
    if not home:
        raise UsageError("there is no home folder", hint=_NO_HOME)
    return home


def find_host_folder(host: Host, variables: Mapping[str, str]) -> str:
    """Give the folder that a host keeps its settings in."""
    return variables.get(host.variable) or os.path.join(_find_home(variables), host.home)


def find_own_program(called: str, platform: str = sys.platform) -> tuple[str, ...]:
    """Give the words that start this program from anywhere, the same after an upgrade in its place.

    The link that a tool for installing made is kept: it stays, while what it points to may move.
    """
    name = os.path.basename(called)
    if os.path.splitext(name)[0] == _NAME:
        path = os.path.abspath(called) if os.path.dirname(called) else shutil.which(called) or ""
        suffixes = (_SUFFIX, "") if platform == "win32" else ("",)
        for suffix in suffixes:
            if path and os.path.isfile(path + suffix):
                return (path + suffix,)
    return (sys.executable, "-m", _NAME)


def read_plugin() -> Mapping[str, bytes]:
    """Read the plugin that came with the package, by path."""
    top = Path(__file__).resolve().parent.parent / "plugin"
    files = sorted(path for path in top.rglob("*") if path.is_file())
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in files}


def read_hooks(variables: Mapping[str, str], platform: str) -> Mapping[str, bytes]:
    """Read the hooks of each host that the plugin was installed into, by the host's name."""
    plugins = _list_plugins(variables, platform)
    paths = {name: folder / PLUGIN / HOOKS for name, folder in plugins.items()}
    return {name: path.read_bytes() for name, path in paths.items() if os.path.isfile(path)}


def emptied(variables: Mapping[str, str]) -> dict[str, str]:
    """Give an environment in which nothing is set but what Windows needs to start a program."""
    return {name: text for name, text in variables.items() if name.upper() == "SYSTEMROOT"}
