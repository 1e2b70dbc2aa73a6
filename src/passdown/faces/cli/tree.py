"""The command-line parser, built from the table of verbs."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import click

from passdown import __version__
from passdown.errors import UsageError
from passdown.faces.cli import output, verbs

if TYPE_CHECKING:  # few commands change what sessions share, and few calls complete a word
    from click.shell_completion import CompletionItem

    from passdown.services.workspace.verbs import VerbRun

_TEXTS: Final = "texts"
_WIDEST: Final = 100
_NARROWEST: Final = 50
_USUAL: Final = 78
_TITLES: Final = 15
"""The width of the column that has the titles of the groups."""


class Tree(click.Group):
    """A group that loads its commands when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(verbs.VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build the command of a verb from its row, or load its module."""
        del ctx
        verb = verbs.VERBS.get(cmd_name)
        if verb is None:
            return None
        if verb.does:
            return _make_command(verb)
        name, _, attribute = (verb.module or f"{verb.name}:command").partition(":")
        module = importlib.import_module(f"passdown.faces.cli.commands.{name}")
        command: click.Command = getattr(module, attribute or verb.name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the called command; suggest a similar name for an unknown one."""
        name = args[0]
        if name not in verbs.VERBS and not name.startswith("-"):
            from difflib import get_close_matches  # needed only for a typo

            meant = get_close_matches(name, verbs.VERBS, n=1)
            asked = f"; did you mean {meant[0]}?" if meant else ""
            raise click.UsageError(f"there is no command {name}{asked}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Complete the name of a command from the table alone; click would load all their modules."""
        from click.shell_completion import CompletionItem  # needed only by a shell that completes

        rows = [one for one in verbs.VERBS.values() if one.name.startswith(incomplete)]
        usual = [one for one in rows if incomplete or one.group is not verbs.Group.FURTHER]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(one.name, help=one.help) for one in usual), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names of the commands by group; `passdown help --all` lists each with its sentence."""
        del ctx
        formatter.write_paragraph()
        for group, rows in verbs.list_groups():
            if group is not verbs.Group.FURTHER:
                formatter.write("\n".join(_wrap_names(group, [one.name for one in rows], formatter.width)))
                formatter.write("\n")

    def format_everything(self, formatter: click.HelpFormatter) -> None:
        """List every command with its sentence, by group."""
        widest = max(map(len, verbs.VERBS))
        for group, rows in verbs.list_groups():
            with formatter.section(group.value):
                formatter.write_dl([(one.name.ljust(widest), one.help) for one in rows])


def _wrap_names(group: str, names: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of a group: its title, and the names of its commands in the columns beside it."""
    line = group.ljust(_TITLES)
    for name in names:
        if line.strip() and len(line) + len(name) > min(width, _USUAL):
            yield line.rstrip()
            line = " " * _TITLES
        line += f"{name}  "
    yield line.rstrip()


def _make_command(verb: verbs.Verb) -> click.Command:
    has_lead = len(verb.arguments) > 1 and not verb.arguments[0].is_required
    arguments = [_make_texts(verb)] if has_lead else [_make_argument(one) for one in verb.arguments]
    options = [_make_option(one) for one in verb.options]

    def carry_out(**values: object) -> int:
        named: Mapping[str, object] | None = {}
        if has_lead:
            named = verbs.name_texts(verb.arguments, cast("Sequence[str]", values.pop(_TEXTS)))
        if named is None:
            raise click.UsageError("too many texts", click.get_current_context())
        words = click.get_current_context().ensure_object(TypedCommand).words
        return verbs.carry_out(verb, {**values, **named}, words)

    said = "\n\n".join(filter(None, (verb.help, verb.details)))
    return click.Command(verb.name, params=[*arguments, *options], help=said, callback=carry_out)


def _make_texts(verb: verbs.Verb) -> click.Argument:
    """Make one argument of several of which the first may be left out, which click does not know."""
    shown = " ".join(
        one.name.upper() if one.is_required else f"[{one.name.upper()}]" for one in verb.arguments
    )
    return click.Argument([_TEXTS], nargs=-1, required=True, metavar=shown)


def _make_argument(one: verbs.Argument) -> click.Argument:
    if one.is_many or one.is_required:
        return click.Argument(
            [one.name],
            nargs=-1 if one.is_many else 1,
            required=one.is_required,
            metavar=one.metavar or None,
        )
    return click.Argument([one.name], required=False, default="")


def _make_option(one: verbs.Option) -> click.Option:
    names = [one.flag, one.parameter]
    if one.is_flag:
        return click.Option(names, is_flag=True, help=one.help)
    if one.choices is not None:
        return click.Option(names, type=click.Choice(one.choices()), help=one.help)
    return click.Option(names, default=one.default, metavar=one.metavar, help=one.help)


@click.group(
    cls=Tree,
    epilog="One command: `passdown COMMAND --help`. All of them: `passdown help --all`.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
)
@click.version_option(__version__, prog_name="passdown", message="%(prog)s %(version)s")
def cli() -> None:
    """The pass-down log for coding agents: what one session knew, the next one knows."""


class TypedCommand:
    """A command as it was typed, and its run."""

    def __init__(self, words: Sequence[str]) -> None:
        """Keep the words."""
        self.words = tuple(words)
        self.is_again = False
        """Whether it is meant anew, even if the same words were cut off a moment ago."""
        self.verb: VerbRun | None = None
        """Its run, once it changes what sessions share."""


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; raise parser errors as `UsageError`."""
    typed = TypedCommand(arguments)
    try:
        code = cli.main(
            [*arguments],
            prog_name="passdown",
            standalone_mode=False,
            terminal_width=_help_width(),
            obj=typed,
        )
    except click.exceptions.NoArgsIsHelpError as found:
        if not arguments:
            from passdown.faces.cli.glance import say_glance  # `--help` does not need it

            say_glance()
        found.show()
        return found.exit_code
    except click.UsageError as found:
        raise _as_ours(found) from found
    except click.Abort as found:
        raise KeyboardInterrupt from found
    return code if isinstance(code, int) else 0


def _help_width() -> int:
    """Return the width for help; click would import `shutil`, which is slow."""
    return max(min(output.columns(), _WIDEST) - 2, _NARROWEST)


def _as_ours(found: click.UsageError) -> UsageError:
    """Convert a parser error to a `UsageError` in our wording."""
    # The parser puts each choice on a line of its own.
    message = found.format_message().removesuffix(".").replace("\n\t", " ")
    called = found.ctx.command_path if found.ctx else "passdown"
    is_group = found.ctx is not None and isinstance(found.ctx.command, click.Group)
    tells = "lists the commands" if is_group else "shows the usage"
    return UsageError(message[:1].lower() + message[1:], hint=f"`{called} --help` {tells}")
