"""Import old transcripts as history: plan, then carry out; list and show what was imported, or forget it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, MILLIS
from passdown.actions.callers import Caller
from passdown.actions.log.events import read_since
from passdown.core.formats.history import HistoryEntry, describe_history
from passdown.core.kinds import FactKind
from passdown.records import record, replace
from passdown.services.project import imports as service
from passdown.services.project.imports import FoundTranscript, ImportPlan, ImportScope
from passdown.wiring.imports import open_history, open_import

_USER: Final = FactKind.PROMPT.value


@record
class ImportRequest:
    """Which transcripts to import."""

    host: Annotated[str, "Only those of this host; empty for all."] = ""
    since: Annotated[str, "Only those written since a date or time, or an age."] = ""


@record
class HostTranscripts:
    """The transcripts of one host that are not imported yet."""

    host: Annotated[str, "The name of the host."]
    title: Annotated[str, "Its name for people."]
    count: Annotated[int, "How many there are."]
    bytes: Annotated[int, "How large they are together."]
    oldest: Annotated[datetime, "When the oldest was last written.", MILLIS]
    newest: Annotated[datetime, "When the newest was last written.", MILLIS]


@record
class ImportResult:
    """What an import reads, and what it wrote if it is done."""

    done: Annotated[bool, "Whether it is done."]
    new: Annotated[tuple[HostTranscripts, ...], "The transcripts to import, by host."]
    known: Annotated[int, "How many are imported already."]
    foreign: Annotated[int, "How many belong to other projects."]
    unreadable: Annotated[int, "How many cannot be read."]
    folder: Annotated[str, "Where history is kept."]
    sessions: Annotated[int, "How many sessions were imported."] = 0
    entries: Annotated[int, "How many entries they have."] = 0
    redacted: Annotated[int, "In how many of them secrets were redacted."] = 0
    scope: Annotated[ImportScope | None, "What the import needs.", HIDDEN] = None
    plan: Annotated[ImportPlan, "The planned import.", HIDDEN] = ImportPlan()

    @property
    def count(self) -> int:
        """Return how many transcripts are new."""
        return len(self.plan.new)


@record
class ForgottenHistory:
    """What was removed, or would be."""

    done: Annotated[bool, "Whether it is removed."]
    sessions: Annotated[int, "How many imported sessions there are, or were."]
    folder: Annotated[str, "Where they are, or were."]


@record
class ListedSession:
    """An imported session."""

    name: Annotated[str, "Its name, as `history show` takes it."]
    host: Annotated[str, "The program that the agent ran in."]
    parent: Annotated[str | None, "The session that started it, if it is a subagent's."]
    started: Annotated[datetime | None, "When its first entry was written."]
    ended: Annotated[datetime | None, "When its last entry was written."]
    about: Annotated[str, "The start of what the user first said."]
    prompts: Annotated[int, "How often the user said something."]
    entries: Annotated[int, "How many entries it has."]


@record
class HistoryList:
    """The imported sessions."""

    sessions: Annotated[tuple[ListedSession, ...], "The sessions, newest first."]
    earlier: Annotated[int, "How many earlier ones there are."]


@record
class ShownHistory:
    """An imported session in full."""

    session: Annotated[str, "The host's id of the session."]
    host: Annotated[str, "The program that the agent ran in."]
    text: Annotated[str, "The session as text."]
    entries: Annotated[tuple[HistoryEntry, ...], "What was said and done, in order."]


def plan_import(caller: Caller, request: ImportRequest) -> ImportResult:
    """Find out what an import would read; nothing is written yet."""
    scope = open_import(caller.workspace, request.host)
    since = read_since(request.since, caller.workspace.clock.now())
    plan = service.plan_import(caller.workspace, scope, since, caller.around.progress)
    return ImportResult(
        done=False,
        new=tuple(_sum_up(plan.new)),
        known=plan.known,
        foreign=plan.foreign,
        unreadable=plan.unreadable,
        folder=scope.place.shown,
        scope=scope,
        plan=plan,
    )


def _sum_up(new: Sequence[FoundTranscript]) -> Sequence[HostTranscripts]:
    by_host: dict[str, list[FoundTranscript]] = {}
    for one in new:
        by_host.setdefault(one.host.name, []).append(one)
    return [
        HostTranscripts(
            host=name,
            title=found[0].host.title,
            count=len(found),
            bytes=sum(one.file.size for one in found),
            oldest=min(one.file.changed for one in found),
            newest=max(one.file.changed for one in found),
        )
        for name, found in by_host.items()
    ]


def carry_out(caller: Caller, planned: ImportResult) -> ImportResult:
    """Import what was planned."""
    scope = planned.scope or open_import(caller.workspace)
    totals = service.import_transcripts(caller.workspace, scope, planned.plan, caller.around.progress)
    return replace(
        planned,
        done=True,
        sessions=totals.sessions,
        entries=totals.entries,
        redacted=totals.redacted,
        unreadable=planned.unreadable + totals.unreadable,
    )


def count_history(caller: Caller, _request: None = None) -> ForgottenHistory:
    """Count what `forget` would remove."""
    place = open_history(caller.workspace)
    return ForgottenHistory(done=False, sessions=len(service.list_history(place)), folder=place.shown)


def forget(caller: Caller, _request: None = None) -> ForgottenHistory:
    """Remove all history of the project."""
    scope = open_import(caller.workspace)
    return ForgottenHistory(done=True, sessions=service.forget_history(scope), folder=scope.place.shown)


def pick_words(caller: Caller, _request: None = None) -> str:
    """Return words that find something in what was imported; empty if nothing was."""
    return service.pick_words(open_history(caller.workspace))


def list_sessions(caller: Caller, limit: int | None) -> HistoryList:
    """List the newest imported sessions."""
    found = service.list_history(open_history(caller.workspace))
    shown = found if limit is None else found[:limit]
    sessions = tuple(
        ListedSession(
            name=one.name,
            host=one.host,
            parent=one.head.parent or None,
            started=one.head.started,
            ended=one.head.ended,
            about=one.head.about,
            prompts=dict(one.head.counts).get(_USER, 0),
            entries=sum(count for _, count in one.head.counts),
        )
        for one in shown
    )
    return HistoryList(sessions=sessions, earlier=len(found) - len(shown))


def show_session(caller: Caller, name: str) -> ShownHistory:
    """Return an imported session in full."""
    found = service.find_history(open_history(caller.workspace), name)
    return ShownHistory(
        session=found.head.session,
        host=found.head.host,
        text=describe_history(found),
        entries=found.entries,
    )
