"""Judge an edit before it is made: no session changes a file that another one holds (C88)."""

from collections.abc import Sequence

from passdown.core.coordination.leases import COPIED, HELD, PathVerdict
from passdown.ports.coordination import Coordination


def judge_edit(coordination: Coordination, session: str, paths: Sequence[str]) -> tuple[PathVerdict, ...]:
    """Return which of the paths another live session holds; nothing is changed."""
    verdicts = coordination.leases.judge(session, list(dict.fromkeys(paths)))
    return tuple(one for one in verdicts if one.verdict == HELD)


def find_age(coordination: Coordination) -> float | None:
    """Return the age of a copy of a server's state in seconds; None for the engine itself (C77)."""
    history = coordination.history
    last = history.since(history.position() - 1, 1)
    return last[-1].age if last and last[-1].verb == COPIED else None
