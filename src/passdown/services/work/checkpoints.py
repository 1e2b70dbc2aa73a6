"""Checkpoints: begin a phase, validate it, record its failure, and resume from it (C104, C155)."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from passdown.core.facts import FAILURE, NAMED, RETRIES, STREAM, TESTED, tell_counts
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Stream, open_phase
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState
from passdown.core.sessions.handoff_streams import from_stream
from passdown.core.sessions.handoffs import Handoff
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.progress import RanTest, count_retries, phases_of
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handover.handoffs import HandoffComparison, resume_handoff, review_handoff
from passdown.services.handover.streams import (
    check_stream,
    find_own_stream,
    find_stream,
    preview_stream,
    read_stream,
    update_stream,
)
from passdown.services.log.events import WrittenEvent
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.sessions.observations import observe_files
from passdown.services.sessions.publications import publish
from passdown.services.workspace.workspaces import Workspace


@record
class SavedCheckpoint:
    """A saved checkpoint."""

    update: LedgerUpdate
    stream: Annotated[str, "The stream document that shows it; empty without one."]
    written: Annotated[WrittenEvent | None, "The event about it; None if another process published it."]


def save_checkpoint(
    workspace: Workspace, account: Account, phase: Phase, *, tests: Sequence[RanTest] = (), stream: str = ""
) -> SavedCheckpoint:
    """Record the state of a phase; publish it, and show it in the stream document of the track (R90 to R93).

    `tests` are the tests that were run for it, the last one last. The files that git has seen change since
    the session began are recorded too. Raises a PassdownError, without recording anything, if the document
    must be repaired first.
    """
    path = find_own_stream(workspace, account, stream)
    said = [*map(_tell_test, tests), _tell_phase(workspace, account, phase, tests, path)]
    update = update_ledger(workspace, account, said)
    account = observe_files(workspace, update.account)
    path = find_own_stream(workspace, account, stream)  # an edit of the ledger may have bound another track
    if path:
        update_stream(workspace, account, path)
    written = publish(workspace, account.session, kind="checkpoint", reason="checkpoint")
    return SavedCheckpoint(update=update, stream=path, written=written)


def _tell_test(test: RanTest) -> NewFact:
    named = (NAMED, "true")  # a checkpoint names the command to run (C102)
    return NewFact(FactKind.TEST, test.command, str(test.code), others=(named, *tell_counts(test.counted)))


def _tell_phase(
    workspace: Workspace, account: Account, phase: Phase, tests: Sequence[RanTest], path: str
) -> NewFact:
    """Return the fact of a checkpoint with the known name of its phase; secrets are redacted."""
    stream = check_stream(workspace, path) if path else None
    known = from_stream(stream) if stream else Handoff()
    retries = _count_failures(account, phase, known)
    names = {one.phase: one.name for one in (*known.phases, *phases_of(account)) if one.name}
    members = {
        FAILURE: redact(phase.detail).text,
        TESTED: redact(tests[-1].command).text if tests else "",
        RETRIES: 0 if phase.state is PhaseState.VALIDATED else retries,
        STREAM: path.split("/")[-2] if path else "",
    }
    others = tuple((name, dump(value)) for name, value in members.items() if value)
    counts = tell_counts(tests[-1].counted) if tests else ()
    name = phase.name or names.get(phase.phase, "")
    return NewFact(FactKind.CHECKPOINT, phase.state.value, str(phase.phase), name, others=(*others, *counts))


def _count_failures(account: Account, phase: Phase, known: Handoff) -> int:
    """Count how often a phase has failed since it was last validated, in this session and before (R69)."""
    before = count_retries(account).get(phase.phase)
    if before is None:
        before = dict(known.retries).get(phase.phase, 0)
    return before + (phase.state is PhaseState.FAILED)


def find_test(workspace: Workspace, account: Account) -> str:
    """Return the command that tests the work: the session's last test, or the one in its stream document."""
    if tests := account.of(FactKind.TEST):
        return tests[-1].text
    path = find_stream(workspace, account)
    is_there = bool(path) and workspace.documents.exists(path)
    return from_stream(read_stream(workspace, path)).test if is_there else ""


def find_resume_point(workspace: Workspace, account: Account | None, stream: str = "") -> HandoffComparison:
    """Read the checkpoint of a stream document, and compare it with this checkout (R94).

    Raises a UsageError if there is no such document.
    """
    return review_handoff(workspace, _need_stream(workspace, account, stream))


def _need_stream(workspace: Workspace, account: Account | None, stream: str) -> str:
    path = find_stream(workspace, account, stream)
    if not path or not workspace.documents.exists(path):
        hint = "`passdown handoff list` shows them"
        raise UsageError(f"there is no stream document{f' {stream}' if stream else ''}", hint=hint)
    return path


def read_progress(workspace: Workspace, account: Account | None, stream: str = "") -> Stream:
    """Return the progress of a session that saved phases, as its document would show it; else of a stream.

    Raises a UsageError if there is neither.
    """
    if account and not stream and phases_of(account):
        return preview_stream(workspace, account, find_own_stream(workspace, account))
    return read_stream(workspace, _need_stream(workspace, account, stream))


def find_next_phase(handoff: Handoff) -> Phase | None:
    """Return the first phase that is neither validated nor skipped (R94)."""
    number = open_phase(handoff.phases)
    return next((one for one in handoff.phases if one.phase == number), None)


def resume_from(
    workspace: Workspace, review: HandoffComparison, account: Account | None, ran: Iterable[RanTest] = ()
) -> Account:
    """Resume from a checkpoint: take over its facts, and record the tests that were run again (R94)."""
    account = resume_handoff(workspace, review, account).account
    return update_ledger(workspace, account, [*map(_tell_test, ran)]).account
