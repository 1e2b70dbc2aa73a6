"""In a large log that was never read, each hook reads a portion, and nothing is made from a part of it."""

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from passdown.core.formats.events import Event, parse_event
from passdown.core.formats.ledgers import LedgerDecision, parse_ledger, render_ledger
from passdown.core.formats.views import parse_view
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollup
from passdown.engines.process import SystemProcesses
from passdown.faces.hooks import main as hooks
from passdown.records import replace
from tests.support.claude_lines import ClaudeTranscript
from tests.support.logs import AGENT, put_log
from tests.support.projects import EVENTS, LOCAL, VIEW, put
from tests.unit.hooks.test_hook_commits import NEXT, Scene
from tests.unit.hooks.test_hooks import HOST, context

COUNT, PORTION = 100, 20


class Cold(Scene):
    """A fresh clone of a project with more events than a hook reads."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Commit the events, and let hooks read few of them."""
        super().__init__(folder, monkeypatch, capsys)
        monkeypatch.setattr(hooks, "LIMITS", hooks.LIMITS._replace(most=PORTION))
        put_log(self.project.folder, COUNT)
        self._stamp_commits(-1440)
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=events")

    def save(self, command: str = "pytest -q") -> None:
        """Let the agent run something, and the host compact its context: that publishes."""
        ClaudeTranscript(path=self.host.transcript, root=self.project.folder, session=HOST).run(command)
        self.host.call("PreCompact", trigger="manual")

    def events(self) -> list[Event]:
        """Give the events that sessions here wrote, the oldest first."""
        files = sorted((self.project.folder / EVENTS).rglob("*.md"))
        found = [parse_event(file.read_text(encoding="utf-8")) for file in files]
        return [event for event in found if event.agent != AGENT]

    def has(self, path: str) -> bool:
        """Return whether a file is there."""
        return (self.project.folder / path).exists()


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cold:
    """Give a fresh clone."""
    return Cold(tmp_path / "project", monkeypatch, capsys)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scene:
    """Give a small repository."""
    return Scene(tmp_path / "project", monkeypatch, capsys)


@pytest.mark.requirement("C131", "R131")
def test_a_start_reads_the_newest_events_and_says_how_many_it_did_not_read(cold: Cold) -> None:
    answer = cold.start()

    brief = context(answer)
    assert "Only the newest 20 events were read; not read yet: 80 files. `passdown brief` reads all" in brief
    assert "did 99" in brief
    assert "choice 80" in brief
    assert "choice 70" not in brief
    assert answer["systemMessage"].startswith("Passdown: 20 events combined; 80 event files not read yet (")
    assert cold.host.log() == ""


@pytest.mark.requirement("C131")
def test_one_file_that_was_not_read_is_one_file(cold: Cold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "LIMITS", hooks.LIMITS._replace(most=COUNT - 1))

    answer = cold.start()

    assert f"Only the newest {COUNT - 1} events were read; not read yet: 1 file. `passdown brief`" in context(
        answer
    )
    assert "; 1 event file not read yet (" in answer["systemMessage"]


@pytest.mark.requirement("C131", "R131", "R135")
def test_the_next_hooks_read_the_rest_and_no_view_is_made_before(cold: Cold) -> None:
    for left in (80, 60, 40, 20):
        session = f"session-{left}"
        assert f"not read yet: {left} files" in context(cold.start(session))
        assert not cold.has(LOCAL)
        cold.end(session)

    brief = context(cold.start())

    assert "not read" not in brief
    assert count_viewed(cold) == COUNT
    assert cold.host.log() == ""


@pytest.mark.requirement("C131", "C117", "R133")
def test_a_session_is_published_and_committed_without_a_view_in_its_first_life(cold: Cold) -> None:
    cold.start()
    cold.save()
    cold.turn()

    (event,) = cold.events()
    assert event.reason == "pre-compact"
    assert cold.own() == ["passdown: 1 event"]
    assert cold.uncommitted() == []
    assert not cold.has(VIEW)
    assert not cold.has(LOCAL)
    assert cold.host.log() == ""


@pytest.mark.requirement("C131", "R135")
def test_the_view_that_a_commit_lacks_is_committed_once_all_events_are_read(cold: Cold) -> None:
    cold.start()
    cold.save()
    cold.turn()
    assert cold.own() == ["passdown: 1 event"]

    for _ in range(3):  # they have nothing of their own to publish
        cold.pass_time(minutes=31)
        cold.turn()

    assert cold.own() == ["passdown: view", "passdown: 1 event"]
    assert count_viewed(cold, VIEW) == COUNT + 1
    assert cold.command("synthesize", "--check").code == 0
    cold.pass_time(minutes=31)
    cold.turn()
    assert cold.own() == ["passdown: view", "passdown: 1 event"]


@pytest.mark.requirement("C131")
def test_what_an_ended_session_left_is_committed_by_the_next_start_without_a_view(cold: Cold) -> None:
    cold.start()
    cold.save()
    cold.end()
    cold.pass_time(minutes=31)

    cold.start(NEXT)

    assert cold.own() == ["passdown: 2 events, 1 document"]
    assert not cold.has(VIEW)
    cold.end(NEXT)
    for session in ("third", "fourth"):
        cold.pass_time(minutes=31)
        cold.start(session)
        cold.end(session)
    assert cold.own()[0] == "passdown: view"
    assert count_viewed(cold, VIEW) == COUNT + 2


@pytest.mark.requirement("C131")
@pytest.mark.parametrize("is_archived", [False, True])
def test_nothing_is_published_twice_where_the_own_event_was_not_read(
    cold: Cold, *, is_archived: bool
) -> None:
    cold.start()
    cold.save()
    (written,) = (cold.project.folder / EVENTS).glob(f"*_{cold.host.own().agent}.md")
    if is_archived:
        move_to_rollup(cold, written)
    else:  # newer events of others come first
        ahead = f"---\nts: 2026-01-11T12:00:00Z\nagent: {AGENT}\n---\n\nthis_session:\n- did it\n"
        for number in range(2 * PORTION):
            put(cold.project.folder, f"{EVENTS}/2026-01-11T13-00-{number:02}Z_{AGENT}.md", ahead)
    forget_cache(cold)

    cold.save("pytest tests/parser")

    assert len(cold.events()) == (1 if is_archived else 2)
    (told,) = cold.events()[-1].receipts
    assert told == "pytest tests/parser: exit 0"
    assert cold.host.log() == ""


@pytest.mark.requirement("C131")
def test_publishing_waits_for_an_event_of_the_session_that_cannot_be_read(cold: Cold) -> None:
    cold.start()
    cold.save()
    (written,) = (cold.project.folder / EVENTS).glob(f"*_{cold.host.own().agent}.md")
    data = written.read_bytes()
    written.write_bytes(b"x" * 2_000_000)  # too large to be ours
    forget_cache(cold)

    cold.save("pytest tests/parser")

    assert len(list((cold.project.folder / EVENTS).iterdir())) == COUNT + 1
    assert "PreCompact: 81 event files have not been read yet\n" in cold.host.log()
    written.write_bytes(data)
    cold.save("pytest tests/parser")
    assert len(cold.events()) == 2


@pytest.mark.requirement("C131", "C162")
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_decision_names_what_it_replaces_only_where_all_events_were_read(
    cold: Cold, *, is_whole: bool
) -> None:
    if is_whole:
        cold.command("brief")
    cold.start()
    ledger = cold.project.folder / cold.host.own().start.ledger
    for choice in ("SQLite", "PostgreSQL"):
        known = parse_ledger(ledger.read_text(encoding="utf-8"))
        row = LedgerDecision(decision=f"store: {choice}", when="12:00")
        ledger.write_text(render_ledger(replace(known, decisions=(row,))), encoding="utf-8")
        cold.save(f"pytest tests/{choice}")

    first, second = cold.events()
    assert [pair.value for pair in (*first.decisions, *second.decisions)] == ["SQLite", "PostgreSQL"]
    assert ("replaces" in repr(second.origins)) is is_whole


@pytest.mark.requirement("C131")
def test_a_verb_reads_everything_before_it_answers(cold: Cold) -> None:
    cold.start()
    cold.save()

    assert cold.command("view", "list", "decisions", "--json").out.count("choice") == COUNT // 10
    assert "not read" not in cold.command("brief").out
    cold.pass_time(minutes=31)
    cold.turn()
    assert cold.own() == ["passdown: 1 event, view"]


@pytest.mark.requirement("C131")
def test_new_events_of_others_are_read_in_portions_too(cold: Cold) -> None:
    cold.command("brief")
    cold.start()
    assert count_viewed(cold) == COUNT
    text = f"---\nts: 2026-01-10T10:00:00Z\nagent: {AGENT}\n---\n\nthis_session:\n- did more\n"
    for number in range(PORTION + 5):
        put(cold.project.folder, f"{EVENTS}/2026-01-10T10-00-{number:02}Z_other.md", f"{text}\n{number}\n")

    cold.end()
    brief = context(cold.start(NEXT))

    assert f"the newest {COUNT + PORTION} events were read; not read yet: 5 files" in brief
    assert count_viewed(cold) == COUNT  # the last one that was whole
    cold.end(NEXT)
    cold.start("third")
    assert count_viewed(cold) == COUNT + PORTION + 5


def test_what_is_gone_before_it_was_read_leaves_nothing_to_read(cold: Cold) -> None:
    cold.start()
    for file in sorted((cold.project.folder / EVENTS).iterdir())[: COUNT - PORTION]:
        file.unlink()
    cold.end()

    assert "not read" not in context(cold.start(NEXT))
    assert count_viewed(cold) == PORTION


def test_every_hook_works_while_not_all_events_are_read(cold: Cold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "LIMITS", hooks.LIMITS._replace(most=1))
    cold.project.write(
        "thoughts/shared/handoffs/auth/current.md",
        "---\ndate: 2026-01-10T10:00:00Z\nbranch: main\nstatus: active\nsession_name: auth\n---\n\n# Work\n\n"
        "## Ledger\n**Updated:** 2026-01-10T10:00:00Z\n**Goal:** Auth\n\n### Now\nLexer\n",
    )
    cold.start()
    assert cold.command("track", "bind", "auth", "--session", HOST).code == 0
    forget_cache(cold)
    transcript = ClaudeTranscript(path=cold.host.transcript, root=cold.project.folder, session=HOST)
    transcript.ask("Fix the lexer")
    transcript.edit("src/lexer.py")
    transcript.run("pytest -q", code=1)
    transcript.say("It fails")
    for event in ("Stop", "UserPromptSubmit", "SubagentStart", "SubagentStop", "PreCompact", "SessionEnd"):
        cold.host.call(event, prompt="go on", trigger="auto", reason="logout", agent_id="a", agent_type="b")

    assert "not read" in context(cold.start(NEXT))
    goal, (published, end) = cold.host.own().goal, cold.events()
    assert goal is not None
    assert goal.text == "Fix the lexer"
    assert published.receipts == ("pytest -q: exit 1",)
    assert (end.type, end.receipts) == ("session_end", ())
    told = {line.split(": ", 1)[1] for line in cold.host.log().splitlines()}
    assert all("event files have not been read yet" in line for line in told), told


@pytest.mark.requirement("C131")
def test_events_are_committed_while_another_process_writes_to_the_cache(cold: Cold) -> None:
    cold.command("brief")
    cold.start()
    (path,) = (cold.project.folder / ".git" / "passdown" / "cache").glob("events-*.sqlite")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        cold.save()
        cold.turn()
    finally:
        other.close()

    assert cold.own() == ["passdown: 1 event"]
    cold.pass_time(minutes=31)
    cold.turn()
    assert cold.own() == ["passdown: view", "passdown: 1 event"]
    assert cold.command("synthesize", "--check").code == 0


@pytest.mark.requirement("C131")
def test_events_are_committed_where_the_view_cannot_be_written(
    cold: Cold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: True)
    cold.command("brief")
    (cold.project.folder / VIEW).mkdir(parents=True)
    cold.start()

    cold.save()
    cold.turn()

    assert cold.own() == ["passdown: 1 event"]
    assert "the view was not committed: " in cold.host.log()


@pytest.mark.requirement("C131")
def test_an_end_commits_events_where_the_view_cannot_be_written(scene: Scene) -> None:
    (scene.project.folder / VIEW).mkdir(parents=True)
    scene.start()
    scene.command("done", "read the code", "--session", HOST)

    ended = scene.command("end", "--session", HOST)

    assert "current.md" in ended.err
    assert scene.own() == ["passdown: 1 event, 1 document"]
    (scene.project.folder / VIEW).rmdir()
    scene.pass_time(minutes=31)
    scene.start(NEXT)
    assert scene.own()[0] == "passdown: view"


@pytest.mark.requirement("C131")
def test_what_is_archived_is_committed_at_once_and_the_next_hook_commits_the_rest(scene: Scene) -> None:
    old = f"{EVENTS}/2025-12-01T10-00-00Z_{AGENT}.md"
    text = f"---\nts: 2025-12-01T10:00:00Z\nagent: {AGENT}\n---\n\nthis_session:\n- did it\n"
    put(scene.project.folder, old, text)
    scene.project.git("add", "--all")
    scene.project.git("commit", "--quiet", "--message=events")
    scene.start()
    scene.command("synthesize", "--archive")
    assert not (scene.project.folder / old).exists()

    scene.work("read the code")

    assert scene.own() == ["passdown: 1 event, view", "passdown: 1 event archived (1 new rollup)"]
    assert scene.uncommitted() == []
    scene.pass_time(minutes=31)
    scene.work("wrote the code")
    assert scene.own()[0] == "passdown: 1 event, view"


@pytest.mark.requirement("C127", "C131", through="hook")
def test_a_hook_archives_a_portion_of_what_is_old(scene: Scene) -> None:
    put_log(scene.project.folder, 120)
    scene.project.git("add", "--all")
    scene.project.git("commit", "--quiet", "--message=events")
    scene.command("synthesize")
    scene.pass_time(minutes=4 * 1440)
    archive = scene.project.folder / "thoughts/shared/handoffs/archive"

    archived = []
    scene.start("first")
    for last, session in pairwise(("first", "second", "third", "fourth", "fifth")):
        scene.command("done", f"what {last} did", "--session", last)
        scene.end(last)
        scene.pass_time(minutes=6 * 1440)
        scene.start(session)
        archived.append(len([file for file in archive.rglob("*.md") if AGENT in file.name]))
        assert scene.uncommitted() == []

    assert archived == [50, 100, 120, 120]
    assert scene.command("synthesize", "--check").code == 0


def count_viewed(scene: Scene, path: str = LOCAL) -> int:
    """Give how many events a view was made from."""
    view = parse_view((scene.project.folder / path).read_text(encoding="utf-8"))
    assert view.footer is not None
    return view.footer.event_count or 0


def forget_cache(scene: Scene) -> None:
    """Remove the cache, as if the clone were new."""
    for file in (scene.project.folder / ".git" / "passdown" / "cache").iterdir():
        file.unlink()


def move_to_rollup(cold: Cold, file: Path) -> None:
    source = parse_event_facts(file.read_bytes(), file.name)
    assert source is not None
    day = source.rank.at.date()
    text = render_rollup(day, [(RollupMember(file.name, file.read_bytes()), source)])
    put(cold.project.folder, f"{EVENTS}/{day.isoformat()}/{name_rollup(text)}", text)
    file.unlink()
