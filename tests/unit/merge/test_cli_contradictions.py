"""What two agents decided without knowing of each other is shown, until somebody settles it (C162)."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.events import parse_event
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, VIEW, put_event, stop_clock
from tests.support.sessions import LEDGER


class Clones(NamedTuple):
    """Two clones of one repository, in which nobody knows processes."""

    command: Caller
    monkeypatch: pytest.MonkeyPatch
    one: Project
    two: Project

    def call(self, project: Project, *arguments: str, at: str = "12:00") -> Done:
        """Call the command in a clone, at a time of a day in January."""
        self.monkeypatch.chdir(project.folder)
        stop_clock(self.monkeypatch, f"2026-01-11T{at}:00Z")
        return self.command(*arguments)

    def start(self, project: Project, name: str, *, at: str) -> str:
        """Start a session that continues none, and give its agent."""
        done = self.call(project, "start", "--new", "--fresh", "--session", name, "--json", at=at)
        return str(json.loads(done.out)["agent"])

    def end(self, project: Project, name: str, *, at: str) -> None:
        """End a session and commit what it published."""
        assert self.call(project, "end", "--session", name, at=at).code == 0
        commit(project)

    def decide(self, project: Project, text: str, *, at: str) -> str:
        """Let a session decide on a store and end; give its agent."""
        agent = self.start(project, text, at=at)
        assert self.call(project, "decide", "store", text, "--session", text, at=at).code == 0
        self.end(project, text, at=at)
        return agent

    def meet(self) -> None:
        """Let both clones have all that was committed in either."""
        self.two.git("pull", "--quiet", "--no-rebase", "--no-edit", str(self.one.folder), "main")
        self.one.git("pull", "--quiet", "--no-rebase", "--no-edit", str(self.two.folder), "main")


def commit(project: Project) -> None:
    """Commit everything."""
    project.git("add", "--all")
    project.git("commit", "--quiet", "--allow-empty", "--message=x")


@pytest.fixture
def clones(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Clones:
    """Give two clones."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    one = make_started(tmp_path / "one")
    one.git("clone", "--quiet", str(one.folder), str(tmp_path / "two"))
    two = Project(folder=tmp_path / "two")
    for name, value in (("user.name", "Two"), ("user.email", "two@example.org")):
        two.git("config", name, value)
    return Clones(Caller(monkeypatch, capsys, one.folder), monkeypatch, one, two)


def plain(text: str) -> str:
    """Give a text without line breaks."""
    return " ".join(text.split())


@pytest.mark.requirement("C162", through="command")
def test_what_two_clones_decide_differently_is_shown_in_both_until_somebody_settles_it(
    clones: Clones,
) -> None:
    amber = clones.decide(clones.one, "Postgres", at="09:00")
    birch = clones.decide(clones.two, "SQLite", at="10:00")
    clones.meet()

    shown = f"store: SQLite ({birch}, 2 h); also decided, unseen by the other: Postgres ({amber}, 3 h)"
    for project in (clones.one, clones.two):
        brief = clones.call(project, "brief").out
        assert f"Decisions:\n> {shown}\n" in brief
        assert f"Contradiction: {shown}" in plain(clones.call(project, "status").out)
        certified = clones.call(project, "certify")
        assert (certified.code, f"passdown: Contradiction: {shown}\n" in certified.err) == (0, True)
        days = shown.replace(", 2 h", ", 2026-01-11").replace(", 3 h", ", 2026-01-11")
        assert f"\nContradiction: {days}\n" in clones.call(project, "view").out
        assert clones.call(project, "view", "list", "decisions").out.startswith(f"Contradiction: {days}\n")
    both = json.loads(clones.call(clones.one, "status", "--json").out)["contested"]
    assert [(one["key"], [fact["text"] for fact in one["decisions"]]) for one in both] == [
        ("store", ["SQLite", "Postgres"])
    ]

    clones.start(clones.one, "cedar", at="12:01")
    refused = clones.call(clones.one, "decide", "store", "DuckDB", "--session", "cedar")
    assert refused.code == 3
    assert (
        f"store is already decided: SQLite ({birch}, 2 h ago); "
        f"also decided, unseen by the other: Postgres ({amber}, 3 h ago)" in plain(refused.err)
    )
    settled = clones.call(clones.one, "decide", "store", "SQLite", "--session", "cedar", at="12:02")
    assert settled.out == f"decision store: SQLite\nreplaces: Postgres ({amber}, 3 h ago)\n"
    clones.end(clones.one, "cedar", at="12:03")
    clones.meet()

    for project in (clones.one, clones.two):
        for verb in (("brief",), ("status",), ("certify",), ("view",), ("view", "list", "decisions")):
            done = clones.call(project, *verb)
            assert "unseen by the other" not in plain(done.out + done.err)
        listed = json.loads(clones.call(project, "view", "list", "decisions", "--json").out)
        assert [one["text"] for one in listed["facts"]] == ["SQLite"]
        assert "contested" not in listed


@pytest.mark.requirement("C162", through="command")
def test_what_two_branches_decide_differently_is_shown_after_their_merge(clones: Clones) -> None:
    one = clones.one
    one.git("checkout", "--quiet", "-b", "side")
    amber = clones.decide(one, "Postgres", at="09:00")
    one.git("checkout", "--quiet", "main")
    birch = clones.decide(clones.two, "SQLite", at="10:00")
    one.git("pull", "--quiet", "--no-rebase", "--no-edit", str(clones.two.folder), "main")
    one.git("merge", "--quiet", "--no-edit", "side")

    brief = clones.call(one, "brief").out

    assert (
        f"> store: SQLite ({birch}, 2 h); also decided, unseen by the other: Postgres ({amber}, 3 h)" in brief
    )


@pytest.mark.requirement("C162", through="command")
def test_whoever_knows_a_decision_replaces_it_and_nothing_is_contested(clones: Clones) -> None:
    clones.decide(clones.one, "Postgres", at="09:00")
    clones.meet()
    clones.start(clones.two, "birch", at="10:00")
    clones.call(clones.two, "decide", "store", "Redis", "--replace", "--session", "birch", at="10:00")
    clones.call(clones.two, "decide", "store", "SQLite", "--session", "birch", at="10:01")
    clones.end(clones.two, "birch", at="10:02")
    clones.meet()

    assert "unseen" not in clones.call(clones.one, "brief").out + clones.call(clones.two, "brief").out
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((clones.two.folder / EVENTS).glob("**/*.md"))
    ]
    origins = [{one.key: one.value for one in parse_event(text).origins} for text in texts]
    told = [entry["decisions"].split() for entry in origins if "decisions" in entry]
    assert told[0][-2:] == ["replaces", "-"]
    # The event tells the last of two statements, and all that both replaced.
    assert sorted(name.partition(":")[2] for name in told[1][-1].split(";")) == ["2", "2"]


@pytest.mark.requirement("C162", through="command")
def test_retracting_the_key_takes_out_all_that_are_shown(clones: Clones) -> None:
    amber = clones.decide(clones.one, "Postgres", at="09:00")
    birch = clones.decide(clones.two, "SQLite", at="10:00")
    clones.meet()
    clones.start(clones.one, "cedar", at="12:00")

    done = clones.call(clones.one, "retract", "store", "--session", "cedar")

    assert done == Done(
        0,
        f"retraction: store\nit was: SQLite ({birch}, 2 h ago)\nit was: Postgres ({amber}, 3 h ago)\n",
        "",
    )
    clones.end(clones.one, "cedar", at="12:01")
    clones.meet()
    for project in (clones.one, clones.two):
        assert json.loads(clones.call(project, "view", "list", "decisions", "--json").out)["facts"] == []
        assert "store" not in clones.call(project, "brief").out


@pytest.mark.requirement("C162", through="command")
@pytest.mark.parametrize(
    ("words", "left"),
    [("SQLite", "Postgres"), ("Post", "SQLite"), ("sqLITE", "Postgres"), ("POST", "SQLite")],
)
def test_retracting_the_words_of_one_takes_out_only_that_one(clones: Clones, words: str, left: str) -> None:
    agents = {"Postgres": clones.decide(clones.one, "Postgres", at="09:00")}
    agents["SQLite"] = clones.decide(clones.two, "SQLite", at="10:00")
    clones.meet()
    clones.start(clones.one, "cedar", at="12:00")

    done = clones.call(clones.one, "retract", words, "--session", "cedar")

    assert done.out.splitlines()[0] == "retraction: store"
    assert f"still in force: {left} ({agents[left]}, " in done.out
    clones.end(clones.one, "cedar", at="12:01")
    clones.meet()
    for project in (clones.one, clones.two):
        listed = json.loads(clones.call(project, "view", "list", "decisions", "--json").out)
        assert [one["text"] for one in listed["facts"]] == [left]
        assert "unseen" not in clones.call(project, "brief").out


@pytest.mark.requirement("C162", through="command")
def test_a_session_that_takes_back_the_other_decision_keeps_its_own(clones: Clones) -> None:
    clones.decide(clones.one, "Postgres", at="09:00")
    clones.start(clones.two, "birch", at="10:00")
    clones.call(clones.two, "decide", "store", "SQLite", "--session", "birch", at="10:00")
    commit(clones.two)
    clones.two.git("pull", "--quiet", "--no-rebase", "--no-edit", str(clones.one.folder), "main")
    assert "unseen by the other: Postgres" in clones.call(clones.two, "brief", "--session", "birch").out

    done = clones.call(clones.two, "retract", "Postgres", "--session", "birch")

    assert "still in force: SQLite" in done.out
    assert "| store: SQLite |" in (clones.two.folder / LEDGER).read_text(encoding="utf-8")
    clones.end(clones.two, "birch", at="12:01")
    clones.meet()
    listed = json.loads(clones.call(clones.one, "view", "list", "decisions", "--json").out)
    assert [one["text"] for one in listed["facts"]] == ["SQLite"]


@pytest.mark.requirement("C162", "C64", "C116", through="command")
def test_the_line_of_a_view_is_ours_and_is_not_offered_as_an_event(clones: Clones) -> None:
    assert clones.call(clones.one, "init", "--yes", at="08:00").code == 0
    commit(clones.one)
    clones.meet()
    clones.decide(clones.one, "Postgres", at="09:00")
    clones.decide(clones.two, "SQLite", at="10:00")
    clones.meet()
    assert clones.call(clones.one, "synthesize").code == 0
    path = clones.one.folder / VIEW
    text = path.read_text(encoding="utf-8")
    assert "\nContradiction: store: SQLite (" in text
    path.write_text(text.replace("2026-01-11)\n", "2026-01-12)\n"), encoding="utf-8")

    done = clones.call(clones.one, "synthesize")

    assert "edited" in done.err
    assert "migrate" not in done.err
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.requirement("C162", through="command")
def test_events_of_older_versions_replace_all_before_them(clones: Clones) -> None:
    for hour, text in (("09", "Postgres"), ("10", "SQLite")):
        put_event(
            clones.one.folder,
            f"2026-01-11T{hour}:00:00Z",
            f"agent-{hour}",
            decisions=((Pair(key="store", value=text)),),
        )

    assert "unseen" not in clones.call(clones.one, "brief").out
    listed = json.loads(clones.call(clones.one, "view", "list", "decisions", "--json").out)
    assert [one["text"] for one in listed["facts"]] == ["SQLite"]


@pytest.mark.requirement("C162", through="command")
def test_a_decision_that_a_handoff_passes_on_is_the_same_decision(clones: Clones) -> None:
    clones.start(clones.one, "amber", at="09:00")
    clones.call(clones.one, "goal", "Ship it", "--session", "amber", at="09:00")
    clones.call(clones.one, "decide", "store", "Postgres", "--session", "amber", at="09:01")
    clones.call(clones.one, "decide", "queue", "Postgres", "--session", "amber", at="09:01")
    assert clones.call(clones.one, "handoff", "create", "--session", "amber", at="09:02").code == 0
    clones.end(clones.one, "amber", at="09:03")
    clones.meet()

    assert clones.call(clones.two, "handoff", "resume", at="10:00").code == 0
    birch = json.loads(clones.call(clones.two, "status", "--json", at="10:01").out)["sessions"][0]["session"]
    clones.call(clones.two, "publish", "--session", birch, at="10:02")

    texts = [path.read_text(encoding="utf-8") for path in (clones.two.folder / EVENTS).glob("**/*.md")]
    told = [pair.value for text in texts for pair in parse_event(text).origins if pair.key == "decisions"]
    (first,) = [entry.split(", ") for entry in told if " of " not in entry]
    (carried,) = [entry.split(", ") for entry in told if " of " in entry]
    # Each repeats the statement of its own key, though the words are the same.
    assert [entry.split(" of ")[1].split(":")[1].split() for entry in carried] == [
        [entry.split()[0], "replaces", "-"] for entry in first
    ]
    clones.call(clones.two, "decide", "store", "SQLite", "--session", birch, at="10:03")
    clones.end(clones.two, birch, at="10:04")
    clones.meet()
    for project in (clones.one, clones.two):
        listed = json.loads(clones.call(project, "view", "list", "decisions", "--json").out)
        assert [one["text"] for one in listed["facts"]] == ["SQLite", "Postgres"]
        assert "unseen" not in clones.call(project, "brief").out
