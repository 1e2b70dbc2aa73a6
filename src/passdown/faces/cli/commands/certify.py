"""`passdown certify`: prove that no fact was lost."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

import click

from passdown.actions.handover import certificates
from passdown.core.evidence.certificates import FactStatus
from passdown.core.safe_text import one_line
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import contested_lines, settling_hint

_PLACES: Final = MappingProxyType(
    {
        FactStatus.IN_BRIEF: "in the brief",
        FactStatus.BY_COMMAND: "through commands",
        FactStatus.RETIRED: "no longer in force",
    }
)


@click.command()
@click.option("--session", default="", metavar="ID", help="The session whose brief to check.")
@click.option("--expect", metavar="FILE", help="A file with facts that must be found, one per line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the status of each fact.")
def command(session: str, expect: str | None, *, as_json: bool) -> int:
    """Prove that no fact was lost.

    Reads every line of every journal and every event from scratch. A fact in force must be in the brief or be
    shown by a command; for a fact that is no longer in force, the line or event that retired it is named.
    Losses are also missing lines of a journal, texts of --expect that no fact has, and facts that an event
    hides only because it is dated in the future.

    Prints the number of facts, how many were not found, and a hash over the ids of all facts. Exits with 1 if
    a fact was not found.
    """
    answer = call(certificates.certify, expect or "", session)
    return PassdownError.exit_code if show(answer, _say, as_json=as_json).losses else 0


def _say(found: certificates.CertifyResult) -> None:
    for one in found.losses:
        output.say(f"{one_line(one.where)}: {one.kind}: {one_line(one.text)}")
    for one in found.replaced:
        output.note(f"replaced by {one_line(one.where)}: {one.kind}: {one_line(one.text)}")
    if found.contested:
        for line in contested_lines(found.contested, found.now):
            output.note(line)
        output.note_hint(settling_hint(found.contested))
    where = ", ".join(_count_by_place(found))
    output.say(f"{_count_facts(found)}{where and f': {where}'}.")
    output.say(f"root {found.root}")


def _count_facts(found: certificates.CertifyResult) -> str:
    facts = output.counted(found.facts, "fact")
    if found.unaccounted:
        return f"{facts}, {found.unaccounted} missing"
    return f"All {facts} found" if found.facts > 1 else f"{facts} found" if found.facts else "No facts yet"


def _count_by_place(found: certificates.CertifyResult) -> Iterator[str]:
    """Yield how many facts were found in each place."""
    for status, words in _PLACES.items():
        if count := found.counts[status]:
            yield f"{count} {words}"
