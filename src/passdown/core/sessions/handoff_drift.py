"""What differs from the state that a handoff describes (G18)."""

from datetime import timedelta
from typing import Annotated, Final

from passdown.core.sessions.handoffs import CheckoutState, Handoff
from passdown.core.times import is_older
from passdown.records import record

OLD_AFTER: Final = timedelta(hours=24)
"""The age after which a handoff may be out of date."""


@record
class HandoffDrift:
    """What differs from the state that a handoff describes."""

    age: Annotated[timedelta | None, "The age of the handoff."] = None
    is_old: Annotated[bool, "Whether that is more than 24 hours."] = False
    branch: Annotated[tuple[str, str] | None, "The branch then and now, if they differ."] = None
    commits: Annotated[int | None, "How many commits were made since; None if unknown."] = None
    changed: Annotated[tuple[str, ...], "Files whose content has changed."] = ()
    missing: Annotated[tuple[str, ...], "Files that are gone."] = ()
    test: Annotated[str, "The recorded test command."] = ""
    test_then: Annotated[int | None, "Its exit code then."] = None
    test_now: Annotated[int | None, "Its exit code now; None if it was not run."] = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing is known to have changed."""
        quiet = not (self.is_old or self.branch or self.commits or self.changed or self.missing)
        return quiet and (self.test_now is None or self.test_now == (self.test_then or 0))


def find_drift(
    handoff: Handoff, here: CheckoutState, commits: int | None, test_now: int | None
) -> HandoffDrift:
    """Compare a handoff with the present state; anything it does not mention counts as unchanged."""
    age = here.at - handoff.at if handoff.at else None
    hashes = dict(here.file_hashes)
    known = [file_hash for file_hash in handoff.file_hashes if file_hash.hash]
    differs = bool(handoff.branch) and handoff.branch != here.branch
    return HandoffDrift(
        age=age,
        is_old=handoff.at is not None and is_older(handoff.at, here.at, OLD_AFTER),
        branch=(handoff.branch, here.branch) if differs else None,
        commits=commits,
        changed=tuple(one.path for one in known if hashes.get(one.path) not in {None, "", one.hash}),
        missing=tuple(one.path for one in known if not hashes.get(one.path)),
        test=handoff.test,
        test_then=handoff.test_exit,
        test_now=test_now,
    )
