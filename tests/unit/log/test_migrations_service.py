"""What a document says becomes one event, except for what events state already; no line is lost."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.events import EventCheckpoint
from passdown.core.formats.registry import STREAM
from passdown.core.phases import PhaseState
from passdown.errors import PassdownError, StorageError
from passdown.records import replace
from passdown.services.log.migrations import MigrationPlan, migrate, plan_migration
from passdown.services.log.synthesis import synthesize
from passdown.settings import EventLayout, EventSettings, Settings
from tests.stores.benches import Bench, make_bench
from tests.support.projects import EVENTS, LOCAL, VIEW, listing, put, put_event

LEDGER = "# Notes\n\n## Ledger\n**Goal:** Fix hooks\n"
SAID: Mapping[str, object] = {
    "goal": "Fix hooks " + "g" * 400,
    "now": "Create  the PR",
    "next": tuple(f"Step {number}" for number in range(14)),
    "this_session": ("Forked", "x" * 500, "two\nlines"),
    "decisions": (Pair(key="shell", value="bash"),),
    "constraints": ("No SMS",),
    "open_questions": ("Why?", "unconfirmed: it works"),
    "checkpoints": (
        EventCheckpoint(phase=5, status=PhaseState.VALIDATED, name="Hooks (all)"),
        EventCheckpoint(phase=6),
        EventCheckpoint(name="named", others=(Pair(key="status", value="odd"),)),
    ),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give an empty project, on 11 January."""
    return make_bench(tmp_path)


def plan(bench: Bench, path: str = VIEW) -> MigrationPlan:
    """Plan to migrate a file."""
    return plan_migration(bench.checkout, path)


def test_a_view_as_we_made_it_has_nothing_new(bench: Bench) -> None:
    put_event(bench.folder, "2026-01-10T13:00:00Z", "toast", **SAID)
    synthesize(bench.checkout)

    planned = plan(bench)

    assert (planned.says_something, planned.is_taken_over) == (False, False)


def test_of_an_edited_view_only_what_is_new_is_published(bench: Bench) -> None:
    put_event(bench.folder, "2026-01-10T13:00:00Z", "toast", **SAID)
    put_event(bench.folder, "2026-01-02T13:00:00Z", "waffle", this_session=("Archived",))
    synthesize(bench.checkout, archive=True)
    text = bench.read(VIEW).replace("- [x] Forked", "- [x] By hand\n- [x] Forked")
    text = text.replace("- shell: bash", "- shell: zsh").replace("- Why?", "- Why not?")
    put(bench.folder, VIEW, text)

    event = plan(bench).event

    assert (event.this_session, event.open_questions) == (("By hand",), ("Why not?",))
    assert event.decisions == (Pair(key="shell", value="zsh"),)
    assert (event.goal, event.now, event.next, event.checkpoints) == (None, None, None, ())


def test_an_old_document_does_not_undo_newer_work(bench: Bench) -> None:
    put_event(bench.folder, "2026-01-10T13:00:00Z", goal="Old goal", open_questions=("Why?",))
    synthesize(bench.checkout)
    old = bench.read(VIEW)
    put_event(bench.folder, "2026-01-10T14:00:00Z", goal="New goal", resolved_questions=("Why?",))
    put(bench.folder, "old.md", old)

    assert not plan(bench, "old.md").says_something


def test_what_newer_events_say_otherwise_stays_in_the_copy(bench: Bench) -> None:
    put_event(
        bench.folder,
        "2026-01-10T13:00:00.500Z",
        goal="New goal",
        next=("New step",),
        decisions=(Pair(key="shell", value="bash"),),
    )
    text = (
        "# Notes\n\n## Ledger\n**Updated:** {at}\n**Goal:** Old goal\n\n### Now\n[->] Old now\n\n"
        "### Next\n- [ ] Old step\n\n### Decisions\n- shell: sh\n- editor: ed\n"
    )
    put(bench.folder, "old.md", text.format(at="2026-01-10T12:59:59Z"))
    put(bench.folder, "new.md", text.format(at="2026-01-10T13:00:00Z"))

    old, new = plan(bench, "old.md"), plan(bench, "new.md")

    assert (old.event.goal, old.event.now, old.event.next) == (None, "Old now", None)
    assert old.event.decisions == (Pair(key="editor", value="ed"),)
    otherwise = "(newer events differ)"
    assert old.left == tuple(f"{name} {otherwise}" for name in ("Goal", "Next", "Decisions"))
    assert (new.event.goal, new.event.next, len(new.event.decisions)) == ("Old goal", ("Old step",), 2)
    assert new.left == ()


def test_all_a_stream_says_is_published_or_named(bench: Bench) -> None:
    put(bench.folder, "stream.md", STREAM.example().replace("\n", "\r\n"))

    planned = plan(bench, "stream.md")

    event = planned.event
    assert event.stream
    assert event.goal
    assert event.this_session
    assert event.checkpoints[0].updated is not None
    assert any("UNKNOWN" in text for text in event.open_questions)
    assert "the text after the Ledger section" in planned.left
    assert not planned.is_taken_over
    done = migrate(bench.checkout, planned, "ada")
    assert done.written is not None
    assert (done.written.event.agent, done.view) == ("ada", "")
    assert listing(bench.folder)[done.kept] == planned.data
    assert not plan(bench, "stream.md").says_something


def test_the_view_takes_the_place_of_a_legacy_file(bench: Bench) -> None:
    put(bench.folder, VIEW, LEDGER)
    checkout = bench.with_settings(Settings(events=EventSettings(layout=EventLayout.DAY)))

    done = migrate(checkout, plan_migration(checkout, VIEW), "ada")

    assert (done.view, bench.read(done.kept)) == (VIEW, LEDGER)
    assert done.written is not None
    assert done.written.folder == "2026-01-11"
    assert synthesize(checkout).written.before.value == "current"


def test_on_another_branch_the_file_stays(bench: Bench) -> None:
    put(bench.folder, VIEW, LEDGER)
    bench.repository.current = "feat"
    bench.repository.default = "main"

    done = migrate(bench.checkout, plan(bench), "ada")

    assert (done.view, bench.read(VIEW)) == ("", LEDGER)
    bench.repository.current = "main"
    planned = plan(bench)
    assert (planned.says_something, planned.is_taken_over) == (False, True)
    assert migrate(bench.checkout, planned, "ada").written is None
    assert "Fix hooks" in bench.read(VIEW) != LEDGER


def test_a_local_view_that_was_edited_is_kept_and_made_again(bench: Bench) -> None:
    bench.repository.current = "feat"
    bench.repository.default = "main"
    put_event(bench.folder, "2026-01-10T13:00:00Z", now="Create the PR")
    synthesize(bench.checkout)
    put(bench.folder, LOCAL, bench.read(LOCAL).replace("Create", "Destroy"))

    done = migrate(bench.checkout, plan(bench, LOCAL), "ada")

    assert "Destroy" in bench.read(done.kept)
    assert "Destroy" in bench.read(LOCAL)
    assert synthesize(bench.checkout).written.before.value == "current"


def test_a_copy_below_the_local_folder_is_not_copied_again(bench: Bench) -> None:
    put(bench.folder, ".conductor/edited-view-1.md", LEDGER)

    done = migrate(bench.checkout, plan(bench, ".conductor/edited-view-1.md"), "ada")

    assert done.kept == ""
    assert bench.read(".conductor/edited-view-1.md") == LEDGER


def test_a_file_that_changes_meanwhile_is_left_alone(bench: Bench) -> None:
    put(bench.folder, VIEW, LEDGER)
    planned = plan(bench)
    put(bench.folder, VIEW, f"{LEDGER}\nmore\n")
    before = listing(bench.folder)

    with pytest.raises(StorageError, match="has changed since"):
        migrate(bench.checkout, planned, "ada")
    assert listing(bench.folder) == before


def test_without_an_event_the_document_stays(bench: Bench) -> None:
    put(bench.folder, VIEW, "Some words.\n")

    planned = plan(bench)

    assert (planned.says_something, planned.is_taken_over) == (False, False)
    assert planned.left
    put(bench.folder, f"{EVENTS}/torn.md", "---\nts: [\n")
    assert not plan(bench).is_taken_over


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\n", "is not UTF-8 text"),
        (b"---\nformat: 99\n---\n" + LEDGER.encode(), "cannot be read"),
        ((LEDGER + "\n### This Session\n" + "- [x] y\n" * 1).encode(), ""),
        (
            (LEDGER + "\n### This Session\n" + "".join(f"- {n} {'y' * 90}\n" for n in range(900))).encode(),
            "contains more",
        ),
    ],
)
def test_what_cannot_become_one_event_is_refused(bench: Bench, data: bytes, message: str) -> None:
    (bench.folder / "x.md").write_bytes(data)

    if message:
        with pytest.raises(PassdownError, match=message):
            plan(bench, "x.md")
    else:
        assert plan(bench, "x.md").event.this_session == ("y",)


def test_a_document_that_is_gone_is_said(bench: Bench) -> None:
    with pytest.raises(StorageError):
        plan(replace(bench), "nothing.md")
