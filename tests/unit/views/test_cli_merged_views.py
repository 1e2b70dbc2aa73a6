"""A view that git merged is named, kept aside and regenerated; what a person wrote in it is offered."""

import json
import stat
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from passdown.core.formats.events import parse_event
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.errors import StorageError
from passdown.services.log.synthesis import repair_view
from passdown.services.sessions import session_end
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, VIEW, listing, put, put_event, stop_clock
from tests.support.sessions import make_place

MERGED = f"passdown: {VIEW} was merged by git and not regenerated\n  hint: run `passdown synthesize`\n"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository that is set up, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in the project."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("init", "--yes").code == 0
    put_event(project.folder, "2026-01-10T10:00:00Z", goal="Sail", now="Hoist", next=("Steer",))
    assert call("synthesize").code == 0
    commit(project)
    return call


def commit(project: Project) -> None:
    """Commit everything."""
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=x")


def diverge(command: Caller, project: Project, ours: str = "", theirs: str = "") -> None:
    """Let two sides publish, regenerate the view, write a line of their own into it, and merge them."""
    for name, hour, own in (("side", "11", theirs), ("main", "12", ours)):
        if name == "side":
            project.git("checkout", "--quiet", "-b", "side")
        else:
            project.git("checkout", "--quiet", "main")
        event = {"this_session": (f"Work of {name}",), "now": f"Now on {name}"}
        put_event(project.folder, f"2026-01-10T{hour}:00:00Z", f"agent-{name}", **event)
        view = command("synthesize", "--output", "-").out
        put(project.folder, VIEW, view.replace("### Next\n", f"### Next\n{own}") if own else view)
        commit(project)
    project.git("merge", "--quiet", "--no-edit", "side")


def kept(project: Project) -> list[str]:
    """Name the copies of broken views."""
    return [path for path in listing(project.folder) if path.startswith(".conductor/edited-view-")]


@pytest.mark.requirement("C116", "C43")
def test_a_merged_view_is_named_until_it_is_regenerated(command: Caller, project: Project) -> None:
    diverge(command, project)

    assert find_view_owner((project.folder / VIEW).read_bytes()) is ViewOwner.MERGED
    check = command("synthesize", "--check")
    assert (check.code, check.err) == (1, MERGED)
    assert "is merged by git and not regenerated" in command("view", "verify").err
    assert f"view: {VIEW} was merged by git and not rebuilt" in " ".join(command("doctor").out.split())
    done = command("synthesize")
    (copy,) = kept(project)
    assert done.err == f"passdown: {VIEW} was merged by git; a copy is kept in {copy}\n"
    assert command("synthesize", "--check").code == 0
    assert "kept-view" not in command("doctor").out
    if sys.platform != "win32":
        assert stat.S_IMODE((project.folder / copy).stat().st_mode) == 0o600
    assert project.git("check-ignore", copy) == f"{copy}\n"
    assert "Work of main" in (project.folder / VIEW).read_text()
    assert "Work of side" in (project.folder / VIEW).read_text()


@pytest.mark.requirement("C64", "C116")
def test_what_a_person_wrote_in_a_merged_view_is_offered_and_published(
    command: Caller, project: Project
) -> None:
    diverge(command, project, theirs="- [ ] Mend the net\n", ours="Not a step at all.\n")

    done = json.loads(command("synthesize", "--json").out)

    assert done["view"]["before"] == "merged"
    assert sorted(done["view"]["offered"]) == ["- [ ] Mend the net", "Not a step at all."]
    (copy,) = kept(project)
    what = f"kept-view: {copy} has 2 lines that no event has"
    assert what in " ".join(command("doctor").out.split())
    shown = command("migrate", copy)
    assert "next:\n  - Steer\n  - Mend the net\n" in shown.out
    assert "kept in the copy only: Next" in shown.out
    before = set(listing(project.folder))
    assert command("migrate", copy, "--yes").code == 0
    (new,) = [path for path in listing(project.folder) if path not in before and path.startswith(EVENTS)]
    event = parse_event((project.folder / new).read_text())
    assert (event.next, event.goal, event.now, event.this_session) == (
        ("Steer", "Mend the net"),
        None,
        None,
        (),
    )
    assert f"{copy} has 1 line that no event has" in " ".join(command("doctor").out.split())


def test_lines_of_another_view_in_the_last_commits_are_not_offered(command: Caller, project: Project) -> None:
    diverge(command, project)
    events = sorted((project.folder / EVENTS).glob("*agent-side*"))
    for path in events:  # the view knew it, but it is not here
        path.unlink()

    assert json.loads(command("synthesize", "--json").out)["view"]["offered"] == []


def test_many_lines_are_counted(command: Caller, project: Project) -> None:
    own = "".join(f"- [ ] Step {number}\n" for number in range(7))
    view = (project.folder / VIEW).read_text()
    put(project.folder, VIEW, view.replace("### Next\n", f"### Next\n{own}"))

    done = command("synthesize")

    assert "passdown:   - [ ] Step 4\npassdown:   and 2 more\n" in done.err


def test_an_end_says_what_was_written_into_the_view(command: Caller, project: Project) -> None:
    command("start", "--nickname", "toast")
    command("done", "Rowed")
    put(project.folder, VIEW, (project.folder / VIEW).read_text() + "\nBuy rope.\n")

    done = command("end")

    assert f"passdown: {VIEW} was edited by hand; a copy is kept in " in done.err
    assert "passdown: these lines of it are in no event:\npassdown:   Buy rope.\n" in done.err
    assert VIEW in "".join(project.changed())
    assert find_view_owner((project.folder / VIEW).read_bytes()) is ViewOwner.OURS


@pytest.mark.requirement("C116")
def test_a_start_that_may_commit_repairs_a_merged_view(command: Caller, project: Project) -> None:
    diverge(command, project)
    merged = (project.folder / VIEW).read_bytes()

    command("start")
    assert (project.folder / VIEW).read_bytes() == merged
    put(project.folder, "passdown.toml", "[commit]\nstart = true\n")
    command("start", "--new")

    assert f"M\t{VIEW}" in project.changed()
    assert command("synthesize", "--check").code == 0
    count = project.count()
    command("start", "--new")
    assert project.count() == count


def test_a_start_repairs_nothing_where_nobody_agreed_to_commits() -> None:
    assert repair_view(make_place().project) is None


def test_a_start_goes_on_when_the_view_cannot_be_repaired(command: Caller, project: Project) -> None:
    diverge(command, project)
    put(project.folder, "passdown.toml", "[commit]\nstart = true\n")
    put(project.folder, ".conductor/edited-view-0", "")
    (project.folder / ".conductor").chmod(0o500)
    try:
        assert command("start", "--new").code == 0
    finally:
        (project.folder / ".conductor").chmod(0o700)


@pytest.mark.requirement("C116")
@pytest.mark.parametrize("policy", ["integration", "always", "never"])
def test_no_change_of_policy_deletes_a_tracked_view(command: Caller, project: Project, policy: str) -> None:
    put(project.folder, "passdown.toml", f'[view]\ncommit = "{policy}"\n')

    for arguments in (
        ("init", "--yes"),
        ("init", "--yes", "--private"),
        ("synthesize", "--commit"),
        ("start",),
        ("end",),
    ):
        command(*arguments)

    assert VIEW in project.tree()
    assert (project.folder / VIEW).exists()


@pytest.mark.requirement("C116", "R139")
def test_markers_are_never_published(command: Caller, project: Project) -> None:
    conflict = "<<<<<<< HEAD\n- ours\n=======\n- theirs\n>>>>>>> side\n"
    put(project.folder, "old.md", f"# Notes\n\n## Ledger\n**Goal:** Sail\n\n### Now\n{conflict}")

    done = command("migrate", "old.md", "--yes")

    assert done.code == 1
    assert done.err == (
        "passdown: old.md:7: has merge conflict markers\n"
        "  hint: keep the lines that are right and remove the markers\n"
    )


@pytest.mark.requirement("C116")
def test_a_view_with_markers_is_regenerated(command: Caller, project: Project) -> None:
    view = (project.folder / VIEW).read_text()
    goal = next(line for line in view.splitlines(keepends=True) if line.startswith("**Goal:** Sail"))
    put(project.folder, VIEW, view.replace(goal, f"<<<<<<< a\n{goal}=======\n>>>>>>> b\n"))

    assert command("synthesize", "--check").code == 1
    assert command("synthesize").code == 0
    assert (project.folder / VIEW).read_text() == view


@pytest.mark.requirement("C64")
def test_a_document_that_quotes_a_view_is_not_ours(command: Caller, project: Project) -> None:
    view = (project.folder / VIEW).read_text()
    mine = f"# Mine\n\n```markdown\n{view}```\n"
    put(project.folder, VIEW, mine)

    assert command("synthesize").code == 1
    assert (project.folder / VIEW).read_text() == mine


def is_doubled(project: Project, commit: str = "HEAD") -> bool:
    """Tell whether a commit has a view that git merged."""
    return find_view_owner(project.git("show", f"{commit}:{VIEW}").encode()) is ViewOwner.MERGED


@pytest.mark.requirement("C116")
@pytest.mark.parametrize("branch", ["main", "topic"])
def test_our_next_commit_regenerates_a_merged_view_on_any_branch(
    command: Caller, project: Project, branch: str
) -> None:
    diverge(command, project)
    if branch != "main":
        project.git("checkout", "--quiet", "-b", branch)
    assert is_doubled(project)

    command("start", "--session", "one")
    command("done", "Rowed", "--session", "one")
    command("end", "--session", "one")

    assert project.git("log", "-1", "--format=%s").startswith("passdown: ")
    assert f"M\t{VIEW}" in project.changed()
    assert not is_doubled(project)
    assert "Work of side" in (project.folder / VIEW).read_text()


def test_a_merged_view_that_git_does_not_track_is_left_on_another_branch(
    command: Caller, project: Project
) -> None:
    diverge(command, project)
    merged = (project.folder / VIEW).read_bytes()
    project.git("checkout", "--quiet", "-b", "topic")
    project.git("rm", "--quiet", "--cached", VIEW)
    project.git("commit", "--quiet", "--message=no view")

    assert command("synthesize", "--no-confirm", "--commit").code == 0

    assert (project.folder / VIEW).read_bytes() == merged


@pytest.mark.requirement("C127", "C116")
def test_nothing_is_archived_before_a_merged_view_is_regenerated_and_committed(
    command: Caller, project: Project
) -> None:
    diverge(command, project)
    hint = "  hint: run `passdown synthesize --no-confirm --commit`\n"

    for _ in ("merged", "regenerated, but not committed"):
        done = command("archive", "run", "--yes")
        assert (done.code, done.err) == (
            1,
            f"passdown: nothing was archived: {VIEW} was merged by git and not regenerated\n{hint}",
        )
        command("synthesize", "--no-confirm")
    command("synthesize", "--no-confirm", "--commit")
    assert "merged by git" not in command("archive", "run", "--yes").err


@pytest.mark.requirement("C116", "C131")
def test_events_are_not_committed_alone_on_top_of_a_merged_view(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverge(command, project)
    command("start", "--session", "one")
    command("done", "Rowed", "--session", "one")
    count = project.count()

    with monkeypatch.context() as broken:
        broken.setattr(session_end, "synthesize", fail)
        command("end", "--session", "one")

    assert project.count() == count
    command("synthesize", "--no-confirm", "--commit")
    assert project.count() == count + 1
    assert not is_doubled(project)


def fail(*_: object, **__: object) -> NoReturn:
    """Fail as a full disk would."""
    raise StorageError("no space left", hint="make room")
