"""A person at a terminal: what is theirs, who is told, what is shown, and what starts no session."""

import json
from pathlib import Path

import pytest

from passdown.errors import StorageError
from passdown.services.sessions import said_facts
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.people import sit_down, stand_up

BESIDE = "several sessions are running here"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command at a terminal, beside two agents."""
    call = Caller(monkeypatch, capsys, project.folder)
    for name in ("amber", "birch"):
        assert call("start", "--new", "--nickname", name, "--session", name).code == 0
    sit_down(monkeypatch)
    return call


def _words(text: str) -> str:
    return " ".join(text.split())


def _journals(folder: Path) -> set[str]:
    return {path.name for path in (folder / ".git" / "passdown" / "journal").glob("*")}


@pytest.mark.requirement("C122")
def test_feedback_for_an_agent_is_told_to_it_and_to_whoever_continues_it(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command("tell", "--to", "amber", "Mind the tests")
    command("tell", "Ship on Friday")

    assert done.out.startswith("feedback to amber-")
    assert "recording as ada-author-" in done.err
    briefs = {name: command("brief", "--session", name).out for name in ("amber", "birch")}
    assert ["Mind the tests" in briefs[name] for name in ("amber", "birch")] == [True, False]
    assert all("Ship on Friday" in brief for brief in briefs.values())
    listed = command("tell", "--list").out
    assert "for amber-" in listed
    assert "Ship on Friday" in listed
    stand_up(monkeypatch)
    command("end", "--session", "amber")
    command("start", "--new", "--session", "cedar", "--nickname", "cedar")
    assert "Mind the tests" in command("brief", "--session", "cedar").out
    command("answer", "Mind", "Done", "--session", "cedar")
    assert "Mind the tests" not in command("tell", "--list").out


@pytest.mark.requirement("C122")
def test_the_same_words_for_a_second_agent_are_for_both(command: Caller) -> None:
    command("tell", "--to", "amber", "Mind the tests")
    done = command("tell", "--to", "birch", "Mind the tests")

    (told,) = json.loads(command("tell", "--list", "--json").out)["feedback"]

    assert [name.partition("-")[0] for name in told["to"]] == ["amber", "birch"]
    assert done.out.startswith("feedback to amber-")
    assert command("tell", "--to", "someone-0123abcd", "Hello").code == 0  # of another clone


@pytest.mark.requirement("C122", "C161")
@pytest.mark.parametrize(
    "words",
    [
        ("tell", "--to", "nobody", "x"),
        ("tell", "--to", "amber", "--list"),
        ("tell", " "),
        ("answer", "nothing", "x"),
        ("answer", "--dismiss", "nothing"),
        ("retract", "nothing"),
        ("done",),
        ("claim", "nothing"),
        ("close",),
        ("release", "nothing"),
        ("reserve",),
        ("msg", " "),
        ("task", "note", "nothing", "x"),
        ("task", "give-back", "nothing"),
        ("handoff", "accept", "nothing"),
        ("loop", "feedback", "nothing", "ideation", "x"),
    ],
    ids=" ".join,
)
def test_what_is_refused_starts_no_session_of_a_person(
    command: Caller, project: Project, words: tuple[str, ...]
) -> None:
    before = _journals(project.folder)

    done = command(*words)

    assert done.code in {2, 3}, done
    assert BESIDE not in done.err
    assert _journals(project.folder) == before


@pytest.mark.requirement("C161")
@pytest.mark.parametrize(
    "words",
    [
        ("takeover", "nothing"),
        ("gate", "run", "design"),
        ("track", "finish"),
        ("context", "save"),
        ("result", "drop", "nothing"),
        ("result", "apply", "nothing"),
        ("result", "apply", "--file", "nothing.json"),
        ("handoff", "create", "--to", "nobody"),
        ("claim", "nothing"),
        ("renew", "nothing"),
    ],
    ids=" ".join,
)
def test_what_is_refused_starts_no_session_of_an_agent(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    project: Project,
    words: tuple[str, ...],
) -> None:
    call = Caller(monkeypatch, capsys, project.folder)

    done = call(*words)

    assert done.code != 0, done
    assert "started" not in done.err
    assert _journals(project.folder) == set()


@pytest.mark.requirement("C51", "C122")
@pytest.mark.parametrize(
    "words",
    [
        ("brief",),
        ("feedback",),
        ("tell", "--list"),
        ("inbox",),
        ("track",),
        ("gate",),
        ("tdd",),
        ("preflight",),
        ("result", "list"),
        ("context", "recall"),
        ("status",),
    ],
    ids=" ".join,
)
def test_reading_never_needs_a_session(
    command: Caller, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    by_person = command(*words)
    stand_up(monkeypatch)
    by_script = command(*words)

    for done in (by_person, by_script):
        assert done.code in {0, 1}, done
        assert (BESIDE in done.err) is ("choose one with --session ID" in done.err)


@pytest.mark.requirement("C122")
def test_a_status_shows_a_person_as_one_and_no_brief_does(command: Caller) -> None:
    command("now", "Reading the plan")

    assert "  person, last seen " in command("status").out
    assert "Reading the plan" not in command("brief", "--session", "amber").out
    assert "Reading the plan" not in command("start", "--session", "dune", "--nickname", "dune").err


@pytest.mark.requirement("C122", "C57")
def test_what_a_person_says_is_published_at_once_and_trouble_is_told(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("decide", "port", "Use 8080")
    assert "port: Use 8080" in command("log").out

    def fail(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(said_facts, "publish", fail)
    done = command("tell", "Hello")

    assert (done.code, done.out) == (0, "feedback: Hello\n")
    assert "the disk is full" in done.err


def test_of_two_answers_the_open_question_gets_the_second(command: Caller) -> None:
    command("ask", "Which store?", "--session", "amber")
    command("answer", "Which", "Redis")
    command("ask", "Which port?", "--session", "birch")

    assert command("answer", "Which port", "8080").out == "answer: 8080\n"
    assert _words(command("answer", "Which store", "SQLite").out) == "answer: SQLite"
    brief = command("brief", "--session", "amber").out
    assert "Which store? → SQLite" in brief
    assert "Which port? → 8080" in brief
