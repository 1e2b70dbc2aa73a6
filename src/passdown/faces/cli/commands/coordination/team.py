"""`passdown team`: set a project up for a team."""

import click

from passdown.core.safe_text import one_line
from passdown.errors import NoServerError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import json_option
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.sessions import open_sessions
from passdown.services.project.setups import SetupChange, is_private, plan_key, write_setup
from passdown.services.workspace.documents import Repair
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.wiring.coordination import migrate_server
from passdown.wiring.projects import find_coordination_url


@click.group("team", short_help="Set this project up for a team.")
def team() -> None:
    """Set this project up for a team.

    Sessions in one clone and its worktrees coordinate without it.
    """


@team.command(short_help="Give the project a key.")
@click.option("--yes", is_flag=True, help="Write without asking. Needed without a terminal.")
@click.option("--new-key", is_flag=True, help="Draw another key, for a fork that is a project of its own.")
@json_option
def init(*, yes: bool, new_key: bool, as_json: bool) -> int:
    """Give the project a key, by which a server tells it from others.

    Adds a marked block with a new key to the end of `passdown.toml`; the change is shown first. Commit it, so
    that every clone has the same key.

    Exits with 0 if it is done or the project has a key, and with 1 if the change was shown but not confirmed.
    """
    workspace = open_sessions()
    change = plan_key(workspace, is_new=new_key)
    if change is None:
        return _say_known(workspace, as_json=as_json)
    if not as_json:
        for line in _difference(change).splitlines():
            output.say(cut(line, width()))
    is_asked = not (yes or as_json) and output.has_person()
    is_agreed = yes or (is_asked and click.confirm("Write this?", default=True, err=True))
    if is_agreed:
        write_setup(workspace, (change,))
    if as_json:
        output.say_json({"written": is_agreed, "difference": _difference(change)})
    else:
        _say_written(workspace, is_written=is_agreed)
    return 0 if is_agreed else 1


def _say_known(workspace: Workspace, *, as_json: bool) -> int:
    if as_json:
        output.say_json({"written": False, "difference": ""})
    output.note(f"the project has the key {workspace.settings.project.key}; nothing was changed")
    output.note_hint("--new-key draws another, for a fork that is a project of its own")
    return 0


def _difference(change: SetupChange) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (change.before or b"", change.after))
    return Repair(path=change.path, before=before, after=after).difference(one_line(change.shown))


def _say_written(workspace: Workspace, *, is_written: bool) -> None:
    if not is_written:
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return
    output.say(f"written: {FILE_NAME}")
    if is_private(workspace):
        output.note_hint("the project is private: set PASSDOWN_PROJECT_KEY to this key in other clones")
    else:
        output.note_hint(f"commit {FILE_NAME}, so that every clone has this key")
    _say_server()
    output.note_hint("`passdown install HOST --edits` lets a host ask Passdown before it edits a file")


def _say_server() -> None:
    """Say how to go on if no server is named yet: nothing is granted until then (C159)."""
    try:
        find_coordination_url(open_sessions().settings)
    except NoServerError as found:
        output.note(f"nothing is granted yet: {found.message}")
        output.note_hint(found.hint)


@team.command(short_help="Bring the tables of the server up to date.")
@click.option("--url", default="", metavar="URL", help="The server, as the role that owns the tables.")
@json_option
def migrate(url: str, *, as_json: bool) -> None:
    """Create the tables that sessions coordinate through on a PostgreSQL server, or bring them up to date.

    The role of the URL must be `passdown_owner`, or be allowed to create it. Passwords are not taken here:
    libpq finds them in its password file, service file or environment.
    """
    version = migrate_server(open_sessions().settings, url)
    if as_json:
        output.say_json({"schema": version})
    else:
        output.say(f"the tables have version {version}")
