"""Run commands that were found in documents, after somebody saw them and agreed (C102)."""

from collections.abc import Callable, Sequence
from typing import Annotated

from passdown.actions.callers import Caller
from passdown.core.work.plan_commands import CommandLine
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.work.plan_commands import CommandRun, run_command_lines
from passdown.wiring.programs import open_programs


def ignore_run(_: CommandRun) -> None:
    """Say nothing about a command that ended."""


@record
class RunRequest:
    """Commands to run."""

    lines: Annotated[Sequence[CommandLine], "The lines that somebody saw and agreed to."]
    told: Annotated[Callable[[CommandRun], None], "Is told at once how each of them ended."] = ignore_run


def run_lines(caller: Caller, request: RunRequest) -> Sequence[CommandRun]:
    """Run lines one after the other, without a shell."""
    runs: list[CommandRun] = []
    for run in run_command_lines(open_programs(caller.workspace), request.lines):
        request.told(run)
        runs.append(run)
    return runs


def need_agreed(commands: Sequence[str], agreed: Sequence[str]) -> None:
    """Raise a UsageError if somebody agreed to other commands than these."""
    if [*commands] != [*agreed]:
        raise UsageError("the commands changed since they were shown", hint="repeat it to see them")
