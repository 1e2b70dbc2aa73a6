"""Events as files, and what `passdown synthesize` makes of them: each rule of merging, seen in the view."""

import json
import re

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.events import EventCheckpoint
from passdown.core.phases import PhaseState
from passdown.core.times import parse_instant
from tests.formats.test_golden import GOLDEN
from tests.support.commands import Caller, run, start
from tests.support.gits import Project
from tests.support.projects import EVENTS, VIEW, put, put_event, stop_clock

EARLY, LATE = "2026-01-10T10:00:00Z", "2026-01-10T11:00:00Z"


def files(project: Project) -> dict[str, str]:
    """Give every event file by its name."""
    return {path.name: path.read_text() for path in sorted((project.folder / EVENTS).iterdir())}


def merge(command: Caller, project: Project) -> str:
    """Merge all events and give the view."""
    done = command("synthesize", "--no-confirm")
    assert done.code == 0, done
    return (project.folder / VIEW).read_text(encoding="utf-8")


def section(view: str, heading: str) -> list[str]:
    """Give the lines below a heading of the view."""
    start = view.split(f"{heading}\n", 1)[1]
    return [line for line in re.split(r"(?m)^(?:##|---)", start)[0].splitlines() if line]


@pytest.mark.requirement("R98", "R100", "R101", "R102", "R103")
def test_a_published_event_is_named_by_time_and_agent_and_never_edited(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = json.loads(command("start", "--nickname", "toast", "--json").out)["agent"]
    for words in (
        ("now", "Logout"),
        ("done", "Model"),
        ("decide", "store", "Redis"),
        ("ask", "Who rotates?"),
    ):
        command(*words)
    command("publish", "--checkpoint", "2")
    (name,) = files(project)
    first = files(project)[name]
    stop_clock(monkeypatch, "2026-01-11T12:30:00Z")
    command("now", "Tokens")

    assert command("end", "--reason", "clear").code == 0

    assert re.fullmatch(rf"2026-01-11T12-00-00\.\d{{3}}Z_{agent}\.md", name)
    second = files(project)
    assert second.pop(name) == first
    (ended,) = second.values()
    matter, body = first.split("---\n")[1:]
    assert [line.split(":")[0] for line in matter.splitlines()[:5]] == [
        *("ts", "agent", "branch", "type", "reason"),
    ]
    assert {f"agent: {agent}", "branch: main"} <= set(matter.splitlines())
    assert {"type: session_end", "reason: clear"} <= set(ended.splitlines())
    assert "now: Logout\n" in body
    assert "this_session:\n- Model\n" in body
    assert 'decisions:\n  store: "Redis"\n' in body
    assert "open_questions:\n- Who rotates?\n" in body
    assert re.search(r"checkpoints:\n- phase: 2\n  status: validated\n  updated: 2026-01-11T12:00:00Z", body)
    assert len(first) < 4000


@pytest.mark.requirement("R101", "R102", "R103")
def test_an_event_of_the_seed_takes_part(command: Caller, project: Project) -> None:
    text = (GOLDEN / "event-seed.md").read_text(encoding="utf-8")
    put(project.folder, f"{EVENTS}/2026-01-10T13-03-52Z_toast.md", text)

    view = merge(command, project)

    assert "Create PR from carmandale:fix/hooks-path-spaces to parcadei:main" in view
    assert len(section(view, "### This Session")) == 3
    assert any("bash_c_wrapper" in line for line in section(view, "### Decisions"))


@pytest.mark.requirement("R97", "R99")
def test_sessions_on_two_branches_write_different_files_of_one_folder_and_merge(project: Project) -> None:
    side = Project(folder=project.folder.parent / "side")
    project.git("worktree", "add", "--quiet", str(side.folder), "-b", "side")
    for checkout, text in ((project, "Here"), (side, "There")):
        for words in (("start", "--new"), ("done", text), ("publish",)):
            assert run(*words, cwd=checkout.folder).code == 0
        checkout.git("add", "--force", EVENTS)
        checkout.git("commit", "--quiet", "--message=events")

    project.git("merge", "--quiet", "side")

    here, there = files(project).values()
    assert {"branch: main" in here, "branch: main" in there} == {True, False}
    assert {"branch: side" in here, "branch: side" in there} == {True, False}
    assert run("synthesize", "--no-confirm", cwd=project.folder).code == 0
    view = (project.folder / VIEW).read_text(encoding="utf-8")
    assert sorted(section(view, "### This Session")) == ["- [x] Here", "- [x] There"]


@pytest.mark.requirement("R117")
def test_processes_that_synthesize_at_once_leave_one_whole_view(project: Project) -> None:
    for number in range(5):
        put_event(project.folder, f"2026-01-10T10:00:0{number}Z", "amber", this_session=(f"item {number}",))

    started = [start("synthesize", "--no-confirm", cwd=project.folder) for _ in range(4)]
    ended = [(process.communicate()[1], process.returncode) for process in started]

    assert [code for _, code in ended] == [0] * 4, ended
    assert run("synthesize", "--check", cwd=project.folder).code == 0
    assert run("view", "verify", cwd=project.folder).code == 0
    view = (project.folder / VIEW).read_text(encoding="utf-8")
    assert len(section(view, "### This Session")) == 5


@pytest.mark.requirement("R107")
def test_the_last_now_stands_whatever_order_the_files_came_in(command: Caller, project: Project) -> None:
    put_event(project.folder, LATE, "amber", now="the later one")
    put_event(project.folder, EARLY, "zinc", now="the earlier one")

    view = merge(command, project)

    assert "the later one" in view
    assert "the earlier one" not in view


@pytest.mark.requirement("R107", "R112")
def test_of_one_instant_the_greater_agent_wins(command: Caller, project: Project) -> None:
    put_event(project.folder, LATE, "zinc", now="by zinc")
    put_event(project.folder, LATE, "amber", now="by amber")

    view = merge(command, project)

    assert "by zinc" in view
    assert "by amber" not in view


@pytest.mark.requirement("R108", "R111")
def test_what_was_done_and_asked_is_the_union_each_text_once(command: Caller, project: Project) -> None:
    put_event(project.folder, EARLY, "amber", this_session=("a", "b"), open_questions=("why?", "who?"))
    put_event(project.folder, LATE, "zinc", this_session=("b", "c"), open_questions=("who?", "how?"))

    view = merge(command, project)

    done = [line.removeprefix("- [x] ") for line in section(view, "### This Session")]
    asked = " ".join(section(view, "### Open Questions"))
    assert sorted(done) == ["a", "b", "c"]
    assert [asked.count(one) for one in ("why?", "who?", "how?")] == [1, 1, 1]


@pytest.mark.requirement("R109")
def test_the_newest_text_of_a_decision_stands_and_the_others_stay(command: Caller, project: Project) -> None:
    put_event(project.folder, LATE, "amber", decisions=(Pair(key="store", value="Redis"),))
    put_event(
        project.folder,
        EARLY,
        "zinc",
        decisions=(Pair(key="store", value="files"), Pair(key="format", value="YAML")),
    )

    decided = " ".join(section(merge(command, project), "### Decisions"))

    assert "store: Redis" in decided
    assert "files" not in decided
    assert "format: YAML" in decided


@pytest.mark.requirement("R110")
def test_checkpoints_of_all_sessions_stand_by_their_time_the_newest_first(
    command: Caller, project: Project
) -> None:
    for ts, agent, phase in ((EARLY, "zinc", 2), (LATE, "amber", 3)):
        done = EventCheckpoint(phase=phase, status=PhaseState.VALIDATED, updated=parse_instant(ts))
        put_event(project.folder, ts, agent, checkpoints=(done,))

    view = merge(command, project)

    assert re.findall(r"Phase (\d)\b", "".join(section(view, "### Checkpoints"))) == ["3", "2"]


@pytest.mark.requirement("R96", "R116", "R119")
def test_the_same_events_make_the_same_bytes_with_the_index_or_without_it(
    command: Caller, project: Project
) -> None:
    put_event(project.folder, EARLY, "amber", this_session=("a", "b"))
    put_event(project.folder, LATE, "zinc", now="x", this_session=("c",))
    first = merge(command, project)
    again = merge(command, project)
    (project.folder / VIEW).unlink()
    for path in project.folder.rglob("*.sqlite*"):
        path.unlink()

    assert merge(command, project) == again == first
    put_event(project.folder, "2026-01-10T12:00:00Z", "birch", now="y")
    assert "y" in section(merge(command, project), "### Now")[0]
