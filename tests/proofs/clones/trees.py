"""Which events git's trees hold, read without the library: single files, and the lines of rollups."""

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Final

from tests.support.projects import EVENTS

_ID: Final = re.compile(r"^id: (\S+)$", re.MULTILINE)


class Trees:
    """Reads the trees of one repository and its clones; a file that was read once is not read again."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._blobs: dict[str, frozenset[str]] = {}
        self.ids: dict[str, str] = {}
        """The id of each event by its digest."""
        self.rolled = 0
        """How many lines the rollups of the tree that was read last have."""

    def held(self, root: Path, commit: str = "HEAD") -> frozenset[str]:
        """Return the digests of all events that a commit holds; a copy in the archive does not count."""
        listed = _git(root, "ls-tree", "-r", "-z", commit, "--", EVENTS)
        blobs = {
            line.split(b"\t")[0].split()[2].decode(): line.split(b"\t")[1]
            for line in listed.split(b"\0")
            if line
        }
        self._read(root, {blob: name for blob, name in blobs.items() if blob not in self._blobs})
        self.rolled = sum(len(self._blobs[blob]) for blob, name in blobs.items() if name.endswith(b".jsonl"))
        return frozenset[str]().union(*(self._blobs[blob] for blob in blobs))

    def _read(self, root: Path, blobs: dict[str, bytes]) -> None:
        if not blobs:
            return
        said = _git(root, "cat-file", "--batch", told="".join(f"{blob}\n" for blob in blobs).encode())
        for blob, name in blobs.items():
            head, _, said = said.partition(b"\n")
            size = int(head.split()[2])
            texts = read_texts(name, said[:size])
            self._blobs[blob] = frozenset(texts)
            self.ids |= {one: _ID.findall(text)[0] for one, text in texts.items()}
            said = said[size + 1 :]


def read_texts(name: bytes, data: bytes) -> dict[str, str]:
    """Return the events in a file by digest; a line of a rollup that was altered holds none."""
    if not name.endswith(b".jsonl"):
        return {digest(data): data.decode()}
    found: dict[str, str] = {}
    for line in data.splitlines()[1:]:
        values = json.loads(line)
        if digest(values["text"].encode()) == values["sha256"]:
            found[values["sha256"]] = values["text"]
    return found


def digest(data: bytes) -> str:
    """Return what an event is recognised by."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _git(root: Path, *arguments: str, told: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=root, input=told, stdout=subprocess.PIPE, check=True
    ).stdout
