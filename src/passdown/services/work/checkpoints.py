"""Checkpoints of a piece of work: begin a phase, validate it, let it fail, and go on from it (C104)."""

from typing import Annotated

from passdown.core.facts import FAILURE, NAMED
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import open_phase
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState
from passdown.core.sessions.handoffs import Handoff, from_stream
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handover.handoffs import HandoffReview, resume_handoff, review_handoff
from passdown.services.handover.streams import find_own_stream, find_stream, read_stream, update_stream
from passdown.services.log.events import WrittenEvent
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.sessions.publications import publish
from passdown.services.workspace.workspaces import Workspace


@record
class SavedCheckpoint:
    """A checkpoint that was saved."""

    update: LedgerUpdate
    stream: Annotated[str, "The stream document that shows it; empty without one."]
    written: Annotated[WrittenEvent | None, "The event that tells it; None if another process published it."]


def save_checkpoint(
    workspace: Workspace,
    account: Account,
    phase: Phase,
    *,
    test: tuple[str, int] | None = None,
    stream: str = "",
) -> SavedCheckpoint:
    """Record the state of a phase; publish it, and show it in the stream document of the track (R90 to R93).

    `test` is the command that was run for it, with its exit code. Raises a PassdownError if the document must
    be mended first; then nothing is recorded.
    """
    find_own_stream(workspace, account, stream)
    failure = ((FAILURE, dump(phase.detail)),) if phase.detail else ()
    named = ((NAMED, "true"),)  # a checkpoint tells what to run (C102)
    said = [NewFact(FactKind.TEST, test[0], str(test[1]), others=named)] if test else []
    said.append(NewFact(FactKind.CHECKPOINT, phase.state.value, str(phase.phase), phase.name, others=failure))
    update = update_ledger(workspace, account, said)
    path = find_own_stream(workspace, update.account, stream)  # an edit of the ledger may bind another track
    if path:
        update_stream(workspace, update.account, path)
    written = publish(workspace, account.session, kind="checkpoint", reason="checkpoint")
    return SavedCheckpoint(update=update, stream=path, written=written)


def find_test(workspace: Workspace, account: Account) -> str:
    """Return the command that tests the work: the session's last one, or that of its stream document."""
    if tests := account.of(FactKind.TEST):
        return tests[-1].text
    path = find_stream(workspace, account)
    is_there = bool(path) and workspace.documents.exists(path)
    return from_stream(read_stream(workspace, path)).test if is_there else ""


def find_resume_point(workspace: Workspace, account: Account | None, stream: str = "") -> HandoffReview:
    """Read the checkpoint of a stream document, and compare it with what is here (R94).

    Raises a UsageError if there is no such document.
    """
    path = find_stream(workspace, account, stream)
    if not path or not workspace.documents.exists(path):
        hint = "name one of those that `passdown handoff list` shows"
        raise UsageError(f"there is no stream document{f' {stream}' if stream else ''}", hint=hint)
    return review_handoff(workspace, path)


def find_next_phase(handoff: Handoff) -> Phase | None:
    """Return the first phase that is neither validated nor skipped (R94)."""
    number = open_phase(handoff.phases)
    return next((one for one in handoff.phases if one.phase == number), None)


def resume_from(workspace: Workspace, review: HandoffReview, account: Account | None) -> Account:
    """Go on from a checkpoint: carry what it knows, and begin the next open phase (R94)."""
    account = resume_handoff(workspace, review, account).account
    phase = find_next_phase(review.handoff)
    if phase is None or phase.state is PhaseState.IN_PROGRESS:
        return account
    begun = NewFact(FactKind.CHECKPOINT, PhaseState.IN_PROGRESS.value, str(phase.phase), phase.name)
    return update_ledger(workspace, account, [begun]).account
