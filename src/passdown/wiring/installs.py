"""What an install into a host needs."""

import os
import sys
from functools import partial
from pathlib import Path

from passdown.core.hosts.installs import command_line
from passdown.engines import user_folders
from passdown.engines.files.archive import remove_empty_folders
from passdown.engines.programs import SystemPrograms
from passdown.errors import UsageError
from passdown.ports.host import Host
from passdown.services.project.installs import InstallTarget, UserFile
from passdown.wiring.projects import open_hosts
from passdown.wiring.workspaces import open_documents


def open_install_target(
    name: str, called: str, instructions: Path | None = None, *, edits: bool | None = None
) -> InstallTarget:
    """Build what an install into a host needs; raise a UsageError without a home folder or plugin support."""

    def open_file(path: str) -> UserFile:
        real = Path(os.path.realpath(path))  # a link stays a link
        return UserFile(open_documents(real.parent), real.name, path)

    host = open_hosts().find(name)
    if host.load_install is None:
        raise UsageError(f"{host.title} has no plugin support", hint="set up its hooks by hand")
    install = host.load_install()
    folder = os.path.realpath(user_folders.find_data_folder(os.environ, sys.platform))
    settings = Path(user_folders.find_host_folder(install, os.environ)) / install.settings
    return InstallTarget(
        host=host,
        install=install,
        programs=SystemPrograms(os.path.expanduser("~")),  # Path.home() raises without a home folder
        data=open_documents(Path(folder)),
        folder=folder.replace(os.sep, "/"),
        settings=open_file(str(settings)),
        plugin=user_folders.read_plugin(),
        line=command_line(user_folders.find_own_program(called), sys.platform),
        can_wrap=sys.platform != "win32",
        open_file=open_file,
        sweep=partial(remove_empty_folders, folder),
        instructions=str(instructions / install.instructions) if instructions else "",
        edits=edits,
    )


def list_hosts_without_us() -> list[Host]:
    """Return the hosts on this machine that do not have the plugin."""
    return user_folders.list_hosts_without_us(open_hosts().load(), os.environ, sys.platform)
