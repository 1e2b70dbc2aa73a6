"""Hooks alone, without a verb by anybody, in repositories with thousands of events (C131)."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.proof import LEVEL, Level
from tests.proofs.conftest import Figures
from tests.support.claude_lines import ClaudeTranscript
from tests.support.logs import put_log
from tests.support.projects import LOCAL, VIEW
from tests.unit.hooks.test_hook_commits import Scene
from tests.unit.hooks.test_hook_portions import count_viewed, forget_cache
from tests.unit.hooks.test_hooks import context

SIZES = {Level.FAST: (2_001,), Level.CI: (2_001, 10_000), Level.LONG: (2_001, 10_000, 100_000)}[LEVEL]
Answer = TypeVar("Answer")
FLAT = 10_000
"""This one has all events in one folder; the others have a folder for each day."""


class Repository(Scene):
    """A fresh clone of a project with many events, in which only hooks run."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], count: int
    ) -> None:
        """Commit the events."""
        super().__init__(folder, monkeypatch, capsys)
        put_log(self.project.folder, count, by_day=count != FLAT)
        self._stamp_commits(-1440)
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=events")

    def call(self, act: Callable[..., Answer], *told: str) -> Answer:
        """Call a hook; a view is there only if all events were read."""
        answer = act(*told)
        views = [path for path in (LOCAL, VIEW) if (self.project.folder / path).exists()]
        assert not (views and self.unread()), views
        return answer

    def live(self, session: str) -> dict[str, Any]:
        """Let a session start, run its tests, save and end a turn; give the answer to its start."""
        answer = self.call(self.start, session)
        self.host.transcript = self.project.folder.parent / f"{session}.jsonl"
        transcript = ClaudeTranscript(path=self.host.transcript, root=self.project.folder, session=session)
        transcript.run(f"pytest tests/{session}")
        self.call(lambda: self.host.call("PreCompact", session_id=session, trigger="auto"))
        self.call(self.turn, session)
        self.end(session)
        self.pass_time(minutes=31)
        return answer

    def unread(self) -> int:
        """Give how many files the cache has not read."""
        (path,) = (self.project.folder / ".git" / "passdown" / "cache").glob("events-*.sqlite")
        with closing(sqlite3.connect(path)) as cache:
            ((count,),) = cache.execute("SELECT unread FROM progress")
        return int(count)


@pytest.mark.proof
@pytest.mark.timeout(3_600)
@pytest.mark.requirement("C131", "R131", "R133", "R135")
@pytest.mark.parametrize("count", SIZES)
def test_hooks_publish_and_commit_at_once_and_make_a_view_when_all_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figures: Figures,
    count: int,
) -> None:
    here = Repository(tmp_path / "project", monkeypatch, capsys, count)

    # A fresh clone: published and committed in the first life.
    assert "files. `passdown brief` reads all" in context(here.live("cold"))
    assert here.own()[-1].startswith("passdown: 1 event")
    assert here.uncommitted() == []
    for path in (LOCAL, VIEW):
        (here.project.folder / path).unlink(missing_ok=True)
    forget_cache(here)

    # Starts alone fill the cache. Each reads for as long as it may, so a busy machine needs more of them.
    # They come within hours: after a week, events would be archived.
    starts, most = 0, 10 if count <= FLAT else count // 250
    while starts == 0 or here.unread():
        starts += 1
        here.call(here.start, f"start-{starts}")
        here.end(f"start-{starts}")
        here.pass_time(minutes=1)
        assert starts < most or not here.unread()
    figures("hooks alone", {"events": count, "starts until all were read": starts})

    # Then: published, viewed and committed.
    assert "reads all" not in context(here.live("warm"))
    assert here.own()[0] == "passdown: 1 event, view"
    assert here.uncommitted() == []
    assert (
        count_viewed(here, LOCAL) == count_viewed(here, VIEW) == count + 3
    )  # both lives, and the end of the first
    assert here.host.log() == ""  # no hook exceeded its limit
    assert here.command("synthesize", "--check").code == 0
