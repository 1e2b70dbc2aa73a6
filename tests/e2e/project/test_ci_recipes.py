"""The scripts that the how-to page shows do what it says, against a remote on this disk."""

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.gits import Project, make_project
from tests.support.projects import ARCHIVE, EVENTS, VIEW, put, put_event
from tests.transcripts import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the recipes are shell scripts")

PAGE: Final = ROOT / "docs" / "how-to" / "ci-view.md"
PATTERNS: Final = ROOT / "docs" / "how-to" / "synthesize.md"


def script(title: str, page: Path = PAGE) -> str:
    """Take a script out of the page by the file it is meant for."""
    found = re.search(
        rf'^```[a-z]+ title="{re.escape(title)}"\n(.*?)^```$',
        page.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None
    return found[1]


def install(folder: Path, title: str) -> Path:
    """Put a script of the page where it says."""
    path = put(folder, title, script(title))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def call(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Give a bare repository, with `passdown` on the path."""
    shim = put(tmp_path, "bin/passdown", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m passdown "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    bare = tmp_path / "remote.git"
    project = make_project(tmp_path / "seed")
    put_event(project.folder, "2020-01-10T13:00:00Z", goal="Fix hooks", now="Old")
    install(project.folder, "ci/synthesize")
    install(project.folder, "ci/check-view")
    put(project.folder, "passdown.toml", script("passdown.toml"))
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("clone", "--quiet", "--bare", ".", str(bare))
    return Project(folder=bare)


def clone(remote: Project, name: str, *options: str) -> Project:
    """Clone the remote."""
    folder = remote.folder.parent / name
    remote.git("clone", "--quiet", *options, remote.folder.as_uri(), str(folder))
    return Project(folder=folder)


@pytest.mark.requirement("R136")
def test_the_hook_refuses_to_push_an_outdated_view_and_lets_a_current_one_through(remote: Project) -> None:
    project = clone(remote, "desk")
    install(project.folder, ".git/hooks/pre-push")
    put_event(project.folder, "2026-01-11T08:00:00Z", "crisp", now="New")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=two")
    before = remote.git("rev-parse", "main")

    refused = call(project.folder, "git", "push", "--quiet")

    assert refused.returncode != 0
    assert "run `passdown synthesize`" in refused.stderr
    assert remote.git("rev-parse", "main") == before
    assert project.git("status", "--porcelain") == ""
    assert call(project.folder, "passdown", "synthesize", "--commit").returncode == 0
    assert call(project.folder, "git", "push", "--quiet").returncode == 0
    assert remote.git("rev-parse", "main") != before


@pytest.mark.requirement("R128", "R136")
@pytest.mark.parametrize("is_detached", [False, True])
def test_the_job_brings_the_view_up_to_date_and_the_check_passes_in_fresh_clones(
    remote: Project, *, is_detached: bool
) -> None:
    assert call(clone(remote, "before").folder, "ci/check-view").returncode == 4
    job = clone(remote, "job", "--depth=1")
    if is_detached:
        job.git("checkout", "--quiet", "--detach")

    done = call(job.folder, "ci/synthesize")

    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in remote.git("ls-tree", "-r", "--name-only", "main").splitlines() if name == VIEW]
    for name, options in (("full", ()), ("shallow", ("--depth=1",))):
        fresh = clone(remote, name, *options)
        checked = call(fresh.folder, "ci/check-view")
        assert (checked.returncode, checked.stdout) == (0, "")
        assert call(fresh.folder, "passdown", "view", "verify").returncode == 0
        assert list((fresh.folder / ARCHIVE).rglob("*.md"))
    assert call(clone(remote, "later").folder, "ci/synthesize", "main").returncode == 0
    before = remote.git("rev-parse", "main")
    fresh = clone(remote, "without old copies")
    assert not list((fresh.folder / ARCHIVE).rglob("*.md"))
    assert call(fresh.folder, "ci/check-view").returncode == 0
    assert call(clone(remote, "again").folder, "ci/synthesize", "main").returncode == 0
    assert remote.git("rev-parse", "main") == before


@pytest.mark.requirement("C127")
def test_a_job_that_was_overtaken_by_another_run_drops_its_own(remote: Project) -> None:
    jobs = [clone(remote, name) for name in ("job", "other")]
    put_event(jobs[0].folder, "2020-01-12T08:00:00Z", "crisp", now="Old, too")
    jobs[0].git("add", "--all")
    jobs[0].git("commit", "--quiet", "--message=late")
    assert call(jobs[1].folder, "ci/synthesize").returncode == 0
    assert call(jobs[0].folder, "passdown", "archive", "run", "--yes").returncode == 0

    assert call(jobs[0].folder, "ci/synthesize").returncode == 0

    fresh = clone(remote, "fresh")
    assert call(fresh.folder, "ci/check-view").returncode == 0
    assert call(fresh.folder, "passdown", "archive", "verify").returncode == 0
    assert not fresh.git("ls-files", "--", f"{EVENTS}/*.md")


@pytest.mark.requirement("C127")
def test_the_job_archives_only_once_the_settings_say_that_it_does(remote: Project) -> None:
    job = clone(remote, "job")
    put(job.folder, "passdown.toml", "")
    job.git("commit", "--quiet", "--all", "--message=unset")

    refused = call(job.folder, "passdown", "archive", "run", "--yes")

    assert refused.returncode == 1
    assert "other clones write events, too" in refused.stderr
    assert 'archiver = "job"' in refused.stderr
    assert not list((job.folder / ARCHIVE).rglob("*.md"))


def test_a_job_that_was_overtaken_starts_again(remote: Project) -> None:
    job = clone(remote, "job")
    faster = clone(remote, "faster")
    put_event(faster.folder, "2026-01-11T08:00:00Z", "crisp", now="Newest")
    faster.git("add", "--all")
    faster.git("commit", "--quiet", "--message=faster")
    faster.git("push", "--quiet")

    assert call(job.folder, "ci/synthesize").returncode == 0

    fresh = clone(remote, "fresh")
    assert call(fresh.folder, "ci/check-view").returncode == 0
    assert "Newest" in (fresh.folder / VIEW).read_text(encoding="utf-8")


@pytest.mark.requirement("R138")
def test_the_attributes_of_pattern_b_name_the_view() -> None:
    assert script(".gitattributes", PATTERNS) == f"/{VIEW} merge=union\n"
