"""`passdown certify`: proof that no fact was lost."""

import click

from passdown.actions.decisions import describe_contested
from passdown.core.evidence.certificates import Certificate, CertifiedFact, FactStatus
from passdown.core.safe_text import one_line
from passdown.errors import PassdownError, StorageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.brief import call_here
from passdown.faces.cli.lines import contested_lines, settling_hint
from passdown.services.handover.certificates import certify
from passdown.wiring.workspaces import read_named


@click.command()
@click.option("--session", default="", metavar="ID", help="The session whose brief is checked.")
@click.option("--expect", metavar="FILE", help="A file with texts of facts that must be known, one per line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the status of each fact.")
def command(session: str, expect: str | None, *, as_json: bool) -> int:
    """Prove that no fact was lost.

    Reads every line of every journal and every event from scratch. A fact that holds must be in the brief or
    be shown by a command; a fact that no longer holds must have been retired by a line or event that is
    named. Missing lines of a journal count as losses, and so do texts of --expect that no fact has, and facts
    that an event hides only because it is dated ahead.

    Prints the number of facts, how many are unaccounted for, and a hash over the ids of all facts. Exits with
    1 if a fact is unaccounted for.
    """
    expected = _read(expect) if expect else []
    found, now = call_here(
        session,
        lambda workspace, account, others: (certify(workspace, account, others, expected), workspace.now()),
    )
    if as_json:
        output.say_json(_as_data(found))
    else:
        for one in found.losses:
            output.say(f"{one_line(one.where)}: {one.kind}: {one_line(one.text)}")
        for one in found.replaced:
            output.note(f"replaced by {one_line(one.where)}: {one.kind}: {one_line(one.text)}")
        for line in contested_lines(found.contested, now) if found.contested else ():
            output.note(line)
        if found.contested:
            output.note_hint(settling_hint(found.contested))
        plural = "" if len(found.facts) == 1 else "s"
        output.say(f"{len(found.facts)} fact{plural}, {len(found.losses)} unaccounted")
        output.say(f"root {found.root}")
        counts = [
            f"{found.count(how)} {how.value}"
            for how in (FactStatus.IN_BRIEF, FactStatus.BY_COMMAND, FactStatus.RETIRED)
        ]
        output.note(", ".join(counts))
    return PassdownError.exit_code if found.losses else 0


def _read(path: str) -> list[str]:
    try:
        return read_named(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as found:
        raise StorageError(f"could not read {path}: it is not UTF-8 text", hint="name a text file") from found


def _as_data(found: Certificate) -> dict[str, object]:
    return {
        "facts": len(found.facts),
        "unaccounted": len(found.losses),
        "root": found.root,
        "counts": {how.value: found.count(how) for how in FactStatus},
        "losses": [_one(one) for one in found.losses],
        "replaced": [_one(one) for one in found.replaced],
        "contested": describe_contested(found.contested),
        "accounted": [_one(one) for one in found.facts],
    }


def _one(one: CertifiedFact) -> dict[str, object]:
    return {
        "id": one.id or None,
        "kind": one.kind,
        "text": one.text,
        "how": one.how.value,
        "where": one.where,
    }
