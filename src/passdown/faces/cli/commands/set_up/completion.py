"""`passdown completion`: print the script that completes commands, options and their values in a shell."""

import click
from click.shell_completion import ShellComplete, get_completion_class

from passdown.faces.cli import output

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, /, *, shell: str) -> None:
    """Print the script that completes commands in a shell.

    For bash, add this line to `~/.bashrc`; for zsh, to `~/.zshrc`, with `zsh` in place of `bash`:

        eval "$(passdown completion bash)"

    For fish, save the script once:

        passdown completion fish > ~/.config/fish/completions/passdown.fish

    The script asks this program what fits, so it need not be renewed after an upgrade. Nothing is written.
    """
    root = context.find_root().command
    found = get_completion_class(shell)
    if found is not None:
        # The class for bash would start bash to learn its version; the script works without that.
        script = ShellComplete.source(found(root, {}, "passdown", "_PASSDOWN_COMPLETE"))
        output.say(script.strip("\n"))
