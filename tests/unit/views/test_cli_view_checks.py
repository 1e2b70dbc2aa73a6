"""`passdown synthesize --check` tells a commit of ours that waits from a view that is wrong."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from tests.answers.log_answers import SYNTHESIZE
from tests.support.commands import Done
from tests.support.projects import EVENTS, VIEW, put, put_event
from tests.unit.hooks.test_hook_commits import NEXT, Scene
from tests.unit.hooks.test_hooks import HOST

WHOLE = f"passdown: {VIEW} is current in the last commit"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scene:
    """Give a repository whose owner agreed to commits."""
    return Scene(tmp_path / "project", monkeypatch, capsys)


def check(scene: Scene, *options: str) -> Done:
    return scene.command("synthesize", "--check", *options)


def commit_all(scene: Scene) -> None:
    scene.project.git("add", "--all")
    scene.project.git("commit", "--quiet", "--message=mine")


def leave_waiting(scene: Scene) -> str:
    """Let two events be published and one of them committed; give the path of the other."""
    scene.start()
    scene.work("one")
    scene.pass_time(minutes=16)
    scene.work("two")
    (line,) = scene.uncommitted()
    return line.split(" ")[1]


# --- our own commit waits -------------------------------------------------------------------------


@pytest.mark.requirement("C42", "C117", "R128")
def test_while_only_our_commit_waits_a_check_passes_and_names_the_files(scene: Scene) -> None:
    path = leave_waiting(scene)

    done = check(scene)

    assert (done.code, done.out) == (0, "")
    waits = "the last checkpoint commit was 16 min ago, and they are at least 30 minutes apart"
    assert done.err.splitlines() == [
        f"{WHOLE}; the next one updates it, with:",
        f"passdown:   {path}",
        f"passdown: not committed yet: {waits}",
    ]
    answer = json.loads(check(scene, "--json").out)
    jsonschema.validate(answer, SYNTHESIZE)
    assert (answer["state"], answer["events"], answer["uncommitted"]["paths"]) == ("waiting", 2, [path])
    assert check(scene, "--committed") == Done(0, "", f"{WHOLE}: 1 event\n")
    scene.pass_time(minutes=15)
    scene.turn()
    assert check(scene) == Done(0, "", f"passdown: {VIEW} is current: 2 events\n")


@pytest.mark.requirement("R128")
def test_before_the_first_commit_of_ours_a_check_passes(scene: Scene) -> None:
    scene.start()
    for hour in range(7):
        put_event(scene.project.folder, f"2026-01-11T0{hour}:00:00Z", now=f"Step {hour}")

    done = check(scene)

    assert done.code == 0
    assert "passdown:   and 2 more\n" in done.err
    assert "they are committed at the end of the turn or session" in done.err
    assert check(scene, "--committed") == Done(0, "", "passdown: the last commit has no events\n")


@pytest.mark.requirement("R128", "C42")
def test_where_nobody_agreed_to_commits_the_view_is_outdated(scene: Scene) -> None:
    leave_waiting(scene)
    scene.set_commits(session_end=False, checkpoint=False)

    assert check(scene).code == 4


@pytest.mark.requirement("R128", "C64")
def test_a_view_that_was_edited_or_removed_is_wrong_even_while_our_commit_waits(scene: Scene) -> None:
    leave_waiting(scene)
    made = (scene.project.folder / VIEW).read_text(encoding="utf-8")
    put(scene.project.folder, VIEW, made.replace("one", "1"))
    assert check(scene).err.startswith(f"passdown: {VIEW} was edited by hand")

    (scene.project.folder / VIEW).unlink()

    assert (check(scene).code, check(scene, "--committed").code) == (4, 0)


@pytest.mark.requirement("R128")
def test_events_that_somebody_committed_without_the_view_make_it_wrong(scene: Scene) -> None:
    leave_waiting(scene)
    commit_all(scene)
    assert (check(scene).code, check(scene, "--committed").code) == (4, 4)
    scene.pass_time(minutes=16)

    scene.work("three")

    assert check(scene).code == 4


# --- the last commit ------------------------------------------------------------------------------


@pytest.mark.requirement("R128", "R136")
def test_the_last_commit_is_judged_whatever_the_working_tree_holds(scene: Scene) -> None:
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    scene.command("synthesize", "--commit", "--no-confirm")
    put(scene.project.folder, VIEW, "# Mine\n")
    put_event(scene.project.folder, "2026-01-11T09:00:00Z", now="Parser")
    assert check(scene).code == 4
    assert check(scene, "--committed") == Done(0, "", f"{WHOLE}: 1 event\n")

    scene.project.git("add", EVENTS)
    scene.project.git("commit", "--quiet", "--message=mine")
    (scene.project.folder / VIEW).unlink()
    scene.command("synthesize")

    assert check(scene).code == 0
    assert check(scene, "--committed") == Done(
        4,
        "",
        f"passdown: {VIEW} in the last commit is outdated: it does not match the events\n"
        "  hint: run `passdown synthesize`\n",
    )


@pytest.mark.requirement("R129", "R136")
def test_archived_events_of_the_last_commit_count(scene: Scene) -> None:
    put_event(scene.project.folder, "2026-01-01T08:00:00Z", now="Lexer")
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Parser")

    scene.command("synthesize", "--archive", "--commit", "--no-confirm")

    answer = json.loads(check(scene, "--committed", "--json").out)
    jsonschema.validate(answer, SYNTHESIZE)
    assert (answer["state"], answer["events"]) == ("current", 2)


@pytest.mark.requirement("C116", "R136")
def test_a_merged_view_in_the_last_commit_is_refused(scene: Scene) -> None:
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    scene.command("synthesize")
    made = (scene.project.folder / VIEW).read_text(encoding="utf-8")
    put(scene.project.folder, VIEW, made + made)
    commit_all(scene)

    done = check(scene, "--committed")

    assert (done.code, done.err.splitlines()[0]) == (
        1,
        f"passdown: {VIEW} in the last commit was merged by git and not regenerated",
    )


@pytest.mark.requirement("R139")
def test_a_last_commit_with_only_a_document_from_before_passes(scene: Scene) -> None:
    put(scene.project.folder, VIEW, "# Mine\n")
    commit_all(scene)
    assert check(scene, "--committed") == Done(0, "", "passdown: the last commit has no events\n")

    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    commit_all(scene)

    assert check(scene, "--committed").code == 4


@pytest.mark.requirement("C43")
def test_on_a_branch_without_a_view_there_is_nothing_to_judge(scene: Scene) -> None:
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    commit_all(scene)
    scene.project.git("switch", "--quiet", "--create", "side")

    note = "passdown: the view is not committed on branch side, only on main\n"
    assert check(scene, "--committed") == Done(0, "", note)


def test_without_git_there_is_no_last_commit(scene: Scene) -> None:
    os.rename(scene.project.folder / ".git", scene.project.folder.parent / "gone")

    done = check(scene, "--committed")

    assert (done.code, done.err.splitlines()[0]) == (1, "passdown: the project is not in a git repository")


def test_the_last_commit_is_only_checked(scene: Scene) -> None:
    done = scene.command("synthesize", "--committed")

    assert (done.code, done.err.splitlines()[0]) == (2, "passdown: --committed needs --check")


@pytest.mark.requirement("R133", "R128")
def test_after_the_start_that_makes_the_owed_commit_the_check_is_plain(scene: Scene) -> None:
    scene.start()
    scene.command("done", "one", "--session", HOST)
    scene.end()
    scene.start(NEXT)

    assert check(scene) == Done(0, "", f"passdown: {VIEW} is current: 1 event\n")
    assert check(scene, "--committed") == Done(0, "", f"{WHOLE}: 1 event\n")
