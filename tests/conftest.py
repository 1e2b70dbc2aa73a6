"""Guards around every test: no network, no real home folder, no settings of the user who runs the tests."""

import gc
import itertools
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests import outcomes, proof, requirements, skips, starters, timing
from tests.quick import read_covering, read_long
from tests.stores import servers

pytest_configure = outcomes.pytest_configure
postgres, bouncer, database = servers.postgres, servers.bouncer, servers.database
own_postgres, own_bouncer = servers.own_postgres, servers.own_bouncer
postgres_pair, project, inside = servers.postgres_pair, servers.project, servers.inside
proof.load_hypothesis_profile()
# A run in the background is started with interrupts ignored, and so would be every process a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

_LOCAL_HOSTS = frozenset({"127.0.0.1", "::1", "localhost", "", None})
_PROOF_SECONDS = 900
_TESTS = Path(__file__).parent
_SLOW_ROOMS = frozenset({"attacks", "e2e", "faults", "proofs"})
_SLOW_FILES = frozenset(
    {
        "test_addressed_handoffs.py",
        "test_archive_conflicts.py",
        "test_archive_runs.py",
        "test_beads_commands.py",
        "test_beads_successors.py",
        "test_change_phases.py",
        "test_ci_run.py",
        "test_cli_clocks.py",
        "test_cli_doctor.py",
        "test_cli_ledger.py",
        "test_cli_main.py",
        "test_cli_merged_views.py",
        "test_cli_migrate.py",
        "test_cli_named_sessions.py",
        "test_cli_outbox.py",
        "test_cli_results.py",
        "test_cli_say.py",
        "test_cli_search.py",
        "test_cli_session.py",
        "test_cli_stream.py",
        "test_cli_synthesize.py",
        "test_cli_test_results.py",
        "test_cli_track.py",
        "test_cli_view_checks.py",
        "test_coordination_clocks.py",
        "test_coordination_file.py",
        "test_degradation.py",
        "test_documents.py",
        "test_engine_away.py",
        "test_full_contexts.py",
        "test_further_kind.py",
        "test_git_commits.py",
        "test_git_process.py",
        "test_given_ids.py",
        "test_guard.py",
        "test_handoffs_service.py",
        "test_harness.py",
        "test_hook_commits.py",
        "test_hooks.py",
        "test_held_back_files.py",
        "test_hostile.py",
        "test_house.py",
        "test_house_rules.py",
        "test_installs_service.py",
        "test_linear_time.py",
        "test_lost_coordination.py",
        "test_mutants.py",
        "test_outcomes.py",
        "test_path_words.py",
        "test_preflight.py",
        "test_reservations.py",
        "test_session_contexts.py",
        "test_silent_sessions.py",
        "test_skips.py",
        "test_tdd.py",
        "test_team_mail.py",
        "test_team_starts.py",
        "test_tracked_state.py",
    }
)
# A folder in memory, which Linux has; CI writes to a disk.
_MEMORY = Path("/dev/shm")  # noqa: S108  # pytest makes a folder in it that is ours alone
_ROOM = 2_000_000_000  # a container may have 64 MB
_SCRUBBED = ("PASSDOWN_", "XDG_", "GIT_")
_HOME_FOLDERS = tuple(
    (name, path.replace("/", os.sep))
    for name, path in (
        ("APPDATA", "/AppData/Roaming"),
        ("LOCALAPPDATA", "/AppData/Local"),
        ("XDG_CONFIG_HOME", "/.config"),
        ("XDG_CACHE_HOME", "/.cache"),
        ("XDG_DATA_HOME", "/.local/share"),
        ("XDG_STATE_HOME", "/.local/state"),
        ("XDG_RUNTIME_DIR", "/.run"),
    )
)
_IDENTITY = (("AUTHOR", "Ada Author"), ("COMMITTER", "Cleo Committer"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the quick run write to memory: half of its time would be spent waiting for a disk."""
    has_room = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    if _is_quick(session.config) and has_room:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    outcomes.pytest_addoption(parser)
    parser.addoption(
        "--room", metavar="NAME", default="", help="run only the tests in folders and files of this name"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave slow tests to CI, unless they are named: those that start many processes, wait, or prove."""
    room: str = config.getoption("--room")
    if room and collection_path.is_file() and not _is_in_room(collection_path, room):
        return True
    return True if _is_quick(config) and _is_slow(collection_path) else None


def _is_in_room(path: Path, room: str) -> bool:
    """Return whether tests belong to a room: those in folders of its name, and the suite of its port."""
    return room in path.relative_to(_TESTS).parts or path.stem == f"test_{room}"


def pytest_collection_finish() -> None:
    """Exclude the tests themselves from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Reject requirement markers that name no requirement; select tests and their time limits."""
    if wrong := requirements.unknown_ids(requirements.marked(items)):
        raise pytest.UsageError("No such requirement: " + ", ".join(wrong))
    if wrong := outcomes.unknown_kinds(items):
        raise pytest.UsageError("No such kind of proof: " + ", ".join(wrong))
    if _is_quick(config) or "process" in config.getoption("markexpr", ""):
        _mark_starters(items)
    _mark_long(items)
    if skips.UNTIL and proof.LEVEL is proof.Level.FAST:
        skips.begin_elsewhere(items, skips.UNTIL)
    if _is_quick(config):
        _leave_out_slow(config, items)
    if proof.IS_CHOSEN:
        for item in items:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_PROOF_SECONDS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin no test once the time of CI is over."""
    skips.skip_if_late()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped in CI and is not on the list."""
    report = yield
    if skips.IS_CI:
        skips.refuse_unlisted(report, skips.read_skips())
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a file that is skipped as a whole, too."""
    report = yield
    if skips.IS_CI:
        skips.refuse_unlisted(report, skips.read_skips())
    return report


def _mark_starters(items: list[pytest.Item]) -> None:
    for item in items:
        parts = item.nodeid.split("[")[0].split("::")
        if len(parts) > 1 and starters.starts_process(item.path, parts[1]):
            item.add_marker(pytest.mark.process)


def _mark_long(items: list[pytest.Item]) -> None:
    long, covering = read_long(), read_covering()
    for item in items:
        name = item.nodeid.split("[")[0]
        if name in long:
            item.add_marker(pytest.mark.long)
        if name in covering:
            item.add_marker(pytest.mark.covering)


def _is_quick(config: pytest.Config) -> bool:
    """Return whether this is the local run without arguments."""
    return not proof.IS_CHOSEN and config.args_source is pytest.Config.ArgsSource.TESTPATHS


def _is_slow(path: Path) -> bool:
    return path.name in _SLOW_FILES or (path.parent == _TESTS and path.name in _SLOW_ROOMS)


def _leave_out_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave single tests to CI, too: those that take long or have a time limit."""
    names = ("beads", "long", "process", "server", "slow", "timed")
    slow = {item for item in items if any(item.get_closest_marker(name) for name in names)}
    config.hook.pytest_deselected(items=[*slow])
    items[:] = [item for item in items if item not in slow]


class NetworkError(AssertionError):
    """A test tried to leave this machine."""


@pytest.fixture(scope="session", autouse=True)
def _guards() -> Iterator[None]:
    """Let sockets reach only this machine, and remove all settings of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("connect", "connect_ex"):
            monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        monkeypatch.setattr(socket, "getaddrinfo", _guarded_look_up(socket.getaddrinfo))
        for name in [name for name in os.environ if name.startswith(_SCRUBBED)]:
            monkeypatch.delenv(name)
        for name, value in _git_variables():
            monkeypatch.setenv(name, value)
        yield


def _guarded_look_up(look_up: Callable[..., object]) -> Callable[..., object]:
    """Return the same function, but refuse every host except this machine."""

    def guarded(host: str | None, *arguments: object, **options: object) -> object:
        if host not in _LOCAL_HOSTS:
            raise NetworkError(f"A test looked up {host!r}.")
        return look_up(host, *arguments, **options)

    return guarded


def _guarded(connect: Callable[[socket.socket, object], object]) -> Callable[[socket.socket, object], object]:
    """Return the same method, but refuse every address except this machine."""

    def guarded(self: socket.socket, address: object) -> object:
        local = isinstance(address, tuple) and address[:1] and address[0] in _LOCAL_HOSTS
        if self.family != getattr(socket, "AF_UNIX", None) and not local:
            raise NetworkError(f"A test connected to {address!r}.")
        return connect(self, address)

    return guarded


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """Make an empty folder, in memory if possible, so that what is timed there waits for no disk."""
    with timing.open_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield new folders to use as a test's home."""
    root = tmp_path_factory.mktemp("homes")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty home folder; nothing in the environment points to the real one."""
    folder = next(homes)
    folder.mkdir()
    for name, value in _home_variables(folder):
        monkeypatch.setenv(name, value)
    _move_accounts(folder, monkeypatch)
    return folder


def _home_variables(folder: Path) -> Iterator[tuple[str, str]]:
    text, drive = str(folder), folder.drive
    for name in ("HOME", "USERPROFILE"):
        yield name, text
    yield "HOMEDRIVE", drive
    yield "HOMEPATH", text.removeprefix(drive)
    for name, path in _HOME_FOLDERS:
        yield name, text + path


def _git_variables() -> Iterator[tuple[str, str]]:
    """Yield one identity, and no settings except those that a test makes."""
    for role, name in _IDENTITY:
        yield f"GIT_{role}_NAME", name
        yield f"GIT_{role}_EMAIL", f"{name.split()[0].lower()}@example.invalid"
    yield "GIT_CONFIG_GLOBAL", os.devnull
    yield "GIT_CONFIG_NOSYSTEM", "1"
    yield "GIT_TERMINAL_PROMPT", "0"


def _move_accounts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirect the list of accounts too: without HOME, and for `~name`, Python asks it."""
    if sys.platform == "win32":
        return
    import pwd  # (there is none on Windows)

    account = pwd.struct_passwd(("tester", "x", os.getuid(), os.getgid(), "", str(folder), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: account)
    monkeypatch.setattr(pwd, "getpwnam", lambda _: account)
