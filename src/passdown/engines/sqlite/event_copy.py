"""A new checkout's index begins as a copy of another checkout's (C131)."""

import os
import sqlite3
from contextlib import closing

from passdown.engines.files.write import link, make_private
from passdown.engines.sqlite.database import discard_database, open_read_only
from passdown.engines.sqlite.event_index import VERSION

_AS_CHANGED = """
UPDATE files SET changed = -1, number = -1, committed = 0;
UPDATE folders SET mark = 0;
DELETE FROM notes;
"""


def copy_index(path: str, to: str) -> bool:
    """Copy an index to a place that has none; return whether it was copied.

    1. Every file counts as changed, because the other checkout's file may differ: the next update compares
       contents, and reads what is not the same.
    2. The copy appears whole or not at all; of several processes, one makes it.
    3. Without hard links there is no copy, and the index is built from the events.
    """
    made = f"{to}.{os.getpid()}"
    try:
        make_private(made)
        with closing(open_read_only(path)) as known, closing(sqlite3.connect(made)) as copy:
            if known.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                return False
            known.backup(copy)
            copy.executescript(_AS_CHANGED)  # 1
        link(made, to)  # 2
    except (OSError, sqlite3.Error):  # 3
        return False
    finally:
        discard_database(made)
    return True
