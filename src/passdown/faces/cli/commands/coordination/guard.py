"""`passdown guard`: check a commit before git makes it, or the commits of a push or branch."""

import os
import sys
from collections.abc import Iterable, Sequence

import click

from passdown.actions.answers import Answered
from passdown.actions.coordination import guard as actions
from passdown.core.coordination.guard_hooks import HookOwner
from passdown.core.coordination.leases import PathVerdict
from passdown.core.coordination.refusals import list_verdict_choices, tell_verdict
from passdown.errors import PassdownError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, settle, show
from passdown.faces.cli.coordination import HELD_CODE
from passdown.services.coordination.guard import JudgedCommit, PushedRefs
from passdown.services.coordination.guard_installs import GuardPlan
from passdown.services.log.views import REGENERATE

_SHOWN = 12
_REF_WORDS = 4
_FRAMEWORK = ("PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF")


@click.group(invoke_without_command=True, short_help="Block commits of files that another session holds.")
@click.option("--ci", "span", default="", metavar="BASE..HEAD", help="Check these commits instead.")
@click.option("--push", "is_push", is_flag=True, help="Check the commits of a push; git's hook uses this.")
@options.json
@click.pass_context
def guard(context: click.Context, span: str, *, is_push: bool, as_json: bool) -> int:
    """Block commits of files that another session holds.

    Checks the staged files, and exits with 3 to stop the commit. After `passdown guard install`, git runs
    this before each commit and merge. An agent is stopped, and told who holds the file and for how long; a
    person is warned. If the guard itself fails, the commit passes. Of a merge, only what differs from all its
    parents is checked.

    With --push, checks the commits that a push adds (git names them on standard input). Those that the guard
    has not checked yet are checked by their files, for the session that pushes. A branch whose last commit
    has a view that git merged and nobody regenerated is stopped, also if a person pushes it.

    With --ci, checks existing commits in the same way, for no session. Exits with 5 if that is not possible.
    """
    if context.invoked_subcommand is not None:
        return 0
    if is_push:
        return _judge_push(as_json=as_json)
    return _judge_branch(span, as_json=as_json) if span else _judge_staged(as_json=as_json)


def _judge_staged(*, as_json: bool) -> int:
    answer = Answered(actions.StagedVerdict())
    try:
        answer = call(actions.judge_staged, None)
    except PassdownError as found:  # a broken guard stops nobody
        output.note(f"the commit was not checked: {found.message}")
    return 0 if show(answer, _say_staged, as_json=as_json).passed else HELD_CODE


def _say_staged(found: actions.StagedVerdict) -> None:
    if found.conflicts:
        _say_conflicts(found.conflicts)
        if found.passed:
            _print_allowed("commit")


def _judge_branch(span: str, *, as_json: bool) -> int:
    return 0 if show(call(actions.judge_branch, span), _say_branch, as_json=as_json).passed else HELD_CODE


def _say_branch(found: actions.CommitsVerdict) -> None:
    if not found.is_judged:
        output.note("no sessions coordinate in this clone; nothing to check")
    _say_refused(found.refused)


def _judge_push(*, as_json: bool) -> int:
    answer, pushed = Answered(actions.CommitsVerdict()), _read_pushed()
    try:
        answer = call(actions.judge_push, pushed) if pushed.tips else answer
    except PassdownError as found:  # a broken guard stops nobody
        output.note(f"the push was not checked: {found.message}")
    return 0 if show(answer, _say_push, as_json=as_json).passed else HELD_CODE


def _say_push(found: actions.CommitsVerdict) -> None:
    for commit in found.merged_views:
        output.note(f"{found.view} in {commit[:12]} was merged by git and not regenerated")
    if found.merged_views:
        output.note_hint(f"on that branch, run `{REGENERATE}`, and push again")
    _say_refused(found.refused)
    if found.refused and found.passed:
        _print_allowed("push")


def _read_pushed() -> PushedRefs:
    """Return the refs that git passes to its pre-push hook: per line, local and remote ref and commit.

    The pre-commit framework reads those lines itself, and passes them on in variables.
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


def _print_allowed(what: str) -> None:
    output.note(f"{what} allowed, because you are a person")
    output.note_hint('to block people too: `people = "stop"` under `[guard]`')


def _say_conflicts(conflicts: Sequence[PathVerdict]) -> None:
    """Print who holds which file, and what to do instead (R214)."""
    for verdict in conflicts[:_SHOWN]:
        output.note(tell_verdict(verdict))
    if len(conflicts) > _SHOWN:
        output.note(f"and {len(conflicts) - _SHOWN} more")
    for choice in list_verdict_choices(tuple(conflicts)):
        output.note_hint(choice)


@guard.command(short_help="Run the guard before each commit, merge and push of this clone.")
@options.write
def install(*, yes: bool) -> int:
    """Run the guard before each commit, merge and push, in all worktrees of this clone.

    Uses git's hooks pre-commit, pre-merge-commit and pre-push. Writes each hook that is missing, and adds a
    marked block below the first line of one that is a shell script; shows both first. Hooks of husky,
    lefthook and pre-commit belong to these tools: it prints the lines to add, and changes nothing.
    """
    plans = call(actions.plan_install, None).result.plans
    for plan in plans:
        if plan.lines:
            _say_lines(plan)
    changes = tuple(plan.change for plan in plans if plan.change is not None)
    if not changes:
        if not any(plan.lines for plan in plans):
            output.note("the guard is already installed; nothing was changed")
        return 0
    for change in changes:
        output.say(change.difference.rstrip("\n"))
    if not (yes or (output.has_person() and click.confirm("Write this?", default=True, err=True))):
        output.note_unwritten()
        return 1
    answer = call(actions.write_hooks, changes, is_first=False)
    for change in changes:
        output.say(f"written: {change.shown}")
    settle(answer)
    return 0


@guard.command(short_help="Remove the guard from the hooks of this clone.")
def uninstall() -> None:
    """Remove the guard from the hooks of this clone; the rest of each hook stays as it is."""
    answer = call(actions.uninstall, None)
    found = answer.result
    if found.hooks:
        output.say(f"removed the guard from {', '.join(found.hooks)}")
    else:
        output.note("the guard is not installed in this clone; nothing was changed")
    for place in found.by_hand:
        output.note_hint(f"remove its lines from {place} by hand, if they are there")
    settle(answer)


def _say_lines(plan: GuardPlan) -> None:
    """Print the lines that a person must add, because the file belongs to another tool."""
    is_hook = plan.owner in {HookOwner.FOLDER, HookOwner.PROGRAM}
    lines = "a call like this" if is_hook else "these lines"
    output.note(f"{plan.place} is not changed; add {lines} to it:")
    for line in plan.lines:
        output.say(line)
