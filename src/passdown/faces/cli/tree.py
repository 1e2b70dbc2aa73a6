"""The tree of commands: a table, so that help needs no command's code."""

import importlib
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

import click

from passdown import __version__
from passdown.errors import UsageError
from passdown.faces.cli import output

_WIDEST: Final = 100
_NARROWEST: Final = 50

COMMANDS: Final = MappingProxyType(
    {
        "init": "Set Passdown up in this project: settings, and rules for git.",
        "install": "Install the plugin into Claude Code, Codex or Copilot; show what changes first.",
        "uninstall": "Take the plugin out of a host again; what you changed meanwhile stays.",
        "start": "Start a session, or show the one that runs; what never ended is recovered first.",
        "status": "List the sessions of the project, what each does, and which are stale.",
        "goal": "Say what the session is to achieve, in one or two sentences.",
        "now": "Say what you are doing; one thing at a time.",
        "done": "Say what is finished; without a text, what you were doing is.",
        "next": "Say what comes after, one argument for each step, in order.",
        "decide": "Record a choice under a key; a later one of the same key takes its place.",
        "rule-out": "Say what must not be done, and why, so that nobody tries it again.",
        "ask": "Write down a question that somebody must answer.",
        "answer": "Answer a question; QUESTION is its text, or the start of it.",
        "note": "Write a note to yourself; it stays on this machine.",
        "retract": "Take back what was said; TEXT is its text, the start of it, or a decision's key.",
        "observe": "Take in what a host's transcript and git tell of a session.",
        "publish": "Publish what is open as an event that every checkout can merge.",
        "heartbeat": "Give a sign of life, and bring the ledger up to date.",
        "end": "End a session: publish what is open, archive its ledger, commit where agreed.",
        "handoff": "Hand work over: write what a session passes on, list it, go on from it.",
        "track": "Bind a session to a track, let go of it, or finish it.",
        "synthesize": "Merge all events into the view; archive and commit when asked.",
        "brief": "Say what a starting session must know, within a budget.",
        "certify": "Prove that no fact was lost.",
        "log": "List what was published, the newest first.",
        "search": "Find words in ledgers, archives, events and streams.",
        "check": "Say what is wrong with ledgers, events and other documents.",
        "event": "Show an event, or take one back.",
        "view": "Show the view, list what it leaves out, or verify it.",
        "format": "List the document formats; show a schema or an example.",
        "migrate": "Take over a `current.md` that Passdown did not make.",
        "pause": "Hold Passdown off in this project: what runs by itself does nothing until `unpause`.",
        "unpause": "Let Passdown work again in this project.",
        "doctor": "Say what is wrong with the project as a whole, and mend what is safe to mend.",
    }
)

_LIFE: Final = ("start", "status", "publish", "heartbeat", "end")
_SAY: Final = ("goal", "now", "done", "next", "decide", "rule-out", "ask", "answer", "note", "retract")
_PAUSE: Final = ("pause", "unpause")
_INSTALL: Final = ("install", "uninstall")
_SHARED: Final = MappingProxyType(
    {
        **dict.fromkeys(_LIFE, ("session", "LIFE")),
        **dict.fromkeys(_SAY, ("say", "VERBS")),
        **dict.fromkeys(_PAUSE, ("pause", "SWITCHES")),
        **dict.fromkeys(_INSTALL, ("install", "INSTALLS")),
    }
)
"""The module and its table of commands that share one; every other command has a module of its own."""


class Tree(click.Group):
    """A group whose commands are loaded when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        name, table = _SHARED.get(cmd_name, (cmd_name, ""))
        module = importlib.import_module(f"passdown.faces.cli.commands.{name}")
        command: click.Command = getattr(module, table)[cmd_name] if table else module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was called; for one that is not there, name what may have been meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

            meant = get_close_matches(name, COMMANDS, n=1)
            asked = f"; did you mean {meant[0]}?" if meant else ""
            raise click.UsageError(f"there is no command {name}{asked}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Tree,
    epilog="`passdown COMMAND --help` tells more about a command.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
)
@click.version_option(__version__, prog_name="passdown", message="%(prog)s %(version)s")
def cli() -> None:
    """The pass-down log for coding agents: what one session knew, the next one knows."""


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; raise what was wrong as an error of ours."""
    try:
        code = cli.main(
            list(arguments), prog_name="passdown", standalone_mode=False, terminal_width=_help_width()
        )
    except click.exceptions.NoArgsIsHelpError as found:
        found.show()
        return found.exit_code
    except click.UsageError as found:
        raise _as_ours(found) from found
    except click.Abort as found:
        raise KeyboardInterrupt from found
    return code if isinstance(code, int) else 0


def _help_width() -> int:
    """Return the width for help; left to click, finding it would load a third of `shutil`'s friends."""
    return max(min(output.columns(), _WIDEST) - 2, _NARROWEST)


def _as_ours(found: click.UsageError) -> UsageError:
    """Say a complaint of the parser the way we say ours."""
    message = found.format_message().removesuffix(".")
    called = found.ctx.command_path if found.ctx else "passdown"
    is_group = found.ctx is not None and isinstance(found.ctx.command, click.Group)
    tells = "lists the commands" if is_group else "shows how it is called"
    return UsageError(message[:1].lower() + message[1:], hint=f"`{called} --help` {tells}")
