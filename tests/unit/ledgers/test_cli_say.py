"""The everyday verbs, as a user calls them."""

import json
from pathlib import Path

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.formats.ledgers import parse_ledger
from passdown.core.sessions.ledger_sync import MAX_CHARS
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemEntropy
from passdown.faces.cli import verbs
from tests.support.commands import Caller, Done, run
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock
from tests.support.sessions import LEDGER, CountedEntropy

BEGINS = "passdown: no session was running here; started generic-00000001\n"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository, on a day in January, in which names are counted."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    entropy = CountedEntropy()
    monkeypatch.setattr(SystemEntropy, "token", lambda _, size: entropy.token(size))
    return make_started(tmp_path / "project")


def ledger(project: Project) -> str:
    return (project.folder / LEDGER).read_text(encoding="utf-8")


def said(project: Project) -> list[tuple[str, str]]:
    """Give kind and text of every line of the only journal."""
    (path,) = (project.folder / ".git" / "passdown" / "journal").iterdir()
    return [(line.fact.kind, line.fact.text) for line in parse_journal(path.read_text()).lines[1:]]


def test_a_verb_starts_a_session_where_none_runs(command: Caller, project: Project) -> None:
    assert command("now", "write the parser") == Done(0, "now: write the parser\n", BEGINS)
    assert command("done") == Done(0, "done: write the parser\n", "")
    text = "write the parser"
    assert said(project) == [("now", text), ("done", text)]
    assert project.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "out", "line"),
    [
        (("goal", "Ship it"), "goal: Ship it\n", ("goal", "Ship it")),
        (("now", " blanks "), "now: blanks\n", ("now", "blanks")),
        (("done", "a"), "done: a\n", ("done", "a")),
        (("next", "a  b", "c", " "), "next: a b; c\n", ("next", "a b\nc")),
        (
            ("decide", "db", "SQLite", "--because", "it is there"),
            "decision db: SQLite (it is there)\n",
            ("decision", "SQLite"),
        ),
        (("rule-out", "daemons"), "Ruled out: daemons\n", ("constraint", "Ruled out: daemons")),
        (
            ("rule-out", "daemons", "--because", "they hate them"),
            "Ruled out: daemons (they hate them)\n",
            ("constraint", "Ruled out: daemons (they hate them)"),
        ),
        (("ask", "why?"), "question: why?\n", ("question", "why?")),
        (("note", "mine"), "note: mine\n", ("note", "mine")),
        (("retract", "a", "--kind", "done"), "retraction: a\n", ("retraction", "a")),
    ],
)
def test_each_verb_writes_one_fact(
    command: Caller, project: Project, arguments: tuple[str, ...], out: str, line: tuple[str, str]
) -> None:
    command("start")

    assert command(*arguments) == Done(0, out, "")
    assert said(project) == [line]


@pytest.mark.parametrize("verb", ["goal", "now", "done", "next", "rule-out", "ask", "note"])
def test_a_fact_that_says_nothing_is_refused(command: Caller, project: Project, verb: str) -> None:
    command("start")
    done = command(verb, "  ")

    assert (done.code, done.out) == (2, "")
    assert "needs a text" in done.err
    assert said(project) == []


def test_a_fact_that_is_too_long_is_refused(command: Caller, project: Project) -> None:
    command("start")

    done = command("goal", "x" * (MAX_CHARS + 1))

    assert (done.code, done.out, said(project)) == (2, "", [])
    assert "too long" in done.err


def test_the_answer_for_programs(command: Caller, project: Project) -> None:
    answer = json.loads(command("goal", " Ship it ", "--json").out)

    assert answer == {
        "version": 1,
        "session": "s-000000000002",
        "agent": "generic-00000001",
        "line": 2,
        "kind": "goal",
        "text": "Ship it",
        "ledger": LEDGER,
        "is_ledger_written": True,
    }
    assert parse_ledger(ledger(project)).goal == "Ship it"


def test_nothing_can_be_done_that_was_not_begun(command: Caller) -> None:
    command("start")

    done = command("done")

    assert (done.code, done.out) == (2, "")
    assert "there is no current work" in done.err


def test_next_steps_are_replaced_or_added(command: Caller, project: Project) -> None:
    command("next", "a", "b")
    command("next", "--add", "c")
    assert parse_ledger(ledger(project)).next == ("a", "b", "c")
    command("next", "d")
    assert parse_ledger(ledger(project)).next == ("d",)


def test_a_question_is_answered_by_the_start_of_it(command: Caller, project: Project) -> None:
    command("ask", "why is it so?")
    command("ask", "who?")

    assert command("answer", "why", "because").code == 0
    assert parse_ledger(ledger(project)).questions == ("who?",)
    assert command("answer", "why", "no, for another reason").code == 0
    command("ask", "why else?")
    command("ask", "why not?")
    unknown = command("answer", "when", "x")
    assert (unknown.code, "no open question or feedback begins with 'when'" in unknown.err) == (2, True)
    several = command("answer", "why", "x")
    assert (several.code, "several facts begin with" in several.err) == (2, True)


def test_a_question_of_an_earlier_session_is_answered(command: Caller) -> None:
    command("ask", "may we use it?")
    command("end")

    assert command("answer", "may we", "yes") == Done(
        0, "answer: yes\n", BEGINS.replace("00000001", "00000003")
    )

    brief = command("brief").out
    assert "Open questions" not in brief
    assert "> may we use it? → yes\n" in brief


def test_what_is_done_is_no_longer_being_done(command: Caller, project: Project) -> None:
    command("now", "write the parser")
    command("done")
    found = parse_ledger(ledger(project))
    assert (found.done, found.now) == (("write the parser",), "")
    command("now", "write the tests")
    command("done", "another thing")
    assert parse_ledger(ledger(project)).now == "write the tests"
    command("done", "write the tests")
    assert parse_ledger(ledger(project)).now == ""


def test_a_fact_is_taken_back_by_its_text_its_start_or_its_key(command: Caller, project: Project) -> None:
    command("done", "wrote the parser")
    command("decide", "db", "SQLite")
    command("rule-out", "daemons")
    command("rule-out", "daemons everywhere")

    for text, out in (("wrote", "wrote the parser"), ("db", "db"), ("daemons", "Ruled out: daemons")):
        assert command("retract", text) == Done(0, f"retraction: {out}\n", "")
    found = parse_ledger(ledger(project))
    assert (found.done, [row.decision for row in found.decisions]) == ((), ["Ruled out: daemons everywhere"])
    unknown = command("retract", "nothing of the kind")
    assert (unknown.code, "this session has no fact" in unknown.err) == (2, True)


@pytest.mark.requirement("R29", through="command")
def test_a_fact_is_found_in_upper_or_lower_case(command: Caller, project: Project) -> None:
    command("ask", "Why is it so?")
    command("ask", "WHO asks?")
    command("done", "Wrote the Parser")
    command("decide", "Store", "SQLite is enough")
    command("rule-out", "Daemons")

    assert command("answer", "why IS", "because").code == 0
    assert command("answer", "who asks?", "I do").code == 0
    assert parse_ledger(ledger(project)).questions == ()
    for text, out in (("wrote THE", "Wrote the Parser"), ("daemons", "Ruled out: Daemons")):
        assert command("retract", text) == Done(0, f"retraction: {out}\n", "")
    assert command("retract", "sqlite IS").out == "retraction: Store\n"
    found = parse_ledger(ledger(project))
    assert (found.done, found.decisions) == ((), ())


def test_the_same_letters_and_a_whole_text_come_first_and_a_start_must_be_unique(
    command: Caller, project: Project
) -> None:
    for text in ("docs", "Docs", "Docs for hooks", "read it"):
        command("done", text)
    command("ask", "Read what?")
    command("done", "Deploy", "--once")

    several = command("retract", "READ")
    assert (several.code, "several facts begin with 'READ'" in several.err) == (2, True)
    assert command("retract", "DOCS").code == 2
    assert command("retract", "docs").out == "retraction: docs\n"
    assert command("retract", "DOCS").out == "retraction: Docs\n"
    assert command("retract", "READ", "--kind", "done").out == "retraction: read it\n"
    assert command("retract", "deploy").out == "retraction: Deploy\n"
    assert parse_ledger(ledger(project)).done == ("Docs for hooks",)
    assert "Deploy" not in command("brief").out


def test_another_sessions_fact_is_found_by_its_start_and_kind(command: Caller) -> None:
    command("rule-out", "No Threads in hooks")
    command("end")
    command("start")

    assert command("retract", "no threads").code == 2
    done = command("retract", "no threads", "--kind", "constraint")

    assert done.out == "retraction: Ruled out: No Threads in hooks\n"
    assert "Threads" not in command("brief").out
    assert command("retract", "never said", "--kind", "constraint").out == "retraction: never said\n"


@pytest.mark.requirement("C152", "R25", through="command")
def test_what_is_done_leaves_the_next_steps_and_is_kept_as_typed(command: Caller, project: Project) -> None:
    command("next", "Write the Docs", "Write the docs for hooks", "Ship it")

    assert command("done", "write the docs").out == "done: write the docs\n"
    assert command("done", "SHIP  it").code == 0
    found = parse_ledger(ledger(project))
    assert (found.done, found.next) == (("write the docs", "SHIP  it"), ("Write the docs for hooks",))
    command("publish")
    assert "Write the Docs\n" not in command("brief").out
    command("now", "write the docs FOR hooks")
    assert parse_ledger(ledger(project)).next == ()


def test_edits_by_hand_are_taken_in_and_counted(command: Caller, project: Project) -> None:
    command("done", "a")
    for old, new, told in (("- a\n", "- a\n- b\n", "1 manual edit"), ("- b\n", "- c\n", "2 manual edits")):
        project.write(LEDGER, ledger(project).replace(old, new))
        done = command("now", "go on")
        assert done.err == f"passdown: recorded {told} from {LEDGER}\n"
    assert parse_ledger(ledger(project)).done == ("a", "c")


def test_a_broken_ledger_is_left_and_reported_and_the_fact_is_safe(command: Caller, project: Project) -> None:
    command("done", "a")
    broken = ledger(project).replace("updated: 2026", "updated: soon")
    project.write(LEDGER, broken)

    done = command("done", "b")
    answer = json.loads(command("done", "c", "--json").out)

    assert (done.code, done.out) == (0, "done: b\n")
    assert f"{LEDGER}:2: updated: " in done.err
    assert "the ledger was not changed" in done.err
    assert "your fact is recorded" in done.err
    assert (answer["is_ledger_written"], ledger(project)) == (False, broken)
    assert said(project) == [("done", "a"), ("done", "b"), ("done", "c")]


def test_a_session_of_another_checkout_can_be_named(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("start")
    other = project.folder.parent / "other"
    project.git("worktree", "add", "-q", str(other))
    monkeypatch.chdir(other)

    done = command("done", "a", "--session", "generic-00000001")

    assert done == Done(
        0,
        "done: a\n",
        f"passdown: generic-00000001 works in {project.folder}; its ledger is updated there\n",
    )
    assert not (other / LEDGER).exists()


@pytest.mark.requirement("C51")
def test_with_several_sessions_one_must_be_named(command: Caller) -> None:
    command("start")
    command("start", "--new")

    done = command("done", "a")

    assert done.code == 2
    assert "several sessions are running here: s-000000000002 (generic-00000001)" in done.err.replace(
        "\n ", ""
    )
    assert command("done", "a", "--session", "generic-00000001").code == 0


def test_a_verb_works_without_git_and_says_what_settings_are_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: (0, "", ""))
    (tmp_path / "passdown.toml").write_text("[nonsense]\n", encoding="utf-8")
    command = Caller(monkeypatch, capsys, tmp_path)

    done = command("goal", "Ship it")

    assert (done.code, done.out) == (0, "goal: Ship it\n")
    assert "nonsense" in done.err
    assert len(list((tmp_path / ".conductor" / "journal").iterdir())) == 1


def test_bytes_that_are_no_text_are_refused(project: Project) -> None:
    done = run("goal", "a\udcffb", cwd=project.folder)

    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


CALLS = (
    ("goal", "a"),
    ("now", "a"),
    ("ask", "a"),
    ("note", "a"),
    ("done", "a"),
    ("next", "a", "b  c"),
    ("decide", "db", "SQLite"),
    ("decide", "db", "SQLite", "--because", "it is there"),
    ("rule-out", "a daemon", "--because", "they hate it"),
    ("answer", "why", "because"),
    ("answer", "wh", "it starts so"),
    ("retract", "before"),
    ("retract", "no such thing"),
    ("decide", "db"),
    ("now",),
    ("goal", "a", "b"),
    ("now", "-x"),
    ("now", "--help"),
    ("rule-out", "--because"),
    ("decide", "a", "b", "--because", "-c"),
    ("goal", " "),
)


def test_a_verb_does_the_same_whether_the_parser_looks_or_not(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[tuple[object, ...]] = []
    for number, read in enumerate((verbs.run_plainly, lambda _: None)):
        monkeypatch.setattr(verbs, "run_plainly", read)
        command("start", "--new", "--nickname", f"n{number}", "--fresh")
        session = json.loads(command("status", "--json").out)["sessions"][-1]["session"]
        monkeypatch.setenv("PASSDOWN_SESSION", session)
        command("ask", "why?")
        command("done", "before")
        answers = [command(*arguments) for arguments in CALLS]
        assert command("retract", "SQLite").code == 0  # otherwise the other session's decision holds
        answers = [one._replace(out=one.out.replace(f"n{number}-", "n-").split(" (n-")[0]) for one in answers]
        journal = project.folder / ".git/passdown/journal" / f"{session}.jsonl"
        lines = parse_journal(journal.read_text(encoding="utf-8")).lines
        facts = [(one.fact.kind, one.fact.text, one.fact.key, one.fact.because) for one in lines[1:]]
        outcomes.append((answers, facts))

    assert outcomes[0] == outcomes[1]
    assert {done.code for done in outcomes[0][0]} == {0, 2}  # type: ignore[attr-defined]  # the answers
