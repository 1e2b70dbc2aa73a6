"""The folders and files on this machine that an install touches: host settings, our data, program, plugin."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from passdown import layout
from passdown.core.hosts.installs import HOOKS, PLUGIN
from passdown.engines.files import read
from passdown.errors import UsageError
from passdown.ports.host import Host, Install

_SUFFIX: Final = ".exe"
_NO_HOME: Final = "set HOME to your home folder, then try again"


def find_data_folder(variables: Mapping[str, str], platform: str) -> str:
    """Return the folder for a user's Passdown data on this platform (C69)."""
    if platform == "win32":
        folder = variables.get("LOCALAPPDATA") or variables.get("APPDATA")
        if not folder:
            raise UsageError(
                "no folder for application data: LOCALAPPDATA is not set", hint="set LOCALAPPDATA"
            )
        return os.path.join(folder, layout.OURS)
    if platform == "darwin":
        return os.path.join(_find_home(variables), "Library", "Application Support", layout.OURS)
    shared = variables.get("XDG_DATA_HOME", "")
    if not os.path.isabs(shared):  # the standard says to ignore a relative path
        shared = os.path.join(_find_home(variables), ".local", "share")
    return os.path.join(shared, layout.OURS)


def list_hosts_without_us(hosts: Iterable[Host], variables: Mapping[str, str], platform: str) -> list[Host]:
    """Return the hosts on this machine that do not have the plugin; none if that is unknown."""
    lacking = [host for host, folder in _list_plugins(hosts, variables, platform) if not folder.is_dir()]
    return [
        host for host in lacking if host.load_install and find_program(host.load_install().program, variables)
    ]


def list_hosts_with_us(hosts: Iterable[Host], variables: Mapping[str, str], platform: str) -> list[Host]:
    """Return the hosts that have the plugin; none if that is unknown."""
    return [host for host, folder in _list_plugins(hosts, variables, platform) if folder.is_dir()]


def _list_plugins(
    hosts: Iterable[Host], variables: Mapping[str, str], platform: str
) -> list[tuple[Host, Path]]:
    """Return the folder of each host's plugin; none if there is no folder for our data."""
    try:
        folder = Path(find_data_folder(variables, platform))
    except UsageError:
        return []
    return [(host, folder / layout.plugin_folder(host.name)) for host in hosts]


def find_state_folder(variables: Mapping[str, str], platform: str) -> str:
    """Return the folder for a user's local state, which can be deleted without harm."""
    if platform in {"win32", "darwin"}:
        return find_data_folder(variables, platform)
    state = variables.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(_find_home(variables), ".local", "state")
    return os.path.join(state, layout.OURS)


def find_working_folder(variables: Mapping[str, str]) -> str:
    """Return the folder in which to start programs that do not concern a project."""
    return variables.get("HOME") or variables.get("USERPROFILE") or os.sep


def _find_home(variables: Mapping[str, str]) -> str:
    home = variables.get("HOME") or variables.get("USERPROFILE")
    if not home:
        raise UsageError("no home folder: HOME is not set", hint=_NO_HOME)
    return home


def find_host_folder(install: Install, variables: Mapping[str, str]) -> str:
    """Return the folder of a host's settings."""
    return variables.get(install.variable) or os.path.join(_find_home(variables), install.home)


def find_program(name: str, variables: Mapping[str, str]) -> str:
    """Return the path of a program; empty if it is not on the PATH of the environment."""
    return shutil.which(name, path=variables.get("PATH", os.defpath)) or ""


def find_own_program(
    called: str, folder: str, variables: Mapping[str, str], platform: str = sys.platform
) -> tuple[str, ...]:
    """Return the command that starts this program from any folder, also after an upgrade.

    `called` is how it was called, in that folder and with that environment. A link that an installer made is
    not resolved: the link stays, while its target may move.
    """
    name = os.path.basename(called)
    if os.path.splitext(name)[0] == layout.OURS:
        is_path = bool(os.path.dirname(called))
        path = os.path.normpath(os.path.join(folder, called)) if is_path else find_program(called, variables)
        suffixes = (_SUFFIX, "") if platform == "win32" else ("",)
        for suffix in suffixes:
            if path and os.path.isfile(path + suffix):
                return (path + suffix,)
    return (sys.executable, "-m", layout.OURS)


def read_plugin() -> Mapping[str, bytes]:
    """Read the plugin that comes with the package, as files by path."""
    top = Path(__file__).resolve().parent.parent / "plugin"
    return {path.relative_to(top).as_posix(): read.read_trusted(path) for path in _list_files(top)}


def _list_files(top: Path) -> list[Path]:
    folders = read.walk(top, top, lambda _path, name: name != "__pycache__")
    return sorted(Path(folder, name) for folder, names in folders for name in names)


def read_installed(
    hosts: Iterable[Host], variables: Mapping[str, str], platform: str
) -> list[tuple[Host, Mapping[str, bytes]]]:
    """Read the installed plugin of each host that has one with hooks, as files by path.

    A file that cannot be read is left out: an install may be writing it now.
    """
    found: list[tuple[Host, Mapping[str, bytes]]] = []
    for host, top in _list_plugins(hosts, variables, platform):
        files: dict[str, bytes] = {}
        for path in _list_files(top) if os.path.isfile(top / PLUGIN / HOOKS) else ():
            with suppress(OSError):
                files[path.relative_to(top).as_posix()] = read.read_trusted(path)
        found += [(host, files)] if files else []
    return found


def emptied(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with only what Windows needs to start a program."""
    return {name: text for name, text in variables.items() if name.upper() == "SYSTEMROOT"}
