"""The answer of an action: a result record, notices, and what runs once the answer was written."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar, cast

from passdown.core.times import render_millis, render_seconds
from passdown.records import is_record, names_of

Result_co = TypeVar("Result_co", covariant=True)
Other = TypeVar("Other")
NO_VALUES: Final[Mapping[str, object]] = MappingProxyType({})
NO_FORMS: Final[Mapping[str, "Form"]] = MappingProxyType({})


class NoticeKind(StrEnum):
    """The kinds of notices that come with an answer; each face has its own words for them."""

    WARNING = "warning"
    TROUBLE = "trouble"
    NO_CACHE = "no_cache"
    SESSION_STARTED = "session_started"
    HOST_SESSION_STARTED = "host_session_started"
    NAMED_SESSION_STARTED = "named_session_started"
    PERSON_SESSION_STARTED = "person_session_started"
    UNKNOWN_HOST = "unknown_host"
    MODE_KEPT = "mode_kept"
    LEDGER_EDITED = "ledger_edited"
    LEDGER_ELSEWHERE = "ledger_elsewhere"
    LEDGER_PROBLEM = "ledger_problem"
    VIEW_NOT_UPDATED = "view_not_updated"
    NOT_COMMITTED = "not_committed"
    NOT_RELEASED = "not_released"
    STAYS_UNREAD = "stays_unread"
    STEP = "step"
    UNKNOWN_TRIGGER = "unknown_trigger"
    SAME_TRACK = "same_track"
    NO_SESSION = "no_session"
    WHOLE_REPOSITORY = "whole_repository"
    HOST_SETTINGS = "host_settings"
    CHECKOUT_SKIPPED = "checkout_skipped"


class Notice(NamedTuple):
    """A notice for the user; `values` fill in the words of the face."""

    kind: NoticeKind
    values: Mapping[str, object] = NO_VALUES
    hint: str = ""


class Answered(Generic[Result_co]):
    """The result of an action, with its notices and follow-ups."""

    __slots__ = ("after", "close", "notices", "result")

    def __init__(
        self,
        result: Result_co,
        notices: Sequence[Notice] = (),
        after: Sequence[Callable[[], None]] = (),
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Keep the result, the notices, what runs once the answer was written, and what closes the workspace.

        For example, messages are marked as read only after the answer was written, and never if writing it
        failed. The workspace is closed last, in any case.
        """
        self.result = result
        self.notices = notices
        self.after = after
        self.close = close

    def with_result(self, result: Other) -> "Answered[Other]":
        """Return another result with the same notices and follow-ups."""
        return Answered(result, self.notices, self.after, self.close)


class Form:
    """How a field of a result is encoded in JSON, if not as its value."""

    __slots__ = ("convert", "forms")

    def __init__(
        self, convert: Callable[..., object] | None = None, forms: "Mapping[str, Form] | None" = None
    ) -> None:
        """Keep the function that turns the value into records or JSON data, and the forms of its members."""
        self.convert = convert
        self.forms = forms


def _as_seconds(at: datetime | None) -> str | None:
    return render_seconds(at) if at else None


def _as_millis(at: datetime | None) -> str | None:
    return render_millis(at) if at else None


def _or_null(value: object) -> object:
    return value or None


HIDDEN: Final = Form()
"""The field is not in JSON: only a face that writes text needs it."""
INLINE: Final = Form()
"""The members of the record or mapping are placed beside those of the result."""
SECONDS: Final = Form(_as_seconds)
MILLIS: Final = Form(_as_millis)
OR_NULL: Final = Form(_or_null)
"""An empty value is encoded as null."""


def members(**forms: Form) -> Form:
    """Return the form of one or several service records: some members by a form, others as their value."""

    def convert(value: object) -> object:
        if isinstance(value, tuple | list):
            return [encode(one, forms) for one in cast("Sequence[object]", value)]
        return value and encode(value, forms)

    return Form(convert, forms)


def describe(kind: type[Result_co], *sources: object, **more: object) -> Result_co:
    """Make a result record from `more`, and else from the first source with a member of the same name.

    An empty text becomes null in a field that may be null.
    """
    values = dict(more)
    for name in names_of(kind):
        source = next((one for one in sources if name not in more and hasattr(one, name)), None)
        if source is not None:
            value, annotation = getattr(source, name), kind.__annotations__[name]
            values[name] = None if value == "" and annotation.__origin__ is not str else value
    return kind(**values)


def encode(result: object, forms: Mapping[str, Form] = NO_FORMS) -> dict[str, object]:
    """Return a result record as JSON data, by `forms` or by the forms beside the types of its fields."""
    told: dict[str, object] = {}
    annotations = type(result).__annotations__
    for name in names_of(result):
        own = getattr(annotations[name], "__metadata__", ())
        marks = (forms[name],) if name in forms else own
        if HIDDEN in marks:
            continue
        value = getattr(result, name)
        convert = next((mark.convert for mark in marks if isinstance(mark, Form) and mark.convert), None)
        value = encode_value(convert(value) if convert else value)
        if INLINE in marks:
            told |= cast("dict[str, object]", value)
        else:
            told[name] = value
    return told


def encode_value(value: object) -> object:
    """Return a value of a result as JSON data: records become objects, instants ISO strings."""
    if is_record(value):
        return encode(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple | list):
        return [encode_value(one) for one in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(name): encode_value(one) for name, one in members.items()}
    return value
