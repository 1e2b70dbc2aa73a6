"""A checkout: what the services of one working folder work with."""

from dataclasses import dataclass

from passdown.ports.clock import Clock
from passdown.ports.documents import Documents
from passdown.ports.event_log import EventLog
from passdown.ports.index import Index
from passdown.ports.repository import Repository
from passdown.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """All that services work with here: the log, its index, the files around it, git, and the settings."""

    log: EventLog
    index: Index
    documents: Documents
    repository: Repository
    clock: Clock
    settings: Settings
