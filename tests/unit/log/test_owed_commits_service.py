"""Which commits are owed, and what becomes of those that cannot be made."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

import pytest

from passdown.core.kinds import FactKind
from passdown.errors import StorageError
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.records import replace
from passdown.services.log.commit_marks import TO_COMMIT, is_known_committed
from passdown.services.log.commits import LAST_CHECKPOINT, CommitTrigger, NotDue
from passdown.services.sessions.pending_commits import (
    AFTER_TURN,
    AT_START,
    commit_waiting,
    find_trouble,
    find_uncommitted,
)
from passdown.services.sessions.sessions import publish_end
from passdown.settings import FILE_NAME
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.git_history import MemoryHistory
from tests.support.sessions import Place, make_place

EVENTS = "thoughts/shared/handoffs/events"
RECORDS = "conductor/sessions/archive"


@pytest.fixture
def place() -> Place:
    """Give a project whose owner agreed, with a session that ended; its events are in the files."""
    made = make_place()
    made.write("", FILE_NAME)
    publish_end(made.project, made.say(made.start(), FactKind.DONE, "a").account, "clear")
    for name in made.log.files(""):
        data = made.log.read("", name)
        assert data is not None
        made.documents.replace(f"{EVENTS}/{name}", data)
    return made


@pytest.mark.requirement("C117")
def test_what_an_ended_session_published_is_committed_once(place: Place) -> None:
    assert isinstance(commit_waiting(place.project, AT_START), Committed)
    assert is_known_committed(place.project)
    assert commit_waiting(place.project, AT_START) is None
    assert len(place.repository.commits) == 1


class Recent(MemoryDocuments):
    """Documents in which the records of earlier months cannot be listed, for there are many."""

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        """Yield the files below a folder."""
        for path in super().list(folder, apart_from=apart_from):
            assert f"{RECORDS}/2026-01/" not in path
            yield path


@pytest.mark.requirement("C117", "C131")
def test_a_record_of_a_month_is_noticed_without_a_list_of_all(place: Place) -> None:
    kept = f"{RECORDS}/2026-01/2026-01-01-08-00-session-end-amber.md"
    place.write("words\n", kept)
    place.repository.commit([kept], "kept")
    assert isinstance(commit_waiting(place.project, AT_START), Committed)
    files = {path: place.documents.read(path) for path in place.documents.list("")}

    assert is_known_committed(replace(place.project, documents=Recent(files)))

    new = kept.replace("08-00", "09-00")
    assert not is_known_committed(replace(place.project, documents=Recent({**files, new: b"words"})))


@pytest.mark.requirement("C117")
@pytest.mark.parametrize("why", [SkipReason.LOCKED, SkipReason.REFUSED])
def test_a_commit_that_fails_is_tried_again_at_a_turn_if_that_can_help(place: Place, why: SkipReason) -> None:
    TO_COMMIT.put(place.project)
    place.repository.refusal = Skipped(why=why, reason="no", hint="do it")

    assert commit_waiting(place.project, AT_START) == place.repository.refusal
    assert TO_COMMIT.is_put(place.project) is (why is SkipReason.LOCKED)
    assert not is_known_committed(place.project)

    place.repository.refusal = None
    assert isinstance(commit_waiting(place.project, AT_START), Committed)


@pytest.mark.requirement("C117")
def test_a_file_that_names_no_session_is_not_owed(place: Place) -> None:
    for path in list(place.documents.list(EVENTS)):
        place.documents.remove(path, place.documents.read(path))
    for path in list(place.documents.list(RECORDS)):
        place.documents.remove(path, place.documents.read(path))
    place.write("words\n", f"{EVENTS}/none.md")
    place.write('{"a": 1}\n', "thoughts/shared/handoffs/archive/2026-01-01/rollup.jsonl")
    place.write("---\nversion: 99\n---\n", f"{EVENTS}/newer.md")

    assert commit_waiting(place.project, AT_START) is None
    assert place.repository.commits == []
    assert not is_known_committed(place.project)


@pytest.mark.requirement("C117")
def test_an_event_that_was_archived_and_not_committed_names_no_session(place: Place) -> None:
    (path,) = place.documents.list(EVENTS)
    place.repository.commit([path], "one")
    data = place.documents.read(path)
    place.documents.remove(path, data)
    place.documents.replace(path.replace("/events/", "/archive/2026-01-11/"), data)
    for record in list(place.documents.list(RECORDS)):
        place.documents.remove(record, place.documents.read(record))

    assert commit_waiting(place.project, AT_START) is None
    assert len(place.repository.commits) == 1


@pytest.mark.requirement("C117")
def test_a_file_that_is_removed_in_the_meantime_is_not_owed(place: Place) -> None:
    class Gone(MemoryDocuments):
        def read(self, path: str, *, settled: bool = False) -> bytes:
            if path.startswith(f"{EVENTS}/"):
                raise StorageError(f"{path}: no such file", hint="check the name")
            return super().read(path, settled=settled)

    for record in list(place.documents.list(RECORDS)):
        place.documents.remove(record, place.documents.read(record))
    files = {path: place.documents.read(path) for path in place.documents.list("")}

    assert commit_waiting(replace(place.project, documents=Gone(files)), AT_START[1:]) is None
    assert place.repository.commits == []
    assert isinstance(commit_waiting(place.project, AT_START[1:]), Committed)


class OvertakenHistory(MemoryHistory):
    """A history in which another process commits while we check."""

    def __init__(self, place: Place) -> None:
        """Keep where the other process notes its commit."""
        super().__init__()
        self._place = place

    def find_obstacle(
        self, now: datetime, amendable: timedelta, *, files_only: bool = False
    ) -> Skipped | None:
        """Find nothing in the way; the last check takes so long that the other commits."""
        if not files_only:
            self._place.write(f"{now.isoformat()}\n", f".conductor/{LAST_CHECKPOINT}")
        return super().find_obstacle(now, amendable, files_only=files_only)


@pytest.mark.requirement("C117")
def test_a_checkpoint_of_another_process_in_the_meantime_is_waited_for(place: Place) -> None:
    TO_COMMIT.put(place.project)

    outcome = commit_waiting(replace(place.project, history=OvertakenHistory(place)), AFTER_TURN)

    assert isinstance(outcome, NotDue)
    assert outcome.until is not None
    assert TO_COMMIT.is_put(place.project)
    assert not is_known_committed(place.project)
    assert place.repository.commits == []


def test_nothing_waits_for_no_trigger_and_without_git(place: Place) -> None:
    assert commit_waiting(place.project, ()) == NotDue(reason="there is no trigger")
    assert find_uncommitted(place.project) is not None
    place.repository.there = False
    assert find_uncommitted(place.project) is None


def test_only_what_the_user_must_mend_is_trouble() -> None:
    outcomes = [Skipped(why=why, reason="no", hint="do it") for why in SkipReason]

    told = {outcome.why for outcome in outcomes if find_trouble(outcome) == "no; do it"}

    assert told == {SkipReason.NO_IDENTITY, SkipReason.REFUSED}
    assert find_trouble(NotDue(reason=CommitTrigger.START.value)) == find_trouble(None) == ""
