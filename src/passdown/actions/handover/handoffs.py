"""Write a handoff, list handoffs, and resume one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, OR_NULL, SECONDS, Form, NoticeKind, describe, members
from passdown.actions.callers import Caller, find_or_begin, need_session
from passdown.actions.sessions.sessions import SessionSummary, summarize
from passdown.core.formats.archives import TRIGGERS
from passdown.core.schemas import to_data
from passdown.core.sessions.handoffs import Handoff, HandoffDrift
from passdown.errors import UsageError
from passdown.ports.repository import Committed
from passdown.records import record
from passdown.services.handover import handoffs as services
from passdown.services.handover.streams import read_text
from passdown.services.work.session_contexts import save_if_complete
from passdown.wiring.workspaces import open_checkouts

if TYPE_CHECKING:  # most handoffs are for all
    from passdown.core.formats.addressed_handoffs import AddressedHandoff
    from passdown.services.coordination.addressed_handoffs import AddressedRequest


HANDOFF: Final = members(at=SECONDS, status=OR_NULL, goal=OR_NULL)
SNAPSHOT: Final = members(at=SECONDS, started_at=SECONDS, more=INLINE)
"""Facts of a further kind stand under its name."""


@record
class CreatedHandoff:
    """A handoff that was written."""

    stream: Annotated[str | None, "The path of the stream document."]
    record: Annotated[str, "The path of the record in the archive."]
    event: Annotated[str | None, "The event; null if everything was published already."]
    commit: Annotated[str | None, "The commit, if one was made."]
    is_ledger_removed: Annotated[bool, "Whether the ledger was archived and removed."]
    snapshot: Annotated[Handoff, "What is passed on.", SNAPSHOT]
    written: Annotated[services.WrittenHandoff, "The outcome of each part.", HIDDEN]


@record
class SentHandoff:
    """A handoff that was written for one agent."""

    path: Annotated[str, "Its path; absolute if it is in another checkout."]
    is_sent: Annotated[bool, "Whether it was also sent as a message."]
    handoff: Annotated["AddressedHandoff", "What it says.", Form(to_data)]
    redacted: Annotated[tuple[str, ...], "The secrets that were removed.", HIDDEN]
    trouble: Annotated[str, "Why it was not sent as a message, although sessions coordinate.", HIDDEN]


@record
class HandoffList:
    """The newest handoffs."""

    handoffs: Annotated[Sequence[services.ListedHandoff], "Streams and records, newest first.", HANDOFF]
    now: Annotated[datetime, "When they were listed.", HIDDEN]


@record
class SessionRecords:
    """The records that sessions left when they ended."""

    sessions: Annotated[Sequence[services.ListedHandoff], "The newest first.", HANDOFF]
    earlier: Annotated[int, "How many earlier ones there are."]
    now: Annotated[datetime, "When they were listed.", HIDDEN]


@record
class ShownHandoff:
    """A handoff as it was written."""

    summary: Annotated[services.ListedHandoff, "The handoff.", INLINE, HANDOFF]
    text: Annotated[str, "Its text."]


def _describe_drift(drift: HandoffDrift) -> Mapping[str, object]:
    return {
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
    }


@record
class ReviewedHandoff:
    """A handoff, and what changed since it was written."""

    summary: Annotated[services.ListedHandoff, "The handoff.", INLINE, HANDOFF]
    drift: Annotated[HandoffDrift, "What changed since.", Form(_describe_drift)]
    snapshot: Annotated[Handoff, "What is passed on.", SNAPSHOT]
    review: Annotated[services.HandoffComparison, "The review, with the origin of each fact.", HIDDEN]
    now: Annotated[datetime, "When it was compared.", HIDDEN]


@record
class ResumedHandoff:
    """A session that resumed a handoff."""

    summary: Annotated[services.ListedHandoff, "The handoff.", INLINE, HANDOFF]
    session: Annotated[SessionSummary, "The session."]
    is_new: Annotated[bool, "Whether it was started for that."]
    carried: Annotated[int, "How many facts were new to it."]
    drift: Annotated[HandoffDrift, "What changed since.", Form(_describe_drift)]
    snapshot: Annotated[Handoff, "What is passed on.", SNAPSHOT]


def create(caller: Caller, request: services.HandoffRequest) -> CreatedHandoff:
    """Write a handoff for everybody: an event, a stream document and a record."""
    if request.trigger not in TRIGGERS:
        caller.note(NoticeKind.UNKNOWN_TRIGGER, trigger=request.trigger)
    account = need_session(caller)
    if why := save_if_complete(caller.workspace, account):
        caller.warn(why)
    return describe_written(services.create_handoff(caller.workspace, account, request))


def describe_written(written: services.WrittenHandoff) -> CreatedHandoff:
    """Return a written handoff as a result."""
    committed = written.committed
    return CreatedHandoff(
        stream=written.stream or None,
        record=written.record,
        event=written.written.event.id if written.written else None,
        commit=committed.commit if isinstance(committed, Committed) else None,
        is_ledger_removed=written.archived is not None and written.archived.is_removed,
        snapshot=written.handoff,
        written=written,
    )


def _need_text(request: "AddressedRequest") -> None:
    """Refuse a handoff that a session which was only just started would leave empty."""
    if not (request.text.strip() or request.pattern):
        hint = 'add a text: `passdown handoff create --to AGENT "TEXT"`'
        raise UsageError("nothing to hand over: this session has no goal and no steps", hint=hint)


def create_for_one(caller: Caller, request: "AddressedRequest") -> SentHandoff:
    """Write a handoff for one agent, nickname or session."""
    from passdown.services.coordination.addressed_handoffs import create_addressed  # most are for all

    account = need_session(caller, partial(_need_text, request))
    written = create_addressed(caller.workspace, account, request, open_checkouts(caller.workspace))
    return describe(SentHandoff, written)


def list_newest(caller: Caller, limit: int) -> HandoffList:
    """List the newest handoffs, without the records of sessions that only ended."""
    found = services.list_handoffs(caller.workspace, limit, has_sessions=False)
    return HandoffList(handoffs=found, now=caller.workspace.now())


def list_sessions(caller: Caller, limit: int | None) -> SessionRecords:
    """List the newest records of ended sessions, or all."""
    sessions, earlier = services.list_sessions(caller.workspace, limit)
    return SessionRecords(sessions=sessions, earlier=earlier, now=caller.workspace.now())


def show(caller: Caller, name: str) -> ShownHandoff:
    """Show a handoff as it was written; without a name, the newest."""
    listed = services.find_handoff(caller.workspace, name or _find_newest(caller))
    text = read_text(caller.workspace, listed.path)
    return ShownHandoff(summary=services.read_listed(caller.workspace, listed), text=text)


def review(caller: Caller, name: str) -> ReviewedHandoff:
    """Compare a handoff with the current state before it is resumed; its test is not run."""
    found = services.review_handoff(caller.workspace, name or _find_newest(caller))
    return ReviewedHandoff(
        summary=found.listed,
        drift=found.drift,
        snapshot=found.handoff,
        review=found,
        now=caller.workspace.now(),
    )


def resume(caller: Caller, found: services.HandoffComparison) -> ResumedHandoff:
    """Resume a handoff, in the session of the caller or in a new one."""
    resumed = services.resume_handoff(caller.workspace, found, find_or_begin(caller))
    return ResumedHandoff(
        summary=found.listed,
        session=summarize(resumed.account),
        is_new=resumed.is_new,
        carried=resumed.carried,
        drift=found.drift,
        snapshot=found.handoff,
    )


def _find_newest(caller: Caller) -> str:
    """Return the path of the newest handoff; raise `UsageError` if there is none."""
    newest = services.list_handoffs(caller.workspace, 1)
    if not newest:
        raise UsageError("there are no handoffs", hint="run `passdown handoff create` to write one")
    return newest[0].path
