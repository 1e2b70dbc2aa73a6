"""What people wrote into loop ledgers becomes facts: once, on every machine, at a cost that stays flat."""

import json
from collections.abc import Collection, Mapping

import pytest

from passdown.core.formats.loops import Turn, parse_loop, render_feedback, render_turn
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.core.work.loop_feedback import find_feedback, name_feedback
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import CacheError, StorageError
from passdown.ports.event_log import FileMark
from passdown.services.handover.briefs import read_brief_input
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.loop_feedback import LoopReadings, read_loops, record_feedback
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.testing.memory.change_files import MemoryChanges
from passdown.testing.memory.documents import MemoryDocuments
from tests.support.sessions import NOON, Place, end_session, make_place, with_parts

CACHE = ".conductor/loops.json"
ENDED = ".conductor/ended-changes.json"


class CountedChanges(MemoryChanges):
    """Changes that count how often they are looked at and read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.looked: list[str] = []
        self.reads: list[str] = []

    def files(self, change: str) -> Mapping[str, FileMark]:
        """Count, and list."""
        self.looked.append(change)
        return super().files(change)

    def read(self, change: str, name: str) -> bytes | None:
        """Count, and read."""
        self.reads.append(f"{change}/{name}")
        return super().read(change, name)


class UnreadableIndex(MemoryIndex):
    """An index whose cache cannot be read when it is asked for answers."""

    def retracted(self, kind: str, texts: Collection[str]) -> frozenset[str]:
        """Fail."""
        raise CacheError(f"nobody knows which {kind} of {len(texts)} are answered")


def _loop(feedback: str, *, at: bool = True) -> bytes:
    """A ledger of one turn with feedback."""
    text = render_turn("", Turn(number=1, at=NOON if at else None, agent="a", text="Asked."))
    return (text + (render_feedback(text, feedback) if feedback else "")).encode()


def _answered(ledger: bytes) -> bytes:
    """The same with a turn that names all of it."""
    text = ledger.decode()
    items = [*find_feedback("x/specs", parse_loop(text))]
    return (text + render_turn(text, Turn(number=2, at=NOON, agent="a", text=name_feedback(items)))).encode()


@pytest.fixture
def changes() -> CountedChanges:
    """Give changes that are counted."""
    return CountedChanges()


@pytest.fixture
def place(changes: CountedChanges) -> Place:
    """Give a project with these changes."""
    place = make_place()
    place.documents.replace("changes/x/state.md", b"")
    return Place(
        project=with_parts(place, change_files=changes),
        clock=place.clock,
        documents=place.documents,
        repository=place.repository,
        history=place.history,
        log=place.log,
        processes=place.processes,
    )


def _waiting(place: Place, account: Account | None = None) -> list[str]:
    return [fact.text for fact in read_brief_input(place.project, account).of(FactKind.FEEDBACK)]


def _said(place: Place, account: Account, kind: FactKind) -> list[str]:
    lines = place.project.journals.read(account.session)
    return [line.fact.text for line in lines if line.fact.kind == kind]


def test_a_start_records_what_waits_once(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", _loop("Use SQLite"))

    first = place.start()
    second = place.start(is_new=True)

    assert _said(place, first, FactKind.FEEDBACK) == ["x/specs turn 1: Use SQLite"]
    assert _said(place, second, FactKind.FEEDBACK) == []
    assert _waiting(place, second) == ["x/specs turn 1: Use SQLite"]
    (fact,) = read_account(place.project, first.session).of(FactKind.FEEDBACK)
    assert (fact.agent, fact.at) == ("person", NOON)


def test_feedback_of_a_turn_without_a_time_is_as_old_as_its_discovery(
    place: Place, changes: CountedChanges
) -> None:
    changes.write("x", "loops/specs.md", _loop("Use SQLite", at=False))
    place.pass_time(hours=1)

    place.start()

    place.pass_time(hours=2)
    (fact,) = read_brief_input(place.project, None).of(FactKind.FEEDBACK)
    assert fact.at == NOON.replace(hour=NOON.hour + 1)


def test_a_brief_without_a_session_reads_the_ledgers_too(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", _loop("Use SQLite", at=False))

    assert _waiting(place) == ["x/specs turn 1: Use SQLite"]


def test_a_start_goes_on_though_no_index_tells_what_was_answered(
    place: Place, changes: CountedChanges
) -> None:
    changes.write("x", "loops/specs.md", _loop("Use SQLite"))
    broken = with_parts(place, index=UnreadableIndex(), change_files=changes)

    started = start_session(broken, StartRequest())

    assert started.account.of(FactKind.FEEDBACK) == ()


def test_a_turn_that_names_it_ends_it(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", _loop("Use SQLite"))
    account = place.start()

    changes.write("x", "loops/specs.md", _answered(_loop("Use SQLite")))
    assert _waiting(place, account) == []
    record_feedback(place.project, account)
    record_feedback(place.project, account)

    assert _said(place, account, FactKind.RETRACTION) == ["x/specs turn 1: Use SQLite"]
    end_session(place.project, account)
    assert "answered_feedback" in place.events()[-1]


def test_an_answer_on_another_machine_counts_here(place: Place, changes: CountedChanges) -> None:
    """There it was recorded and answered without a turn; here there are only the ledger and the events."""
    changes.write("x", "loops/specs.md", _loop("Use SQLite", at=False))
    account = place.start()
    place.say(account, FactKind.RETRACTION, "x/specs turn 1: Use SQLite", FactKind.FEEDBACK.value)
    end_session(place.project, account)

    here = make_place(entropy=50)
    here.documents.replace("changes/x/state.md", b"")
    here = Place(
        project=with_parts(here, change_files=changes, log=place.log),
        clock=here.clock,
        documents=here.documents,
        repository=here.repository,
        history=here.history,
        log=place.log,
        processes=here.processes,
    )
    here.pass_time(hours=1)
    started = here.start()

    assert _said(here, started, FactKind.FEEDBACK) == []
    assert _waiting(here, started) == []


def test_ledgers_that_did_not_change_are_not_read_again(place: Place, changes: CountedChanges) -> None:
    for number in range(5):
        changes.write("x", f"loops/plan-0{number}.md", _loop("Yes"))
    place.start()
    changes.reads.clear()

    changes.write("x", "loops/plan-03.md", _loop("No"))
    place.start(is_new=True)

    assert changes.reads == ["x/loops/plan-03.md"]


def test_changes_that_are_finished_cost_nothing(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", _loop("Yes"))
    for number in range(1_000):
        changes.write(f"over-{number}", "state.md", b"# SDD State: y\n\n## Phase\n\nfinished\n")
        changes.write(f"over-{number}", "loops/specs.md", _loop("Still here"))
    place.start()
    assert _waiting(place) == ["x/specs turn 1: Yes"]
    changes.looked.clear()

    place.start(is_new=True)
    changes.write("new", "loops/specs.md", _loop("New"))
    place.start(is_new=True)

    assert {*changes.looked} == {"x", "new"}
    assert len(json.loads(place.read(ENDED))) == 1_000


def test_a_finished_change_that_is_asked_for_is_looked_at(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "state.md", b"## Phase\n\nfinished\n")
    changes.write("x", "loops/specs.md", _loop("Yes"))
    account = place.start()
    assert (_waiting(place, account), json.loads(place.read(ENDED))) == ([], ["x"])

    changes.write("x", "state.md", b"## Phase\n\nspecs\n")
    record_feedback(place.project, account, ["x"])

    assert _waiting(place, account) == ["x/specs turn 1: Yes"]
    assert json.loads(place.read(ENDED)) == []
    assert read_loops(place.project, ["x"]).changes == ("x",)


def test_what_a_finished_change_said_is_not_kept_in_the_cache(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", _loop("Yes"))
    changes.write("x", "state.md", b"## Phase\n\nspecs\n")
    place.start()

    changes.write("x", "state.md", b"## Phase\n\nfinished\n")

    assert read_loops(place.project).recorded == {}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"v": 9}', b'{"v": 1}', b"\xff", b"[" * 100_000])
def test_a_cache_that_cannot_be_read_is_made_again(
    place: Place, changes: CountedChanges, damage: bytes
) -> None:
    changes.write("x", "loops/specs.md", _loop("Yes"))
    place.documents.replace(CACHE, damage)
    place.documents.replace(ENDED, damage)

    assert [item.text for item in read_loops(place.project).items] == ["x/specs turn 1: Yes"]
    assert json.loads(place.read(CACHE))["v"] == 1


def test_ledgers_that_cannot_be_read_say_nothing(place: Place, changes: CountedChanges) -> None:
    changes.write("x", "loops/specs.md", b"<!-- turn 1 v9 -->\n")
    changes.write("x", "state.md", b"---\nformat: 9\n---\n")

    assert read_loops(place.project).items == ()
    assert read_loops(place.project).changes == ("x",)


def test_without_changes_nothing_is_read(place: Place) -> None:
    assert read_loops(place.project) == LoopReadings()


def test_a_folder_that_cannot_be_written_does_not_stop_a_start(changes: CountedChanges) -> None:
    class Full(MemoryDocuments):
        def replace(
            self,
            path: str,
            data: bytes,
            *,
            local: bool = False,
            expected: bytes | None = None,
            durable: bool = True,
        ) -> None:
            if path in {CACHE, ENDED}:
                raise StorageError("no space", hint="make some")
            super().replace(path, data, local=local, expected=expected, durable=durable)

    changes.write("x", "loops/specs.md", _loop("Yes"))
    documents = Full({"changes/x/state.md": b""})
    place = make_place()
    project = with_parts(place, change_files=changes, documents=documents)

    assert [item.text for item in read_loops(project).items] == ["x/specs turn 1: Yes"]
