"""A hook call, with what every hook needs to answer it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from passdown import layout
from passdown.core.hosts.hook_calls import HookCall
from passdown.core.sessions.session_facts import Account
from passdown.errors import CacheError, PassdownError, UsageError
from passdown.faces.hooks import hook_log
from passdown.ports.host import Host
from passdown.records import record
from passdown.services.sessions.liveness import find_session
from passdown.services.workspace.workspaces import ReadLimits, Workspace
from passdown.wiring.workspaces import open_workspace

if TYPE_CHECKING:  # few sessions coordinate
    from passdown.ports.coordination import Coordination


@record
class HookContext:
    """A hook call, with everything needed to answer it."""

    call: HookCall
    host: Host
    root: Path
    workspace: Workspace
    limits: ReadLimits
    defer: Callable[[Callable[[], None]], None]
    """Takes what is to be done once the host was answered; whoever is killed before that has not done it."""

    @property
    def name(self) -> str:
        """The name of the session's files in the local state."""
        return layout.session_file(self.call.session)

    def find(self) -> Account | None:
        """Find the session of the hook call; return None if it is not running."""
        try:
            return find_session(self.workspace, self.call.session) if self.call.session else None
        except UsageError:
            return None

    def note(self, trouble: str) -> None:
        """Write to the log what went wrong in this call."""
        hook_log.log_trouble(str(self.root), f"{self.call.event}: {trouble}")

    def ask_engine(self, act: "Callable[[Coordination], None]") -> str:
        """Do something with what sessions share, if they coordinate here; return what went wrong (C86)."""
        try:
            if (found := self.workspace.find_coordination()) is not None:
                act(found)
        except CacheError:
            raise  # the caller goes on without the cache
        except PassdownError as trouble:
            self.note(trouble.message)
            return trouble.message
        return ""

    def refresh_stream(self, account: Account) -> None:
        """Bring the document of the session's track up to date (R76)."""
        if not account.track:
            return
        from passdown.services.handover.streams import refresh_stream  # few sessions have a track

        if trouble := refresh_stream(self.workspace, account):
            self.note(trouble)

    def without_cache(self) -> Workspace:
        """Open the workspace again, so that nothing is written to read it."""
        limits = self.limits._replace(is_cached=False)
        return open_workspace(self.root, self.workspace.settings, limits)
