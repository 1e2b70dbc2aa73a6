"""Hooks import no transcripts, and what was imported costs neither them nor a verb anything (C134)."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import passdown
from tests.support.commands import environment, run
from tests.support.gits import Project

SOURCE: Final = Path(passdown.__file__).parent
IMPORTING: Final = (
    "passdown.services.project.imports",
    "passdown.actions.project.history",
    "passdown.wiring.imports",
    "passdown.core.hosts.past_sessions",
    "passdown.hosts.claude.history",
    "passdown.hosts.codex.history",
    "passdown.hosts.copilot.history",
)
SESSIONS: Final = 1_000

WATCHED: Final = """
import sys
def watch(event, arguments):
    if event in {"open", "os.listdir", "os.scandir", "os.open"}:
        seen.append(str(arguments[0]))
seen = []
sys.addaudithook(watch)
from passdown.faces.cli.main import main
code = main()
found = [one for one in seen if "history" in one.replace("\\\\", "/").split("/") or "imported-" in one]
print("\\nTOUCHED", len(seen), found, file=sys.stderr)
sys.exit(code)
"""


def list_modules() -> Mapping[str, Path]:
    """Give the modules of the package, by name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("passdown", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def list_imports(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, also inside functions, but not what only type checkers import."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        yield from list_imports(node)


@pytest.mark.requirement("C134")
def test_no_module_that_a_hook_can_reach_imports_transcripts() -> None:
    modules = list_modules()
    assert set(IMPORTING) <= set(modules)
    reached: set[str] = set()
    waiting = [name for name in modules if name.startswith("passdown.faces.hooks")]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += list_imports(ast.parse(modules[name].read_text(encoding="utf-8")))

    assert "passdown.services.sessions.observations" in reached
    assert reached.isdisjoint(IMPORTING)


def put_history(project: Project) -> None:
    """Put a thousand imported sessions where they are kept."""
    folder = project.folder / ".git" / "passdown" / "history" / "claude"
    folder.mkdir(parents=True)
    for number in range(SESSIONS):
        head = {"v": 1, "host": "claude", "session": f"imported-{number}", "size": 9}
        entry = {"kind": "prompt", "text": "remember"}
        (folder / f"imported-{number}.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(entry)}\n")


def watch(project: Project, *arguments: str, told: Mapping[str, str] | None = None) -> str:
    """Call the command; give which files of history it touched."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments],
        cwd=project.folder,
        env=environment(),
        input=json.dumps(told).encode() if told else b"",
        capture_output=True,
        check=True,
    )
    return done.stderr.decode().rpartition("TOUCHED ")[2].strip()


@pytest.mark.requirement("C134")
def test_a_start_a_turn_end_and_a_verb_touch_no_imported_session(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put_history(project)
    transcript = tmp_path / "t.jsonl"
    transcript.write_text('{"type":"user","message":{"role":"user","content":"go"},"uuid":"u-1"}\n')
    told = {"session_id": "h-1", "cwd": str(project.folder), "transcript_path": str(transcript)}
    hook = ("hook", "--host", "claude")
    calls = {
        "start": watch(project, *hook, told={**told, "hook_event_name": "SessionStart", "source": "startup"}),
        "prompt": watch(project, *hook, told={**told, "hook_event_name": "UserPromptSubmit", "prompt": "go"}),
        "turn end": watch(project, *hook, told={**told, "hook_event_name": "Stop"}),
        "verb": watch(project, "decide", "store", "Redis", "--session", "h-1"),
        "status": watch(project, "status"),
        "end": watch(project, *hook, told={**told, "hook_event_name": "SessionEnd", "reason": "logout"}),
    }

    touched = {name: text.partition(" ")[2] for name, text in calls.items()}
    assert touched == dict.fromkeys(calls, "[]")
    assert all(int(text.partition(" ")[0]) > 0 for text in calls.values())
    counts = project.folder / ".git" / "passdown" / "history" / "files.txt"
    counts.write_text("".join(f"src/{number}.py\t1\n" for number in range(SESSIONS)) + "README.md\t3\n")
    assert watch(project, "brief").partition(" ")[2] == "[]", "without a relevant file, nothing is read"
    listed = watch(project, "log", "--history")
    assert "imported-" in listed, "what is touched is seen"
    assert f"and {SESSIONS - 20} earlier" in run("log", "--history", cwd=project.folder).err
