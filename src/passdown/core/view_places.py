"""Where the view lies: in the tracked place, or in a local one that git ignores."""

from enum import StrEnum
from typing import Annotated, Final

from passdown.records import record

RENDERER: Final = 1
"""The version of the view's renderer: another one may write the same events in other bytes."""


class ViewPolicy(StrEnum):
    """On which branches the view is a tracked file."""

    INTEGRATION = "integration"
    ALWAYS = "always"
    NEVER = "never"


@record
class ViewPlace:
    """The file in which the view is kept, and why it is not a tracked one."""

    path: Annotated[str, "The view's path from the project's root."]
    is_tracked: Annotated[bool, "Whether the view is meant to be committed."]
    note: Annotated[str, "Why it is not committed; empty when it is."] = ""


def place_view(
    policy: ViewPolicy, *, tracked: str, local: str, branch: str | None, integration: str | None
) -> ViewPlace:
    """Decide where the view lies; on no branch but the integration branch can it then conflict (C43).

    `branch` is None outside git, `integration` is None when nobody knows the integration branch. The first
    case that holds decides:

    1. ``always``, or ``integration`` outside git or on the integration branch: the tracked path.
    2. ``never``: the local path.
    3. ``integration`` on any other branch, or on none: the local path.
    """
    # 1.
    is_home = policy is ViewPolicy.INTEGRATION and (branch is None or branch == integration)
    if policy is ViewPolicy.ALWAYS or is_home:
        return ViewPlace(path=tracked, is_tracked=True)
    # 2.
    if policy is ViewPolicy.NEVER:
        return ViewPlace(
            path=local, is_tracked=False, note='the view is not committed: [view] commit = "never"'
        )
    # 3.
    if integration is None:
        note = "the view is not committed: the integration branch is not known; name it in [view] branch"
    else:
        note = f"the view is not committed on branch {branch}, only on {integration}"
    return ViewPlace(path=local, is_tracked=False, note=note)
