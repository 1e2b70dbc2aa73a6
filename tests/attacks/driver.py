"""Runs commands and hooks of Passdown in processes of their own, and says what each printed, took and used.

The modules are loaded once and every call is a fork, so that a table of attacks takes minutes and not hours.
A call is otherwise what a user starts: `main` with its arguments, its folder and its standard input. It can
run with one check of ours switched off (`HOLES`), or as on a system without folder handles.
"""

import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import passdown
from passdown.engines.files import folders, read, write
from passdown.faces.cli import main as cli
from passdown.faces.hooks import quick

MOST_ADDRESSES = 1 << 30
"""A process that takes more memory than this fails, so that an attack does not take the machine with it."""
KILLED = -9


def load_everything() -> None:
    """Import the package, so that a fork need not."""
    for module in pkgutil.walk_packages(passdown.__path__, "passdown."):
        if ".testing" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


# --- checks switched off ----------------------------------------------------------------------------


def _follow_last_links() -> None:
    vars(read)["_NOFOLLOW"] = 0
    vars(read)["is_link"] = lambda _: False


def _follow_links_above() -> None:
    def open_at_once(root: Any, path: Any, **options: Any) -> read.OpenFolder:
        make = options.get("make")
        try:
            return read.OpenFolder(str(path), os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        except FileNotFoundError:
            if make is None or os.path.normpath(path) == os.path.normpath(root):
                raise
            with open_at_once(root, os.path.dirname(path), **options) as above:
                make(above, os.path.basename(path))
            return read.OpenFolder(str(path), os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    vars(read)["open_folder"] = open_at_once


def _read_odd_files() -> None:
    vars(read)["_require_regular"] = os.fstat


def _wait_for_fifos() -> None:
    vars(read)["_READ"] = os.O_RDONLY


def _read_without_limit() -> None:
    def read_all(handle: int, _most: int, _start: int = 0) -> bytes:
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()

    vars(read)["read_handle"] = read_all


def _open_any_database() -> None:
    vars(read)["require_plain"] = lambda *_: None


def _follow_links_quickly() -> None:
    vars(quick)["_is_file"] = lambda root, *names: os.path.isfile(os.path.join(root, *names))
    vars(quick)["_NOFOLLOW"] = 0


def _wait_quickly() -> None:
    vars(quick)["_READ"] = os.O_RDONLY


def _write_over_links() -> None:
    def find(folder: read.OpenFolder, name: str, _: object) -> os.stat_result | None:
        try:
            return os.stat(folder.at(name), dir_fd=folder.handle)
        except FileNotFoundError:
            return None

    vars(write)["_regular"] = find
    vars(write)["_APPEND"] = os.O_RDWR | os.O_APPEND
    vars(write)["_require_same"] = lambda *_: None


HOLES: Mapping[str, Callable[[], None]] = MappingProxyType(
    {
        "follows a link at the end": _follow_last_links,
        "follows links above": _follow_links_above,
        "reads devices and FIFOs": _read_odd_files,
        "waits for FIFOs": _wait_for_fifos,
        "reads without a limit": _read_without_limit,
        "opens any database": _open_any_database,
        "follows links in the quick path": _follow_links_quickly,
        "waits in the quick path": _wait_quickly,
        "writes through links": _write_over_links,
    }
)


def do_without_handles() -> None:
    """Open files as on Windows: without folder handles, and without the flags that it does not have."""
    waiting = read.parent_of.__wrapped__  # type: ignore[attr-defined]  # of the context manager
    for function in (
        *(read.open_folder, waiting, read.read, read.status, read.names, read.require_plain, read.walk),
        *(read.FolderCache.__init__, folders.list_marks),
    ):
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "by_handle": False}
    object.__setattr__(write.HERE, "folder_handles", False)
    vars(read)["_NOFOLLOW"] = 0
    vars(read)["_READ"] = os.O_RDONLY
    vars(write)["_NEW"] = os.O_CREAT | os.O_EXCL
    vars(write)["_APPEND"] = os.O_RDWR | os.O_APPEND


# --- calls ------------------------------------------------------------------------------------------


def call(step: Mapping[str, Any], folder: Path) -> dict[str, object]:
    """Run one call in a fork; kill it when its time is over."""
    streams = {name: folder / name for name in ("in", "out", "err")}
    streams["in"].write_bytes(str(step.get("input", "")).encode("utf-8", "surrogateescape"))
    ended, signal_end = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        os.close(ended)
        _run(step, streams)
    os.close(signal_end)
    is_done = bool(select.select([ended], [], [], float(step["limit"]))[0])
    os.close(ended)
    if not is_done:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return {
        "arguments": step["arguments"],
        "code": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - began,
        "bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "out": streams["out"].read_bytes().decode("utf-8", "replace"),
        "err": streams["err"].read_bytes().decode("utf-8", "replace"),
    }


def _run(step: Mapping[str, Any], streams: Mapping[str, Path]) -> None:
    import resource  # does not exist on Windows

    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
        for number, name in enumerate(("in", "out", "err")):
            flags = os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(streams[name], flags), number)
        os.chdir(step["folder"])
        sys.argv = ["passdown", *step["arguments"]]
        code = cli.main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - what no command reports is reported here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(folder: Path) -> None:
    """Read the plan in a folder, run it, and write what happened beside it."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    load_everything()
    if plan["without_handles"]:
        do_without_handles()
    for hole in plan["holes"]:
        HOLES[hole]()
    os.environ.update(plan["environment"])
    results = [call(step, folder) for step in plan["steps"]]
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
