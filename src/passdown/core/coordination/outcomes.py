"""Outcomes of operations as JSON, so that a repeated operation gets its first outcome from the log."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, cast

from passdown.core.coordination.leases import Checked, Grant, Granted, PathVerdict, Released, Resource
from passdown.core.coordination.members import Inherited, Joined, Left
from passdown.core.coordination.messages import Acknowledged, Expired, Message, Sent
from passdown.core.coordination.offers import Accepted, Offer, Offered, OfferEnded
from passdown.core.coordination.tasks import Claimed, Task, TaskClosed, TaskStored
from passdown.records import as_dict

_CLASSES: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(Checked, Grant, Granted, PathVerdict, Released, Resource),
            *(Inherited, Joined, Left),
            *(Acknowledged, Expired, Message, Sent),
            *(Accepted, Offer, Offered, OfferEnded),
            *(Claimed, Task, TaskClosed, TaskStored),
        )
    }
)
_CLASS: Final = "is"


def dump_outcome(outcome: object) -> str:
    """Return an outcome as one line of JSON."""
    return _make_encoder().encode(outcome)


@cache
def _make_encoder() -> json.JSONEncoder:
    """Make the encoder once; making it and checking for cycles would take half of the time of an outcome."""
    return json.JSONEncoder(
        default=_to_object, ensure_ascii=False, separators=(",", ":"), check_circular=False
    )


def load_outcome(text: str) -> object:
    """Return the outcome that a line of JSON describes."""
    return _from_json(json.loads(text))


def _to_object(value: object) -> dict[str, object]:
    """Return the JSON object for a record; the encoder calls this again for nested records."""
    fields: dict[str, object] = {_CLASS: type(value).__name__}
    fields.update(as_dict(value))
    if isinstance(value, Released):  # the encoder would write a resource as a list
        fields["resources"] = [{_CLASS: Resource.__name__, **one._asdict()} for one in value.resources]
    return fields


def _from_json(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        fields = {name: _from_json(one) for name, one in members.items() if name != _CLASS}
        return _CLASSES[str(members[_CLASS])](**fields)
    if isinstance(value, list):
        return tuple(_from_json(one) for one in cast("list[object]", value))
    return value
