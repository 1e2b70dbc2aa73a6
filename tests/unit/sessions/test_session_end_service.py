"""What follows the end of a session."""

import pytest

from passdown.core.formats.archives import parse_archive
from passdown.core.formats.journal import Scope
from passdown.core.kinds import FactKind
from passdown.errors import StorageError
from passdown.ports.repository import Committed
from passdown.records import replace
from passdown.services.log.commits import NotDue
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.session_end import close_session
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.testing.memory.documents import MemoryDocuments
from tests.support.sessions import LEDGER, Place, make_place, with_parts

VIEW = "thoughts/shared/handoffs/current.md"
LOCAL = ".conductor/current.md"


@pytest.fixture
def place() -> Place:
    """Give a project whose owner agreed to commits."""
    made = make_place()
    made.write("", FILE_NAME)
    return made


@pytest.mark.requirement("R37", "R133", "G1", "C36")
def test_an_end_publishes_archives_makes_the_view_and_commits(place: Place) -> None:
    account = place.say(place.start(track="t-1"), FactKind.DONE, "a").account

    closed = close_session(place.project, account)

    assert closed.written is not None
    assert closed.archived is not None
    record = parse_archive(place.read(closed.archived.path))
    assert (record.completed, record.events) == ((), (closed.written.event.id,))
    assert not place.documents.exists(LEDGER)
    assert "- [x] a" in place.read(VIEW)
    assert isinstance(closed.committed, Committed)
    assert {VIEW, closed.archived.path} <= set(closed.committed.paths)
    assert closed.troubles == ()
    assert (closed.account.is_published, closed.account.track) == (True, "")


@pytest.mark.requirement("R132")
def test_where_nobody_agreed_the_tracked_view_is_not_touched(place: Place) -> None:
    place.documents.remove(FILE_NAME, b"")
    account = place.say(place.start(), FactKind.DONE, "a").account

    closed = close_session(place.project, account)

    assert isinstance(closed.committed, NotDue)
    assert not place.documents.exists(VIEW)
    assert "- [x] a" in place.read(LOCAL)


@pytest.mark.requirement("C64")
def test_a_view_that_is_none_of_ours_stays_and_the_rest_is_done(place: Place) -> None:
    place.write("# Mine\n", VIEW)
    account = place.say(place.start(), FactKind.DONE, "a").account

    closed = close_session(place.project, account)

    assert isinstance(closed.committed, Committed)
    assert VIEW not in closed.committed.paths
    assert place.read(VIEW) == "# Mine\n"
    assert "- [x] a" in place.read(LOCAL)


def test_a_session_that_said_nothing_leaves_no_record(place: Place) -> None:
    closed = close_session(place.project, place.start())

    assert closed.archived is not None
    assert (closed.archived.path, closed.archived.is_removed) == ("", True)
    assert closed.written is None
    assert not list(place.documents.list("conductor/sessions/archive"))


def test_a_silent_session_whose_ledger_says_more_leaves_a_record(place: Place) -> None:
    account = place.start()
    place.edit("## Open Questions\n", "## My Own Section\n\nwords\n\n## Open Questions\n")

    closed = close_session(place.project, account)

    assert closed.archived is not None
    assert "My Own Section" in place.read(closed.archived.path)


def test_a_session_of_another_checkout_is_ended_and_its_ledger_stays_there() -> None:
    first = make_place()
    account = first.say(first.start(), FactKind.DONE, "a").account
    second = make_place(first.project.journals, root="/other")  # type: ignore[arg-type]  # the same journals

    closed = close_session(second.project, account)

    assert closed.archived is None
    assert read_account(first.project, account.session).is_published
    assert first.documents.exists(LEDGER)


class Full(MemoryDocuments):
    """Documents that refuse some paths."""

    refused = ""

    def create(self, path: str, data: bytes) -> bool:
        """Refuse a new file."""
        self._check(path)
        return super().create(path, data)

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        """Refuse another text."""
        self._check(path)
        super().replace(path, data, local=local, expected=expected, durable=durable)

    def _check(self, path: str) -> None:
        if self.refused and self.refused in path:
            raise StorageError(f"could not write {path}", hint="make room")


def on_full_disk(place: Place, refused: str) -> Workspace:
    documents = Full({FILE_NAME: b""})
    project = with_parts(place, documents=documents)
    full = replace(place, project=project, documents=documents)
    full.say(full.start(), FactKind.DONE, "a")
    documents.refused = refused
    return project


@pytest.mark.parametrize(("refused", "has_record"), [("archive/", False), ("current.md", True)])
def test_what_fails_after_the_event_is_told_and_loses_nothing(
    place: Place, refused: str, *, has_record: bool
) -> None:
    project = on_full_disk(place, refused)
    (session,) = project.journals.sessions(Scope.ALL)

    closed = close_session(project, read_account(project, session))

    assert closed.written is not None
    assert (closed.archived is not None) == has_record
    assert len(closed.troubles) == 1
    assert "could not write" in closed.troubles[0].message
    assert project.documents.exists(LEDGER) == (not has_record)
