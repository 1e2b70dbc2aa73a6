"""`passdown handoff`: write down what a session passes on, and go on from what another one passed on."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

import click

from passdown.core.archives import TRIGGERS
from passdown.core.schemas import to_data
from passdown.core.snapshots import Drift, Snapshot
from passdown.core.times import age_words, render_seconds
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.sessions import describe, find_running, need_session, note_committed, open_sessions
from passdown.ports.repository import Committed
from passdown.records import record
from passdown.services.handoffs import (
    Handoff,
    Listed,
    Looked,
    Order,
    Resumed,
    create_handoff,
    find_handoff,
    list_handoffs,
    look_at,
    read_handoff,
    read_listed,
    resume_handoff,
)
from passdown.services.journals import Project

_USUAL: Final = 20
_SHOWN: Final = 5
_SECONDS: Final = 900

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session that is meant.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Hand work over: write what a session passes on, list it, go on from it.

    Without a verb the newest handoffs are listed.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _list(_USUAL, as_json=as_json)


@record
class Way:
    """How a handoff is to be written."""

    stream: str
    trigger: str
    session: str
    archive: bool
    as_json: bool


@command.command(short_help="Write what this session passes on.")
@click.option("--stream", default="", metavar="NAME", help="Write the document of this stream.")
@click.option("--trigger", default="manual", metavar="WORD", help="What makes it; manual unless told.")
@_session_option
@click.option("--archive", is_flag=True, help="Archive the ledger and remove it; let go of track and task.")
@_json_option
@click.pass_context
def create(context: click.Context, /, **_: object) -> None:
    """Write what this session passes on, as an event, a stream document and a record in the archive.

    The stream document is written if a stream is named or the session works on a track. In one that is there,
    only the Ledger section changes. Secrets are left out, with a mark in their place.
    """
    way = Way(**context.params)
    project = open_sessions()
    if way.trigger not in TRIGGERS:
        output.note(f"{way.trigger} is no trigger that Passdown knows; it is kept as it is")
    order = Order(stream=way.stream, trigger=way.trigger, archive=way.archive)
    handoff = create_handoff(project, need_session(project, way.session), order)
    if context.obj or way.as_json:
        output.say_json(as_data(handoff))
    else:
        say_handoff(handoff)


def as_data(handoff: Handoff) -> dict[str, object]:
    """Give a handoff as data."""
    committed = handoff.committed
    return {
        "stream": handoff.stream or None,
        "record": handoff.record,
        "event": handoff.written.event.id if handoff.written else None,
        "commit": committed.commit if isinstance(committed, Committed) else None,
        "is_ledger_removed": handoff.archived is not None and handoff.archived.is_removed,
        "snapshot": to_data(handoff.snapshot),
    }


def say_handoff(handoff: Handoff) -> None:
    """Report a handoff that was written: where, Done, Now, Next, and that it is safe to clear (R82)."""
    for path in (handoff.stream, handoff.record):
        if path:
            output.say(f"written: {path}")
    if handoff.written:
        output.say(f"published: {handoff.written.event.id}")
    _say_state(handoff.snapshot)
    _say_redacted(handoff.snapshot.redacted)
    note_committed(handoff.committed)
    output.say("ready for clear")


def _say_state(snapshot: Snapshot) -> None:
    """Say what is done, what is being done, and what comes after."""
    rows = (
        ("goal", [snapshot.goal]),
        ("done", snapshot.done),
        ("now", [snapshot.now]),
        ("next", snapshot.next),
    )
    for name, texts in rows:
        shown = [text for text in texts if text]
        for text in shown[:_SHOWN]:
            output.say(output.wrapped(f"{name}: {text}", "", "  "))
        if len(shown) > _SHOWN:
            output.say(f"{name}: and {len(shown) - _SHOWN} more")


def _say_redacted(redacted: Sequence[str]) -> None:
    if redacted:
        output.note(f"secrets were left out: {', '.join(redacted)}")


@command.command(name="list", short_help="List the handoffs, the newest first.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=_USUAL, metavar="N", help="Show N of them."
)
@_json_option
@click.pass_obj
def list_(above: bool, limit: int, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """List stream documents and records of the archive, the newest first, with age and status."""
    _list(limit, as_json=above or as_json)


def _list(limit: int, *, as_json: bool) -> None:
    project = open_sessions()
    found = list_handoffs(project, limit)
    if as_json:
        output.say_json({"handoffs": [_listed_data(one) for one in found]})
        return
    if not found:
        output.note("no handoffs")
        output.note_hint("`passdown handoff create` writes one")
    for one in found:
        age = f"{age_words(project.now() - one.at)} ago" if one.at else "no date"
        output.say(cut(f"{one.name}  {one.kind}, {one.status or 'no status'}, {age}", width()))
        if one.goal:
            output.say(f"    {cut(one.goal, width() - 4)}")


def _listed_data(listed: Listed) -> dict[str, object]:
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
def show(above: bool, name: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Print a handoff as it was written; NAME is a stream, a record, or the start of a record's name.

    Without a name it is the newest.
    """
    project = open_sessions()
    listed = find_handoff(project, name or _newest(project))
    text = read_handoff(project, listed)
    if above or as_json:
        output.say_json({**_listed_data(read_listed(project, listed)), "text": text})
    else:
        output.say(text.replace("\r\n", "\n").removesuffix("\n"))


@command.command(short_help="Go on from a handoff.")
@click.argument("name", required=False, default="")
@_session_option
@click.option("--run-test", is_flag=True, help="Run the recorded test command, without a shell.")
@_json_option
@click.pass_obj
def resume(above: bool, name: str, session: str, *, run_test: bool, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Say what changed since a handoff was written, and go on from it; without a name it is the newest.

    Compared are branch, commits, the hashes of the files, the age, and with --run-test how the recorded test
    ends now. Goal, now, next, decisions and questions are then those of the session that runs, or of a new
    one; what the session has stated itself stays.
    """
    project = open_sessions()
    chosen = name or _newest(project)
    looked = look_at(project, chosen, (lambda text: _run(project, text)) if run_test else None)
    if not (above or as_json):
        for line in drift_lines(looked.drift, is_run=run_test):
            output.say(line)
    resumed = resume_handoff(project, looked, find_running(project, session))
    if above or as_json:
        output.say_json({**_listed_data(looked.listed), **_resumed_data(looked, resumed)})
        return
    word = "begins" if resumed.is_new else "goes on"
    output.say(f"{resumed.account.agent} {word} from {looked.listed.path}")
    output.say(f"ledger: {resumed.account.start.ledger}")
    _say_state(looked.snapshot)
    for text in looked.snapshot.questions:
        output.say(output.wrapped(f"question: {text}", "", "  "))


def _newest(project: Project) -> str:
    """Name the handoff that was written last."""
    newest = list_handoffs(project, 1)
    if not newest:
        raise UsageError("there are no handoffs", hint="`passdown handoff create` writes one")
    return newest[0].path


def _resumed_data(looked: Looked, resumed: Resumed) -> dict[str, object]:
    drift = looked.drift
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
        "snapshot": to_data(looked.snapshot),
    }


def drift_lines(drift: Drift, *, is_run: bool) -> Iterator[str]:
    """Say what is different from what a handoff says."""
    if drift.age is not None:
        old = "; more than 24 h: check before you rely on it" if drift.is_old else ""
        yield f"age: {age_words(drift.age)}{old}"
    if drift.branch:
        yield f"branch: was {drift.branch[0]}, is {drift.branch[1]}"
    if drift.commits:
        yield f"commits: {drift.commits} since"
    yield from (f"changed since: {path}" for path in drift.changed)
    yield from (f"gone since: {path}" for path in drift.missing)
    if drift.test:
        yield f"test: {drift.test} ({_test_words(drift, is_run=is_run)})"
    if drift.is_clean:
        yield (
            "nothing else is known to have changed"
            if drift.age is not None
            else "nothing is known to have changed"
        )


def _test_words(drift: Drift, *, is_run: bool) -> str:
    then = "not run then" if drift.test_then is None else f"exit code {drift.test_then} then"
    if not is_run:
        return f"{then}; --run-test runs it"
    if drift.test_now is None:
        return f"{then}; could not be run now"
    return f"{then}, {drift.test_now} now"


def _run(project: Project, text: str) -> int | None:
    """Run a command without a shell, its output on stderr; None when that is not possible."""
    import subprocess  # noqa: PLC0415 - only --run-test needs it

    output.note(f"running {text}")
    try:
        words = shlex.split(text)
        done = subprocess.run(words, cwd=project.root, check=False, stdout=2, timeout=_SECONDS)  # noqa: S603 - asked for
    except (OSError, ValueError, subprocess.TimeoutExpired) as found:
        output.note(f"could not run it: {found}")
        return None
    return done.returncode
