"""Set up a project for a team: create its key, and create or update the tables of its server."""

from pathlib import Path
from typing import Annotated

from passdown.actions.answers import HIDDEN
from passdown.actions.callers import Caller
from passdown.errors import NoServerError
from passdown.records import record, replace
from passdown.services.project import setups
from passdown.services.project.setups import SetupChange, is_private, write_setup
from passdown.wiring import coordination as servers
from passdown.wiring.projects import find_coordination_url, read_settings


@record
class KeyRequest:
    """A request for a project key."""

    is_new: Annotated[bool, "Whether to create another one if it has one."] = False


@record
class KeyPlan:
    """The change that gives a project its key."""

    written: Annotated[bool, "Whether it is written."]
    difference: Annotated[str, "The change as a diff; empty if the project has a key."]
    change: Annotated[SetupChange | None, "The change; None if the project has a key.", HIDDEN]
    key: Annotated[str, "The key that the project has.", HIDDEN]
    is_private: Annotated[bool, "Whether the project keeps all files out of git.", HIDDEN]
    no_server: Annotated[
        NoServerError | None, "Why sessions cannot coordinate once it is written (C159).", HIDDEN
    ] = None


@record
class MigratedServer:
    """The tables of the server after an update."""

    schema: Annotated[int, "The version of their schema."]


@record
class DistributionPlan:
    """What Citus spreads over several servers."""

    written: Annotated[bool, "Whether it is done."]
    workers: Annotated[int, "How many servers of the cluster take rows."]
    tables: Annotated[tuple[str, ...], "The tables on one server alone, which are to be distributed."]
    url: Annotated[str, "The server, as an administrator.", HIDDEN]


def plan_key(caller: Caller, request: KeyRequest) -> KeyPlan:
    """Create a key for the project, unless it has one; nothing is changed yet."""
    change = setups.plan_key(caller.workspace, is_new=request.is_new)
    return KeyPlan(
        written=False,
        difference=change.difference if change else "",
        change=change,
        key=caller.workspace.settings.project.key,
        is_private=is_private(caller.workspace),
    )


def write_key(caller: Caller, planned: KeyPlan) -> KeyPlan:
    """Write the key that was planned; raise a StorageError if the file has changed since."""
    write_setup(caller.workspace, (planned.change,) if planned.change else ())
    try:
        settings, _ = read_settings(Path(caller.workspace.root), caller.around.variables)
        find_coordination_url(settings, caller.around.variables)
    except NoServerError as found:
        return replace(planned, written=True, no_server=found)
    return replace(planned, written=True)


def migrate(caller: Caller, url: str) -> MigratedServer:
    """Create or update the tables of a server; without a URL, of the server in the settings."""
    return MigratedServer(
        schema=servers.migrate_server(servers.find_migrated_url(caller.workspace.settings, url))
    )


def plan_distribution(caller: Caller, url: str) -> DistributionPlan:
    """Return what Citus would distribute; without a URL, on the server in the settings."""
    url = servers.find_migrated_url(caller.workspace.settings, url)
    found = servers.plan_distribution(url)
    return DistributionPlan(written=False, workers=found.workers, tables=found.local, url=url)


def distribute(caller: Caller, planned: DistributionPlan) -> DistributionPlan:
    """Distribute the tables that were planned; those that are distributed stay as they are."""
    del caller
    servers.distribute_server(planned.url)
    return replace(planned, written=True)
