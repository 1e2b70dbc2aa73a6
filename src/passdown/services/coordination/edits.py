"""Judge an edit before it is made: no session changes a file that another one holds (C88)."""

from collections.abc import Sequence

from passdown.core.coordination.leases import HELD, PATH, PathVerdict
from passdown.core.coordination.patterns import matches, parse_pattern
from passdown.ports.coordination import Coordination


def judge_edit(coordination: Coordination, session: str, paths: Sequence[str]) -> tuple[PathVerdict, ...]:
    """Return which of the paths another live session holds; nothing is changed."""
    held = [
        (lease, parse_pattern(lease.resource.name))
        for lease in coordination.leases.leases()
        if lease.resource.kind == PATH and lease.left > 0 and lease.session != session
    ]
    found: dict[str, PathVerdict] = {}
    for path in paths:
        for lease, pattern in held:
            if path not in found and matches(pattern, path):
                found[path] = PathVerdict(
                    path=path,
                    verdict=HELD,
                    session=lease.session,
                    agent=lease.agent,
                    left=lease.left,
                    held=lease.resource.name,
                )
    return tuple(found.values())
