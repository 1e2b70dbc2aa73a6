"""Whether the host of a session still lives: the same process, not another one with its number."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import NO_PROCESS, HostProcess
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemBootClock

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
BOOT = "6d1f"
SPACE = "pid:[1]"


def make_proc(folder: Path, *processes: tuple[int, str, int, int], state: str = "S") -> SystemProcesses:
    """Make a /proc with these processes: number, name, parent, start."""
    for pid, name, parent, started in processes:
        (folder / str(pid)).mkdir(parents=True, exist_ok=True)
        rest = " ".join(["0"] * 17)
        (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {parent} {rest} {started} 0 0\n")
    own = folder / str(os.getpid())
    own.mkdir(parents=True, exist_ok=True)
    if not (own / "stat").exists():
        (own / "stat").write_text(f"{os.getpid()} (python) S 1 {' '.join(['0'] * 17)} 5 0 0\n")
    boot = folder / "sys" / "kernel" / "random"
    boot.mkdir(parents=True, exist_ok=True)
    (boot / "boot_id").write_text(f"{BOOT}\n")
    (folder / "self" / "ns").mkdir(parents=True, exist_ok=True)
    if not (folder / "self" / "ns" / "pid").is_symlink():
        (folder / "self" / "ns" / "pid").symlink_to(SPACE)
    return SystemProcesses("linux", str(folder))


def test_the_host_is_the_first_process_above_us_that_is_no_shell(tmp_path: Path) -> None:
    processes = make_proc(
        tmp_path, (os.getppid(), "bash", 71, 100), (71, "-zsh", 72, 90), (72, "my (odd) host", 1, 80)
    )

    assert processes.find_host() == HostProcess(72, "80", f"{BOOT} {SPACE}")


def test_the_host_in_a_window_of_a_terminal_is_the_shell_of_that_window(tmp_path: Path) -> None:
    processes = make_proc(
        tmp_path, (os.getppid(), "sh", 71, 100), (71, "-zsh", 72, 90), (72, "tmux: server", 1, 80)
    )

    assert processes.find_host() == HostProcess(71, "90", f"{BOOT} {SPACE}")


@pytest.mark.requirement("C123", "C62", through="inside")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("code", ("code", "--type=utility")),
        ("node", ("node", "bootstrap-fork", "--type=ptyHost")),
        ("MainThread", ("/vscode/node", "bootstrap-fork", "--type=ptyHost", "--logsLevel")),
        ("Code Helper (Plugin)", ()),
        ("java", ("/opt/idea/jbr/bin/java", "-Xmx2g", "com.intellij.idea.Main")),
        ("pycharm", ()),
        ("remote-dev-serv", ()),
        ("zed-editor", ()),
        ("zed-remote-serv", ()),
        ("wezterm-mux-ser", ()),
        ("zellij", ()),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_host_in_a_terminal_of_an_editor_is_its_shell(
    tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    processes = make_proc(tmp_path, (os.getppid(), "nu", 71, 100), (71, "pwsh", 72, 90), (72, name, 1, 80))
    (tmp_path / "72" / "cmdline").write_text("\0".join(words), encoding="utf-8")

    assert processes.find_host() == HostProcess(71, "90", f"{BOOT} {SPACE}")


@pytest.mark.requirement("C62", through="inside")
@pytest.mark.parametrize("words", [("node", "/lib/codex.js"), ("java", "-jar", "agent.jar"), ()])
def test_a_runtime_that_runs_no_editor_is_a_host(tmp_path: Path, words: tuple[str, ...]) -> None:
    processes = make_proc(tmp_path, (os.getppid(), "sh", 72, 100), (72, "node", 1, 80))
    (tmp_path / "72" / "cmdline").write_text("\0".join(words), encoding="utf-8")

    assert processes.find_host() == HostProcess(72, "80", f"{BOOT} {SPACE}")


def test_a_terminal_without_a_shell_is_no_host(tmp_path: Path) -> None:
    assert make_proc(tmp_path, (os.getppid(), "tmux: server", 1, 80)).find_host() == NO_PROCESS


@pytest.mark.parametrize("chain", [(), ((0, "bash", 1, 7), (1, "init", 0, 1)), ((0, "bash", 0, 7),)])
def test_a_host_that_nobody_knows_is_none(
    tmp_path: Path, chain: tuple[tuple[int, str, int, int], ...]
) -> None:
    processes = make_proc(
        tmp_path, *((pid or os.getppid(), name, parent, at) for pid, name, parent, at in chain)
    )

    assert processes.find_host() == NO_PROCESS


def test_a_chain_of_shells_without_an_end_is_given_up(tmp_path: Path) -> None:
    processes = make_proc(tmp_path, (os.getppid(), "bash", 71, 7), (71, "sh", os.getppid(), 8))

    assert processes.find_host() == NO_PROCESS


@pytest.mark.requirement("R51", "C62")
@pytest.mark.parametrize(
    ("process", "alive"),
    [
        (HostProcess(71, "100", f"{BOOT} {SPACE}"), True),
        (HostProcess(71, "99", f"{BOOT} {SPACE}"), False),
        (HostProcess(72, "100", f"{BOOT} {SPACE}"), False),
        (HostProcess(71, "100", f"other {SPACE}"), False),
        (HostProcess(71, "100", f"{BOOT} pid:[2]"), None),
        (HostProcess(71, "", f"{BOOT} {SPACE}"), None),
        (NO_PROCESS, None),
    ],
    ids=["the-same", "number-used-again", "gone", "before-a-boot", "in-a-container", "no-start", "none"],
)
def test_a_process_is_alive_when_number_start_and_boot_are_the_same(
    tmp_path: Path, process: HostProcess, *, alive: bool | None
) -> None:
    assert make_proc(tmp_path, (71, "claude", 1, 100)).is_alive(process) is alive


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_process_that_nobody_has_buried_is_dead(tmp_path: Path, state: str) -> None:
    processes = make_proc(tmp_path, (71, "claude", 1, 100), state=state)

    assert processes.is_alive(HostProcess(71, "100", f"{BOOT} {SPACE}")) is False
    assert processes.is_gone(71)


def test_a_folder_that_tells_nothing_makes_nobody_dead(tmp_path: Path) -> None:
    processes = SystemProcesses("linux", str(tmp_path / "none"))

    assert processes.is_alive(HostProcess(71, "100", " ")) is None
    assert not processes.is_gone(71)


def test_elsewhere_on_posix_the_system_is_asked() -> None:
    known = {
        (os.getpid(), "lstart"): "Mon",
        (os.getppid(), "comm"): "-bash",
        (os.getppid(), "ppid"): "71",
        (71, "comm"): "/usr/local/bin/codex",
        (71, "ppid"): "odd",
        (71, "lstart"): "Sun Jan 11 12:00:00 2026",
    }
    boot_clock = SystemBootClock("darwin", ask=lambda: BOOT)
    processes = SystemProcesses(
        "darwin", ask=lambda pid, field: known.get((pid, field), ""), boot_clock=boot_clock
    )

    host = processes.find_host()

    assert host == HostProcess(71, "Sun Jan 11 12:00:00 2026", BOOT)
    assert processes.is_alive(host) is True
    assert processes.is_alive(host._replace(boot="")) is True
    assert processes.is_alive(host._replace(boot="other")) is False
    assert processes.is_alive(host._replace(started="Sat")) is False
    assert processes.is_alive(host._replace(pid=72)) is False
    assert processes.is_gone(72)


def test_on_other_systems_nobody_knows() -> None:
    processes = SystemProcesses("win32")

    assert processes.find_host() == NO_PROCESS
    assert processes.is_alive(HostProcess(71, "100", "")) is None
    assert not processes.is_gone(71)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ps")
def test_ps_tells_about_a_real_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ps"
    program.write_text('#!/bin/sh\ntest "$4" = 71 && echo " $2 of $4 "\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    processes = SystemProcesses("darwin")

    assert processes.is_alive(HostProcess(71, "lstart= of 71", "")) is True
    assert processes.is_alive(HostProcess(72, "lstart= of 72", "")) is None
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert processes.is_alive(HostProcess(71, "lstart= of 71", "")) is None


PS = """#!/bin/sh
echo "$*" >> "{folder}/asked"
test "$1" = -A || exit 1
echo "  71 $PPID Thu Nov  9 01:32:46 2026 $PPID /bin/sh"
echo "$PPID {own} Thu Nov  9 01:32:47 2026 {own} /opt/my python/bin/python3"
echo "   1  71 Thu Nov 19 01:00:00 2026    71 /Applications/Claude Code/claude"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ps")
def test_ps_is_started_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ps"
    listed = PS.replace("$PPID", str(os.getppid())).format(folder=tmp_path, own=os.getpid())
    program.write_text(listed, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    boot_clock = SystemBootClock("darwin", ask=lambda: BOOT)
    processes = SystemProcesses("darwin", boot_clock=boot_clock)

    host = processes.find_host()

    assert host == HostProcess(71, "Thu Nov 19 01:00:00 2026", BOOT)
    assert processes.is_alive(host) is True
    assert processes.is_alive(HostProcess(os.getpid(), "Thu Nov  9 01:32:47 2026", BOOT)) is True
    assert processes.is_gone(72)
    assert (tmp_path / "asked").read_text().count("\n") == 1
    processes.forget()
    assert processes.is_alive(host) is True
    assert (tmp_path / "asked").read_text().count("\n") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ps")
def test_a_list_of_processes_that_cannot_be_read_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ps"
    script = '#!/bin/sh\nif test "$1" = -A; then echo "odd words $$"; else echo "$2 of $4"; fi\n'
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert SystemProcesses("darwin").is_alive(HostProcess(71, "lstart= of 71", "")) is True


@ON_LINUX
def test_a_real_process_lives_until_it_is_killed() -> None:
    processes = SystemProcesses()
    script = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        process = HostProcess(child.pid, fields[19], f"{boot} {Path('/proc/self/ns/pid').readlink()}")

        assert processes.is_alive(process) is True
        assert not processes.is_gone(child.pid)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert processes.is_alive(process) is False
        assert processes.is_gone(child.pid)
