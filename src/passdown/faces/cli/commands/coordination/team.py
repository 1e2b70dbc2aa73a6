"""`passdown team`: set a project up for a team."""

import click

from passdown.actions.answers import encode
from passdown.actions.coordination import team as actions
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import say_difference
from passdown.settings import FILE_NAME


@click.group("team", short_help="Set up this project for a team.")
def team() -> None:
    """Set up this project for a team.

    Only several clones need it: sessions in one clone and its worktrees coordinate without.
    """


@team.command(short_help="Create the project's team key.")
@options.write
@click.option("--new-key", is_flag=True, help="Create another key, for a fork that is a project of its own.")
@options.json
def init(*, yes: bool, new_key: bool, as_json: bool) -> int:
    """Create the project's team key, by which a server tells it from others.

    Adds a marked block with a new key to the end of `passdown.toml`; the change is shown first. Commit it, so
    that every clone has the same key.

    Exits with 0 if it is done or the project has a key, and with 1 if the change was shown but not confirmed.
    """
    plan = call(actions.plan_key, actions.KeyRequest(is_new=new_key)).result
    if plan.change is None:
        _say_known(plan, as_json=as_json)
        return 0
    if not as_json:
        say_difference(plan.difference)
    is_asked = not (yes or as_json) and output.has_person()
    if yes or (is_asked and click.confirm("Write this?", default=True, err=True)):
        answer = call(actions.write_key, plan, is_first=False)
        show(answer, _say_written, as_json=as_json)
        return 0
    if as_json:
        output.say_json(encode(plan))
    else:
        output.note_unwritten()
    return 1


def _say_known(plan: actions.KeyPlan, *, as_json: bool) -> None:
    if as_json:
        output.say_json(encode(plan))
    output.note(f"the project already has a team key ({plan.key}); nothing was changed")
    output.note_hint("if this fork is a project of its own, create another with --new-key")


def _say_written(found: actions.KeyPlan) -> None:
    output.say(f"written: {FILE_NAME}")
    if found.is_private:
        output.note_hint("the project is private: set PASSDOWN_PROJECT_KEY to this key in other clones")
    else:
        output.note_hint(f"commit {FILE_NAME}, so that every clone has this key")
    if found.no_server:
        output.note(f"sessions cannot coordinate yet: {found.no_server.message}")
        output.note_hint(found.no_server.hint)
    output.note_hint(
        "run `passdown install HOST --edits` to have a host check with Passdown before it edits a file"
    )


@team.command(short_help="Create or upgrade the tables on the server.")
@click.option("--url", default="", metavar="URL", help="The server, as the role that owns the tables.")
@options.json
def migrate(url: str, *, as_json: bool) -> None:
    """Create or upgrade the tables on a PostgreSQL server that sessions coordinate through.

    The role in the URL must be `passdown_owner`, or be allowed to create it. Do not pass a password: libpq
    finds it in its password file, service file or environment.
    """
    show(
        call(actions.migrate, url),
        lambda found: output.say(f"Database ready (schema {found.schema})."),
        as_json=as_json,
    )
