"""`passdown doctor`: say what is wrong with the project as a whole, and mend what is safe to mend."""

from collections.abc import Sequence
from typing import Final

import click

from passdown import wiring
from passdown.core.ailments import Cache, Finding
from passdown.core.problems import Severity
from passdown.core.texts import one_line
from passdown.errors import CacheError, PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.project import Reading, current_folder
from passdown.records import as_dict, replace
from passdown.services.checkouts import Site
from passdown.services.doctor import Mended, Patient, examine, mend, read_costs
from passdown.settings import Settings

_ROUNDS: Final = 3
_NOTHING: Final = Mended(done=(), refused=())


@click.command()
@click.option("--fix", is_flag=True, help="Mend what is safe to mend; says what it will do, and asks.")
@click.option(
    "--yes", is_flag=True, help="With --fix: mend without asking. Needed where there is no terminal."
)
@click.option("--cost", is_flag=True, help="Say what Passdown costs here, as it measured itself.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, fix: bool, yes: bool, cost: bool, as_json: bool) -> int:
    """Say what is wrong with the project as a whole, and mend what is safe to mend.

    Looked at are settings, git's rules for our files, what killed processes left behind, sessions that never
    ended, journals, the view and its events, clocks, the cache, the documents, and whether the hooks that
    were installed answer. Nothing is written without --fix.

    --fix writes missing rules for git, removes unfinished writes of dead processes, publishes what dead
    sessions knew, and makes an outdated view anew. It deletes nothing that anybody wrote.

    Exits with 0 when the project is healthy, also with warnings, and with 1 when something is wrong.
    """
    _refuse_contradictions(fix=fix, yes=yes, cost=cost)
    if cost:
        return _say_costs(_open_site(), as_json=as_json)
    patient, findings = _examine(_open())
    mended = _NOTHING
    if not as_json:
        _say_findings(findings)
    if fix and _fixable(findings):
        # With --json nobody has seen yet what is wrong: only --yes can agree to it.
        if yes or (not as_json and _agrees(findings)):
            findings, mended = _mend(patient, findings)
        _say_mended(findings, mended, as_json=as_json)
    if as_json:
        output.say_json(_as_data(findings, mended))
    else:
        _say_summary(findings, is_fixed=fix)
    return 0 if _is_healthy(findings) else 1


def _refuse_contradictions(*, fix: bool, yes: bool, cost: bool) -> None:
    """Raise `UsageError` for flags that cannot be meant together."""
    if yes and not fix:
        raise UsageError("--yes does nothing without --fix", hint="add --fix, or leave --yes out")
    if cost and fix:
        raise UsageError("--cost and --fix do not go together", hint="leave one of them out")


def _open() -> Patient:
    """Open the project; settings that cannot be read are a finding, and the defaults are used."""
    root = wiring.find_root(current_folder())
    try:
        settings, warnings = wiring.read_settings(root)
    except PassdownError as found:
        return wiring.open_patient(root, Settings(), refused=f"{found.message}: {found.hint}")
    return wiring.open_patient(root, settings, warnings)


def _open_site() -> Site:
    root = wiring.find_root(current_folder())
    return wiring.open_site(root, wiring.read_settings(root)[0])


def _examine(patient: Patient) -> tuple[Patient, tuple[Finding, ...]]:
    """Look at everything; when the cache fails, once more without it."""
    with Reading() as reading:
        try:
            return patient, examine(patient, reading.step)
        except CacheError:
            checkout = replace(patient.project.checkout, index=wiring.open_memory_index())
            project = replace(patient.project, checkout=checkout)
            patient = replace(patient, project=project, cache=Cache.UNUSABLE)
            return patient, examine(patient, reading.step)


def _mend(patient: Patient, findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], Mended]:
    """Mend, and look again: what was mended may have made work, as new events make a view outdated."""
    done: list[str] = []
    refused: list[str] = []
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        codes = {finding.code for finding in _fixable(findings)}
        if codes <= tried:
            break
        tried |= codes
        mended = mend(patient, findings)
        done += mended.done
        refused += mended.refused
        patient, findings = _examine(patient)
    return findings, Mended(done=tuple(done), refused=tuple(refused))


def _say_mended(findings: Sequence[Finding], mended: Mended, *, as_json: bool) -> None:
    """Say what was done, and what is still wrong after it."""
    if as_json:
        return
    if mended == _NOTHING:
        output.note("nothing was mended")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes mends without asking")
        return
    for text in mended.done:
        output.say(output.wrapped(f"mended: {text}", "", "  "))
    for text in mended.refused:
        output.note(f"could not mend: {text}")
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
        return click.confirm(f"Mend {'this' if count == 1 else f'these {count}'}?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # what follows shall not stand behind the question
        raise


def _say_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        mark = " (warning)" if finding.severity is Severity.WARNING else ""
        output.say(output.wrapped(f"{finding.code.value}: {finding.what}{mark}", "", "  "))
        output.say(output.hint(finding.hint))


def _say_summary(findings: Sequence[Finding], *, is_fixed: bool) -> None:
    if not findings:
        output.note("nothing is wrong")
        return
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    parts = [_plural(len(findings) - warnings, "thing") + " wrong"] if len(findings) > warnings else []
    parts += [_plural(warnings, "warning")] if warnings else []
    output.note(", ".join(parts))
    if (count := len(_fixable(findings))) and not is_fixed:
        output.note_hint(f"--fix can mend {count} of them; it asks first")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _as_data(findings: Sequence[Finding], mended: Mended) -> dict[str, object]:
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
        "mended": [one_line(text) for text in mended.done],
        "refused": [one_line(text) for text in mended.refused],
    }


# --- costs ------------------------------------------------------------------------------------------


def _say_costs(site: Site, *, as_json: bool) -> int:
    costs, skipped = read_costs(site)
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
        output.note("nothing was measured yet: hooks measure themselves, and none has run here")
    if skipped:
        output.note(f"{_plural(skipped, 'line')} left out: no measurement")
    return 0


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    room = max(width() - 11 * len(rest), 10)
    return cut(first, room).ljust(room) + "".join(cell.rjust(11) for cell in rest)
