"""Problems that a reader found, and text that it kept without a field."""

from enum import StrEnum

from passdown.records import record


class Severity(StrEnum):
    """The severity of a problem: an error makes a check fail, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@record
class Problem:
    """One problem in a document; the reader drops nothing because of it."""

    line: int
    field: str
    problem: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    fixable: bool = False


@record
class Unknown:
    """Text that no field holds, verbatim, with the place where it was found."""

    place: str
    text: str


class Malformed(Exception):  # noqa: N818 - never leaves the readers, so it is not an error of ours
    """A value is not valid for its field; the reader turns this into a `Problem`."""

    def __init__(self, problem: str, hint: str = "") -> None:
        """Store the problem and a hint about a valid value."""
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def error(line: int, field: str, problem: str, hint: str = "", *, fixable: bool = False) -> Problem:
    """Make a problem that makes a check fail."""
    return Problem(line=line, field=field, problem=problem, hint=hint, fixable=fixable)


def warning(line: int, field: str, problem: str, hint: str = "", *, fixable: bool = False) -> Problem:
    """Make a problem that is worth fixing but does not make a check fail."""
    return Problem(
        line=line, field=field, problem=problem, hint=hint, severity=Severity.WARNING, fixable=fixable
    )
