"""Settings: one frozen dataclass for each section, each field with default, check and doc.

Later sources win: defaults, user file, project file, environment, flags. A key nobody knows is a warning.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple, cast

from passdown.errors import UsageError

FILE_NAME: Final = "passdown.toml"
PREFIX: Final = "PASSDOWN_"

# What would lead out of the project, or mean another file on another system.
_WAYS_OUT: Final = re.compile(r"^[/~]|^[A-Za-z]:|[\\\x00-\x1f\x7f]")
_NO_PARTS: Final = frozenset({"..", ".git"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where documents lie, each from the project's root. The defaults are the places other tools read."""

    ledgers: Annotated[str, "Live ledgers, `LEDGER.md` of the first session and a folder for each other."] = (
        "conductor/sessions/active"
    )
    archive: Annotated[str, "Archived sessions."] = "conductor/sessions/archive"
    handoffs: Annotated[str, "Stream documents, each in a folder of its name."] = "thoughts/shared/handoffs"
    events: Annotated[str, "Published events."] = "thoughts/shared/handoffs/events"
    event_archive: Annotated[str, "Archived events, by day."] = "thoughts/shared/handoffs/archive"
    view: Annotated[str, "The view merged from the events."] = "thoughts/shared/handoffs/current.md"
    runtime: Annotated[str, "State of running sessions; ignored by git."] = ".conductor"
    loops: Annotated[str, "Changes with their loop ledgers."] = "changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All sections."""

    paths: Annotated[Paths, "Where documents lie."] = field(default_factory=Paths)


class Source(NamedTuple):
    """Where settings come from: a name to show, and tables by section."""

    name: str
    tables: Mapping[str, object]


def parse_environment(variables: Mapping[str, str]) -> Source:
    """Take `PASSDOWN_<SECTION>_<KEY>` out of the environment; other variables are not settings."""
    tables: dict[str, dict[str, object]] = {}
    for section in dataclasses.fields(Settings):
        start = f"{PREFIX}{section.name.upper()}_"
        found = {name: text for name, text in variables.items() if name.startswith(start)}
        tables[section.name] = {name.removeprefix(start).lower(): text for name, text in found.items()}
    return Source("environment", tables)


def parse_settings(sources: Iterable[Source]) -> tuple[Settings, tuple[str, ...]]:
    """Fold sources, the later winning, into settings and warnings. Raises `UsageError` for a bad value."""
    settings = Settings()
    warnings: list[str] = []
    known = [section.name for section in dataclasses.fields(Settings)]
    for source in sources:
        for name, table in source.tables.items():
            if name not in known:
                warnings.append(f"{source.name}: unknown section [{name}]{_meant(name, known)}")
            elif not isinstance(table, Mapping):
                raise UsageError(
                    f"{source.name}: {name} is not a section", hint=f"write [{name}] above its keys"
                )
            else:
                paths = _set_paths(settings.paths, cast("Mapping[str, object]", table), source.name, warnings)
                settings = dataclasses.replace(settings, paths=paths)
    return settings, tuple(warnings)


def _set_paths(paths: Paths, table: Mapping[str, object], source: str, warnings: list[str]) -> Paths:
    known = [one.name for one in dataclasses.fields(Paths)]
    for key, value in table.items():
        if key not in known:
            warnings.append(f"{source}: unknown setting paths.{key}{_meant(key, known)}")
        else:
            paths = dataclasses.replace(paths, **{key: _check_path(value, f"{source}: paths.{key}")})
    return paths


def _meant(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    meant = get_close_matches(name, known, n=1)
    return f"; did you mean {meant[0]}?" if meant else ""


def _check_path(value: object, name: str) -> str:
    """Return a path within the project, written in one way, or raise `UsageError`."""
    text = value if isinstance(value, str) else ""
    parts = [part for part in text.split("/") if part not in {"", "."}]
    is_inside = not _WAYS_OUT.search(text) and not any(part.lower() in _NO_PARTS for part in parts)
    if not (is_inside and any(part.strip() for part in parts)):
        hint = "write it from the root with / between folders, like docs/log"
        raise UsageError(f"{name} is not a path within the project", hint=hint)
    return "/".join(parts)
