"""What sessions share at a glance: who takes part, who holds what, tasks, mail and offers."""

from collections.abc import Sequence
from typing import Annotated

from passdown.core.coordination.members import MemberState
from passdown.core.coordination.offers import OfferState
from passdown.core.coordination.tasks import Listing, TaskState, is_ready
from passdown.errors import TrackerError
from passdown.ports.coordination import Coordination, HeldResource
from passdown.ports.tracker import Tracker
from passdown.records import record
from passdown.services.coordination.reservations import list_reservations
from passdown.services.workspace.workspaces import Workspace


@record
class MemberOverview:
    """A session that takes part, and what it holds; the tasks of a silent one may be taken over."""

    member: MemberState
    tasks: tuple[TaskState, ...]
    files: tuple[HeldResource, ...]
    unread: Annotated[int, "How many messages it has not read."]

    @property
    def is_worth_showing(self) -> bool:
        """Whether it is alive, or left something that concerns others."""
        return bool(self.member.is_live or self.tasks or self.files or self.unread)


@record
class TeamOverview:
    """All sessions that take part."""

    engine: Annotated[str, "The engine and how far it reaches, in words."]
    members: Annotated[tuple[MemberOverview, ...], "The live ones first, and whoever was seen last."]
    offers: tuple[OfferState, ...]
    files: Annotated[tuple[HeldResource, ...], "All files that are held now, by path."]


@record
class TaskOverview:
    """The open tasks, wherever they are kept."""

    kind: Annotated[str, "The kind of tracker: board or beads."]
    tracker: Annotated[str, "The tracker in words, with its version."]
    tasks: tuple[TaskState, ...] = ()
    trouble: Annotated[str, "Why they could not be read."] = ""

    @property
    def ready(self) -> int:
        """How many can be claimed now."""
        return sum(is_ready(one) for one in self.tasks)

    @property
    def held(self) -> int:
        """How many somebody works on."""
        return sum(bool(one.agent) for one in self.tasks)

    @property
    def waiting(self) -> int:
        """How many wait for another task, or for something outside."""
        return len(self.tasks) - self.ready - self.held


def read_tasks(workspace: Workspace) -> TaskOverview | None:
    """Return the open tasks; None if there is no tracker, or nobody has used it here yet."""
    tracker: Tracker | None = None
    try:
        tracker = workspace.find_tracker()
        if tracker is None:
            return None
        found = tracker.tasks(Listing.OPEN)
    except TrackerError as error:
        about = tracker.about if tracker else None
        name, kind = (about.name, about.kind) if about else ("Beads", "beads")
        return TaskOverview(kind=kind, tracker=name, trouble=error.message)
    return TaskOverview(kind=tracker.about.kind, tracker=tracker.about.name, tasks=tuple(found))


def read_overview(coordination: Coordination, tasks: Sequence[TaskState]) -> TeamOverview:
    """Return who takes part, and who holds which of these tasks; this changes nothing."""
    files = list_reservations(coordination)
    members = [
        MemberOverview(
            member=one,
            tasks=tuple(task for task in tasks if task.holder == one.session),
            files=tuple(file for file in files if file.session == one.session),
            unread=len(coordination.messages.waiting(one.session)),
        )
        for one in sorted(coordination.members.members(), key=lambda one: (not one.is_live, one.silent))
    ]
    return TeamOverview(
        engine=coordination.engine,
        members=tuple(members),
        offers=tuple(coordination.offers.offers()),
        files=tuple(files),
    )
