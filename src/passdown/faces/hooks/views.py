"""Hooks make the local view at a start and after each event, as far as their time allows (R131, R132)."""

from passdown.errors import PassdownError, UnreadError
from passdown.faces.hooks.hook_context import HookContext
from passdown.services.log.local_view import is_outdated, mark_outdated, update_local_view


def update_view(context: HookContext) -> None:
    """Make the local view, or leave it to the next hook and log why.

    1. As long as not all events were read, there is none: a view must not leave any out.
    2. Without the cache nobody keeps a slower hook from overwriting a newer view.
    """
    if context.limits.is_cached:  # 2
        try:
            update_local_view(context.workspace)
        except PassdownError as found:
            if not isinstance(found, UnreadError):  # 1
                context.note(f"the view was not updated: {found.message}")
        else:
            return
    mark_outdated(context.workspace)


def update_outdated(context: HookContext) -> None:
    """Make the local view if an event was published since it was made."""
    if is_outdated(context.workspace):
        update_view(context)
