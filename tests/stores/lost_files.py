"""Ways in which the database of a clone gets lost."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Final

OLDER: Final = "older.sqlite"
"""The name of an older copy, in the folder above the repository's."""


def copy_database(path: Path, to: Path) -> None:
    """Copy a database with SQLite's own means."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def find_older(path: Path) -> Path:
    """Give the place of the older copy."""
    return path.parents[3] / OLDER


def delete(path: Path) -> None:
    """Delete the file and what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def delete_alone(path: Path) -> None:
    """Delete the file only."""
    path.unlink()


def empty(path: Path) -> None:
    """Leave nothing in the file."""
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    """Put something else into the file."""
    path.write_bytes(b"this is no database" * 1_000)


def damage(path: Path) -> None:
    """Change all pages but the first, and remove the log of SQLite."""
    path.write_bytes(path.read_bytes()[:4_096] + b"\xff" * max(path.stat().st_size - 4_096, 4_096))
    Path(f"{path}-wal").write_bytes(b"")


def cut(path: Path) -> None:
    """Leave the first half of the file, and nothing of the log of SQLite."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    Path(f"{path}-wal").write_bytes(b"")


def put_older(path: Path) -> None:
    """Put an older copy in its place, as a program does that restores files."""
    delete(path)
    shutil.copy(find_older(path), path)


def write_older(path: Path) -> None:
    """Write an older copy over it, and leave what SQLite keeps beside it."""
    path.write_bytes(find_older(path).read_bytes())


def put_other(path: Path) -> None:
    """Put the database of another clone in its place, which has more changes."""
    delete(path)
    copy_database(find_older(path), path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 7 WHERE name = 'identity'")
        connection.execute("UPDATE projects SET pos = 1000")


WAYS: Final[Mapping[str, Callable[[Path], None]]] = MappingProxyType(
    {
        "deleted": delete,
        "deleted alone": delete_alone,
        "emptied": empty,
        "overwritten": overwrite,
        "damaged": damage,
        "cut": cut,
        "replaced by an older copy": put_older,
        "overwritten by an older copy": write_older,
        "replaced by another": put_other,
    }
)
