"""Print data to stdout and everything else to stderr, without moving the cursor.

The reader of our output may exit early, as `head` does. We then continue without output, so that the exit
code stays correct.
"""

import errno
import io
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, TextIO

from passdown.core.safe_text import escape_json, one_line, printable
from passdown.errors import PassdownError, StorageError

JSON_VERSION: Final = 1
BUG: Final = 70
INTERRUPTED: Final = 130

_USUAL: Final = 80
_NARROW: Final = 40
_WIDE: Final = 100
# Windows reports EINVAL where other systems report EPIPE.
_GONE: Final = frozenset({errno.EPIPE, errno.EINVAL})


class NullOutput(io.TextIOBase):
    """A replacement for an output stream that nobody reads."""

    def write(self, text: str) -> int:
        """Discard the text."""
        return len(text)


def say(text: str) -> None:
    """Print data to stdout."""
    _write("stdout", f"{printable(text)}\n")


def note(text: str) -> None:
    """Print a message for the user to stderr; it is wrapped only on a terminal."""
    line = f"passdown: {one_line(text)}"
    _write("stderr", f"{wrapped(line, '', '  ') if is_terminal(sys.stderr) else line}\n")


def note_hint(text: str) -> None:
    """Print a hint about what to do next to stderr."""
    _write("stderr", f"{hint(text)}\n")


def draw(text: str) -> None:
    """Write to stderr unchanged; for the progress bar, which moves the cursor on purpose."""
    _write("stderr", text)


def _write(name: str, text: str) -> None:
    """Write text in the encoding of the stream; escape what the encoding cannot represent."""
    file = getattr(sys, name)
    if file is None:  # closed by the caller
        return
    encoding = file.encoding or "utf-8"
    try:
        file.write(text.encode(encoding, "backslashreplace").decode(encoding))
        file.flush()
    except OSError as found:
        setattr(sys, name, NullOutput())
        if name == "stdout" and found.errno not in _GONE:
            reason = f"could not write the output: {found.strerror}"
            raise StorageError(reason, hint="the output is incomplete") from found


def is_read() -> bool:
    """Return whether somebody still reads stdout."""
    return sys.stdout is not None and not isinstance(sys.stdout, NullOutput)


def render_json(data: Mapping[str, object]) -> str:
    """Render JSON that stdout can encode, with terminal control characters as JSON escapes."""
    import json  # text output does not need it

    is_utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    return escape_json(json.dumps(data, ensure_ascii=not is_utf8, indent=2))


def say_json(data: Mapping[str, object]) -> None:
    """Print one JSON object, with the version of its schema."""
    _write("stdout", render_json({"version": JSON_VERSION, **data}) + "\n")


def say_json_list(name: str, items: Iterable[str], rest: Mapping[str, object]) -> None:
    """Print one JSON object like `say_json`, with a list of items that are JSON already."""
    _write("stdout", f'{{\n  "version": {JSON_VERSION},\n  "{name}": [')
    between, end = "", "]"
    for item in items:
        _write("stdout", f"{between}\n    " + item.replace("\n", "\n    "))
        between, end = ",", "\n  ]"
    _write("stdout", f"{end}," + render_json(rest).removeprefix("{") + "\n")


def say_schema(schema: Mapping[str, object]) -> None:
    """Print a JSON Schema, without adding a version."""
    _write("stdout", render_json(schema) + "\n")


def hint(text: str, indent: str = "  ") -> str:
    """Wrap a hint to the width of the terminal."""
    return wrapped(f"hint: {text}", indent, f"{indent}      ")


def wrapped(text: str, first: str, indent: str) -> str:
    """Wrap a text to the width of the terminal, between 40 and 100 columns."""
    import textwrap  # imported only when text is wrapped

    return textwrap.fill(
        one_line(text),
        width=max(min(columns(), _WIDE), _NARROW),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def columns() -> int:
    """Return the width from `COLUMNS`, else the terminal's, else 80; importing `shutil` is slow."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return int(asked)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL if sys.__stdout__ else _USUAL
    except (OSError, ValueError):  # no terminal, or closed
        return _USUAL


def has_person() -> bool:
    """Return whether a user sees what we print and can answer."""
    return all(is_terminal(file) for file in (sys.stdout, sys.stderr, sys.stdin))


def agrees(question: str, *, usual: bool) -> bool:
    """Ask a yes-or-no question; `usual` is the answer if the user only presses Enter."""
    import click  # few commands ask

    try:
        return click.confirm(question, default=usual, err=True)
    except click.Abort:
        draw("\n")  # end the line of the question
        raise


def is_agreed(question: str, *, usual: bool, yes: bool, as_json: bool) -> bool:
    """Return whether the user agrees: with --yes, or by an answer.

    With --json the user has not seen what is planned, so only --yes can confirm.
    """
    return yes or (not as_json and has_person() and agrees(question, usual=usual))


def note_unwritten() -> None:
    """Report that nothing was written; without a terminal, point to --yes."""
    note("nothing was written")
    if not has_person():
        note_hint("no terminal to ask on; pass --yes to write without asking")


def is_terminal(file: TextIO | None) -> bool:
    """Return whether a stream, which may be closed, is a terminal."""
    return file is not None and file.isatty()


def wants_json(arguments: Iterable[str]) -> bool:
    """Return whether `--json` was given, even in a call that is otherwise invalid."""
    for argument in arguments:
        if argument in {"--json", "--"}:
            return argument == "--json"
    return False


def report(found: PassdownError, *, as_json: bool) -> int:
    """Report a Passdown error and return its exit code."""
    if as_json and _say_error(found.code, found.message, found.hint):
        return found.exit_code
    note(found.message)
    if found.hint:
        note_hint(found.hint)
    return found.exit_code


def report_interrupt(*, as_json: bool) -> int:
    """Report an interrupt, and return 130."""
    if as_json:
        _say_error("interrupted", "interrupted", "run the command again")
    note("interrupted")
    return INTERRUPTED


def report_bug(found: Exception, version: str, *, as_json: bool) -> int:
    """Report an unexpected error as a bug report that the user can send, and return 70."""
    import traceback  # needed only for a bug

    if as_json:
        shown = f"{type(found).__name__}: {found}"
        _say_error("bug", f"this is a bug in passdown: {shown}", "report it with the output on stderr")
    note("this is a bug in passdown; please report it with the lines below")
    lines = "".join(traceback.format_exception(found))
    python = sys.version.split()[0]
    _write("stderr", printable(f"{lines}passdown {version}, Python {python}, {sys.platform}\n"))
    return BUG


def _say_error(code: str, message: str, what_to_do: str) -> bool:
    """Print an error as JSON; return whether stdout accepted it."""
    if not isinstance(sys.stdout, NullOutput):
        # If stdout cannot be written to, the error is reported on stderr.
        with suppress(StorageError):
            say_json({"error": {"code": code, "message": message, "hint": what_to_do}})
            return not isinstance(sys.stdout, NullOutput)
    return False


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as `1 file` or `2 files`; `plural` is the word for several."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"
