"""A project with a life behind it, another that must never be touched, and what can be planted."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.attacks.driver import KILLED
from tests.support.gits import make_started
from tests.support.projects import EVENTS, put, put_event

DRIVER: Final = Path(__file__).with_name("driver.py")
CANARY: Final = "canary-5b1f"
"""What every text of the other project has in it."""
MOST_BYTES: Final = 268_435_456
"""What a process may use of memory."""
SESSION: Final = "0d9c6f1e-77aa-4f0e-9f58-1d2ad5a3c001"
SETTINGS: Final = '[events]\nretention_days = 30\n\n[view]\ncommit = "always"\n'


class Call(NamedTuple):
    """One call of the program: its arguments, and a host's payload if it is a hook."""

    arguments: tuple[str, ...]
    payload: Mapping[str, object] | None = None


def hook(event: str, **more: object) -> Call:
    """Make the call of a host's hook."""
    return Call(("hook", "--host", "claude"), {"hook_event_name": event, **more})


PULSE: Final = Call(("--version",))
LIFE: Final = (
    Call(("start",)),
    Call(("goal", "TAG ship it")),
    Call(("decide", "store", "TAG sqlite", "--because", "TAG one file")),
    Call(("next", "TAG write tests")),
    Call(("publish",)),
    Call(("handoff", "create")),
    Call(("synthesize",)),
    Call(("end",)),
    hook("SessionStart", source="startup"),
    Call(("now", "TAG looking around")),
)
"""What happened before, in both projects; `TAG` is replaced."""

CALLS: Final = (
    hook("SessionStart", source="startup"),
    hook("UserPromptSubmit", prompt="go on"),
    Call(("start",)),
    Call(("decide", "key", "text")),
    Call(("publish",)),
    hook("Stop"),
    Call(("brief",)),
    Call(("view",)),
    Call(("synthesize", "--archive", "--commit")),
    Call(("search", "event OR ship")),
    Call(("check",)),
    Call(("certify",)),
    Call(("doctor", "--fix", "--yes")),
    Call(("handoff", "create")),
    hook("SessionEnd", reason="other"),
    Call(("end",)),
)
"""What is called in a project that was attacked."""
MORE_SECONDS: Final = 3.0
"""How much longer than usual a call may take: a machine may pause, but a FIFO waits for ever."""


class Result(NamedTuple):
    """What a call printed, took and used."""

    arguments: list[str]
    code: int
    seconds: float
    bytes: int
    out: str
    err: str


class Stage:
    """Two projects, which can be put back as they were."""

    pulse = 0.0
    """How long a call that does nothing took when the stage was made."""
    slowness = 1.0
    """How much longer it took when calls were last made: other work slows this machine down."""

    def __init__(self, base: Path, calls: Sequence[Call]) -> None:
        """Let both projects have a life, and see how long the calls usually take."""
        self.base = base
        self.root = base / "project"
        self.outside = base / "outside"
        self.home = base / "home"
        self.transcript = base / "transcript.jsonl"
        for root, tag in ((self.root, "own"), (self.outside, CANARY)):
            self._make(root, tag)
        self._kept = base / "kept"
        for root in (self.root, self.outside):
            shutil.copytree(root, self._kept / root.name, symlinks=True)
        self._outside = snapshot(self.outside)
        self.pulse = 0.0
        results = self.run(calls)
        assert not [one for one in results if one.code not in {0, 1}], results
        self.seconds = max(result.seconds for result in results)
        """What the slowest call takes where nothing was planted."""

    def _make(self, root: Path, tag: str) -> None:
        project = make_started(root)
        put(root, "passdown.toml", SETTINGS)
        put_event(root, "2020-01-14T12:00:00Z", agent=tag, now=f"{tag} an old event")
        put(root, ".conductor/preferences.json", "{}\n")
        said = {"type": "user", "message": {"role": "user", "content": f"{tag} prompt"}}
        put(root.parent, "transcript.jsonl", json.dumps(said) + "\n")
        put(root, "transcript.jsonl", json.dumps(said) + "\n")
        self._put_more(root, tag)
        self._play(LIFE, root, tag)
        put_event(root, "2021-01-14T12:00:00Z", agent=tag, now=f"{tag} another old event")
        project.git("add", "--all")
        project.git("commit", "--quiet", "--message=two")

    def _put_more(self, root: Path, tag: str) -> None:
        """Put what few sessions leave, but all may read."""
        put(root, ".conductor/journal/s-1.jsonl", "{}\n")
        put(root, ".conductor/hooks.log", f"{tag}\n")
        put(root, ".conductor/metrics.jsonl", "{}\n")
        put(root, ".conductor/last-checkpoint-commit.txt", "2026-01-01T00:00:00.000Z\n")
        put(root, f"thoughts/shared/handoffs/{tag}-stream/current.md", f"# {tag}\n")
        put(root, "thoughts/shared/handoffs/stream/current.md", f"# {tag}\n")

    def _play(self, calls: Sequence[Call], root: Path, tag: str) -> None:
        told = [
            call._replace(arguments=tuple(word.replace("TAG", tag) for word in call.arguments))
            for call in calls
        ]
        for result in self.run(told, root=root):
            assert result.code == 0, result

    def restore(self) -> None:
        """Put both projects back; the other one usually is as it was."""
        changed = [self.outside] if snapshot(self.outside) != self._outside else []
        for root in (self.root, *changed):
            clear(root)
            shutil.copytree(self._kept / root.name, root, symlinks=True)

    def run(
        self,
        calls: Sequence[Call],
        *,
        root: Path | None = None,
        holes: Sequence[str] = (),
        without_handles: bool = False,
        limit: float = 30.0,
    ) -> list[Result]:
        """Run calls one after the other, each in a process of its own."""
        where = self.root if root is None else root
        folder = self.base / "run"
        folder.mkdir(exist_ok=True)
        steps = [
            {
                "arguments": one.arguments,
                "input": self._input(one, where),
                "folder": str(where),
                "limit": limit,
            }
            for one in (PULSE, *calls, PULSE)
        ]
        plan = {
            "steps": steps,
            "holes": list(holes),
            "without_handles": without_handles,
            "environment": {
                "HOME": str(self.home),
                "XDG_CONFIG_HOME": str(self.home / ".config"),
                "PASSDOWN_SESSION": SESSION,
            },
        }
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        subprocess.run([sys.executable, str(DRIVER), str(folder)], check=True, env=_environment())
        found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        first, *results, last = [Result(**one) for one in found]
        self.pulse = self.pulse or max(first.seconds, last.seconds)
        self.slowness = max(1.0, first.seconds / self.pulse, last.seconds / self.pulse)
        return results

    def _input(self, call: Call, root: Path) -> str:
        if call.payload is None:
            return ""
        usual: dict[str, Any] = {
            "session_id": SESSION,
            "cwd": str(root),
            "transcript_path": str(root / "transcript.jsonl"),
        }
        return json.dumps({**usual, **call.payload})


def _environment() -> dict[str, str]:
    """Return the environment of a test, and where the package and the tests are."""
    paths = [str(Path(__file__).parents[2]), *(path for path in sys.path if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


# --- what is planted --------------------------------------------------------------------------------


def clear(path: Path) -> None:
    """Remove whatever has a path; a link is removed, not what it leads to."""
    if not path.is_symlink() and path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _link(path: Path, target: Path | str) -> None:
    path.symlink_to(target)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:  # only root makes devices
        path.symlink_to("/dev/full")


def _file(path: Path) -> None:
    path.write_bytes(b"no folder\n")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 33)


PLANTS: Final[Mapping[str, Callable[[Path, Path], None]]] = MappingProxyType(
    {
        "link to the other project": _link,
        "link to /dev/zero": lambda path, _: _link(path, "/dev/zero"),
        "FIFO": lambda path, _: os.mkfifo(path),
        "device": lambda path, _: _device(path),
        "link to itself": lambda path, _: _link(path, path.name),
        "link to nothing": lambda path, _: _link(path, "nowhere"),
        "folder": lambda path, _: path.mkdir(),
        "file": lambda path, _: _file(path),
        "link to a FIFO": lambda path, other: _link(path, _fifo_beside(other)),
        "8 GiB": lambda path, _: _huge(path),
    }
)


def _fifo_beside(other: Path) -> Path:
    """Return a FIFO outside both projects."""
    path = next(parent for parent in other.parents if (parent / "kept").is_dir()) / "fifo"
    if not path.exists():
        os.mkfifo(path)
    return path


HANDOFFS: Final = "thoughts/shared/handoffs"
FOLDERS: Final = (
    *(".conductor", ".conductor/journal", ".conductor/waiting", ".conductor/levels"),
    *("conductor", "conductor/sessions", "conductor/sessions/active", "conductor/sessions/archive"),
    *("thoughts", "thoughts/shared", HANDOFFS, EVENTS, f"{EVENTS}/2020-01-14", f"{HANDOFFS}/archive"),
    *(f"{HANDOFFS}/archive/2020-01-14", f"{HANDOFFS}/stream"),
    *(".git/passdown", ".git/passdown/journal", ".git/passdown/cache", ".git/passdown/waiting"),
)
"""Every folder on the way to a file that we read or write."""

FILES: Final = (
    ("passdown.toml",),
    (".gitignore", ".gitattributes", ".git/info/exclude"),
    (".conductor/journal/s-1.jsonl", ".conductor/journal/s-12771df35e2f.jsonl"),
    (".conductor/hooks.log", ".conductor/metrics.jsonl", ".conductor/paused", ".conductor/.gitignore"),
    (".conductor/preferences.json", ".conductor/session-state_*.json", ".conductor/current.md"),
    (
        ".conductor/last-checkpoint-commit.txt",
        f".conductor/waiting/{SESSION}",
        f".conductor/levels/{SESSION}",
    ),
    (".git/passdown/journal/*.jsonl",),
    (".git/passdown/cache/events-*.sqlite",),
    (".git/passdown/cache/events-*.sqlite-wal", ".git/passdown/cache/search-*.sqlite"),
    (".git/passdown/hooks.log", ".git/passdown/metrics.jsonl", f".git/passdown/waiting/{SESSION}"),
    (".git/passdown/paused", f".git/passdown/levels/{SESSION}"),
    ("conductor/sessions/active/LEDGER.md", "conductor/sessions/active/.gitignore"),
    ("conductor/sessions/archive/*.md",),
    (f"{EVENTS}/*_generic-*.md", f"{EVENTS}/2021-*.md"),
    (f"{EVENTS}/2020-01-14/rollup-*.jsonl", f"{HANDOFFS}/archive/2020-01-14/*.md"),
    (f"{HANDOFFS}/current.md",),
    (f"{HANDOFFS}/stream/current.md",),
)
"""The files that we read or write; those that stand together do not hide each other."""


# Git itself opens its rules, and waits for a FIFO there. No repository can carry a FIFO or a device, and git
# follows no link to one in a working tree; git's own folder is not part of a repository's content.
_GITS_RULES: Final = (".gitignore", ".gitattributes", "info/exclude")
_UNCARRIED: Final = MappingProxyType(
    {"FIFO": _GITS_RULES, "device": _GITS_RULES, "link to a FIFO": ("info/exclude",)}
)


def plant(stage: Stage, patterns: Sequence[str], kind: str) -> None:
    """Put something in the place of files or folders of the project, as a pull request would."""
    for pattern in patterns:
        if pattern.endswith(_UNCARRIED.get(kind, ())):
            continue
        for path in sorted(stage.root.glob(pattern)) or ([] if "*" in pattern else [stage.root / pattern]):
            clear(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            PLANTS[kind](path, stage.outside / path.relative_to(stage.root))


def attack(
    stage: Stage,
    patterns: Sequence[str],
    kind: str,
    calls: Sequence[Call],
    *,
    holes: Sequence[str] = (),
    without_handles: bool = False,
) -> list[str]:
    """Plant something, make the calls, and return what must not have happened."""
    stage.restore()
    plant(stage, patterns, kind)
    before = snapshot(stage.outside)
    results = stage.run(calls, holes=holes, without_handles=without_handles, limit=stage.seconds * 2 + 5)
    return judge(stage, results, before)


# --- what must hold ---------------------------------------------------------------------------------


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything below a folder: paths, modes and contents; links are not followed."""
    found: dict[str, tuple[int, bytes]] = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(folder, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                data = b"" if status.st_size > MOST_BYTES else path.read_bytes()
            else:
                data = os.fsencode(path.readlink()) if path.is_symlink() else b""
            found[path.relative_to(root).as_posix()] = (status.st_mode, data)
    return found


def judge(stage: Stage, results: Sequence[Result], before: Mapping[str, tuple[int, bytes]]) -> list[str]:
    """Return what must not have happened: escapes, hangs, too much memory, errors that are ours."""
    found: list[str] = []
    for one in results:
        name = " ".join(one.arguments)
        if CANARY in one.out + one.err:
            found.append(f"{name} printed what the other project holds: {one.out}{one.err}")
        if one.seconds > (stage.seconds + MORE_SECONDS) * stage.slowness or one.code == KILLED:
            found.append(f"{name} took {one.seconds:.2f} s; usual are at most {stage.seconds:.2f} s")
        if one.bytes > MOST_BYTES:
            found.append(f"{name} used {one.bytes // 1_048_576} MiB")
        if one.code in {70, 99} or "Traceback" in one.err or "MemoryError" in one.err:
            found.append(f"{name} ended with {one.code}: {one.err[-2000:]}")
    if snapshot(stage.outside) != before:
        found.append("the other project was changed")
    found += [f"{path} holds it" for path in _with_canary(stage.root)]
    return found


def _with_canary(root: Path) -> Iterator[str]:
    for path, (mode, data) in snapshot(root).items():
        if stat.S_ISREG(mode) and CANARY.encode() in data:
            yield path
    shown = subprocess.run(["git", "log", "--all", "-p"], cwd=root, check=False, capture_output=True)
    if CANARY.encode() in shown.stdout:
        yield "a commit"
