"""The test-first cycle: start one of its phases, or show them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, SECONDS
from passdown.actions.callers import Caller, find_shown, need_session
from passdown.core.formats.ledgers import TddPhase
from passdown.core.sessions.session_facts import Account
from passdown.core.work.tdd import is_followed, list_phases
from passdown.records import record
from passdown.services.work.tdd import begin_phase


@record
class PhaseResult:
    """The outcome of starting a phase."""

    session: Annotated[str, "The session."]
    task: Annotated[str | None, "The task that it works on."]
    phase: Annotated[TddPhase, "Its phase now."]
    changed: Annotated[bool, "Whether that is a new phase."]
    warning: Annotated[str | None, "What is unusual about the order."]
    note: Annotated[str | None, "The note on the task."]
    noted: Annotated[bool, "Whether the tracker has the note; if not, it is queued for a later command."]
    agent: Annotated[str, "The name of the session's agent.", HIDDEN]


@record
class ListedPhase:
    """A phase that a session was in."""

    phase: Annotated[str, "The phase."]
    task: Annotated[str | None, "The task that the session had."]
    began: Annotated[datetime, "When it began.", SECONDS]
    why: Annotated[str | None, "The evidence for it."]


@record
class CycleResult:
    """The test-first cycle of a session."""

    phase: Annotated[str | None, "Its phase now."]
    followed: Annotated[bool, "Whether the cycle is followed."]
    skipped: Annotated[str | None, "Why its task has no phases."]
    phases: Annotated[Sequence[ListedPhase], "The phases so far, oldest first."]


def begin(caller: Caller, phase: TddPhase) -> PhaseResult:
    """Start a phase: update state and journal first, then the note on the task."""
    from passdown.services.project.metrics import make_phase_metrics  # `claim` loads the options of `tdd`

    begun = begin_phase(caller.workspace, need_session(caller), phase)
    caller.workspace.record_metrics(make_phase_metrics(begun.ended))
    change, account = begun.change, begun.account
    return PhaseResult(
        session=account.session,
        task=account.task or None,
        phase=phase,
        changed=change is not None,
        warning=change.warning or None if change else None,
        note=begun.note or None,
        noted=begun.is_noted,
        agent=account.agent,
    )


def show(caller: Caller, _request: None = None) -> CycleResult:
    """Show the phases of the session; without a session, there are none."""
    account = find_shown(caller) or Account()
    return CycleResult(
        phase=account.tdd or None,
        followed=is_followed(account, default=caller.workspace.settings.tdd.default),
        skipped=account.tdd_skip or None,
        phases=[
            ListedPhase(phase=fact.text, task=fact.key or None, began=at, why=fact.because or None)
            for fact, at in list_phases(account)
        ],
    )
