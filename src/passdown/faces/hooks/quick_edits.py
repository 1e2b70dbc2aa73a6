"""A quick look at who reserved what, before an edit; it loads almost nothing (C77, C88).

It finds too much rather than too little: slower code then checks exactly what was found.
A file that cannot be read counts as empty.
"""

import os

from passdown import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"})
"""The tools that edit files, by their names in all hosts."""

_PATCH = "apply_patch"
_PATHS = ("file_path", "notebook_path", "path")
_PATCHED = "*** "
_WILDCARDS = "*?["
_LEASES = "SELECT name, session FROM leases WHERE kind = 'path' AND ended IS NULL"
_WAIT = 0.05
_LOGS = ("-wal", "-journal")


def find_edited(tool: object, told: object, members: "dict[str, object]") -> "list[str]":
    """Return the paths that a tool may be about to change, from its input and the members of that."""
    patch = told if isinstance(told, str) else members.get("command")
    found = [members.get(name) for name in _PATHS] if tool in EDITS else []
    if isinstance(patch, str) and (tool in EDITS or patch.lstrip().startswith(_PATCH)):
        lines = [line.strip() for line in patch.split("\n")]
        found += [line.partition(": ")[2].strip() for line in lines if line.startswith(_PATCHED)]
    return [path for path in found if isinstance(path, str) and path]


def find_relative(path: str, cwd: str, find_base: "Callable[[str], str]") -> "Iterator[str]":
    """Yield the names that a path has below the project's root: as written, and without links (C145).

    `find_base` returns the root that a file is below, which may be in another checkout; empty if none.
    """
    if "\0" in path:
        return
    full = os.path.join(cwd, path)
    folder, name = os.path.split(os.path.normpath(full))
    names: list[str] = []
    for one in (
        os.path.join(folder, name),
        os.path.join(os.path.realpath(folder), name),
        os.path.realpath(full),
    ):
        base = find_base(one)
        if base and one.startswith(base + os.sep):
            names.append(one[len(base) + 1 :].replace(os.sep, "/"))
    yield from dict.fromkeys(names)


def may_be_held(
    paths: "list[str]", ids: "list[object]", folder: str, names: "list[str]", read: "Callable[[str], str]"
) -> bool:
    """Return whether another session than the one with these ids may hold one of the paths.

    `folder` has the named files, in which reservations are stored, and the journals, which show which session
    a host means.
    """
    holders = {
        session
        for file in names
        for name, session in _read_leases(os.path.join(folder, file))
        if any(_may_meet(name, path) for path in paths)
    }
    return any(not _is_called(os.path.join(folder, layout.JOURNALS), one, ids, read) for one in holders)


def _may_meet(name: str, path: str) -> bool:
    """Return whether a reserved path or pattern may be above, below or at a path, by their beginnings alone.

    They are equal, without case, up to a wildcard or a character that may be written in several ways.
    """
    for one, other in zip(name, path, strict=False):
        if one != other and one.lower() != other.lower():
            return not (one.isascii() and other.isascii()) or one in _WILDCARDS
        if one in _WILDCARDS:
            return True
    return True


def _read_leases(path: str) -> "list[tuple[str, str]]":
    """Return the paths that sessions have reserved and not released; some sessions may be dead."""
    import _sqlite3  # `sqlite3` loads `datetime` and more, which takes longer than the query

    is_at_rest = not any(os.path.exists(path + end) for end in _LOGS)
    for character in "%?#":
        path = path.replace(character, f"%{ord(character):02x}")
    slashes = path.replace("\\", "/")
    address = f"file:{slashes if slashes.startswith('/') else f'/{slashes}'}?mode=ro"
    try:
        connection = _sqlite3.connect(
            f"{address}&immutable=1" if is_at_rest else address, timeout=_WAIT, uri=True
        )
        try:
            found: list[tuple[str, str]] = connection.execute(_LEASES).fetchall()
        finally:
            connection.close()
    except _sqlite3.Error:  # damaged, newer, locked, or not to be read here
        return []
    return found


def _is_called(folder: str, session: str, ids: "list[object]", read: "Callable[[str], str]") -> bool:
    """Return whether a session certainly is one to which a host gave one of these ids.

    Text that somebody wrote cannot look like these members, because its quotes would be escaped.
    """
    text = read(os.path.join(folder, f"{session}.jsonl"))
    return any(
        isinstance(one, str)
        and one.isascii()
        and (f'"host_session":"{one}"' in text or f'{{"kind":"host","text":"{one}"' in text)
        for one in ids
        if one and '"' not in str(one)
    )
