"""Publish the facts of a session that are in no event yet (C57)."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from passdown.core.formats.journal import JournalLine
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.secrets import redact_lines
from passdown.core.sessions.session_facts import fold_journal
from passdown.services.log.events import WrittenEvent, add_event, catch_up_session, update_portion
from passdown.services.log.local_view import mark_outdated
from passdown.services.sessions.liveness import show_place
from passdown.services.workspace.workspaces import Workspace


def publish(workspace: Workspace, session: str, *, kind: str, reason: str) -> WrittenEvent | None:
    """Write the unpublished facts of a session as one event in this checkout; return None if there are none.

    Whatever an event in this checkout covers is published. The event itself is the only record of that, so
    the two can never disagree. Of several processes that publish a session, one at a time makes and writes an
    event, while it holds the lock of the journal. Secrets in facts are redacted, with a mark.

    Raises a StorageError if the journal is in use or cannot be locked, if an event of the session cannot be
    read, or if the new one could not be written; the facts stay in the journal and are published next time.
    """
    written: list[WrittenEvent] = []

    def make(seq: int) -> Sequence[JournalLine]:
        del seq
        event = write_open(workspace, session, kind=kind, reason=reason)
        written.extend([event] if event else [])
        return ()

    if workspace.journals.last(session) is not None:
        with publishing(workspace):
            workspace.journals.extend(session, make, alone=True)
    return written[0] if written else None


@contextmanager
def publishing(workspace: Workspace) -> Generator[None, None, None]:
    """Read new events, and keep other writers of the index out.

    Code that needs both takes the index first and then the lock of a journal, so that nobody who holds a
    journal waits for the index.
    """
    update_portion(workspace.log, workspace.index)
    with workspace.index.changing():
        yield


def write_open(workspace: Workspace, session: str, *, kind: str, reason: str) -> WrittenEvent | None:
    """Write unpublished facts as an event, within `publishing` and with the journal locked.

    This needs all events of the session, but no others (C131). Raises an UnreadError if one cannot be read.
    """
    lines, _ = redact_lines(workspace.journals.read(session))
    account = fold_journal(session, lines)
    catch_up_session(workspace.log, workspace.index, account.agent, account.started_at)
    published = workspace.index.published(session)
    event = make_event(show_place(workspace, account), lines, published, kind=kind, reason=reason)
    if event is None:
        return None
    mark_outdated(workspace)
    return add_event(
        workspace.log, workspace.index, workspace.clock, event, layout=workspace.settings.events.layout
    )
