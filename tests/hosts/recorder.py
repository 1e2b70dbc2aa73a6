"""Play a script with a real host and keep what it wrote, without a trace of the machine it ran on.

scripts/record-transcripts [NAME …]     plays scripts again; PASSDOWN_HOSTS names the programs' folder
"""

import getpass
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.hosts.drivers import DRIVERS, Ground, find_program
from tests.hosts.model import Model
from tests.hosts.scripts import RECORDINGS, ROOT, Script, list_scripts, read_script

_HOME: Final = "/home/user"
_CUT: Final = 200
"""How much of a long text of the host's own (instructions, lists of tools) is kept."""


class Failed(Exception):  # noqa: N818 - it says how a recording went
    """A script could not be played to its end."""


def record(script: Script, folder: Path) -> Path:
    """Play a script below an empty folder, and keep the transcripts; give where they are."""
    with Model() as model:
        ground = Ground(folder=folder, address=model.address, variables=script.variables)
        _make_project(ground.root, script.files)
        ground.home.mkdir()
        kind = DRIVERS[script.host]
        driver = kind(find_program(kind.program), ground)
        version = driver.version()
        for turn in script.turns:
            model.prepare(turn.steps, str(ground.root))
            ended = driver.turn(turn.prompt, turn.options)
            if ended.code or model.left:
                raise Failed(
                    f"{script.name}: {turn.prompt!r}: {model.left} steps left\n{ended.out}{ended.err}"
                )
        commits = _git(ground.root, "log", "--format=%H", "--reverse").split()[1:]
        paths = driver.transcripts()
    target = RECORDINGS / f"{script.host}-{script.name}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = [_name(path, paths[0]) for path in paths]
    for path, name in zip(paths, names, strict=True):
        text = clean(path.read_text(encoding="utf-8"), _replacements(ground))
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    about = {"version": version, "transcript": names[0], "others": names[1:], "commits": commits}
    (RECORDINGS / f"{target.name}.record.json").write_text(
        json.dumps(about, indent=2) + "\n", encoding="utf-8"
    )
    return target


def _name(path: Path, first: Path) -> str:
    """Name a transcript as it lies beside the session's own."""
    is_below = path.is_relative_to(first.parent)
    return path.relative_to(first.parent).as_posix() if is_below else path.name


def _make_project(root: Path, files: Mapping[str, str]) -> None:
    root.mkdir(parents=True)
    for name, text in {"README.md": "# A project\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _git(root, "init", "--quiet", "--initial-branch=main")
    _git(root, "config", "user.name", "A User")
    _git(root, "config", "user.email", "user@example.com")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message=first")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def _replacements(ground: Ground) -> Mapping[str, str]:
    """Say what stands for what: a folder's name also comes with its slashes folded."""
    found: dict[str, str] = {}
    for real, shown in ((ground.root, ROOT), (ground.home, _HOME), (ground.folder, "/recorded")):
        found[str(real)] = shown
        found[re.sub(r"[^A-Za-z0-9]", "-", str(real))] = re.sub(r"[^A-Za-z0-9]", "-", shown)
    found[platform.node()] = "machine"
    found[platform.release()] = "release"
    found[f'"{getpass.getuser()}"'] = '"user"'
    return {real: shown for real, shown in found.items() if len(real) > 3}


def clean(text: str, replacements: Mapping[str, str]) -> str:
    """Take names of the machine out of a transcript, and cut the host's own long texts."""
    for real, shown in replacements.items():
        text = text.replace(real, shown)
    text = _OWN_FOLDER.sub("/recorded/claude", _SIGNED.sub("", text))
    lines = [_shorten(line) for line in text.split("\n")]
    return "\n".join(lines)


_OWN_FOLDER: Final = re.compile(r"/tmp/claude-\d+")  # noqa: S108 - what a host calls its own
_SIGNED: Final = re.compile(r"Co-Authored-By: [^\"\\]*")
_THEIRS: Final = frozenset(
    {
        *("user", "assistant", "response_item", "event_msg"),
        *("user.message", "tool.execution_start", "tool.execution_complete"),
    }
)


def _shorten(line: str) -> str:
    """Cut the texts of a line that only the host itself wrote: they are long, and not ours to publish."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    payload = value.get("payload") if isinstance(value, dict) else None
    role = payload.get("role") if isinstance(payload, dict) else None
    is_theirs = value.get("type") in _THEIRS and role not in {"developer", "system"}
    if is_theirs and "isCompactSummary" not in value:
        return line
    return json.dumps(_cut(value), ensure_ascii=False, separators=(",", ":"))


def _cut(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _CUT else f"{value[:_CUT]}…"
    if isinstance(value, list):
        return [_cut(one) for one in value]
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return value


def main(arguments: Sequence[str]) -> int:
    """Record the scripts that are named, or all."""
    for path in list_scripts():
        name = path.name.removesuffix(".script.json")
        if arguments and name not in arguments:
            continue
        with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
            try:
                target = record(read_script(path), Path(folder).resolve() / "ground")
            except Failed as found:
                sys.stderr.write(f"{found}\n")
                return 1
        count = len(list(target.rglob("*.jsonl")))
        sys.stdout.write(f"{name}: {count} transcripts\n")
    return 0
