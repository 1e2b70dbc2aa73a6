"""Handoffs to one agent: `.conductor/handoff_<from>_to_<to>.json`, in camelCase (S4, R220, R221)."""

from datetime import datetime
from typing import Annotated, Final

from passdown.core.documents.documents import JsonFormat
from passdown.core.documents.fields import in_member
from passdown.core.problems import Problem, Unknown
from passdown.records import field, record

VERSION: Final = 1
MAX_CHARS: Final = 65_536
NORMAL_PRIORITY: Final = "normal"


@record
class HandoffContext:
    """What a handoff is about."""

    task_id: Annotated[str | None, "The task.", in_member("taskId")] = None
    track_id: Annotated[str | None, "The track.", in_member("trackId")] = None
    files: Annotated[tuple[str, ...], "The files to look at.", in_member()] = ()
    unknown: Annotated[tuple[Unknown, ...], "Members that no field holds: name and JSON value."] = ()


@record
class AddressedHandoff:
    """A text from one agent to another, shown to the addressee when it starts."""

    sender: Annotated[
        str | None, "The sender: its given id, or the agent.", in_member("from", required=True)
    ] = None
    to: Annotated[
        str | None, "The addressee: a given id, an agent, or a nickname.", in_member(required=True)
    ] = None
    created_at: Annotated[datetime | None, "When it was written.", in_member("createdAt", required=True)] = (
        None
    )
    expires_at: Annotated[
        datetime | None, "When it is deleted unless it was read.", in_member("expiresAt", required=True)
    ] = None
    content: Annotated[str | None, "The text.", in_member(required=True)] = None
    context: Annotated[HandoffContext | None, "Task, track and files.", in_member()] = None
    priority: Annotated[str | None, "How urgent it is.", in_member()] = None
    id: Annotated[
        str | None, "The id of the message with the same text, if sessions coordinate.", in_member()
    ] = None
    unknown: Annotated[tuple[Unknown, ...], "Members that no field holds: name and JSON value."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


FORMAT: Final = JsonFormat(AddressedHandoff, "handoff", VERSION, MAX_CHARS)
parse_addressed_handoff: Final = FORMAT.parse
render_addressed_handoff: Final = FORMAT.render
