"""Decides where the view is stored: at the tracked path, or at a local one that git ignores."""

from enum import StrEnum
from typing import Annotated, Final

from passdown.records import record

RENDERER: Final = 6
"""The version of the view's renderer; another version may write the same events differently."""


class ViewPolicy(StrEnum):
    """The branches on which git tracks the view."""

    INTEGRATION = "integration"
    ALWAYS = "always"
    NEVER = "never"


@record
class ViewLocation:
    """The file that holds the view, and why it is not tracked, if so."""

    path: Annotated[str, "The view's path, relative to the project root."]
    is_tracked: Annotated[bool, "Whether the view is meant to be committed."]
    note: Annotated[str, "Why it is not committed; empty if it is."] = ""


def locate_view(
    policy: ViewPolicy, *, tracked: str, local: str, branch: str | None, integration: str | None
) -> ViewLocation:
    """Decide where the view is stored, so that it can conflict only on the integration branch (C43).

    `branch` is None outside git; `integration` is None if the integration branch is unknown. The first case
    that holds decides:

    1. ``always``, or ``integration`` outside git or on the integration branch: the tracked path.
    2. ``never``: the local path.
    3. ``integration`` on any other branch, or on none: the local path.
    """
    is_home = policy is ViewPolicy.INTEGRATION and (branch is None or branch == integration)
    if policy is ViewPolicy.ALWAYS or is_home:  # 1
        return ViewLocation(path=tracked, is_tracked=True)
    note = "the view is not committed: "
    if policy is ViewPolicy.NEVER:  # 2
        note += '[view] commit = "never"'
    elif integration is None:  # 3
        note += "the integration branch is unknown; name it in [view] branch"
    else:
        note = f"the view is not committed on branch {branch}, only on {integration}"
    return ViewLocation(path=local, is_tracked=False, note=note)
