"""`passdown certify`: proof that no fact was lost."""

from pathlib import Path

import click

from passdown.core.certificates import Accounted, Certificate, How
from passdown.core.texts import one_line
from passdown.errors import PassdownError, StorageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.brief import call_here
from passdown.services.certificates import certify


@click.command()
@click.option("--session", default="", metavar="ID", help="The session whose brief is looked at.")
@click.option("--expect", metavar="FILE", help="Texts of facts that must be known, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with what became of each fact.")
def command(session: str, expect: str | None, *, as_json: bool) -> int:
    """Prove that no fact was lost.

    Every line of every journal and every event is read from scratch. A fact that holds must be in the brief
    or be shown by a command; one that does not must have been retired by a line or event that is named. Lines
    that a journal counts and does not have are losses too, and so is what --expect names and nobody knows.

    Prints how many facts there are and how many are unaccounted for, and a hash over the ids of all. Exits
    with 1 when one is unaccounted for.
    """
    expected = _read(expect) if expect else []
    found = call_here(session, lambda project, account, others: certify(project, account, others, expected))
    if as_json:
        output.say_json(_as_data(found))
    else:
        for one in found.losses:
            output.say(f"{one.where}: {one.kind}: {one_line(one.text)}")
        plural = "" if len(found.facts) == 1 else "s"
        output.say(f"{len(found.facts)} fact{plural}, {len(found.losses)} unaccounted")
        output.say(f"root {found.root}")
        counts = [f"{found.count(how)} {how.value}" for how in (How.IN_BRIEF, How.BY_COMMAND, How.RETIRED)]
        output.note(", ".join(counts))
    return PassdownError.exit_code if found.losses else 0


def _read(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as found:
        reason = getattr(found, "strerror", None) or "it is not UTF-8 text"
        raise StorageError(f"could not read {path}: {reason}", hint="name a file of texts") from found


def _as_data(found: Certificate) -> dict[str, object]:
    return {
        "facts": len(found.facts),
        "unaccounted": len(found.losses),
        "root": found.root,
        "counts": {how.value: found.count(how) for how in How},
        "losses": [_one(one) for one in found.losses],
        "accounted": [_one(one) for one in found.facts],
    }


def _one(one: Accounted) -> dict[str, object]:
    return {
        "id": one.id or None,
        "kind": one.kind,
        "text": one.text,
        "how": one.how.value,
        "where": one.where,
    }
