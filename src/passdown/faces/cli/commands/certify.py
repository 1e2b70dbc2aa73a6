"""`passdown certify`: proof that no fact was lost."""

import click

from passdown.actions.handover import certificates
from passdown.core.evidence.certificates import FactStatus
from passdown.core.safe_text import one_line
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import contested_lines, settling_hint


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
    output.say(f"{output.counted(found.facts, 'fact')}, {found.unaccounted} unaccounted")
    output.say(f"root {found.root}")
    shown = (FactStatus.IN_BRIEF, FactStatus.BY_COMMAND, FactStatus.RETIRED)
    output.note(", ".join(f"{found.counts[how]} {how.value}" for how in shown))
