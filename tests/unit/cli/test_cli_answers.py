"""An answer is a fact: it is published, merged, shown in view and brief, and found by every clone."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import put_event, stop_clock

FEEDBACK = "The export drops umlauts"
ANSWER = "It writes UTF-8 now"


class Clones:
    """Two clones of one repository, and a way to call the command in each."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        """Make a repository and clone it."""
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.ada = make_started(folder / "ada")
        self.ada.git("clone", "--quiet", str(folder / "ada"), str(folder / "bob"))
        self.bob = Project(folder=folder / "bob")

    def call(self, project: Project, *arguments: str) -> str:
        """Call the command in a clone, and give what it printed."""
        done = Caller(self._monkeypatch, self._capsys, project.folder)(*arguments)
        assert done.code == 0, done.err
        return done.out

    def pass_on(self, giver: Project, taker: Project) -> None:
        """Commit the events of one clone, and pull them into the other."""
        giver.git("add", "thoughts")
        giver.git("commit", "--quiet", "--message=events")
        taker.git("pull", "--quiet", "--no-rebase", "--no-edit", str(giver.folder), "main")


@pytest.fixture
def clones(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Clones:
    """Give two clones, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return Clones(monkeypatch, capsys, tmp_path)


@pytest.mark.requirement("C122", "C100")
def test_an_answer_to_feedback_reaches_the_other_clone(clones: Clones) -> None:
    ada, bob = clones.ada, clones.bob
    clones.call(ada, "tell", FEEDBACK)
    clones.call(ada, "publish")
    clones.pass_on(ada, bob)
    assert "Unanswered feedback:\n(generic-" in clones.call(bob, "brief")

    assert clones.call(bob, "answer", "The export", ANSWER) == f"answer: {ANSWER}\n"
    clones.call(bob, "publish")
    event = json.loads(clones.call(bob, "log", "--json"))["events"][0]["data"]
    assert event["answered_feedback"] == [FEEDBACK]
    assert event["answers"] == [{"key": FEEDBACK, "value": ANSWER}]
    clones.pass_on(bob, ada)

    brief = clones.call(ada, "brief")
    assert "Unanswered feedback" not in brief
    assert f"> {FEEDBACK} → {ANSWER}\n" in brief
    assert f"### Answers\n- {FEEDBACK}: {ANSWER}\n" in clones.call(ada, "view")
    assert ANSWER in clones.call(ada, "view", "list", "answers")
    assert ANSWER in clones.call(ada, "search", "UTF-8")
    assert ANSWER in clones.call(ada, "log")
    assert " facts found: " in clones.call(ada, "certify")


@pytest.mark.requirement("C122")
def test_an_answer_to_a_question_reaches_the_other_clone(clones: Clones) -> None:
    ada, bob = clones.ada, clones.bob
    clones.call(ada, "ask", "May we drop old cookies?")
    clones.call(ada, "publish")
    clones.pass_on(ada, bob)
    clones.call(bob, "answer", "May we drop", "Yes, after March")
    clones.call(bob, "publish")
    clones.pass_on(bob, ada)

    brief = clones.call(ada, "brief")
    assert "Open questions" not in brief
    assert "> May we drop old cookies? → Yes, after March\n" in brief


@pytest.mark.requirement("C100")
def test_an_answer_is_not_forgotten_however_many_events_follow(clones: Clones) -> None:
    ada = clones.ada
    clones.call(ada, "tell", FEEDBACK)
    clones.call(ada, "publish")
    clones.call(ada, "answer", FEEDBACK, ANSWER)
    clones.call(ada, "publish")
    clones.call(ada, "end")
    clones.pass_on(ada, clones.bob)
    for number in range(150):
        put_event(
            clones.bob.folder, f"2026-01-11T12:{number // 60 + 1:02}:{number % 60:02}Z", now=f"Step {number}"
        )

    brief = clones.call(clones.bob, "brief")
    assert "Unanswered feedback" not in brief
    assert ANSWER in brief


def test_a_new_answer_replaces_the_one_before(clones: Clones) -> None:
    ada = clones.ada
    clones.call(ada, "ask", "Which port?")
    clones.call(ada, "answer", "Which", "80")
    clones.call(ada, "publish")
    clones.call(ada, "answer", "Which", "8080")
    clones.call(ada, "publish")

    assert clones.call(ada, "view", "list", "answers").startswith("Which port?: 8080\n")
    assert "Which port?: 80\n" not in clones.call(ada, "view")
