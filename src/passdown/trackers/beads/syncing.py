"""Sync by what the build can do: 0.44 writes its file of lines, 1.3 pulls and pushes, others do neither."""

import json
from typing import cast

from passdown.core.safe_text import one_line
from passdown.errors import TrackerSyncError
from passdown.ports.programs import ProgramResult
from passdown.trackers.beads.calls import UNNAMED, Calls

_HINT = "Nothing is lost; run `passdown sync` again."


def sync_tasks(calls: Calls, agent: str, *, push: bool) -> str:
    """Exchange tasks; what commits to git or pushes to a remote happens only if it is wanted.

    1. A build with a file of lines writes that file; its full sync commits and pushes git.
    2. A build without `sync` keeps its database; it can push that.
    3. Others pull and push their own remote, and never adopt one of git's.
    """
    build = calls.build
    actor = f"--actor={agent or UNNAMED}"
    if build.has_imports:  # 1
        _require(calls.run("sync", actor) if push else calls.run("sync", "--flush-only", actor))
        return "committed, pulled and pushed" if push else "wrote the file that git tracks"
    if not build.has_sync:  # 2
        if not push:
            return f"nothing to do: bd {build.version} syncs only with `push` below [tracker]"
        _require(calls.run("dolt", "push", actor))
        return "pushed the database"
    done = calls.run("sync", "--no-adopt", "--json", actor)  # 3
    status = _status(done)
    if status not in {"ok", "no-remote"}:
        raise _failed(done, status)
    return "pulled and pushed" if status == "ok" else "nothing to do: Beads has no remote"


def _require(done: ProgramResult) -> None:
    if not done.is_done:
        raise _failed(done, "")


def _failed(done: ProgramResult, status: str) -> TrackerSyncError:
    said = one_line(" ".join((status or done.errors or done.text).split()))[:300]
    return TrackerSyncError(f"bd could not sync: {said}", hint=_HINT)


def _status(done: ProgramResult) -> str:
    try:
        found: object = json.loads(done.text)
    except ValueError:
        return ""
    values = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    inner = values.get("data")
    values = cast("dict[str, object]", inner) if isinstance(inner, dict) else values
    status = values.get("status")
    return status if isinstance(status, str) else ""
