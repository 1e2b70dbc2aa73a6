"""Find problems with a project as a whole, fix what is safe to fix, and sum up what Passdown costs there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, Form, describe
from passdown.actions.callers import Caller
from passdown.actions.project.installs import find_own_program
from passdown.core.problems import Severity
from passdown.core.project.costs import Cost
from passdown.core.project.findings import CacheHealth, Finding, FindingKind
from passdown.core.safe_text import one_line
from passdown.errors import CacheError, PassdownError
from passdown.records import record, replace
from passdown.services.project import doctor
from passdown.services.workspace.workspaces import UNCACHED
from passdown.settings import Settings
from passdown.wiring.health import open_examination
from passdown.wiring.projects import read_settings
from passdown.wiring.workspaces import Outside, open_workspace

_ROUNDS: Final = 3
_LINE: Final = Form(one_line)


def _tell_lines(texts: Sequence[str]) -> list[str]:
    return [one_line(text) for text in texts]


def _tell_path(path: str) -> str | None:
    return one_line(path) or None


_LINES: Final = Form(_tell_lines)


@record
class FoundProblem:
    """One thing that is wrong."""

    code: Annotated[FindingKind, "The kind of finding."]
    severity: Annotated[Severity, "A warning does not make the project unhealthy."]
    what: Annotated[str, "What is wrong.", _LINE]
    where: Annotated[str, "The path that it is about, or null.", Form(_tell_path)]
    hint: Annotated[str, "What to do next.", _LINE]
    fixable: Annotated[bool, "Whether it is safe to fix."]


@record
class HealthReport:
    """What is wrong with a project, and what was fixed."""

    is_healthy: Annotated[bool, "Whether there are no problems, or only warnings."]
    findings: Annotated[tuple[FoundProblem, ...], "What is wrong."]
    mended: Annotated[tuple[str, ...], "What was fixed.", _LINES]
    refused: Annotated[tuple[str, ...], "What could not be fixed, and why.", _LINES]
    examination: Annotated[doctor.Examination, "The examined project.", HIDDEN]
    found: Annotated[tuple[Finding, ...], "The findings, for the fix.", HIDDEN]

    @property
    def fixable(self) -> int:
        """Return how many of the findings can be fixed."""
        return sum(one.fixable for one in self.findings)


@record
class CostsResult:
    """What Passdown costs, as measured by its hooks."""

    skipped: Annotated[int, "How many lines could not be read."]
    costs: Annotated[tuple[Cost, ...], "The cost of each kind of thing that ran."]


def examine(caller: Caller, _: None) -> HealthReport:
    """Find out what is wrong with a project; unreadable settings are a finding, too."""
    root, program = Path(caller.workspace.root), find_own_program(caller)
    try:
        settings, warnings = read_settings(root, caller.around.variables)
    except PassdownError as found:
        examination = open_examination(root, Settings(), program, refused=f"{found.message}: {found.hint}")
    else:
        examination = open_examination(root, settings, program, warnings)
    caller.workspace.on_close(examination.workspace.close)
    return _look(caller, examination)


def _look(caller: Caller, examination: doctor.Examination) -> HealthReport:
    """Examine the project; if the cache fails, examine it again without the cache."""
    try:
        found = doctor.examine(examination, caller.around.progress)
    except CacheError:
        known = examination.workspace
        outside = Outside(variables=caller.around.variables)
        workspace = caller.open_other(Path(known.root), known.settings, outside, UNCACHED)
        examination = replace(examination, workspace=workspace, cache=CacheHealth.UNUSABLE)
        found = doctor.examine(examination, caller.around.progress)
    return HealthReport(
        is_healthy=all(one.severity is Severity.WARNING for one in found),
        findings=tuple(describe(FoundProblem, one, fixable=one.is_fixable) for one in found),
        mended=(),
        refused=(),
        examination=examination,
        found=found,
    )


def mend(caller: Caller, report: HealthReport) -> HealthReport:
    """Fix, then examine again: a fix may cause a new finding, for example an outdated view."""
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        codes = {one.code for one in report.found if one.is_fixable}
        if codes <= tried:
            break
        tried |= codes
        fixed = doctor.fix_findings(report.examination, report.found)
        report = replace(
            _look(caller, report.examination),
            mended=(*report.mended, *fixed.done),
            refused=(*report.refused, *fixed.refused),
        )
    return report


def sum_up_costs(caller: Caller, _: None) -> CostsResult:
    """Sum up what the hooks measured."""
    root = Path(caller.workspace.root)
    settings = read_settings(root, caller.around.variables)[0]
    costs, skipped = doctor.read_costs(
        open_workspace(root, settings, Outside(variables=caller.around.variables))
    )
    return CostsResult(skipped=skipped, costs=tuple(costs))
