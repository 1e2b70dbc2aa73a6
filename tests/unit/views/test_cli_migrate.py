"""`passdown migrate` makes an event of a `current.md`, keeps the file, and loses no line."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from passdown.core.formats.events import parse_event
from passdown.core.formats.registry import STREAM
from passdown.core.formats.views import parse_view
from tests.answers.log_answers import MIGRATE
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import EVENTS, VIEW, listing, put, put_event, stop_clock

LEGACY = """\
# Notes

## Ledger
**Updated:** 2026-01-05T10:00:00Z
**Goal:** Fix hooks

### Now
[->] Create the PR

### This Session
- [x] Forked the repository

### Whatever
Nobody has a field for this.
"""
NO_TERMINAL = (
    "passdown: nothing was written\n  hint: no terminal to ask on; pass --yes to write without asking\n"
)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


@pytest.mark.requirement("R139")
def test_a_legacy_file_becomes_an_event_and_is_kept(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, LEGACY)
    shown = (
        f"from {VIEW}, one event:\n  goal: Fix hooks\n\n  now: Create the PR\n\n"
        "  this_session:\n  - Forked the repository\nkept in the copy only: Whatever\n"
    )

    assert command("migrate") == Done(1, shown, NO_TERMINAL)
    assert listing(project.folder) == {VIEW: LEGACY.encode()}
    done = command("migrate", "--yes")

    (kept,) = [path for path in listing(project.folder) if path.startswith(".conductor/legacy-current-")]
    said = re.fullmatch(
        rf"published event (ev-[0-9a-f]{{16}})\nkept a copy of the file: {kept}\nview written: {VIEW}\n",
        done.out.removeprefix(shown),
    )
    assert said is not None
    assert (project.folder / kept).read_text(encoding="utf-8") == LEGACY
    event = parse_event(command("event", "show", said[1]).out)
    assert (event.type, event.goal, event.now) == ("migration", "Fix hooks", "Create the PR")
    assert event.problems == ()
    view = parse_view((project.folder / VIEW).read_text(encoding="utf-8"))
    assert (view.goal, view.this_session) == ("Fix hooks", ("Forked the repository",))
    assert command("synthesize", "--check").code == 0
    assert command("view", "verify").code == 0


def test_migrating_twice_publishes_nothing_twice(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, LEGACY)
    command("migrate", "--yes")

    assert command("migrate", "--yes") == Done(
        0, "", f"passdown: nothing to publish from {VIEW}: its content is already in events\n"
    )
    put(project.folder, "old.md", LEGACY)
    again = command("migrate", "old.md", "--yes")
    assert (again.code, again.out) == (0, "does not fit into an event: Whatever\n")
    assert len(list((project.folder / EVENTS).iterdir())) == 1


def test_a_file_that_says_nothing_an_event_can_hold_is_left_alone(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, "Just some words.\n")

    done = command("migrate", "--yes")

    assert done.err == (f"passdown: nothing to publish from {VIEW}, which was not changed\n")
    assert listing(project.folder) == {VIEW: b"Just some words.\n"}


def test_where_there_are_events_the_view_takes_its_place_all_the_same(
    command: Caller, project: Project
) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put(project.folder, VIEW, "Just some words.\n")
    assert command("synthesize").code == 1

    done = command("migrate", "--yes")

    assert re.search(
        rf"kept a copy of the file: .conductor/legacy-current-.*\nview written: {VIEW}\n", done.out
    )
    assert b"Just some words.\n" in listing(project.folder).values()
    assert command("synthesize", "--check").code == 0


def test_a_stream_is_read_as_a_stream(command: Caller, project: Project) -> None:
    put(project.folder, "stream.md", STREAM.example())

    answer = json.loads(command("migrate", "stream.md", "--yes", "--json").out)

    jsonschema.validate(answer, MIGRATE)
    assert (answer["written"], answer["view"]) == (True, None)
    assert answer["event"]["goal"]
    assert answer["event"]["stream"]
    assert answer["event"]["checkpoints"][0]["agent"]
    assert "Workflow State" in answer["left"]
    assert (project.folder / answer["kept"]).read_text(encoding="utf-8") == STREAM.example()
    text = command("migrate", "stream.md", "--json")
    jsonschema.validate(json.loads(text.out), MIGRATE)


@pytest.mark.requirement("C3")
def test_what_was_added_to_a_view_by_hand_is_published(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR", this_session=("Forked",))
    command("synthesize")
    text = (project.folder / VIEW).read_text(encoding="utf-8")
    put(project.folder, VIEW, text.replace("- [x] Forked", "- [x] Added by hand\n- [x] Forked"))
    command("synthesize")
    (kept,) = [path for path in listing(project.folder) if path.startswith(".conductor/edited-view-")]

    done = command("migrate", kept, "--yes")

    assert done.out.startswith(
        f"from {kept}, one event:\n  this_session:\n  - Added by hand\npublished event "
    )
    assert "kept a copy" not in done.out
    assert done.err == "  hint: run `passdown synthesize` to update the view\n"
    command("synthesize")
    view = parse_view((project.folder / VIEW).read_text(encoding="utf-8"))
    assert view.this_session == ("Added by hand", "Forked")


def test_with_json_only_yes_agrees(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, LEGACY)

    done = command("migrate", "--json")

    answer = json.loads(done.out)
    jsonschema.validate(answer, MIGRATE)
    assert (done.code, answer["written"], answer["event"]["goal"]) == (1, False, "Fix hooks")
    put(project.folder, VIEW, "Just some words.\n")
    nothing = json.loads(command("migrate", "--json").out)
    jsonschema.validate(nothing, MIGRATE)
    assert nothing["event"] is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.md", "nothing.md: no such file"),
        ("", "an empty name is not a file of this project"),
        ("../x.md", "../x.md is not a file of this project"),
        (".", ".: no such file"),
    ],
)
def test_a_file_that_is_not_there_is_refused(
    command: Caller, project: Project, name: str, message: str
) -> None:
    put(project.folder.parent, "x.md", LEGACY)

    done = command("migrate", name)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"passdown: {message}\n")


def test_without_a_view_there_is_nothing_to_take_over(command: Caller) -> None:
    done = command("migrate")

    assert (done.code, done.err.splitlines()[0]) == (2, f"passdown: {VIEW}: no such file")
