"""Settings: one record for each section; each field has a default, a check and a doc.

Later sources win: defaults, user file, project file, environment, flags. An unknown key causes a warning. A
field is checked against its type; where that is not enough, marks after the doc in its annotation say more.
A project's file is not a source for fields marked `UserOnly`: it causes a warning, and is not even checked.
"""

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
    """Marks the key of a project, or empty: only its own file and the environment may set it (C74)."""


@record
class AnyKey:
    """Marks the only field of a section whose keys are names: it holds the pairs of name and value."""


@record
class UserOnly:
    """Marks what only the user's file and the environment may set, never a cloned repository (C76)."""


class EngineChoice(StrEnum):
    """Whether sessions coordinate, and how far."""

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
    """What happens to the commit of a person that has files which a session holds."""

    WARN = "warn"
    STOP = "stop"


class GateMode(StrEnum):
    """Whether a failed gate is a warning, or stops the work."""

    SPEED = "speed"
    FULL = "full"


class EventLayout(StrEnum):
    """How published events are arranged in their folder."""

    FLAT = "flat"
    DAY = "day"


@record
class Paths:
    """Where documents are stored, relative to the project root. Other tools read the default locations."""

    ledgers: Annotated[
        str,
        "Live ledgers: `LEDGER.md` for the first session, and a folder for each other one.",
        ProjectPath(),
    ] = layout.LEDGERS
    archive: Annotated[str, "Archived sessions.", ProjectPath()] = layout.ARCHIVE
    handoffs: Annotated[str, "Stream documents, each in a folder of its own name.", ProjectPath()] = (
        layout.HANDOFFS
    )
    events: Annotated[str, "Published events.", ProjectPath()] = layout.EVENTS
    event_archive: Annotated[str, "Archived events, by day.", ProjectPath()] = layout.EVENT_ARCHIVE
    view: Annotated[str, "The view merged from the events.", ProjectPath()] = layout.VIEW
    runtime: Annotated[str, "State of running sessions; ignored by git.", ProjectPath()] = layout.RUNTIME
    loops: Annotated[str, "Changes with their loop ledgers.", ProjectPath()] = layout.LOOPS
    tracks: Annotated[
        str, "Papers of tracks: `<track>/design.md`, `spec.md` and `plan.md`.", ProjectPath()
    ] = layout.TRACKS


@record
class EventSettings:
    """How published events are stored."""

    layout: Annotated[EventLayout, "All events in one folder, or one folder per day."] = EventLayout.FLAT
    retention_days: Annotated[
        int, "Archive events older than this many days.", Bounds(least=0, most=3650)
    ] = 7
    archive: Annotated[bool, "Archive old events automatically."] = True
    publish_minutes: Annotated[
        int,
        "A session publishes at the end of a turn at most once in this many minutes.",
        Bounds(least=0, most=1440),
    ] = 15


@record
class ViewSettings:
    """Where the view is a tracked file; elsewhere it is stored below `paths.runtime`, which git ignores."""

    commit: Annotated[ViewPolicy, "Track it on the integration branch only, on every branch, or on none."] = (
        ViewPolicy.INTEGRATION
    )
    branch: Annotated[
        str, "The integration branch; if empty, that of `origin`, or else `main` or `master`."
    ] = ""


@record
class CommitSettings:
    """When Passdown commits its own files, and nothing else."""

    session_end: Annotated[bool, "When a session has ended; at the latest at the next start."] = True
    handoff: Annotated[bool, "When a handoff is created."] = True
    checkpoint: Annotated[bool, "At the end of a turn, what sessions published."] = True
    checkpoint_minutes: Annotated[
        int, "Make at most one commit for checkpoints in this many minutes.", Bounds(least=0, most=10_080)
    ] = 30
    start: Annotated[bool, "At the start of a session, also what running sessions published."] = False
    event: Annotated[bool, "At the end of every turn that published something."] = False


@record
class ContextSettings:
    """The percentage of context use at which Passdown gives advice, for hosts that report it."""

    suggest: Annotated[int, "Suggest a handoff soon.", Bounds(least=1, most=100)] = 70
    save: Annotated[int, "Suggest a handoff now.", Bounds(least=1, most=100)] = 85
    force: Annotated[int, "Suggest a handoff, then clearing the context.", Bounds(least=1, most=100)] = 90


@record
class ProjectSettings:
    """What identifies the project to a server that sessions of several clones coordinate through."""

    key: Annotated[str, "The key that `passdown team init` drew.", ProjectKey()] = ""


@record
class CoordinationSettings:
    """Where sessions coordinate: through a file in git's folder, or a server in projects that have a key."""

    engine: Annotated[EngineChoice, "Server or file; the file, even with a key; or none."] = EngineChoice.AUTO
    team: Annotated[
        str, "The team of the project, whose server `[teams]` in the user's file names.", PlainName()
    ] = ""
    url: Annotated[
        str, "The server, whatever the team; `postgresql://`, `https://` or `unix:`.", ServerUrl(), UserOnly()
    ] = ""
    lease_minutes: Annotated[
        int,
        "A session that gives no sign of life for this long can lose its task and its files.",
        Bounds(least=1, most=1440),
    ] = 10
    wait_seconds: Annotated[
        int, "A command waits this long in all for a server or other sessions.", Bounds(least=1, most=60)
    ] = 10
    reservation_minutes: Annotated[
        int,
        "A reservation ends when it was not used for this long.",
        Bounds(least=1, most=10_080),
    ] = 120
    orphan_minutes: Annotated[
        int,
        "A task whose session died waits for it this long before `passdown claim` gives it to another.",
        Bounds(least=0, most=10_080),
    ] = 30


@record
class TrackerSettings:
    """Where tasks are kept: on the board, which sessions share, or in Beads."""

    kind: Annotated[
        TrackerChoice,
        "Beads if `bd` is installed and has a database here, or else the board; or one of them.",
    ] = TrackerChoice.AUTO
    push: Annotated[bool, "Let `passdown sync` push to a remote where syncing alone does not."] = False


@record
class GuardSettings:
    """What `passdown guard` does before a commit. It always stops an agent that commits another's files."""

    people: Annotated[PeoplePolicy, "Warn a person who commits files that a session holds, or stop."] = (
        PeoplePolicy.WARN
    )


@record
class GateSettings:
    """How validation gates are judged, and how long a command found in a document may run."""

    mode: Annotated[
        GateMode, "With `speed` a failed gate is a warning; with `full` three of the five stop the work."
    ] = GateMode.SPEED
    command_minutes: Annotated[
        int, "Stop a command of a plan, checkpoint or offer after this long.", Bounds(least=1, most=1440)
    ] = 5


@record
class TddSettings:
    """Whether Passdown follows the test-first cycle of a task."""

    default: Annotated[bool, "Follow it where neither `--tdd` nor `--no-tdd` says so."] = True


@record
class SessionSettings:
    """What a session is to others, unless `passdown start --team` or `--role` says it."""

    team: Annotated[str, "The team that it belongs to.", PlainName(), UserOnly()] = ""
    role: Annotated[str, "What it works on: it claims tasks for this role.", PlainName(), UserOnly()] = ""


@record
class TeamSettings:
    """The server of each team: `platform = "postgresql://db.example.com/passdown"`; `""` if it needs none."""

    urls: Annotated[
        tuple[tuple[str, str], ...], "The server of the team with this name.", AnyKey(), UserOnly()
    ] = ()


@record
class Settings:
    """All sections."""

    paths: Annotated[Paths, "Where documents are stored."] = field(default_factory=Paths)
    events: Annotated[EventSettings, "How published events are stored."] = field(
        default_factory=EventSettings
    )
    view: Annotated[ViewSettings, "Where the view is a tracked file."] = field(default_factory=ViewSettings)
    commit: Annotated[CommitSettings, "When Passdown commits."] = field(default_factory=CommitSettings)
    context: Annotated[ContextSettings, "When Passdown suggests a handoff."] = field(
        default_factory=ContextSettings
    )
    project: Annotated[ProjectSettings, "What identifies the project."] = field(
        default_factory=ProjectSettings
    )
    coordination: Annotated[CoordinationSettings, "Where sessions coordinate."] = field(
        default_factory=CoordinationSettings
    )
    tracker: Annotated[TrackerSettings, "Where tasks are kept."] = field(default_factory=TrackerSettings)
    guard: Annotated[GuardSettings, "What is judged before a commit."] = field(default_factory=GuardSettings)
    gates: Annotated[GateSettings, "How gates are judged."] = field(default_factory=GateSettings)
    tdd: Annotated[TddSettings, "Whether the test-first cycle is followed."] = field(
        default_factory=TddSettings
    )
    session: Annotated[SessionSettings, "Team and role."] = field(default_factory=SessionSettings)
    teams: Annotated[TeamSettings, "The servers of teams."] = field(default_factory=TeamSettings)


class SettingsSource(NamedTuple):
    """Where settings come from: a name to show, and tables by section.

    If all values are strings, as in the environment, a string may stand for a number or a boolean. A
    project's file may not set what is marked `UserOnly`.
    """

    name: str
    tables: Mapping[str, object]
    is_text: bool = False
    is_project: bool = False


def parse_environment(variables: Mapping[str, str]) -> SettingsSource:
    """Read `PASSDOWN_<SECTION>_<KEY>` from the environment; other variables are ignored."""
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

    The user's file is named in warnings about what a project may not set.
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
    """Check the values of one section; return those that count, and warnings about the others."""
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
            reason = f"is ignored: a repository must not choose it; set it in {user_file} or as {variable}"
            warnings.append(f"{name} {reason}")
        elif value and not (source.is_project or source.is_text) and _has(hint, ProjectKey):
            variable = f"{PREFIX}{section}_{key}".upper()
            warnings.append(f"{name} is ignored: it is one project's; set it in {FILE_NAME} or as {variable}")
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
    raise UsageError(f"{name} is not a number within its bounds", hint=hint)


def _check_text(value: object, name: str) -> str:
    if isinstance(value, str) and not _CONTROL.search(value):
        return value.strip()
    raise UsageError(f"{name} is not a single line of text", hint="write it in quotes, on one line")


def check_name(value: object, name: str) -> str:
    """Return a plain name, or raise a `UsageError` that says what it is for."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise UsageError(f"{name} is not a name", hint="write letters, digits, - and _ in quotes")


def _check_key(value: object, name: str) -> str:
    if isinstance(value, str) and _PROJECT_KEY.fullmatch(value):
        return value
    raise UsageError(f"{name} is not the key of a project", hint="`passdown team init` draws one")


def _check_url(value: object, name: str) -> str:
    """Return the URL of a server, or raise a `UsageError`, which must not show what may be a password."""
    from passdown.core.coordination.server_urls import has_secret, is_url  # few settings have one

    url = _check_text(value, name)
    if url and not is_url(url):
        hint = "write postgresql://host/database, https://host or unix:/path"
        raise UsageError(f"{name} is not the URL of a server", hint=hint)
    if has_secret(url):
        hint = "leave it out; PostgreSQL finds passwords in the file that PGPASSFILE names, or in a service"
        raise UsageError(f"{name} contains a password or token", hint=hint)
    return url


def _check_path(value: object, name: str) -> str:
    """Return a path within the project in its normal form, or raise `UsageError`."""
    path = normal_path(value) if isinstance(value, str) else None
    if path is None:
        hint = "write it from the root with / between folders, like docs/log"
        raise UsageError(f"{name} is not a path within the project", hint=hint)
    return path
