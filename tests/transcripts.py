"""The commands shown in the documents are run, and their output is what the documents show.

    uv run python -m tests.transcripts     writes what the commands really print

A fence with `title="path"` is saved as that file; `console` fences whose first line is `$ passdown …` are
run in order in one empty folder. README shows the tutorial's first check.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
TUTORIAL: Final = ROOT / "docs" / "tutorial" / "first-check.md"
README: Final = ROOT / "README.md"

_FENCE: Final = re.compile(
    r"^```(?P<kind>[a-z]+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_COMMAND: Final = re.compile(r"\$ passdown ([^\n]*)\n")
_MARKED: Final = re.compile(
    r"(?<=<!-- output: check -->\n```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A fence of a page: where its body stands, and what it should be."""

    start: int
    end: int
    wanted: str


def run(arguments: str, folder: Path) -> str:
    """Run a command as a reader would in a folder, and return all it prints."""
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "passdown", *arguments.split()],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout


def replay(page: str, folder: Path) -> Iterator[Block]:
    """Do what a page says, in order, and yield what its command blocks should show."""
    for fence in _FENCE.finditer(page):
        body = fence["body"]
        if fence["title"]:
            path = folder / fence["title"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        command = _COMMAND.match(body) if fence["kind"] == "console" else None
        if command:
            yield Block(fence.start("body"), fence.end("body"), command[0] + run(command[1], folder))


def corrected(page: str, folder: Path) -> str:
    """Return a page with what its commands really print."""
    for block in reversed(list(replay(page, folder))):
        page = page[: block.start] + block.wanted + page[block.end :]
    return page


def corrected_readme(readme: str, tutorial: str) -> str:
    """Return the README with the tutorial's first check in its marked block."""
    bodies = (fence["body"] for fence in _FENCE.finditer(tutorial))
    shown = next(body for body in bodies if body.startswith("$ passdown check"))
    return _MARKED.sub(lambda _: shown, readme)


def main() -> None:
    """Write the pages anew."""
    with tempfile.TemporaryDirectory() as folder:
        tutorial = corrected(TUTORIAL.read_text(encoding="utf-8"), Path(folder))
    TUTORIAL.write_text(tutorial, encoding="utf-8")
    README.write_text(corrected_readme(README.read_text(encoding="utf-8"), tutorial), encoding="utf-8")


if __name__ == "__main__":
    main()
