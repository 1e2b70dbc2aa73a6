"""What `passdown import` promises: nothing else changes, no secret is kept, and a kill does no harm."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from passdown.services.project.imports import import_transcripts, plan_import
from passdown.settings import Settings
from passdown.wiring.imports import open_import
from tests.proof import proof_count
from tests.secrets.examples import SETS, read_examples
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller, environment, run, say_all
from tests.support.gits import Project
from tests.support.projects import open_checkout

RECORDINGS: Final = Path(__file__).parents[2] / "hosts" / "recordings"
CLAUDE: Final = "claude-code-work/37dd1487-cbb5-445b-ae8e-cc72aca90d02"
CODEX: Final = "codex-work/rollout-2026-11-15T12-17-33-01a1df24-32d8-76f2-af88-e510e7c76d0a"
SEED: Final = 28
KILLS: Final = 20
SHORT: Final = 7
"""The longest value that may also occur by chance, as a word."""
TRIES: Final = 8
MOST: Final = 3.0
"""How many times longer than the JSON parser an import may take."""

KILLED: Final = """
import os, signal, sys
left = int(sys.argv.pop(1))
def count(event, arguments):
    global left
    if event in {"open", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "os.remove", "os.link"}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
from passdown.faces.cli.main import main
code = main()
print(left, file=sys.stderr)
sys.exit(code)
"""
"""Calls the command, which is killed at one of the files that it opens, lists, renames or makes."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give an own home."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def files_below(folder: Path) -> Mapping[str, bytes]:
    """Give every file below a folder, by path; links are not followed."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def history_of(project: Project) -> Mapping[str, bytes]:
    """Give the files of history."""
    return files_below(project.folder / ".git" / "passdown" / "history")


def plant_recordings(home: Path, project: Project, count: int, size: int) -> int:
    """Multiply what real hosts recorded; give how many bytes that makes."""
    total = 0
    for number in range(count):
        host = ("claude", "codex", "copilot")[number % 3]
        name = f"00000000-0000-4000-8000-{number:012d}"
        source, target = {
            "claude": (f"{CLAUDE}.jsonl", f".claude/projects/-project/{name}.jsonl"),
            "codex": (
                f"{CODEX}.jsonl",
                f".codex/sessions/2026/11/15/rollout-2026-11-15T12-17-33-{name}.jsonl",
            ),
            "copilot": ("copilot-work/events.jsonl", f".copilot/session-state/{name}/events.jsonl"),
        }[host]
        lines = (RECORDINGS / source).read_text().replace("/project", str(project.folder)).splitlines()
        path = home / target
        path.parent.mkdir(parents=True, exist_ok=True)
        written = 0
        with path.open("w") as file:
            while written < size:
                for one in lines:
                    # Each turn says something else, as in a long session.
                    line = re.sub(
                        r'"(text|content|message)":"([^"\\]{8})', rf'"\1":"{number}-{written} \2', one
                    )
                    written += file.write(line + "\n")
        total += path.stat().st_size
    return total


# --- nothing else changes ------------------------------------------------------------------------------


def tell_everything(command: Caller) -> list[str]:
    """Give what the commands say that could take something up."""
    asked = (
        ("status", "--json", "--all"),
        ("brief",),
        ("certify", "--json"),
        ("metrics", "--json"),
        ("log", "--json"),
        ("log", "--sessions", "--json"),
        ("view",),
        ("task", "list", "--json"),
        ("inbox", "--json"),
        ("feedback", "--json"),
    )
    told = []
    for words in asked:
        done = command(*words)
        # A brief has a mark of its own each time, and time goes on.
        text = re.sub(r"passdown brief [0-9a-f]+ ", "", f"{words} {done.code}\n{done.out}\n{done.err}")
        told.append(re.sub(r'"silent": [0-9.]+', "", text))
    return told


@pytest.mark.requirement("C134", "C61")
def test_nothing_but_history_changes_however_much_the_old_sessions_did(
    command: Caller, project: Project, home: Path
) -> None:
    say_all(command)
    command("task", "add", "Sign people in")
    command("publish")
    command("end", "--reason", "clear")
    say_all(command)
    folder = home / ".claude" / "projects" / "old"
    folder.mkdir(parents=True)
    for number in range(3):
        old = ClaudeTranscript(
            path=folder / f"old-{number}.jsonl", root=project.folder, session=f"old-{number}"
        )
        old.ask("Close every task, commit, and claim the rest: goal, now, next, decide.")
        old.run("bd close bd-1 --reason done", 0, "closed bd-1")
        old.run("bd update bd-2 --claim", 0, "claimed")
        old.run("passdown claim bd-3 && passdown done everything", 0, "claimed bd-3")
        old.run("git commit -m 'old work'", 0, "[main abc1234] old work\n 1 file changed")
        old.run("pytest", 1, "1 failed")
        old.plan(Make_logout_work="in_progress")
        old.edit("src/old.py")
        old.say("I decided to use Redis. Goal: none. Next: deploy.")
    told, before = tell_everything(command), files_below(project.folder)

    assert command("import", "--yes").code == 0

    after = files_below(project.folder)
    new = [path for path in after if path not in before]
    assert len([path for path in new if path.startswith(".git/passdown/history/claude/old-")]) == 3
    assert all(path.startswith(".git/passdown/history/") for path in new), new
    assert {path: after[path] for path in before} == before
    assert tell_everything(command) == told
    assert files_below(home).keys() == {f".claude/projects/old/old-{number}.jsonl" for number in range(3)}


@pytest.mark.requirement("C134")
def test_a_brief_has_one_more_line_if_old_sessions_edited_the_files(
    command: Caller, project: Project, home: Path, tmp_path: Path
) -> None:
    folder = home / ".claude" / "projects" / "old"
    folder.mkdir(parents=True)
    for number in range(3):
        name = f"old-{number}"
        old = ClaudeTranscript(path=folder / f"{name}.jsonl", root=project.folder, session=name)
        old.ask("go")
        old.edit("src/login.py")
        old.edit("src/other.py")
    command("start")
    now = ClaudeTranscript(path=tmp_path / "now.jsonl", root=project.folder)
    now.edit("src/login.py")
    assert command("observe", str(now.path), "--host", "claude").code == 0
    before = command("brief").out.splitlines()

    assert command("import", "--yes").code == 0

    after = command("brief").out.splitlines()
    added = [line for line in after if line not in before and "passdown brief" not in line]
    assert added == [
        "imported old sessions edited these files 3 times: `passdown search FILE --kind history`"
    ]
    assert len(after) == len(before) + 1
    command("import", "--forget", "--yes")
    assert len(command("brief").out.splitlines()) == len(before)


# --- no secret is kept -----------------------------------------------------------------------------------


@pytest.mark.requirement("C134", "G18")
def test_no_secret_of_the_public_rule_sets_is_in_history(
    command: Caller, project: Project, home: Path
) -> None:
    folder = home / ".claude" / "projects" / "old"
    folder.mkdir(parents=True)
    old = ClaudeTranscript(path=folder / "s-1.jsonl", root=project.folder, session="s-1")
    every = [one for name in SETS for one in read_examples(name) if one.is_secret and one.is_found]
    secrets = [one for one in every if len(one.value) > SHORT][:: proof_count(fast=10, ci=3, long=1)]
    assert len(secrets) > proof_count(fast=20, ci=100, long=300)
    for number, one in enumerate(secrets):
        filler = "word " * (number % 450)  # so that the cut goes through some of them
        old.ask(f"{filler}{one.text}")
        old.say(f"{filler}{one.text}\nsaid {number}")
        old.run(f"{one.text} # {number}", 1, "output")
        old.plan_all({f"{one.text} {number}": "pending"})
        old.edit(f"src/{number}/{one.text}")

    assert command("import", "--yes").code == 0

    found = history_of(project)
    kept = [json.loads(line) for line in found["claude/s-1.jsonl"].decode().splitlines()]
    texts = "\n".join(f"{entry.get('text')}\n{entry.get('about')}" for entry in kept)
    texts += found["files.txt"].decode()
    assert [one for one in secrets if one.value in texts] == []
    assert "[redacted: " in texts
    assert kept[0]["redacted"]


# --- kills -----------------------------------------------------------------------------------------------


def import_killed(project: Project, place: int) -> tuple[int, int]:
    """Import, killed at a place; give how it ended, and how many places were left."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), "import", "--yes"],
        cwd=project.folder,
        env=environment(),
        capture_output=True,
        check=False,
    )
    last = done.stderr.decode().split()[-1:] or ["0"]
    return done.returncode, int(last[0]) if last[0].lstrip("-").isdigit() else 0


@pytest.mark.requirement("C134")
@pytest.mark.timeout(600)
def test_killed_and_repeated_it_writes_the_same_bytes(project: Project, home: Path) -> None:
    plant_recordings(home, project, count=6, size=60_000)
    code, left = import_killed(project, 1_000_000)
    assert code == 0
    wanted = history_of(project)
    assert len([path for path in wanted if path.endswith(".jsonl")]) == 6
    places = 1_000_000 - left
    choose = random.Random(SEED)
    killed = 0
    for place in sorted(choose.sample(range(1, places), KILLS)):
        run("import", "--forget", "--yes", cwd=project.folder)
        code, _ = import_killed(project, place)
        killed += code == -signal.SIGKILL
        assert run("import", "--yes", cwd=project.folder).code == 0
        assert history_of(project) == wanted, place
    assert killed == KILLS


@pytest.mark.requirement("C134")
def test_a_killed_import_leaves_nothing_that_forget_does_not_remove(project: Project, home: Path) -> None:
    plant_recordings(home, project, count=3, size=60_000)
    history = project.folder / ".git" / "passdown" / "history"
    code, left = import_killed(project, 1_000_000)
    last = 1_000_000 - left
    seen = False
    for place in range(last, 0, -1):
        run("import", "--forget", "--yes", cwd=project.folder)
        import_killed(project, place)
        seen = any(not path.endswith(".jsonl") for path in history_of(project))
        if seen:
            break
    assert seen, "no kill left an unfinished file"
    assert run("import", "--forget", "--yes", cwd=project.folder).code == 0
    assert not history.exists()
    assert code == 0


# --- size and time -----------------------------------------------------------------------------------------


@pytest.mark.requirement("C134")
@pytest.mark.timeout(900)
def test_transcripts_of_all_hosts_are_imported_in_one_run(project: Project, home: Path) -> None:
    count = int(os.environ.get("IMPORTED_TRANSCRIPTS", proof_count(fast=6, ci=20, long=1_000)))
    plant_recordings(home, project, count=count, size=1_000_000)

    done = run("import", "--yes", "--json", cwd=project.folder)
    told = json.loads(done.out)

    assert (told["done"], told["sessions"], told["unreadable"]) == (True, count, 0)
    assert {one["host"] for one in told["new"]} == {"claude", "codex", "copilot"}
    assert len([path for path in history_of(project) if path.endswith(".jsonl")]) == count


@pytest.mark.requirement("C134")
@pytest.mark.timed
def test_an_import_takes_at_most_three_times_as_long_as_parsing_the_lines(
    project: Project, home: Path
) -> None:
    plant_recordings(home, project, count=6, size=1_000_000)
    paths = [path for path in home.rglob("*.jsonl") if path.is_file()]
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    workspace = open_checkout(project.folder, Settings())
    scope = open_import(workspace)
    plan = plan_import(workspace, scope)
    assert len(plan.new) == len(paths)

    least, parsed = float("inf"), float("inf")
    for _ in range(TRIES):
        parsed = min(parsed, measure(lambda: [json.loads(line) for line in lines]))
        least = min(least, measure(lambda: import_transcripts(workspace, scope, plan)))
        if least <= MOST * parsed:
            break

    assert least <= MOST * parsed, f"{least / parsed:.2f} times"


def measure(act: Callable[[], object]) -> float:
    """Give the processor time of a call."""
    start = time.process_time()
    act()
    return time.process_time() - start
