"""`passdown init`: show the changes that a project needs, ask, and write them."""

import os

import click

from passdown.actions.answers import encode
from passdown.actions.project import setups
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call_bare, show
from passdown.faces.cli.lines import say_difference
from passdown.records import replace
from passdown.services.project.setups import SetupRequest


@click.command()
@options.write
@click.option(
    "--private/--shared",
    "private",
    default=None,
    help="Keep all files out of git, or share them through git.",
)
@click.option("--no-commit", is_flag=True, help="Never let Passdown commit automatically.")
@click.option("--here", is_flag=True, help="Set up this folder only, not the whole repository.")
@options.json
def command(*, yes: bool, private: bool | None, no_commit: bool, here: bool, as_json: bool) -> int:
    """Set up Passdown in this project: settings and git rules.

    Writes `passdown.toml`, a block in `.gitignore` that keeps local files out of git, and a block in
    `.gitattributes` that keeps git from changing the line endings of shared files, lets it merge the view
    without conflicts, and lets forges collapse generated files. The rest of those files is not changed. With
    --private, writes one block in `.git/info/exclude` instead, which keeps everything out of git. Nothing is
    committed.
    If a host has the plugin and a sandbox, adds the folder that this project's sessions share (in git's
    folder) to the sandbox, so that they can record there.

    Shows the diff first. At a terminal it asks at most three questions; --yes asks none. If hosts have
    transcripts of sessions in this project, it then offers to import them, as `passdown import` does.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    folder = call_bare(setups.find_folder, setups.FolderRequest(is_here=here)).result
    is_asked = not (yes or as_json) and output.has_person()
    choices = SetupRequest(is_private=private, commits=not no_commit)
    if is_asked and not folder.is_decided:
        choices = _ask(choices)
    answer = call_bare(setups.plan_setup, setups.SetupOptions(folder=folder, choices=choices))
    if not answer.result.changes:
        return _say_nothing(answer.result, as_json=as_json)
    if not as_json:
        _show(answer.result)
    # With --json the user has not seen the changes yet, so only --yes can confirm.
    is_agreed = yes or (is_asked and _agrees("Write this?"))
    if is_agreed:
        answer = call_bare(setups.write, answer.result)
    show(answer, _say_written, as_json=as_json)
    if is_agreed and is_asked:
        from passdown.faces.cli.commands.set_up.imports import offer_history  # few setups are at a terminal

        offer_history()
    return 0 if is_agreed else 1


def _ask(choices: SetupRequest) -> SetupRequest:
    """Ask for the choices that neither the options nor the project make."""
    if choices.is_private is None:
        is_shared = _agrees("Share events and handoffs with others through git?")
        choices = replace(choices, is_private=not is_shared)
    if choices.commits and not choices.is_private:
        commits = _agrees("May Passdown commit them at session ends, handoffs and checkpoints?")
        choices = replace(choices, commits=commits)
    return choices


def _agrees(question: str) -> bool:
    return output.agrees(question, usual=True)


def _say_nothing(found: setups.SetupResult, *, as_json: bool) -> int:
    if as_json:
        output.say_json(encode(found))
    privately = ", privately" if found.is_private else ""
    output.note(f"{os.path.basename(found.root)} is already set up{privately}; nothing was changed")
    return 0


def _show(found: setups.SetupResult) -> None:
    if found.plan.changes:
        output.say(f"in {one_line(found.root)}:")
    for change in found.changes:
        say_difference(change.difference)


def _say_written(found: setups.SetupResult) -> None:
    if not found.written:
        output.note_unwritten()
        return
    for change in found.changes:
        output.say(f"written: {one_line(change.path)}")
    shared = [change.shown for change in found.plan.changes if not change.is_gits]
    if found.plan.changes and not found.is_in_git:
        output.note("this is not a git repository; nothing is committed")
    elif shared and not found.is_private:
        output.note_hint(f"commit {', '.join(shared)} to share the setup")
    for host in found.lacking:
        output.note_hint(f"run `passdown install {host.name}` to add Passdown to {host.title}")
