"""The last commit on its own: whether its view matches its events, whatever the working tree holds."""

from typing import Annotated

from passdown.core.formats.view_location import ViewLocation
from passdown.core.git_hash import git_blob_id
from passdown.ports.event_log import EventLog
from passdown.ports.index import Index
from passdown.records import record
from passdown.services.log.events import update_index
from passdown.services.log.views import ViewState, judge_data, read_view, view_place
from passdown.services.workspace.workspaces import Workspace


@record
class CommittedView:
    """The view in the last commit."""

    place: Annotated[ViewLocation, "Where the view is on this branch."]
    state: Annotated[ViewState, "How it compares with the events of the commit."]
    event_count: Annotated[int, "How many events the commit has."]
    is_unchanged: Annotated[bool, "Whether the file in the working tree is the committed one."]

    @property
    def is_whole(self) -> bool:
        """Whether the commit is as we make them: the view matches, or there are neither events nor view."""
        is_empty = self.event_count == 0 and self.state is ViewState.MISSING
        return self.state is ViewState.CURRENT or is_empty


def check_committed(workspace: Workspace, log: EventLog, index: Index) -> CommittedView:
    """Judge the view of the last commit by the events in it, which `log` holds; nothing is written."""
    update_index(log, index)
    place = view_place(workspace.repository, workspace.settings)
    name = workspace.repository.listing(place.path.rpartition("/")[0]).get(place.path, "")
    data = workspace.history.contents([name]).get(name) if name else None
    there = read_view(workspace.documents, place.path)
    return CommittedView(
        place=place,
        state=judge_data(data, index),
        event_count=index.digest(1).event_count,
        is_unchanged=(git_blob_id(there, like=name) if there is not None else "") == name,
    )
