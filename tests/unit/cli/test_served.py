"""What a process needs that serves many: nothing stays open, and a workspace belongs to one thread (C136)."""

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passdown.actions.answers import Answered, NoticeKind
from passdown.actions.callers import CallEnvironment, Caller, ask, open_caller
from passdown.actions.coordination import claims, mail, tasks
from passdown.actions.project import searches
from passdown.actions.sessions import facts, status
from passdown.engines.patience import Patience
from passdown.errors import CacheError, OtherThreadError
from passdown.services.workspace.workspaces import Workspace
from tests.support.commands import Caller as Command
from tests.support.gits import make_started

HANDLES: Final = Path("/proc/self/fd")
NAME: Final = "amber"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a project with a task."""
    folder = make_started(tmp_path / "project").folder
    with closing(open_here(folder)) as caller:
        ask(tasks.add, caller, tasks.NewTaskRequest(title="Document the store", name="t-1"))
    return folder


def open_here(folder: Path) -> Caller:
    """Open a project for a session that the caller's environment names."""
    return open_caller(CallEnvironment(folder=folder, variables={**os.environ, "PASSDOWN_SESSION": NAME}))


def ask_much(folder: Path) -> Iterator[Answered[object]]:
    """Ask for what opens the index, the engine and the search index."""
    requests: tuple[tuple[Callable[..., object], object], ...] = (
        (facts.decide, facts.DecisionRequest(text="SQLite", key="store")),
        (claims.claim, claims.ClaimRequest(tasks=("t-1",))),
        (mail.send, mail.MessageRequest(text="t-1 is mine", to="anybody")),
        (mail.read_inbox, mail.InboxRequest()),
        (searches.search, searches.DocumentQuery(text="store")),
        (status.status, status.StatusRequest()),
    )
    for action, request in requests:
        with closing(open_here(folder)) as caller:
            answer = ask(action, caller, request)
            for act in answer.after:
                act()
            yield answer


@pytest.fixture
def _without_collection() -> Iterator[None]:
    """Let nothing be closed by chance."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def list_handles() -> list[str]:
    """Give the files that this process has open."""
    found: list[str] = []
    for handle in HANDLES.iterdir():
        try:
            found.append(os.readlink(handle))
        except FileNotFoundError:  # that of the folder itself
            continue
    return sorted(one for one in found if "/project/" in one)


@pytest.mark.skipif(not HANDLES.exists(), reason="needs a list of open files")
@pytest.mark.usefixtures("_without_collection")
@pytest.mark.requirement("C136")
def test_no_file_stays_open_after_an_action(folder: Path) -> None:
    answers = [*ask_much(folder), *ask_much(folder)]  # the answers are kept

    assert len(answers) == 12
    assert list_handles() == []


@pytest.mark.skipif(not HANDLES.exists(), reason="needs a list of open files")
@pytest.mark.usefixtures("_without_collection")
@pytest.mark.requirement("C136")
def test_no_file_stays_open_after_a_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    command = Command(monkeypatch, capsys, folder)
    for words in (
        "start",
        "claim t-1",
        "msg hello",
        "inbox",
        "status",
        "search hello",
        "claim t-9",
        "doctor",
    ):
        command(*words.split())

        assert list_handles() == [], words


@pytest.mark.requirement("C136")
def test_a_workspace_that_was_closed_opens_what_it_is_asked_for_again(folder: Path) -> None:
    with closing(open_here(folder)) as caller:
        engine = caller.workspace.coordination
        position = engine.history.position()
        caller.close()
        caller.close()

        assert caller.workspace.coordination is not engine
        assert caller.workspace.coordination.history.position() == position


@pytest.mark.requirement("C136")
def test_a_workspace_in_another_thread_is_one_clear_error_and_nothing_is_done(folder: Path) -> None:
    with closing(open_here(folder)) as caller, ThreadPoolExecutor(1) as pool:
        ask(status.status, caller, status.StatusRequest())
        request = facts.DecisionRequest(text="Postgres", key="store")
        for act in (lambda: ask(facts.decide, caller, request), caller.close):
            with pytest.raises(OtherThreadError) as refused:
                pool.submit(act).result()

            assert refused.value.message == "this checkout was opened in another thread"
            assert refused.value.hint == "Open the project once in each thread."
        assert "Postgres" not in str(ask(status.status, caller, status.StatusRequest()).result)


@pytest.mark.requirement("C136")
def test_a_store_in_another_thread_is_the_same_error(folder: Path) -> None:
    with closing(open_here(folder)) as caller, ThreadPoolExecutor(1) as pool:
        history = caller.workspace.coordination.history
        history.position()

        with pytest.raises(OtherThreadError, match="was opened in another thread"):
            pool.submit(history.position).result()


@pytest.mark.requirement("C144")
def test_what_earlier_actions_waited_for_does_not_count(folder: Path) -> None:
    """A workspace may be kept for many actions, and each may wait as long as one alone."""
    with closing(open_here(folder)) as caller:
        patience = vars(caller.workspace)["_patience"] = Patience(10.0)
        patience._waited = 10.0
        ask(status.status, caller, status.StatusRequest())

    assert patience.left > 5


# --- the cache ----------------------------------------------------------------------------------------


@pytest.mark.requirement("C136")
def test_an_action_stopped_by_its_cache_is_repeated_once_and_nothing_of_the_first_try_stays(
    folder: Path,
) -> None:
    seen: list[Workspace] = []
    done: list[str] = []

    def fail_once(caller: Caller, said: str) -> str:
        seen.append(caller.workspace)
        caller.warn(f"try {len(seen)}")
        caller.after.append(partial(done.append, f"{said} {len(seen)}"))
        if caller.around.limits.is_cached:
            raise CacheError("the cache is broken")
        return said

    with closing(open_here(folder)) as caller:
        caller.warn("before")
        answer = ask(fail_once, caller, "told")
        for act in answer.after:
            act()

    assert answer.result == "told"
    assert [(one.kind, dict(one.values)) for one in answer.notices] == [
        (NoticeKind.WARNING, {"text": "before"}),
        (NoticeKind.NO_CACHE, {"reason": "the cache is broken"}),
        (NoticeKind.WARNING, {"text": "try 2"}),
    ]
    assert done == ["told 2"]
    assert len(set(map(id, seen))) == 2


def test_an_action_that_fails_without_its_cache_is_not_tried_again(folder: Path) -> None:
    tries: list[str] = []

    def fail(_caller: Caller, said: str) -> None:
        tries.append(said)
        raise CacheError("the cache is broken")

    with closing(open_here(folder)) as caller, pytest.raises(CacheError):
        ask(fail, caller, "asked")

    assert tries == ["asked", "asked"]
