"""What Passdown knows about a host, the program that an agent runs in.

A host is one value, `HOST`, in the folder `hosts/<name>/`; no other code knows a host's name. What only some
commands need is loaded on demand: a hook loads nothing of another host, and no install.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from passdown.core.briefs.budgets import Budget
    from passdown.core.hosts.hook_calls import HookCall, HookReply
    from passdown.core.hosts.installs import Command, EditHook, PluginRegistration
    from passdown.core.hosts.transcripts import TranscriptReader


class Signs(NamedTuple):
    """What identifies a host that nobody named; signs that other hosts inherit or imitate do not count."""

    variables: tuple[str, ...] = ()
    """Environment variables that only this host sets."""
    members: tuple[str, ...] = ()
    """Members that only this host's hook payloads have."""
    transcript: str = ""
    """How the file name of every transcript begins."""


class Status(NamedTuple):
    """What a host passes to its status line command."""

    folder: str
    session: str
    used: object
    """The percentage of the context that is used, as the host reports it."""


class Install(NamedTuple):
    """How the plugin is installed in a host."""

    program: str
    variable: str
    """The environment variable that names the host's own folder."""
    home: str
    """The host's own folder, below the user's home."""
    settings: str
    """The file in that folder that lists the plugins."""
    is_json: bool
    """Whether that file is JSON; otherwise it is TOML."""
    add: "tuple[Command, Command]"
    """The host's commands that add the marketplace and the plugin."""
    remove: "tuple[Command, Command]"
    """The host's commands that remove the plugin and the marketplace."""
    instructions: str
    """The file in a project that the host's agents read."""
    render: Callable[[Mapping[str, bytes], str], Mapping[str, bytes]]
    """Returns the plugin's files for this host, with the command that its hooks call."""
    read_registration: "Callable[[object], PluginRegistration]"
    """Returns what the host's settings say about the plugin."""
    edit_hooks: "tuple[EditHook, ...]" = ()
    """The hooks before a tool that `--edits` registers; empty for a host that has none."""
    has_status_line: bool = False
    rules: tuple[str, ...] = ()
    """The permission rules that let agents record without a question; empty for a host without such rules."""
    has_writable_roots: bool = False
    """Whether its settings name the folders that its sandbox may write."""
    copies: bool = False
    """Whether the host uses a copy of the plugin, which it makes when the plugin is added again."""
    step: str = ""
    """What the user has to do by hand."""


class Host(NamedTuple):
    """A program that agents run in, and how it communicates with Passdown."""

    name: str
    """The name in files and commands."""
    title: str
    """The name shown to people."""
    budget: "Budget"
    """The largest brief that the host accepts."""
    read_call: "Callable[[Mapping[str, object]], HookCall | None]"
    """Returns what a hook's payload says, or None for an event that needs no action."""
    write_reply: "Callable[[HookCall, HookReply], dict[str, object]]"
    """Returns the reply in the host's format; an empty reply is not printed."""
    signs: Signs = Signs()
    load_transcripts: "Callable[[], TranscriptReader] | None" = None
    """Loads the reader of the host's transcripts, which also tells how full the context is."""
    load_install: "Callable[[], Install] | None" = None
    """Loads how the plugin is installed in the host."""
    read_status: "Callable[[Mapping[str, object]], Status] | None" = None
    """Returns what the host passes to its status line."""
    environment_file: str = ""
    """The variable that names, at the start of a session, a file of exports for the host's shells."""
    calls_after_compaction: bool = True
    """Whether the host starts the session again after a compaction; if not, the next prompt is briefed."""
