"""The one place that knows engines: it reads the settings and builds what a face asks for."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from passdown.errors import StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.services.checkouts import PATIENT, Haste
from passdown.settings import FILE_NAME, Paths, Settings, Source, parse_environment, parse_settings

T = TypeVar("T")

_CACHE: Final = "passdown/cache"
_SWEPT: Final = 7 * 86_400
"""Seconds: folders of days that have not changed for so long are left to the doctor."""

if TYPE_CHECKING:  # what is built here is loaded when it is asked for
    from passdown.core.ailments import Cache
    from passdown.core.installs import Host
    from passdown.ports.clock import Clock
    from passdown.ports.event_log import EventLog
    from passdown.ports.index import Index
    from passdown.ports.search import SearchIndex, Shelf
    from passdown.services.briefs import Elsewhere
    from passdown.services.checkouts import Checkout, Site
    from passdown.services.doctor import Patient
    from passdown.services.installs import Home
    from passdown.services.journals import Project
    from passdown.services.observations import Source as TranscriptSource
    from passdown.services.search import Library


def find_root(start: Path) -> Path:
    """Return the project's root: the nearest `passdown.toml` upward within the repository, else its top.

    Without a repository it is the folder itself (C49). What we may not look at is not there.
    """
    upward = (start, *start.parents)
    # `.git` is a file in a worktree and in a submodule.
    top = next((folder for folder in upward if os.path.exists(folder / ".git")), start)  # noqa: PTH110
    for folder in upward[: upward.index(top) + 1]:
        if os.path.isfile(folder / FILE_NAME):  # noqa: PTH113 - is_file() raises where we may not look
            return folder
    return top


def read_settings(root: Path) -> tuple[Settings, tuple[str, ...]]:
    """Read user file, project file and environment; return settings and warnings.

    A user file that cannot be read is a warning: a sandbox may hide it. Raises `StorageError` for a project
    file that cannot be read, and `UsageError` for a file that is not TOML or a value that is not allowed.
    """
    sources: list[Source] = []
    unread: list[str] = []
    user_file = find_user_file(os.environ, sys.platform)
    if user_file is not None:
        try:
            sources += _read_file(user_file, str(user_file))
        except StorageError as found:
            unread.append(f"{found.message}; its settings are not used")
    sources += _read_file(root / FILE_NAME, FILE_NAME)
    settings, warnings = parse_settings([*sources, parse_environment(os.environ)])
    return settings, (*unread, *warnings)


def find_user_file(variables: Mapping[str, str], platform: str) -> Path | None:
    """Return where the platform keeps a user's settings, or None without a home (C69)."""
    if platform == "win32":
        folder = variables.get("APPDATA")
        return Path(folder) / "passdown" / "settings.toml" if folder else None
    home = variables.get("HOME")
    if platform == "darwin":
        return Path(home) / "Library/Application Support/passdown/settings.toml" if home else None
    config = variables.get("XDG_CONFIG_HOME", "")
    if not Path(config).is_absolute():  # the standard says to ignore such a value
        config = f"{home}/.config" if home else ""
    return Path(config) / "passdown" / "settings.toml" if config else None


def _read_file(path: Path, name: str) -> list[Source]:
    """Read one file of settings; a missing one has none."""
    if not os.path.lexists(path):
        return []
    import tomllib  # noqa: PLC0415 - few have such a file, and every command begins here

    try:
        return [Source(name, tomllib.loads(path.read_text(encoding="utf-8")))]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as found:
        hint = "check who owns it and whether you may read it"
        raise StorageError(f"could not read {name}: {found.strerror}", hint=hint) from found
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as found:
        raise UsageError(f"{name} is not valid TOML: {found}", hint="mend the line it names") from found


def open_documents(root: Path) -> Documents:
    """Return the documents below a folder of this machine."""
    from passdown.engines.files.documents import FileDocuments  # noqa: PLC0415 - built when asked for

    return FileDocuments(root)


def open_checkout(root: Path, settings: Settings, haste: Haste = PATIENT) -> "Checkout":
    """Build what synthesis works with in one checkout; an index that is not cached lives in memory."""
    from passdown.engines.git.repository import GitRepository  # noqa: PLC0415 - built when asked for
    from passdown.engines.system import SystemClock  # noqa: PLC0415
    from passdown.services.checkouts import Checkout  # noqa: PLC0415

    clock = SystemClock()
    repository = GitRepository(root)

    def open_log() -> "EventLog":
        from passdown.engines.files.event_log import FileEventLog  # noqa: PLC0415 - few commands need it

        paths = settings.paths
        log = FileEventLog(str(root / paths.events), str(root / paths.event_archive), clock)
        if not haste.most:
            return log
        from passdown.engines.files.hurried import HurriedLog  # noqa: PLC0415 - only hooks are in a hurry

        return HurriedLog(log, haste.most, is_cached=haste.is_cached)

    def open_index() -> "Index":
        common = repository.common_folder()
        return _open_index(root, settings, common, haste.wait) if haste.is_cached else open_memory_index()

    return Checkout(
        log=_later(open_log),
        index=_later(open_index),
        documents=open_documents(root),
        repository=repository,
        clock=clock,
        settings=settings,
    )


def open_site(root: Path, settings: Settings) -> "Site":
    """Build what set-up and pause work with in one checkout; nothing is made for it."""
    from passdown.engines.git.repository import GitRepository  # noqa: PLC0415 - built when asked for
    from passdown.services.checkouts import Site  # noqa: PLC0415

    repository = GitRepository(root)
    common = repository.common_folder()
    top = next((one.path for one in repository.checkouts() if one.is_here), None)
    below = os.path.relpath(os.path.realpath(root), top).replace(os.sep, "/") if top else ""
    return Site(
        documents=open_documents(root),
        git=open_documents(Path(common)) if common else None,
        below="" if below == os.curdir else below,
        repository=repository,
        settings=settings,
    )


def open_clock() -> "Clock":
    """Return the machine's clock."""
    from passdown.engines.system import SystemClock  # noqa: PLC0415 - built when asked for

    return SystemClock()


class _Late:
    """Stands for a thing that is built when it is first asked for something."""

    def __init__(self, build: Callable[[], object]) -> None:
        self._build = build
        self._built: object = None

    def __getattr__(self, name: str) -> object:
        if self._built is None:
            self._built = self._build()
        return getattr(self._built, name)


def _later(build: Callable[[], T]) -> T:
    """Build a thing when it is first asked for something: a verb needs neither log nor index."""
    return cast("T", _Late(build))


def open_memory_index() -> "Index":
    """Return an index that lives as long as the process."""
    from passdown.engines.index.memory import MemoryIndex  # noqa: PLC0415 - built when asked for

    return MemoryIndex()


def _open_index(root: Path, settings: Settings, common: str | None, wait: float | None = None) -> "Index":
    """Open the cache where it disturbs nobody.

    1. In git's own folder, one for each checkout: no file appears in the working tree.
    2. In the folder of local state, if there is one: a sandbox may forbid the first.
    3. In memory.
    """
    from passdown.engines.files import write  # noqa: PLC0415 - built when asked for
    from passdown.engines.index.mounts import is_local  # noqa: PLC0415
    from passdown.engines.index.sqlite import open_index  # noqa: PLC0415

    name = _cache_name(root)
    for folder in _cache_folders(root, settings, common):  # 1, 2
        # A cache that cannot be used is done without: first elsewhere, then at all.
        with suppress(StorageError):
            write.make_folder(folder)
            shared = is_local(str(folder), sys.platform)
            return open_index(str(folder / name), shared_memory=shared, wait=wait)
    return open_memory_index()  # 3


def _cache_folders(root: Path, settings: Settings, common: str | None) -> list[Path]:
    """Name the folders that a cache may lie in, the best first."""
    folders = [Path(common) / _CACHE] if common is not None else []
    if os.path.isdir(root / settings.paths.runtime):  # noqa: PTH112 - is_dir() raises where we may not look
        folders.append(root / settings.paths.runtime)
    return folders


def _cache_name(root: Path, what: str = "events") -> str:
    """Name the cache of a checkout."""
    import hashlib  # noqa: PLC0415 - a verb opens no cache

    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{what}-{digest[:12]}.sqlite"


def peek_view(root: Path, settings: Settings) -> tuple[str, int] | None:
    """Give the tracked view's path and the number of its events, if it is current for certain.

    Only what the cache in git's folder remembers is looked at, so that a check that finds nothing new costs
    next to nothing. None means that somebody has to look.
    """
    from passdown.engines.files.folders import list_marks  # noqa: PLC0415 - built when asked for
    from passdown.engines.git.repository import GitRepository  # noqa: PLC0415
    from passdown.engines.index.peek import peek  # noqa: PLC0415
    from passdown.engines.system import SystemClock  # noqa: PLC0415
    from passdown.services.view_homes import view_place  # noqa: PLC0415
    from passdown.services.view_notes import NOTE  # noqa: PLC0415

    repository = GitRepository(root)
    common = repository.common_folder()
    found = peek(str(Path(common) / _CACHE / _cache_name(root)), NOTE) if common else None
    place = view_place(repository, settings)
    if found is None or not place.is_tracked:
        return None
    there = list_marks(str(root / settings.paths.events), found.folders, SystemClock().now().timestamp())
    digest, _, events = found.note.partition(" ")
    if there != found.folders or not all(there.values()) or _hash_file(root / place.path) != digest:
        return None
    return place.path, int(events)


def _hash_file(path: Path) -> str:
    import hashlib  # noqa: PLC0415 - a verb opens no cache

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def open_project(root: Path, settings: Settings, haste: Haste = PATIENT) -> "Project":
    """Build what sessions work with in one checkout."""
    from passdown.engines.files.journals import FileJournals  # noqa: PLC0415 - built when asked for
    from passdown.engines.process import SystemProcesses  # noqa: PLC0415
    from passdown.engines.system import SystemClock, SystemEntropy, local_time  # noqa: PLC0415
    from passdown.services.journals import Project  # noqa: PLC0415

    checkout = open_checkout(root, settings, haste)
    processes = SystemProcesses()
    common = checkout.repository.common_folder()
    own = [os.path.join(common, "passdown")] if common else []  # noqa: PTH118 - as text
    roots = [root, *(other for other, _ in list_other_roots(root, checkout))]
    runtimes = [str(one / settings.paths.runtime) for one in roots]
    folders = [os.path.join(folder, "journal") for folder in (*own, *runtimes)]  # noqa: PTH118

    def sweep() -> int:
        from passdown.engines.files import archive  # noqa: PLC0415 - only a start needs it

        swept, flat = _swept_folders(root, settings.paths, common)
        since = SystemClock().now().timestamp() - _SWEPT
        return archive.sweep(swept, processes.is_gone, flat=flat, since=since)

    return Project(
        root=str(root),
        checkout=checkout,
        journals=FileJournals(folders),
        processes=processes,
        sweep=sweep,
        entropy=SystemEntropy(),
        show_time=local_time,
    )


def open_library(root: Path, checkout: "Checkout", *, cached: bool = True) -> "Library":
    """Build what a search works with; its cache lies beside that of the events, or in memory."""
    from passdown.core.searches import Kind  # noqa: PLC0415 - built when asked for
    from passdown.engines.files.shelves import StreamShelf, open_folder  # noqa: PLC0415
    from passdown.engines.memory.search import MemorySearch  # noqa: PLC0415
    from passdown.services.search import Library  # noqa: PLC0415

    paths, clock = checkout.settings.paths, checkout.clock
    shelves: dict[Kind, Shelf] = {
        Kind.ARCHIVE: open_folder(str(root / paths.archive), clock),
        Kind.EVENT: checkout.log,
        Kind.STREAM: StreamShelf(str(root / paths.handoffs), clock),
    }
    index = _open_search(root, checkout) if cached else None
    return Library(index=MemorySearch() if index is None else index, shelves=shelves)


def _open_search(root: Path, checkout: "Checkout") -> "SearchIndex | None":
    """Open the cache of the search where that of the events would lie; None where there is no place."""
    from passdown.engines.files import write  # noqa: PLC0415 - built when asked for
    from passdown.engines.index.mounts import is_local  # noqa: PLC0415
    from passdown.engines.index.search import open_search  # noqa: PLC0415

    name = _cache_name(root, "search")
    for folder in _cache_folders(root, checkout.settings, checkout.repository.common_folder()):
        # As with the events: first elsewhere, then not at all.
        with suppress(StorageError):
            write.make_folder(folder)
            return open_search(str(folder / name), shared_memory=is_local(str(folder), sys.platform))
    return None


def _swept_folders(root: Path, paths: Paths, common: str | None) -> tuple[list[str], list[str]]:
    """Name the folders that we write to: those of ours, and those in which only single files are ours."""
    ours = [os.path.join(common, "passdown")] if common else []  # noqa: PTH118 - as text
    shared = [os.path.join(common, "info")] if common else []  # noqa: PTH118
    return [*ours, *(str(root / path) for path in _written_folders(paths))], [str(root), *shared]


def open_patient(
    root: Path, settings: Settings, warnings: tuple[str, ...] = (), refused: str = ""
) -> "Patient":
    """Build what the doctor looks at in one checkout."""
    from passdown.engines import homes  # noqa: PLC0415 - built when asked for
    from passdown.engines.files import archive  # noqa: PLC0415
    from passdown.engines.process import SystemProcesses  # noqa: PLC0415
    from passdown.engines.programs import SystemPrograms  # noqa: PLC0415
    from passdown.services.doctor import Patient  # noqa: PLC0415

    project = open_project(root, settings)
    site = open_site(root, settings)
    common = site.repository.common_folder()

    swept, flat = _swept_folders(root, settings.paths, common)
    is_gone = SystemProcesses().is_gone

    def find_leftovers() -> list[str]:
        found = archive.find_leftovers(swept, is_gone, flat=flat)
        return [os.path.relpath(path, root).replace(os.sep, "/") for path in found]

    return Patient(
        project=project,
        site=site,
        fresh=open_memory_index,
        find_leftovers=find_leftovers,
        sweep=lambda: archive.sweep(swept, is_gone, flat=flat),
        variables=os.environ,
        cache=judge_cache(root, settings, common),
        warnings=warnings,
        refused=refused,
        hooks=homes.read_hooks(os.environ, sys.platform),
        programs=SystemPrograms(str(root), seconds=10.0, variables=homes.emptied(os.environ)),
    )


def judge_cache(root: Path, settings: Settings, common: str | None, mounts: str = "") -> "Cache":
    """Say whether the cache can be used, and lies on a disk of this machine as far as that can be told."""
    from passdown.core.ailments import Cache  # noqa: PLC0415 - only the doctor asks
    from passdown.engines.index.memory import MemoryIndex  # noqa: PLC0415
    from passdown.engines.index.mounts import MOUNTS, is_local  # noqa: PLC0415

    folders = _cache_folders(root, settings, common)
    if not folders:  # there is no place for one, and no need
        return Cache.GOOD
    if isinstance(_open_index(root, settings, common), MemoryIndex):
        return Cache.UNUSABLE
    # A Mac has no list of mounts that we read.
    is_known = sys.platform != "darwin"
    is_remote = is_known and not is_local(str(folders[0]), sys.platform, mounts or MOUNTS)
    return Cache.REMOTE if is_remote else Cache.GOOD


HOSTS: Final = ("claude-code", "codex", "copilot")
"""The hosts whose transcripts can be read."""


def guess_host(path: Path) -> str:
    """Name the host that wrote a transcript, by what it is called: Codex's are rollouts, Copilot's events."""
    if path.name == "events.jsonl":
        return "copilot"
    return "codex" if path.name.startswith("rollout-") else "claude-code"


def open_source(root: Path, path: Path, host: str, *, may_come: bool = False) -> "TranscriptSource":
    """Build what reads a session's transcript; raise a UsageError without one, unless it may yet come."""
    import importlib  # noqa: PLC0415 - only one host's code is loaded

    from passdown.engines.files.transcripts import FileTranscripts  # noqa: PLC0415 - built when asked for
    from passdown.services.observations import Source  # noqa: PLC0415

    if not may_come and not path.is_file():
        hint = "give the path that the host names to its hooks"
        raise UsageError(f"there is no transcript {path}", hint=hint)
    module = importlib.import_module(f"passdown.hosts.{host.replace('-', '_')}.transcripts")
    return Source(
        path=str(path),
        tongue=module.TONGUE,
        transcripts=FileTranscripts(),
        roots=(str(root), os.path.realpath(root)),
    )


def open_elsewhere(root: Path, checkout: "Checkout", haste: Haste = PATIENT) -> "list[Elsewhere]":
    """Open the logs of the project's other checkouts; one whose settings cannot be read is left out."""
    from passdown.services.briefs import Elsewhere  # noqa: PLC0415 - built when asked for

    found: list[Elsewhere] = []
    for other, branch in list_other_roots(root, checkout):
        # Whoever works there is told what is wrong.
        with suppress(StorageError, UsageError):
            if os.path.isdir(other):  # noqa: PTH112 - is_dir() raises where we may not look
                there = open_checkout(other, read_settings(other)[0], haste)
                found.append(Elsewhere(log=there.log, index=there.index, branch=branch))
    return found


def open_home(host: str, called: str, instructions: Path | None = None) -> "Home":
    """Build what an install into a host works with; raise a UsageError without a home."""
    from passdown.core.installs import HOSTS as TAKERS  # noqa: PLC0415 - built when asked for
    from passdown.core.installs import command_line  # noqa: PLC0415
    from passdown.engines import homes  # noqa: PLC0415
    from passdown.engines.files.archive import remove_empty_folders  # noqa: PLC0415
    from passdown.engines.programs import SystemPrograms  # noqa: PLC0415
    from passdown.services.installs import File, Home  # noqa: PLC0415

    def open_file(path: str) -> File:
        real = Path(os.path.realpath(path))  # a link stays a link
        return File(open_documents(real.parent), real.name, path)

    taker = TAKERS[host]
    folder = os.path.realpath(homes.find_data_folder(os.environ, sys.platform))
    settings = Path(homes.find_host_folder(taker, os.environ)) / taker.settings
    return Home(
        host=taker,
        programs=SystemPrograms(os.path.expanduser("~")),  # noqa: PTH111 - Path.home() raises without one
        data=open_documents(Path(folder)),
        folder=folder.replace(os.sep, "/"),
        settings=open_file(str(settings)),
        plugin=homes.read_plugin(),
        line=command_line(homes.find_own_program(called), sys.platform),
        can_wrap=sys.platform != "win32",
        open_file=open_file,
        sweep=partial(remove_empty_folders, folder),
        instructions=str(instructions / taker.instructions) if instructions else "",
    )


def list_hosts_without_us() -> "list[Host]":
    """Name the hosts that are on this machine and do not have the plugin."""
    from passdown.engines.homes import list_hosts_without_us  # noqa: PLC0415 - only a set-up asks

    return list_hosts_without_us(os.environ, sys.platform)


def append_line(path: str, line: str) -> None:
    """Add a line to a file that somebody else asked us to."""
    from passdown.engines.files import write  # noqa: PLC0415 - built when asked for

    write.append(path, f"{line}\n".encode(), local=True)


def _written_folders(paths: Paths) -> tuple[str, ...]:
    """Name the folders of a project that we write to, each from the root."""
    return (paths.ledgers, paths.archive, paths.handoffs, paths.events, paths.event_archive, paths.runtime)


def list_other_roots(root: Path, checkout: "Checkout") -> list[tuple[Path, str]]:
    """Give the project's root in each of its other checkouts, with its branch; it need not be there."""
    checkouts = checkout.repository.checkouts()
    here = next((one.path for one in checkouts if one.is_here), None)
    if here is None:
        return []
    below = os.path.relpath(os.path.realpath(root), here)
    return [(Path(one.path) / below, one.branch) for one in checkouts if not one.is_here]
