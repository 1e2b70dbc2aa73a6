"""Commands found in documents: show them, ask, and run them without a shell (C102)."""

from collections.abc import Callable, Sequence

import click

from passdown.core.safe_text import one_line
from passdown.core.shell_commands import is_whole
from passdown.core.work.plan_commands import CommandLine, read_command_line
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.ports.programs import NOT_STARTED
from passdown.services.work.plan_commands import CommandRun, run_command_lines
from passdown.services.workspace.workspaces import Workspace

yes_option = click.option("--yes", is_flag=True, help="Do not ask. Needed without a terminal.")
run_test_option = click.option(
    "--run-test", is_flag=True, help="Run the recorded test, without a shell, if you agree."
)


def agree_and_run(
    workspace: Workspace, lines: Sequence[CommandLine], *, yes: bool, as_json: bool = False
) -> Sequence[CommandRun] | None:
    """Show lines, ask, and run them; return None if the user did not agree.

    With --json the lines are part of the answer, which the user has not seen, so only --yes can agree.
    """
    if not as_json:
        for line in lines:
            _show(line)
    if not (yes or (not as_json and _agrees(sum(not line.refused for line in lines)))):
        return None
    from passdown.wiring.programs import open_programs  # most calls of these commands run nothing

    runs: list[CommandRun] = []
    for run in run_command_lines(open_programs(workspace), lines):
        if not as_json and not run.line.refused:
            output.note(f"{how_it_ended(run)}: {one_line(run.line.text)}")
        runs.append(run)
    return runs


def run_test(workspace: Workspace, text: str, *, yes: bool, as_json: bool) -> CommandRun:
    """Show the test of a document, ask, and run it; raise `PassdownError` if the user did not agree."""
    return run_tests(workspace, [text], yes=yes, as_json=as_json)[0]


def run_tests(
    workspace: Workspace, texts: Sequence[str], *, yes: bool, as_json: bool
) -> Sequence[CommandRun]:
    """Show the tests of a document, ask, and run them; raise `PassdownError` if the user did not agree."""
    if not texts:
        return ()
    runs = agree_and_run(workspace, [read_command_line(text) for text in texts], yes=yes, as_json=as_json)
    if not runs:
        raise PassdownError(
            "the test was not run, so nothing was done", hint="agree at a terminal, or with --yes"
        )
    return runs


def make_test_runner(workspace: Workspace, *, yes: bool, as_json: bool) -> Callable[[str], int | None]:
    """Return what runs the test of a handoff, with its output on stderr; None if it could not be run."""

    def run(text: str) -> int | None:
        if not is_whole(text):
            output.note(f"{text} is not run: parts of it stayed on the machine where it ran")
            return None
        done = run_test(workspace, text, yes=yes, as_json=as_json)
        if done.code <= NOT_STARTED:  # nor stopped after its time
            return None
        output.draw(done.output)
        return done.code

    return run


def how_it_ended(run: CommandRun) -> str:
    """Say how a line ended."""
    if run.line.refused:
        return "not run"
    return (
        f"exit {run.code}" if run.code >= 0 else one_line(run.output)[-80:] or f"ended by signal {-run.code}"
    )


def _show(line: CommandLine) -> None:
    if line.refused:
        output.say(output.wrapped(f"not run: {line.text}", "", "  "))
        output.say(output.hint(f"{line.refused}; run it by hand"))
    else:
        output.say(output.wrapped(f"to run: {line.text}", "", "  "))


def _agrees(count: int) -> bool:
    if not output.has_person():
        return False
    try:
        return click.confirm(f"Run {count} of them, without a shell?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise
