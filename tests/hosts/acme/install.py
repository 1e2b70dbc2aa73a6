"""How Acme takes the plugin: as others do, with a program and a file of its own."""

from typing import Final

from passdown.core.hosts.installs import COMMANDS, EDITS, PLUGIN_ID
from passdown.hosts.plugins import ADD, REMOVE, read_json_registration, render_plugin
from passdown.ports.host import Install

INSTALL: Final = Install(
    program="acme",
    variable="ACME_HOME",
    home=".acme",
    settings="settings.json",
    is_json=True,
    add=(ADD, ("plugin", "install", PLUGIN_ID)),
    remove=(("plugin", "uninstall", PLUGIN_ID), REMOVE),
    instructions="ACME.md",
    render=render_plugin,
    read_registration=read_json_registration,
    edit_hooks=(EDITS, COMMANDS),
)
