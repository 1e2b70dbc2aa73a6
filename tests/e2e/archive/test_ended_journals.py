"""Journals of ended sessions that were archived: nothing is repeated and nothing forgotten (C129)."""

import json
import os
import re
from pathlib import Path
from typing import Any, Final

import pytest

from passdown.core.formats.journal import JournalLine
from passdown.settings import Settings
from tests.proof import proof_count
from tests.support.ended import (
    JOURNALS,
    age,
    ended_journals,
    live_names,
    lose_index,
    name_session,
    put_ended,
)
from tests.support.projects import EVENTS, open_checkout
from tests.support.sessions import make_line
from tests.support.teams import Team
from tests.trackers.dying_bd import make_small
from tests.unit.hosts.test_cli_results import message, update

COUNT: Final = proof_count(fast=80, ci=300, long=4_000)
KEPT: Final = 50
OLDER: Final = re.compile(r"^answered_feedback:\n(?:- .*\n)*|^  answered_feedback: .*\n", re.MULTILINE)


class Burying(Team):
    """A team whose ended sessions are followed by many others."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        *,
        loses: bool = False,
    ) -> None:
        """Begin as a team does."""
        super().__init__(folder, monkeypatch, capsys)
        self._loses = loses

    def bury(self, count: int = COUNT) -> None:
        """End what runs here, let others end after it, and archive all but the last ones."""
        folder = self.project.folder
        known = live_names(folder)
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=Work", check=False)
        put_ended(self.project, count, self.at)
        for session in known:
            age(folder, session)
        while True:
            before = len(live_names(folder))
            assert self.command("synthesize").code == 0
            if len(live_names(folder)) == before:
                break
        assert known <= {*ended_journals(folder)}
        if self._loses:
            lose_index(folder)


def started(team: Burying) -> str:
    return str(json.loads(team.command("status", "--json").out)["sessions"][0]["session"])


@pytest.fixture(params=["index", "no index"])
def team(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Burying:
    """Give a project; in half of the cases, the index is lost once everything is archived."""
    made = Burying(tmp_path / "project", monkeypatch, capsys, loses=request.param == "no index")
    made.set_up()
    return made


@pytest.mark.requirement("C129")
def test_all_but_the_journals_that_grew_last_are_put_away_and_no_byte_changes(team: Burying) -> None:
    folder = team.project.folder
    put_ended(team.project, COUNT, team.at)
    before = {path.stem: path.read_bytes() for path in (folder / JOURNALS).glob("*.jsonl")}

    assert team.command("start").code == 0

    ended = ended_journals(folder)
    assert ended == {name: data for name, data in before.items() if name in ended}
    assert {*ended} == {name_session(number) for number in range(1, COUNT + 2 - KEPT)}
    assert {path.parent.name for path in (folder / JOURNALS).glob("ended/*/*")} == {f"{team.at:%Y-%m}"}


@pytest.mark.requirement("C129")
def test_a_hook_puts_them_away_in_portions(team: Burying) -> None:
    put_ended(team.project, KEPT + 45, team.at)
    left = []

    for number in range(6):
        team.host.call("SessionStart", session_id=f"new-{number}", source="startup")
        team.host.call("SessionEnd", session_id=f"new-{number}", reason="clear")
        left.append(len(live_names(team.project.folder)))

    assert max(a - b for a, b in zip([KEPT + 45, *left], left, strict=False)) <= 20
    assert left[-1] < KEPT + 10, left


@pytest.mark.requirement("C129")
def test_a_hosts_id_of_an_ended_session_resumes_it(team: Burying) -> None:
    team.bury()

    team.host.call("SessionStart", session_id="host-3", source="resume")

    account = team.account("host-3")
    assert team.host.own is not None
    running = [one for one in team.host.accounts() if one.ended_at is None]
    assert [one.start.continues for one in running] == [name_session(3)]
    assert account.host_sessions == ("host-3",)


@pytest.mark.requirement("C129")
def test_every_command_that_asks_for_all_counts_them(team: Burying) -> None:
    put_ended(team.project, COUNT, team.at)

    def certified() -> dict[str, Any]:
        found = json.loads(team.command("certify", "--json").out)
        return {name: value for name, value in found.items() if isinstance(value, (int, str, list))}

    def listed() -> list[str]:
        shown = json.loads(team.command("status", "--all", "--json").out)
        return [str(one["session"]) for one in shown["sessions"]]

    before = certified(), listed()
    team.command("synthesize")
    assert len(ended_journals(team.project.folder)) == COUNT - KEPT

    assert (certified(), listed()) == before
    assert team.command("note", "x", "--session", "host-3").err.startswith(
        "passdown: session host-3 has ended"
    )


@pytest.mark.requirement("C129", "C133")
def test_a_note_of_an_ended_session_is_found_until_its_journal_grows_again(team: Burying) -> None:
    team.join("amber")
    assert team.run("amber", "note", "The zanzibar cache is cold").code == 0
    assert team.run("amber", "end").code == 0
    team.bury()

    (match,) = json.loads(team.command("search", "zanzibar", "--json").out)["matches"]

    path = team.project.folder / match["path"]
    assert (match["kind"], match["is_local"]) == ("journal", True)
    assert match["text"] == "note: The zanzibar cache is cold"
    assert path.parent.parent.name == "ended"
    assert match["agent"] == team.account("amber").agent
    assert match["command"] == f'cat "$(git rev-parse --git-common-dir)"{match["path"].removeprefix(".git")}'

    path.rename(team.project.folder / JOURNALS / path.name)
    (match,) = json.loads(team.command("search", "zanzibar", "--json").out)["matches"]
    assert match["path"] == f"{JOURNALS}/{path.name}"


@pytest.mark.requirement("C129")
def test_feedback_that_only_an_ended_journal_settles_stays_settled(team: Burying) -> None:
    events = team.project.folder / EVENTS
    team.join("amber")
    assert team.run("amber", "tell", "The footer is wrong").code == 0
    assert team.run("amber", "end").code == 0
    team.pass_time(minutes=1)
    team.join("birch")
    assert team.run("birch", "answer", "--dismiss", "The footer").code == 0
    assert team.run("birch", "end").code == 0
    for path in events.glob("*.md"):  # events of older versions do not say so
        text = path.read_text(encoding="utf-8")
        path.write_text(OLDER.sub("", text), encoding="utf-8")
    team.bury()

    assert "answered_feedback" not in "".join(
        path.read_text(encoding="utf-8") for path in events.rglob("*.md")
    )
    assert team.command("tell", "--list").out == "No open feedback.\n"
    assert "The footer is wrong" not in team.command("brief").out


@pytest.mark.requirement("C129")
def test_a_result_that_an_ended_session_applied_is_not_applied_again(team: Burying, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(message(update("t-2", "one")), encoding="utf-8")
    team.join("amber")
    team.add("Sign out", "--id", "t-2")
    assert team.run("amber", "result", "apply", str(path)).code == 0
    assert team.run("amber", "end").code == 0
    team.bury()
    team.pass_time(hours=1)
    team.join("birch")

    done = team.run("birch", "result", "apply", str(path))

    assert (done.code, done.out[:16]) == (0, "Already applied:")
    shown = json.loads(team.command("task", "show", "t-2", "--json").out)
    assert shown["task"]["task"]["note"] == "one"


@pytest.mark.requirement("C129")
@pytest.mark.skipif(os.name == "nt", reason="the small `bd` is a script, which Windows does not start")
def test_an_operation_that_an_ended_journal_holds_is_not_done_again(
    team: Burying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bd = make_small(tmp_path / "bd", "1.3.0")
    bd.use(monkeypatch)
    left = (
        '{"op": "close", "id": "tp-2", "idempotencyKey": "T-1", "args": ["--reason", "completed"], '
        '"ts": "2026-01-11T11:00:00Z"}\n'
    )
    folder = team.project.folder / ".conductor"

    def work(session: str) -> None:
        team.join(session)
        folder.mkdir(exist_ok=True)
        (folder / "pending_closes.jsonl").write_text(left, encoding="utf-8")
        assert team.run(session, "task", "note", "tp-1", f"by {session}").code == 0
        assert team.run(session, "end").code == 0
        team.pass_time(hours=1)

    bd.add("tp-1")
    bd.add("tp-2")
    work("amber")
    assert bd.issues()["tp-2"]["closes"] == 1
    team.bury()
    bd.add("tp-2")  # a person opened it again

    work("birch")

    assert bd.issues()["tp-2"]["status"] == "open"


@pytest.mark.requirement("C129")
def test_a_late_line_brings_a_journal_back_and_its_numbers_go_on(team: Burying) -> None:
    folder = team.project.folder
    team.bury()
    before = ended_journals(folder)[name_session(3)]
    ledger = folder / "conductor/sessions/active/LEDGER.md"
    assert ledger.parent.name == "active"
    workspace = open_checkout(folder, Settings())

    line = workspace.journals.append(name_session(3), make_done)

    assert line.seq == 4
    assert name_session(3) not in ended_journals(folder)
    data = (folder / JOURNALS / f"{name_session(3)}.jsonl").read_bytes()
    assert data.startswith(before)
    assert len(data) > len(before)
    assert "late" in team.command("certify", "--expect", "late", "--json").out


def make_done(seq: int) -> JournalLine:
    return make_line(seq, "done", "late")
