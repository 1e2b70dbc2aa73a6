"""`passdown view` shows the view, lists all that holds, and verifies it against its events."""

import json
from pathlib import Path

import jsonschema
import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.events import EventCheckpoint
from passdown.core.phases import PhaseState
from tests.answers.log_answers import VIEW_LIST, VIEW_SHOW, VIEW_VERIFY
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import EVENTS, VIEW, listing, put, put_event, stop_clock


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def view_of(project: Project) -> str:
    """Read the view."""
    return (project.folder / VIEW).read_text(encoding="utf-8")


# --- show -----------------------------------------------------------------------------------------


def test_the_view_is_shown_as_the_events_make_it(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    first = command("view")
    assert first.err == f"passdown: {VIEW} is not written yet; this is the view of the current events\n"
    assert not (project.folder / VIEW).exists()
    command("synthesize")
    assert command("view", "show") == Done(0, view_of(project), "") == Done(0, first.out, "")
    put(project.folder, VIEW, view_of(project).replace("Create", "Creat"))
    edited = command("view")
    assert (edited.out, edited.err) == (
        first.out,
        f"passdown: {VIEW} is edited by hand; this is the view of the current events\n",
    )
    answer = json.loads(command("view", "--json").out)
    jsonschema.validate(answer, VIEW_SHOW)
    assert answer == {"version": 1, "path": VIEW, "state": "edited", "text": first.out}
    assert json.loads(command("view", "show", "--json").out) == answer


def test_a_view_without_events_is_said(command: Caller, project: Project) -> None:
    assert command("view") == Done(0, "", f"passdown: there are no events in {EVENTS}\n")
    put(project.folder, VIEW, "# Mine\n")
    assert command("view") == Done(
        0,
        "# Mine\n",
        f"passdown: {VIEW} was not made from events\n  hint: run `passdown migrate` to import it\n",
    )


# --- list -----------------------------------------------------------------------------------------


def test_a_section_is_listed_whole(command: Caller, project: Project) -> None:
    long = "x" * 1000
    event = put_event(
        project.folder,
        "2026-01-10T13:03:52Z",
        goal="Fix hooks",
        next=("One", "Two"),
        this_session=tuple(f"Step {number}" for number in range(40)),
        decisions=(Pair(key="shell", value=long),),
        checkpoints=(
            EventCheckpoint(phase=5, status=PhaseState.VALIDATED, name="Hooks", task="bd-1"),
            EventCheckpoint(name="other"),
        ),
    )
    about = f"    2026-01-10 13:03Z  toast  {event.id}\n"

    assert command("view", "list", "goal") == Done(0, f"Fix hooks\n{about}", "")
    assert command("view", "list", "next") == Done(0, f"One\n{about}Two\n{about}", "")
    assert command("view", "list", "decisions") == Done(0, f"shell: {long}\n{about}", "")
    assert command("view", "list", "done").out.count("Step") == 40
    assert command("view", "list", "checkpoints").out == (
        f"Phase ? (other), by toast: pending\n{about}Phase 5 (Hooks) of bd-1, by toast: validated\n{about}"
    )
    assert command("view", "list", "now") == Done(0, "", "passdown: section now is empty\n")
    for section, count in (("done", 40), ("decisions", 1), ("checkpoints", 2), ("feedback", 0), ("next", 2)):
        answer = json.loads(command("view", "list", section, "--json").out)
        jsonschema.validate(answer, VIEW_LIST)
        assert (answer["section"], answer["count"], len(answer["facts"])) == (section, count, count)


def test_a_section_that_is_none_is_refused(command: Caller) -> None:
    done = command("view", "list", "colours")

    assert (done.code, done.out) == (2, "")


# --- verify -----------------------------------------------------------------------------------------


def test_what_is_as_recorded_is_verified(command: Caller, project: Project) -> None:
    assert command("view", "verify") == Done(
        0, "", f"passdown: there are no events in {EVENTS}, and no view\n"
    )
    put_event(project.folder, "2026-01-02T13:03:52Z", now="Old")
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put(project.folder, f"{EVENTS}/torn.md", "---\nts: [\n")
    command("synthesize", "--archive", "--commit")
    before = listing(project.folder)

    assert command("view", "verify") == Done(
        0,
        f"{EVENTS}/torn.md: skipped: ts and agent cannot be read, and the file name does not contain it\n",
        "passdown: 2 events; view and events are as recorded\n",
    )
    answer = json.loads(command("view", "verify", "--json").out)
    jsonschema.validate(answer, VIEW_VERIFY)
    assert (answer["is_good"], answer["events"], len(answer["skipped"])) == (True, 2, 1)
    assert listing(project.folder) == before


def test_an_event_added_since_makes_the_view_outdated(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    hint = "  hint: run `passdown synthesize`\n"

    assert command("view", "verify") == Done(4, "", f"passdown: 1 event; {VIEW} is not written yet\n{hint}")
    command("synthesize")
    put_event(project.folder, "2026-01-10T14:03:52Z", now="Write tests")
    assert command("view", "verify") == Done(4, "", f"passdown: 2 events; {VIEW} is outdated\n{hint}")
    answer = json.loads(command("view", "--json", "verify").out)
    jsonschema.validate(answer, VIEW_VERIFY)
    assert (answer["is_good"], answer["is_outdated"]) == (False, True)


def test_an_altered_event_is_named(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put_event(project.folder, "2026-01-10T14:03:52Z", now="Write tests")
    command("synthesize", "--commit")
    path = f"{EVENTS}/2026-01-10T13-03-52.000Z_toast.md"
    text = (project.folder / path).read_text(encoding="utf-8")
    put(project.folder, path, text.replace("Create", "Destroy"))

    done = command("view", "verify")

    assert done == Done(
        1,
        f"{path}: altered event {event.id}: its text does not match its id\n",
        "passdown: 2 events; 1 missing or altered\n"
        f"passdown: {VIEW} was made from other events: 2 then, 2 now\n"
        "  hint: `git log -- PATH` shows when a file changed; another branch has other\n"
        "        events\n",
    )


def test_a_missing_event_is_named(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put_event(project.folder, "2026-01-10T14:03:52Z", now="Write tests")
    command("synthesize")
    path = f"{EVENTS}/2026-01-10T13-03-52.000Z_toast.md"
    (project.folder / path).unlink()

    done = command("view", "verify")

    assert (done.code, done.out) == (1, f"{path}: missing event {event.id}: it existed before\n")


def test_a_view_that_was_changed_is_said(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    command("synthesize")
    made = view_of(project)
    hint = "  hint: run `passdown synthesize` to rebuild the view\n"

    put(project.folder, VIEW, made.replace("Create", "Destroy"))
    assert command("view", "verify") == Done(1, "", f"passdown: {VIEW} is edited by hand\n{hint}")
    put(project.folder, VIEW, made.replace("event_count: 1", "event_count: 7"))
    assert command("view", "verify") == Done(1, "", f"passdown: {VIEW} does not match its events\n{hint}")
