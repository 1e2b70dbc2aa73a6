"""What the command line prints: data to stdout, the rest to stderr, nothing that moves the cursor.

Whoever reads our output may go, as `head` does. Then we go on without, so that the exit code stays true.
"""

import errno
import io
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, TextIO

from passdown.core.texts import escape_json, one_line, printable
from passdown.errors import PassdownError, StorageError

JSON_VERSION: Final = 1
BUG: Final = 70
INTERRUPTED: Final = 130

_USUAL: Final = 80
_NARROW: Final = 40
_WIDE: Final = 100
# Windows says EINVAL where others say EPIPE.
_GONE: Final = frozenset({errno.EPIPE, errno.EINVAL})


class Nowhere(io.TextIOBase):
    """What stands for an output that nobody reads."""

    def write(self, text: str) -> int:
        """Forget the text."""
        return len(text)


def say(text: str) -> None:
    """Print data for whoever called."""
    _write("stdout", f"{printable(text)}\n")


def note(text: str) -> None:
    """Tell the person something that is no data; only a terminal gets it in lines of its width."""
    line = f"passdown: {one_line(text)}"
    _write("stderr", f"{wrapped(line, '', '  ') if is_terminal(sys.stderr) else line}\n")


def note_hint(text: str) -> None:
    """Tell the person what to do next."""
    _write("stderr", f"{hint(text)}\n")


def draw(text: str) -> None:
    """Write to stderr as it is; for the progress bar, which moves the cursor on purpose."""
    _write("stderr", text)


def _write(name: str, text: str) -> None:
    """Write text in the stream's own encoding; what it cannot hold is escaped."""
    file = getattr(sys, name)
    if file is None:  # closed by whoever started us
        return
    encoding = file.encoding or "utf-8"
    try:
        file.write(text.encode(encoding, "backslashreplace").decode(encoding))
        file.flush()
    except OSError as found:
        setattr(sys, name, Nowhere())
        if name == "stdout" and found.errno not in _GONE:
            reason = f"could not write the output: {found.strerror}"
            raise StorageError(reason, hint="what was written of it is not whole") from found


def render_json(data: Mapping[str, object]) -> str:
    """Render JSON that stdout can hold, with what a terminal would obey as JSON escapes."""
    import json  # noqa: PLC0415 - people are answered without it

    is_utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    return escape_json(json.dumps(data, ensure_ascii=not is_utf8, indent=2))


def say_json(data: Mapping[str, object]) -> None:
    """Print one JSON object, with the version of what it promises."""
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
    """Print a JSON Schema as it is."""
    _write("stdout", render_json(schema) + "\n")


def hint(text: str, indent: str = "  ") -> str:
    """Lay out a hint for the terminal's width."""
    return wrapped(f"hint: {text}", indent, f"{indent}      ")


def wrapped(text: str, first: str, indent: str) -> str:
    """Lay out a text for the terminal's width, between 40 and 100 columns."""
    import textwrap  # noqa: PLC0415 - needed only when there is something to lay out

    return textwrap.fill(
        one_line(text),
        width=max(min(columns(), _WIDE), _NARROW),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def columns() -> int:
    """Return the width that `COLUMNS` asks for, or the terminal's, or 80; `shutil` is dear to load."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return int(asked)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL if sys.__stdout__ else _USUAL
    except (OSError, ValueError):  # no terminal, or closed
        return _USUAL


def has_person() -> bool:
    """Whether a person sees what we print and can answer."""
    return all(is_terminal(file) for file in (sys.stdin, sys.stdout, sys.stderr))


def is_terminal(file: TextIO | None) -> bool:
    """Whether a stream, which may be closed, leads to a person."""
    return file is not None and file.isatty()


def wants_json(arguments: Iterable[str]) -> bool:
    """Whether `--json` was given, also in a call that is otherwise wrong."""
    for argument in arguments:
        if argument in {"--json", "--"}:
            return argument == "--json"
    return False


def report(found: PassdownError, *, as_json: bool) -> int:
    """Report an error of ours and return its exit code."""
    if as_json and _say_error(found.code, found.message, found.hint):
        return found.exit_code
    note(found.message)
    if found.hint:
        note_hint(found.hint)
    return found.exit_code


def report_interrupt(*, as_json: bool) -> int:
    """Report that somebody stopped us, and return 130."""
    if as_json:
        _say_error("interrupted", "interrupted", "repeat the command")
    note("interrupted")
    return INTERRUPTED


def report_bug(found: Exception, version: str, *, as_json: bool) -> int:
    """Report what nobody foresaw, as a bug report that can be sent, and return 70."""
    import traceback  # noqa: PLC0415 - needed only for a bug

    if as_json:
        shown = f"{type(found).__name__}: {found}"
        _say_error("bug", f"this is a bug in passdown: {shown}", "report it, with what stderr shows")
    note("this is a bug in passdown; please report it with the lines below")
    lines = "".join(traceback.format_exception(found))
    python = sys.version.split()[0]
    _write("stderr", printable(f"{lines}passdown {version}, Python {python}, {sys.platform}\n"))
    return BUG


def _say_error(code: str, message: str, what_to_do: str) -> bool:
    """Print an error as JSON; answer whether somebody can have read it."""
    if not isinstance(sys.stdout, Nowhere):
        # A stdout that cannot be written to is stderr's to tell.
        with suppress(StorageError):
            say_json({"error": {"code": code, "message": message, "hint": what_to_do}})
            return not isinstance(sys.stdout, Nowhere)
    return False
