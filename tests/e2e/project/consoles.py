"""Runs the console blocks of the docs that no other test runs, in projects that `consoles.toml` prepares.

    uv run python -m tests.e2e.project.consoles PAGE…     writes real output into pages, where they show one

Each block of a page is run in order, by one reader with a home of their own (`tests/transcripts.py`). A
command that shows no output must succeed. A command that shows some must print it; `…` on a line of its own
stands for lines that are left out. What cannot be run is listed by its first command, with the reason.
"""

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.hosts.fake_hosts import write_program
from tests.steady import HOME, steady
from tests.support.terminals import PROGRAMS, PROMPT, Terminal
from tests.transcripts import ROOT, Desk, make_home, read_entries

PAGES: Final = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
HISTORY: Final = ("docs/adr/", "docs/spec/")
"""Decisions and the specification quote commands and run none."""
LEFT_OUT: Final = "…"
ROWS: Final = 120
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
NO_QUESTIONS: Final[Mapping[str, int]] = MappingProxyType({})
ASKS: Final = "]: "
NO_LINES: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
_FENCE: Final = re.compile(r"^(?P<indent> *)```console[^\n]*\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A console block of a page: its place, and its commands with the output that they show."""

    start: int
    end: int
    entries: tuple[tuple[str, str], ...]
    indent: str

    @property
    def name(self) -> str:
        """The first command, or nothing if the block shows only output."""
        return self.entries[0][0] if self.entries else ""


class Plan(NamedTuple):
    """What is known about the blocks of a page."""

    elsewhere: str = ""
    """The test that runs them and compares the whole page, if it is not the one of this module."""
    skip: Mapping[str, str] = NOTHING
    """The first commands of blocks that cannot be run, each with the reason."""
    start: str = ""
    """The name of what is typed before the first block."""
    files: Mapping[str, str] = NOTHING
    """Files that lie in the home before that."""
    hosts: Sequence[str] = ()
    """Programs on the PATH that take plugins as hosts do."""
    before: Mapping[str, Sequence[str]] = NO_LINES
    """What is typed before a block, by its first command; the page does not show it."""
    questions: Mapping[str, int] = NO_QUESTIONS
    """Commands that are typed at a real terminal the first time, and how many questions get a yes."""


@cache
def read_plans() -> Mapping[str, Plan]:
    """Read the plan of each page."""
    return {name: Plan(**plan) for name, plan in _read()["pages"].items()}


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("consoles.toml").read_text(encoding="utf-8"))


def list_pages() -> list[str]:
    """List the pages that have console blocks."""
    names = {path.relative_to(ROOT).as_posix() for pattern in PAGES for path in ROOT.glob(pattern)}
    return sorted(name for name in names if not name.startswith(HISTORY) and find_blocks(read_page(name)))


def read_page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def find_blocks(page: str) -> list[Block]:
    """Return the console blocks of a page."""
    return [
        Block(
            found.start("body"),
            found.end("body"),
            tuple(read_entries(_without_indent(found))),
            found["indent"],
        )
        for found in _FENCE.finditer(page)
    ]


def _without_indent(found: re.Match[str]) -> str:
    return re.sub(rf"(?m)^{found['indent']}", "", found["body"])


def correct(name: str, home: Path) -> str:
    """Return a page with the real output of its commands; fail if one that shows none does not succeed."""
    page, plan = read_page(name), read_plans()[name]
    blocks = [block for block in find_blocks(page) if block.name not in plan.skip]
    with Desk(home) as desk:
        printed = list(_run(blocks, plan, desk))
    texts = iter(steady(printed, str(home)))
    bodies = [
        _indent(block, "".join(_show(*entry, next(texts)) for entry in block.entries)) for block in blocks
    ]
    for block, body in reversed(list(zip(blocks, bodies, strict=True))):
        page = page[: block.start] + body + page[block.end :]
    return page


def _run(blocks: Sequence[Block], plan: Plan, desk: Desk) -> Iterator[str]:
    """Yield what each command of the blocks prints."""
    _prepare(plan, desk)
    questions = dict(plan.questions)
    for block in blocks:
        _type(plan.before.get(block.name, ()), desk)
        for command, shown in block.entries:
            if count := questions.pop(command, 0):
                yield _ask(command, count, desk)
                continue
            desk.code = 0
            printed = desk.type(command)
            assert shown or not desk.code, (command, printed)
            yield printed


def _prepare(plan: Plan, desk: Desk) -> None:
    """Write the files and programs that a page needs, and type what comes before its first block."""
    programs = desk.home / "bin"
    if plan.hosts:
        programs.mkdir()
        (programs / "passdown").symlink_to(Path(sys.executable).parent / "passdown")
    for host in plan.hosts:
        write_program(programs / host)
    desk.environment["PATH"] = f"{programs}{os.pathsep}{desk.environment['PATH']}"
    for path, text in plan.files.items():
        desk.save(path, text.replace(HOME, str(desk.home)))
    _type(_read()["starts"][plan.start] if plan.start else (), desk)


def _type(lines: Sequence[str], desk: Desk) -> None:
    """Type lines that must succeed, or fail if they begin with `!`."""
    for line in lines:
        desk.code = 0  # `cd` leaves that of the command before
        printed = desk.type(line.removeprefix("! "))
        assert bool(desk.code) == line.startswith("! "), (line, printed)


def _ask(command: str, questions: int, desk: Desk) -> str:
    """Type a command at a real terminal, answer its questions with yes, and return what it shows."""
    variables = {"HOME": str(desk.home), "TZ": "UTC", "PATH": f"{desk.home / 'bin'}:{PROGRAMS}"}
    with Terminal(desk.folder, variables, rows=ROWS) as terminal:
        screen = terminal.run(command, ASKS)
        for left in reversed(range(questions)):
            screen = terminal.type("y", ASKS if left else PROMPT)
    return screen.partition("\n")[2]


def _show(command: str, shown: str, printed: str) -> str:
    """Return a command as the page shows it, with the real output if it shows another."""
    return f"$ {command}\n{shown if not shown or is_shown(shown, printed) else printed}"


def _indent(block: Block, body: str) -> str:
    return "".join(f"{block.indent}{line}" for line in body.splitlines(keepends=True))


def is_shown(shown: str, printed: str) -> bool:
    """Return whether an output is the printed one; lines of `…` stand for any lines."""
    parts = re.split(rf"(?m)^{LEFT_OUT}\n", shown)
    return bool(re.fullmatch("(?:.*\n)*?".join(re.escape(part) for part in parts), printed))


def main() -> None:
    """Write the pages that are named, or all."""
    for name in sys.argv[1:] or [name for name, plan in read_plans().items() if not plan.elsewhere]:
        with make_home() as home:
            text = correct(name, home)
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
