"""The plugin and marketplace format of Claude Code, which other hosts have adopted."""

import json
import re
from collections.abc import Mapping
from typing import Final

from passdown.core.hosts.installs import (
    FOLDER,
    HOOKS,
    PLUGIN,
    PLUGIN_ID,
    Command,
    PluginRegistration,
    first_word,
)
from passdown.core.json_text import dump, member_at
from passdown.core.lazy_regex import pattern

MARKETPLACE: Final = ".claude-plugin/marketplace.json"
MANIFEST: Final = ".claude-plugin/plugin.json"

ADD: Final[Command] = ("plugin", "marketplace", "add", FOLDER)
REMOVE: Final[Command] = ("plugin", "marketplace", "remove", PLUGIN)

_MISSING: Final = (
    "Passdown: the passdown program is not installed, so this session gets no brief and is not recorded. "
    "Install it (uv tool install passdown), or remove the plugin."
)
_USED: Final = tuple(f"{PLUGIN}/{path}" for path in (MANIFEST, "hooks/", "skills/"))
_VERSION_LINE: Final = pattern(rb'^ *"version": .*\n', re.MULTILINE)


def guard_line(called: str) -> str:
    """Return a line that calls our program if it is installed, and otherwise says so when a session starts.

    At every other event it prints nothing, and it always exits with 0. Any POSIX shell can run it; a command
    that cannot be quoted for all of them is returned as it is. One host reads the message from another
    member.
    """
    program = first_word(called)
    if "'" in called or not program:
        return called
    told = 'k=systemMessage; [ -z "$COPILOT_CLI" ] || k=additionalContext; '
    told += f'echo "{{\\"$k\\":\\"{_MISSING}\\"}}"'
    begins = "|".join(f'*\\"source\\":\\"{cause}\\"*' for cause in ("startup", "new"))
    missing = f'case $(tr -d " ") in {begins}) {told};; esac'
    return f"sh -c 'command -v {program} >/dev/null 2>&1 && exec {called}; {missing}'"


def render_plugin(files: Mapping[str, bytes], called: str, *, is_hashed: bool = False) -> Mapping[str, bytes]:
    """Return the files of a marketplace with one plugin whose hooks call that command.

    A host that trusts the plugin by its hash gets only the files it uses, without anything that changes with
    every release; otherwise the user would have to trust the hooks again after each upgrade.
    """
    rendered = {f"{PLUGIN}/{path}": data for path, data in files.items()}
    if is_hashed:
        rendered = {path: data for path, data in rendered.items() if path.startswith(_USED)}
        about = f"{PLUGIN}/{MANIFEST}"
        rendered[about] = _VERSION_LINE.sub(b"", rendered[about])
    hooks = f"{PLUGIN}/{HOOKS}"
    source = dump(guard_line("passdown hook"))
    rendered[hooks] = rendered[hooks].replace(source.encode(), dump(called).encode())
    entry = {"name": PLUGIN, "source": f"./{PLUGIN}", "description": "What one session knew, the next knows."}
    owner = {"name": "The Passdown maintainers"}
    data = {
        "name": PLUGIN,
        "description": "Written by `passdown install`.",
        "owner": owner,
        "plugins": [entry],
    }
    rendered[MARKETPLACE] = f"{json.dumps(data, indent=2)}\n".encode()
    return rendered


def read_json_registration(settings: object) -> PluginRegistration:
    """Read the registration of the plugin from a host's JSON settings."""
    source = member_at(settings, "extraKnownMarketplaces", PLUGIN, "source")
    path = member_at(source, "path") or member_at(source, "repo") or member_at(source, "url")
    noted = member_at(settings, "enabledPlugins", PLUGIN_ID)
    return PluginRegistration(path if isinstance(path, str) else "", noted is not None, noted is True)


def read_toml_registration(settings: object) -> PluginRegistration:
    """Read the registration of the plugin from a host's TOML settings."""
    path = member_at(settings, "marketplaces", PLUGIN, "source")
    noted = member_at(settings, "plugins", PLUGIN_ID)
    is_enabled = member_at(noted, "enabled") is True
    return PluginRegistration(path if isinstance(path, str) else "", noted is not None, is_enabled)
