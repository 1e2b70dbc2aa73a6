"""Bind a session to a track, unbind it, and finish the track (S0, R33 to R43)."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.facts import Fact
from passdown.core.ids import clean_foreign, kebab
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import TASK, TRACK, NewFact, let_go
from passdown.core.sessions.progress import COMPLETE
from passdown.core.sessions.session_facts import Account
from passdown.core.sessions.track_gates import carry_result, last_results, list_results
from passdown.core.sessions.track_lines import find_end_of_others, find_last_track
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handover.handoffs import (
    HandoffRequest,
    ListedHandoff,
    WrittenHandoff,
    create_handoff,
    find_handoff,
    read_listed,
)
from passdown.services.log.events import update_index
from passdown.services.sessions.foreign_documents import stream_path
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace

SWITCH: Final = "track-switch"
_MOST_GATES: Final = 10_000


@record
class TrackBinding:
    """A session and its current track."""

    account: Annotated[Account, "The session."]
    before: Annotated[str, "The track it worked on before."] = ""
    handoff: Annotated[
        WrittenHandoff | None, "The handoff that was written when it left the other track."
    ] = None


def bind_track(workspace: Workspace, account: Account, track: str) -> TrackBinding:
    """Bind a session to a track (R33).

    1. If it already works on this track, nothing changes.
    2. If it works on another track, a handoff is written and its ledger is archived first (R39, R40). Goal,
       now and next belong to the other track and are not carried over; nor are those of a track that the
       session left earlier, or of a session of another track that it continues.
    3. Then the track is recorded, with the results of other sessions for its gates (R46).

    Raises a FormatError for a name that would break a line, and a StorageError if the ledger could not be
    archived; the session then keeps its track.
    """
    track = clean_foreign(track.strip(), TRACK)
    if account.track == track:  # 1
        return TrackBinding(account=update_ledger(workspace, account).account, before=track)
    handoff = None
    before = account.track
    if before:  # 2
        handoff = create_handoff(workspace, account, HandoffRequest(trigger=SWITCH, archive=True))
        account = read_account(workspace, account.session)
    left = account if before else _find_said_elsewhere(workspace, account, track)
    known = [fact for fact in (left.goal, left.now) if fact is not None]
    gone = [NewFact(FactKind.RETRACTION, one.text, one.kind) for one in (*left.of(FactKind.NEXT), *known)]
    binding = NewFact(
        FactKind.BINDING, track, TRACK
    )  # first, so that the following facts do not count for the other track
    new_facts = [binding, *gone, *find_results(workspace, account, track)]
    return TrackBinding(
        account=update_ledger(workspace, account, new_facts).account, before=before, handoff=handoff
    )  # 3


def find_results(workspace: Workspace, account: Account, track: str) -> Sequence[NewFact]:
    """Return gate results of a track that events contain and the session does not know yet."""
    update_index(workspace.log, workspace.index)
    known = last_results(list_results(account, track))
    found = workspace.index.digest(_MOST_GATES).kinds[FactKind.GATE].facts
    new = [fact for fact in reversed(found) if fact.track == track and fact.session != account.session]
    return [carry_result(fact) for fact in new if fact.key not in known or known[fact.key].at < fact.at]


def _find_said_elsewhere(workspace: Workspace, account: Account, track: str) -> Account:
    """Return the goal, now and next that a session without a track has from a different track."""
    last = find_end_of_others(workspace.journals.read(account.session), track)

    def is_elsewhere(fact: Fact | None) -> bool:
        if fact is None or fact.session == account.session:
            return fact is not None and fact.seq <= last
        return find_last_track(workspace.journals.read(fact.session)) not in {"", track}

    return Account(
        goal=account.goal if is_elsewhere(account.goal) else None,
        now=account.now if is_elsewhere(account.now) else None,
        lists={FactKind.NEXT.value: tuple(filter(is_elsewhere, account.of(FactKind.NEXT)))},
    )


def bind_task(workspace: Workspace, account: Account, task: str) -> Account:
    """Bind a session to the task it claimed (R34); an empty task unbinds it but keeps the track (R35)."""
    task = clean_foreign(task.strip(), TASK) if task.strip() else ""
    new_facts = [NewFact(FactKind.BINDING, task, TASK)] if account.task != task else []
    return update_ledger(workspace, account, new_facts).account


def unbind_track(workspace: Workspace, account: Account) -> TrackBinding:
    """Unbind the session from its track, and from the task, which belongs to the track."""
    kept = update_ledger(workspace, account, let_go(account))
    return TrackBinding(account=kept.account, before=account.track)


def finish_track(workspace: Workspace, account: Account, *, keep: bool = False) -> TrackBinding:
    """Finish the track: write a handoff, unbind track and task, archive and remove the ledger (R36, R42).

    With `keep` the ledger stays. Raises a UsageError if the session has no track.
    """
    if not account.track:
        raise UsageError("this session has no track", hint="run `passdown track bind TRACK` first")
    before = account.track
    handoff = create_handoff(workspace, account, HandoffRequest(trigger=COMPLETE, archive=True, keep=keep))
    return TrackBinding(account=read_account(workspace, account.session), before=before, handoff=handoff)


def find_document(workspace: Workspace, account: Account) -> ListedHandoff | None:
    """Return the stream document of the session's track, or None if there is none."""
    path = stream_path(workspace.settings.paths, kebab(account.track))
    if not account.track or not workspace.documents.exists(path):
        return None
    return read_listed(workspace, find_handoff(workspace, path))
