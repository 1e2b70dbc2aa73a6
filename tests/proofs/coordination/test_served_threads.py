"""Sixteen threads of a process, each with a workspace, make up to 2,000 actions: none is mixed up (C136)."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import pytest

from passdown.actions.callers import CallEnvironment, Caller, ask, open_caller
from passdown.actions.coordination import claims, mail, tasks
from passdown.actions.sessions import facts, starts, status
from passdown.errors import OtherThreadError
from passdown.records import replace
from passdown.services.sessions.sessions import StartRequest
from passdown.settings import FILE_NAME
from tests.proof import proof_count
from tests.stores.servers import MigratedDatabase
from tests.support.gits import make_started

THREADS: Final = 16
PROJECTS: Final = 4
ROUNDS: Final = proof_count(fast=4, ci=6, long=20)
ACTIONS: Final = 100 * ROUNDS
RACES: Final = ROUNDS // 2


class Worker:
    """A session that one thread works for: a caller with an environment of his own."""

    def __init__(self, folder: Path, number: int, variables: dict[str, str]) -> None:
        """Name the session."""
        self.name = f"w{number:02}"
        self.next = f"w{(number + PROJECTS) % THREADS:02}"
        self.before = f"w{(number - PROJECTS) % THREADS:02}"
        self.session = ""
        self.read: list[str] = []
        self.won: list[str] = []
        self.count = 0
        self._caller: Caller | None = None
        self._folder = folder
        self._variables = {**os.environ, **variables, "PASSDOWN_SESSION": self.name}

    def open(self) -> Caller:
        """Open the project in the thread that asks."""
        return open_caller(CallEnvironment(folder=self._folder, variables=self._variables))

    def close(self) -> None:
        """Close the workspace in the thread that used it."""
        if self._caller is not None:
            self._caller.close()
            self._caller = None

    def ask(self, action: Callable[..., Any], request: object) -> Any:
        """Ask for one thing, in a workspace that is kept; what was owed is done at once."""
        self._caller = self._caller or self.open()
        answer = ask(action, replace(self._caller, notices=[], after=[]), request)
        for act in answer.after:
            act()
        self.count += 1
        return answer.result

    def start(self) -> None:
        """Start the session."""
        request = StartRequest(host_session=self.name, is_named=True, nickname=self.name)
        self.session = self.ask(starts.start, starts.BeginRequest(start=request)).session.session

    def work(self, number: int) -> None:
        """Decide something, do a task, tell another one, and want what all others want, too."""
        task = f"{self.name}-{number}"
        self.ask(facts.decide, facts.DecisionRequest(text=f"{self.name} says {number}", key=task))
        self.ask(tasks.add, tasks.NewTaskRequest(title=task, name=task))
        assert self.claim(task)
        assert self.ask(claims.close, claims.CloseTaskRequest(task=task, text=f"done: {task}")).closed == task
        self.ask(mail.send, mail.MessageRequest(text=task, to=self.next))
        if number % 2:
            assert self.session in {one.session for one in self.look().team.members}
        elif self.claim(f"race-{number // 2}"):
            self.won.append(f"race-{number // 2}")
        if number % 5 == 4 and number < ROUNDS - 1:
            self.read_mail()

    def claim(self, task: str) -> bool:
        """Claim a task, and read the mail that is shown with it."""
        found = self.ask(claims.claim, claims.ClaimRequest(tasks=(task,), is_another=True))
        self.read += [one.message.content for one in found.messages]
        return [one.id for one in found.claimed] == [task]

    def read_mail(self) -> None:
        """Read what has come."""
        found = self.ask(mail.read_inbox, mail.InboxRequest())
        self.read += [one.message.content for one in found.messages]

    def look(self) -> status.StatusResult:
        """Look at everybody."""
        found = self.ask(status.status, status.StatusRequest())
        assert isinstance(found, status.StatusResult)
        return found


def run_all(workers: Sequence[Worker]) -> None:
    """Let all work at once, each in its thread."""
    together = Barrier(len(workers), timeout=300)

    def run(worker: Worker) -> None:
        worker.start()
        together.wait()
        for number in range(ROUNDS):
            worker.work(number)
        together.wait()  # all mail was sent
        worker.read_mail()
        worker.close()

    with ThreadPoolExecutor(len(workers)) as pool:
        for done in [pool.submit(run, worker) for worker in workers]:
            done.result()


def prove(folders: Sequence[Path], variables: dict[str, str]) -> None:
    """Let 16 threads make all actions, and look at what each session knows and has."""
    workers = [Worker(folders[number % PROJECTS], number, variables) for number in range(THREADS)]
    for worker in workers[:PROJECTS]:
        for number in range(RACES):
            worker.ask(tasks.add, tasks.NewTaskRequest(title="for one of all", name=f"race-{number}"))
        worker.close()
        worker.count = 0

    run_all(workers)

    print(f"{sum(worker.count for worker in workers)} actions of {THREADS} threads")
    assert sum(worker.count for worker in workers) >= ACTIONS
    for first in range(PROJECTS):
        check(workers[first::PROJECTS])


def check(workers: Sequence[Worker]) -> None:
    """Look at the sessions of one project: each knows and has what is its own, and each task one has."""
    found = workers[0].look()
    workers[0].close()
    accounts = {one.account.session: one.account for one in found.sessions}
    holders = {one.id: one.session for one in found.team.tasks}
    assert Counter(task for worker in workers for task in worker.won) == {
        f"race-{number}": 1 for number in range(RACES)
    }
    for worker in workers:
        own = [f"{worker.name}-{number}" for number in range(ROUNDS)]
        account = accounts.pop(worker.session)
        assert account.agent.startswith(worker.name)
        assert [one.key for one in account.lists["decision"]] == own
        assert [one.text for one in account.lists["decision"]] == [
            f"{worker.name} says {number}" for number in range(ROUNDS)
        ]
        assert sorted(account.claims) == sorted(worker.won)
        assert {task for task, holder in holders.items() if holder == worker.session} == {*worker.won}
        assert sorted(worker.read) == sorted(f"{worker.before}-{number}" for number in range(ROUNDS))
    assert accounts == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.requirement("C136")
def test_threads_with_workspaces_of_their_own_are_not_mixed_up_on_sqlite(tmp_path: Path) -> None:
    prove([make_started(tmp_path / f"project-{number}").folder for number in range(PROJECTS)], {})


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.requirement("C136")
def test_threads_with_workspaces_of_their_own_are_not_mixed_up_on_postgresql(
    tmp_path: Path, database: MigratedDatabase, project: str
) -> None:
    """Their connections are never more than the limit, and none is left when all workspaces are closed."""
    projects = [make_started(tmp_path / f"project-{number}") for number in range(PROJECTS)]
    for number, made in enumerate(projects):
        made.write(FILE_NAME, f'[project]\nkey = "{project[:-1]}{number}"\n')

    prove([made.folder for made in projects], {"PASSDOWN_COORDINATION_URL": database.url()})

    assert count_connections(database) == 0


@pytest.mark.server
@pytest.mark.requirement("C136")
def test_a_workspace_on_postgresql_in_another_thread_is_one_clear_error(
    tmp_path: Path, database: MigratedDatabase, project: str
) -> None:
    made = make_started(tmp_path / "project")
    made.write(FILE_NAME, f'[project]\nkey = "{project}"\n')
    worker = Worker(made.folder, 0, {"PASSDOWN_COORDINATION_URL": database.url()})
    with closing(worker.open()) as caller, ThreadPoolExecutor(1) as pool:
        ask(tasks.add, caller, tasks.NewTaskRequest(title="one", name="t-1"))
        history = caller.workspace.coordination.history
        assert count_connections(database) == 1

        for act in (lambda: ask(claims.claim, caller, claims.ClaimRequest()), history.position):
            with pytest.raises(OtherThreadError, match="was opened in another thread") as refused:
                pool.submit(act).result()
            assert refused.value.hint == "Open the project once in each thread."

    assert count_connections(database) == 0


def count_connections(database: MigratedDatabase) -> int:
    """Count the connections of verbs and servers to the database; one that was closed ends a moment later."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'passdown'"
    counts: list[int] = []
    for _ in range(200):
        ((count,),) = database.run(asked, database.name)
        counts.append(int(str(count)))
        if counts[-1] == 0:
            break
    return counts[-1]
