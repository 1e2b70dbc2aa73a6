"""`passdown event` shows one event in full, and takes one back."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from passdown.core.formats.events import parse_event, render_event
from passdown.core.formats.views import parse_view
from passdown.services.log.history import EventTexts
from tests.answers.log_answers import EVENT_RETRACT, EVENT_SHOW, LOG
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import EVENTS, VIEW, put, put_event, stop_clock

NONE = "passdown: there is no event ev-nothing\n  hint: run `passdown log` to see the events\n"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def test_a_bare_event_lists_like_the_log(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    assert command("event") == command("log")
    answer = json.loads(command("event", "--json").out)
    jsonschema.validate(answer, LOG)


def test_an_event_is_shown_as_it_was_written(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    name = event.id or ""

    assert command("event", "show", name) == Done(0, render_event(event), "")
    assert command("event", "show", name[:8]) == Done(0, render_event(event), "")
    answer = json.loads(command("event", "show", name, "--json").out)
    jsonschema.validate(answer, EVENT_SHOW)
    assert json.loads(command("event", "--json", "show", name).out) == answer
    assert (answer["event"]["id"], answer["event"]["data"]["now"]) == (name, "Create the PR")
    assert answer["event"]["path"] == f"{EVENTS}/2026-01-10T13-03-52.000Z_toast.md"
    digest = answer["event"]["sha256"]
    assert command("event", "show", digest[:16]).out == render_event(event)


def test_an_archived_event_is_shown_too(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-02T13:03:52Z", now="Create the PR")
    command("synthesize", "--archive")

    assert command("event", "show", event.id or "") == Done(0, render_event(event), "")


def test_what_a_text_holds_cannot_move_the_cursor(command: Caller, project: Project) -> None:
    put(
        project.folder,
        f"{EVENTS}/2026-01-10T13-03-52Z_toast.md",
        "---\r\nid: abc\r\n---\r\nnow: a\x1b[2Jb\r\n",
    )

    assert command("event", "show", "abc").out == "---\nid: abc\n---\nnow: a\\u001b[2Jb\n"


def test_an_id_that_means_nothing_or_several_is_refused(command: Caller, project: Project) -> None:
    events = [put_event(project.folder, f"2026-01-10T13:{at:02}:00Z", now=f"Step {at}") for at in range(12)]
    for number in (1, 2):
        put(project.folder, f"{EVENTS}/2026-01-0{number}T00-00-00Z_a.md", "---\nid: same\n---\n")

    assert command("event", "show", "ev-nothing") == Done(1, "", NONE)
    several = command("event", "show", "ev-")
    names = ", ".join(event.id or "" for event in reversed(events[2:]))
    assert several == Done(
        1,
        "",
        f"passdown: ev- matches 12 events: {names} and 2 more\n  hint: type the full name of one\n",
    )
    shared = command("event", "show", "same")
    found = re.fullmatch(r"passdown: same matches 2 events: ([0-9a-f]{16}), ([0-9a-f]{16})\n.*\n", shared.err)
    assert found is not None
    assert command("event", "show", found[1]).code == 0
    assert command("event", "show", " ").code == 2


def test_an_event_that_vanishes_is_said(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    monkeypatch.setattr(EventTexts, "read", lambda *_: None)

    done = command("event", "show", event.id or "")

    assert done == Done(
        1,
        "",
        f"passdown: event {event.id} was just removed\n  hint: run the command again\n",
    )


def test_an_event_taken_back_counts_no_more_whatever_its_time(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Right")
    wrong = put_event(project.folder, "2999-01-10T13:03:52Z", now="Wrong clock")

    done = command("event", "retract", wrong.id or "", "--because", "the clock\nwas wrong")

    said = re.fullmatch(rf"retracted {wrong.id} \(recorded as (ev-[0-9a-f]{{16}})\)\n", done.out)
    assert said is not None
    assert done.err == "  hint: run `passdown synthesize` to update the view\n"
    event = parse_event(command("event", "show", said[1]).out)
    assert (event.retracted_events, event.reason, event.branch) == (
        (wrong.id,),
        "the clock was wrong",
        "main",
    )
    assert re.fullmatch(r"person-[0-9a-f]{8}", event.agent or "")
    assert event.problems == ()
    assert command("synthesize").err == ""
    assert parse_view((project.folder / VIEW).read_text(encoding="utf-8")).now == "Right (by toast, ended)"
    assert command("event", "retract", wrong.id or "") == Done(
        0, "", f"passdown: event {wrong.id} is already retracted\n"
    )


def test_an_event_with_an_id_of_another_tool_is_taken_back_by_its_hash(
    command: Caller, project: Project
) -> None:
    put(project.folder, "passdown.toml", '[events]\nlayout = "day"\n')
    for number in (1, 2):
        put(
            project.folder,
            f"{EVENTS}/2026-01-0{number}T00-00-00Z_a.md",
            f"---\nid: same\n---\nnow: {number}\n",
        )
    digest = json.loads(command("log", "--json").out)["events"][0]["sha256"]

    answer = json.loads(command("event", "retract", digest[:20], "--agent", "ada", "--json").out)

    jsonschema.validate(answer, EVENT_RETRACT)
    assert (answer["retracted"], answer["event"]["agent"]) == ("same", "ada")
    assert answer["event"]["path"].startswith(f"{EVENTS}/2026-01-11/2026-01-11T12-00-00.000Z_ada")
    listed = json.loads(command("log", "--json").out)["events"]
    assert [one["is_retracted"] for one in listed] == [False, True, False]
    again = json.loads(command("event", "--json", "retract", digest[:20]).out)
    jsonschema.validate(again, EVENT_RETRACT)
    assert again["event"] is None


def test_an_agent_that_would_break_a_line_is_refused(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    done = command("event", "retract", event.id or "", "--agent", "a\nb")

    assert (done.code, done.out) == (2, "")
    assert "contains control characters" in done.err
