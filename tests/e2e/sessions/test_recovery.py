"""A session that never ended: the next start publishes what it knew, once, wherever it starts."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from passdown.core.formats.events import Event, parse_event
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account, HostProcess, SessionStart, make_start
from passdown.engines.files import write
from passdown.engines.files.journals import FileJournals
from passdown.engines.process import SystemProcesses
from passdown.records import replace
from passdown.services.sessions.journals import read_account, write_fact
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.liveness import is_live
from passdown.services.sessions.sessions import StartedSession, StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace as Sessions
from passdown.wiring.projects import read_settings
from tests.support.commands import environment
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, open_checkout
from tests.support.sessions import AGENT, NOON

ROOT = Path(__file__).resolve().parents[3]
# A session that says something and is gone without a word, with its host.
SILENT = """
import os, sys
from tests.faults.sessions.lives import call, own_host
from passdown.engines.process import SystemProcesses
SystemProcesses.find_host = own_host
os.chdir(sys.argv[1])
for words in (["start"], ["goal", "Ship it"], ["done", "wrote the parser"], ["note", "mine"]):
    assert call(*words) == 0
os._exit(9)
"""
# A start that waits until it is told to go on.
STARTER = """
import os, sys
from tests.faults.sessions.lives import call, own_host
from passdown.engines.process import SystemProcesses
SystemProcesses.find_host = own_host
import passdown.faces.cli.lifecycle, passdown.wiring, passdown.engines.sqlite.event_index
os.chdir(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
sys.exit(call("start", "--json"))
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "main")


def worktree(project: Project, name: str = "other") -> Project:
    """Make another checkout."""
    folder = project.folder.parent / name
    project.git("worktree", "add", "-q", str(folder))
    return Project(folder=folder)


def run_silent(project: Project) -> None:
    """Let a session work and vanish."""
    done = subprocess.run(
        [sys.executable, "-c", SILENT, str(project.folder)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 9, done.stderr


def open_in(project: Project) -> Sessions:
    settings, _ = read_settings(project.folder, os.environ)
    return open_checkout(project.folder, settings)


def start(project: Project, **request: object) -> StartedSession:
    """Start a session as a new process would."""
    return start_session(open_in(project), StartRequest(**request))  # type: ignore[arg-type]  # a test knows its wish


def events(*projects: Project) -> list[Event]:
    """Give the events of checkouts."""
    paths = [path for one in projects for path in sorted((one.folder / EVENTS).glob("*.md"))]
    return [parse_event(path.read_text(encoding="utf-8")) for path in paths]


def assert_published_once(*projects: Project) -> None:
    found = [event for event in events(*projects) if event.reason == "recovered"]
    assert [event.this_session for event in found] == [("wrote the parser",)]
    assert "mine" not in (found[0].source or "")


@pytest.mark.requirement("R1", "G15")
def test_the_next_start_publishes_what_was_known(project: Project) -> None:
    run_silent(project)

    first, second = start(project), start(project)

    assert [one.written is not None for one in first.recovered] == [True]
    assert second.recovered == ()
    assert_published_once(project)


@pytest.mark.requirement("G15")
def test_a_start_in_another_worktree_publishes_there(project: Project) -> None:
    other = worktree(project)
    run_silent(project)

    assert len(start(other).recovered) == 1
    assert start(project).recovered == ()
    assert_published_once(project, other)
    assert len(events(other)) == 1


@pytest.mark.requirement("R1")
def test_git_clean_takes_nothing_away(project: Project) -> None:
    run_silent(project)
    project.git("clean", "-fdxq")
    assert not (project.folder / "conductor").exists()

    assert len(start(project).recovered) == 1
    assert_published_once(project)


@pytest.mark.requirement("R1", "C58")
def test_a_removed_worktree_takes_nothing_away(project: Project) -> None:
    other = worktree(project)
    run_silent(other)
    project.git("worktree", "remove", "--force", str(other.folder))

    assert len(start(project).recovered) == 1
    assert_published_once(project)


@contextmanager
def sandbox(project: Project) -> Iterator[None]:
    """Put a file in the way of what Passdown keeps in git's folder."""
    (project.folder / ".git" / "passdown").write_text("in the way", encoding="utf-8")
    yield
    (project.folder / ".git" / "passdown").unlink()


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_session_in_a_sandbox_is_published_when_it_is_over(project: Project, where: str) -> None:
    other = worktree(project)
    with sandbox(project):
        run_silent(project)
        assert list((project.folder / ".conductor" / "journal").glob("*.jsonl"))

    next_one = project if where == "here" else other
    assert len(start(next_one).recovered) == 1
    assert [start(one).recovered for one in (project, other)] == [(), ()]
    assert_published_once(project, other)


def test_a_session_in_a_sandbox_is_published_from_within(project: Project) -> None:
    with sandbox(project):
        run_silent(project)

        assert len(start(project).recovered) == 1
        assert start(project).recovered == ()
    assert_published_once(project)


def test_a_git_folder_that_became_read_only_splits_a_journal_and_nothing_is_lost(project: Project) -> None:
    here = open_in(project)
    common = str(project.folder / ".git" / "passdown" / "journal")
    dead = HostProcess(2**22 + 1, "1", SystemProcesses().find_host().boot)
    account = begin(here, "s-000000000001", dead)
    update_ledger(here, account, [NewFact(FactKind.DONE, "before")])

    def refuse(handle: int, data: memoryview) -> int:
        if str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(common):
            raise OSError(30, os.strerror(30))
        return os.write(handle, data)

    folders = [common, str(project.folder / ".conductor" / "journal")]
    sandboxed = open_in(project)
    vars(sandboxed)["journals"] = FileJournals(folders, operations=replace(write.HERE, write=refuse))
    update_ledger(sandboxed, read_account(here, account.session), [NewFact(FactKind.DONE, "within")])
    update_ledger(open_in(project), read_account(here, account.session), [NewFact(FactKind.DONE, "after")])

    (recovered,) = start(project).recovered

    assert recovered.written is not None
    assert recovered.written.event.this_session == ("before", "within", "after")
    assert [line.seq for line in here.journals.read(account.session)] == [1, 2, 3, 4, 5]


def begin(sessions: Sessions, session: str, process: HostProcess) -> Account:
    """Write the first line of a session with any process."""
    ledger = "conductor/sessions/active/LEDGER.md"
    known = SessionStart(checkout=sessions.root, branch="main", ledger=ledger, process=process)
    write_fact(sessions, session, make_start(known, NOON, AGENT))
    return read_account(sessions, session)


@pytest.mark.requirement("G15")
@pytest.mark.parametrize("worktrees", [0, 1, 2])
def test_starts_at_the_same_moment_publish_once(project: Project, worktrees: int) -> None:
    others = [worktree(project, f"other-{number}") for number in range(worktrees)]
    places = [project, *others] * 2 if worktrees < 2 else [project, *others]
    run_silent(project)

    with ready_starters(places) as starters:
        for one in starters:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        answers = [one.communicate() for one in starters]

    assert [one.returncode for one in starters] == [0] * len(starters), answers
    assert_published_once(project, *others)
    told = [json.loads(out) for out, _ in answers]
    assert sum(len(one["recovered"]) for one in told) == 1
    assert len({one["session"] for one in told}) == len(starters)
    for place in {one.folder for one in places}:
        ledgers = [one["ledger"] for one in told if one["checkout"] == str(place)]
        assert len(set(ledgers)) == len(ledgers)


@contextmanager
def ready_starters(places: list[Project]) -> "Iterator[list[subprocess.Popen[str]]]":
    """Start processes that wait, each in its checkout."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(one.folder)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for one in places
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield started
    finally:
        for one in started:
            with suppress(ValueError):  # its pipes were closed when its answer was read
                one.communicate()


@pytest.mark.requirement("R51")
def test_a_live_process_is_never_recovered_however_old_and_a_number_used_again_is(project: Project) -> None:
    here = open_in(project)
    alive = SystemProcesses().find_host()
    assert alive.pid
    begin(here, "s-000000000001", alive)
    begin(here, "s-000000000002", alive._replace(started=f"{alive.started}1"))
    begin(here, "s-000000000003", alive._replace(boot="another"))
    for session in ("s-000000000001", "s-000000000002", "s-000000000003"):
        assert is_live(here, read_account(here, session)) == (session == "s-000000000001")

    recovered = start(project, is_new=True).recovered

    assert [one.account.session for one in recovered] == ["s-000000000002", "s-000000000003"]
