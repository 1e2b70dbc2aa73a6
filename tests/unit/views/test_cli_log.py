"""`passdown log` lists events, the newest first, of all checkouts, archived ones too."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from passdown.faces.cli import lines, output
from tests.answers.log_answers import LOG
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import EVENTS, put, put_event, stop_clock


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def short(name: str | None) -> str:
    """Shorten an id as the log does."""
    return (name or "")[:11]


def test_events_are_listed_newest_first(command: Caller, project: Project) -> None:
    old = put_event(project.folder, "2026-01-10T13:03:52Z", this_session=("Forked  it",))
    new = put_event(project.folder, "2026-01-11T08:00:00Z", "crisp", now="Write the docs", branch="fix/b")
    gone = put_event(project.folder, "2026-01-09T08:00:00Z", goal="Wrong", type="checkpoint")
    put_event(project.folder, "2026-01-11T09:00:00Z", type="retraction", retracted_events=(gone.id,))

    lines_shown = command("log").out.splitlines()

    assert lines_shown[1:] == [
        f"    retracts {gone.id}",
        f"2026-01-11 08:00Z  {short(new.id)}  crisp  fix/b  session_end",
        "    Last worked on: Write the docs",
        f"2026-01-10 13:03Z  {short(old.id)}  toast  main  session_end",
        "    Forked it",
        f"2026-01-09 08:00Z  {short(gone.id)}  toast  main  checkpoint (retracted)",
        "    Wrong",
    ]


def test_without_events_that_is_said(command: Caller) -> None:
    assert command("log") == Done(0, "", "passdown: no events\n")
    assert json.loads(command("log", "--json").out) == {"version": 1, "events": [], "earlier": 0}


def test_lines_fit_the_terminal(command: Caller, project: Project) -> None:
    wide = "é漢" * 100
    put_event(
        project.folder, "2026-01-10T13:03:52Z", "toast-" + "x" * 50, now=wide, branch="feat/" + "y" * 90
    )
    put(project.folder, f"{EVENTS}/2026-01-09T00-00-00Z_x.md", "---\nid: i\x1b\n---\n")

    shown = command("log").out

    assert "\x1b" not in shown
    for line in shown.splitlines():
        assert lines._columns_of(line) <= 80  # the same measure


def test_the_newest_20_are_shown_and_the_rest_is_counted(command: Caller, project: Project) -> None:
    for minute in range(25):
        put_event(project.folder, f"2026-01-10T13:{minute:02}:00Z", now=f"Step {minute}")

    done = command("log")
    assert done.out.count("Step") == 20
    assert done.err.startswith("passdown: and 5 earlier\n  hint: show all with --all, or N with -n N; ")
    assert command("log", "--all").out.count("Step") == 25
    assert command("log", "-n", "2").err.startswith("passdown: and 23 earlier\n")
    answer = json.loads(command("log", "--json", "--limit", "3").out)
    jsonschema.validate(answer, LOG)
    assert ([one["data"]["now"] for one in answer["events"]], answer["earlier"]) == (
        ["Step 24", "Step 23", "Step 22"],
        22,
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--agent", "toast"], ["c", "a"]),
        (["--agent", "toast-1a2b3c4d"], ["c"]),
        (["--branch", "feat"], ["b"]),
        (["--type", "checkpoint"], ["b"]),
        (["--since", "2026-01-10"], ["c", "b"]),
        (["--since", "2026-01-10T13:00Z"], ["c"]),
        (["--since", "4h"], ["c"]),
        (["--since", "2d"], ["c", "b"]),
        (["--since", "300min"], ["c"]),
        (["--since", "1w"], ["c", "b", "a"]),
        (["--since", "999999w"], ["c", "b", "a"]),
        (["--type", "checkpoint", "--agent", "toast"], []),
    ],
)
def test_events_are_chosen(command: Caller, project: Project, arguments: list[str], found: list[str]) -> None:
    put_event(project.folder, "2026-01-09T08:00:00Z", "toast", now="a")
    put_event(project.folder, "2026-01-10T12:00:00Z", "waffle", now="b", branch="feat", type="checkpoint")
    put_event(project.folder, "2026-01-11T11:00:00Z", "toast-1a2b3c4d", now="c")

    answer = json.loads(command("log", "--json", *arguments).out)

    assert [one["data"]["now"] for one in answer["events"]] == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "soon"], "--since: `soon` is not a valid time"),
        (["--all", "-n", "3"], "--all and --limit cannot be combined"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Caller, arguments: list[str], message: str) -> None:
    done = command("log", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"passdown: {message}\n  hint: ")


def test_archived_events_are_listed_like_the_others(command: Caller, project: Project) -> None:
    for day in (1, 2):
        put_event(project.folder, f"2026-01-0{day}T13:03:52Z", now=f"Day {day}")
        put_event(project.folder, f"2026-01-0{day}T14:03:52Z", now=f"Later on day {day}")
    before = command("log").out

    command("synthesize", "--archive", "--commit")

    assert command("log").out == before
    answer = json.loads(command("log", "--json").out)
    assert all("/rollup-" in one["path"] for one in answer["events"])
    assert len({one["data"]["now"] for one in answer["events"]}) == 4


def test_events_of_other_checkouts_are_marked_and_those_of_several_shown_once(
    command: Caller, project: Project
) -> None:
    both = put_event(project.folder, "2026-01-10T13:03:52Z", now="Both")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("worktree", "add", "--quiet", "../side", "-b", "side")
    other = put_event(
        project.folder.parent / "side", "2026-01-10T14:00:00Z", "waffle", branch="side", now="There"
    )

    done = command("log")

    assert done.out.splitlines() == [
        f"2026-01-10 14:00Z  {short(other.id)}  waffle  side  session_end (in ../side)",
        "    Last worked on: There",
        f"2026-01-10 13:03Z  {short(both.id)}  toast  main  session_end",
        "    Last worked on: Both",
    ]
    answer = json.loads(command("log", "--json").out)
    assert [one["checkout"] for one in answer["events"]] == ["../side", "."]

    put(project.folder.parent, "side/passdown.toml", "[view]\ncommit = 3\n")
    assert command("log").err.startswith("passdown: skipped the events of ../side: passdown.toml: ")


def test_a_project_below_the_top_looks_below_the_top_of_other_checkouts(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project.folder, "app/passdown.toml", "")
    put_event(project.folder / "app", "2026-01-10T13:03:52Z", now="Both")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("worktree", "add", "--quiet", "../side", "-b", "side")
    put_event(project.folder.parent / "side" / "app", "2026-01-10T14:00:00Z", now="There")
    project.git("worktree", "add", "--quiet", "../empty", "-b", "empty")
    shutil.rmtree(project.folder.parent / "empty" / "app")
    monkeypatch.chdir(project.folder / "app")

    assert command("log").out.count("session_end") == 2


def test_without_git_there_is_only_this_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = Caller(monkeypatch, capsys, tmp_path)
    put_event(tmp_path, "2026-01-10T13:03:52Z", now="Alone")

    assert command("log").out.count("Alone") == 1


def test_many_events_are_read_with_a_bar_for_whoever_waits(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(600):
        put(
            project.folder,
            f"{EVENTS}/2026-01-10T13-00-{number % 60:02}.{number:03}Z_a.md",
            "---\nnow: x\n---\n",
        )
    monkeypatch.setattr(output, "is_terminal", lambda _: True)

    done = command("log", "-n", "1")

    assert "reading events [" in done.err
    assert done.out.startswith("2026-01-10 13:00Z")


def test_an_event_that_vanishes_while_it_is_listed_says_nothing(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from passdown.engines.files.event_log import FileEventLog  # only this test breaks it

    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Gone")
    command("log")
    monkeypatch.setattr(FileEventLog, "read", lambda *_: None)
    monkeypatch.setattr(FileEventLog, "files", lambda self, folder: {})  # noqa: ARG005 - as the port has it

    assert command("event", "show", event.id or "").code == 1


# --- sessions that ended ------------------------------------------------------------------------------


def test_sessions_that_ended_are_listed_newest_first(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("log", "--sessions") == Done(0, "", "passdown: no session has ended yet\n")
    for name, at in (("amber", "2026-01-11T12:00:00Z"), ("birch", "2026-01-11T13:00:00Z")):
        stop_clock(monkeypatch, at)
        command("start", "--nickname", name, "--fresh")
        command("goal", f"Goal of {name}")
        command("end")
    command("handoff", "create", "--stream", "auth")
    stop_clock(monkeypatch, "2026-01-11T15:00:00Z")

    done = command("log", "--sessions")

    first, about, second, *rest = done.out.splitlines()
    assert first.startswith("2026-01-11-13-00-session-end-birch-")
    assert first.endswith("  complete, 2 h ago")
    assert about == "    Goal of birch"
    assert second.startswith("2026-01-11-12-00-session-end-amber-")
    assert (rest, done.err) == (["    Goal of amber"], "")
    few = command("log", "--sessions", "-n", "1")
    assert few.out.splitlines() == [first, about]
    assert few.err == ("passdown: and 1 earlier\n  hint: --all lists every session, -n N the newest N\n")
    assert command("log", "--sessions", "--all") == done
    answer = json.loads(command("log", "--sessions", "--json").out)
    assert [one["goal"] for one in answer["sessions"]] == ["Goal of birch", "Goal of amber"]
    assert (answer["earlier"], answer["sessions"][0]["at"]) == (0, "2026-01-11T13:00:00Z")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["--sessions", "--agent", "amber"],
            "--sessions lists every session; it cannot be filtered",
            "remove the filter",
        ),
        (
            ["--agent", "amber", "show", "ev-1"],
            "only the list of events can be filtered",
            "write `passdown log show ID`",
        ),
        (
            ["-n", "1", "retract", "ev-1"],
            "only the list of events can be filtered",
            "write `passdown log retract ID`",
        ),
    ],
)
def test_what_filters_events_goes_with_nothing_else(
    command: Caller, words: list[str], message: str, hint: str
) -> None:
    assert command("log", *words) == Done(2, "", f"passdown: {message}\n  hint: {hint}\n")


# --- one event ----------------------------------------------------------------------------------------


def test_the_log_shows_and_retracts_an_event_as_the_old_command_does(
    command: Caller, project: Project
) -> None:
    name = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR").id or ""

    assert command("log", "show", name[:8]) == command("event", "show", name[:8])
    assert "Create the PR" in command("log", "show", name).out
    assert json.loads(command("log", "--json", "show", name).out)["event"]["id"] == name
    done = command("log", "retract", name, "--because", "a mistake")
    assert done.out.startswith(f"retracted {name} (recorded as ev-")
    assert command("event", "retract", name).err == f"passdown: event {name} is already retracted\n"
