"""A commit is made when the settings say so, and the view is committed only where it belongs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.formats.view_location import ViewPolicy
from passdown.engines.files.documents import FileDocuments
from passdown.errors import StorageError
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.records import record, replace
from passdown.services.log.commits import LAST_CHECKPOINT, CommitTrigger, NotDue, commit, message_for
from passdown.services.log.views import view_place
from passdown.settings import FILE_NAME, CommitSettings, Paths, Settings, ViewSettings
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.repository import MemoryRepository
from tests.support.events import MovedClock
from tests.support.gits import make_project, make_started

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)
EVENT = "thoughts/shared/handoffs/events/one.md"
VIEW = "thoughts/shared/handoffs/current.md"
STAMP = f".conductor/{LAST_CHECKPOINT}"
EVERY = Settings(commit=CommitSettings(start=True, event=True))
NEVER = Settings(commit=CommitSettings(session_end=False, handoff=False, checkpoint=False))


@record
class Bench:
    """A project in memory, with a clock."""

    documents: MemoryDocuments
    repository: MemoryRepository
    clock: MovedClock

    def commit(
        self, trigger: CommitTrigger, *paths: str, settings: Settings | None = None
    ) -> Committed | Skipped | NotDue:
        """Change an event and commit it."""
        self.documents.replace(EVENT, f"{len(self.repository.commits)}".encode())
        chosen = paths or (EVENT,)
        return commit(self.repository, self.documents, self.clock, settings or Settings(), trigger, chosen)

    def pass_time(self, minutes: float) -> None:
        """Let time pass, or run backwards."""
        self.clock.at += timedelta(minutes=minutes)


@pytest.fixture
def bench() -> Bench:
    """Give a project without a commit."""
    documents = MemoryDocuments({FILE_NAME: b""})
    return Bench(documents=documents, repository=MemoryRepository(documents), clock=MovedClock(NOON))


# --- triggers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger", CommitTrigger)
def test_where_nobody_agreed_only_a_request_is_committed(bench: Bench, trigger: CommitTrigger) -> None:
    bench.documents.remove(FILE_NAME, b"")

    outcome = bench.commit(trigger, settings=EVERY)

    if trigger is CommitTrigger.ASKED:
        assert isinstance(outcome, Committed)
    else:
        assert outcome == NotDue(reason="there is no passdown.toml; run `passdown init`")
        assert bench.repository.commits == []


@pytest.mark.requirement("R133")
def test_the_end_of_a_session_is_committed(bench: Bench) -> None:
    assert isinstance(bench.commit(CommitTrigger.SESSION_END), Committed)
    assert isinstance(bench.commit(CommitTrigger.SESSION_END), Committed)


@pytest.mark.requirement("R134")
def test_a_handoff_is_committed(bench: Bench) -> None:
    assert isinstance(bench.commit(CommitTrigger.HANDOFF), Committed)


@pytest.mark.requirement("R131")
def test_the_start_of_a_session_and_a_written_event_are_not_committed(bench: Bench) -> None:
    for trigger in (CommitTrigger.START, CommitTrigger.EVENT):
        assert bench.commit(trigger) == NotDue(reason=f"[commit] {trigger.value} is false")
    assert bench.repository.commits == []


@pytest.mark.parametrize("trigger", CommitTrigger)
def test_every_trigger_but_a_request_can_be_switched_on_and_off(bench: Bench, trigger: CommitTrigger) -> None:
    assert isinstance(bench.commit(trigger, settings=EVERY), Committed)
    outcome = bench.commit(trigger, settings=NEVER)

    assert isinstance(outcome, Committed if trigger is CommitTrigger.ASKED else NotDue)


def test_what_the_repository_says_is_handed_on(bench: Bench) -> None:
    bench.repository.refusal = Skipped(why=SkipReason.NO_IDENTITY, reason="nobody", hint="set it")

    for trigger in (CommitTrigger.ASKED, CommitTrigger.CHECKPOINT):
        assert bench.commit(trigger) == bench.repository.refusal
    assert not bench.documents.exists(STAMP)


def test_events_that_cannot_be_read_are_only_counted(bench: Bench) -> None:
    gone = "thoughts/shared/handoffs/events/gone.md"
    bench.documents.replace(gone, b"now: Soon gone\n")
    bench.commit(CommitTrigger.ASKED, gone)
    bench.documents.remove(gone, b"now: Soon gone\n")

    assert isinstance(bench.commit(CommitTrigger.ASKED, gone), Committed)
    assert bench.repository.commits[-1].message == "passdown: 1 event"


# --- checkpoints --------------------------------------------------------------------------------


@pytest.mark.requirement("R135", "C42")
def test_of_many_checkpoints_at_most_one_is_committed_in_thirty_minutes(bench: Bench) -> None:
    commits = 0
    for _ in range(4 * 60):
        commits += isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)
        bench.pass_time(1)

    assert commits == len(bench.repository.commits) == 8


@pytest.mark.requirement("R135")
def test_a_checkpoint_that_is_not_due_says_when_one_is(bench: Bench) -> None:
    bench.commit(CommitTrigger.CHECKPOINT)
    bench.pass_time(29.9)

    outcome = bench.commit(CommitTrigger.CHECKPOINT)

    due = NOON + timedelta(minutes=30)
    assert outcome == NotDue(reason="[commit] checkpoint_minutes is 30", until=due)
    bench.pass_time(0.1)
    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)


def test_a_checkpoint_with_nothing_to_commit_does_not_use_up_the_time(bench: Bench) -> None:
    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT, "none.md"), Skipped)

    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)


def test_the_other_triggers_do_not_wait_for_a_checkpoint_nor_delay_it(bench: Bench) -> None:
    assert isinstance(bench.commit(CommitTrigger.HANDOFF), Committed)
    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)
    assert isinstance(bench.commit(CommitTrigger.SESSION_END), Committed)


def test_the_time_to_wait_is_a_setting(bench: Bench) -> None:
    always = Settings(commit=CommitSettings(checkpoint_minutes=0))

    assert all(
        isinstance(bench.commit(CommitTrigger.CHECKPOINT, settings=always), Committed) for _ in range(3)
    )


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense",
        b"\xff\xfe\0",
        b"2026-13-41T99:00:00Z",
        b"2026-01-10T12:00:00Z" * 100,
        b"2026-01-10T12:30:00.001Z\n",
        b"9999-12-31T23:59:59Z\n",
    ],
)
def test_a_stamp_that_is_damaged_or_too_far_ahead_is_ignored_and_rewritten(bench: Bench, text: bytes) -> None:
    bench.documents.replace(STAMP, text)

    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)
    assert bench.documents.read(STAMP) == b"2026-01-10T12:00:00.000Z\n"


def test_a_stamp_a_little_ahead_still_counts(bench: Bench) -> None:
    bench.commit(CommitTrigger.CHECKPOINT)
    bench.pass_time(-10)

    outcome = bench.commit(CommitTrigger.CHECKPOINT)

    assert isinstance(outcome, NotDue)
    assert outcome.until == NOON + timedelta(minutes=30)


def test_a_stamp_that_cannot_be_written_does_not_undo_the_commit(bench: Bench) -> None:
    bench.documents.replace(".conductor", b"a file in the way")

    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)
    assert isinstance(bench.commit(CommitTrigger.CHECKPOINT), Committed)
    with pytest.raises(StorageError):
        bench.documents.read(STAMP)


@pytest.mark.requirement("R135")
def test_the_time_to_wait_holds_across_processes_in_a_real_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.write(FILE_NAME)
    clock = MovedClock(NOON)

    def checkpoint(name: str) -> object:
        project.write(f"thoughts/shared/handoffs/events/{name}.md")
        paths = [f"thoughts/shared/handoffs/events/{name}.md"]
        documents = FileDocuments(tmp_path)
        return commit(project.repository(), documents, clock, Settings(), CommitTrigger.CHECKPOINT, paths)

    assert isinstance(checkpoint("one"), Committed)
    assert isinstance(checkpoint("two"), NotDue)
    clock.at += timedelta(minutes=30)
    assert isinstance(checkpoint("three"), Committed)
    assert project.count() == 2


# --- the view -----------------------------------------------------------------------------------


@pytest.mark.requirement("R130")
@pytest.mark.parametrize("trigger", [CommitTrigger.SESSION_END, CommitTrigger.HANDOFF])
def test_the_view_is_tracked_and_committed_with_its_events(tmp_path: Path, trigger: CommitTrigger) -> None:
    project = make_started(tmp_path)
    project.write(FILE_NAME)
    paths = [project.write(EVENT), project.write(view_place(project.repository(), Settings()).path)]

    outcome = commit(
        project.repository(), FileDocuments(tmp_path), MovedClock(NOON), Settings(), trigger, paths
    )

    assert isinstance(outcome, Committed)
    assert project.changed() == [f"A\t{VIEW}", f"A\t{EVENT}"]
    assert project.git("log", "-1", "--format=%s") == "passdown: 1 event, view\n"


def test_on_another_branch_the_view_is_local_and_the_tracked_one_is_not_committed(tmp_path: Path) -> None:
    project = make_started(tmp_path)
    project.git("checkout", "--quiet", "-b", "topic")
    paths = [project.write(EVENT), project.write(VIEW, "edited by somebody\n")]

    outcome = commit(
        project.repository(),
        FileDocuments(tmp_path),
        MovedClock(NOON),
        Settings(),
        CommitTrigger.ASKED,
        paths,
    )

    assert isinstance(outcome, Committed)
    assert project.changed() == [f"A\t{EVENT}"]
    assert view_place(project.repository(), Settings()).path == ".conductor/current.md"


@pytest.mark.parametrize(
    ("branch", "default", "named", "is_tracked"),
    [
        ("main", None, "", True),
        ("master", None, "", True),
        ("topic", "main", "", False),
        ("unknown", "main", "", False),
        ("develop", "develop", "", True),
        ("main", "develop", "", False),
        ("main", None, "trunk", False),
        ("trunk", "main", "trunk", True),
        ("topic", None, "", False),
    ],
)
def test_the_view_lies_where_the_branch_says(
    bench: Bench, branch: str, default: str | None, named: str, *, is_tracked: bool
) -> None:
    bench.repository.current = branch
    bench.repository.default = default
    settings = Settings(view=ViewSettings(branch=named))

    assert view_place(bench.repository, settings).is_tracked is is_tracked


def test_outside_git_the_view_lies_in_its_tracked_place(bench: Bench) -> None:
    bench.repository.there = False

    assert view_place(bench.repository, Settings()).path == VIEW
    assert bench.commit(CommitTrigger.ASKED, EVENT, VIEW) == Skipped(
        why=SkipReason.NO_REPOSITORY, reason="the project is not in a git repository"
    )


@pytest.mark.parametrize(("policy", "is_tracked"), [(ViewPolicy.ALWAYS, True), (ViewPolicy.NEVER, False)])
def test_a_policy_for_every_branch_does_not_look_at_git(
    bench: Bench, policy: ViewPolicy, *, is_tracked: bool
) -> None:
    settings = Settings(view=ViewSettings(commit=policy))
    for branch in ("main", "topic"):
        bench.repository.current = branch
        assert view_place(bench.repository, settings).is_tracked is is_tracked


def test_the_local_view_lies_with_the_state_of_sessions(bench: Bench) -> None:
    settings = Settings(paths=Paths(runtime="state"), view=ViewSettings(commit=ViewPolicy.NEVER))

    assert view_place(bench.repository, settings).path == "state/current.md"


# --- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "passdown: no files"),
        ([EVENT], "passdown: 1 event"),
        ([EVENT, f"{EVENT}2", f"{EVENT}3"], "passdown: 3 events"),
        ([VIEW], "passdown: view"),
        ([EVENT, VIEW], "passdown: 1 event, view"),
        (["thoughts/shared/handoffs/archive/2026-01-10.md", VIEW], "passdown: 1 archive file, view"),
        (["a", "thoughts/shared/handoffs/eventsx"], "passdown: 2 documents"),
    ],
)
def test_the_message_counts_what_the_commit_is_made_for(paths: list[str], message: str) -> None:
    assert message_for(Paths(), paths) == message


def test_the_message_follows_the_paths_of_the_settings() -> None:
    paths = replace(Paths(), events="log", view="log.md")

    assert message_for(paths, ["log/a", "log.md", EVENT]) == "passdown: 1 event, view, 1 document"
