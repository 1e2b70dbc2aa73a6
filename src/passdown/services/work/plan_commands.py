"""Run commands from documents after the user agreed, and never in a shell (C102)."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from passdown.core.safe_text import one_line, printable
from passdown.core.test_counts import CountedTests, add_counts, count_tests
from passdown.core.work.plan_commands import CommandLine, PlanCommand, is_safe_for_batch
from passdown.ports.programs import ProgramResult, Programs
from passdown.records import record

MOST_OUTPUT: Final = 20_000
"""The most characters of a line's output that are kept."""

_NOT_RUN: Final = -1003
_BATCH: Final = (".bat", ".cmd")


@record
class CommandRun:
    """The result of running a line."""

    line: Annotated[CommandLine, "The line."]
    code: Annotated[int, "The exit code of the first command that failed, or 0; negative if none ended."]
    output: Annotated[str, "The output of its commands; a long one without its middle."] = ""
    counted: Annotated[CountedTests | None, "How many tests ran and passed, if the output says so."] = None

    @property
    def has_passed(self) -> bool:
        """Whether every command of the line exited with 0."""
        return self.code == 0

    @property
    def ended(self) -> str:
        """The result in words."""
        if self.line.refused:
            return "not run"
        if self.code >= 0:
            return f"exit {self.code}"
        return one_line(self.output)[-80:] or f"ended by signal {-self.code}"


def run_command_lines(programs: Programs, lines: Iterable[CommandLine]) -> Iterator[CommandRun]:
    """Run lines one after the other; the caller has shown them, and the user has agreed.

    1. A refused line is not run and counts as failed: a person must run it by hand.
    2. After `&&` a command runs only if the one before exited with 0; after `;` it always runs.
    3. Each command has the time limit of `programs`.
    """
    for line in lines:
        yield _run_line(programs, line)


def _run_line(programs: Programs, line: CommandLine) -> CommandRun:
    if line.refused:  # 1
        return CommandRun(line=line, code=_NOT_RUN, output=line.refused)
    failed = code = 0
    texts: list[str] = []
    for command in line.commands:
        if command.needs_previous and code:  # 2
            continue
        result = _run(programs, command)
        code = result.code
        failed = failed or code
        texts.append(result.text)
    counted = add_counts(map(count_tests, texts))
    return CommandRun(line=line, code=failed, output=cut_output("".join(texts)), counted=counted)


def _run(programs: Programs, command: PlanCommand) -> ProgramResult:
    """Run one command; not a Windows batch file whose arguments its shell could expand."""
    program, *rest = command.words
    found = programs.find(program)
    if found.casefold().endswith(_BATCH) and not is_safe_for_batch(rest):
        return ProgramResult(
            _NOT_RUN, "not run: it is a batch file, and its arguments have special characters"
        )
    return programs.run([found or program, *rest])


def cut_output(text: str) -> str:
    """Return an output without control characters and, if it is long, without its middle."""
    shown = printable(text)
    if len(shown) <= MOST_OUTPUT:
        return shown
    between = f"\n… {len(shown) - MOST_OUTPUT} characters omitted …\n"
    half = (MOST_OUTPUT - len(between)) // 2
    return shown[:half] + between + shown[-half:]
