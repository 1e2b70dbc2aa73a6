"""A value of an event that cannot be read wins nothing, and is shown as malformed."""

from pathlib import Path

import pytest

from passdown.core.formats.views import parse_view, unsign_line
from tests.support.commands import Caller
from tests.support.gits import Project, make_project
from tests.support.projects import EVENTS, VIEW, put, put_event, stop_clock

HEAD = "---\nts: 2026-01-10T14:00:00Z\nagent: birch\nbranch: main\ntype: session_end\nreason: clear\n---\n\n"
LATER = f"{EVENTS}/2026-01-10T14-00-00.000Z_birch.md"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository in which an earlier event states goal, now and next."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    project = make_project(tmp_path / "project")
    put_event(
        project.folder,
        "2026-01-10T13:00:00Z",
        goal="Ship it",
        now="Write the parser",
        next=("Test it", "Release it"),
    )
    return project


@pytest.mark.requirement("C63")
@pytest.mark.parametrize(
    "line",
    [
        "now: {{{",
        "now: [a, b",
        'now: "never closed',
        "now: 'never closed",
        "now: {a: b\n  c: d",
        "now:\n- a\n- b",
        "goal: {{{",
        "goal:\n  {{{",
        "next: {{{",
        "next: [a, [b]]",
        "next:\n- fine\n- {{{",
        'next:\n- fine\n- "never closed',
    ],
)
def test_a_value_that_cannot_be_read_wins_no_register(command: Caller, project: Project, line: str) -> None:
    put(project.folder, LATER, f"{HEAD}{line}\n\nthis_session:\n- Still read\n")

    done = command("synthesize")
    assert "passdown: 1 value in events could not be read and is ignored\n" in done.err
    assert "run `passdown view list malformed` to see it" in done.err
    view = parse_view((project.folder / VIEW).read_text(encoding="utf-8"))
    lines = [unsign_line(text) for text in (view.goal, view.now, *view.next)]
    assert lines == ["Ship it", "Write the parser", "Test it", "Release it"]
    assert view.this_session == ("Still read",)
    brief = command("brief").out
    assert "\nGoal:\n(toast, 23 h) > Ship it\nLast worked on:\n(toast, 23 h) > Write the parser\n" in brief
    shown = " ".join(line.split())
    assert f"Malformed; ignored:\n(birch, 22 h) > {shown}\n" in brief
    assert shown in " ".join(command("view", "list", "malformed").out.split())
    assert " facts found: " in command("certify").out


@pytest.mark.requirement("C63")
@pytest.mark.parametrize(
    "text", ["[WIP] look around", "{{ a template }}", '"quoted" and more', "{a: b}", "fix { and ["]
)
def test_what_only_looks_like_a_list_or_a_map_is_text(command: Caller, project: Project, text: str) -> None:
    put(project.folder, LATER, f"{HEAD}now: {text}\n")

    assert f"Last worked on:\n(birch, 22 h) > {text}\n" in command("brief").out
    assert "could not be read" not in command("synthesize").err
