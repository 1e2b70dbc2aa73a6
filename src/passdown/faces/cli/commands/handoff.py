"""`passdown handoff`: write a handoff, list handoffs, and resume one."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

import click

from passdown.core.formats.archives import TRIGGERS
from passdown.core.kinds import FactKind
from passdown.core.schemas import to_data
from passdown.core.sessions.handoffs import Handoff
from passdown.core.times import age_words, render_seconds
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.command_runs import make_test_runner, run_test_option, yes_option
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.kept_views import note_kept_view
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.sessions import (
    describe,
    find_or_begin,
    need_session,
    note_committed,
    open_sessions,
)
from passdown.ports.repository import Committed
from passdown.records import record
from passdown.services.handover.handoffs import (
    HandoffRequest,
    HandoffReview,
    ListedHandoff,
    ResumedSession,
    WrittenHandoff,
    create_handoff,
    find_handoff,
    list_handoffs,
    read_handoff,
    read_listed,
    resume_handoff,
    review_handoff,
)
from passdown.services.work.session_contexts import save_if_complete
from passdown.services.workspace.workspaces import Workspace

_OFFERS: Final = ("accept", "decline", "offer", "offers", "withdraw")
PATTERNS: Final = ("review", "blocked", "context", "escalation")
_TRIGGER: Final = "manual"
_USUAL: Final = 20
_SHOWN: Final = 5

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session to use.")


class HandoffCommands(click.Group):
    """Loads the commands about offers when one of them is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *_OFFERS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in _OFFERS:
            return super().get_command(ctx, cmd_name)
        found = import_module("passdown.faces.cli.commands.coordination.offers")
        command: click.Command = getattr(found, cmd_name)
        return command


@click.group(cls=HandoffCommands, invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Hand off work: write a handoff, list handoffs, or resume one.

    Without a subcommand, lists the newest handoffs.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _list(_USUAL, as_json=as_json)


@record
class HandoffOptions:
    """The options of `create`."""

    text: str
    to: str
    pattern: str | None
    stream: str
    trigger: str
    session: str
    archive: bool
    as_json: bool


@command.command(short_help="Write a handoff of this session, for all or for one agent.")
@click.argument("text", required=False, default="")
@click.option("--to", default="", metavar="AGENT", help="Write it for this agent, nickname or session.")
@click.option(
    "--pattern",
    type=click.Choice(PATTERNS),
    help="What is handed to the agent; the first line says so.",
)
@click.option("--stream", default="", metavar="NAME", help="Write the document of this stream.")
@click.option(
    "--trigger", default=_TRIGGER, metavar="WORD", help="What triggers the handoff (default: manual)."
)
@_session_option
@click.option("--archive", is_flag=True, help="Archive and remove the ledger; unbind track and task.")
@_json_option
@click.pass_context
def create(context: click.Context, /, **_: object) -> None:
    """Write a handoff of this session as an event, a stream document and a record in the archive.

    Without --stream, the stream is that of the session's track, else the only one that has a document, else
    one named after the goal. In an existing document, only the Ledger section changes. Secrets are replaced
    with a mark.

    With --to, only a file for that agent is written, which is shown to it when it starts or runs `passdown
    inbox`, and is deleted after 24 hours. It says TEXT, or the goal, current work and next steps.
    """
    options = HandoffOptions(**context.params)
    _refuse_mixed(options)
    workspace = open_sessions()
    if options.to:
        _create_for_one(workspace, options, as_json=bool(context.obj) or options.as_json)
        return
    if options.trigger not in TRIGGERS:
        output.note(f"unknown trigger {options.trigger}; it is recorded as given")
    order = HandoffRequest(stream=options.stream, trigger=options.trigger, archive=options.archive)
    account = need_session(workspace, options.session)
    if why := save_if_complete(workspace, account):
        output.note(why)
    handoff = create_handoff(workspace, account, order)
    if context.obj or options.as_json:
        output.say_json(as_data(handoff))
    else:
        say_handoff(handoff)


def _refuse_mixed(options: HandoffOptions) -> None:
    """Raise a UsageError for options that do not go together."""
    if options.to and (options.stream or options.archive or options.trigger != _TRIGGER):
        raise UsageError(
            "--to writes a file for one agent", hint="leave --stream, --trigger and --archive out"
        )
    if not options.to and (options.text or options.pattern):
        raise UsageError("TEXT and --pattern are for one agent", hint="name it with --to AGENT")


def _create_for_one(workspace: Workspace, options: HandoffOptions, *, as_json: bool) -> None:
    from passdown.core.coordination.handoff_rules import HandoffPattern  # most handoffs are for all
    from passdown.services.coordination.addressed_handoffs import AddressedRequest, create_addressed
    from passdown.wiring.workspaces import open_checkouts

    pattern = HandoffPattern(options.pattern) if options.pattern else None
    request = AddressedRequest(to=options.to, text=options.text, pattern=pattern)
    account = need_session(workspace, options.session)
    written = create_addressed(workspace, account, request, open_checkouts(workspace))
    if as_json:
        shown = {"path": written.path, "is_sent": written.is_sent, "handoff": to_data(written.handoff)}
        output.say_json(shown)
    else:
        output.say(f"Handoff created: {written.path}")
        if written.is_sent:
            output.say(f"sent to {written.handoff.to} as a message, too")
        _say_redacted(written.redacted)
    if written.trouble:
        output.note(f"it is not a message: {written.trouble}")


def as_data(handoff: WrittenHandoff) -> dict[str, object]:
    """Return a handoff as data for JSON."""
    committed = handoff.committed
    return {
        "stream": handoff.stream or None,
        "record": handoff.record,
        "event": handoff.written.event.id if handoff.written else None,
        "commit": committed.commit if isinstance(committed, Committed) else None,
        "is_ledger_removed": handoff.archived is not None and handoff.archived.is_removed,
        "snapshot": to_data(handoff.handoff),
    }


def say_handoff(handoff: WrittenHandoff) -> None:
    """Print a written handoff: paths, goal, done, now, next, and that it is safe to clear (R82)."""
    for path in (handoff.stream, handoff.record):
        if path:
            output.say(f"written: {path}")
    if handoff.written:
        output.say(f"published: {handoff.written.event.id}")
    _say_state(handoff.handoff, lambda _kind, _text: "")
    _say_redacted(handoff.handoff.redacted)
    note_committed(handoff.committed)
    note_kept_view(handoff.view)
    output.say("ready for clear")


def _say_state(handoff: Handoff, origin_of: Callable[[FactKind, str], str]) -> None:
    """Print what is done, what is being done and what comes next, each with its origin if that is known."""
    rows = (
        (FactKind.GOAL, [handoff.goal]),
        (FactKind.DONE, handoff.done),
        (FactKind.NOW, [handoff.now]),
        (FactKind.NEXT, handoff.next),
    )
    for kind, texts in rows:
        shown = [text for text in texts if text]
        for text in shown[:_SHOWN]:
            output.say(output.wrapped(f"{kind.value}: {text}{origin_of(kind, text)}", "", "  "))
        if len(shown) > _SHOWN:
            output.say(f"{kind.value}: and {len(shown) - _SHOWN} more")


def _show_origin(workspace: Workspace, review: HandoffReview) -> Callable[[FactKind, str], str]:
    """Return a function that shows who said a fact of a handoff, and how long ago."""

    def show(kind: FactKind, text: str) -> str:
        origin = review.find_origin(kind, text)
        return f" ({origin.agent}, {age_words(workspace.now() - origin.at)} ago)" if origin else ""

    return show


def _say_redacted(redacted: Sequence[str]) -> None:
    if redacted:
        output.note(f"secrets were removed: {', '.join(redacted)}")


@command.command(name="list", short_help="List handoffs, newest first.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=_USUAL,
    metavar="N",
    help="Show N handoffs (default: 20).",
)
@_json_option
@click.pass_obj
def list_(above: bool, limit: int, *, as_json: bool) -> None:
    """List stream documents and archive records, newest first, with age and status."""
    _list(limit, as_json=above or as_json)


def _list(limit: int, *, as_json: bool) -> None:
    workspace = open_sessions()
    found = list_handoffs(workspace, limit)
    if as_json:
        output.say_json({"handoffs": [_listed_data(one) for one in found]})
        return
    if not found:
        output.note("no handoffs")
        output.note_hint("`passdown handoff create` writes one")
    for one in found:
        age = f"{age_words(workspace.now() - one.at)} ago" if one.at else "no date"
        output.say(cut(f"{one.name}  {one.kind}, {one.status or 'no status'}, {age}", width()))
        if one.goal:
            output.say(f"    {cut(one.goal, width() - 4)}")


def _listed_data(listed: ListedHandoff) -> dict[str, object]:
    return {
        "name": listed.name,
        "kind": listed.kind,
        "path": listed.path,
        "at": render_seconds(listed.at) if listed.at else None,
        "status": listed.status or None,
        "goal": listed.goal or None,
    }


@command.command(short_help="Print a handoff as it was written.")
@click.argument("name", required=False, default="")
@_json_option
@click.pass_obj
def show(above: bool, name: str, *, as_json: bool) -> None:
    """Print a handoff as it was written; NAME is a stream, a record, or the start of a record's name.

    Without NAME, prints the newest.
    """
    workspace = open_sessions()
    listed = find_handoff(workspace, name or _newest(workspace))
    text = read_handoff(workspace, listed)
    if above or as_json:
        output.say_json({**_listed_data(read_listed(workspace, listed)), "text": text})
    else:
        output.say(text.replace("\r\n", "\n").removesuffix("\n"))


@command.command(short_help="Resume a handoff.")
@click.argument("name", required=False, default="")
@_session_option
@run_test_option
@yes_option
@_json_option
@click.pass_obj
def resume(above: bool, name: str, session: str, *, run_test: bool, yes: bool, as_json: bool) -> None:
    """Show what changed since a handoff was written, and resume it; without NAME, the newest.

    Compares the branch, commits, file hashes and age, and with --run-test the result of the recorded test.
    The goal, current work, next steps, decisions and questions are then copied to the running session, or to
    a new one; facts that the session stated itself stay.
    """
    workspace = open_sessions()
    as_json = above or as_json
    run = make_test_runner(yes=yes, as_json=as_json) if run_test else None
    review = review_handoff(workspace, name or _newest(workspace), run)
    if not as_json:
        for line in drift_lines(review.drift, is_run=run_test):
            output.say(line)
    resumed = resume_handoff(workspace, review, find_or_begin(workspace, session))
    if as_json:
        output.say_json({**_listed_data(review.listed), **_resumed_data(review, resumed)})
        return
    word = "starts" if resumed.is_new else "continues"
    output.say(f"{resumed.account.agent} {word} from {review.listed.path}")
    output.say(f"ledger: {resumed.account.start.ledger}")
    _say_state(review.handoff, _show_origin(workspace, review))
    for text in (*review.handoff.questions, *review.handoff.unconfirmed):
        output.say(output.wrapped(f"question: {text}", "", "  "))


def _newest(workspace: Workspace) -> str:
    """Return the path of the newest handoff; raise `UsageError` if there is none."""
    newest = list_handoffs(workspace, 1)
    if not newest:
        raise UsageError("there are no handoffs", hint="`passdown handoff create` writes one")
    return newest[0].path


def _resumed_data(review: HandoffReview, resumed: ResumedSession) -> dict[str, object]:
    drift = review.drift
    return {
        "session": describe(resumed.account),
        "is_new": resumed.is_new,
        "carried": resumed.carried,
        "drift": {
            "is_clean": drift.is_clean,
            "age_seconds": int(drift.age.total_seconds()) if drift.age is not None else None,
            "is_old": drift.is_old,
            "branch": {"then": drift.branch[0], "now": drift.branch[1]} if drift.branch else None,
            "commits": drift.commits,
            "changed": list(drift.changed),
            "missing": list(drift.missing),
            "test": drift.test or None,
            "test_then": drift.test_then,
            "test_now": drift.test_now,
        },
        "snapshot": to_data(review.handoff),
    }
