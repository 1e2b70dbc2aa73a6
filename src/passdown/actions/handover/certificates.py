"""Prove that no fact was lost."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, describe
from passdown.actions.callers import Caller
from passdown.actions.handover.briefs import take_standpoint
from passdown.actions.sessions.decisions import CONTESTED
from passdown.core.evidence.certificates import CertifiedFact, FactStatus
from passdown.core.facts import Fact
from passdown.errors import StorageError
from passdown.records import record
from passdown.services.handover import certificates
from passdown.wiring.workspaces import read_named


@record
class AccountedFact:
    """A fact, and where it is found."""

    id: Annotated[str | None, "Its id."]
    kind: Annotated[str, "Its kind."]
    text: Annotated[str, "What it says."]
    how: Annotated[FactStatus, "Its status."]
    where: Annotated[str, "Where it is found or was retired."]


@record
class CertifyResult:
    """The proof: where every fact is found."""

    facts: Annotated[int, "How many there are."]
    unaccounted: Annotated[int, "How many are missing."]
    root: Annotated[str, "The hash over the ids of all facts."]
    counts: Annotated[Mapping[FactStatus, int], "How many there are of each status."]
    losses: Annotated[tuple[AccountedFact, ...], "The missing facts."]
    replaced: Annotated[tuple[AccountedFact, ...], "The session's facts that others replaced."]
    contested: Annotated[Sequence[Sequence[Fact]], "Decisions that contradict each other.", CONTESTED]
    accounted: Annotated[tuple[AccountedFact, ...], "Every fact."]
    now: Annotated[datetime, "When the proof was made.", HIDDEN]


def certify(caller: Caller, path: str) -> CertifyResult:
    """Read every line of every journal and every event from scratch, and find each fact.

    The path names a file with texts of facts that must be known; empty for none.
    """
    expected = _read_expected(caller, path) if path else ()
    account, others = take_standpoint(caller)
    found = certificates.certify(caller.workspace, account, others, expected)
    return CertifyResult(
        facts=len(found.facts),
        unaccounted=len(found.losses),
        root=found.root,
        counts={how: found.count(how) for how in FactStatus},
        losses=tuple(map(_describe, found.losses)),
        replaced=tuple(map(_describe, found.replaced)),
        contested=found.contested,
        accounted=tuple(map(_describe, found.facts)),
        now=caller.workspace.now(),
    )


def _read_expected(caller: Caller, path: str) -> Sequence[str]:
    try:
        return read_named(path, str(caller.around.folder)).decode("utf-8").splitlines()
    except UnicodeDecodeError as found:
        raise StorageError(f"could not read {path}: it is not UTF-8 text", hint="name a text file") from found


def _describe(one: CertifiedFact) -> AccountedFact:
    return describe(AccountedFact, one)
