"""Settings: one record for each section; each field has a default, a check and a doc.

Later sources win: defaults, user file, project file, environment, flags. An unknown key causes a warning. A
field is checked against its type; marks after the doc in its annotation add further checks.
A project's file cannot set fields marked `UserOnly`: such a value only causes a warning and is not checked.
"""

from __future__ import annotations  # compiled types would take a tenth of the time to load a verb

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple, cast, get_args, get_type_hints

from passdown import layout
from passdown.core.formats.view_location import ViewPolicy
from passdown.core.lazy_regex import pattern
from passdown.core.paths import normal_path
from passdown.errors import UsageError
from passdown.records import as_dict, field, names_of, record, replace

FILE_NAME: Final = layout.SETTINGS
PREFIX: Final = "PASSDOWN_"

_CONTROL: Final = pattern(r"[\x00-\x1f\x7f]")
_PROJECT_KEY: Final = pattern(r"(?:p-[0-9a-f]{32})?")
_NAME: Final = pattern(r"[A-Za-z0-9_-]{0,64}")
_NUMBER: Final = pattern(r"-?[0-9]{1,9}")
_YES: Final = frozenset({"true", "1"})
_NO: Final = frozenset({"false", "0"})


@record
class ProjectPath:
    """Marks a string as a path within the project."""


@record
class Bounds:
    """The smallest and largest value that a whole number may have."""

    least: int
    most: int


@record
class ServerUrl:
    """Marks a string as the URL of a server; empty stands for none. It must not contain a password."""


@record
class PlainName:
    """Marks a string as a name that can be a key, or empty."""


@record
class ProjectKey:
    """Marks the key of a project, or empty; only the project's file and the environment may set it (C74)."""


@record
class AnyKey:
    """Marks the only field of a section that accepts any name as a key; it holds pairs of name and value."""


@record
class UserOnly:
    """Marks a field that only the user's file and the environment may set, never a repository (C76)."""


class EngineChoice(StrEnum):
    """The engine through which sessions coordinate."""

    AUTO = "auto"
    SQLITE = "sqlite"
    OFF = "off"


class TrackerChoice(StrEnum):
    """Where the tasks of a project are kept."""

    AUTO = "auto"
    BOARD = "board"
    BEADS = "beads"
    NONE = "none"


class PeoplePolicy(StrEnum):
    """What happens when a person commits files that a session holds."""

    WARN = "warn"
    STOP = "stop"


class GateMode(StrEnum):
    """Whether a failed gate only warns or blocks the work."""

    SPEED = "speed"
    FULL = "full"


class Archiver(StrEnum):
    """Who archives the events of a project with several clones."""

    NOBODY = ""
    JOB = "job"


class KeptRecords(StrEnum):
    """Which sessions leave a record in the archive."""

    ALL = "all"
    HANDOFF = "handoff"


class EventLayout(StrEnum):
    """How published events are arranged in their folder."""

    AUTO = "auto"
    FLAT = "flat"
    DAY = "day"


@record
class Paths:
    """Where documents are stored, relative to the project root. Other tools read the default locations."""

    ledgers: Annotated[
        str,
        "Live ledgers: `LEDGER.md` for the first session, one folder for each further session.",
        ProjectPath(),
    ] = layout.LEDGERS
    archive: Annotated[str, "Archived sessions.", ProjectPath()] = layout.ARCHIVE
    handoffs: Annotated[str, "Stream documents, each in a folder named after its stream.", ProjectPath()] = (
        layout.HANDOFFS
    )
    events: Annotated[str, "Published events.", ProjectPath()] = layout.EVENTS
    event_archive: Annotated[str, "Archived events, by day.", ProjectPath()] = layout.EVENT_ARCHIVE
    view: Annotated[str, "The view merged from the events.", ProjectPath()] = layout.VIEW
    runtime: Annotated[str, "State of running sessions; ignored by git.", ProjectPath()] = layout.RUNTIME
    loops: Annotated[str, "Changes with their loop ledgers.", ProjectPath()] = layout.LOOPS
    tracks: Annotated[
        str, "Documents of tracks: `<track>/design.md`, `spec.md` and `plan.md`.", ProjectPath()
    ] = layout.TRACKS


@record
class EventSettings:
    """How published events are stored."""

    layout: Annotated[
        EventLayout,
        "All events in one folder, or one folder per day; `auto` uses one folder until it has 1,000.",
    ] = EventLayout.AUTO
    retention_days: Annotated[
        int, "Archive events older than this many days.", Bounds(least=0, most=3650)
    ] = 7
    archive: Annotated[bool, "Archive old events as sessions end, in the only clone or in a chosen one."] = (
        True
    )
    archiver: Annotated[
        Archiver, "`job`: a job runs `passdown archive run`, which does not wait above 2,000 single files."
    ] = Archiver.NOBODY
    publish_minutes: Annotated[
        int,
        "Publish at the end of a turn at most once in this many minutes.",
        Bounds(least=0, most=1440),
    ] = 15


@record
class ArchiveSettings:
    """Which records of sessions are kept."""

    sessions: Annotated[
        KeptRecords,
        "`all`: every session with facts of its own leaves a record. `handoff`: one that ended as usual does "
        "not, unless its ledger says more than its events.",
    ] = KeptRecords.ALL


@record
class ViewSettings:
    """Where git tracks the view; elsewhere the view is stored in `paths.runtime`, which git ignores."""

    commit: Annotated[ViewPolicy, "Track it on the integration branch only, on every branch, or on none."] = (
        ViewPolicy.INTEGRATION
    )
    branch: Annotated[
        str, "The integration branch; if empty, the default branch of `origin`, else `main` or `master`."
    ] = ""


@record
class CommitSettings:
    """When Passdown commits its own files; it never commits anything else."""

    session_end: Annotated[bool, "When a session has ended, at the latest at the next start."] = True
    handoff: Annotated[bool, "When a handoff is created."] = True
    checkpoint: Annotated[bool, "At the end of a turn, if sessions have published something."] = True
    checkpoint_minutes: Annotated[
        int, "Make at most one checkpoint commit in this many minutes.", Bounds(least=0, most=10_080)
    ] = 30
    start: Annotated[bool, "At the start of a session, including what running sessions have published."] = (
        False
    )
    event: Annotated[bool, "At the end of every turn that published something."] = False


@record
class ContextSettings:
    """How full the context must be, in percent, before Passdown gives advice; only some hosts report it."""

    suggest: Annotated[int, "Suggest a handoff soon.", Bounds(least=1, most=100)] = 70
    save: Annotated[int, "Suggest a handoff now.", Bounds(least=1, most=100)] = 85
    force: Annotated[int, "Suggest a handoff, then to clear the context.", Bounds(least=1, most=100)] = 90


@record
class ProjectSettings:
    """How a coordination server recognises the clones of this project."""

    key: Annotated[str, "The project's key, created by `passdown team init`.", ProjectKey()] = ""


@record
class CoordinationSettings:
    """How sessions coordinate: through a file in git's folder, or a server if the project has a key."""

    engine: Annotated[
        EngineChoice,
        "`auto`: the server if the project has a key, else the file; `sqlite`: always the file; `off`: none.",
    ] = EngineChoice.AUTO
    team: Annotated[
        str, "The project's team; `[teams]` in your own settings file names its server.", PlainName()
    ] = ""
    url: Annotated[
        str,
        "The server, instead of the team's: `postgresql://`, `https://` or `unix:`.",
        ServerUrl(),
        UserOnly(),
    ] = ""
    lease_minutes: Annotated[
        int,
        "Claims and reservations expire after their session has been silent for this many minutes.",
        Bounds(least=1, most=1440),
    ] = 10
    wait_seconds: Annotated[
        int,
        "How long a command waits in total for the server or for other sessions.",
        Bounds(least=1, most=60),
    ] = 10
    reservation_minutes: Annotated[
        int,
        "A reservation expires after this many minutes without use, even if its session is alive.",
        Bounds(least=1, most=10_080),
    ] = 120
    orphan_minutes: Annotated[
        int,
        "After a session crashes, `passdown claim` gives its task to nobody else for this many minutes.",
        Bounds(least=0, most=10_080),
    ] = 30


@record
class TrackerSettings:
    """Where tasks are kept: on the board that sessions share, or in Beads."""

    kind: Annotated[
        TrackerChoice,
        "`auto`: Beads if `bd` is installed and has a database here, else the board; or name one.",
    ] = TrackerChoice.AUTO
    push: Annotated[bool, "Let `passdown sync` push to the remote, if the tracker's own sync does not."] = (
        False
    )


@record
class GuardSettings:
    """What `passdown guard` does before a commit. It always blocks agents that commit others' files."""

    people: Annotated[
        PeoplePolicy, "Warn a person who commits files that a session holds, or block the commit."
    ] = PeoplePolicy.WARN


@record
class GateSettings:
    """How strict validation gates are, and how long commands from documents may run."""

    mode: Annotated[
        GateMode, "`speed`: a failed gate only warns; `full`: three of the five gates block the work."
    ] = GateMode.SPEED
    command_minutes: Annotated[
        int,
        "Stop a command from a plan, checkpoint or offer after this many minutes.",
        Bounds(least=1, most=1440),
    ] = 5


@record
class TddSettings:
    """Whether Passdown tracks the test-first cycle of tasks."""

    default: Annotated[bool, "Track it if neither `--tdd` nor `--no-tdd` is given."] = True


@record
class SessionSettings:
    """The team and role of your sessions, unless `passdown start` gets `--team` or `--role`."""

    team: Annotated[str, "The team that a session belongs to.", PlainName(), UserOnly()] = ""
    role: Annotated[
        str, "What a session works on; it claims tasks for this role.", PlainName(), UserOnly()
    ] = ""


@record
class TeamSettings:
    """The server of each team: `platform = "postgresql://db.example.com/passdown"`; `""` for no server."""

    urls: Annotated[
        tuple[tuple[str, str], ...], "The server of the team with that name.", AnyKey(), UserOnly()
    ] = ()


@record
class Settings:
    """All sections."""

    paths: Annotated[Paths, "Where documents are stored."] = field(default_factory=Paths)
    events: Annotated[EventSettings, "How published events are stored."] = field(
        default_factory=EventSettings
    )
    archive: Annotated[ArchiveSettings, "Which records of sessions are kept."] = field(
        default_factory=ArchiveSettings
    )
    view: Annotated[ViewSettings, "Where git tracks the view."] = field(default_factory=ViewSettings)
    commit: Annotated[CommitSettings, "When Passdown commits."] = field(default_factory=CommitSettings)
    context: Annotated[ContextSettings, "When Passdown suggests a handoff."] = field(
        default_factory=ContextSettings
    )
    project: Annotated[ProjectSettings, "What identifies the project."] = field(
        default_factory=ProjectSettings
    )
    coordination: Annotated[CoordinationSettings, "How sessions coordinate."] = field(
        default_factory=CoordinationSettings
    )
    tracker: Annotated[TrackerSettings, "Where tasks are kept."] = field(default_factory=TrackerSettings)
    guard: Annotated[GuardSettings, "What happens before a commit."] = field(default_factory=GuardSettings)
    gates: Annotated[GateSettings, "How strict gates are."] = field(default_factory=GateSettings)
    tdd: Annotated[TddSettings, "Whether the test-first cycle is tracked."] = field(
        default_factory=TddSettings
    )
    session: Annotated[SessionSettings, "Team and role."] = field(default_factory=SessionSettings)
    teams: Annotated[TeamSettings, "The servers of teams."] = field(default_factory=TeamSettings)


class SettingsSource(NamedTuple):
    """Where settings come from: a name to show, and tables by section.

    With `is_text`, all values are strings, as in the environment, and may stand for numbers or booleans. With
    `is_project`, fields marked `UserOnly` are ignored.
    """

    name: str
    tables: Mapping[str, object]
    is_text: bool = False
    is_project: bool = False


def parse_environment(variables: Mapping[str, str]) -> SettingsSource:
    """Read `PASSDOWN_<SECTION>_<KEY>` from the environment, ignoring other variables."""
    ours = {name: text for name, text in variables.items() if name.startswith(PREFIX)}
    tables: dict[str, dict[str, object]] = {}
    for section in names_of(Settings):
        start = f"{PREFIX}{section.upper()}_"
        found = {name: text for name, text in ours.items() if name.startswith(start)}
        tables[section] = {name.removeprefix(start).lower(): text for name, text in found.items()}
    return SettingsSource("environment", tables, is_text=True)


def parse_settings(
    sources: Iterable[SettingsSource], user_file: str = "your own settings file"
) -> tuple[Settings, tuple[str, ...]]:
    """Combine sources, later ones winning, into settings and warnings. Raises `UsageError` on a bad value.

    Warnings about what a project may not set name `user_file` as the place to set it.
    """
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
                old = sections[name]
                found = cast("Mapping[str, object]", table)
                values, ignored = _read_table(name, old, found, source, user_file)
                sections[name] = replace(old, **values)
                warnings += ignored
    return replace(Settings(), **sections), tuple(warnings)


def _read_table(
    section: str, old: object, table: Mapping[str, object], source: SettingsSource, user_file: str
) -> tuple[dict[str, Any], list[str]]:
    """Check the values of one section; return the valid ones and warnings about ignored ones."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    hints = get_type_hints(type(old), include_extras=True)
    every = next((name for name, hint in hints.items() if _has(hint, AnyKey)), "")  # it holds every key
    for key, value in table.items():
        name = f"{source.name}: {section}.{key}"
        hint = hints.get(every or key)
        if hint is None:
            warnings.append(f"{source.name}: unknown setting {section}.{key}{_meant(key, hints)}")
        elif source.is_project and _has(hint, UserOnly):
            variable = f"{PREFIX}{section}_{key}".upper()
            reason = (
                f"is ignored, because a repository may not set it; set it in {user_file} or as {variable}"
            )
            warnings.append(f"{name} {reason}")
        elif value and not (source.is_project or source.is_text) and _has(hint, ProjectKey):
            variable = f"{PREFIX}{section}_{key}".upper()
            reason = f"is ignored, because it belongs to one project; set it in {FILE_NAME} or as {variable}"
            warnings.append(f"{name} {reason}")
        elif every:
            known = dict(values.get(every, getattr(old, every)))
            values[every] = tuple({**known, key: _check_url(value, name)}.items())
        else:
            values[key] = _check(value, hint, name, is_text=source.is_text)
    return values, warnings


def _has(hint: object, mark: type) -> bool:
    return any(isinstance(one, mark) for one in get_args(hint)[2:])


def _meant(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only needed for a mistake

    meant = get_close_matches(name, known, n=1)
    return f"; did you mean {meant[0]}?" if meant else ""


def _check(value: object, hint: object, name: str, *, is_text: bool) -> object:
    """Return a value in the form its field holds, or raise `UsageError`."""
    kind, _, *marks = get_args(hint)
    if issubclass(kind, StrEnum):
        return _check_choice(value, kind, name)
    if kind is bool:
        return _check_truth(value, name, is_text=is_text)
    if kind is int:
        return _check_number(value, marks[0], name, is_text=is_text)
    checks = {
        ServerUrl: _check_url,
        ProjectKey: _check_key,
        PlainName: check_name,
        ProjectPath: _check_path,
    }
    check = next((check for mark, check in checks.items() if _has(hint, mark)), _check_text)
    return check(value, name)


def _check_choice(value: object, kind: type[StrEnum], name: str) -> StrEnum:
    for choice in kind:
        if value == choice.value:
            return choice
    choices = [f'"{choice.value}"' for choice in kind]
    raise UsageError(
        f"{name} is not a valid choice", hint=f"write {', '.join(choices[:-1])} or {choices[-1]}"
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
    raise UsageError(f"{name} is not a number in the allowed range", hint=hint)


def _check_text(value: object, name: str) -> str:
    if isinstance(value, str) and not _CONTROL.search(value):
        return value.strip()
    raise UsageError(f"{name} is not a single line of text", hint="write it in quotes, on one line")


def check_name(value: object, name: str) -> str:
    """Return a plain name, or raise a `UsageError` that names the setting."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise UsageError(f"{name} is not a name", hint="use only letters, digits, - and _, in quotes")


def _check_key(value: object, name: str) -> str:
    if isinstance(value, str) and _PROJECT_KEY.fullmatch(value):
        return value
    raise UsageError(f"{name} is not a project key", hint="run `passdown team init` to create one")


def _check_url(value: object, name: str) -> str:
    """Return the URL of a server, or raise a `UsageError` without the URL, which may hold a password."""
    from passdown.core.coordination.server_urls import has_secret, is_url  # few settings have one

    url = _check_text(value, name)
    if url and not is_url(url):
        hint = "write postgresql://host/database, https://host or unix:/path"
        raise UsageError(f"{name} is not a server URL", hint=hint)
    if has_secret(url):
        hint = "remove it; PostgreSQL reads passwords from the file that PGPASSFILE names, or from a service"
        raise UsageError(f"{name} contains a password or token", hint=hint)
    return url


def _check_path(value: object, name: str) -> str:
    """Return a path within the project in its normal form, or raise `UsageError`."""
    path = normal_path(value) if isinstance(value, str) else None
    if path is None:
        hint = "write it from the project root with / between folders, like docs/log"
        raise UsageError(f"{name} is not a path within the project", hint=hint)
    return path
