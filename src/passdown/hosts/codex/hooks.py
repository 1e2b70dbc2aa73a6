"""The hooks of Codex: as Claude Code's, but a patch names the files that it would change."""

from collections.abc import Mapping
from typing import Final

from passdown.core.hosts.hook_calls import HookCall
from passdown.hosts import hooks

_PATCH: Final = "apply_patch"


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read the payload of a hook."""
    return hooks.read_call(payload, _find_paths)


def _find_paths(tool: str, told: object) -> tuple[str, ...]:
    """Return the files of a patch; the shell has the same command, so a patch may be in a here-document."""
    patch = hooks.text_at(told, "command")
    if tool != _PATCH and not (tool == hooks.SHELL and patch.lstrip().startswith(_PATCH)):
        return ()
    from passdown.hosts.patches import find_patched  # few calls have a patch

    return find_patched(patch)
