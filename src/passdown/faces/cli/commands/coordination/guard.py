"""`passdown guard`: judge a commit before git makes it, or the commits of a branch."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

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
    JudgedCommit,
    PushedRefs,
    PushResult,
    check_commit,
    check_commits,
    check_push,
)
from passdown.services.coordination.guard_installs import GuardPlan, plan_guard, remove_hooks
from passdown.services.project.setups import SetupChange, write_setup
from passdown.services.workspace.documents import Repair
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import find_root, open_hosts, read_settings

_SHOWN = 12
_REF_WORDS = 4
_FRAMEWORK = ("PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF")


@click.group(invoke_without_command=True, short_help="Stop commits of files that another session holds.")
@click.option("--ci", "span", default="", metavar="BASE..HEAD", help="Judge these commits instead.")
@click.option("--push", "is_push", is_flag=True, help="Judge the commits of a push, from git's hook.")
@json_option
@click.pass_context
def guard(context: click.Context, span: str, *, is_push: bool, as_json: bool) -> int:
    """Stop commits of files that another session holds.

    Judges the staged files, and exits with 3 if the commit must not be made. Git runs this before each
    commit and merge, after `passdown guard install`. An agent is stopped, and told who has the file and for
    how long. A person is warned. Whatever goes wrong with the guard itself lets the commit pass. Of a merge,
    only what differs from all its parents is judged.

    With --push, judge the commits that a push adds, which git names on standard input: those that the guard
    has not seen pass are judged by their files, for the session that pushes.

    With --ci, judge commits that were made in the same way, for nobody's session. Exits with 5 if that cannot
    be found out.
    """
    if context.invoked_subcommand is not None:
        return 0
    if is_push:
        return _judge_push(as_json=as_json)
    return _judge_branch(span, as_json=as_json) if span else _judge_staged(as_json=as_json)


def _judge_staged(*, as_json: bool) -> int:
    result = GuardResult()
    try:
        result = _check_projects()
    except PassdownError as found:  # a guard that is broken stops nobody
        output.note(f"the commit was not checked: {found.message}")
    if result.trouble:
        output.note(result.trouble)
    if as_json:
        output.say_json({"passed": not result.is_stopped, "conflicts": as_value(result.conflicts)})
    elif result.conflicts:
        _say_conflicts(result.conflicts)
        if not result.is_stopped:
            _say_goes_on("commit")
    return HELD_CODE if result.is_stopped else 0


def _check_projects() -> GuardResult:
    """Judge the commit for each project that has a staged file; the first that refuses it counts."""
    committer = _find_committer()
    warned = GuardResult()
    for workspace in _open_projects(open_here(), _list_staged):
        result = check_commit(workspace, committer)
        if result.is_stopped:
            return result
        warned = result if result.conflicts or result.trouble else warned
    return warned


def _find_committer() -> Committer:
    hosts = open_hosts()
    return Committer(hosts.session_ids(os.environ), hosts.names_agent(os.environ))


def _list_staged(workspace: Workspace) -> Sequence[str]:
    content = workspace.commit_contents.staged()
    return content.paths if content else ()


def _open_projects(
    project: CliProject, list_paths: Callable[[Workspace], Sequence[str]]
) -> Iterator[Workspace]:
    """Yield the project of the current folder, and those below it that have changed files (C49)."""
    yield project.workspace
    if not _coordinates(project.workspace):
        return
    folders = {os.path.dirname(path) for path in list_paths(project.workspace)}
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
    _say_refused(() if as_json else refused)
    return HELD_CODE if refused else 0


def _judge_push(*, as_json: bool) -> int:
    result = PushResult()
    try:
        result = _check_push(_read_pushed())
    except PassdownError as found:  # a guard that is broken stops nobody
        output.note(f"the push was not checked: {found.message}")
    if as_json:
        output.say_json({"passed": not result.is_stopped, "refused": as_value(result.refused)})
        return HELD_CODE if result.is_stopped else 0
    _say_refused(result.refused)
    if result.refused and not result.is_stopped:
        _say_goes_on("push")
    return HELD_CODE if result.is_stopped else 0


def _check_push(pushed: PushedRefs) -> PushResult:
    """Judge the push for each project that has a changed file; the first that refuses it counts."""

    def list_paths(workspace: Workspace) -> Sequence[str]:
        contents = workspace.commit_contents.commits_pushed(*pushed) or ()
        return [path for content in contents for path in content.paths]

    warned = PushResult()
    for workspace in _open_projects(open_here(), list_paths) if pushed.tips else ():
        result = check_push(workspace, _find_committer(), pushed)
        if result.is_stopped:
            return result
        warned = result if result.refused else warned
    return warned


def _read_pushed() -> PushedRefs:
    """Return what git's pre-push hook is told: local ref and commit, remote ref and commit, in each line.

    The pre-commit framework reads that itself, and says it in variables.
    """
    lines = [line.split() for line in sys.stdin.read().splitlines()] if sys.stdin else []
    refs = [(words[1], words[3]) for words in lines if len(words) == _REF_WORDS]
    told = [os.environ.get(name, "") for name in _FRAMEWORK]
    if not refs and all(told):
        refs = [(told[1], told[0])]
    return PushedRefs([tip for tip, _ in refs if tip.strip("0")], [known for _, known in refs])


def _say_refused(refused: Iterable[JudgedCommit]) -> None:
    for one in refused:
        output.note(f"commit {one.commit[:12]}:")
        _say_conflicts(one.conflicts)


def _say_goes_on(what: str) -> None:
    output.note(f"{what} allowed, because you are a person")
    output.note_hint('to block people too: `people = "stop"` under `[guard]`')


def _say_conflicts(conflicts: Sequence[PathVerdict]) -> None:
    """Say who holds which file, and what can be done instead (R214)."""
    for verdict in conflicts[:_SHOWN]:
        output.note(tell_verdict(verdict))
    if len(conflicts) > _SHOWN:
        output.note(f"and {len(conflicts) - _SHOWN} more")
    for choice in list_verdict_choices(tuple(conflicts)):
        output.note_hint(choice)


@guard.command(short_help="Run the guard before each commit, merge and push of this clone.")
@click.option("--yes", is_flag=True, help="Write without asking. Needed without a terminal.")
def install(*, yes: bool) -> int:
    """Run the guard before each commit, merge and push, in all worktrees of this clone.

    It becomes git's hooks pre-commit, pre-merge-commit and pre-push. Where there is no such hook, one is
    written. In a shell script, a marked block is added below its first line. Both are shown first. Hooks of
    husky, lefthook and pre-commit belong to these tools: the lines to add are printed, and nothing is
    changed.
    """
    workspace = open_sessions()
    plans = plan_guard(workspace)
    for plan in plans:
        if plan.lines:
            _say_lines(plan)
    changes = [plan.change for plan in plans if plan.change is not None]
    if not changes:
        if not any(plan.lines for plan in plans):
            output.note("the guard is already installed; nothing was changed")
        return 0
    for change in changes:
        output.say(_difference(change).rstrip("\n"))
    if not (yes or (output.has_person() and click.confirm("Write this?", default=True, err=True))):
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return 1
    write_setup(workspace, tuple(changes))
    for change in changes:
        output.say(f"written: {change.shown}")
    return 0


@guard.command(short_help="Do not run the guard before commits, merges and pushes any more.")
def uninstall() -> None:
    """Remove the guard from the hooks of this clone; the rest of them stays to the byte."""
    workspace = open_sessions()
    removed = remove_hooks(workspace)
    if removed:
        output.say(f"removed the guard from {', '.join(removed)}")
        return
    output.note("the guard is not installed in this clone; nothing was changed")
    for plan in plan_guard(workspace):
        if plan.lines:
            output.note_hint(f"remove its lines from {plan.place} by hand, if they are there")


def _say_lines(plan: GuardPlan) -> None:
    """Print what a person adds, since the file belongs to a tool."""
    is_hook = plan.owner in {HookOwner.FOLDER, HookOwner.PROGRAM}
    output.note(f"{plan.place} is not changed; add {'a call like this' if is_hook else 'these lines'} to it:")
    for line in plan.lines:
        output.say(line)


def _difference(change: SetupChange) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (change.before or b"", change.after))
    return Repair(path=change.path, before=before, after=after).difference(change.shown)
