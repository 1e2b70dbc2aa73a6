"""Two machines that work on one repository: clones with clocks of their own, joined by git or by copying."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from passdown.core.formats.events import Event
from passdown.services.log.commits import CommitTrigger
from passdown.services.log.events import update_index, write_event
from passdown.services.log.synthesis import SynthesisResult, synthesize
from passdown.services.log.views import make_text
from passdown.services.workspace.workspaces import NO_LIMITS, UNCACHED, ReadLimits, Workspace
from passdown.settings import SettingsSource, parse_settings
from passdown.wiring.workspaces import LocalWorkspace, Outside

TODAY: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OURS: Final = ("thoughts/", ".conductor/", "conductor/")


@dataclass(slots=True)
class MovingClock:
    """A clock that the test moves."""

    at: datetime = TODAY

    def now(self) -> datetime:
        """Give the instant that the test set."""
        return self.at

    def monotonic(self) -> float:
        """Give the same as seconds."""
        return self.at.timestamp()


def git(root: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run git as a user does."""
    return subprocess.run(
        ["git", *arguments], cwd=root, check=check, capture_output=True, text=True, encoding="utf-8"
    )


class Machine:
    """A clone with a person and an agent at work in it."""

    def __init__(self, root: Path, agent: str, *, policy: str, layout: str, retention: int) -> None:
        """Open a checkout with settings and a clock of its own."""
        self.root = root
        self.agent = agent
        self.clock = MovingClock()
        tables = {
            "view": {"commit": policy},
            "events": {"layout": layout, "retention_days": retention},
        }
        self.settings, _ = parse_settings([SettingsSource("test", tables)])
        self.written: list[str] = []

    def open(self) -> Workspace:
        """Open the checkout as a new process would."""
        return self._open()

    def _open(self, limits: ReadLimits = NO_LIMITS) -> Workspace:
        workspace = LocalWorkspace(self.root, self.settings, Outside(variables=os.environ), limits)
        # The log judges by the system's clock which folders have changed just now.
        assert workspace.log is not None
        workspace.__dict__["clock"] = self.clock
        return workspace

    def write(self, *items: str, days_ago: float = 0) -> None:
        """Publish an event; nearly all of its lines are those of every other event."""
        self.clock.at = TODAY - timedelta(days=days_ago)
        checkout = self.open()
        event = Event(
            agent=self.agent,
            branch="the same",
            type="checkpoint",
            reason="the same",
            session="the-same-session-for-all",
            goal="The goal that stands in every event, so that one looks like the other",
            this_session=items,
        )
        layout = self.settings.events.layout
        assert write_event(checkout.log, checkout.index, self.clock, event, layout=layout) is not None
        self.written += items
        self.clock.at = TODAY

    def refresh(self) -> SynthesisResult:
        """Regenerate the view as a hook does: uncommitted."""
        return synthesize(self.open(), trigger=CommitTrigger.EVENT)

    def save(self) -> SynthesisResult:
        """End a session: archive and commit."""
        return synthesize(self.open(), trigger=CommitTrigger.SESSION_END, to_commit=True)

    def view(self) -> str:
        """Make the view of what is there."""
        checkout = self.open()
        update_index(checkout.log, checkout.index)
        return make_text(checkout.index)

    def finished(self) -> set[str]:
        """Give all that the events of this checkout say is done."""
        checkout = self._open(UNCACHED)
        update_index(checkout.log, checkout.index)
        return {fact.text for fact in checkout.index.digest(10**9).kinds["done"].facts}


def join_folders(one: Path, other: Path) -> None:
    """Copy what each has and the other has not, as a dumb file sync does."""
    for here, there in ((one, other), (other, one)):
        shutil.copytree(here, there, dirs_exist_ok=True)
