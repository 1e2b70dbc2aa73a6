"""What a build of `bd` can do, found out once for each binary, and which build may use a database."""

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
    """A build of `bd`: its version, and what its help says that it can do."""

    version: str
    can_append: Annotated[bool, "Whether it adds to notes; others replace them."]
    has_metadata: Annotated[bool, "Whether tasks have metadata, for the marks of operations."]
    has_imports: Annotated[bool, "Whether it reads and writes a file of lines beside its database."]
    has_sync: bool

    @property
    def numbers(self) -> tuple[int, int, int]:
        """The version as numbers."""
        return _parse_version(self.version)

    @property
    def needs_lock(self) -> bool:
        """Whether calls at the same time fail, lose claims or lose tasks: then ours come one by one."""
        return self.numbers < _ATOMIC

    @property
    def longest_note(self) -> int:
        """How many bytes the note of a task may have."""
        return _LONG_NOTE if self.numbers >= _ATOMIC else _SHORT_NOTE


_SHORT_NOTE: Final = 60_000
_LONG_NOTE: Final = 10_000_000


class Binary(NamedTuple):
    """A file on this machine, and what tells that it is still the same."""

    path: str
    size: int
    changed: int


class Memory:
    """What this machine remembers: the builds of binaries, and the newest build that used each database."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def find_build(self, binary: Binary) -> Build | None:
        """Return what is known about a binary that has not changed since."""
        known = _table(self._read().get("binaries")).get(binary.path)
        values = _table(known)
        if values.get("size") != binary.size or values.get("changed") != binary.changed:
            return None
        try:
            return Build(**cast("dict[str, bool]", values["build"]))  # type: ignore[arg-type]  # as written below
        except (KeyError, TypeError):
            return None

    def keep_build(self, binary: Binary, build: Build) -> None:
        """Remember what a binary can do."""
        value = {"size": binary.size, "changed": binary.changed, "build": as_dict(build)}
        self._keep("binaries", binary.path, value)

    def require_newest(self, database: str, build: Build) -> None:
        """Remember the build that uses a database; refuse one that is older than another that did.

        A newer build changes the database when it first reads it, and an older one then fails or loses data.
        """
        known = _table(self._read().get("databases")).get(database)
        used = known if isinstance(known, str) and _VERSION.match(known) else "0.0.0"
        if _parse_version(used) > build.numbers:
            hint = f"Use bd {used} or newer here; {database} was changed by it."
            raise TrackerRefusedError(
                f"bd {build.version} is older than the tasks' last bd {used}", hint=hint
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
        except (StorageError, ValueError):  # not there yet, or not ours: then nothing is remembered
            return {}
        return dict(_table(found))


def probe(programs: Programs, binary: Binary) -> Build:
    """Ask a binary what it is and what it can do; neither question needs a database."""
    told = programs.run([binary.path, "version", "--json"])
    if told.code == TIMED_OUT:
        raise TrackerUnsureError(f"`bd version` did not finish: {told.text}", hint="Nothing was changed.")
    found = _VERSION.search(told.text)
    if not told.is_done and found is None:
        raise TrackerMissingError(
            f"{binary.path} does not run: {told.text.strip() or told.errors.strip()}"[:400],
            hint="Install Beads again, or set `kind` below [tracker] to board.",
        )
    if found is None:
        raise TrackerAnswerError(f"{binary.path} does not tell its version", hint="Is it the `bd` of Beads?")
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
