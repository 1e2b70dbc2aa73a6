"""`passdown doctor`: find problems with the project as a whole, and fix what is safe to fix."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from passdown.core.problems import Severity
from passdown.core.project.findings import CacheHealth, Finding
from passdown.core.safe_text import one_line
from passdown.errors import CacheError, PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import current_folder
from passdown.records import as_dict, replace
from passdown.services.project.doctor import Examination, FixResult, examine, fix_findings, read_costs
from passdown.services.workspace.workspaces import UNCACHED, Workspace
from passdown.settings import Settings
from passdown.wiring.health import open_examination
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import open_workspace

_ROUNDS: Final = 3
_NOTHING: Final = FixResult(done=(), refused=())


@click.command()
@click.option("--fix", is_flag=True, help="Fix what is safe to fix; asks first.")
@click.option("--yes", is_flag=True, help="With --fix: fix without asking. Needed without a terminal.")
@click.option(
    "--cost",
    is_flag=True,
    help="Show the time and context that Passdown takes here, as measured by its hooks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, fix: bool, yes: bool, cost: bool, as_json: bool) -> int:
    """Find problems with the project as a whole, and fix what is safe to fix.

    Checks the settings, the git rules for Passdown's files, leftovers of killed processes, sessions that did
    not end, journals, the view and its events, clocks, the cache, the documents, and whether the installed
    hooks respond and are those of this version. Without --fix, nothing but the cache is written.

    --fix writes missing rules for git, removes unfinished writes of dead processes, publishes the facts of
    dead sessions, and rebuilds an outdated view. It never deletes anything that a user or an agent wrote.

    Exits with 0 if the project is healthy or has only warnings, and with 1 if there is a problem.
    """
    _refuse_contradictions(fix=fix, yes=yes, cost=cost)
    if cost:
        return _say_costs(_open_workspace(), as_json=as_json)
    examination, findings = _examine(_open())
    fixed = _NOTHING
    if not as_json:
        _say_findings(findings)
    if fix and _fixable(findings):
        # With --json the user has not seen the findings yet, so only --yes can confirm.
        if yes or (not as_json and _agrees(findings)):
            findings, fixed = _mend(examination, findings)
        _say_mended(findings, fixed, as_json=as_json)
    if as_json:
        output.say_json(_as_data(findings, fixed))
    else:
        _say_summary(findings, is_fixed=fix)
    return 0 if _is_healthy(findings) else 1


def _refuse_contradictions(*, fix: bool, yes: bool, cost: bool) -> None:
    """Raise `UsageError` for flags that cannot be combined."""
    if yes and not fix:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or remove --yes")
    if cost and fix:
        raise UsageError("--cost and --fix cannot be combined", hint="remove one of them")


def _open() -> Examination:
    """Open the project; if its settings cannot be read, report a finding and use the defaults."""
    root = find_root(current_folder())
    try:
        settings, warnings = read_settings(root)
    except PassdownError as found:
        return open_examination(root, Settings(), refused=f"{found.message}: {found.hint}")
    return open_examination(root, settings, warnings)


def _open_workspace() -> Workspace:
    root = find_root(current_folder())
    return open_workspace(root, read_settings(root)[0])


def _examine(examination: Examination) -> tuple[Examination, tuple[Finding, ...]]:
    """Examine the project; if the cache fails, examine it again without the cache."""
    with ReadingProgress() as reading:
        try:
            return examination, examine(examination, reading.step)
        except CacheError:
            known = examination.workspace
            workspace = open_workspace(Path(known.root), known.settings, UNCACHED)
            examination = replace(examination, workspace=workspace, cache=CacheHealth.UNUSABLE)
            return examination, examine(examination, reading.step)


def _mend(examination: Examination, findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], FixResult]:
    """Fix, then examine again: a fix may cause a new finding, as new events make the view outdated."""
    done: list[str] = []
    refused: list[str] = []
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        codes = {finding.code for finding in _fixable(findings)}
        if codes <= tried:
            break
        tried |= codes
        fixed = fix_findings(examination, findings)
        done += fixed.done
        refused += fixed.refused
        examination, findings = _examine(examination)
    return findings, FixResult(done=tuple(done), refused=tuple(refused))


def _say_mended(findings: Sequence[Finding], fixed: FixResult, *, as_json: bool) -> None:
    """Print what was fixed, and what is still wrong."""
    if as_json:
        return
    if fixed == _NOTHING:
        output.note("nothing was fixed")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes fixes without asking")
        return
    for text in fixed.done:
        output.say(output.wrapped(f"fixed: {text}", "", "  "))
    for text in fixed.refused:
        output.note(f"could not fix: {text}")
    _say_findings(findings)


def _fixable(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.is_fixable]


def _is_healthy(findings: Sequence[Finding]) -> bool:
    return all(finding.severity is Severity.WARNING for finding in findings)


def _agrees(findings: Sequence[Finding]) -> bool:
    if not output.has_person():
        return False
    count = len(_fixable(findings))
    try:
        return click.confirm(f"Fix {'this' if count == 1 else f'these {count}'}?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _say_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        mark = " (warning)" if finding.severity is Severity.WARNING else ""
        output.say(output.wrapped(f"{finding.code.value}: {finding.what}{mark}", "", "  "))
        output.say(output.hint(finding.hint))


def _say_summary(findings: Sequence[Finding], *, is_fixed: bool) -> None:
    if not findings:
        output.note("no problems found")
        return
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    parts = [output.counted(len(findings) - warnings, "problem")] if len(findings) > warnings else []
    parts += [output.counted(warnings, "warning")] if warnings else []
    output.note(", ".join(parts))
    if (count := len(_fixable(findings))) and not is_fixed:
        output.note_hint(f"--fix can fix {count} of them; it asks first")


def _as_data(findings: Sequence[Finding], fixed: FixResult) -> dict[str, object]:
    return {
        "is_healthy": _is_healthy(findings),
        "findings": [
            {
                "code": finding.code.value,
                "severity": finding.severity.value,
                "what": one_line(finding.what),
                "where": one_line(finding.where) or None,
                "hint": one_line(finding.hint),
                "fixable": finding.is_fixable,
            }
            for finding in findings
        ],
        "mended": [one_line(text) for text in fixed.done],
        "refused": [one_line(text) for text in fixed.refused],
    }


# --- costs ------------------------------------------------------------------------------------------


def _say_costs(workspace: Workspace, *, as_json: bool) -> int:
    costs, skipped = read_costs(workspace)
    if as_json:
        output.say_json({"skipped": skipped, "costs": [as_dict(cost) for cost in costs]})
        return 0
    if costs:
        head = ("what", "runs", "p50 ms", "p95 ms", "p50 chars", "p95 chars")
        output.say(_row(head))
    for one in costs:
        times = (f"{one.p50_ms:.1f}", f"{one.p95_ms:.1f}")
        output.say(_row((one.what, str(one.count), *times, str(one.p50_chars), str(one.p95_chars))))
    if not costs:
        output.note("no measurements yet: hooks measure themselves, and none has run here")
    if skipped:
        output.note(f"{output.counted(skipped, 'line')} skipped: not a measurement")
    return 0


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    room = max(width() - 11 * len(rest), 10)
    return cut(first, room).ljust(room) + "".join(cell.rjust(11) for cell in rest)
