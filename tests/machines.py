"""Two machines that work on one repository: clones with clocks of their own, joined by git or by copying."""

import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from passdown import wiring
from passdown.core.events import Event
from passdown.records import replace
from passdown.services.checkouts import Checkout
from passdown.services.commits import Trigger
from passdown.services.events import take_in, write_event
from passdown.services.synthesis import Outcome, synthesize
from passdown.services.views import make_text
from passdown.settings import EventLayout, parse_settings
from passdown.settings import Source as SettingsSource

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

    def open(self) -> Checkout:
        """Open the checkout as a new process would."""
        return replace(wiring.open_checkout(self.root, self.settings), clock=self.clock)

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
        by_day = self.settings.events.layout is EventLayout.DAY
        assert write_event(checkout.log, checkout.index, self.clock, event, by_day=by_day) is not None
        self.written += items
        self.clock.at = TODAY

    def refresh(self) -> Outcome:
        """Regenerate the view as a hook does: uncommitted."""
        return synthesize(self.open(), trigger=Trigger.EVENT)

    def save(self) -> Outcome:
        """End a session: archive and commit."""
        return synthesize(self.open(), trigger=Trigger.SESSION_END, to_commit=True)

    def view(self) -> str:
        """Make the view of what is there."""
        checkout = self.open()
        take_in(checkout.log, checkout.index)
        return make_text(checkout.index)

    def finished(self) -> set[str]:
        """Give all that the events of this checkout say is done."""
        checkout = replace(self.open(), index=wiring.open_memory_index())
        take_in(checkout.log, checkout.index)
        held = checkout.index.digest(10**9).sections["this_session"].held
        return {str(one.value) for one in held}


def join_folders(one: Path, other: Path) -> None:
    """Copy what each has and the other has not, as a dumb file sync does."""
    for here, there in ((one, other), (other, one)):
        shutil.copytree(here, there, dirs_exist_ok=True)
