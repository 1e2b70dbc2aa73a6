"""What a session ran: of a test's command, nothing but known words is in anything that others can read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.commands import run
from tests.support.gits import Project, make_started
from tests.unit.hosts.test_transcripts import lines, prompt, result, use

WORDS: Final = ("hunter2", "correct-horse", "8w3k1q", "zebra", "internal.example")
COMMANDS: Final = (
    "DB_PASSWORD=hunter2 pytest tests/unit",
    "pytest --token=8w3k1q -q tests/unit",
    "cd sub && API_BASE=https://internal.example PGPASSWORD='correct-horse' npm test -- --user zebra",
)
SHARED: Final = ("… pytest tests/unit", "pytest … -q tests/unit", "… npm test -- …")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project in which a session ran tests and has ended."""
    project = make_started(tmp_path / "project")
    assert run("init", "--yes", cwd=project.folder).code == 0
    transcript = tmp_path / "transcript.jsonl"
    calls = [use(f"c{number}", "Bash", command=text) for number, text in enumerate(COMMANDS)]
    results = [result(f"c{number}", "ok") for number in range(len(COMMANDS))]
    said = [one for pair in zip(calls, results, strict=True) for one in pair]
    transcript.write_bytes(lines(prompt("Mend it.", uuid="p1"), *said))
    for words in (
        ("start",),
        ("observe", str(transcript), "--host", "claude"),
        ("done", "mended it"),
        ("publish",),
        ("handoff", "create", "--stream", "work"),
        ("end",),
        ("synthesize",),
    ):
        done = run(*words, cwd=project.folder)
        assert done.code == 0, (words, done)
    return project


def shared_files(project: Project) -> Iterator[tuple[str, str]]:
    """Give every file that git would add, with its text."""
    project.git("add", "--all")
    for name in project.git("ls-files", "-z").split("\0")[:-1]:
        yield name, (project.folder / name).read_text(encoding="utf-8")


@pytest.mark.requirement("C61", "G18")
def test_no_shared_file_has_more_of_a_test_than_known_words(project: Project) -> None:
    texts = dict(shared_files(project))

    for name, text in texts.items():
        assert not [word for word in WORDS if word in text], name
    for kind in ("events", "current.md", "work"):
        where = "\n".join(text for name, text in texts.items() if kind in name)
        assert any(one in where for one in SHARED), (kind, list(texts))
    events = "\n".join(text for name, text in texts.items() if "events/" in name)
    assert all(one in events for one in SHARED)


@pytest.mark.requirement("C61", "G18")
def test_no_command_in_another_clone_shows_more_of_it(project: Project, tmp_path: Path) -> None:
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=all")
    project.git("clone", "--quiet", str(project.folder), str(tmp_path / "clone"))

    for words in (
        ("brief",),
        ("view", "show"),
        ("view", "list", "receipts"),
        ("log", "--json"),
        ("log",),
        ("search", "pytest"),
        ("search", "hunter2"),
        ("certify", "--json"),
        ("handoff", "show", "work"),
        ("handoff", "resume", "work", "--run-test", "--yes"),
    ):
        done = run(*words, cwd=tmp_path / "clone")
        assert done.code in {0, 1}, (words, done)
        assert not [word for word in WORDS if word in (done.out + done.err).replace(" ".join(words), "")], (
            words
        )


@pytest.mark.requirement("C61")
def test_the_machine_itself_keeps_the_whole_command(project: Project) -> None:
    kept = [
        json.loads(line)
        for folder, _, names in os.walk(project.folder / ".git/passdown/journal")
        for name in names
        for line in (Path(folder) / name).read_text(encoding="utf-8").splitlines()
    ]

    tests = [one["fact"]["text"] for one in kept if one["fact"]["kind"] == "test"]
    assert len(tests) == len(COMMANDS)
    assert tests[1].startswith("pytest --token=")
    assert tests[2].startswith("API_BASE=https://internal.example PGPASSWORD=")
