"""`passdown help`: show help for a command, or list every command."""

from typing import cast

import click

from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.tree import Tree


@click.command()
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--all", "everything", is_flag=True, help="List every command with its sentence, by group.")
@click.pass_context
def command(context: click.Context, /, *, words: tuple[str, ...], everything: bool) -> None:
    """Show help for a command, or list every command.

    `passdown help task add` prints what `passdown task add --help` prints. Without COMMAND, prints the first
    page, which leaves out the commands that few need.
    """
    root = context.find_root()
    if words and everything:
        raise UsageError("give either a command or --all", hint="`passdown help --all` lists every command")
    if everything:
        formatter = root.make_formatter()
        cast("Tree", root.command).format_everything(formatter)
        output.say(formatter.getvalue().strip("\n"))
        return
    output.say(_find(root, words).get_help())


def _find(context: click.Context, words: tuple[str, ...]) -> click.Context:
    """Find the command that words name, below the context of another."""
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            hint = f"`{context.command_path} --help` shows the usage"
            raise UsageError(f"there is no command {_name(context, word)}", hint=hint)
        found = group.resolve_command(context, [word])[1] if context.parent is None else None
        found = found or group.get_command(context, word)
        if found is None:
            hint = f"`{context.command_path} --help` lists the commands"
            raise UsageError(f"there is no command {_name(context, word)}", hint=hint)
        context = click.Context(found, info_name=word, parent=context)
    return context


def _name(context: click.Context, word: str) -> str:
    return f"{context.command_path} {word}".removeprefix("passdown ")
