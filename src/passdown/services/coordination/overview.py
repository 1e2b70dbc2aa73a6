"""What sessions share at a glance: who takes part, who holds what, mail and offers."""

from typing import Annotated

from passdown.core.coordination.members import MemberState
from passdown.core.coordination.offers import OfferState
from passdown.core.coordination.tasks import TaskState
from passdown.ports.coordination import Coordination, HeldResource
from passdown.records import record
from passdown.services.coordination.reservations import list_reservations


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
    members: tuple[MemberOverview, ...]
    offers: tuple[OfferState, ...]
    files: Annotated[tuple[HeldResource, ...], "All files that are held now, by path."]


def read_overview(coordination: Coordination) -> TeamOverview:
    """Return who takes part, and who holds what; this changes nothing."""
    tasks = coordination.tasks.tasks()
    files = list_reservations(coordination)
    members = [
        MemberOverview(
            member=one,
            tasks=tuple(task for task in tasks if task.holder == one.session),
            files=tuple(file for file in files if file.session == one.session),
            unread=len(coordination.messages.waiting(one.session)),
        )
        for one in coordination.members.members()
    ]
    return TeamOverview(
        engine=coordination.engine,
        members=tuple(members),
        offers=tuple(coordination.offers.offers()),
        files=tuple(files),
    )
