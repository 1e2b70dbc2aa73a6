"""Run commands that were found in documents, after the user saw them and agreed (C102)."""

from collections.abc import Callable, Sequence
from typing import Annotated

from passdown.actions.callers import Caller
from passdown.core.work.plan_commands import CommandLine
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.work.plan_commands import CommandRun, run_command_lines
from passdown.wiring.programs import open_programs


def ignore_run(_: CommandRun) -> None:
    """Ignore the outcome of a command."""


@record
class RunRequest:
    """Commands to run."""

    lines: Annotated[Sequence[CommandLine], "The lines that the user saw and agreed to."]
    told: Annotated[Callable[[CommandRun], None], "Is called at once with each outcome."] = ignore_run


def run_lines(caller: Caller, request: RunRequest) -> Sequence[CommandRun]:
    """Run lines one after the other, without a shell."""
    runs: list[CommandRun] = []
    for run in run_command_lines(open_programs(caller.workspace), request.lines):
        request.told(run)
        runs.append(run)
    return runs


def need_agreed(commands: Sequence[str], agreed: Sequence[str]) -> None:
    """Raise a UsageError unless the user agreed to exactly these commands."""
    if [*commands] != [*agreed]:
        raise UsageError("the commands changed since they were shown", hint="run it again to see them")
