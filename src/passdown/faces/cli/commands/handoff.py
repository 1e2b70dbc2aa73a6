"""`passdown handoff`: write a handoff, list handoffs, and resume one."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import click

from passdown.actions.handover import handoffs as actions
from passdown.core.kinds import FactKind
from passdown.core.sessions.handoffs import Handoff
from passdown.core.times import age_words
from passdown.errors import UsageError
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.calls import call
from passdown.faces.cli.commands.work.command_runs import make_test_runner
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.kept_views import note_kept_view
from passdown.faces.cli.lifecycle import note_committed
from passdown.faces.cli.lines import list_records
from passdown.records import replace
from passdown.services.handover.handoffs import HandoffRequest, WrittenHandoff

_OFFERS: Final = ("accept", "decline", "offer", "offers", "withdraw")
PATTERNS: Final = ("review", "blocked", "context", "escalation")
_TRIGGER: Final = "manual"
_USUAL: Final = 20
_SHOWN: Final = 5


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
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Hand off work: write a handoff, list handoffs, or resume one.

    Without a subcommand, lists the newest handoffs.
    """
    if context.invoked_subcommand is None:
        _list(_USUAL, as_json=as_json)


@command.command(short_help="Write a handoff of this session, for everyone or for one agent.")
@click.argument("text", required=False, default="")
@click.option("--to", default="", metavar="AGENT", help="Write it for this agent, nickname or session.")
@click.option(
    "--pattern",
    type=click.Choice(PATTERNS),
    help="What you want from the agent; stands in the first line.",
)
@click.option("--stream", default="", metavar="NAME", help="The stream whose document to write.")
@click.option(
    "--trigger", default=_TRIGGER, metavar="WORD", help="Why the handoff is written (default: manual)."
)
@options.session
@click.option("--archive", is_flag=True, help="Archive and remove the ledger; unbind track and task.")
@options.json
def create(text: str, to: str, pattern: str | None, session: str, *, as_json: bool, **written: Any) -> None:
    """Write a handoff of this session as an event, a stream document and a record in the archive.

    Without --stream, uses the stream of the session's track, else the only one that has a document, else one
    named after the goal. In an existing document, only the Ledger section changes. Secrets are replaced with
    a mark.

    With --to, writes only a file for that agent, which sees it when it starts or runs `passdown inbox`; the
    file is deleted after 24 hours. It holds TEXT, or the goal, current work and next steps.
    """
    order = HandoffRequest(**written)
    if to and order != HandoffRequest():
        hint = "remove them; --to writes a file for one agent"
        raise UsageError("--to cannot be combined with --stream, --trigger or --archive", hint=hint)
    if to:
        _create_for_one(to, text, pattern, session, as_json=as_json)
        return
    if text or pattern:
        raise UsageError("TEXT and --pattern need --to", hint="name the agent with --to AGENT")
    answer = call(actions.create, order, session)
    calls.show(answer, lambda found: say_handoff(found.written), as_json=as_json)


def _create_for_one(to: str, text: str, pattern: str | None, session: str, *, as_json: bool) -> None:
    from passdown.core.coordination.handoff_rules import HandoffPattern  # most handoffs are for all
    from passdown.services.coordination.addressed_handoffs import AddressedRequest

    request = AddressedRequest(to=to, text=text, pattern=HandoffPattern(pattern) if pattern else None)
    answer = call(actions.create_for_one, request, session)
    if trouble := calls.show(answer, _say_sent, as_json=as_json).trouble:
        output.note(f"not sent as a message: {trouble}")


def _say_sent(found: actions.SentHandoff) -> None:
    output.say(f"Handoff created: {found.path}")
    if found.is_sent:
        output.say(f"also sent to {found.handoff.to} as a message")
    _say_redacted(found.redacted)


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
    """Print goal, done, now and next, each with its origin if that is known."""
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


def _say_redacted(redacted: Sequence[str]) -> None:
    if redacted:
        output.note(f"removed secrets: {', '.join(redacted)}")


@command.command(name="list", short_help="List handoffs, newest first.")
@options.limit(_USUAL, "handoffs")
@options.json
def list_(limit: int, *, as_json: bool) -> None:
    """List stream documents and records of handoffs, newest first, with age and status.

    What sessions left when they ended is no handoff: `passdown log --sessions` lists it.
    """
    _list(limit, as_json=as_json)


def _list(limit: int, *, as_json: bool) -> None:
    calls.show(call(actions.list_newest, limit), _say_list, as_json=as_json)


def _say_list(found: actions.HandoffList) -> None:
    if not found.handoffs:
        output.note("no handoffs")
        output.note_hint("run `passdown handoff create` to write one")
    for line in list_records(found.handoffs, found.now):
        output.say(line)


@command.command(short_help="Print a handoff as it was written.")
@click.argument("name", required=False, default="")
@options.json
def show(name: str, *, as_json: bool) -> None:
    """Print a handoff as it was written; NAME is a stream, a record, or the start of a record's name.

    Without NAME, prints the newest.
    """
    answer = call(actions.show, name)
    calls.show(
        answer,
        lambda found: output.say(found.text.replace("\r\n", "\n").removesuffix("\n")),
        as_json=as_json,
    )


@command.command(short_help="Resume a handoff.")
@click.argument("name", required=False, default="")
@options.session
@options.run_test
@options.yes
@options.json
def resume(name: str, session: str, *, run_test: bool, yes: bool, as_json: bool) -> None:
    """Resume a handoff, after showing what changed since it was written; without NAME, the newest.

    Compares branch, commits, file hashes and age, and with --run-test the result of the recorded test. Then
    copies the goal, current work, next steps, decisions and questions to the running session, or to a new
    one. What the session recorded itself stays.
    """
    found = call(actions.review, name).result
    review = found.review
    if run_test and review.drift.test:
        run = make_test_runner(yes=yes, as_json=as_json)
        review = replace(review, drift=replace(review.drift, test_now=run(review.drift.test)))
    if not as_json:
        for line in drift_lines(review.drift, is_run=run_test):
            output.say(line)
    answer = call(actions.resume, review, session, is_first=False)
    calls.show(answer, lambda resumed: _say_resumed(resumed, found), as_json=as_json)


def _say_resumed(resumed: actions.ResumedHandoff, found: actions.ReviewedHandoff) -> None:
    def show_origin(kind: FactKind, text: str) -> str:
        """Return who stated a fact of the handoff, and how long ago."""
        origin = found.review.find_origin(kind, text)
        return f" ({origin.agent}, {age_words(found.now - origin.at)} ago)" if origin else ""

    word = "starts" if resumed.is_new else "continues"
    output.say(f"{resumed.session.agent} {word} from {resumed.summary.path}")
    output.say(f"ledger: {resumed.session.ledger}")
    _say_state(resumed.snapshot, show_origin)
    for text in (*resumed.snapshot.questions, *resumed.snapshot.unconfirmed):
        output.say(output.wrapped(f"question: {text}", "", "  "))
