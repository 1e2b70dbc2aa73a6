"""Bind a session to a track, let go of it, and finish it (S0, R33 to R43)."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.accounts import Account
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind
from passdown.core.ids import clean_foreign, kebab
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handoffs import (
    Handoff,
    Listed,
    Order,
    create_handoff,
    find_handoff,
    read_listed,
    stream_path,
)
from passdown.services.journals import Project, read_account
from passdown.services.ledgers import keep_ledger

TRACK: Final = "track"
TASK: Final = "task"
SWITCH: Final = "track-switch"
COMPLETE: Final = "track-complete"


@record
class Bound:
    """A session, and the track it works on now."""

    account: Annotated[Account, "The session."]
    before: Annotated[str, "The track it worked on before."] = ""
    handoff: Annotated[Handoff | None, "What was written when it left the other track."] = None


def bind_track(project: Project, account: Account, track: str) -> Bound:
    """Bind a session to a track (R33).

    1. The one it works on already: nothing changes.
    2. Another one: what it knew is handed over and its ledger archived first (R39, R40). Goal, now and next
       were those of the other track, and do not go along.
    3. Then the track is written down.

    Raises a FormatError for a name that could break a line, and a StorageError when the ledger could not be
    archived; then the session stays where it is.
    """
    track = clean_foreign(track.strip(), TRACK)
    if account.track == track:  # 1
        return Bound(account=keep_ledger(project, account).account, before=track)
    handoff = None
    before = account.track
    if before:  # 2
        handoff = create_handoff(project, account, Order(trigger=SWITCH, archive=True))
        account = read_account(project, account.session)
    said = [*(_leave(account) if before else ()), Said(FactKind.BINDING, track, TRACK)]
    return Bound(account=keep_ledger(project, account, said).account, before=before, handoff=handoff)  # 3


def _leave(account: Account) -> Sequence[Said]:
    """Take back what belonged to the track that is left."""
    said = [Said(FactKind.RETRACTION, entry.text, FactKind.NEXT.value) for entry in account.of(FactKind.NEXT)]
    for kind, entry in ((FactKind.GOAL, account.goal), (FactKind.NOW, account.now)):
        if entry is not None:
            said.append(Said(FactKind.RETRACTION, entry.text, kind.value))
    return said


def bind_task(project: Project, account: Account, task: str) -> Account:
    """Bind a session to the task it claimed (R34); an empty one lets go of it and keeps the track (R35)."""
    task = clean_foreign(task.strip(), TASK) if task.strip() else ""
    said = [Said(FactKind.BINDING, task, TASK)] if account.task != task else []
    return keep_ledger(project, account, said).account


def unbind_track(project: Project, account: Account) -> Bound:
    """Let go of the track, and of the task, which belongs to it."""
    said = [Said(FactKind.BINDING, "", key) for key in (TRACK, TASK) if getattr(account, key)]
    return Bound(account=keep_ledger(project, account, said).account, before=account.track)


def finish_track(project: Project, account: Account, *, keep: bool = False) -> Bound:
    """Finish the track: hand over, let go of track and task, archive the ledger and remove it (R36, R42).

    With `keep` the ledger stays. Raises a UsageError for a session without a track.
    """
    if not account.track:
        raise UsageError("the session works on no track", hint="`passdown track bind TRACK` binds it")
    before = account.track
    handoff = create_handoff(project, account, Order(trigger=COMPLETE, archive=True, keep=keep))
    return Bound(account=read_account(project, account.session), before=before, handoff=handoff)


def find_document(project: Project, account: Account) -> Listed | None:
    """Find the stream document of the track that a session works on; None without one."""
    path = stream_path(project.checkout.settings.paths, kebab(account.track))
    if not account.track or not project.checkout.documents.exists(path):
        return None
    return read_listed(project, find_handoff(project, path))
