"""A checkout: what the services of one working folder work with."""

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from passdown.records import record

if TYPE_CHECKING:  # a verb asks for none of them, and each brings others along
    from passdown.ports.clock import Clock
    from passdown.ports.documents import Documents
    from passdown.ports.event_log import EventLog
    from passdown.ports.index import Index
    from passdown.ports.repository import Repository
    from passdown.settings import Settings


@record
class Checkout:
    """All that services work with here: the log, its index, the files around it, git, and the settings."""

    log: "EventLog"
    index: "Index"
    documents: "Documents"
    repository: "Repository"
    clock: "Clock"
    settings: "Settings"


@record
class Site:
    """A checkout's folder and git's own, for what is neither event nor document: rules, marks, settings."""

    documents: Annotated["Documents", "The files below the project's root."]
    git: Annotated["Documents | None", "The files of git that all checkouts share; None without git."]
    below: Annotated[str, "The project's root from the top of the checkout; empty at the top."]
    repository: "Repository"
    settings: "Settings"


class Haste(NamedTuple):
    """How much time whoever asks has: none to wait for others, or to read a large log for the first time."""

    wait: float | None = None
    """Seconds that others who write to the cache are waited for; None is as long as that usually takes."""
    most: int = 0
    """How many events are read that were never read before; 0 is all of them."""
    is_cached: bool = True


PATIENT: Final = Haste()
