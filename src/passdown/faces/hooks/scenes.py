"""One call of a host, and what every moment needs to know about it."""

from pathlib import Path
from typing import Annotated

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.budgets import Budget
from passdown.core.moments import Call
from passdown.errors import UsageError
from passdown.faces.hooks import quick
from passdown.records import record
from passdown.services.checkouts import Haste, Site
from passdown.services.journals import Project
from passdown.services.presence import find_session


@record
class Scene:
    """One call of a host, and all that is there to answer it."""

    call: Call
    platform: Annotated[str, "What ledgers call the host."]
    budget: Annotated[Budget, "What the host lets through."]
    root: Path
    project: Project
    haste: Haste

    @property
    def name(self) -> str:
        """What the session's files among local state are called."""
        return quick.waiting_name(self.call.session)

    def open_site(self) -> Site:
        """Open the folders of local state."""
        return wiring.open_site(self.root, self.project.checkout.settings)

    def find(self) -> Account | None:
        """Find the session that the host means; None when it has none that runs."""
        try:
            return find_session(self.project, self.call.session, {}) if self.call.session else None
        except UsageError:
            return None
