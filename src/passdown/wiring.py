"""The one place that knows engines: it reads the settings and builds what a face asks for."""

import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passdown.errors import StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.settings import FILE_NAME, Paths, Settings, Source, parse_environment, parse_settings

_CACHE: Final = "passdown/cache"

if TYPE_CHECKING:  # what is built here is loaded when it is asked for
    from passdown.ports.index import Index
    from passdown.services.checkouts import Checkout
    from passdown.services.journals import Project


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


def open_checkout(root: Path, settings: Settings, *, cached: bool = True) -> "Checkout":
    """Build what synthesis works with in one checkout; without a cache the index lives in memory."""
    from passdown.engines.files.event_log import FileEventLog  # noqa: PLC0415 - built when asked for
    from passdown.engines.git.repository import GitRepository  # noqa: PLC0415
    from passdown.engines.system import SystemClock  # noqa: PLC0415
    from passdown.services.checkouts import Checkout  # noqa: PLC0415

    clock = SystemClock()
    repository = GitRepository(root)
    paths = settings.paths
    return Checkout(
        log=FileEventLog(str(root / paths.events), str(root / paths.event_archive), clock),
        index=_open_index(root, settings, repository.common_folder()) if cached else open_memory_index(),
        documents=open_documents(root),
        repository=repository,
        clock=clock,
        settings=settings,
    )


def open_memory_index() -> "Index":
    """Return an index that lives as long as the process."""
    from passdown.engines.index.memory import MemoryIndex  # noqa: PLC0415 - built when asked for

    return MemoryIndex()


def _open_index(root: Path, settings: Settings, common: str | None) -> "Index":
    """Open the cache where it disturbs nobody.

    1. In git's own folder, one for each checkout: no file appears in the working tree.
    2. In the folder of local state, if there is one: a sandbox may forbid the first.
    3. In memory.
    """
    from passdown.engines.files import write  # noqa: PLC0415 - built when asked for
    from passdown.engines.index.mounts import is_local  # noqa: PLC0415
    from passdown.engines.index.sqlite import open_index  # noqa: PLC0415

    name = _cache_name(root)
    folders = [Path(common) / _CACHE] if common is not None else []  # 1
    if os.path.isdir(root / settings.paths.runtime):  # 2  # noqa: PTH112 - is_dir() raises where we may not look
        folders.append(root / settings.paths.runtime)
    for folder in folders:
        # A cache that cannot be used is done without: first elsewhere, then at all.
        with suppress(StorageError):
            write.make_folder(folder)
            return open_index(str(folder / name), shared_memory=is_local(str(folder), sys.platform))
    return open_memory_index()  # 3


def _cache_name(root: Path) -> str:
    """Name the cache of a checkout."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    return f"events-{digest[:12]}.sqlite"


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
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def open_project(root: Path, settings: Settings) -> "Project":
    """Build what sessions work with in one checkout."""
    from passdown.engines.files.journals import FileJournals  # noqa: PLC0415 - built when asked for
    from passdown.engines.process import SystemProcesses  # noqa: PLC0415
    from passdown.engines.system import SystemEntropy, local_time  # noqa: PLC0415
    from passdown.services.journals import Project  # noqa: PLC0415

    checkout = open_checkout(root, settings)
    processes = SystemProcesses()
    common = checkout.repository.common_folder()
    own = [os.path.join(common, "passdown")] if common else []  # noqa: PTH118 - as text
    roots = [root, *(other for other, _ in list_other_roots(root, checkout))]
    runtimes = [str(one / settings.paths.runtime) for one in roots]
    folders = [os.path.join(folder, "journal") for folder in (*own, *runtimes)]  # noqa: PTH118
    paths = settings.paths
    swept = [*own, *(str(root / path) for path in _written_folders(paths))]

    def sweep() -> int:
        from passdown.engines.files import archive  # noqa: PLC0415 - only a start needs it

        return archive.sweep(swept, processes.is_gone)

    return Project(
        root=str(root),
        checkout=checkout,
        journals=FileJournals(folders),
        processes=processes,
        sweep=sweep,
        entropy=SystemEntropy(),
        show_time=local_time,
    )


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
