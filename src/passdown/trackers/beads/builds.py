"""The abilities of a build of `bd`, found out once per binary, and which build may use a database."""

import json
from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, cast

from passdown import layout
from passdown.core.lazy_regex import pattern
from passdown.errors import (
    StorageError,
    TrackerAnswerError,
    TrackerMissingError,
    TrackerRefusedError,
    TrackerUnsureError,
)
from passdown.ports.documents import Documents
from passdown.ports.programs import TIMED_OUT, Programs
from passdown.records import as_dict, record

_VERSION: Final = pattern(r"(\d+)\.(\d+)\.(\d+)")
_ATOMIC: Final = (1, 3, 0)
"""From this version on, `bd` can be called by several processes at once."""


@record
class Build:
    """A build of `bd`: its version, and its abilities according to its help."""

    version: str
    can_append: Annotated[bool, "Whether it appends to notes; others replace them."]
    has_metadata: Annotated[bool, "Whether tasks have metadata, for the marks of operations."]
    has_imports: Annotated[bool, "Whether it reads and writes a file of lines beside its database."]
    has_sync: bool

    @property
    def numbers(self) -> tuple[int, int, int]:
        """The version as numbers."""
        return _parse_version(self.version)

    @property
    def needs_lock(self) -> bool:
        """Whether concurrent calls fail or lose claims or tasks, so that ours must run one by one."""
        return self.numbers < _ATOMIC

    @property
    def longest_note(self) -> int:
        """The most bytes of a task's note."""
        return _LONG_NOTE if self.numbers >= _ATOMIC else _SHORT_NOTE


_SHORT_NOTE: Final = 60_000
_LONG_NOTE: Final = 10_000_000


class Binary(NamedTuple):
    """A file on this machine, with its size and time of change to recognize it."""

    path: str
    size: int
    changed: int


class Memory:
    """The memory of this machine: the builds of binaries, and the newest build that used each database."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def find_build(self, binary: Binary) -> Build | None:
        """Return the build of a known binary, if the binary has not changed since."""
        known = _table(self._read().get("binaries")).get(binary.path)
        values = _table(known)
        if values.get("size") != binary.size or values.get("changed") != binary.changed:
            return None
        try:
            return Build(**cast("dict[str, bool]", values["build"]))  # type: ignore[arg-type]  # as written below
        except (KeyError, TypeError):
            return None

    def keep_build(self, binary: Binary, build: Build) -> None:
        """Remember the build of a binary."""
        value = {"size": binary.size, "changed": binary.changed, "build": as_dict(build)}
        self._keep("binaries", binary.path, value)

    def require_newest(self, database: str, build: Build) -> None:
        """Remember the build that uses a database; refuse a build that is older than the last one.

        A newer build changes the database when it first reads it, and an older one then fails or loses data.
        """
        known = _table(self._read().get("databases")).get(database)
        used = known if isinstance(known, str) and _VERSION.match(known) else "0.0.0"
        if _parse_version(used) > build.numbers:
            hint = f"Use bd {used} or newer: it has upgraded {database}."
            raise TrackerRefusedError(
                f"bd {build.version} is older than bd {used}, which these tasks were last used with",
                hint=hint,
            )
        if used != build.version:
            self._keep("databases", database, build.version)

    def _keep(self, table: str, name: str, value: object) -> None:
        found = self._read()
        found[table] = {**_table(found.get(table)), name: value}
        text = json.dumps(found, indent=1, sort_keys=True)
        self._documents.replace(layout.BEADS_MEMORY, text.encode(), local=True)

    def _read(self) -> dict[str, object]:
        try:
            found: object = json.loads(self._documents.read(layout.BEADS_MEMORY))
        except (StorageError, ValueError):  # missing, or not ours: nothing is remembered
            return {}
        return dict(_table(found))


def probe(programs: Programs, binary: Binary) -> Build:
    """Ask a binary for its version and abilities; neither needs a database."""
    told = programs.run([binary.path, "version", "--json"])
    if told.code == TIMED_OUT:
        raise TrackerUnsureError(f"`bd version` did not finish: {told.text}", hint="Nothing was changed.")
    found = _VERSION.search(told.text)
    if not told.is_done and found is None:
        raise TrackerMissingError(
            f"cannot run {binary.path}: {told.text.strip() or told.errors.strip()}"[:400],
            hint='Reinstall Beads, or set `kind = "board"` under [tracker].',
        )
    if found is None:
        raise TrackerAnswerError(
            f"{binary.path} does not report a version", hint="Check that it is the `bd` of Beads."
        )
    update = programs.run([binary.path, "update", "--help"]).text
    sync = programs.run([binary.path, "sync", "--help"])
    return Build(
        version=found.group(),
        can_append="--append-notes" in update,
        has_metadata="--set-metadata" in update,
        has_imports="--no-auto-import" in update,
        has_sync=sync.is_done,
    )


def _parse_version(text: str) -> tuple[int, int, int]:
    found = _VERSION.match(text)
    major, minor, patch = found.groups() if found else (0, 0, 0)
    return int(major), int(minor), int(patch)


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
