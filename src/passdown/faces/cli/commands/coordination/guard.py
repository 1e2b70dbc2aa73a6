"""`passdown guard`: judge a commit before git makes it, or the commits of a branch."""

import os
from collections.abc import Iterator, Sequence

import click

from passdown.core.coordination.choices import list_verdict_choices, tell_verdict
from passdown.core.coordination.guard_hooks import HookOwner
from passdown.core.coordination.leases import PathVerdict
from passdown.errors import PassdownError, StorageError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import HELD_CODE, as_value, json_option
from passdown.faces.cli.project import CliProject, open_here
from passdown.faces.cli.sessions import open_sessions
from passdown.services.coordination.guard import (
    Committer,
    GuardResult,
    check_commit,
    check_commits,
)
from passdown.services.coordination.guard_installs import GuardPlan, plan_guard, remove_hook
from passdown.services.project.setups import SetupChange, write_setup
from passdown.services.workspace.documents import Repair
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import find_root, open_hosts, read_settings

_SHOWN = 12


@click.group(invoke_without_command=True, short_help="Stop commits of files that another session holds.")
@click.option("--ci", "span", default="", metavar="BASE..HEAD", help="Judge these commits instead.")
@json_option
@click.pass_context
def guard(context: click.Context, span: str, *, as_json: bool) -> int:
    """Stop commits of files that another session holds.

    Judges the staged files, and exits with 3 if the commit must not be made. Git runs this before each
    commit, after `passdown guard install`. An agent is stopped, and told who has the file and for how long. A
    person is warned. Whatever goes wrong with the guard itself lets the commit pass.

    With --ci, judge commits that were made: those that the guard has not seen pass are judged by their files.
    Exits with 5 if that cannot be found out.
    """
    if context.invoked_subcommand is not None:
        return 0
    return _judge_branch(span, as_json=as_json) if span else _judge_staged(as_json=as_json)


def _judge_staged(*, as_json: bool) -> int:
    result = GuardResult()
    try:
        result = _check_projects()
    except PassdownError as found:  # a guard that is broken stops nobody
        output.note(f"the commit was not judged: {found.message}")
    if result.trouble:
        output.note(result.trouble)
    if as_json:
        output.say_json({"passed": not result.is_stopped, "conflicts": as_value(result.conflicts)})
    elif result.conflicts:
        _say_conflicts(result.conflicts)
        if not result.is_stopped:
            output.note("the commit goes on, because a person makes it; `people` below [guard] can stop it")
    return HELD_CODE if result.is_stopped else 0


def _check_projects() -> GuardResult:
    """Judge the commit for each project that has a staged file; the first that refuses it counts."""
    hosts = open_hosts()
    committer = Committer(hosts.session_ids(os.environ), hosts.names_agent(os.environ))
    warned = GuardResult()
    for workspace in _open_projects(open_here()):
        result = check_commit(workspace, committer)
        if result.is_stopped:
            return result
        warned = result if result.conflicts or result.trouble else warned
    return warned


def _open_projects(project: CliProject) -> Iterator[Workspace]:
    """Yield the project of the current folder, and those below it that have staged files (C49)."""
    yield project.workspace
    if not _coordinates(project.workspace):
        return
    content = project.workspace.commit_contents.staged()
    folders = {os.path.dirname(path) for path in content.paths} if content else set[str]()
    for root in sorted({find_root(project.root / folder) for folder in folders} - {project.root}):
        yield CliProject(root, read_settings(root)[0]).workspace


def _coordinates(workspace: Workspace) -> bool:
    try:
        return workspace.find_coordination() is not None
    except StorageError:  # each project is judged by what can be read
        return True


def _judge_branch(span: str, *, as_json: bool) -> int:
    judged = check_commits(open_sessions(), span)
    refused = [one for one in judged or () if one.conflicts]
    if as_json:
        output.say_json({"passed": not refused, "refused": as_value(refused)})
    elif judged is None:
        output.note("nobody coordinates in this clone; nothing was judged")
    for one in () if as_json else refused:
        output.note(f"commit {one.commit[:12]}:")
        _say_conflicts(one.conflicts)
    return HELD_CODE if refused else 0


def _say_conflicts(conflicts: Sequence[PathVerdict]) -> None:
    """Say who holds which file, and what can be done instead (R214)."""
    for verdict in conflicts[:_SHOWN]:
        output.note(tell_verdict(verdict))
    if len(conflicts) > _SHOWN:
        output.note(f"and {len(conflicts) - _SHOWN} more")
    for choice in list_verdict_choices(tuple(conflicts)):
        output.note_hint(choice)


@guard.command(short_help="Run the guard before each commit of this clone.")
@click.option("--yes", is_flag=True, help="Write without asking. Needed without a terminal.")
def install(*, yes: bool) -> int:
    """Run the guard before each commit, in all worktrees of this clone.

    Without a pre-commit hook, one is written. In a shell script, a marked block is added below its first
    line. Both are shown first. Hooks of husky, lefthook and pre-commit belong to these tools: the lines to
    add are printed, and nothing is changed.
    """
    workspace = open_sessions()
    plan = plan_guard(workspace)
    if plan.lines:
        return _say_lines(plan)
    if plan.change is None:
        output.note("the guard is already installed; nothing was changed")
        return 0
    output.say(_difference(plan.change).rstrip("\n"))
    if not (yes or (output.has_person() and click.confirm("Write this?", default=True, err=True))):
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return 1
    write_setup(workspace, (plan.change,))
    output.say(f"written: {plan.change.shown}")
    return 0


@guard.command(short_help="Do not run the guard before commits any more.")
def uninstall() -> None:
    """Remove the guard from the pre-commit hook of this clone; the rest of it stays to the byte."""
    workspace = open_sessions()
    if remove_hook(workspace):
        output.say("removed the guard from the pre-commit hook")
        return
    output.note("the guard is not in the pre-commit hook; nothing was changed")
    plan = plan_guard(workspace)
    if plan.lines:
        output.note_hint(f"remove its lines from {plan.place} by hand, if they are there")


def _say_lines(plan: GuardPlan) -> int:
    """Print what a person adds, since the file belongs to a tool."""
    is_hook = plan.owner in {HookOwner.FOLDER, HookOwner.PROGRAM}
    output.note(f"{plan.place} is not changed; add {'a call like this' if is_hook else 'these lines'} to it:")
    for line in plan.lines:
        output.say(line)
    return 0


def _difference(change: SetupChange) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (change.before or b"", change.after))
    return Repair(path=change.path, before=before, after=after).difference(change.shown)
