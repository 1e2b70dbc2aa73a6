"""A look at an index that only says what it remembers: for a check that finds nothing new."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple


class Peek(NamedTuple):
    """The folders as they were when the index was last brought up to date, and a note that it keeps."""

    folders: Mapping[str, int]
    note: str


def peek(path: str, name: str) -> Peek | None:
    """Look without changing anything; None when there is no such note, or the index cannot be read."""
    try:
        connection = sqlite3.connect(_address(path), uri=True, isolation_level=None)
    except sqlite3.Error:
        return None
    try:
        connection.execute("BEGIN")
        note = connection.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
        folders = dict(connection.execute("SELECT path, mark FROM folders"))
    except sqlite3.Error:
        return None
    finally:
        connection.close()
    return Peek(folders, note[0]) if note else None


def _address(path: str) -> str:
    """Write a path as SQLite's address of a file that is only read; `urllib` is dear to load."""
    for character in "%?#":
        path = path.replace(character, f"%{ord(character):02x}")
    slashes = path.replace("\\", "/")
    return f"file:{slashes if slashes.startswith('/') else f'/{slashes}'}?mode=ro"
