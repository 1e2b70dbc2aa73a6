"""What other sessions of the clone have not published yet is in the brief, and stays theirs (C123)."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.briefs.brief_input import gather
from passdown.core.documents.key_value import Pair
from passdown.core.facts import UNPUBLISHED, Fact
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.memory.index import MemoryIndex
from tests.support.projects import put_event
from tests.support.sessions import NOON
from tests.support.teams import AMBER, BIRCH, Hosts, context

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MARK = "not published yet"


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a project with a session of another agent, which states one thing of each kind."""
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("amber", AMBER)
    for words in (
        ("decide", "store", "SQLite", "--because", "simple"),
        ("rule-out", "threads"),
        ("ask", "Which port?"),
        ("done", "Wrote the parser"),
        ("note", "for myself"),
        ("next", "Write docs"),
    ):
        assert made.run("amber", *words).code == 0
    return made


def marked(text: str) -> list[str]:
    """Give the lines of a brief that are marked."""
    return [line for line in text.splitlines() if MARK in line]


def expected(agent: str, age: str) -> list[str]:
    """Give what amber stated, as a brief shows it."""
    origin = f"({agent}, {age}, {MARK})"
    return [f"{origin} > threads", f"{origin} > Which port?", f"{origin} > store: SQLite (simple)"]


@pytest.mark.requirement("C123")
def test_a_brief_has_rules_decisions_and_questions_before_they_are_published(hosts: Hosts) -> None:
    hosts.pass_time(minutes=2)

    told = context(hosts.begin("birch", BIRCH))

    assert marked(told) == expected(hosts.agent("amber"), "2 min")
    assert marked(hosts.run("birch", "brief").out) == marked(told)
    for text in ("Wrote the parser", "for myself", "Write docs"):
        assert text not in told
    assert marked(hosts.run("amber", "brief").out) == []


@pytest.mark.requirement("C123")
def test_once_published_they_are_marked_no_more(hosts: Hosts) -> None:
    assert hosts.run("amber", "publish").code == 0

    told = context(hosts.begin("birch", BIRCH))

    assert marked(told) == []
    assert f"({hosts.agent('amber')}, 0 s) > store: SQLite (simple)" in told
    hosts.run("amber", "decide", "store", "Postgres")
    hosts.run("amber", "rule-out", "threads")  # it says what is published once more
    again = hosts.run("birch", "brief").out
    assert marked(again) == [f"({hosts.agent('amber')}, 0 s, {MARK}) > store: Postgres"]
    assert "SQLite" not in again


@pytest.mark.requirement("C123")
def test_what_its_session_took_back_or_settled_is_not_told(hosts: Hosts) -> None:
    hosts.run("amber", "retract", "store")
    hosts.run("amber", "answer", "Which port?", "8080")

    assert marked(context(hosts.begin("birch", BIRCH))) == [
        f"({hosts.agent('amber')}, 0 s, {MARK}) > threads"
    ]


@pytest.mark.requirement("C123")
def test_a_question_that_the_reader_or_an_event_answered_is_not_told(hosts: Hosts) -> None:
    hosts.begin("birch", BIRCH)
    hosts.pass_time(minutes=1)
    assert hosts.run("birch", "answer", "Which port?", "8080").code == 0

    before = hosts.run("birch", "brief").out
    hosts.run("birch", "publish")
    after = hosts.command("brief").out
    hosts.pass_time(minutes=1)
    hosts.run("amber", "retract", "Which port?")
    hosts.run("amber", "ask", "Which port?")

    assert "> Which port?\n" not in before
    assert "> Which port?\n" not in after
    assert f"({hosts.agent('amber')}, 0 s, {MARK}) > Which port?" in hosts.run("birch", "brief").out


@pytest.mark.requirement("C123")
@pytest.mark.parametrize("is_known", [True, False])
def test_sessions_that_are_gone_or_unknown_count_as_well(hosts: Hosts, *, is_known: bool) -> None:
    hosts.begin("birch", BIRCH)
    if is_known:
        hosts.alive.remove(AMBER)
    else:
        hosts.monkeypatch.setattr(Hosts, "is_alive", lambda _, process: process == BIRCH or None)
    hosts.pass_time(minutes=12)

    told = hosts.run("birch", "brief").out

    assert marked(told) == expected(hosts.agent("amber"), "12 min")
    assert "Other agents working here" not in told


@pytest.mark.requirement("C123", "G18")
def test_secrets_are_redacted_as_at_publishing(hosts: Hosts) -> None:
    hosts.run("amber", "rule-out", f"the token {SECRET}")

    told = context(hosts.begin("birch", BIRCH))

    assert SECRET not in told
    assert "> the token [redacted: " in told


@pytest.mark.requirement("C123")
def test_sessions_in_other_worktrees_of_the_clone_count(hosts: Hosts) -> None:
    there = hosts.project.folder.parent / "there"
    hosts.project.git("worktree", "add", "--quiet", "-b", "other", str(there))
    hosts.monkeypatch.chdir(there)

    assert marked(hosts.command("brief").out) == expected(hosts.agent("amber"), "0 s")


@pytest.mark.requirement("C123")
def test_a_session_on_a_track_is_not_told_what_concerns_another_track(hosts: Hosts) -> None:
    hosts.run("amber", "track", "bind", "speed")
    hosts.run("amber", "rule-out", "recursion")
    hosts.begin("birch", BIRCH)
    line = f"({hosts.agent('amber')}, 0 s, {MARK}) > recursion"

    assert line in marked(hosts.run("birch", "brief").out)
    hosts.run("birch", "track", "bind", "size")
    assert marked(hosts.run("birch", "brief").out) == []
    assert hosts.run("birch", "track", "bind", "speed", "--continue").code == 0
    assert line in marked(hosts.run("birch", "brief").out)


@pytest.mark.requirement("C123")
def test_the_reader_neither_publishes_nor_hands_on_what_it_was_told(hosts: Hosts) -> None:
    hosts.begin("birch", BIRCH)
    assert marked(hosts.run("birch", "brief").out)
    before = files_with(hosts, "SQLite", "threads", "Which port?")
    hosts.run("birch", "done", "Looked at it")
    hosts.host.call("Stop", session_id="birch")
    assert hosts.run("birch", "publish").code == 0
    assert hosts.run("birch", "handoff", "create").code == 0
    assert hosts.run("birch", "end").code == 0

    assert any("Looked at it" in text for text in hosts.events())
    assert files_with(hosts, "SQLite", "threads", "Which port?") == before


def files_with(hosts: Hosts, *texts: str) -> list[str]:
    """Name the files of the checkout that contain one of these texts."""
    root = hosts.project.folder / "conductor"
    found = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [str(path) for path in found if any(text in path.read_text() for text in texts)]


@pytest.mark.requirement("C123", "R1")
def test_a_certificate_does_not_count_what_the_reader_was_told(hosts: Hosts) -> None:
    hosts.begin("birch", BIRCH)
    birch = json.loads(hosts.run("birch", "certify", "--json").out)
    amber = json.loads(hosts.run("amber", "certify", "--json").out)

    assert birch["root"] == amber["root"]
    assert birch["contested"] == []


@pytest.mark.requirement("C123", "C162")
def test_a_contradiction_with_an_event_says_which_decision_is_not_published(hosts: Hosts) -> None:
    at = (hosts.at - timedelta(hours=1)).isoformat()
    put_event(hosts.project.folder, at, "far-1", decisions=(Pair(key="store", value="Postgres"),))

    told = context(hosts.begin("birch", BIRCH))

    amber = f"store: SQLite (simple) ({hosts.agent('amber')}, 0 s, {MARK})"
    assert f"> {amber}; also decided, unseen by the other: Postgres (far-1, 1 h)" in told
    assert json.loads(hosts.run("birch", "certify", "--json").out)["contested"] == []


def test_programs_are_told_which_facts_are_not_published(hosts: Hosts) -> None:
    hosts.begin("birch", BIRCH)
    hosts.run("birch", "decide", "mine", "Own decision")

    facts = json.loads(hosts.run("birch", "brief", "--json").out)["facts"]

    assert {one["text"]: one["is_unpublished"] for one in facts} == {
        "Own decision": False,
        "SQLite (simple)": True,
        "Ruled out: threads": True,
        "Which port?": True,
    }


def test_a_session_without_a_process_is_told_too(hosts: Hosts) -> None:
    hosts.begin("cedar", NO_PROCESS)

    assert marked(hosts.run("cedar", "brief").out) == expected(hosts.agent("amber"), "0 s")


KINDS = (FactKind.CONSTRAINT, FactKind.QUESTION, FactKind.DECISION, FactKind.ANSWER)


def facts(agent: str) -> st.SearchStrategy[list[Fact]]:
    """Make facts of few words, so that they meet."""
    said = st.builds(
        lambda kind, text, key, minute: Fact(
            kind, text, NOON + timedelta(minutes=minute), agent, key="" if kind in KINDS[:2] else key
        ),
        st.sampled_from(KINDS),
        st.sampled_from("abc"),
        st.sampled_from("abc"),
        st.integers(0, 5),
    )
    return st.lists(said, max_size=6)


@given(facts("me-1"), facts("peer-1"))
def test_rules_and_questions_that_are_known_stay_as_they_are(known: list[Fact], told: list[Fact]) -> None:
    digest = MemoryIndex().digest(10, NOON)
    mark = ((UNPUBLISHED, "true"),)
    unpublished = [fact._replace(others=mark) for fact in told if fact.kind != FactKind.ANSWER]

    alone = gather(digest, known, ()).tables
    tables = gather(digest, known, (), (), unpublished).tables

    for kind in KINDS[:2]:
        own = {name: fact for name, fact in tables[kind.value].items() if not fact.is_unpublished}
        assert own == alone[kind.value]
    for name, fact in tables[FactKind.QUESTION.value].items():
        answers = [one for one in known if one.kind == FactKind.ANSWER and one.key == name]
        assert not any(one.at >= fact.at for one in answers) or not fact.is_unpublished
