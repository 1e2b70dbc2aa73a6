"""Outcomes of operations as JSON, so that the log can give a repeated operation the same outcome."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, cast

from passdown.core.coordination.leases import Checked, Grant, Granted, PathVerdict, Released, Resource
from passdown.core.coordination.members import Inherited, Joined, Left
from passdown.core.coordination.messages import Acknowledged, Expired, Message, Sent
from passdown.core.coordination.offers import Accepted, Offer, Offered, OfferEnded
from passdown.core.coordination.tasks import Claimed, Task, TaskClosed, TaskStored
from passdown.records import as_dict, is_record

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
    return json.dumps(_to_json(outcome), ensure_ascii=False, separators=(",", ":"))


def load_outcome(text: str) -> object:
    """Return the outcome that a line of JSON describes."""
    return _from_json(json.loads(text))


def _to_json(value: object) -> object:
    if is_record(value):
        fields = {name: _to_json(one) for name, one in as_dict(value).items()}
        return {_CLASS: type(value).__name__, **fields}
    if isinstance(value, Resource):
        return {_CLASS: Resource.__name__, **value._asdict()}
    if isinstance(value, tuple):
        return [_to_json(one) for one in cast("tuple[object, ...]", value)]
    return value


def _from_json(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        fields = {name: _from_json(one) for name, one in members.items() if name != _CLASS}
        return _CLASSES[str(members[_CLASS])](**fields)
    if isinstance(value, list):
        return tuple(_from_json(one) for one in cast("list[object]", value))
    return value
