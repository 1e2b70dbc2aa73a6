"""The running command: the ids of its operations, and those it has begun (C142)."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from passdown.core.coordination.operations import NO_CALL, VerbCall, derive_operation

if TYPE_CHECKING:  # most calls begin no operation
    from passdown.core.work.operations import SharedOperation


class VerbRun:
    """One run of a command or hook."""

    def __init__(self, call: VerbCall = NO_CALL, *, is_again: bool = False) -> None:
        """Keep the call; with `is_again`, it is never taken for a repetition of an earlier one."""
        self.call = call
        self.is_again = is_again
        self.is_entered = False
        """Whether the session is locked for it."""
        self._clear()

    def _clear(self) -> None:
        self.id = ""
        """The id from which the ids of its operations are derived; empty before the first one."""
        self.known: Sequence[SharedOperation] = ()
        """The operations of the earlier command that it repeats."""
        self.begun: dict[str, SharedOperation] = {}
        """The operations it has recorded, by id."""
        self.owed: list[SharedOperation] = []
        """Operations to record together with the next one, because they must follow it."""
        self.tried: set[str] = set()
        """Unfinished operations of earlier commands that this one has tried to finish, by id."""
        self._numbers: Counter[tuple[str, str]] = Counter()

    def leave(self) -> None:
        """End a change; without a typed command, each change counts as a command of its own."""
        self.is_entered = False
        if not self.call.words:
            self._clear()

    def next_id(self, action: str, subject: str) -> str:
        """Return the id of the next operation of this kind."""
        number = self._numbers[action, subject]
        self._numbers[action, subject] += 1
        return derive_operation(self.id, action, subject, number)

    def find_known(self, action: str) -> "SharedOperation | None":
        """Return the first operation of this kind of the repeated command, if there is one."""
        return next((one for one in self.known if one.action == action), None)
