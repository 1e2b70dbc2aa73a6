"""Results of subagents: kept by hooks, applied once by the agent of the session, never by anybody else."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown.core.kinds import FactKind
from passdown.errors import StorageError, TrackerRefusedError, TrackerUnsureError
from passdown.services.work.results import apply_result, list_results
from passdown.trackers.board import Board
from tests.support.teams import Team
from tests.unit.hooks.test_hooks import HOST, context

RESULT = {
    "status": "success",
    "summary": "Implemented authentication flow",
    "beadUpdates": [],
    "filesModified": ["src/auth/jwt.ts", "/etc/passwd"],
}


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project whose session has claimed a task."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    made.host.call("SessionStart", source="startup")
    made.add("Sign in", "--id", "t-1")
    made.add("Sign out", "--id", "t-2")
    assert made.run(HOST, "claim", "t-1").code == 0
    return made


def close(task: str = "t-1", **more: str) -> dict[str, str]:
    return {"id": task, "action": "close", "reason": "completed", **more}


def update(task: str, notes: str) -> dict[str, str]:
    return {"id": task, "action": "update", "notes": notes}


def message(*updates: object, **more: object) -> str:
    return f"Done.\n```json\n{json.dumps({**RESULT, 'beadUpdates': updates, **more})}\n```"


def end(team: Team, said: str, agent: str = "a1") -> dict[str, Any]:
    """Let a subagent end with a message."""
    return team.host.call("SubagentStop", agent_id=agent, agent_type="writer", last_assistant_message=said)


def task(team: Team, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(team.command("task", "show", name, "--json").out)["task"]["task"]
    return shown


@pytest.mark.requirement("R208", "R210", "C84", "C100")
def test_a_result_is_kept_by_the_hook_and_applied_once_by_the_agent(team: Team) -> None:
    answer = end(team, message(close(notes="COMPLETED: JWT auth"), update("t-2", "waits for JWT")))

    said = "Passdown: saved a subagent's result; the agent applies it with `passdown result apply`"
    assert answer == {"systemMessage": said}
    assert task(team, "t-1")["state"] == "open"  # a hook applies nothing
    assert "subagents returned results" in team.host.call("Stop")["systemMessage"]
    (kept,) = team.ask(HOST, "result", "list")["results"]
    assert (kept["state"], kept["subagent"], len(kept["updates"])) == ("waiting", "a1", 2)

    done = team.run(HOST, "result", "apply")

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"Applied: {kept['id']} Implemented authentication flow\n  closed t-1\n  added notes to t-2\n"
    )
    closed, noted = task(team, "t-1"), task(team, "t-2")
    assert (closed["state"], closed["reason"], closed["note"]) == (
        "closed",
        "completed",
        "COMPLETED: JWT auth",
    )
    assert (noted["state"], noted["note"]) == ("open", "waits for JWT")
    account = team.account(HOST)
    assert (account.task, account.results) == ("", ())
    assert "src/auth/jwt.ts" in [fact.text for fact in account.of(FactKind.FILE)]
    assert "/etc/passwd" not in [fact.text for fact in account.of(FactKind.FILE)]
    assert any("Sign in" in fact.text for fact in account.of(FactKind.DONE))
    assert team.host.call("Stop") == {}

    assert team.run(HOST, "result", "apply").out == "No results to apply.\n"
    again = team.run(HOST, "result", "apply", "--id", kept["id"])
    assert again.out.startswith(f"Already applied: {kept['id']} Implemented")
    assert task(team, "t-2") == noted


@pytest.mark.requirement("R210", "C84")
@pytest.mark.parametrize("is_kept_first", [True, False])
def test_the_same_result_is_applied_once_wherever_it_comes_from(
    team: Team, tmp_path: Path, is_kept_first: bool
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**RESULT, "beadUpdates": [update("t-2", "one")]}), encoding="utf-8")
    said = message(update("t-2", "one"))
    if is_kept_first:
        end(team, said)

    for _ in range(2):
        assert team.run(HOST, "result", "apply", str(path)).code == 0
        assert end(team, said, "another") == {}
        assert team.run(HOST, "result", "apply").code == 0

    assert task(team, "t-2")["note"] == "one"
    assert len(team.ask(HOST, "result", "list", "--all")["results"]) == 1


def test_another_session_does_not_apply_it_again(team: Team, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(message(update("t-2", "one")), encoding="utf-8")
    team.join("birch")
    assert team.run(HOST, "result", "apply", str(path)).code == 0

    done = team.run("birch", "result", "apply", str(path))

    assert (done.code, done.out[:16]) == (0, "Already applied:")
    assert task(team, "t-2")["note"] == "one"
    assert team.account("birch").results == ()


def test_the_next_session_applies_what_the_last_one_left(team: Team) -> None:
    end(team, message(update("t-2", "one")))
    team.host.call("SessionEnd", reason="other")
    team.pass_time(minutes=1)
    team.host.call("SessionStart", source="startup", session_id="next")

    assert team.run("next", "result", "apply").code == 0

    assert task(team, "t-2")["note"] == "one"
    assert team.ask("next", "result", "list")["results"] == []


@pytest.mark.requirement("R208")
def test_a_malformed_result_is_said_and_can_be_dropped(team: Team) -> None:
    answer = end(team, message(close())[:-20])
    assert "a subagent returned a result that cannot be read: the result is not valid JSON" in str(answer)
    (kept,) = team.ask(HOST, "result", "list")["results"]
    assert (kept["state"], kept["status"], kept["updates"]) == ("malformed", None, [])

    done = team.run(HOST, "result", "apply")

    assert (done.code, done.out) == (1, "")
    assert f"{kept['id']} cannot be read: the result is not valid JSON; return the object" in done.err
    assert f"passdown result drop {kept['id']}" in done.err
    assert task(team, "t-1")["state"] == "open"
    assert team.run(HOST, "result", "drop", kept["id"][:6]).out == f"{kept['id']} is dropped\n"
    assert team.ask(HOST, "result", "drop", kept["id"])["result"]["state"] == "dropped"
    assert team.run(HOST, "result", "list").out == "No results to apply.\n"
    assert team.run(HOST, "result", "apply", "--id", kept["id"]).out.startswith("Already dropped: ")


def test_parts_that_cannot_be_understood_are_said(team: Team) -> None:
    end(team, message({"id": "t-2", "action": "create"}, update("t-2", "one"), status="done"))

    done = team.run(HOST, "result", "apply")

    assert (done.code, done.out.splitlines()[1:]) == (0, ["  added notes to t-2"])
    assert done.out.startswith("Applied: ")
    assert "failed: Implemented" in done.out
    assert "`status` 'done' is neither success nor failed; treated as failed" in done.err
    assert "update 1: `action` 'create' is neither close nor update; left out" in done.err


@pytest.mark.requirement("R210")
def test_what_is_refused_stops_nothing_and_can_be_tried_again(team: Team) -> None:
    end(team, message(close("t-2", reason="not needed"), update("t-9", "x"), update("t-1", "one")))

    done = team.run(HOST, "result", "apply")

    assert done.code == 1
    assert "Partly applied: " in done.out
    assert "  added notes to t-1\n" in done.out
    assert "not closed t-2: this session does not hold t-2; claim it first: `passdown claim t-2`" in done.err
    assert "not added notes to t-9: there is no task t-9" in done.err

    assert team.run(HOST, "claim", "t-2").code == 0
    team.add("Sign up", "--id", "t-9")
    again = team.run(HOST, "result", "apply")
    assert (again.code, again.err) == (0, "")
    assert task(team, "t-2")["note"] == "REASON: not needed"
    assert (task(team, "t-1")["note"], task(team, "t-9")["note"]) == ("one", "x")


def test_a_task_of_another_session_is_not_closed(team: Team) -> None:
    team.join("birch")
    assert team.run("birch", "claim", "t-2").code == 0
    end(team, message(close("t-2")))

    done = team.run(HOST, "result", "apply")

    assert done.code == 1
    assert task(team, "t-2")["state"] == "open"
    assert "t-2" in done.err


@pytest.mark.requirement("R210", "C86", "C144")
def test_what_may_have_happened_is_tried_again_under_the_same_id(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []
    real = Board.note

    def fail(self: Board, op: Any, *given: Any) -> object:
        ids.append(op.id)
        real(self, op, *given)
        raise TrackerUnsureError("bd took too long", hint="look")

    end(team, message(update("t-2", "one")))
    with monkeypatch.context() as patched:
        patched.setattr(Board, "note", fail)
        assert team.run(HOST, "result", "apply").code == 5
        assert team.run(HOST, "result", "apply").code == 5
    assert team.run(HOST, "result", "apply").code == 0

    assert ids == [ids[0]] * len(ids)
    assert len(ids) >= 2
    assert task(team, "t-2")["note"] == "one"


def test_what_was_refused_is_tried_again_under_another_id(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    def refuse(_: Board, op: Any, *__: object) -> object:
        ids.append(op.id)
        raise TrackerRefusedError("no")

    end(team, message(update("t-2", "one")))
    monkeypatch.setattr(Board, "note", refuse)
    for _ in range(2):
        assert team.run(HOST, "result", "apply").code == 1

    assert len(set(ids)) == 2


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.requirement("R210", "C84")
@pytest.mark.parametrize("left", range(8))
def test_whenever_it_is_killed_everything_happens_once(
    team: Team, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """The process dies at each write to the journal in turn, and after the tracker did it."""
    end(team, message(update("t-2", "one"), close(notes="two"), update("t-2", "three")))
    account = team.account(HOST)
    project = team.host.project()
    (kept,) = list_results(project, account)
    real = project.journals.extend
    count = 0

    def extend(*given: Any, **more: Any) -> object:
        nonlocal count
        count += 1
        if count > left:
            raise Killed
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(project.journals, "extend", extend)
        with suppress(Killed):
            apply_result(project, account, kept)

    assert team.run(HOST, "result", "apply").code == 0
    assert task(team, "t-2")["note"] == "one\nthree"
    assert (task(team, "t-1")["state"], task(team, "t-1")["note"]) == ("closed", "two")
    assert team.account(HOST).results == ()


@pytest.mark.requirement("R210")
def test_of_several_who_apply_at_once_everything_happens_once(team: Team) -> None:
    end(team, message(update("t-2", "one"), close(notes="two"), update("t-2", "three")))
    account = team.account(HOST)

    def work(_: int) -> None:
        project = team.host.project()
        for kept in list_results(project, account):
            apply_result(project, account, kept)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert sorted(task(team, "t-2")["note"].splitlines()) == ["one", "three"]
    assert (task(team, "t-1")["state"], task(team, "t-1")["note"]) == ("closed", "two")
    assert team.account(HOST).results == ()


@pytest.mark.requirement("G18")
def test_secrets_are_redacted_before_anything_is_written(team: Team) -> None:
    token = "ghp_" + "Zx9Kq2Lm7Vb4Nc1Rt6Yp3Ws8Dh5Jf0Ga2Eb7"[:36]
    end(team, message(update("t-2", f"use {token}"), summary=f"found {token}"))

    assert team.run(HOST, "result", "apply").code == 0

    assert "[redacted" in task(team, "t-2")["note"]
    for path in team.project.folder.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes()


def test_a_result_that_asks_for_nothing_is_only_noted(team: Team) -> None:
    assert end(team, message()) == {}
    assert team.run(HOST, "result", "list").out == "No results to apply.\n"

    (kept,) = team.ask(HOST, "result", "list", "--all")["results"]

    assert kept["state"] == "noted"
    assert team.run(HOST, "result", "apply", "--id", kept["id"]).out.startswith("Nothing to apply: ")
    assert team.run(HOST, "result", "drop", kept["id"]).out == f"{kept['id']} is noted\n"


@pytest.mark.parametrize("said", ["", "I am done.", 'the "status" is fine', None, 3])
def test_a_subagent_without_a_result_ends_as_before(team: Team, said: object) -> None:
    assert team.host.call("SubagentStop", agent_id="a1", last_assistant_message=said) == {}
    assert team.run(HOST, "result", "list", "--all").out == "No results.\n"


def test_a_result_that_cannot_be_written_down_is_no_trouble(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("passdown.services.work.results.take_result", refuse)

    assert end(team, message(close())) == {}
    assert "SubagentStop: the disk is full" in team.host.log()


def test_a_result_is_shown_whole_and_quoted(team: Team) -> None:
    end(team, message(close(notes="one\n\x1b[2Jtwo"), {"id": "t-3", "action": "?"}))
    (kept,) = team.ask(HOST, "result", "list")["results"]

    assert team.run(HOST, "result", "show", kept["id"][:4]).out == (
        f"{kept['id']}  waiting  Implemented authentication flow\n"
        "  close t-1 (completed)\n"
        "    > one\n"
        "    > \\u001b[2Jtwo\n"
        "  changed src/auth/jwt.ts\n"
        "  changed /etc/passwd\n"
        "  problem: update 2: `action` '?' is neither close nor update; left out\n"
    )
    assert team.run(HOST, "result", "list").out == f"{kept['id']}  waiting  Implemented authentication flow\n"
    shown = team.ask(HOST, "result", "show", kept["id"])["result"]
    assert shown["updates"][0]["notes"] == "one\n\\u001b[2Jtwo"


def test_what_is_not_there_is_said(team: Team, tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    path.write_text("I am done.", encoding="utf-8")
    missing = team.run(HOST, "result", "show", "abcdef")
    assert (missing.code, "there is no result abcdef" in missing.err) == (2, True)
    empty = team.run(HOST, "result", "apply", str(path))
    assert (empty.code, "there is no result in" in empty.err) == (2, True)
    end(team, message(close()))
    assert team.run(HOST, "result", "show", "").code == 2


def test_a_result_is_read_from_the_input(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(message(update("t-2", "one")).encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=data, isatty=lambda: False))

    assert team.ask(HOST, "result", "apply", "-")["results"][0]["state"] == "applied"
    assert task(team, "t-2")["note"] == "one"


# --- the rules --------------------------------------------------------------------------------------


@pytest.mark.requirement("R211", "C84")
def test_a_subagent_is_told_the_rules_where_there_are_tasks(team: Team) -> None:
    told = context(team.host.call("SubagentStart", agent_id="a1"))
    assert told.startswith("## Task Rules (Subagent)\n")
    assert "passdown brief" in told
    assert len(told) < 3_500

    (team.project.folder / ".beads").mkdir()
    told = context(team.host.call("SubagentStart", agent_id="a1"))
    assert told.startswith("## Beads Rules (Subagent)\n\nYou are a subagent. Beads access is READ-ONLY.\n")
    assert told.startswith(team.command("result", "rules").out)
    assert told.startswith(json.loads(team.command("result", "rules", "--json").out)["rules"])

    (team.project.folder / "passdown.toml").write_text('[tracker]\nkind = "none"\n', encoding="utf-8")
    assert "Rules (Subagent)" not in context(team.host.call("SubagentStart", agent_id="a1"))
    (team.project.folder / "passdown.toml").write_text('[tracker]\nkind = "board"\n', encoding="utf-8")
    assert context(team.host.call("SubagentStart", agent_id="a1")).startswith("## Task Rules (Subagent)\n")


@pytest.mark.requirement("R211")
def test_the_rules_need_no_session_and_no_tasks_no_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    assert made.host.call("SubagentStart", agent_id="a1") == {}
    assert made.command("result", "rules").out.startswith("## Task Rules (Subagent)\n")
    (made.project.folder / ".beads").mkdir()

    assert context(made.host.call("SubagentStart", agent_id="a1")).startswith("## Beads Rules (Subagent)\n")
    made.project.git("worktree", "add", "--quiet", "../other")
    other = str(made.project.folder.parent / "other")
    assert context(made.host.call("SubagentStart", agent_id="a1", cwd=other)).startswith("## Beads Rules")
