"""A search that is killed while it reads leaves a cache that works, and a person who waits sees a bar."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import Terminal, environment, run
from tests.support.projects import put

COUNT = 600
KILLED = """
import os, signal, sys
from pathlib import Path
from passdown.wiring.projects import read_settings
from passdown.wiring.searches import open_search_scope
from passdown.wiring.workspaces import Outside, open_workspace
from passdown.services.project import search

search.BATCH = 100
root, at = Path(sys.argv[1]), int(sys.argv[2])
settings, _ = read_settings(root, os.environ)
project = open_workspace(root, settings, Outside(variables=os.environ))

def step(number, total):
    if number == at:
        os.kill(os.getpid(), signal.SIGKILL)

search.search(project, open_search_scope(project), search.SearchRequest(text="alpha"), step)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".conductor").mkdir()
    for number in range(COUNT):
        text = f"# Session Handoff\n\nalpha n{number}\n"
        put(tmp_path, f"conductor/sessions/archive/2026-01-10-13-00-manual-{number}.md", text)
    return tmp_path


@pytest.mark.parametrize("at", [1, 350, COUNT])
def test_a_build_that_is_killed_goes_on_the_next_time(project: Path, at: int) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(project), str(at)], env=environment(), check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL

    done = run("search", "alpha", "-n", "1", cwd=project)

    assert done.code == 0
    assert f"and {COUNT - 1} more" in done.err
    assert f"alpha n{COUNT - 1}" in run("search", f"n{COUNT - 1}", cwd=project).out
    assert [path.suffix for path in (project / ".conductor").glob("search-*")] == [".sqlite"]


def test_a_person_who_waits_sees_a_bar(project: Path) -> None:
    with Terminal("search", "n7", cwd=project) as terminal:
        terminal.read_until("passdown handoff show 2026-01-10-13-00-manual-7")

    assert f"of {COUNT}" in terminal.seen
    assert "reading documents [" in terminal.seen
