"""The other checkouts of a project, for actions that read more than one."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from passdown.actions.answers import NoticeKind
from passdown.actions.callers import Caller
from passdown.errors import PassdownError
from passdown.records import replace
from passdown.services.workspace.workspaces import list_other_roots
from passdown.settings import Settings
from passdown.wiring.projects import read_settings


class CheckoutCaller(NamedTuple):
    """The same caller in another checkout of the project."""

    caller: Caller
    shown: str
    """The path of the checkout, from the root of the caller's."""
    branch: str


def open_others(caller: Caller) -> Iterator[CheckoutCaller]:
    """Open the other checkouts; one whose settings cannot be read is skipped, with a notice."""
    for root, branch in list_other_roots(caller.workspace.repository):
        if not os.path.isdir(root):  # Path.is_dir() raises without permission
            continue
        shown = os.path.relpath(root, caller.workspace.root).replace(os.sep, "/")
        try:
            settings, _ = read_settings(
                Path(root), caller.around.variables
            )  # problems in them are reported to the sessions there
        except PassdownError as found:
            caller.note(NoticeKind.CHECKOUT_SKIPPED, checkout=shown, reason=found.message)
            continue
        yield CheckoutCaller(_move(caller, root, settings), shown, branch)


def _move(caller: Caller, root: str, settings: Settings) -> Caller:
    """Return the caller in another checkout; its notices go to the given caller."""
    open_with = partial(caller.open_other, Path(root), settings, caller.outside(root))
    limits = caller.around.limits._replace(is_cached=True)  # it has a cache of its own
    return replace(
        caller,
        workspace=open_with(limits),
        reopen=open_with,
        around=replace(caller.around, limits=limits),
        session="",
        is_typed=False,
        after=[],
    )
