"""Finds the project that contains a folder: its root and its settings."""

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from passdown import hosts, layout
from passdown.core.documents.conflicts import conflict_problems
from passdown.engines.files import read
from passdown.errors import NoServerError, StorageError, UsageError
from passdown.records import replace
from passdown.settings import (
    FILE_NAME,
    EngineChoice,
    Settings,
    SettingsSource,
    parse_environment,
    parse_settings,
)

if TYPE_CHECKING:
    from passdown.core.hosts.persons import Ancestor


def find_root(start: Path) -> Path:
    """Return the project's root: the nearest `passdown.toml` upward within the repository, else its top.

    Without a repository it is the folder itself (C49). Folders that cannot be read count as missing.
    """
    upward = (start, *start.parents)
    top = next((folder for folder in upward if is_top(str(folder))), start)
    for folder in upward[: upward.index(top) + 1]:
        if os.path.isfile(folder / FILE_NAME):  # is_file() raises without permission
            return folder
    return top


def is_top(folder: str) -> bool:
    """Return whether a folder is the top of a checkout; `.git` is a file in a worktree and in a submodule.

    An empty `.git` does not count: Codex puts one into each folder that commands may write to, such as
    `/tmp`, while a command runs.
    """
    entry = os.path.join(folder, layout.GIT)
    return os.path.isfile(entry) or any(os.path.lexists(f"{entry}/{name}") for name in layout.GIT_PARTS)


def read_settings(root: Path, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Read the user file, the project file and the caller's environment; return the settings and warnings.

    A user file that cannot be read is only a warning, because a sandbox may hide it. Raises `StorageError` if
    the project file cannot be read, and `UsageError` if a file is not TOML or a value is not allowed.
    """
    sources: list[SettingsSource] = []
    unread: list[str] = []
    user_file = find_user_file(variables, sys.platform)
    if user_file is not None:
        try:
            sources += _read_file(os.path.realpath(user_file), str(user_file))  # its links are the user's own
        except StorageError as found:
            unread.append(f"{found.message}; its settings are ignored")
    own = _read_file(os.path.join(root, FILE_NAME), FILE_NAME)
    sources += [source._replace(is_project=True) for source in own]
    sources.append(parse_environment(variables))
    settings, warnings = parse_settings(sources, str(user_file)) if user_file else parse_settings(sources)
    return _without_server(settings, own), (*unread, *warnings)


def _without_server(settings: Settings, own: Sequence[SettingsSource]) -> Settings:
    """Remove the server of the user's own team, in a project with neither key nor team (C159)."""
    team = settings.coordination.team
    if settings.project.key or not team or parse_settings(own)[0].coordination.team:
        return settings
    urls = {**dict(settings.teams.urls), team: ""}
    return replace(settings, teams=replace(settings.teams, urls=tuple(urls.items())))


def find_coordination_url(settings: Settings, variables: Mapping[str, str]) -> str | None:
    """Return the URL of the server that sessions coordinate through (C76, C159).

    It is empty if they coordinate through a file in git's folder, and None if they do not coordinate.

    1. A server tells projects apart by their keys, so a project without a key coordinates in its clone,
       unless it names a team that has a server.
    2. With a key, others may coordinate through a server, so this raises a `NoServerError` if no server is
       named, unless the settings choose the file.
    """
    coordination, key = settings.coordination, settings.project.key
    if coordination.engine is not EngineChoice.AUTO:
        return None if coordination.engine is EngineChoice.OFF else ""
    if not key and not dict(settings.teams.urls).get(coordination.team, coordination.team):  # 1
        return ""
    url = find_server(settings)
    if url and not key:
        hint = "run `passdown team init` to create one, and commit it for the other clones"
        raise UsageError("this project has no team key", hint=hint)
    if url is None:  # 2
        raise _no_server(coordination.team, variables)
    return url


def find_server(settings: Settings) -> str | None:
    """Return the URL of the server that the settings name, or None.

    It is empty if the user has set that the team has no server.
    """
    coordination = settings.coordination
    return coordination.url or dict(settings.teams.urls).get(coordination.team)


def _no_server(team: str, variables: Mapping[str, str]) -> NoServerError:
    """Return an error that names the settings file by its full path, and what to write there."""
    file = find_user_file(variables, sys.platform)
    place = str(file) if file else "your own settings file"
    if team:
        line = f'{team} = "postgresql://host/database"'
        hint = f'write {line} under [teams] in {place}, or "" to coordinate without a server'
        return NoServerError(f"no server is known for the team {team}", hint=hint)
    is_there = file is not None and os.path.exists(file)
    told = f"{place} names no server" if is_there else f"no server is named: there is no {place}"
    hint = (
        'write url = "postgresql://host/database" under [coordination] in it, '
        'or engine = "sqlite" if all sessions use one clone'
    )
    return NoServerError(f"this project has a team key, but {told}", hint=hint)


def open_hosts() -> hosts.Table:
    """Return the table of hosts; each is loaded on demand."""
    return hosts.HOSTS


def list_ancestors() -> "Iterator[Ancestor]":
    """Yield the parent processes of this one, nearest first."""
    from passdown.engines.process import SystemProcesses  # few commands ask who calls them

    return SystemProcesses().list_ancestors()


def find_runtime_folder(root: str, variables: Mapping[str, str]) -> str:
    """Return the folder of local state that the settings name."""
    return read_settings(Path(root), variables)[0].paths.runtime


def find_user_file(variables: Mapping[str, str], platform: str) -> Path | None:
    """Return the path of the user's settings on this platform, or None without a home folder (C69)."""
    path = layout.user_settings(variables, platform)
    return Path(path) if path else None


def _read_file(path: str, name: str) -> list[SettingsSource]:
    """Read one settings file, which must not be a link; a missing file has no settings."""
    if not os.path.lexists(path):
        return []
    try:
        text = read.read(os.path.dirname(path), path, read.SETTINGS).decode("utf-8").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as found:
        raise read.unreadable(name, found) from found
    except UnicodeDecodeError as found:
        raise UsageError(
            f"{name} is not valid TOML: {found}", hint="fix the line that the message names"
        ) from found
    try:
        return [SettingsSource(name, tomllib.loads(text))]
    except tomllib.TOMLDecodeError as found:
        for problem in conflict_problems(text):
            raise UsageError(f"{name}:{problem.line}: {problem.problem}", hint=problem.hint) from found
        raise UsageError(
            f"{name} is not valid TOML: {found}", hint="fix the line that the message names"
        ) from found
