"""Run every check of a project, and sum up what came of each."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Annotated, Final

from passdown.actions.callers import Caller, ask, open_caller
from passdown.actions.handover.certificates import certify
from passdown.actions.log import archives
from passdown.actions.log.views import verify_view
from passdown.actions.project.checks import CheckCounts, CheckRequest, check_project
from passdown.actions.project.doctor import examine
from passdown.core.problems import Severity
from passdown.errors import OutdatedError, PassdownError
from passdown.records import record

_REFUSED: Final = PassdownError.exit_code


@record
class CheckStep:
    """One of the checks, and what came of it."""

    command: Annotated[str, "The command that does only this, and tells more."]
    exit_code: Annotated[int, "What that command ends with."]
    checked: Annotated[int | None, "How many things it looked at; null if it does not count them."] = None
    problems: Annotated[int, "How many problems it found."] = 0
    warnings: Annotated[int, "How many warnings it gave."] = 0
    trouble: Annotated[str | None, "Why it could not be done."] = None


@record
class Checkup:
    """What came of all checks of a project."""

    exit_code: Annotated[int, "That of the worst: could not be done, found a problem, found an old view."]
    steps: Annotated[Sequence[CheckStep], "Each check, in the order in which they were made."]


def check_all(caller: Caller, _request: None = None) -> Checkup:
    """Run `certify`, `check`, `doctor`, `view verify` and `archive verify`; none stops another."""
    steps = (_certify, _check, _examine, _verify_view, _verify_archive)
    names = ("certify", "check", "doctor", "view verify", "archive verify")
    found = [_try(caller, f"passdown {name}", step) for name, step in zip(names, steps, strict=True)]
    return Checkup(exit_code=max((one.exit_code for one in found), key=_badness), steps=found)


def _badness(exit_code: int) -> tuple[bool, bool, bool, int]:
    """Order exit codes: all is well, an old view, a problem, and what could not be done."""
    is_old = exit_code == OutdatedError.exit_code
    return (
        exit_code != 0,
        not is_old and exit_code != 0,
        exit_code not in {0, _REFUSED} and not is_old,
        exit_code,
    )


def _try(caller: Caller, command: str, step: Callable[[Caller, str], CheckStep]) -> CheckStep:
    try:
        return step(caller, command)
    except PassdownError as found:
        return CheckStep(command=command, exit_code=found.exit_code, trouble=found.message)


def _certify(caller: Caller, command: str) -> CheckStep:
    with closing(_open(caller)) as inner:
        found = ask(certify, inner, "").result
    code = _REFUSED if found.losses else 0
    return CheckStep(command=command, exit_code=code, checked=found.facts, problems=found.unaccounted)


def _check(caller: Caller, command: str) -> CheckStep:
    counts = CheckCounts()
    with closing(_open(caller)) as inner:
        for one in ask(check_project, inner, CheckRequest()).result.files:
            counts.count(one)
    return CheckStep(
        command=command,
        exit_code=_REFUSED if counts.fails(strict=False) else 0,
        checked=counts.checked,
        problems=counts.with_errors,
        warnings=counts.with_warnings,
    )


def _examine(caller: Caller, command: str) -> CheckStep:
    found = examine(caller, None)
    warnings = sum(one.severity is Severity.WARNING for one in found.findings)
    return CheckStep(
        command=command,
        exit_code=0 if found.is_healthy else _REFUSED,
        problems=len(found.findings) - warnings,
        warnings=warnings,
    )


def _verify_view(caller: Caller, command: str) -> CheckStep:
    with closing(_open(caller)) as inner:
        found = ask(verify_view, inner, None).result
    code = 0 if found.is_good else OutdatedError.exit_code if found.is_outdated else _REFUSED
    problems = len(found.findings) or int(code != 0)
    return CheckStep(command=command, exit_code=code, checked=found.events, problems=problems)


def _verify_archive(caller: Caller, command: str) -> CheckStep:
    with closing(_open(caller)) as inner:
        found = ask(archives.verify, inner, None).result
    code = 0 if found.is_good else _REFUSED
    return CheckStep(command=command, exit_code=code, checked=found.events, problems=len(found.problems))


def _open(caller: Caller) -> Caller:
    """Open the project with its settings; `doctor` alone works without them."""
    return open_caller(caller.around, caller.session)
