"""Synthesis: from the events of a checkout to its view, and what may follow: archiving and a commit (S2)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from passdown.core.blobs import blob_id
from passdown.core.seals import Ownership, judge_owner
from passdown.core.view_places import ViewPlace
from passdown.ports.index import Index, Place
from passdown.ports.repository import Committed, Skipped
from passdown.records import record, replace
from passdown.services.checkouts import Checkout
from passdown.services.commits import NotDue, Trigger, commit, find_not_due
from passdown.services.events import Step, take_in
from passdown.services.rollups import Archived, archive_events
from passdown.services.view_homes import LOCAL_VIEW, view_place
from passdown.services.views import ViewState, WrittenView, judge_view, make_text, read_view, write_view

_FIRST: Final = 20


@record
class Outlook:
    """What synthesis would do, before it does it."""

    place: ViewPlace
    state: ViewState
    event_count: int
    skipped: int
    newest: tuple[Place, ...]
    text: str


@record
class Outcome:
    """What synthesis did."""

    place: ViewPlace
    written: WrittenView
    event_count: int
    skipped: int
    ahead: tuple[Place, ...]
    archived: Archived | None
    committed: Committed | Skipped | NotDue | None


def is_legacy(checkout: Checkout) -> bool:
    """Say whether there is a `current.md` and no folder of events: then nothing is synthesized."""
    paths = checkout.settings.paths
    return checkout.documents.exists(paths.view) and not checkout.documents.is_folder(paths.events)


def look_ahead(checkout: Checkout, step: Step | None = None) -> Outlook:
    """Bring the index up to date and say what synthesis would write."""
    take_in(checkout.log, checkout.index, step)
    place = view_place(checkout.repository, checkout.settings)
    state = judge_view(checkout.documents, place.path, checkout.index)
    digest = checkout.index.digest(1)
    newest = tuple(checkout.index.places(limit=_FIRST))
    return Outlook(
        place=place,
        state=state,
        event_count=digest.event_count,
        skipped=digest.skipped,
        newest=newest,
        text=make_text(checkout.index),
    )


def check_view(checkout: Checkout) -> tuple[ViewPlace, ViewState]:
    """Compare the view with the events, without writing anything but the cache."""
    take_in(checkout.log, checkout.index)
    place = view_place(checkout.repository, checkout.settings)
    return place, judge_view(checkout.documents, place.path, checkout.index)


def synthesize(
    checkout: Checkout,
    *,
    archive: bool | None = None,
    trigger: Trigger | None = Trigger.ASKED,
    to_commit: bool = False,
    also: Sequence[str] = (),
    step: Step | None = None,
) -> Outcome:
    """Make the view and write it; then archive and commit, where that is asked for or due.

    1. Whoever asks gets the view in its place. By itself the local one is written where no commit is due: a
       tracked file that is changed and not committed would stop the user's next `git checkout`; and where a
       document lies in its place that we did not make.
    2. `archive` says whether to archive. Left open it is done where the settings allow it; as it moves
       tracked files, only together with a commit, or outside git.

    A commit takes along what is in `also`, paths of ours that events do not tell of.
    """
    settings = checkout.settings
    take_in(checkout.log, checkout.index, step)
    place = view_place(checkout.repository, settings)
    committed: Committed | Skipped | NotDue | None = None
    if to_commit and trigger is not None:
        committed = find_not_due(checkout.documents, checkout.clock, settings, trigger)
        to_commit = committed is None
    if trigger is not Trigger.ASKED and _is_to_be_left(checkout, place, to_commit=to_commit):  # 1
        place = replace(place, path=f"{settings.paths.runtime}/{LOCAL_VIEW}", is_tracked=False)
    # One synthesis of a checkout at a time: else a slow one could put an older view over a newer one.
    with checkout.index.changing():
        text = make_text(checkout.index)
        written = write_view(checkout.documents, place.path, text, settings.paths.runtime)
    archived = None
    if archive is None:  # 2
        archive = settings.events.archive and (to_commit or not checkout.repository.is_there())
    if archive:
        archived = archive_events(checkout.log, checkout.clock, settings.events.retention_days)
        take_in(checkout.log, checkout.index)
    if to_commit and trigger is not None:
        committed = _commit(checkout, place, trigger, also)
    digest = checkout.index.digest(1)
    return Outcome(
        place=place,
        written=written,
        event_count=digest.event_count,
        skipped=digest.skipped,
        ahead=find_ahead(checkout.index, checkout.clock.now()),
        archived=archived,
        committed=committed,
    )


def find_ahead(index: Index, now: datetime) -> tuple[Place, ...]:
    """Find the events that are dated so far in the future that no writer follows them (C26)."""
    from passdown.core.times import too_far_ahead  # noqa: PLC0415 - rarely needed

    latest = index.digest(1).latest
    if latest is None or not too_far_ahead(now, latest):
        return ()
    return tuple(
        place for place in index.places() if too_far_ahead(now, place.rank.at) and not place.is_retracted
    )


def _is_to_be_left(checkout: Checkout, place: ViewPlace, *, to_commit: bool) -> bool:
    if not to_commit and checkout.repository.is_there():
        return True
    there = read_view(checkout.documents, place.path)
    return there is not None and judge_owner(there) is Ownership.FOREIGN


def _commit(
    checkout: Checkout, place: ViewPlace, trigger: Trigger, also: Sequence[str]
) -> Committed | Skipped | NotDue:
    own = [*list_uncommitted(checkout), *([place.path] if place.is_tracked else [])]
    paths = list(dict.fromkeys((*also, *own)))
    return commit(checkout.repository, checkout.documents, checkout.clock, checkout.settings, trigger, paths)


def is_uncommitted(checkout: Checkout, place: ViewPlace) -> bool:
    """Say whether a commit would hold anything: events, archived files, or the view in its tracked place."""
    if not checkout.repository.is_there():
        return False
    if list_uncommitted(checkout):
        return True
    there = read_view(checkout.documents, place.path) if place.is_tracked else None
    known = checkout.repository.listing(place.path.rpartition("/")[0]).get(place.path, "")
    return there is not None and blob_id(there, like=known) != known


def list_uncommitted(checkout: Checkout) -> Sequence[str]:
    """Name the events, rollups, archived files and records that the last commit lacks, or still has."""
    paths: list[str] = []
    ours = checkout.settings.paths
    for folder in (ours.events, ours.event_archive, ours.archive):
        committed = set(checkout.repository.listing(folder))
        there = set(checkout.documents.list(folder))
        paths += sorted(committed ^ there)
    return paths
