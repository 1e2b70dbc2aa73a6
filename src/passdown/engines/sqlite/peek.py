"""A quick look at the notes of an index, for a check that finds nothing new."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from passdown.engines.sqlite.database import open_read_only


class Peek(NamedTuple):
    """The folders as they were when the index was last updated, and a note that it stores."""

    folders: Mapping[str, int]
    note: str


def peek(path: str, name: str) -> Peek | None:
    """Read the note without changing anything; return None if it does not exist or cannot be read."""
    try:
        connection = open_read_only(path)
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
