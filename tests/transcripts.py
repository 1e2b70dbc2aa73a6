"""Runs the commands in the documents, and compares their output with what the documents show.

    uv run python -m tests.transcripts     writes the real output of the commands

A page is followed in order, in one empty folder that is the home of its reader:

- a fence with `title="path"` is saved as that file; a `diff` fence with a title is an edit of that file;
- each line `$ …` of a `console` fence is run, if the first of them is a command that we may run;
- `$ script …` opens a window inside the window, as a process, and `$ exit` closes it.

README and the home page show, in marked fences, commands with the output from a tutorial.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.steady import HOME, steady
from tests.support.terminals import read_written
from tests.trackers.dying_bd import make_small

ROOT: Final = Path(__file__).resolve().parent.parent
FIRST_CHECK: Final = ROOT / "docs" / "tutorial" / "first-check.md"
FIRST_SESSION: Final = ROOT / "docs" / "tutorial" / "first-session.md"
TWO_AGENTS: Final = ROOT / "docs" / "tutorial" / "two-agents.md"
WITH_BEADS: Final = ROOT / "docs" / "how-to" / "use-beads.md"
WITHOUT_TRACKER: Final = ROOT / "docs" / "how-to" / "work-without-a-tracker.md"
IN_LOOPS: Final = ROOT / "docs" / "how-to" / "work-in-loops.md"
SUBAGENTS: Final = ROOT / "docs" / "how-to" / "subagents.md"
TEST_FIRST: Final = ROOT / "docs" / "how-to" / "test-first.md"
GATES: Final = ROOT / "docs" / "how-to" / "gates.md"
PREFLIGHT: Final = ROOT / "docs" / "how-to" / "preflight.md"
README: Final = ROOT / "README.md"
HOME_PAGE: Final = ROOT / "docs" / "index.md"

COLUMNS: Final = 80
_MAY_RUN: Final = frozenset({"passdown", "git", "cat", "cd", "script", "exit"})
_FOREIGN: Final = ("PASSDOWN_", "XDG_", "GIT_", "CLAUDE", "CODEX")
_GIT_SETTINGS: Final = "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n"
_FENCE: Final = re.compile(
    r"^```(?P<kind>[a-z]+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ENTRY: Final = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_MARKED: Final = re.compile(
    r"(?<=<!-- output: check -->\n```console\n).*?(?=^```$)"
    r"|(?<=<!-- output: session -->\n```console\n).*?(?=^```$)",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fence of a page: the position of its body, and the output of its commands."""

    start: int
    end: int
    commands: tuple[str, ...]
    outputs: tuple[str, ...]


class Window:
    """A process in which commands run, as in a terminal or an agent's host; it dies when closed."""

    def __init__(self) -> None:
        """Open the window."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.transcripts", "window"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, asked: dict[str, object]) -> tuple[str, int]:
        """Run a command in the window; return all output and the exit code."""
        typed, shown = self._process.stdin, self._process.stdout
        assert typed
        assert shown
        typed.write(json.dumps(asked) + "\n")
        typed.flush()
        printed, code = json.loads(shown.readline())
        return str(printed), int(code)

    def close(self) -> None:
        """Kill the window; whatever runs in it is not told."""
        self._process.communicate()


def keep_window() -> None:
    """Be a window: run the requested commands until there are no more requests."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(json.loads(line))) + "\n")
        sys.stdout.flush()


def _run(asked: dict[str, object]) -> tuple[str, int]:
    """Run a command at a terminal without input; return all output and the exit code."""
    if sys.platform == "win32":  # has no such terminals
        process = _start(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        data, _ = process.communicate()
        return data.decode("utf-8").replace("\r\n", "\n"), process.returncode
    screen, typed = os.openpty()
    process = _start(asked, stdout=typed, stderr=typed)
    os.close(typed)
    data = b"".join(_read(screen))
    return data.decode("utf-8").replace("\r\n", "\n"), process.wait()


def _start(asked: dict[str, object], **outputs: int) -> subprocess.Popen[bytes]:
    with open(str(asked.pop("given")), "rb") as given:
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]  # it went through JSON
            **asked, stdin=given, **outputs
        )


def _read(screen: int) -> Iterator[bytes]:
    """Read the output until every writer has closed it."""
    try:
        while data := read_written(screen):
            yield data
    finally:
        os.close(screen)


class Desk:
    """The place where a reader follows a page: a home, the current folder, and the open windows."""

    def __init__(self, home: Path) -> None:
        """Start in a home folder that is empty except for git's settings."""
        self.home = home
        self.folder = home
        self.code = 0
        """The exit code of the last command."""
        self._windows: list[Window] = []
        (home / ".gitconfig").write_text(_GIT_SETTINGS, encoding="utf-8")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        where = {"HOME": str(home), "USERPROFILE": str(home), "LC_ALL": "C.UTF-8"}
        self.environment = {**ours, **where, "COLUMNS": str(COLUMNS), "TERM": "dumb", "TZ": "UTC"}

    def __enter__(self) -> Self:
        """Return the desk."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the open windows."""
        for window in self._windows:
            window.close()

    def type(self, line: str) -> str:
        """Type a command as a reader would, and return all output; it may end in `< FILE`."""
        line, _, given = line.partition(" < ")
        program, *arguments = shlex.split(line)
        match program:
            case "cd":
                self.folder /= arguments[0]
            case "script":
                self._windows.append(Window())
            case "exit":
                self._windows.pop().close()
            case _:
                start = [sys.executable, "-m", "passdown"] if program == "passdown" else [program]
                asked: dict[str, object] = {
                    "args": [*start, *arguments],
                    "cwd": str(self.folder),
                    "env": self.environment,
                    "given": str(self.folder / given) if given else os.devnull,
                }
                printed, self.code = self._windows[-1].run(asked) if self._windows else _run(asked)
                return printed
        return ""

    def save(self, name: str, text: str) -> None:
        """Save a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, difference: str) -> None:
        """Edit a file by hand, as a diff without line numbers describes."""
        text = (self.folder / name).read_text(encoding="utf-8")
        lines = difference.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        assert text.count(old) == 1, f"{name} does not hold this once:\n{old}"
        self.save(name, text.replace(old, new))


@contextmanager
def make_home() -> Iterator[Path]:
    """Make a home whose path is as long as the one that is shown, so that no line is wrapped elsewhere."""
    home = Path("/tmp") / secrets.token_hex(2)  # noqa: S108 - nobody knows its name before it is made
    home.mkdir(mode=0o700)
    try:
        assert len(str(home)) == len(HOME)  # else readers would see lines that nobody gets
        yield home
    finally:
        shutil.rmtree(home)


def read_entries(body: str) -> list[tuple[str, str]]:
    """Read the commands of a console fence, each with the output that is shown."""
    return [(entry["command"], entry["output"]) for entry in _ENTRY.finditer(body)]


def may_run(command: str) -> bool:
    """Return whether a command is one that is run when a page is followed."""
    return command.split(maxsplit=1)[0] in _MAY_RUN


def replay(page: str, desk: Desk) -> Iterator[Block]:
    """Follow a page in order, and yield the real output of its commands."""
    for fence in _FENCE.finditer(page):
        if fence["title"]:
            do = desk.edit if fence["kind"] == "diff" else desk.save
            do(fence["title"], fence["body"])
        commands = [command for command, _ in read_entries(fence["body"])]
        if fence["kind"] == "console" and commands and may_run(commands[0]):
            outputs = tuple(desk.type(command) for command in commands)
            yield Block(fence.start("body"), fence.end("body"), tuple(commands), outputs)


def corrected(page: str, folder: Path, *, has_made_up_values: bool = False) -> str:
    """Return a page with the real output of its commands; changing values may be made up."""
    with Desk(folder) as desk:
        blocks = list(replay(page, desk))
    outputs: Sequence[str] = [output for block in blocks for output in block.outputs]
    if has_made_up_values:
        outputs = steady(outputs, str(folder))
    left = list(outputs)
    for block in reversed(blocks):
        shown = left[-len(block.commands) :]
        del left[-len(block.commands) :]
        wanted = "".join(f"$ {command}\n{said}" for command, said in zip(block.commands, shown, strict=True))
        page = page[: block.start] + wanted + page[block.end :]
    return page


def corrected_readme(readme: str, pages: Sequence[str]) -> str:
    """Return the README with the output that the pages show for its commands; the last one counts."""
    fences = [
        fence["body"] for page in pages for fence in _FENCE.finditer(page) if fence["kind"] == "console"
    ]
    shown = dict(entry for body in fences for entry in read_entries(body))

    def fill(found: re.Match[str]) -> str:
        return "".join(f"$ {command}\n{shown[command]}" for command, _ in read_entries(found[0]))

    return _MARKED.sub(fill, readme)


def correct_page(path: Path, folder: Path) -> str:
    """Return the correct content of one of our pages."""
    page = path.read_text(encoding="utf-8")
    return corrected(page, folder, has_made_up_values=path != FIRST_CHECK)


def correct_beads_page(folder: Path) -> str:
    """Return the correct page about Beads, with a small `bd` that fails to answer three times."""
    bd = make_small(folder / "bd", "1.3.0")
    for number, title in enumerate(("Sign in form", "Docs"), 1):
        bd.add(f"tp-{number}", title=title)
    bd.plan("", "", "before", "before", "before")
    (folder / "home").mkdir()
    before = dict(os.environ)
    os.environ.update(bd.environment())
    try:
        return correct_page(WITH_BEADS, folder / "home")
    finally:
        os.environ.clear()
        os.environ.update(before)


def main() -> None:
    """Write the pages again."""
    pages: list[str] = []
    for path in (
        FIRST_CHECK,
        FIRST_SESSION,
        TWO_AGENTS,
        WITHOUT_TRACKER,
        IN_LOOPS,
        TEST_FIRST,
        GATES,
        PREFLIGHT,
    ):
        with tempfile.TemporaryDirectory() as folder:
            pages.append(correct_page(path, Path(folder)))
        path.write_text(pages[-1], encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        WITH_BEADS.write_text(correct_beads_page(Path(folder)), encoding="utf-8")
    for path in (README, HOME_PAGE):
        path.write_text(corrected_readme(path.read_text(encoding="utf-8"), pages), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["window"]:
        keep_window()
    else:
        main()
