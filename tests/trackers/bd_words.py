"""What real builds of `bd` print when they refuse and when they fail.

Collected by running them, and from their sources; ids, paths and times are shortened. `list_failures` gives
twelve failures of each build, as a wrapper around the build prints them.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from passdown.ports.programs import ProgramResult

_ID_FORMAT: Final = "invalid ID format 'noid' (expected format: prefix-hash or prefix-hash.number)"
_PRIORITY: Final = 'invalid priority \\"9\\" (expected 0-4 or P0-P4, not words like high/medium/low)'
_UPDATED: Final = (
    '{"error":"1 of 1 issues failed to update","failed":[{"id":"tp-1","error":"updating issue: %s"}]}'
)
_STOPPED: Final = (
    "fatal error: failed to reserve page summary memory\n\nruntime stack:\nruntime.throw({0x1203229?})\n"
)
_FEW_FILES: Final = (
    "runtime: eventfd failed with 24\nfatal error: runtime: eventfd failed\n\ngoroutine 1 gp=0xe43\n"
)
_NO_DATABASE: Final = "Error: no beads database found\nHint: run 'bd init' to create a database\n"
_OUT_OF_SYNC: Final = (
    "Error: Database not initialized\n\nThis appears to be a fresh clone.\nFound: issues.jsonl\n"
)
_NOT_MATCHING: Final = 'no issue found matching "tp-none"'
_IN_JSON: Final = _NOT_MATCHING.replace('"', '\\"')

UNKNOWN: Final[Mapping[str, Sequence[ProgramResult]]] = MappingProxyType(
    {
        "0.44.0": (
            ProgramResult(0, "", f"Error fetching tp-none: {_NOT_MATCHING}"),
            ProgramResult(1, f'{{\n  "error": "{_IN_JSON}"\n}}'),
            ProgramResult(1, f'{{\n  "error": "resolving ID tp-none: {_IN_JSON}"\n}}'),
        ),
        "1.0.0": (
            ProgramResult(
                1, '{"error": "no issues found matching the provided IDs"}', "Error fetching tp-none"
            ),
            ProgramResult(1, "", f"Error resolving tp-none: {_NOT_MATCHING}"),
            ProgramResult(1, '{"error": "issue not found: tp-1"}'),
        ),
        "1.3.0": (
            ProgramResult(
                1, '{"error": "no issues found matching the provided IDs"}', "Issue tp-none not found"
            ),
            ProgramResult(1, "", f"Error resolving tp-none: {_NOT_MATCHING}"),
            ProgramResult(1, f'{{"error": "resolving --deps target \\"tp-none\\": {_IN_JSON}"}}'),
        ),
    }
)
"""There is no such task."""

REFUSED: Final[Mapping[str, Sequence[ProgramResult]]] = MappingProxyType(
    {
        "0.44.0": (
            ProgramResult(0, "", "Error claiming tp-1: already claimed by a"),
            ProgramResult(0, "", "Error updating tp-1: validate field update: invalid status: bogus"),
            ProgramResult(1, "", "Error: title required (or use --file to create from markdown)"),
            ProgramResult(1, "", "⚠ Creating issue.\nError: validation failed: title must be 500 characters"),
            ProgramResult(1, f'{{"error": "{_PRIORITY}"}}'),
            ProgramResult(1, "", "⚠ Creating issue.\nError: prefix mismatch: database uses 'tp'"),
            ProgramResult(1, "", f"Error: {_ID_FORMAT}"),
            ProgramResult(1, '{"error": "cannot add dependency: would create a cycle (tp-1 → tp-2 → tp-1)"}'),
            ProgramResult(1, "", 'Error: unknown command "heartbeat" for "bd"\nRun \'bd --help\' for usage.'),
            ProgramResult(1, "", "Error: unknown flag: --bogus\nUsage:\n  bd ready [flags]\n"),
            ProgramResult(1, "", "Error: requires at least 1 arg(s), only received 0\nUsage:\n"),
        ),
        "1.0.0": (
            ProgramResult(1, "", "Error claiming tp-1: issue already claimed by a"),
            ProgramResult(
                1, '{"error": "invalid status \\"bogus\\" (built-in: open, in_progress, blocked)"}'
            ),
            ProgramResult(1, "", '{\n  "error": "title required (or use --file to create from markdown)"\n}'),
            ProgramResult(
                1, "", '{\n  "error": "validation failed for issue : title must be 500 characters"\n}'
            ),
            ProgramResult(1, "", "{\n  \"error\": \"prefix mismatch: database uses 'tp-' but ID 'xx-1'\"\n}"),
            ProgramResult(1, '{"error": "adding dependency would create a cycle"}'),
            ProgramResult(1, '{"error": "cannot add self-dependency: tp-1 cannot depend on itself"}'),
            ProgramResult(
                1, "", "cannot close tp-1: blocked by open issues [tp-2] (use --force to override)"
            ),
            ProgramResult(1, '{"error": "metadata edit failed for tp-1: invalid --set-metadata"}'),
            ProgramResult(
                1, "", "Error updating tp-1: failed: Error 1105: string 'n n' is too large for column 'notes'"
            ),
            ProgramResult(1, "", '{\n  "error": "invalid sort policy \'bogus\'. Valid values: hybrid"\n}'),
        ),
        "1.3.0": (
            ProgramResult(
                1, "", f"Error updating tp-1: issue already claimed by a\n{_UPDATED % 'issue already'}"
            ),
            ProgramResult(
                1, "", f"Error updating tp-1: issue not claimable: status closed\n{_UPDATED % 'x'}"
            ),
            ProgramResult(1, '{"error": "heartbeat tp-1: issue not claimable: tp-1 status closed"}'),
            ProgramResult(
                1, "", "cannot close blocked issue: tp-1 is blocked by [tp-2] (use --force to override)"
            ),
            ProgramResult(
                1, "", 'cannot close tp-1: assignee is "a", actor is "bob"; reclaim or use --force'
            ),
            ProgramResult(1, "", f'cannot reassign tp-1: held by "a" (in_progress)\n{_UPDATED % "x"}'),
            ProgramResult(
                1, '{"error": "tp-1 already exists; use bd update, or bd import", "schema_version": 1}'
            ),
            ProgramResult(
                1, '{"error": "validation failed: validation failed for issue : title must be 500"}'
            ),
            ProgramResult(1, '{"error": "adding dependency would create a cycle", "schema_version": 1}'),
            ProgramResult(
                1, "", 'Error unclaiming tp-1: assignee mismatch: tp-1 is held by "a", expected "b"'
            ),
            ProgramResult(1, "", "Error: prefix mismatch: database uses 'tp-' but ID 'xx-1' doesn't match"),
        ),
    }
)
"""It will not do that, however often it is asked."""


def list_failures(version: str) -> Sequence[ProgramResult]:
    """Return the twelve failures of a build that may pass."""
    return (_list_sqlite() if version == "0.44.0" else _list_dolt(version)) + (
        ProgramResult(2, "", _STOPPED),
        ProgramResult(2, "", _FEW_FILES),
        ProgramResult(1, "", _NO_DATABASE),
        ProgramResult(1, ""),
    )


def _list_sqlite() -> tuple[ProgramResult, ...]:
    opened = "Error: failed to open database: "
    wal = f"{opened}failed to enable WAL mode: sqlite3: "
    return (
        ProgramResult(1, "", f"{wal}disk I/O error"),
        ProgramResult(1, "", f"{wal}database disk image is malformed"),
        ProgramResult(1, "", f"{wal}unable to open database file: open beads.db: permission denied"),
        ProgramResult(
            1, "", f"{opened}pre-migration orphan cleanup failed: sqlite3: database disk image is malformed"
        ),
        ProgramResult(1, "", "Error: failed to search issues: sqlite3: unable to open database file"),
        ProgramResult(
            0, "", "Error updating tp-1: failed to update issue: sqlite3: database or disk is full"
        ),
        ProgramResult(1, "", "Error: failed to invalidate blocked cache: sqlite3: database is locked"),
        ProgramResult(1, "", _OUT_OF_SYNC),
    )


def _list_dolt(version: str) -> tuple[ProgramResult, ...]:
    schema = "failed to open database: embeddeddolt: init schema: "
    texts = (
        f'{schema}failed to load database \\"tp\\": open noms/manifest: too many open files',
        f'{schema}failed to load database \\"tp\\": write noms/journal.idx: file too large',
        f'{schema}failed to load database \\"tp\\": journal index is malformed',
        f'{schema}failed to load database \\"tp\\": EOF',
        f"{schema}creating schema_migrations table: Error 1105: no database selected",
        f"{schema}embeddeddolt: switching to database: Error 1049: database not found: tp",
    )
    crc = 'time="09:18:38Z" level=error msg="invalid journal record at offset 492: CRC does not match"\n'
    found = [
        ProgramResult(1, "", f'{{\n  "error": "{text}"\n}}' if version == "1.0.0" else f"Error: {text}")
        for text in texts
    ]
    corrupted = "possible data loss detected in journal file at offset 492: corrupted journal"
    return (
        *found,
        ProgramResult(1, "", f'{crc}{{\n  "error": "{schema}{corrupted}"\n}}'),
        ProgramResult(1, "", "Error: loading config: reading config: open metadata.json: permission denied"),
    )
