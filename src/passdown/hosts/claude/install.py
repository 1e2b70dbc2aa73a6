"""How the plugin is installed in Claude Code."""

from typing import Final

from passdown.core.hosts.installs import COMMANDS, EDITS, PLUGIN, PLUGIN_ID
from passdown.core.hosts.permission_rules import VERBS, WHOLE_COMMANDS
from passdown.hosts.plugins import ADD, REMOVE, read_json_registration, render_plugin
from passdown.ports.host import Install

INSTALL: Final = Install(
    program="claude",
    variable="CLAUDE_CONFIG_DIR",
    home=".claude",
    settings="settings.json",
    is_json=True,
    add=(ADD, ("plugin", "install", PLUGIN_ID)),
    remove=(("plugin", "uninstall", PLUGIN_ID), REMOVE),
    instructions="CLAUDE.md",
    render=render_plugin,
    read_registration=read_json_registration,
    edit_hooks=(
        EDITS,
        COMMANDS._replace(condition="Bash(bd *)"),
        COMMANDS._replace(condition="Bash(passdown *)"),
    ),
    has_status_line=True,
    rules=(
        *(f"Bash({PLUGIN} {verb}:*)" for verb in VERBS),
        *(f"Bash({PLUGIN} {command})" for command in WHOLE_COMMANDS),
    ),
    former_rules=(f"Bash({PLUGIN} log:*)",),
)
