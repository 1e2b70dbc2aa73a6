"""The part of a hook that runs often: with next to nothing loaded it decides whether there is work to do.

A hook never breaks the agent: whatever goes wrong, it says nothing and exits with 0.
"""

# ruff: noqa: PTH109, PTH110, PTH112, PTH113, PTH118, PTH120, PTH123 (pathlib takes longer to load than this)

import os
import sys

MOST_BYTES = 16_777_216
"""More than any payload that was ever seen; what is longer is not read."""

SETTINGS = "passdown.toml"
RUNTIME = ".conductor"
WORDS = "waiting"
"""The folder of local state that holds a file for each session with something to be told."""

_NO = frozenset({"", "0", "false", "no", "off"})
_PROMPT = "UserPromptSubmit"


def main(arguments: list[str]) -> int:
    """Answer a hook."""
    if os.environ.get("PASSDOWN_OFF", "").strip().lower() not in _NO:
        return 0
    payload = _read_payload()
    root = find_root(_folder_of(payload)) if payload else ""
    if not payload or not root or is_paused(root):
        return 0
    session = payload.get("session_id")
    if payload.get("hook_event_name") == _PROMPT and not is_waiting(root, str(session)):
        return 0
    from passdown.faces.hooks.main import answer  # noqa: PLC0415 - the rest is loaded when it is needed

    return answer(arguments, payload, root)


def _read_payload() -> dict[str, object]:
    """Read what the host tells; nothing when it is no object of JSON, or too long."""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
        return _members(_parse(data.decode()) if len(data) <= MOST_BYTES else None)
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}


def _members(payload: object) -> dict[str, object]:
    return {str(name): payload[name] for name in payload} if isinstance(payload, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # what came in is looked at member by member


class _Plain:
    """How JSON is read: as it is, with nothing in the place of anything."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner wants one


def _parse(text: str) -> object:
    """Read JSON; the module made for it loads regular expressions, which takes as long as all of this."""
    try:
        from _json import make_scanner  # noqa: PLC0415 - other Pythons have none
    except ImportError:
        import json  # noqa: PLC0415

        return json.loads(text)
    try:
        value: object = make_scanner(_Plain)(text.lstrip(), 0)[0]  # type: ignore[arg-type]  # it asks for members only
    except StopIteration:
        raise ValueError("no JSON") from None
    return value


def _folder_of(payload: dict[str, object]) -> str:
    told = payload.get("cwd")
    try:
        return told if isinstance(told, str) and told else os.getcwd()
    except OSError:
        return ""


def find_root(folder: str) -> str:
    """Find the project that a folder lies in; empty where nobody agreed to be helped (C50)."""
    while folder:
        if os.path.isfile(os.path.join(folder, SETTINGS)):
            return folder
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return ""
        folder = above
    return ""


def is_paused(root: str) -> bool:
    """Say whether the project is held off (C70)."""
    marks = [os.path.join(root, RUNTIME, "paused")]
    if common := find_common(root):
        marks.append(os.path.join(common, "passdown", "paused"))
    return any(os.path.exists(mark) for mark in marks)


def is_waiting(root: str, session: str) -> bool:
    """Say whether something waits to be told to a session at its next prompt."""
    folders = [os.path.join(root, RUNTIME)]
    if common := find_common(root):
        folders.append(os.path.join(common, "passdown"))
    return any(os.path.exists(os.path.join(folder, WORDS, waiting_name(session))) for folder in folders)


def waiting_name(session: str) -> str:
    """Name the file that says so; what the host calls its session need not be a name."""
    return "".join(letter if letter.isalnum() else "-" for letter in session)[:80] or "-"


def find_common(folder: str) -> str:
    """Find the folder of git that all checkouts share; empty without git."""
    while folder:
        entry = os.path.join(folder, ".git")
        if os.path.isdir(entry):
            return entry
        if os.path.isfile(entry):
            return _follow(entry)
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return ""


def _follow(entry: str) -> str:
    """Follow the file that a worktree and a submodule have in the place of git's folder."""
    own = _first_line(entry).removeprefix("gitdir:").strip()
    own = os.path.join(os.path.dirname(entry), own) if own else ""
    shared = _first_line(os.path.join(own, "commondir")) if own else ""
    return os.path.normpath(os.path.join(own, shared)) if own else ""


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
