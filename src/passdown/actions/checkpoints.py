"""Save phases of work, and go on from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from passdown.actions.callers import Caller, note_ledger_update
from passdown.actions.sessions import commit_waiting, update_view
from passdown.core.sessions.session_facts import Account

if TYPE_CHECKING:  # `publish` needs them only with a checkpoint
    from passdown.core.formats.checkpoints import Phase
    from passdown.core.sessions.progress import RanTest
    from passdown.services.work.checkpoints import SavedCheckpoint


def save_phase(
    caller: Caller, account: Account, phase: "Phase", *, tests: "Sequence[RanTest]" = (), stream: str = ""
) -> "tuple[SavedCheckpoint, str | None]":
    """Save a checkpoint, update the view, and commit if the settings say so; also return that commit."""
    from passdown.services.sessions.owed_commits import AT_CHECKPOINT
    from passdown.services.work.checkpoints import save_checkpoint

    saved = save_checkpoint(caller.workspace, account, phase, tests=tests, stream=stream)
    note_ledger_update(caller, saved.update)
    update_view(caller)
    return saved, commit_waiting(caller, AT_CHECKPOINT)
