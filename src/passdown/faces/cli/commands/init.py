"""`passdown init`: show what a project needs, ask, and write it."""

import os
from pathlib import Path

import click

from passdown import wiring
from passdown.core.texts import one_line
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.project import current_folder
from passdown.records import replace
from passdown.services.checkouts import Site
from passdown.services.documents import Repair
from passdown.services.setups import Change, Plan, Wish, is_initialised, is_private, plan_setup, write_setup
from passdown.settings import FILE_NAME


@click.command()
@click.option("--yes", is_flag=True, help="Write without asking. Needed where there is no terminal.")
@click.option(
    "--private/--shared",
    "private",
    default=None,
    help="Keep all files out of git, for you alone; or share them.",
)
@click.option("--no-commit", is_flag=True, help="Let Passdown never commit by itself.")
@click.option("--here", is_flag=True, help="Make a project of this folder, not of the whole repository.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, yes: bool, private: bool | None, no_commit: bool, here: bool, as_json: bool) -> int:
    """Set Passdown up in this project: settings, and rules for git.

    Written are `passdown.toml`; a block in `.gitignore` that keeps local files out of git; and one in
    `.gitattributes` that keeps git from changing line ends of shared files. All else in those files stays as
    it is. With --private there is one block in `.git/info/exclude` instead, which keeps everything out of
    git. Nothing is committed.

    The difference is shown first. At a terminal at most three questions are asked; --yes asks none.

    Exits with 0 when it is done or there is nothing to do, and with 1 when it was shown and not agreed to.
    """
    root = _find_root(here=here)
    settings, warnings = wiring.read_settings(root)
    for warning in warnings:
        output.note(warning)
    site = wiring.open_site(root, settings)
    is_asked = not (yes or as_json) and output.has_person()
    wish = Wish(is_private=private, commits=not no_commit)
    plan = plan_setup(site, _ask(site, wish) if is_asked else wish)
    if not plan.changes:
        return _say_nothing(root, plan, as_json=as_json)
    if not as_json:
        _show(root, plan)
    # With --json nobody has seen yet what would be written: only --yes can agree to it.
    is_agreed = yes or (is_asked and _agrees("Write this?"))
    if is_agreed:
        write_setup(site, plan.changes)
    if as_json:
        output.say_json(_as_data(root, plan, is_written=is_agreed))
    else:
        _say_written(site, plan, is_written=is_agreed)
    return 0 if is_agreed else 1


def _offer_installs() -> None:
    """Name the hosts that are here and could do all of it by themselves."""
    for host in wiring.list_hosts_without_us():
        output.note_hint(f"`passdown install {host.name}` lets {host.title} do the rest by itself")


def _find_root(*, here: bool) -> Path:
    folder = current_folder()
    root = wiring.find_root(folder)
    if here or root == folder:
        return folder
    if not (root / FILE_NAME).is_file():
        shown = os.path.relpath(root, folder).replace(os.sep, "/")
        output.note(f"the project is the whole repository, {shown}; --here makes one of this folder")
    return root


def _ask(site: Site, wish: Wish) -> Wish:
    """Ask what no option says and nothing in the project tells."""
    if site.git is None or is_initialised(site) or is_private(site):
        return wish
    if wish.is_private is None:
        is_shared = _agrees("Share events and handoffs with others, through git?")
        wish = replace(wish, is_private=not is_shared)
    if wish.commits and not wish.is_private:
        wish = replace(wish, commits=_agrees("May Passdown commit them when a session ends or hands over?"))
    return wish


def _agrees(question: str) -> bool:
    try:
        return click.confirm(question, default=True, err=True)
    except click.Abort:
        output.draw("\n")  # what follows shall not stand behind the question
        raise


def _say_nothing(root: Path, plan: Plan, *, as_json: bool) -> int:
    if as_json:
        output.say_json(_as_data(root, plan, is_written=False))
    output.note(f"{root.name} is set up already{_class(plan)}; nothing was changed")
    return 0


def _class(plan: Plan) -> str:
    return ", privately" if plan.is_private else ""


def _show(root: Path, plan: Plan) -> None:
    output.say(f"in {one_line(str(root))}:")
    for change in plan.changes:
        for line in _difference(change).splitlines():
            output.say(cut(line, width()))


def _difference(change: Change) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (change.before or b"", change.after))
    return Repair(path=change.path, before=before, after=after).difference(one_line(change.shown))


def _say_written(site: Site, plan: Plan, *, is_written: bool) -> None:
    if not is_written:
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return
    for change in plan.changes:
        output.say(f"written: {change.shown}")
    shared = [change.shown for change in plan.changes if not change.is_gits]
    if site.git is None:
        output.note("the project is not in a git repository; nothing is committed")
    elif shared and not plan.is_private:
        output.note_hint(f"commit {', '.join(shared)}: then others have it too")
    _offer_installs()


def _as_data(root: Path, plan: Plan, *, is_written: bool) -> dict[str, object]:
    return {
        "root": str(root),
        "is_private": plan.is_private,
        "written": is_written,
        "changes": [
            {
                "path": change.shown,
                "is_new": change.before is None,
                "difference": _difference(change),
            }
            for change in plan.changes
        ],
    }
