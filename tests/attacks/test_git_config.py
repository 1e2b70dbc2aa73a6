"""A repository whose own settings name programs: nothing that we do starts one of them."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import Final

import pytest

from passdown.engines.git import process
from tests.support.commands import Done, environment, run
from tests.support.gits import Project, make_started
from tests.unit.hosts.test_transcripts import lines, prompt, result, use

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are for a POSIX shell")

HOST: Final = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"
HOOKS: Final = ("pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-index-change")
NAMES: Final = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
    *("core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "diff.evil.command"),
    *(
        "gpg.program",
        "credential.helper",
        "sequence.editor",
        "pager.diff",
        "pager.log",
        "uploadpack.packObjectsHook",
    ),
    *("remote.origin.uploadpack", "trailer.sign.command", "interactive.diffFilter", "merge.evil.driver"),
)


def plant(project: Project, folder: Path) -> Path:
    """Name a program in every setting that can name one; return the folder in which it leaves its marks."""
    marks = folder / "marks"
    programs = folder / "programs"
    marks.mkdir()
    programs.mkdir()
    for name in (*NAMES, *HOOKS):
        program = programs / name
        program.write_text(f"#!/bin/sh\ntouch '{marks}/{name}'\nexit 1\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for name in NAMES:
        project.git("config", name, str(programs / name))
    for name, value in {
        "core.hooksPath": str(programs),
        "commit.gpgSign": "true",
        "remote.origin.url": f"ext::{programs / 'remote.origin.uploadpack'}",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "submodule.recurse": "true",
    }.items():
        project.git("config", name, value)
    (project.folder / ".git/info").mkdir(exist_ok=True)
    (project.folder / ".git/info/attributes").write_text("* diff=evil merge=evil\n", encoding="utf-8")
    return marks


def call_hook(project: Project, event: str, transcript: Path, **more: object) -> Done:
    """Call the hook as a host does."""
    import subprocess

    payload = {"hook_event_name": event, "session_id": HOST, "cwd": str(project.folder)}
    words = [sys.executable, "-m", "passdown", "hook", "--host", "claude"]
    done = subprocess.run(
        words,
        input=json.dumps({**payload, "transcript_path": str(transcript), **more}).encode(),
        cwd=project.folder,
        env=environment(),
        capture_output=True,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def work(project: Project, folder: Path) -> None:
    """Let a session start, work, commit and end, by hooks and by commands."""
    transcript = folder / "transcript.jsonl"
    edited = str(project.folder / "kept.txt")
    transcript.write_bytes(
        lines(prompt("Mend it.", uuid="p1"), use("a", "Edit", file_path=edited), result("a", "ok"))
    )
    assert call_hook(project, "SessionStart", transcript, source="startup").code == 0
    project.write("kept.txt", "changed\n")
    assert call_hook(project, "UserPromptSubmit", transcript, prompt="go").code == 0
    for words in (
        ("decide", "db", "SQLite"),
        ("done", "mended it"),
        ("observe", str(transcript), "--host", "claude"),
        ("status",),
        ("brief",),
        ("publish",),
        ("handoff", "create", "--stream", "work"),
        ("synthesize", "--commit"),
        ("doctor",),
        ("search", "mended"),
        ("handoff", "resume", "work"),
    ):
        done = run(*words, cwd=project.folder)
        assert done.code in {0, 1}, (words, done)
    project.write("other.txt", "changed\n")
    assert call_hook(project, "Stop", transcript).code == 0
    assert call_hook(project, "SessionEnd", transcript, reason="logout").code == 0
    assert run("start", cwd=project.folder).code == 0
    assert run("end", cwd=project.folder).code == 0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project that is set up, and commits what we write."""
    project = make_started(tmp_path / "project")
    assert run("init", "--yes", cwd=project.folder).code == 0
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=set up")
    return project


@pytest.mark.requirement("G18")
def test_no_program_that_a_repository_names_is_started(project: Project, tmp_path: Path) -> None:
    before = project.count()
    marks = plant(project, tmp_path)

    work(project, tmp_path)

    assert os.listdir(marks) == []
    assert project.count() > before, "nothing was committed"


def test_the_programs_are_planted_right(project: Project, tmp_path: Path) -> None:
    marks = plant(project, tmp_path)

    project.write("kept.txt", "changed\n")
    project.git("status", check=False)
    project.git("diff", check=False)
    project.git("commit", "--quiet", "--message=x", "--only", "kept.txt", check=False)
    project.git("config", "commit.gpgSign", "false")
    project.git("fetch", "origin", check=False)

    assert {"core.fsmonitor", "pre-commit", "remote.origin.uploadpack"} <= set(os.listdir(marks))


def test_without_our_options_the_programs_would_run(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = plant(project, tmp_path)
    monkeypatch.setattr(process, "_ISOLATED", ())
    project.write("kept.txt", "changed\n")

    project.repository().commit(["kept.txt"], "ours")

    assert {"core.fsmonitor"} <= set(os.listdir(marks))


@pytest.mark.requirement("G18")
def test_missing_objects_are_not_fetched(project: Project, tmp_path: Path) -> None:
    marks = plant(project, tmp_path)
    missing = "1" * 40

    assert not process.Git(str(project.folder), os.environ).run("cat-file", "-p", missing).is_done
    assert os.listdir(marks) == []
    project.git("cat-file", "-p", missing, check=False)
    assert "remote.origin.uploadpack" in os.listdir(marks)


def test_variables_of_a_surrounding_hook_do_not_lead_elsewhere(project: Project, tmp_path: Path) -> None:
    other = make_started(tmp_path / "other")
    before = other.git("rev-parse", "HEAD")
    told = {
        "GIT_DIR": str(other.folder / ".git"),
        "GIT_WORK_TREE": str(other.folder),
        "GIT_OBJECT_DIRECTORY": str(other.folder / ".git/objects"),
        "GIT_SSH_COMMAND": "false",
        "GIT_EXTERNAL_DIFF": "false",
    }
    project.write("kept.txt", "changed\n")

    project.repository(**told).commit(["kept.txt"], "ours")

    assert project.changed() == ["M\tkept.txt"]
    assert other.git("rev-parse", "HEAD") == before
