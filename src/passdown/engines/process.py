"""The `Processes` of this machine: from /proc on Linux, from `ps` on other POSIX systems, else unknown.

`ps` is started once in a call, for all processes. If its answer cannot be read, it is asked for each process.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.core.sessions.session_facts import NO_PROCESS, HostProcess
from passdown.engines.files import read
from passdown.engines.system import PROC, SystemBootClock
from passdown.ports.clock import BootClock

if TYPE_CHECKING:
    from passdown.core.hosts.persons import Ancestor

_START_FIELD: Final = 19
_SHELLS: Final = frozenset(
    {"sh", "bash", "zsh", "dash", "fish", "ksh", "mksh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "busybox"}
    | {"env", "sudo", "su", "doas", "timeout", "uv", "cmd.exe"}
)
_TERMINALS: Final = frozenset(
    {"tmux", "tmux: server", "screen", "SCREEN", "zellij", "dtach", "login", "sshd", "sshd-session"}
    | {"mosh-server", "ttyd", "script", "xterm", "uxterm", "urxvt", "rxvt", "st", "kitty", "alacritty"}
    | {"foot", "footclient", "ghostty", "konsole", "yakuake", "gnome-terminal-", "kgx", "ptyxis-agent"}
    | {"xfce4-terminal", "mate-terminal", "lxterminal", "qterminal", "deepin-terminal", "terminology"}
    | {"tilix", "guake", "terminator", "wezterm-gui", "wezterm-mux-ser", "wezterm-mux-server", "rio"}
    | {"contour", "hyper", "tabby", "warp", "warp-terminal", "Terminal", "iTerm2", "iTermServer-3"}
    | {"Ghostty", "WezTerm", "Warp", "Hyper", "Tabby"}
    # Visual Studio Code and its forks.
    | {"code", "code-insiders", "code-oss", "code-server", "codium", "vscodium", "cursor", "windsurf"}
    | {"positron", "Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Positron"}
    # JetBrains' and Android's.
    | {"idea", "pycharm", "webstorm", "goland", "clion", "rider", "rustrover", "phpstorm", "rubymine"}
    | {"datagrip", "dataspell", "aqua", "studio", "fleet", "remote-dev-serv", "remote-dev-server"}
    # Zed's.
    | {"zed", "zed-editor", "zeditor", "Zed", "zed-remote-serv", "zed-remote-server"}
)
"""The programs that open terminals, by their names; Linux cuts these to 15 characters."""
_RUNTIMES: Final = frozenset({"node", "MainThread", "electron", "Electron", "java"})
"""The programs that may run an editor, which then shows in their command line."""
_OF_EDITORS: Final = ("--type=ptyHost", "com.intellij.idea.", "-Didea.")
_HELPER: Final = " Helper"
"""What follows the name of an editor in the name of a process that it starts on macOS."""
_DEAD: Final = frozenset({"Z", "X"})
"""The states of processes that have ended but were not reaped by their parent."""
_LIMIT: Final = 16
_BETWEEN: Final = " "
_LEAST_WORDS: Final = 4
"""A parent, a process, when it started, and the process again."""


class SystemProcesses:
    """Asks the system about processes."""

    def __init__(
        self,
        platform: str = sys.platform,
        proc: str = PROC,
        ask: "Ask | None" = None,
        boot_clock: BootClock | None = None,
    ) -> None:
        """Choose the implementation for a system, named as in `sys.platform`."""
        self._proc = proc if platform.startswith("linux") else ""
        self._ask = ask or _ask_ps
        self._list = _list_processes if ask is None else dict
        self._listed: dict[int, _Listed] | None = None
        self._is_posix = platform != "win32"
        self._boot_clock: BootClock = boot_clock or SystemBootClock(platform, proc)

    def find_host(self) -> HostProcess:
        """Return the nearest ancestor that is not a shell, or the shell that a terminal opened.

        A terminal may have many windows, and lives on when one is closed.
        """
        pid, shell = os.getppid(), 0
        for _ in range(_LIMIT):
            name, parent = self._describe(pid)
            if not name or pid <= 1:
                return NO_PROCESS
            if name.lstrip("-") in _SHELLS:  # the name of a login shell starts with a hyphen
                pid, shell = parent, pid
                continue
            found = shell if self._is_terminal(pid, name) else pid
            return HostProcess(found, self._started(found), self._boot()) if found else NO_PROCESS
        return NO_PROCESS

    def _is_terminal(self, pid: int, name: str) -> bool:
        """Return whether a process opens terminals, such as a terminal emulator or an editor."""
        if name.partition(_HELPER)[0] in _TERMINALS:
            return True
        return name in _RUNTIMES and any(word.startswith(_OF_EDITORS) for word in self._words(pid))

    def list_ancestors(self) -> "Iterator[Ancestor]":
        """Yield the ancestors of this process, the nearest first, as far as the system reports them.

        A process whose parent has ended belongs to another one, usually the first process of the system.
        """
        from passdown.core.hosts.persons import Ancestor  # hooks do not ask

        pid, seen = os.getppid(), set[int]()
        while pid > 0 and pid not in seen:  # process ids are reused: the chain may change while we read it
            seen.add(pid)
            name, parent = self._describe(pid)
            if not name:
                return
            yield Ancestor(name, self._words(pid), self._variables(pid), pid)
            pid = parent

    def _words(self, pid: int) -> tuple[str, ...]:
        """Return the command line of a process."""
        if self._proc:
            return tuple(filter(None, _read(f"{self._proc}/{pid}/cmdline").split("\0")))
        return tuple(self._ask(pid, "args").split())

    def _variables(self, pid: int) -> frozenset[str]:
        """Return the names of the variables that a process was started with; only Linux reports them."""
        if not self._proc:
            return frozenset()
        entries = (entry.partition("=") for entry in _read(f"{self._proc}/{pid}/environ").split("\0"))
        return frozenset(name for name, _, value in entries if value)

    def is_alive(self, process: HostProcess) -> bool | None:
        """Compare number, start and boot; in another container the same number is another process."""
        if not process.pid or not process.started:
            return None
        boot, _, namespace = self._boot().partition(_BETWEEN)
        other_boot, _, other_namespace = process.boot.partition(_BETWEEN)
        if boot and other_boot and boot != other_boot:
            return False
        if namespace != other_namespace:
            return None
        started = self._started(process.pid)
        if started:
            return started.split() == process.started.split()  # `ps` pads the day
        return False if self._can_tell() else None

    def _can_tell(self) -> bool:
        """Return whether this system reports processes at all: our own process must have a start time."""
        return bool(self._started(os.getpid()))

    def is_gone(self, pid: int) -> bool:
        """Return whether no process has this number; False if it is unknown."""
        return not self._started(pid) and self._can_tell()

    def _boot(self) -> str:
        """Return the id of the machine's boot, on Linux with the container that process numbers belong to."""
        boot = self._boot_clock.read().boot
        if not self._proc:
            return boot
        try:
            namespace = os.readlink(f"{self._proc}/self/ns/pid")
        except OSError:
            namespace = ""
        return f"{boot}{_BETWEEN}{namespace}"

    def _started(self, pid: int) -> str:
        if self._proc:
            fields = _read(f"{self._proc}/{pid}/stat").rpartition(") ")[2].split()
            return fields[_START_FIELD] if len(fields) > _START_FIELD and fields[0] not in _DEAD else ""
        if not self._is_posix:
            return ""
        return self._all[pid].started if pid in self._all else self._ask_about(pid, "lstart")

    def _describe(self, pid: int) -> tuple[str, int]:
        """Return a process's name and the number of its parent; an empty name if it is unknown."""
        if self._proc:
            head, _, tail = _read(f"{self._proc}/{pid}/stat").rpartition(") ")
            fields = tail.split()
            return (head.partition("(")[2], int(fields[1])) if len(fields) > 1 else ("", 0)
        if not self._is_posix:
            return "", 0
        if pid in self._all:
            return os.path.basename(self._all[pid].command), self._all[pid].parent
        parent = self._ask_about(pid, "ppid")
        return os.path.basename(self._ask_about(pid, "comm")), int(parent) if parent.isdigit() else 0

    @property
    def _all(self) -> "dict[int, _Listed]":
        if self._listed is None:
            self._listed = self._list()
        return self._listed

    def _ask_about(self, pid: int, field: str) -> str:
        """Ask about one process; a process that is not among all of them has ended."""
        return "" if self._all else self._ask(pid, field)

    def forget(self) -> None:
        """Ask the system again from now on."""
        self._listed = None


Ask = Callable[[int, str], str]


class _Listed(NamedTuple):
    """What `ps` says about a process."""

    parent: int
    started: str
    command: str


def _read(path: str) -> str:
    try:
        return read.read_trusted(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _ask_ps(pid: int, field: str) -> str:
    return _run_ps("-o", f"{field}=", "-p", str(pid)).strip()


def _list_processes() -> dict[int, _Listed]:
    """Return all processes by number; none if the answer cannot be read.

    Where the time ends that a process started depends on the language, so the number of the process follows
    it. Our own process shows how many words the time has.
    """
    answer = _run_ps("-A", "-o", "ppid=", "-o", "pid=", "-o", "lstart=", "-o", "pid=", "-o", "comm=")
    rows = [words for line in answer.split("\n") if len(words := line.split()) > _LEAST_WORDS]
    own = str(os.getpid())
    end = next((words.index(own, 2) for words in rows if words[1] == own and own in words[2:]), 0)
    return {
        int(words[1]): _Listed(int(words[0]), " ".join(words[2:end]), " ".join(words[end + 1 :]))
        for words in rows
        if end and [words[1]] == words[end : end + 1] and words[0].isdigit() and words[1].isdigit()
    }


def _run_ps(*options: str) -> str:
    import subprocess  # not needed on Linux

    try:
        done = subprocess.run(["ps", *options], capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
