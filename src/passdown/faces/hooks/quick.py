"""The part of a hook that runs often: with next to nothing loaded it decides whether there is work to do.

A hook never breaks the agent: whatever goes wrong, it says nothing and exits with 0.
"""

# ruff: noqa: PTH109, PTH110, PTH112, PTH113, PTH118, PTH120, PTH123 (pathlib takes longer to load than this)

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals  # the usual one loads `enum`, which takes as long as all of this

MOST_BYTES = 16_777_216
"""More than any payload that was ever seen; what is longer is not read."""

SETTINGS = "passdown.toml"
RUNTIME = ".conductor"
WORDS = "waiting"
"""The folder of local state that holds a file for each session with something to be told."""

GRACE = 0.2
"""Seconds in which a hook that is out of time may clean up."""

_READING = 5.0
_NO = frozenset({"", "0", "false", "no", "off"})
_PROMPT = "UserPromptSubmit"
_START = "SessionStart"


class OutOfTimeError(Exception):
    """A hook has worked for as long as it may."""


class Guard:
    """Ends a hook before its host does.

    1. A host that does not say what it wants is left at once.
    2. Work is interrupted where it stands, after a line in our log. What is written is whole at any moment,
       and nothing is said to be done before it is.
    3. Whoever is still cleaning up a moment later is left, too.

    Without signals, as on Windows, a thread looks at the clock; it interrupts nobody, and leaves.
    """

    def __init__(self) -> None:
        """Guard nothing yet."""
        self._root = ""
        self._text = ""
        self._before: tuple[object, tuple[float, float]] | None = None
        self._lock: _thread.LockType | None = None

    def watch(self, seconds: float, root: str = "", text: str = "") -> None:
        """Count from now on; with a root it is work that is done."""
        self._root, self._text = root, text
        try:
            old = signals.signal(signals.SIGALRM, self._ring)
            timer = signals.setitimer(signals.ITIMER_REAL, seconds, GRACE)
            self._before = self._before or (old, timer)
        except (AttributeError, ValueError):  # Windows, or a thread that gets no signals
            if root:
                self._watch_by_thread(seconds)

    def lift(self) -> None:
        """Count no more."""
        if self._before is not None:
            old, timer = self._before
            signals.setitimer(signals.ITIMER_REAL, *timer)
            signals.signal(signals.SIGALRM, old)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # it was there
            self._before = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _ring(self, *_: object) -> None:
        root, self._root = self._root, ""
        if not root:  # 1, 3
            os._exit(0)
        _note(root, self._text)  # 2
        raise OutOfTimeError

    def _watch_by_thread(self, seconds: float) -> None:
        self._lock = lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(self._wait, (lock, seconds))

    def _wait(self, lock: _thread.LockType, seconds: float) -> None:
        if not lock.acquire(timeout=seconds):
            _note(self._root, self._text)
            os._exit(0)


def main(arguments: list[str]) -> int:
    """Answer a hook."""
    began = time.perf_counter()
    if os.environ.get("PASSDOWN_OFF", "").strip().lower() not in _NO:
        return 0
    guard = Guard()
    try:
        try:
            guard.watch(_READING)
            return _answer(arguments, guard, began)
        finally:
            guard.lift()
    except (OutOfTimeError, KeyboardInterrupt):
        os._exit(0)
    except Exception as found:  # noqa: BLE001 - a hook never breaks the agent
        _note(find_root(_folder_of({})), f"hook: {type(found).__name__}: {found}")
        return 0


def limit_of(event: str) -> float:
    """Give the seconds that a hook may take: less than the plugin tells hosts, who wait little at the end."""
    if event == "SessionEnd":
        return 0.8
    return 8.0 if event in {_PROMPT, "SubagentStart"} else 25.0


def _answer(arguments: list[str], guard: Guard, began: float) -> int:
    payload, wrong = _read_payload()
    folder = _folder_of(payload)
    root = find_root(folder)
    event = str(payload.get("hook_event_name"))
    if not root and event == _START:
        return _rest(arguments, payload, folder)
    if not root or (not payload and not wrong) or is_paused(root):
        return 0
    if wrong:
        _note(root, f"hook: {wrong}")
        return 0
    if event == _PROMPT and not is_waiting(root, str(payload.get("session_id"))):
        return 0
    seconds = limit_of(event)
    guard.watch(seconds, root, f"{event}: not done after {seconds:g} seconds")
    from passdown.faces.hooks.main import answer  # noqa: PLC0415 - the rest is loaded when it is needed

    return answer(arguments, payload, root, lambda: (time.perf_counter() - began) * 1000)


def _note(root: str, text: str) -> None:
    """Write a line into our log, if there is a project; what goes wrong with that is told nobody."""
    try:
        from passdown.faces.hooks.notes import note_trouble  # noqa: PLC0415 - rarely needed

        if root:
            note_trouble(root, text)
    except Exception:  # noqa: BLE001 - a hook never breaks the agent
        return


def _rest(arguments: list[str], payload: dict[str, object], folder: str) -> int:
    """Say once, in a repository whose owner did not agree, that nothing is done (C50)."""
    top = find_top(folder)
    if not top:
        return 0
    from passdown.faces.hooks.rests import is_news  # noqa: PLC0415 - once for each session

    if is_news(top):
        from passdown.faces.hooks.main import say_rest  # noqa: PLC0415 - once for each repository

        say_rest(arguments, payload)
    return 0


def _read_payload() -> tuple[dict[str, object], str]:
    """Read what the host tells, and what is wrong with it: no object of JSON, or too long."""
    if sys.stdin is None:
        return {}, "there is no input"
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return {}, f"the input is longer than {MOST_BYTES} bytes"
        if not data.strip():
            return {}, ""
        found = _members(_parse(data.decode()))
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}, "the input is no JSON"
    return found, "" if found else "the input tells nothing"


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
    except (StopIteration, SystemError):  # the module that has the scanner's own error is not loaded
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


def find_top(folder: str) -> str:
    """Find the top of the repository that a folder lies in; empty where there is none."""
    while folder:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
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
    return has_file(root, WORDS, session)


def has_file(root: str, kind: str, session: str) -> bool:
    """Say whether there is a file of that kind for a session."""
    folders = [os.path.join(root, RUNTIME)]
    if common := find_common(root):
        folders.append(os.path.join(common, "passdown"))
    return any(os.path.exists(os.path.join(folder, kind, waiting_name(session))) for folder in folders)


def waiting_name(session: str) -> str:
    """Name the file that says so; what the host calls its session need not be a name."""
    return "".join(letter if letter.isalnum() else "-" for letter in session)[:80] or "-"


def find_common(folder: str) -> str:
    """Find the folder of git that all checkouts share; empty without git."""
    top = find_top(folder)
    entry = os.path.join(top, ".git")
    return "" if not top else entry if os.path.isdir(entry) else _follow(entry)


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
