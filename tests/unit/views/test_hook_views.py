"""The view is there at each start and after each event; the tracked one changes only with its commit."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from passdown.core.formats.views import View, parse_view, unsign_line
from passdown.records import replace
from tests.support.projects import LOCAL, VIEW, put, put_event
from tests.unit.hooks.test_hook_commits import EVENTS, NEXT, Scene
from tests.unit.hooks.test_hooks import HOST, context

MARK = ".conductor/to-synthesize.txt"
LEGACY = (
    "# Notes\n\n## Ledger\n**Goal:** Fix hooks\n\n### Now\nRead `quick.py`\n\n### Decisions\n- queue: Redis\n"
)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scene:
    """Give a repository whose owner agreed to commits."""
    return Scene(tmp_path / "project", monkeypatch, capsys)


def read(scene: Scene, path: str = LOCAL) -> View:
    view = parse_view((scene.project.folder / path).read_text(encoding="utf-8"))
    return replace(view, goal=unsign_line(view.goal), now=unsign_line(view.now))


def tracked(scene: Scene) -> bytes | None:
    path = scene.project.folder / VIEW
    return path.read_bytes() if path.exists() else None


def exists(scene: Scene, path: str) -> bool:
    return (scene.project.folder / path).exists()


# --- when it is made ------------------------------------------------------------------------------


@pytest.mark.requirement("R120", "R131", "R141")
def test_a_start_makes_the_local_view_of_what_others_published_and_commits_nothing(scene: Scene) -> None:
    put_event(
        scene.project.folder, "2026-01-11T08:00:00Z", "amber", this_session=("Parser done",), now="Lexer"
    )
    before = scene.head()

    scene.start()

    assert (read(scene).now, read(scene).this_session) == ("Lexer", ("Parser done",))
    assert tracked(scene) is None
    assert scene.head() == before
    assert LOCAL not in scene.project.git("status", "--porcelain", "--untracked-files=all")
    assert scene.host.log() == ""


@pytest.mark.requirement("R131")
def test_a_start_without_events_makes_no_view(scene: Scene) -> None:
    scene.start()

    assert not exists(scene, LOCAL)
    assert tracked(scene) is None


@pytest.mark.requirement("R132", "R135")
def test_each_event_is_in_the_local_view_and_the_tracked_one_waits_for_its_commit(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    assert scene.own() == ["passdown: 1 event, view"]
    first = tracked(scene)
    assert first == (scene.project.folder / LOCAL).read_bytes()

    scene.pass_time(minutes=16)
    scene.work("two")

    assert read(scene).this_session == ("two", "one")
    assert tracked(scene) == first
    assert scene.own() == ["passdown: 1 event, view"]
    assert VIEW not in scene.project.git("status", "--porcelain", "--untracked-files=all")
    assert not exists(scene, MARK)
    scene.pass_time(minutes=15)
    scene.turn()
    assert tracked(scene) == (scene.project.folder / LOCAL).read_bytes()


@pytest.mark.requirement("R132")
def test_what_is_saved_before_a_compaction_is_in_the_view(scene: Scene) -> None:
    scene.set_commits(checkpoint=False, session_end=False)
    scene.start()
    scene.command("done", "one", "--session", HOST)

    scene.host.call("PreCompact")

    assert read(scene).this_session == ("one",)
    assert scene.own() == []


@pytest.mark.requirement("R105", "R133", "R141")
def test_the_end_of_a_session_leaves_the_view_and_the_next_start_writes_event_view_and_commit(
    scene: Scene,
) -> None:
    scene.start()
    scene.work("one")
    before = tracked(scene), (scene.project.folder / LOCAL).read_bytes()
    scene.command("done", "two", "--session", HOST)

    scene.end()

    assert (tracked(scene), (scene.project.folder / LOCAL).read_bytes()) == before
    events = scene.project.folder / EVENTS
    assert len(list(events.rglob("*.md"))) == 1
    scene.start(NEXT)
    assert len(list(events.rglob("*.md"))) == 2
    assert read(scene).this_session == read(scene, VIEW).this_session == ("two", "one")
    assert scene.own()[0] == "passdown: 1 event, view, 1 document"
    assert scene.uncommitted() == []


@pytest.mark.requirement("C43", "R131", "R132")
def test_on_another_branch_the_view_is_local_and_the_tracked_one_stays(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    first = tracked(scene)
    scene.project.git("switch", "--quiet", "--create", "side")
    scene.pass_time(minutes=31)

    scene.work("two")

    assert read(scene).this_session == ("two", "one")
    assert tracked(scene) == first
    assert scene.own()[0] == "passdown: 1 event"


@pytest.mark.requirement("R131", "R132", "C43")
def test_without_git_the_view_is_in_its_place(scene: Scene) -> None:
    os.rename(scene.project.folder / ".git", scene.project.folder.parent / "gone")
    scene.start()

    scene.work("one")

    assert read(scene, VIEW).this_session == ("one",)
    assert not exists(scene, LOCAL)


@pytest.mark.requirement("R139", "C64")
def test_without_git_a_document_of_somebody_else_stays_and_the_view_is_local(scene: Scene) -> None:
    os.rename(scene.project.folder / ".git", scene.project.folder.parent / "gone")
    put(scene.project.folder, VIEW, "# Mine\n")
    scene.start()

    scene.work("one")

    assert tracked(scene) == b"# Mine\n"
    assert read(scene).this_session == ("one",)


# --- what does not fit is done by the next hook ---------------------------------------------------


@pytest.mark.requirement("R132")
def test_a_view_that_could_not_be_made_is_made_by_the_next_hook(scene: Scene) -> None:
    scene.start()
    scene.set_commits(checkpoint=False, session_end=False)
    put(scene.project.folder, LOCAL, "# Mine\n")
    scene.work("one")
    assert (scene.project.folder / LOCAL).read_text(encoding="utf-8") == "# Mine\n"
    said = f"Stop: the view was not updated: {LOCAL} was not made by Passdown, so it was not changed\n"
    assert scene.host.log().endswith(said)
    (scene.project.folder / LOCAL).unlink()

    scene.turn()  # it has nothing to publish

    assert read(scene).this_session == ("one",)
    assert not exists(scene, MARK)


@pytest.mark.requirement("R131")
def test_while_another_process_holds_the_cache_the_view_is_left_to_the_next_hook(scene: Scene) -> None:
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    scene.start()
    (scene.project.folder / LOCAL).unlink()
    put_event(scene.project.folder, "2026-01-11T09:00:00Z", now="Parser")
    (path,) = (scene.project.folder / ".git" / "passdown" / "cache").glob("events-*.sqlite")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert "Parser" in context(scene.start(NEXT))
    finally:
        other.close()
    assert not exists(scene, LOCAL)
    assert exists(scene, MARK)

    scene.turn(NEXT)

    assert read(scene).now == "Parser"


def test_a_view_that_is_current_is_not_written_again(scene: Scene) -> None:
    scene.start()
    scene.work("one")
    before = (scene.project.folder / LOCAL).stat()

    scene.start(NEXT)

    after = (scene.project.folder / LOCAL).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# --- what the user sees ---------------------------------------------------------------------------


@pytest.mark.requirement("R120", "R121")
def test_the_banner_lists_the_newest_events_and_counts_the_rest_and_text_is_data(scene: Scene) -> None:
    for hour in range(7):
        put_event(scene.project.folder, f"2026-01-11T0{hour}:30:00Z", "amber", now=f"Step {hour}")
    put_event(
        scene.project.folder, "2026-01-11T08:15:42Z", "crisp", goal="Ship \x1b[31mit", now="Test\nit\x07"
    )

    answer = scene.start()

    assert answer["systemMessage"].splitlines() == [
        "Passdown: 8 events combined",
        "  crisp  2026-01-11 08:15Z  Last worked on: Test it\\u0007",
        *(f"  amber  2026-01-11 0{hour}:30Z  Last worked on: Step {hour}" for hour in (6, 5, 4, 3)),
        "  and 3 earlier: `passdown log --all`",
        "Goal: Ship \\u001b[31mit",
        "Last worked on: Test it\\u0007",
    ]


@pytest.mark.requirement("R121")
def test_the_banner_says_what_the_brief_says(scene: Scene) -> None:
    scene.start()
    scene.command("goal", "Fix the parser", "--session", HOST)
    scene.command("now", "Read the lexer", "--session", HOST)

    answer = scene.host.call("SessionStart", source="compact")

    assert answer["systemMessage"].splitlines()[-2:] == ["Goal: Fix the parser", "Now: Read the lexer"]
    assert "Read the lexer" in context(answer)


# --- a document from before Passdown --------------------------------------------------------------


@pytest.mark.requirement("R139")
def test_a_current_md_from_before_is_named_and_told_until_it_is_migrated(scene: Scene) -> None:
    put(scene.project.folder, VIEW, LEGACY)
    named = f"{VIEW} was not made by Passdown; run `passdown migrate` to import it"

    answer = scene.start()

    assert answer["systemMessage"].splitlines()[-1] == named
    assert "Goal: Fix hooks" in answer["systemMessage"]
    for text in ("Fix hooks", "Read `quick.py`", "queue: Redis", named):
        assert text in context(answer)
    scene.work("one")
    assert named in scene.start(NEXT)["systemMessage"]
    assert "queue: Redis" in context(scene.start("third"))
    assert tracked(scene) == LEGACY.encode()
    assert "migrate" in scene.command("start", "--new").err

    assert scene.command("migrate", "--yes").code == 0

    answer = scene.start("fourth")
    assert "migrate" not in answer["systemMessage"] + context(answer)
    assert "queue: Redis" in context(answer)
    assert "queue: Redis" in (scene.project.folder / LOCAL).read_text(encoding="utf-8")


@pytest.mark.requirement("R139")
def test_what_events_say_is_newer_than_a_document_without_a_date(scene: Scene) -> None:
    put(scene.project.folder, VIEW, LEGACY)
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", goal="Ship it")
    scene.start()
    scene.command("decide", "queue", "Kafka", "--session", HOST)
    scene.end()

    answer = scene.start(NEXT)

    assert "Goal: Ship it" in answer["systemMessage"]
    assert "queue: Kafka" in context(answer)
    assert "Redis" not in context(answer)


@pytest.mark.requirement("R139")
@pytest.mark.parametrize(
    "text", [b"\xff\xfe# Notes\n", b"<<<<<<< ours\n# Notes\n=======\n# More\n>>>>>>> b\n"]
)
def test_a_document_that_cannot_be_read_is_still_named(scene: Scene, text: bytes) -> None:
    put(scene.project.folder, VIEW, "")
    (scene.project.folder / VIEW).write_bytes(text)

    answer = scene.start()

    assert "run `passdown migrate` to import it" in answer["systemMessage"]
    assert scene.host.log() == ""


def test_a_folder_in_the_place_of_the_view_is_no_document(scene: Scene) -> None:
    (scene.project.folder / VIEW).mkdir(parents=True)

    assert "migrate" not in scene.start()["systemMessage"]


# --- commands -------------------------------------------------------------------------------------


@pytest.mark.requirement("R132", "R135", "C42")
def test_a_checkpoint_is_committed_at_most_once_in_thirty_minutes_and_another_event_never(
    scene: Scene,
) -> None:
    scene.start()
    scene.command("done", "one", "--session", HOST)
    published = json.loads(scene.command("publish", "--session", HOST, "--json").out)
    assert (published["commit"], read(scene).this_session) == (None, ("one",))
    assert scene.own() == []

    saved = json.loads(scene.command("publish", "--checkpoint", "1", "--session", HOST, "--json").out)

    assert saved["commit"] == scene.head()
    scene.command("done", "two", "--session", HOST)
    again = json.loads(scene.command("publish", "--checkpoint", "2", "--session", HOST, "--json").out)
    assert (again["commit"], read(scene).this_session) == (None, ("two", "one"))
    assert len(scene.own()) == 1
    scene.pass_time(minutes=31)
    assert "committed as" in scene.command("publish", "--checkpoint", "3", "--session", HOST).err


@pytest.mark.requirement("R134", "R130")
def test_a_handoff_commits_the_view(scene: Scene) -> None:
    scene.start()
    scene.command("done", "one", "--session", HOST)

    assert scene.command("handoff", "create", "--session", HOST).code == 0

    assert VIEW in scene.project.tree()
    assert read(scene, VIEW).this_session == read(scene).this_session == ("one",)


@pytest.mark.requirement("R132")
def test_an_event_that_is_retracted_leaves_the_local_view_at_once(scene: Scene) -> None:
    event = put_event(scene.project.folder, "2026-01-11T08:00:00Z", this_session=("Wrong",))
    put_event(scene.project.folder, "2026-01-11T09:00:00Z", this_session=("Right",))
    scene.start()

    scene.command("event", "retract", str(event.id))

    assert read(scene).this_session == ("Right",)


def test_a_command_goes_on_where_the_local_view_is_not_ours(scene: Scene) -> None:
    put(scene.project.folder, LOCAL, "# Mine\n")
    scene.start()
    scene.command("done", "one", "--session", HOST)

    done = scene.command("publish", "--session", HOST)

    assert (done.code, done.out.startswith("published ev-")) == (0, True)
    assert f"the view was not updated: {LOCAL} was not made by Passdown" in done.err


@pytest.mark.requirement("C43")
def test_a_synthesis_that_somebody_asks_for_updates_a_local_view_that_is_there_and_creates_none(
    scene: Scene,
) -> None:
    put_event(scene.project.folder, "2026-01-11T08:00:00Z", now="Lexer")
    scene.command("synthesize", "--no-confirm")
    assert not exists(scene, LOCAL)
    scene.start()
    put_event(scene.project.folder, "2026-01-11T09:00:00Z", now="Parser")

    scene.command("synthesize", "--no-confirm")

    assert read(scene).now == read(scene, VIEW).now == "Parser"
