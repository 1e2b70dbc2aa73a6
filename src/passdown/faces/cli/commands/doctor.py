"""`passdown doctor`: find problems with the project as a whole, and fix what is safe to fix."""

from collections.abc import Sequence

import click

from passdown.actions.answers import Answered
from passdown.actions.project import doctor
from passdown.core.problems import Severity
from passdown.errors import UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call_bare, show
from passdown.faces.cli.lines import cut, width


@click.command()
@click.option("--fix", is_flag=True, help="Fix what is safe to fix; asks first.")
@click.option("--yes", is_flag=True, help="With --fix: fix without asking. Needed without a terminal.")
@click.option(
    "--cost",
    is_flag=True,
    help="Show the time and context that Passdown takes here, as measured by its hooks.",
)
@options.json
def command(*, fix: bool, yes: bool, cost: bool, as_json: bool) -> int:
    """Find problems with the project as a whole, and fix what is safe to fix.

    Checks the settings, the git rules for Passdown's files, leftovers of killed processes, sessions that did
    not end, journals, the view and its events, clocks, the cache, the documents, and whether the installed
    hooks respond and are those of this version. Without --fix, nothing but the cache is written.

    --fix writes missing rules for git, removes unfinished writes of dead processes, publishes the facts of
    dead sessions, and rebuilds an outdated view. It never deletes anything that a user or an agent wrote.

    Exits with 0 if the project is healthy or has only warnings, and with 1 if there is a problem.
    """
    if yes and not fix:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or remove --yes")
    if cost and fix:
        raise UsageError("--cost and --fix cannot be combined", hint="remove one of them")
    if cost:
        show(call_bare(doctor.sum_up_costs, None), _say_costs, as_json=as_json)
        return 0
    answer = call_bare(doctor.examine, None)
    if not as_json:
        _say_findings(answer.result.findings)
    if fix and answer.result.fixable:
        answer = _mend(answer, yes=yes, as_json=as_json)
    found = show(answer, lambda report: _say_summary(report, is_fixed=fix), as_json=as_json)
    return 0 if found.is_healthy else 1


def _mend(
    answer: Answered[doctor.HealthReport], *, yes: bool, as_json: bool
) -> Answered[doctor.HealthReport]:
    """Fix what is safe to fix, if the user agrees."""
    count = answer.result.fixable
    question = f"Fix {'this' if count == 1 else f'these {count}'}?"
    # With --json the user has not seen the findings yet, so only --yes can confirm.
    is_asked = not (yes or as_json) and output.has_person()
    if yes or (is_asked and output.agrees(question, usual=False)):
        answer = call_bare(doctor.mend, answer.result)
    if not as_json:
        _say_mended(answer.result)
    return answer


def _say_mended(report: doctor.HealthReport) -> None:
    """Print what was fixed, and what is still wrong."""
    if not (report.mended or report.refused):
        output.note("nothing was fixed")
        if not output.has_person():
            output.note_hint("no terminal to ask on; pass --yes to fix without asking")
        return
    for text in report.mended:
        output.say(output.wrapped(f"fixed: {text}", "", "  "))
    for text in report.refused:
        output.note(f"could not fix: {text}")
    _say_findings(report.findings)


def _say_findings(findings: Sequence[doctor.FoundProblem]) -> None:
    for finding in findings:
        mark = " (warning)" if finding.severity is Severity.WARNING else ""
        output.say(output.wrapped(f"{finding.code.value}: {finding.what}{mark}", "", "  "))
        output.say(output.hint(finding.hint))


def _say_summary(report: doctor.HealthReport, *, is_fixed: bool) -> None:
    findings = report.findings
    if not findings:
        output.note("no problems found")
        return
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    parts = [output.counted(len(findings) - warnings, "problem")] if len(findings) > warnings else []
    parts += [output.counted(warnings, "warning")] if warnings else []
    output.note(", ".join(parts))
    if report.fixable and not is_fixed:
        output.note_hint(f"{report.fixable} of them can be fixed with --fix; it asks first")


# --- costs ------------------------------------------------------------------------------------------


def _say_costs(found: doctor.CostsResult) -> None:
    if found.costs:
        output.say(_row(("what", "runs", "p50 ms", "p95 ms", "p50 chars", "p95 chars")))
    for one in found.costs:
        times = (f"{one.p50_ms:.1f}", f"{one.p95_ms:.1f}")
        output.say(_row((one.what, str(one.count), *times, str(one.p50_chars), str(one.p95_chars))))
    if not found.costs:
        output.note("no measurements yet; hooks record them, and none has run here")
    if found.skipped:
        output.note(f"{output.counted(found.skipped, 'line')} skipped: not a measurement")


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    room = max(width() - 11 * len(rest), 10)
    return cut(first, room).ljust(room) + "".join(cell.rjust(11) for cell in rest)
