"""Which session `--session` names, and what commands do that need none."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Done, run
from tests.support.gits import Project, make_started


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "project")


def call(project: Project, *arguments: str) -> Done:
    """Run the command as a process; all of them have the same parent."""
    return run(*arguments, cwd=project.folder)


def sessions(project: Project) -> list[dict[str, str]]:
    """List the sessions."""
    found: list[dict[str, str]] = json.loads(call(project, "status", "--json").out)["sessions"]
    return found


@pytest.mark.requirement("C123")
def test_two_ids_of_one_process_are_two_sessions(project: Project) -> None:
    one = json.loads(call(project, "start", "--session", "one", "--json").out)
    two = json.loads(call(project, "start", "--session", "two", "--json").out)

    assert (one["is_new"], two["is_new"]) == (True, True)
    assert one["session"] != two["session"]
    for name in ("one", one["session"], one["agent"]):
        again = json.loads(call(project, "start", "--session", name, "--json").out)
        assert (again["session"], again["is_new"]) == (one["session"], False)
    assert call(project, "goal", "First", "--session", "one").code == 0
    assert call(project, "goal", "Second", "--session", "two").code == 0
    assert {found["goal"] for found in sessions(project)} == {"First", "Second"}


@pytest.mark.requirement("C161")
def test_a_verb_starts_no_session_by_name(project: Project) -> None:
    call(project, "start")

    done = call(project, "now", "Look around", "--session", "other")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("passdown: there is no session other\n")
    assert len(sessions(project)) == 1
    call(project, "start", "--new", "--session", "other")
    again = call(project, "now", "Look again", "--session", "other")
    assert again == Done(0, "now: Look again\n", "")


def test_an_ended_session_is_not_started_again_by_a_verb(project: Project) -> None:
    call(project, "start", "--session", "one")
    call(project, "end", "--session", "one")

    done = call(project, "now", "Look around", "--session", "one")

    assert done.code == 2
    assert done.err.startswith("passdown: session one has ended\n")
    assert call(project, "end", "--session", "nobody").code == 2


def test_a_handoff_is_resumed_in_the_session_that_is_named(project: Project) -> None:
    call(project, "goal", "Ship it")
    call(project, "handoff", "create", "--stream", "work")
    assert call(project, "handoff", "resume", "work", "--session", "other").code == 2
    call(project, "start", "--session", "other", "--fresh")

    done = call(project, "handoff", "resume", "work", "--session", "other")

    assert done.code == 0, done.err
    assert {one["goal"] for one in sessions(project)} == {"Ship it"}
    assert len(sessions(project)) == 2


@pytest.mark.requirement("C51")
def test_brief_and_certify_need_no_session_where_several_run(project: Project) -> None:
    call(project, "goal", "Ship it")
    call(project, "rule-out", "No threads")
    call(project, "publish")
    call(project, "start", "--new")

    brief, certificate = call(project, "brief"), call(project, "certify")

    assert (brief.code, certificate.code) == (0, 0), brief.err + certificate.err
    assert "Ruled out:\n(generic-" in brief.out
    assert " facts found: " in certificate.out
    assert json.loads(call(project, "brief", "--json").out)["session"] is None
