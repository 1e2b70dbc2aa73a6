"""What Passdown knows about a host, the program that an agent runs in.

A host is one value, `HOST`, in the folder `hosts/<name>/`; no other code knows a host's name. Parts that only
some commands need are loaded on demand: a hook loads no other host and nothing about installs.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from passdown.core.briefs.budgets import Budget
    from passdown.core.hosts.hook_calls import HookCall, HookReply
    from passdown.core.hosts.installs import Command, EditHook, PluginRegistration
    from passdown.core.hosts.past_sessions import TranscriptStore
    from passdown.core.hosts.transcripts import TranscriptReader


class Signs(NamedTuple):
    """How to recognise a host that is not named; signs that other hosts inherit or imitate do not count."""

    variables: tuple[str, ...] = ()
    """Environment variables that only this host sets."""
    members: tuple[str, ...] = ()
    """Members that only this host's hook payloads have."""
    transcript: str = ""
    """The start of every transcript's file name."""


class Status(NamedTuple):
    """The data that a host passes to its status line command."""

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
    """Returns the plugin's registration in the host's settings."""
    edit_hooks: "tuple[EditHook, ...]" = ()
    """The hooks before a tool that `--edits` registers; empty for a host that has none."""
    has_status_line: bool = False
    rules: tuple[str, ...] = ()
    """The permission rules that let agents record without asking; empty for a host without such rules."""
    former_rules: tuple[str, ...] = ()
    """The rules that earlier versions added; uninstalling removes them too."""
    has_writable_roots: bool = False
    """Whether its settings list the folders to which its sandbox may write."""
    copies: bool = False
    """Whether the host uses its own copy of the plugin, which is renewed only by adding the plugin again."""
    step: str = ""
    """What the user has to do manually."""


class Host(NamedTuple):
    """A program that agents run in, and how it communicates with Passdown."""

    name: str
    """The name in files and commands."""
    title: str
    """The name shown to people."""
    budget: "Budget"
    """The largest brief that the host accepts."""
    read_call: "Callable[[Mapping[str, object]], HookCall | None]"
    """Returns the call in a hook's payload, or None for an event that needs no action."""
    write_reply: "Callable[[HookCall, HookReply], dict[str, object]]"
    """Returns the reply in the host's format; an empty reply is not printed."""
    signs: Signs = Signs()
    load_transcripts: "Callable[[], TranscriptReader] | None" = None
    """Loads the reader of the host's transcripts, which also reads how full the context is."""
    load_store: "Callable[[], TranscriptStore] | None" = None
    """Loads where the host keeps transcripts, for `passdown import`."""
    load_install: "Callable[[], Install] | None" = None
    """Loads how the plugin is installed in the host."""
    read_status: "Callable[[Mapping[str, object]], Status] | None" = None
    """Returns the data that the host passes to its status line."""
    environment_file: str = ""
    """The variable that names a file of exports for the host's shells when a session starts."""
    calls_after_compaction: bool = True
    """Whether the host starts the session again after a compaction; if not, the next prompt is briefed."""
