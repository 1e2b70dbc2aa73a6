"""Builds what an install into a host needs."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from passdown import layout
from passdown.core.hosts.installs import command_line
from passdown.engines import user_folders
from passdown.engines.files.archive import remove_empty_folders
from passdown.engines.files.write import make_folder
from passdown.engines.programs import SystemPrograms
from passdown.errors import UsageError
from passdown.hosts.plugins import guard_line
from passdown.ports.host import Host
from passdown.services.project.installs import InstallTarget, UserFile
from passdown.settings import Settings
from passdown.wiring.projects import open_hosts
from passdown.wiring.workspaces import Outside, open_documents, open_workspace


class OwnProgram(NamedTuple):
    """How this program was called."""

    called: str
    """Its name or path, as the caller wrote it."""
    folder: str
    """The caller's current folder."""
    variables: Mapping[str, str]
    """The environment of the caller."""


def open_install_target(
    name: str,
    program: OwnProgram,
    instructions: Path | None = None,
    *,
    edits: bool | None = None,
    permits: bool = True,
    project: Path | None = None,
) -> InstallTarget:
    """Build what an install into a host needs; raise a UsageError without a home folder or plugin support."""

    def open_file(path: str) -> UserFile:
        real = Path(os.path.realpath(path))  # a link stays a link
        return UserFile(open_documents(real.parent), real.name, path)

    host = open_hosts().find(name)
    if host.load_install is None:
        raise UsageError(f"{host.title} has no plugin support", hint="set up its hooks by hand")
    install = host.load_install()
    variables = program.variables
    folder = os.path.realpath(user_folders.find_data_folder(variables, sys.platform))
    settings = Path(user_folders.find_host_folder(install, variables)) / install.settings
    root = find_shared_folder(project, variables) if project else ""
    return InstallTarget(
        host=host,
        install=install,
        programs=SystemPrograms(user_folders.find_working_folder(variables), variables=variables),
        data=open_documents(Path(folder)),
        folder=folder.replace(os.sep, "/"),
        settings=open_file(str(settings)),
        plugin=user_folders.read_plugin(),
        line=command_line(
            user_folders.find_own_program(program.called, program.folder, variables), sys.platform
        ),
        can_wrap=sys.platform != "win32",
        open_file=open_file,
        sweep=partial(remove_empty_folders, folder),
        instructions=str(instructions / install.instructions) if instructions else "",
        edits=edits,
        guard=guard_line if sys.platform != "win32" else str,
        permits=permits,
        root=root,
        make_root=partial(make_folder, root),
    )


def find_shared_folder(project: Path, variables: Mapping[str, str]) -> str:
    """Return the folder in git's folder that the sessions of a project share; empty without git."""
    common = open_workspace(project, Settings(), Outside(variables=variables)).repository.common_folder()
    return os.path.realpath(os.path.join(common, layout.OURS)).replace(os.sep, "/") if common else ""


def list_sandbox_targets(program: OwnProgram, project: Path) -> list[InstallTarget]:
    """Return the hosts with the plugin and with a list of writable folders for their sandbox."""
    hosts = user_folders.list_hosts_with_us(open_hosts().load(), program.variables, sys.platform)
    sandboxed = [host for host in hosts if host.load_install and host.load_install().has_writable_roots]
    return [open_install_target(host.name, program, project=project) for host in sandboxed]


def compile_modules() -> None:
    """Compile our modules where the installer did not."""
    from passdown.engines import bytecode

    bytecode.compile_modules()


def list_hosts_without_us(variables: Mapping[str, str]) -> list[Host]:
    """Return the hosts on this machine that do not have the plugin."""
    return user_folders.list_hosts_without_us(open_hosts().load(), variables, sys.platform)


def list_host_states(variables: Mapping[str, str]) -> list[tuple[Host, bool, bool]]:
    """Return each host that takes a plugin, whether its program is here, and whether it has the plugin."""
    hosts = [host for host in open_hosts().load() if host.load_install]
    ours = user_folders.list_hosts_with_us(hosts, variables, sys.platform)
    return [
        (host, bool(user_folders.find_program(host.load_install().program, variables)), host in ours)
        for host in hosts
        if host.load_install
    ]
