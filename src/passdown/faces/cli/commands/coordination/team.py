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
    if output.is_agreed("Write this?", usual=True, yes=yes, as_json=as_json):
        answer = call(actions.write_key, plan, is_first=False)
        show(answer, _say_written, as_json=as_json)
        return 0
    return _say_unwritten(plan, as_json=as_json)


def _say_unwritten(plan: actions.KeyPlan | actions.DistributionPlan, *, as_json: bool) -> int:
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
@click.option("--distribute", is_flag=True, help="Let Citus distribute the tables over several servers.")
@options.write
@options.json
def migrate(url: str, *, distribute: bool, yes: bool, as_json: bool) -> int:
    """Create or upgrade the tables on a PostgreSQL server that sessions coordinate through.

    The role in the URL must be `passdown_owner`, or be allowed to create it. Do not pass a password: libpq
    finds it in its password file, service file or environment.

    With `--distribute` a database with the extension citus spreads projects over the servers of its cluster;
    what it will do is shown first. That needs a superuser, and only a fleet needs it.

    Exits with 0 if it is done, and with 1 if it was shown but not confirmed.
    """
    migrated = call(actions.migrate, url)
    if not distribute:
        show(migrated, _say_migrated, as_json=as_json)
        return 0
    if not as_json:
        _say_migrated(migrated.result)
    plan = call(actions.plan_distribution, url, is_first=False).result
    if not plan.tables:
        _say_distributed(plan, as_json=as_json)
        return 0
    if not as_json:
        _say_plan(plan)
    if output.is_agreed("Distribute them?", usual=False, yes=yes, as_json=as_json):
        _say_distributed(call(actions.distribute, plan, is_first=False).result, as_json=as_json)
        return 0
    return _say_unwritten(plan, as_json=as_json)


def _say_migrated(found: actions.MigratedServer) -> None:
    output.say(f"Database ready (schema {found.schema}).")


def _say_plan(plan: actions.DistributionPlan) -> None:
    tables, servers = output.counted(len(plan.tables), "table"), output.counted(plan.workers, "server")
    output.say(f"Citus will spread {tables} by project over {servers}, with the rows in them:")
    output.say(output.wrapped(", ".join(plan.tables), "  ", "  "))
    output.say("Commands wait until that is done. Passdown cannot undo it.")


def _say_distributed(plan: actions.DistributionPlan, *, as_json: bool) -> None:
    if as_json:
        output.say_json(encode(plan))
        return
    done = "Distributed" if plan.written else "Already distributed"
    output.say(f"{done} over {output.counted(plan.workers, 'server')}.")
