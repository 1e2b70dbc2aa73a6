"""Judge an edit before it is made: no session changes a file that another one holds (C88)."""

from typing import TYPE_CHECKING, Annotated

from passdown.actions.callers import Caller, find_hosted
from passdown.records import record

if TYPE_CHECKING:
    from passdown.core.coordination.leases import PathVerdict


@record
class JudgedEdit:
    """Which of the files may not be edited."""

    held: Annotated["tuple[PathVerdict, ...]", "The files that another live session holds."] = ()
    age: Annotated[float | None, "How old what a server said is, in seconds; None if it was asked."] = None


def judge_edit(caller: Caller, paths: tuple[str, ...]) -> JudgedEdit:
    """Return which files another live session holds; every doubt passes, and nothing is changed."""
    account = find_hosted(caller) if paths else None
    coordination = caller.workspace.read_coordination() if account else None
    if account is None or coordination is None:
        return JudgedEdit()
    from passdown.services.coordination import edits  # few edits come this far

    held = edits.judge_edit(coordination, account.session, paths)
    return JudgedEdit(held=held, age=edits.find_age(coordination) if held else None)
