"""Publish the new facts of a session as an event that every checkout can merge."""

from contextlib import suppress
from typing import Annotated

from passdown.actions.callers import Caller, need_session, note_ledger_update
from passdown.actions.sessions.sessions import commit_waiting, update_view
from passdown.core.documents.fields import read_count
from passdown.core.formats.checkpoints import Phase
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.pending_commits import AFTER_EVENT
from passdown.services.sessions.publications import publish as publish_facts


@record
class PublishRequest:
    """What to publish."""

    phase: Annotated[str, "The number of the phase whose checkpoint is saved; empty for none."] = ""
    state: Annotated[str, "The state of that phase."] = "validated"
    name: Annotated[str, "The name of that phase."] = ""


@record
class PublishResult:
    """What was published."""

    event: Annotated[str | None, "The event; null if there was nothing to publish."]
    file: Annotated[str | None, "Its path."]
    stream: Annotated[str | None, "The stream document that shows the checkpoint."]
    commit: Annotated[str | None, "The commit, if one was made."]


def publish(caller: Caller, request: PublishRequest) -> PublishResult:
    """Publish new facts; with a phase, save its checkpoint (C104)."""
    if request.phase:
        from passdown.actions.work.checkpoints import save_phase  # few calls save a checkpoint

        phase = _make_phase(request)
        saved, commit = save_phase(caller, need_session(caller), phase)
        written, stream = saved.written, saved.stream
    else:
        account, stream = need_session(caller), ""
        note_ledger_update(caller, update_ledger(caller.workspace, account))
        written = publish_facts(caller.workspace, account.session, kind="checkpoint", reason="asked")
        update_view(caller)
        commit = commit_waiting(caller, AFTER_EVENT)
    return PublishResult(
        event=written.event.id if written else None,
        file=written.name if written else None,
        stream=stream or None,
        commit=commit,
    )


def _make_phase(request: PublishRequest) -> "Phase":
    """Make a phase; raise a UsageError for a number or a state that a phase does not have."""
    try:
        state = read_state(request.state)
    except Malformed:
        hint = "use one of " + ", ".join(one.value for one in PhaseState)
        raise UsageError(f"{request.state[:60]!r} is not a phase state", hint=hint) from None
    with suppress(Malformed):  # the error below says so
        if count := read_count(request.phase):
            return Phase(phase=count, name=request.name.strip(), state=state)
    raise UsageError(
        f"{request.phase[:60]!r} is not a phase number",
        hint="number phases from 1, and name them with --name",
    )
