"""What a reader found wrong, and what it kept although it has no field for it."""

from enum import StrEnum

from passdown.records import record


class Severity(StrEnum):
    """How bad a problem is: an error makes a check fail, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@record
class Problem:
    """One thing that is wrong with a document; nothing is dropped because of it."""

    line: int
    field: str
    problem: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    fixable: bool = False


@record
class Unknown:
    """Text that no field holds, verbatim, with the place it was found in."""

    place: str
    text: str


class Malformed(Exception):  # noqa: N818 - never leaves the readers, so it is no error of ours
    """A value that does not fit its field; the reader turns it into a `Problem`."""

    def __init__(self, problem: str, hint: str = "") -> None:
        """Keep what is wrong and what would be right."""
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def error(line: int, field: str, problem: str, hint: str = "", *, fixable: bool = False) -> Problem:
    """Report something that makes a check fail."""
    return Problem(line=line, field=field, problem=problem, hint=hint, fixable=fixable)


def warning(line: int, field: str, problem: str, hint: str = "", *, fixable: bool = False) -> Problem:
    """Report something worth mending that does not make a check fail."""
    return Problem(
        line=line, field=field, problem=problem, hint=hint, severity=Severity.WARNING, fixable=fixable
    )
