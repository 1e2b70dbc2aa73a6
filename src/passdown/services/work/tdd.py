"""Follow the test-first cycle of a task: begin a phase, choose whether to follow it, say why not (C103)."""

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Final

from passdown.core.facts import DUE
from passdown.core.formats.ledgers import TddPhase
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import TDD_OFF, TDD_ON, Account, NewFact
from passdown.core.sessions.track_gates import make_result
from passdown.core.work.observed_work import EXECUTION, REFACTORED
from passdown.core.work.tdd import NOTES, Cycle, EndedPhase, PhaseChange, find_skip, say_skip
from passdown.records import record
from passdown.services.sessions.journals import append_fact, read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.work.tracker_changes import add_note
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice

_MOST_FILES: Final = 20_000
"""The most files that are searched for tests."""


@record
class BegunPhase:
    """The outcome of beginning a phase."""

    account: Annotated[Account, "The session."]
    change: Annotated[PhaseChange | None, "The phase; None if the session was already in it."] = None
    ended: Annotated[Sequence[EndedPhase], "The phase that ended."] = ()
    note: Annotated[str, "The note on the task; empty without a task."] = ""
    is_noted: Annotated[bool, "Whether the tracker has the note; if not, a later command adds it."] = False


def begin_phase(workspace: Workspace, account: Account, phase: TddPhase) -> BegunPhase:
    """Begin a phase, unless it is the current one: state and journal first, then the task's note (R178)."""
    if account.tdd == phase:
        return BegunPhase(account=account)
    cycle = Cycle(account, workspace.now())
    change = cycle.begin(phase, workspace.now(), "stated")
    due = [make_result(EXECUTION, DUE, REFACTORED, account.track)]
    new_facts = [change.fact, *(due if cycle.has_refactored and account.track else ())]
    account = update_ledger(workspace, account, new_facts).account
    if not account.task or workspace.settings.tracker.kind is TrackerChoice.NONE:
        return BegunPhase(account=account, change=change, ended=cycle.ended)
    is_noted = add_note(workspace, account, account.task, NOTES[phase])
    return BegunPhase(account=account, change=change, ended=cycle.ended, note=NOTES[phase], is_noted=is_noted)


def end_cycle(workspace: Workspace, account: Account) -> Sequence[EndedPhase]:
    """Return the phase that ends because the session is done with its task."""
    cycle = Cycle(account, workspace.now())
    cycle.bind("" if account.task else "-", workspace.now())
    return cycle.ended


def choose_cycle(
    workspace: Workspace, account: Account, *, choice: bool | None, title: str = ""
) -> tuple[Account, str]:
    """Record whether to follow the cycle; also return why it is not followed, once for each task.

    The reason is always recorded, but only returned to users who asked for test-first, with an option or in
    the settings (R179).
    """
    if choice is not None:
        chosen = TDD_ON if choice else TDD_OFF
        if account.tdd_choice != chosen:
            account = _journal(workspace, account, NewFact(FactKind.TDD, chosen, account.task))
    if not (account.track or account.task):
        return account, ""
    paths = islice(workspace.documents.list("", apart_from=_list_own(workspace)), _MOST_FILES)
    reason = find_skip(account, default=workspace.settings.tdd.default, title=title, paths=paths)
    said = say_skip(account, reason) if reason else None
    if said is None:
        return account, ""
    is_asked = choice is not None or account.tdd_choice == TDD_ON or not workspace.settings.tdd.default
    return _journal(workspace, account, said), reason if is_asked else ""


def _list_own(workspace: Workspace) -> Sequence[str]:
    """Return the folders of events and records, which hold no tests, and more files than all others."""
    paths = workspace.settings.paths
    return (paths.events, paths.event_archive, paths.archive, paths.ledgers, paths.runtime)


def _journal(workspace: Workspace, account: Account, new_fact: NewFact) -> Account:
    """Record a fact that no ledger shows."""
    append_fact(workspace, account, new_fact)
    return read_account(workspace, account.session)
