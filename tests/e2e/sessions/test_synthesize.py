"""Synthesis as people and scripts meet it: real processes, real terminals, real repositories."""

import json
import sys
from pathlib import Path

import pytest

from passdown.core.formats.views import parse_view
from tests.support.commands import Terminal, run
from tests.support.gits import Project, make_project
from tests.support.projects import ARCHIVE, EVENTS, VIEW, listing, put, put_event

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


def now_of(folder: Path) -> str:
    """Read what the view says is being done, without who did it."""
    return parse_view((folder / VIEW).read_text(encoding="utf-8")).now.partition(" (by ")[0]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with an old event and a new one."""
    project = make_project(tmp_path / "project")
    put_event(project.folder, "2020-01-10T13:03:52Z", goal="Fix hooks", now="Create the PR")
    put_event(project.folder, "2026-01-11T08:00:00Z", "crisp", now="Write the docs", branch="fix/bug-b")
    return project


@posix
@pytest.mark.requirement("R123", "R124")
def test_a_person_sees_what_will_change_agrees_archives_and_commits(project: Project) -> None:
    with Terminal("synthesize", cwd=project.folder) as terminal:
        terminal.read_until("Write the view? [Y/n]: ")
        assert not (project.folder / VIEW).exists()
        seen = terminal.seen.replace("\r\n", "\n")
        terminal.type("\n")
        terminal.read_until("Archive 2 events older than 7 days? [Y/n]: ")
        terminal.type("\n")
        terminal.read_until("Commit the events and the view? [y/N]: ")
        terminal.type("y\n")
        done = terminal.close()

    lines = seen.splitlines()
    assert lines[0] == "2 events:"
    assert lines[1].startswith("  2026-01-11 08:00Z  ev-")
    assert lines[1].endswith("  crisp  fix/bug-b  session_end")
    assert lines[2] == "      Last worked on: Write the docs"
    assert [line.partition(" (by ")[0] for line in lines[5:7]] == ["Goal: Fix hooks", "Now: Write the docs"]
    assert lines[7] == f"View: {VIEW} (will be created)"
    assert done.code == 0
    assert "2 events of 2 days archived\ncommitted " in done.out
    assert project.git("status", "--porcelain") == ""
    assert len(list((project.folder / ARCHIVE).rglob("*.md"))) == 2
    assert run("synthesize", "--check", cwd=project.folder).code == 0


@posix
@pytest.mark.requirement("R123")
def test_a_person_who_does_not_agree_changes_nothing(project: Project) -> None:
    before = listing(project.folder)

    with Terminal("synthesize", cwd=project.folder) as terminal:
        terminal.read_until("Write the view? [Y/n]: ")
        terminal.type("n\n")
        done = terminal.close()

    assert (done.code, done.out.splitlines()[-1]) == (1, "passdown: nothing was written")
    assert listing(project.folder) == before


@posix
def test_an_interrupt_ends_with_130_and_changes_nothing(project: Project) -> None:
    before = listing(project.folder)

    with Terminal("synthesize", cwd=project.folder) as terminal:
        terminal.read_until("Write the view? [Y/n]: ")
        terminal.interrupt()
        done = terminal.close()

    assert (done.code, done.out.splitlines()[-1]) == (130, "passdown: interrupted")
    assert listing(project.folder) == before


@posix
def test_a_difference_is_shown_short_and_what_was_refused_is_not_done(project: Project) -> None:
    for number in range(8):
        texts = tuple(f"Step {number} {part}" for part in range(3))
        put_event(project.folder, f"2026-01-12T0{number}:00:00Z", this_session=texts)
    run("synthesize", cwd=project.folder)
    for number in range(8):
        texts = tuple(f"More {number} {part}" for part in range(3))
        put_event(project.folder, f"2026-01-13T0{number}:00:00Z", this_session=texts)

    with Terminal("synthesize", cwd=project.folder) as terminal:
        terminal.read_until("Write the view? [Y/n]: ")
        terminal.type("\n")
        terminal.read_until("Archive 18 events older than 7 days? [Y/n]: ")
        terminal.type("n\n")
        terminal.read_until("Commit the events and the view? [y/N]: ")
        terminal.type("y\n")
        done = terminal.close()

    assert "18 events, the newest:" in done.out
    assert "  and 13 earlier: `passdown log`" in done.out
    assert f"View: {VIEW} (will be updated)" in done.out
    assert "\n… and " in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert not (project.folder / ARCHIVE).exists()
    assert project.git("status", "--porcelain") == ""


@posix
def test_a_current_view_is_not_asked_about(project: Project) -> None:
    run("synthesize", "--archive", "--commit", cwd=project.folder)

    with Terminal("synthesize", cwd=project.folder) as terminal:
        done = terminal.close()

    assert f"View: {VIEW} (current)" in done.out
    assert done.out.splitlines()[-1] == f"2 events; view unchanged: {VIEW}"
    assert "?" not in done.out


@pytest.mark.requirement("C43")
@posix
def test_outside_the_integration_branch_the_local_view_is_named(project: Project) -> None:
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("switch", "--quiet", "--create", "feat")
    put(project.folder, ".conductor/current.md", "# Mine\n")

    with Terminal("synthesize", cwd=project.folder) as terminal:
        done = terminal.close()

    assert "View: .conductor/current.md (was not made by Passdown; will not be changed)" in done.out
    assert "the view is not committed on branch feat, only on main" in done.out
    assert done.code == 1


@posix
def test_a_person_is_told_when_there_are_no_events(tmp_path: Path) -> None:
    with Terminal("synthesize", cwd=tmp_path) as terminal:
        done = terminal.close()

    assert (done.code, listing(tmp_path)) == (0, {})


@posix
@pytest.mark.requirement("R139")
def test_a_person_agrees_to_migrate(tmp_path: Path) -> None:
    put(tmp_path, VIEW, "# Notes\n\n## Ledger\n**Goal:** Fix hooks\n")
    question = "Publish this event and replace the file with the view? [y/N]: "

    with Terminal("migrate", cwd=tmp_path) as terminal:
        terminal.read_until(question)
        terminal.interrupt()
        assert terminal.close().code == 130
    assert list(listing(tmp_path)) == [VIEW]
    with Terminal("migrate", cwd=tmp_path) as terminal:
        terminal.read_until(question)
        terminal.type("y\n")
        assert terminal.close().code == 0
    assert parse_view((tmp_path / VIEW).read_text(encoding="utf-8")).goal == "Fix hooks"


@pytest.mark.requirement("R113", "R116", "R141")
def test_two_parallel_sessions_in_two_worktrees_become_one_view(project: Project) -> None:
    run("synthesize", "--commit", cwd=project.folder)
    side = Project(folder=project.folder.parent / "side")
    project.git("worktree", "add", "--quiet", str(side.folder), "-b", "side")
    put_event(project.folder, "2026-01-12T08:00:00Z", "amber", this_session=("Here",), now="Amber's work")
    put_event(side.folder, "2026-01-12T09:00:00Z", "cobalt", this_session=("There",), now="Cobalt's work")
    assert run("synthesize", "--commit", cwd=project.folder).code == 0
    assert run("synthesize", "--commit", cwd=side.folder).code == 0

    project.git("merge", "--quiet", "side")

    assert run("synthesize", "--check", cwd=project.folder).code == 4
    assert run("synthesize", "--commit", cwd=project.folder).code == 0
    view = parse_view((project.folder / VIEW).read_text(encoding="utf-8"))
    assert view.now == "Cobalt's work (by cobalt, ended)"
    assert set(view.this_session) == {"Here", "There"}
    clone = project.folder.parent / "clone"
    project.git("clone", "--quiet", str(project.folder), str(clone))
    assert run("synthesize", "--check", cwd=clone).code == 0
    assert run("view", "verify", cwd=clone).code == 0


@pytest.mark.requirement("R137")
def test_pattern_a_lets_every_branch_carry_the_view_and_checks_it(project: Project) -> None:
    put(project.folder, "passdown.toml", '[view]\ncommit = "always"\n')
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    run("synthesize", "--commit", cwd=project.folder)
    project.git("switch", "--quiet", "--create", "feat")
    put_event(project.folder, "2026-01-12T08:00:00Z", now="On the branch")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=two")

    assert run("synthesize", "--check", cwd=project.folder).code == 4
    assert run("synthesize", "--check", "--committed", cwd=project.folder).code == 4
    assert run("synthesize", "--commit", cwd=project.folder).code == 0
    assert run("synthesize", "--check", cwd=project.folder).code == 0
    assert run("synthesize", "--check", "--committed", cwd=project.folder).code == 0
    assert project.git("status", "--porcelain") == ""
    assert now_of(project.folder) == "On the branch"


@pytest.mark.requirement("R138")
def test_pattern_b_keeps_ours_and_makes_the_view_again(project: Project) -> None:
    put(project.folder, "passdown.toml", '[view]\ncommit = "always"\n')
    put(project.folder, ".gitattributes", f"{VIEW} merge=ours\n")
    project.git("config", "merge.ours.driver", "true")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    run("synthesize", "--commit", cwd=project.folder)
    project.git("switch", "--quiet", "--create", "feat")
    put_event(project.folder, "2026-01-12T08:00:00Z", "amber", now="On the branch")
    run("synthesize", "--commit", cwd=project.folder)
    project.git("switch", "--quiet", "main")
    put_event(project.folder, "2026-01-12T07:00:00Z", "cobalt", now="On main")
    run("synthesize", "--commit", cwd=project.folder)

    project.git("merge", "--quiet", "--no-edit", "feat")

    assert now_of(project.folder) == "On main"
    assert run("synthesize", "--check", cwd=project.folder).code == 4
    run("synthesize", "--commit", cwd=project.folder)
    assert now_of(project.folder) == "On the branch"


@pytest.mark.requirement("R140")
def test_a_refinery_synthesizes_before_it_merges(project: Project) -> None:
    run("synthesize", "--no-confirm", "--commit", cwd=project.folder)
    project.git("switch", "--quiet", "--create", "polecat")
    put_event(project.folder, "2026-01-12T08:00:00Z", "polecat", now="Polecat's work")

    assert run("synthesize", "--no-confirm", "--commit", cwd=project.folder).code == 0
    project.git("switch", "--quiet", "main")
    project.git("merge", "--quiet", "polecat")
    assert run("synthesize", "--no-confirm", "--commit", cwd=project.folder).code == 0

    assert now_of(project.folder) == "Polecat's work"
    assert project.git("status", "--porcelain") == ""


def test_a_log_of_many_items_comes_out_complete(tmp_path: Path) -> None:
    for number in range(400):
        stamp = f"2026-01-12T{number // 60:02}-{number % 60:02}-00.000Z"
        items = "".join(f"- item {number} {part}\n" for part in range(10))
        put(tmp_path, f"{EVENTS}/{stamp}_a.md", f"---\nreason: x\n---\nthis_session:\n{items}")

    answer = json.loads(run("log", "--all", "--json", cwd=tmp_path).out)

    found = {item for one in answer["events"] for item in one["data"]["this_session"]}
    assert (len(answer["events"]), len(found)) == (400, 4000)
