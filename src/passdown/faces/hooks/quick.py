"""The quick path of hooks: it loads almost nothing and decides whether there is work to do.

A hook never breaks the agent: whatever goes wrong, it prints nothing and exits with 0.
"""

import _thread
import os
import stat
import sys
import time

from passdown import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
    from collections.abc import Callable
    from typing import Protocol

    class _Work(Protocol):
        """The work of a hook that is not idle; the caller supplies it."""

        def answer(
            self, arguments: list[str], payload: dict[str, object], root: str, elapsed: Callable[[], float]
        ) -> int: ...
        def say_rest(self, arguments: list[str], payload: dict[str, object]) -> None: ...
        def note(self, root: str, text: str) -> None: ...

else:
    import _signal as signals  # `signal` loads `enum`, which takes as long as this whole module

MOST_BYTES = 16_777_216
"""Larger than any known payload; longer ones are not read."""

MOST_SETTINGS = 1_048_576
"""The same limit as that of the full settings reader."""

GRACE = 0.2
"""The seconds that a hook has to clean up when its time is over."""

_READING = 5.0
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NAME_SURROGATE = 0x2000_0000
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO = frozenset({"", "0", "false", "no", "off"})
_PROMPT = "UserPromptSubmit"
_START = "SessionStart"
_TOOL = "PreToolUse"
_UNNAMED = "None"
"""The event of a payload that names none: in one host, the start of a subagent."""
_JUDGED = ("bd", "passdown")
"""A subagent's command is checked if it contains one of these."""


class OutOfTimeError(Exception):
    """A hook has used up its time."""


class Guard:
    """Ends a hook before its host does.

    1. If the host does not send its payload in time, the process exits at once.
    2. Work is logged and interrupted. Files are complete at any moment, and nothing is reported as done
       before it is.
    3. If cleaning up takes longer than the grace time, the process exits.

    Without signals, as on Windows, a thread watches the clock; it cannot interrupt the work, so it exits.
    """

    def __init__(self, work: "_Work") -> None:
        """Start without a limit."""
        self._work = work
        self._root = ""
        self._text = ""
        self._before: tuple[object, tuple[float, float]] | None = None
        self._lock: _thread.LockType | None = None

    def watch(self, seconds: float, root: str = "", text: str = "") -> None:
        """Set the limit from now on; with a root, it limits work rather than reading."""
        self._root, self._text = root, text
        try:
            old = signals.signal(signals.SIGALRM, self._ring)
            timer = signals.setitimer(signals.ITIMER_REAL, seconds, GRACE)
            self._before = self._before or (old, timer)
        except (AttributeError, ValueError):  # Windows, or not the main thread
            if root:
                self._watch_by_thread(seconds)

    def lift(self) -> None:
        """Remove the limit."""
        if self._before is not None:
            old, timer = self._before
            signals.setitimer(signals.ITIMER_REAL, *timer)
            signals.signal(signals.SIGALRM, old)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # as it was before
            self._before = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _ring(self, *_: object) -> None:
        root, self._root = self._root, ""
        if not root:  # 1, 3
            os._exit(0)
        _note(self._work, root, self._text)  # 2
        raise OutOfTimeError

    def _watch_by_thread(self, seconds: float) -> None:
        self._lock = lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(self._wait, (lock, seconds))

    def _wait(self, lock: _thread.LockType, seconds: float) -> None:
        if not lock.acquire(timeout=seconds):
            _note(self._work, self._root, self._text)
            os._exit(0)


def main(arguments: list[str], work: "_Work") -> int:
    """Answer a hook; call `work` if there is something to do."""
    began = time.perf_counter()
    if os.environ.get("PASSDOWN_OFF", "").strip().lower() not in _NO:
        return 0
    guard = Guard(work)
    try:
        try:
            guard.watch(_READING)
            return _answer(arguments, work, guard, began)
        finally:
            guard.lift()
    except (OutOfTimeError, KeyboardInterrupt):
        os._exit(0)
    except Exception as found:  # noqa: BLE001 - a hook never breaks the agent
        _note(work, find_root(_folder_of({})), f"hook: {type(found).__name__}: {found}")
        return 0


def limit_of(event: str) -> float:
    """Return the seconds that a hook may take: fewer than hosts allow, and fewest when a session ends."""
    if event == "SessionEnd":
        return 0.8
    return 8.0 if event in {_PROMPT, _TOOL, "SubagentStart", _UNNAMED} else 25.0


def _answer(arguments: list[str], work: "_Work", guard: Guard, began: float) -> int:
    payload, wrong = _read_payload()
    folder = _folder_of(payload)
    root = find_root(folder)
    event = str(payload.get("hook_event_name"))
    if not root and event == _START:
        return _rest(arguments, work, payload, folder)
    if not root or (not payload and not wrong):
        return 0
    places = _local_places(root)
    if _has(places, layout.PAUSED):
        return 0
    if wrong:
        _note(work, root, f"hook: {wrong}")
        return 0
    if _is_idle(event, payload, root, places):
        return 0
    seconds = limit_of(event)
    guard.watch(seconds, root, f"{event}: not finished after {seconds:g} seconds")
    return work.answer(arguments, payload, root, lambda: (time.perf_counter() - began) * 1000)


def _is_idle(event: str, payload: dict[str, object], root: str, places: list[tuple[str, str]]) -> bool:
    """Return whether a call needs no answer: no message waits for the prompt, or the tool is not checked."""
    if event == _PROMPT:
        session = layout.session_file(str(payload.get("session_id")))
        return not _has(places, layout.WAITING, session)
    return event == _TOOL and not (_is_coordination(payload) or _is_held(payload, root, places))


def _is_coordination(payload: dict[str, object]) -> bool:
    """Return whether a subagent may be about to coordinate, which only its session does (C84)."""
    command = _members(payload.get("tool_input")).get("command")
    is_named = isinstance(command, str) and any(name in command for name in _JUDGED)
    return is_named and bool(payload.get("agent_id"))


def _is_held(payload: dict[str, object], root: str, places: list[tuple[str, str]]) -> bool:
    """Return whether a tool may be about to edit a file that another session holds (C88)."""
    top, folder = places[-1]
    both = (layout.COORDINATION, layout.COORDINATION_COPY)
    names = [name for name in both if _is_file(top, *folder.split("/"), name)]
    if not names:
        return False
    from passdown.faces.hooks import quick_edits  # only where sessions have reserved files

    told = payload.get("tool_input")
    edited = quick_edits.find_edited(payload.get("tool_name"), told, _members(told))
    cwd = _folder_of(payload) or root
    bases = CheckoutRoots(root)
    paths = [name for path in edited for name in quick_edits.find_relative(path, cwd, bases.find)]
    ids = [payload.get("session_id"), payload.get("parent_agent_id")]
    return bool(paths) and quick_edits.may_be_held(paths, ids, os.path.join(top, folder), names, _read)


def _note(work: "_Work", root: str, text: str) -> None:
    """Write a line to the hook log, if there is a project; ignore any error."""
    try:
        if root:
            work.note(root, text)
    except Exception:  # noqa: BLE001 - a hook never breaks the agent
        return


def _rest(arguments: list[str], work: "_Work", payload: dict[str, object], folder: str) -> int:
    """Tell the user once that Passdown is not set up in this repository (C50)."""
    top = find_top(folder)
    if not top:
        return 0
    from passdown.faces.hooks.opt_in_notice import should_notify  # needed once per session

    if should_notify(top):
        work.say_rest(arguments, payload)
    return 0


def _read_payload() -> tuple[dict[str, object], str]:
    """Return the payload, and what is wrong with it: not a JSON object, or too long."""
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
        return {}, "the input is not valid JSON"
    return found, "" if found else "the input is empty or not a JSON object"


def _members(payload: object) -> dict[str, object]:
    return {str(name): payload[name] for name in payload} if isinstance(payload, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # each member is checked when it is used


class _Plain:
    """The settings of the JSON scanner: the defaults, without hooks."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner needs one


def _parse(text: str) -> object:
    """Parse JSON; the module `json` loads `re`, which takes as long as this whole module."""
    try:
        from _json import make_scanner  # only CPython has it
    except ImportError:
        import json

        return json.loads(text)
    try:
        value: object = make_scanner(_Plain)(text.lstrip(), 0)[0]  # type: ignore[arg-type]  # it needs only the attributes
    except (StopIteration, SystemError):  # the scanner's own exception is in a module that is not loaded
        raise ValueError("not JSON") from None
    return value


def _folder_of(payload: dict[str, object]) -> str:
    told = payload.get("cwd")
    try:
        return told if isinstance(told, str) and told else os.getcwd()
    except OSError:
        return ""


def find_root(folder: str) -> str:
    """Return the root of the project that a folder is in, or "" if Passdown is not set up there (C50)."""
    while folder:
        if os.path.isfile(os.path.join(folder, layout.SETTINGS)):
            return folder
        above = os.path.dirname(folder)
        if above == folder or _is_top(folder):
            return ""
        folder = above
    return ""


def find_top(folder: str) -> str:
    """Return the top of the repository that a folder is in, or "" if there is none."""
    while folder:
        if _is_top(folder):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return ""


def _is_top(folder: str) -> bool:
    """Do the same as `wiring.projects.is_top`, which takes too long to load for a prompt."""
    entry = os.path.join(folder, layout.GIT)
    return os.path.isfile(entry) or any(os.path.lexists(f"{entry}/{name}") for name in layout.GIT_PARTS)


class CheckoutRoots:
    """The project's root in each checkout of a clone."""

    def __init__(self, root: str) -> None:
        """Start from the root in one checkout."""
        self._root = root
        top = find_top(root)
        self._below = root[len(top) :] if top else ""
        self._common = os.path.realpath(find_common(root)) if top else ""

    def find(self, path: str) -> str:
        """Return the root in the innermost checkout of the clone that a file is in; empty if in none."""
        if not self._common:
            is_below = path.startswith(self._root + os.sep)
            return self._root if is_below else os.path.realpath(self._root)
        top = find_top(os.path.dirname(path))
        while top:
            if os.path.realpath(find_common(top)) == self._common:
                return top + self._below
            above = os.path.dirname(top)
            top = "" if above == top else find_top(above)
        return ""


def is_paused(root: str) -> bool:
    """Return whether the project is paused (C70)."""
    return _has(_local_places(root), layout.PAUSED)


def is_waiting(root: str, session: str) -> bool:
    """Return whether a message is waiting for the session's next prompt."""
    return has_file(root, layout.WAITING, session)


def has_file(root: str, kind: str, session: str) -> bool:
    """Return whether a session has a file of that kind."""
    return _has(_local_places(root), kind, layout.session_file(session))


def _has(places: list[tuple[str, str]], *names: str) -> bool:
    """Return whether there is such a file in git's folder, or one in the checkout that git does not track."""
    (root, runtime), *own = places
    if any(_is_file(common, *folder.split("/"), *names) for common, folder in own):
        return True
    is_there = _is_file(root, *runtime.split("/"), *names)
    return is_there and not is_tracked(root, os.path.join(root, runtime), *names)


def is_tracked(root: str, runtime: str, *names: str) -> bool:
    """Return whether git tracks a file of the runtime folder, which is given as a full path (C119)."""
    from passdown.errors import PassdownError  # usually there is no such file
    from passdown.wiring.machine_state import RuntimeFolders

    try:
        below = os.path.relpath(runtime, root).replace(os.sep, "/")
        return RuntimeFolders(below, os.environ).is_tracked(root, *names)
    except PassdownError:  # a bare repository has no checkout
        return True


def _is_file(root: str, *names: str) -> bool:
    """Return whether a path is a regular file, and no component of it below the root is a link."""
    path, mode = root, 0
    try:
        for name in names:
            path = os.path.join(path, name)
            found = os.lstat(path)
            mode = found.st_mode
            if stat.S_ISLNK(mode) or getattr(found, "st_reparse_tag", 0) & _NAME_SURROGATE:
                return False
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode)


def local_folders(root: str) -> list[str]:
    """Return the folders of local state: the one of this checkout, and the shared one in the git folder."""
    return [os.path.join(top, folder) for top, folder in _local_places(root)]


def _local_places(root: str) -> list[tuple[str, str]]:
    """Return the folders of local state, each as a root and the folder below it."""
    places = [(root, find_runtime(root))]
    if common := find_common(root):
        places.append((common, layout.OURS))
    return places


def find_runtime(root: str) -> str:
    """Return the runtime folder from the environment, else the project file, else the user file."""
    told = os.environ.get(layout.RUNTIME_VARIABLE)
    found = "" if told is None else layout.plain_path(told)
    if found == "":
        own = os.path.join(root, layout.SETTINGS)
        found = layout.read_runtime(_read(own, follows=False) if _is_file(root, layout.SETTINGS) else "")
    if found == "" and (user := layout.user_settings(os.environ, sys.platform)):
        found = layout.read_runtime(_read(user))
    return _ask_settings(root) if found is None else found or layout.RUNTIME


def _ask_settings(root: str) -> str:
    """Return the runtime folder from the full settings, or the default if they cannot be read."""
    from passdown.errors import PassdownError  # rarely needed
    from passdown.wiring.projects import find_runtime_folder

    try:
        return find_runtime_folder(root, os.environ)
    except (PassdownError, RecursionError):  # commands report what is wrong with them
        return layout.RUNTIME


def _read(path: str, *, follows: bool = True) -> str:
    """Return the text of a regular file, or "" if it cannot be read or is too large.

    `engines/files/read.py` would take as long to load as this whole module.
    """
    try:
        handle = os.open(path, _READ) if follows else os.open(path, _READ | _NOFOLLOW)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        data = os.read(handle, MOST_SETTINGS + 1)
    except OSError:
        return ""
    finally:
        os.close(handle)
    return "" if len(data) > MOST_SETTINGS else data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def find_common(folder: str) -> str:
    """Return the git folder that all checkouts share, or "" without git."""
    top = find_top(folder)
    entry = os.path.join(top, layout.GIT)
    return "" if not top else entry if os.path.isdir(entry) else _follow(entry)


def _follow(entry: str) -> str:
    """Follow the `.git` file that a worktree or submodule has instead of a git folder."""
    own = _first_line(entry).removeprefix("gitdir:").strip()
    own = os.path.join(os.path.dirname(entry), own) if own else ""
    shared = _first_line(os.path.join(own, layout.GIT_COMMON)) if own else ""
    return os.path.normpath(os.path.join(own, shared)) if own else ""


def _first_line(path: str) -> str:
    return _read(path).partition("\n")[0].strip()
