"""Show commands found in documents, ask, and run them without a shell (C102)."""

from collections.abc import Callable, Sequence

from passdown.actions.work.command_runs import RunRequest, ignore_run, run_lines
from passdown.core.safe_text import one_line
from passdown.core.shell_commands import is_whole
from passdown.core.work.plan_commands import CommandLine, read_command_line
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call
from passdown.ports.programs import NOT_STARTED
from passdown.services.work.plan_commands import CommandRun


def agree(lines: Sequence[CommandLine], *, yes: bool, as_json: bool) -> bool:
    """Show lines, and ask whether to run them.

    With --json the lines are part of the answer, which the user has not seen yet, so only --yes can confirm.
    """
    if not as_json:
        for line in lines:
            _show(line)
    return yes or (not as_json and _agrees(sum(not line.refused for line in lines)))


def need_agreement(texts: Sequence[str], *, yes: bool, as_json: bool) -> Sequence[CommandLine]:
    """Show the tests of a document, and ask; raise `PassdownError` if the user did not agree."""
    lines = [read_command_line(text) for text in texts]
    if lines and not agree(lines, yes=yes, as_json=as_json):
        raise PassdownError(
            "the test was not run, so nothing was done", hint="confirm at a terminal, or pass --yes"
        )
    return lines


def choose_teller(*, as_json: bool) -> Callable[[CommandRun], None]:
    """Return the function that reports how each line ended; with --json it prints nothing."""
    return ignore_run if as_json else _tell


def _tell(run: CommandRun) -> None:
    if not run.line.refused:
        output.note(f"{run.ended}: {one_line(run.line.text)}")


def make_test_runner(*, yes: bool, as_json: bool) -> Callable[[str], int | None]:
    """Return a function that runs the test of a handoff, or returns None if that is not possible."""

    def run(text: str) -> int | None:
        if not is_whole(text):
            output.note(f"not running {text}: parts of it were left out when it was shared")
            return None
        lines = need_agreement([text], yes=yes, as_json=as_json)
        request = RunRequest(lines=lines, told=choose_teller(as_json=as_json))
        done = call(run_lines, request, is_first=False).result[0]
        if done.code <= NOT_STARTED:  # or it ran out of time
            return None
        output.draw(done.output)
        return done.code

    return run


def _show(line: CommandLine) -> None:
    if line.refused:
        output.say(output.wrapped(f"not run: {line.text}", "", "  "))
        output.say(output.hint(f"{line.refused}; run it by hand"))
    else:
        output.say(output.wrapped(f"to run: {line.text}", "", "  "))


def _agrees(count: int) -> bool:
    return output.has_person() and output.agrees(
        f"Run {output.counted(count, 'command')}, without a shell?", usual=False
    )
