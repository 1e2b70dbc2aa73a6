"""Settings: one record for each section, each field with default, check and doc.

Later sources win: defaults, user file, project file, environment, flags. A key nobody knows is a warning. A
field is checked by its type; where that says too little, a third part of its annotation says the rest.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple, cast, get_args, get_type_hints

from passdown.core.patterns import pattern
from passdown.core.view_places import ViewPolicy
from passdown.errors import UsageError
from passdown.records import as_dict, field, names_of, record, replace

FILE_NAME: Final = "passdown.toml"
PREFIX: Final = "PASSDOWN_"

# What would lead out of the project, or mean another file on another system.
_WAYS_OUT: Final = pattern(r"^[/~]|^[A-Za-z]:|[\\\x00-\x1f\x7f]")
_NO_PARTS: Final = frozenset({"..", ".git"})
_CONTROL: Final = pattern(r"[\x00-\x1f\x7f]")
_NUMBER: Final = pattern(r"-?[0-9]{1,9}")
_YES: Final = frozenset({"true", "1"})
_NO: Final = frozenset({"false", "0"})


@record
class ProjectPath:
    """Says of a text that it is a path within the project."""


@record
class Bounds:
    """Says of a whole number how small and how large it may be."""

    least: int
    most: int


class EventLayout(StrEnum):
    """How published events lie in their folder."""

    FLAT = "flat"
    DAY = "day"


@record
class Paths:
    """Where documents lie, each from the project's root. The defaults are the places other tools read."""

    ledgers: Annotated[
        str, "Live ledgers, `LEDGER.md` of the first session and a folder for each other.", ProjectPath()
    ] = "conductor/sessions/active"
    archive: Annotated[str, "Archived sessions.", ProjectPath()] = "conductor/sessions/archive"
    handoffs: Annotated[str, "Stream documents, each in a folder of its name.", ProjectPath()] = (
        "thoughts/shared/handoffs"
    )
    events: Annotated[str, "Published events.", ProjectPath()] = "thoughts/shared/handoffs/events"
    event_archive: Annotated[str, "Archived events, by day.", ProjectPath()] = (
        "thoughts/shared/handoffs/archive"
    )
    view: Annotated[str, "The view merged from the events.", ProjectPath()] = (
        "thoughts/shared/handoffs/current.md"
    )
    runtime: Annotated[str, "State of running sessions; ignored by git.", ProjectPath()] = ".conductor"
    loops: Annotated[str, "Changes with their loop ledgers.", ProjectPath()] = "changes"


@record
class EventSettings:
    """How published events are kept."""

    layout: Annotated[EventLayout, "All events in one folder, or a folder for each day."] = EventLayout.FLAT
    retention_days: Annotated[
        int, "Events older than so many days are archived.", Bounds(least=0, most=3650)
    ] = 7
    archive: Annotated[bool, "Archive old events without being asked."] = True
    publish_minutes: Annotated[
        int, "A session publishes at the end of a turn once in so many minutes.", Bounds(least=0, most=1440)
    ] = 15


@record
class ViewSettings:
    """Where the view is a tracked file; elsewhere it lies below `paths.runtime`, which git ignores."""

    commit: Annotated[ViewPolicy, "On the integration branch only, on every branch, or on none."] = (
        ViewPolicy.INTEGRATION
    )
    branch: Annotated[
        str, "The integration branch; empty takes that of `origin`, or else `main` or `master`."
    ] = ""


@record
class CommitSettings:
    """After what Passdown commits its own files, and nothing else."""

    session_end: Annotated[bool, "At the end of a session."] = True
    handoff: Annotated[bool, "When a handoff is created."] = True
    checkpoint: Annotated[bool, "When a checkpoint is saved."] = True
    checkpoint_minutes: Annotated[
        int, "At most one commit for checkpoints in so many minutes.", Bounds(least=0, most=10_080)
    ] = 30
    start: Annotated[bool, "At the start of a session."] = False
    event: Annotated[bool, "When an event is written."] = False


@record
class ContextSettings:
    """From how many percent of a context on something is advised, where the host tells how full it is."""

    suggest: Annotated[int, "A handoff soon.", Bounds(least=1, most=100)] = 70
    save: Annotated[int, "A handoff now.", Bounds(least=1, most=100)] = 85
    force: Annotated[int, "A handoff, then clear.", Bounds(least=1, most=100)] = 90


Section = Paths | EventSettings | ViewSettings | CommitSettings | ContextSettings


@record
class Settings:
    """All sections."""

    paths: Annotated[Paths, "Where documents lie."] = field(default_factory=Paths)
    events: Annotated[EventSettings, "How published events are kept."] = field(default_factory=EventSettings)
    view: Annotated[ViewSettings, "Where the view is a tracked file."] = field(default_factory=ViewSettings)
    commit: Annotated[CommitSettings, "After what Passdown commits."] = field(default_factory=CommitSettings)
    context: Annotated[ContextSettings, "When a handoff is advised."] = field(default_factory=ContextSettings)


class Source(NamedTuple):
    """Where settings come from: a name to show, and tables by section.

    Where all values are texts, as in the environment, a text may stand for a number or a truth.
    """

    name: str
    tables: Mapping[str, object]
    is_text: bool = False


def parse_environment(variables: Mapping[str, str]) -> Source:
    """Take `PASSDOWN_<SECTION>_<KEY>` out of the environment; other variables are not settings."""
    tables: dict[str, dict[str, object]] = {}
    for section in names_of(Settings):
        start = f"{PREFIX}{section.upper()}_"
        found = {name: text for name, text in variables.items() if name.startswith(start)}
        tables[section] = {name.removeprefix(start).lower(): text for name, text in found.items()}
    return Source("environment", tables, is_text=True)


def parse_settings(sources: Iterable[Source]) -> tuple[Settings, tuple[str, ...]]:
    """Fold sources, the later winning, into settings and warnings. Raises `UsageError` for a bad value."""
    sections: dict[str, Any] = as_dict(Settings())
    warnings: list[str] = []
    for source in sources:
        for name, table in source.tables.items():
            if name not in sections:
                warnings.append(f"{source.name}: unknown section [{name}]{_meant(name, sections)}")
            elif not isinstance(table, Mapping):
                raise UsageError(
                    f"{source.name}: {name} is not a section", hint=f"write [{name}] above its keys"
                )
            elif table:
                old: Section = sections[name]
                values, unknown = _read_table(name, type(old), cast("Mapping[str, object]", table), source)
                sections[name] = replace(old, **values)
                warnings += unknown
    return replace(Settings(), **sections), tuple(warnings)


def _read_table(
    section: str, cls: type[Section], table: Mapping[str, object], source: Source
) -> tuple[dict[str, Any], list[str]]:
    """Check the values of one section; return those it has keys for, and warnings about the others."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    hints = get_type_hints(cls, include_extras=True)
    for key, value in table.items():
        name = f"{section}.{key}"
        if key in hints:
            values[key] = _check(value, hints[key], f"{source.name}: {name}", is_text=source.is_text)
        else:
            warnings.append(f"{source.name}: unknown setting {name}{_meant(key, hints)}")
    return values, warnings


def _meant(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    meant = get_close_matches(name, known, n=1)
    return f"; did you mean {meant[0]}?" if meant else ""


def _check(value: object, hint: object, name: str, *, is_text: bool) -> object:
    """Return a value as its field holds it, or raise `UsageError`."""
    kind, _, *rule = get_args(hint)
    if issubclass(kind, StrEnum):
        return _check_choice(value, kind, name)
    if kind is bool:
        return _check_truth(value, name, is_text=is_text)
    if kind is int:
        return _check_number(value, rule[0], name, is_text=is_text)
    return _check_path(value, name) if rule else _check_text(value, name)


def _check_choice(value: object, kind: type[StrEnum], name: str) -> StrEnum:
    for choice in kind:
        if value == choice.value:
            return choice
    choices = [f'"{choice.value}"' for choice in kind]
    raise UsageError(
        f"{name} is not one of its choices", hint=f"write {', '.join(choices[:-1])} or {choices[-1]}"
    )


def _check_truth(value: object, name: str, *, is_text: bool) -> bool:
    if isinstance(value, bool):
        return value
    if is_text and isinstance(value, str) and value.lower() in _YES | _NO:
        return value.lower() in _YES
    raise UsageError(f"{name} is neither true nor false", hint="write true or false, without quotes")


def _check_number(value: object, bounds: Bounds, name: str, *, is_text: bool) -> int:
    if is_text and isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number and bounds.least <= cast("int", value) <= bounds.most:
        return cast("int", value)
    hint = f"write a whole number from {bounds.least} to {bounds.most}, without quotes"
    raise UsageError(f"{name} is not a number in its bounds", hint=hint)


def _check_text(value: object, name: str) -> str:
    if isinstance(value, str) and not _CONTROL.search(value):
        return value.strip()
    raise UsageError(f"{name} is not a text of one line", hint="write it in quotes, on one line")


def _check_path(value: object, name: str) -> str:
    """Return a path within the project, written in one way, or raise `UsageError`."""
    text = value if isinstance(value, str) else ""
    parts = [part for part in text.split("/") if part not in {"", "."}]
    is_inside = not _WAYS_OUT.search(text) and not any(part.lower() in _NO_PARTS for part in parts)
    if not (is_inside and any(part.strip() for part in parts)):
        hint = "write it from the root with / between folders, like docs/log"
        raise UsageError(f"{name} is not a path within the project", hint=hint)
    return "/".join(parts)
