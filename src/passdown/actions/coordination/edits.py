"""Check an edit before it is made: no session changes a file that another one holds (C88)."""

from typing import TYPE_CHECKING, Annotated

from passdown.actions.callers import Caller, find_hosted
from passdown.records import record

if TYPE_CHECKING:
    from passdown.core.coordination.leases import PathVerdict


@record
class JudgedEdit:
    """The files that may not be edited."""

    held: Annotated["tuple[PathVerdict, ...]", "The files that another live session holds."] = ()
    age: Annotated[
        float | None, "The age in seconds of a server's last answer; None if the engine was asked."
    ] = None


def judge_edit(caller: Caller, paths: tuple[str, ...]) -> JudgedEdit:
    """Return the files that another live session holds; in doubt, the edit passes. Nothing is changed."""
    account = find_hosted(caller) if paths else None
    coordination = caller.workspace.read_coordination() if account else None
    if account is None or coordination is None:
        return JudgedEdit()
    from passdown.services.coordination import edits  # few edits get this far

    held = edits.judge_edit(coordination, account.session, paths)
    return JudgedEdit(held=held, age=edits.find_age(coordination) if held else None)
