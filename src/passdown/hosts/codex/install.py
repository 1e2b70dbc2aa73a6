"""How the plugin is installed in Codex, which copies it and trusts the hooks in the copy by their hash."""

from functools import partial
from typing import Final

from passdown.core.hosts.installs import COMMANDS, EDITS, PLUGIN_ID
from passdown.hosts.plugins import ADD, REMOVE, read_toml_registration, render_plugin
from passdown.ports.host import Install

INSTALL: Final = Install(
    program="codex",
    variable="CODEX_HOME",
    home=".codex",
    settings="config.toml",
    is_json=False,
    add=(ADD, ("plugin", "add", PLUGIN_ID)),
    remove=(("plugin", "remove", PLUGIN_ID), REMOVE),
    instructions="AGENTS.md",
    render=partial(render_plugin, is_hashed=True),
    read_registration=read_toml_registration,
    edit_hooks=(EDITS, COMMANDS),
    has_writable_roots=True,  # its rules would run a command outside of the sandbox
    copies=True,
    step="start codex, type /hooks, and trust the passdown hooks; until then codex skips them",
)
