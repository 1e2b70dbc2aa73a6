"""`passdown doctor`: find problems with the project as a whole, and fix what is safe to fix."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from passdown.actions.answers import Answered
from passdown.actions.project import doctor
from passdown.core.problems import Severity
from passdown.errors import OutdatedError, UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call_bare, show
from passdown.faces.cli.lines import cut, width

if TYPE_CHECKING:  # most calls examine the project alone
    from passdown.actions.project.checkups import CheckStep, Checkup

_CHECKED: Final = MappingProxyType(
    {
        "passdown certify": "fact",
        "passdown check": "document",
        "passdown view verify": "event",
        "passdown archive verify": "archived event",
    }
)
"""What each check counts."""


@click.command()
@click.option("--fix", is_flag=True, help="Fix what is safe to fix; asks first.")
@click.option("--yes", is_flag=True, help="With --fix: fix without asking. Needed without a terminal.")
@click.option(
    "--cost",
    is_flag=True,
    help="Show the time and context that Passdown costs here, as its hooks measured it.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Run every check: certify, check, doctor, view verify, archive verify.",
)
@options.json
def command(*, fix: bool, yes: bool, cost: bool, everything: bool, as_json: bool) -> int:
    """Find problems in this project, and fix what is safe to fix.

    Checks the settings, the git rules for Passdown's files, leftovers of killed processes, crashed sessions,
    journals, the view and its events, clocks, the cache, the documents, and whether the installed hooks
    respond and are those of this version. Without --fix, writes nothing but the cache.

    --fix writes missing git rules, removes unfinished writes of dead processes, publishes the facts of
    crashed sessions, and rebuilds an outdated view. It never deletes anything that a user or an agent wrote.

    --all runs every check that Passdown has, and says in one line each what came of it; the command at the
    start of the line tells more.

    Exits with 0 if the project is healthy or has only warnings, and with 1 if there is a problem. With --all,
    exits as the worst of the checks does: 4 if the view is only outdated, 1 if there is a problem, and with
    the code of its error if a check could not be made.
    """
    _refuse_contradictions({"--all": everything, "--cost": cost, "--fix": fix}, yes=yes)
    if everything:
        return _run_all(as_json=as_json)
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


def _refuse_contradictions(given: Mapping[str, bool], *, yes: bool) -> None:
    """Raise a UsageError if two options exclude each other."""
    chosen = [name for name, is_given in given.items() if is_given]
    if yes and not given["--fix"]:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or remove --yes")
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} cannot be combined", hint="remove one of them")


def _mend(
    answer: Answered[doctor.HealthReport], *, yes: bool, as_json: bool
) -> Answered[doctor.HealthReport]:
    """Fix what is safe to fix, if the user agrees."""
    count = answer.result.fixable
    question = f"Fix {'this' if count == 1 else f'these {count}'}?"
    if output.is_agreed(question, usual=False, yes=yes, as_json=as_json):
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


# --- every check ------------------------------------------------------------------------------------


def _run_all(*, as_json: bool) -> int:
    from passdown.actions.project.checkups import check_all  # most calls examine the project alone

    return show(call_bare(check_all, None), _say_checkup, as_json=as_json).exit_code


def _say_checkup(found: "Checkup") -> None:
    widest = max(len(one.command) for one in found.steps)
    for one in found.steps:
        output.say(cut(f"{one.command.ljust(widest)}  {_describe_step(one)}", width()))
    failed = sum(one.exit_code != 0 for one in found.steps)
    if not failed:
        output.note("no problems found")
        return
    output.note(f"{failed} of {len(found.steps)} checks did not pass")
    output.note_hint("run the command at the start of its line to see more")


def _describe_step(one: "CheckStep") -> str:
    """Say what came of a check, in a few words."""
    if one.trouble is not None:
        return f"not done: {one.trouble}"
    parts = [] if one.checked is None else [output.counted(one.checked, _CHECKED[one.command])]
    if one.exit_code == OutdatedError.exit_code:
        parts.append("the view is outdated")
    elif one.problems:
        parts.append(output.counted(one.problems, "problem"))
    if one.warnings:
        parts.append(output.counted(one.warnings, "warning"))
    return ", ".join(parts if one.problems or one.warnings else [*parts, "no problems"])
