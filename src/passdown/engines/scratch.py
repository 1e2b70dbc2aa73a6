"""A temporary folder outside of every project."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """Make an empty folder that only its owner can read; remove it and its contents at the end."""
    with tempfile.TemporaryDirectory(prefix="passdown-") as folder:
        yield Path(folder).resolve()
