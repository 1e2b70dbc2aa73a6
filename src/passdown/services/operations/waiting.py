"""Find the operations that are left: without an outcome, or queued for the tracker."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, cast

from passdown import layout
from passdown.core.formats.journal import Scope
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line
from passdown.core.work.operations import SharedOperation, plan_replay
from passdown.errors import StorageError, UsageError
from passdown.services.operations.operations import read_recorded
from passdown.services.workspace.local_files import list_places, write_local
from passdown.services.workspace.workspaces import Workspace

_FEW: Final = 8
_SETTLE_SECONDS: Final = 10.0
_KIND: Final = f'"kind":{dump(FactKind.OPERATION.value)}'
_NANOS: Final = 1_000_000_000


def find_waiting(workspace: Workspace) -> Sequence[SharedOperation]:
    """Return the queued tracker changes of all journals of the clone, in the order of their next attempt."""
    return plan_replay(find_open(workspace))


def find_open(workspace: Workspace) -> Sequence[SharedOperation]:
    """Return the open operations of all journals of the clone, each journal's oldest first.

    A journal that had nothing left and has not grown since is not read again.
    """
    journals = workspace.journals
    known = _read_settled(workspace)
    changed = {session: journals.changed(session) for session in journals.sessions(Scope.LIVE)}
    fresh = [session for session, at in changed.items() if known.get(session) != at]
    read = {*fresh}
    if len(fresh) > _FEW:
        read &= {*journals.mentioning(Scope.LIVE, _KIND)}
    left = {
        session: [one for one in read_recorded(workspace, session) if one.is_open] for session in sorted(read)
    }
    if len(fresh) > _FEW:
        _write_settled(workspace, {name: at for name, at in changed.items() if not left.get(name)})
    return [one for some in left.values() for one in some]


def read_all(workspace: Workspace) -> Sequence[SharedOperation]:
    """Return all operations of all journals."""
    return [
        one
        for session in workspace.journals.mentioning(Scope.ALL, _KIND)
        for one in read_recorded(workspace, session)
    ]


def find_operation(workspace: Workspace, name: str) -> SharedOperation:
    """Return the queued change with an id, or with a key of the seed's files; else raise a UsageError."""
    waiting = find_waiting(workspace)
    found = [one for one in waiting if one.id == name] or [one for one in waiting if one.key == name]
    if len(found) != 1:
        count = f"{len(found)} queued changes have" if found else "no queued change has"
        message = f"{count} the key {one_line(name)}"
        raise UsageError(message, hint="`passdown status --json` lists the ids under `outbox`.")
    return found[0]


def _read_settled(workspace: Workspace) -> Mapping[str, int]:
    for documents, path, _ in list_places(workspace, layout.SETTLED):
        with suppress(StorageError, ValueError, RecursionError):  # this only saves time
            if documents.exists(path):
                found: object = json.loads(documents.read(path))
                members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
                return {name: at for name, at in members.items() if isinstance(at, int)}
    return {}


def _write_settled(workspace: Workspace, settled: Mapping[str, int]) -> None:
    """Remember which journals have nothing left, except recently changed ones, which may change unnoticed."""
    latest = int((workspace.clock.now().timestamp() - _SETTLE_SECONDS) * _NANOS)
    old = {name: at for name, at in settled.items() if at < latest}
    with suppress(StorageError):  # this only saves time
        write_local(workspace, layout.SETTLED, dump(old).encode())
