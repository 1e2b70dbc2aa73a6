"""`passdown handoff` writes what a session passes on, and goes on from what another one passed on."""

import json
import re
import sys
from pathlib import Path

import pytest

from passdown.ports.repository import Skipped, SkipReason
from passdown.records import replace
from passdown.services.handover import handoffs
from passdown.services.log.synthesis import synthesize
from tests.support.commands import Caller, Done, say_all
from tests.support.gits import Project
from tests.support.projects import put, stop_clock

STREAM = "thoughts/shared/handoffs/auth/current.md"
RECORD = "conductor/sessions/archive/2026-01-11-12-00-manual.md"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with a session that knows something."""
    call = Caller(monkeypatch, capsys, project.folder)
    say_all(call)
    return call


def find_record(folder: Path) -> str:
    """Give the path of the record that the session wrote."""
    (found,) = folder.glob("conductor/sessions/archive/2026-01-11-12-00-manual-toast-*.md")
    return found.relative_to(folder).as_posix()


@pytest.mark.requirement("R55", "R82")
def test_create_says_where_it_wrote_what_and_that_clearing_is_safe(command: Caller, project: Project) -> None:
    done = command("handoff", "create", "--stream", "auth")

    lines = done.out.splitlines()
    assert done.code == 0
    record = find_record(project.folder)
    assert lines[:2] == [f"written: {STREAM}", f"written: {record}"]
    assert lines[2].startswith("published: ev-")
    assert lines[3:] == [
        "goal: Let people sign in",
        "done: Session model",
        "now: Make logout work",
        "next: Remove tokens",
        "next: Write docs",
        "ready for clear",
    ]
    assert done.err.startswith("passdown: committed as ")
    assert {STREAM, record} <= set(project.tree())
    assert (project.folder / "conductor/sessions/active/LEDGER.md").exists()
    assert command("check", STREAM, record).code == 0


def test_create_twice_writes_a_second_record_and_says_long_lists_short(command: Caller) -> None:
    command("handoff", "create")
    command("next", *"abcdefg")

    done = command("handoff", "create", "--trigger", "odd", "--archive")

    assert "next: e\nnext: and 2 more\n" in done.out
    assert "unknown trigger odd" in done.err
    assert not (command.folder / "conductor/sessions/active/LEDGER.md").exists()


def test_create_as_json(command: Caller) -> None:
    answer = json.loads(command("handoff", "create", "--stream", "auth", "--json").out)

    assert answer["version"] == 1
    assert (answer["stream"], answer["is_ledger_removed"]) == (STREAM, False)
    assert answer["record"] == find_record(command.folder)
    assert answer["snapshot"]["goal"] == "Let people sign in"
    again = json.loads(command("handoff", "--json", "create").out)
    assert (again["stream"], again["event"]) == (STREAM, None)


@pytest.mark.requirement("R57")
def test_the_one_stream_document_there_is_is_updated(command: Caller) -> None:
    command("handoff", "create", "--stream", "auth")
    command("now", "Release it")

    done = command("handoff", "create")

    assert f"written: {STREAM}\n" in done.out
    assert "[->] Release it\n" in (command.folder / STREAM).read_text(encoding="utf-8")


@pytest.mark.requirement("R55", "R57", "R59")
def test_without_a_stream_document_one_is_made_that_is_named_after_the_goal(command: Caller) -> None:
    path = "thoughts/shared/handoffs/let-people-sign-in/current.md"

    assert f"written: {path}\n" in command("handoff", "create").out
    put(command.folder, STREAM, (command.folder / path).read_text(encoding="utf-8"))
    put(command.folder, STREAM.replace("auth", "broken"), "<<<<<<< ours\n")
    command("now", "Release it")
    assert f"written: {path}\n" in command("handoff", "create").out
    assert "Release it" not in (command.folder / STREAM).read_text(encoding="utf-8")


@pytest.mark.requirement("G18")
def test_a_secret_is_left_out_and_that_is_said(command: Caller, project: Project) -> None:
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    command("decide", "deploy", f"with {secret}")

    done = command("handoff", "create", "--stream", "auth")

    assert "removed secrets: aws-access-token" in done.err
    for path in (STREAM, find_record(project.folder)):
        text = (project.folder / path).read_text(encoding="utf-8")
        assert secret not in text
        assert "[redacted: aws-access-token]" in text


def test_a_commit_that_was_refused_is_said(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Skipped(why=SkipReason.NO_IDENTITY, reason="nobody", hint="say who you are")
    monkeypatch.setattr(
        handoffs, "synthesize", lambda *one, **more: replace(synthesize(*one, **more), committed=refused)
    )
    assert "not committed: nobody\n  hint: say who you are\n" in command("handoff", "create").err
    silent = Skipped(why=SkipReason.LOCKED, reason="locked")
    monkeypatch.setattr(
        handoffs, "synthesize", lambda *one, **more: replace(synthesize(*one, **more), committed=silent)
    )
    assert command("handoff", "create").err == "passdown: not committed: locked\n"


def test_without_a_name_the_newest_is_meant(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for verb in ("show", "resume"):
        done = command("handoff", verb)
        assert (done.code, "there are no handoffs" in done.err) == (2, True)
    command("handoff", "create", "--stream", "auth")
    stop_clock(monkeypatch, "2026-01-11T14:00:00Z")
    command("goal", "Something newer")
    command("handoff", "create")

    assert "Something newer" in command("handoff", "show").out
    assert "goal: Something newer" in command("handoff", "resume").out


@pytest.mark.requirement("G1")
def test_handoffs_are_listed_with_age_and_status(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = command("handoff")
    assert (empty.out, empty.code) == ("", 0)
    assert "no handoffs" in empty.err
    command("handoff", "create", "--stream", "auth")
    put(command.folder, "thoughts/shared/handoffs/bare/current.md", "nothing\n")
    stop_clock(monkeypatch, "2026-01-11T14:00:00Z")

    done = command("handoff", "list")

    assert done.out == (
        "auth  stream, active, 2 h ago\n    Let people sign in\n"
        f"{Path(find_record(command.folder)).stem}  archive, complete, 2 h ago\n    Let people sign in\n"
        "bare  stream, no status, no date\n"
    )
    data = json.loads(command("handoff", "list", "--json", "-n", "1").out)
    assert [(one["name"], one["at"]) for one in data["handoffs"]] == [("auth", "2026-01-11T12:00:00Z")]
    assert command("handoff").out == done.out
    command("end")
    assert command("handoff", "list").out == done.out


def test_show_prints_a_handoff_as_it_is(command: Caller) -> None:
    command("handoff", "create", "--stream", "auth")

    assert command("handoff", "show", "auth").out == (command.folder / STREAM).read_text(encoding="utf-8")
    record = find_record(command.folder)
    data = json.loads(command("handoff", "show", record, "--json").out)
    assert (data["kind"], data["status"]) == ("archive", "complete")
    assert data["text"] == (command.folder / record).read_text(encoding="utf-8")
    missing = command("handoff", "show", "none")
    assert (missing.code, missing.err) == (
        2,
        "passdown: there is no handoff none\n  hint: run `passdown handoff list` to see them\n",
    )


@pytest.mark.requirement("G18", "R82")
def test_resume_says_what_changed_and_goes_on(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("handoff", "create", "--stream", "auth")
    command("end")
    project.git("checkout", "--quiet", "-b", "feat")
    stop_clock(monkeypatch, "2026-01-13T12:00:00Z")

    done = command("handoff", "resume", "auth")

    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0] == "age: 2 d; older than 24 h: check before you rely on it"
    assert "branch: was main, now feat" in lines
    begins = next(line for line in lines if " starts from " in line)
    assert begins.startswith("generic-")
    assert begins.endswith(STREAM)
    assert [re.sub("toast-[0-9a-f]{8}", "toast", line) for line in lines[-5:]] == [
        "done: Session model (toast, 2 d ago)",
        "now: Make logout work (toast, 2 d ago)",
        "next: Remove tokens (toast, 2 d ago)",
        "next: Write docs (toast, 2 d ago)",
        "question: Who rotates?",
    ]
    assert "goal: Let people sign in" in command("status").out


def test_resume_in_the_session_that_runs_as_json(command: Caller) -> None:
    command("handoff", "create", "--stream", "auth")

    answer = json.loads(command("handoff", "resume", "auth", "--json").out)

    assert (answer["is_new"], answer["carried"]) == (False, 0)
    assert answer["drift"]["age_seconds"] == 0
    assert answer["drift"]["branch"] is None
    assert answer["snapshot"]["now"] == "Make logout work"
    assert "continues from" in command("handoff", "resume", "auth").out


def test_our_own_commits_are_no_drift(command: Caller, project: Project) -> None:
    project.git("add", "passdown.toml")
    project.git("commit", "--quiet", "--message", "set up")
    command("handoff", "create", "--stream", "auth")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--allow-empty", "--message", "ours")
    assert json.loads(command("handoff", "resume", "auth", "--json").out)["drift"]["commits"] == 0

    (project.folder / "a.py").write_text("a = 1\n", encoding="utf-8")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "theirs")

    assert json.loads(command("handoff", "resume", "auth", "--json").out)["drift"]["commits"] == 1


def write_record(folder: Path, test: str, code: str = "test_exit_code: 0\n") -> None:
    """Write a record that names a test."""
    head = f"---\ndate: 2026-01-11T11:00:00Z\nsession_id: s\ntrigger: stale\nstatus: interrupted\n{code}"
    rows = "| File | Change |\n|---|---|\n| kept.txt | sha256:00 |\n| x | sha256:1 |\n"
    table = f"\n## Artifacts\n\n### Modified\n{rows}"
    put(folder, RECORD, f"{head}test: {json.dumps(test)}\n---\n{table}")


@pytest.mark.requirement("G18")
def test_resume_compares_files_and_runs_the_test_when_asked(command: Caller) -> None:
    test = f"{sys.executable} -c 'raise SystemExit(3)'"
    write_record(command.folder, test)

    asked = command("handoff", "resume", RECORD, "--run-test", "--yes")
    left = command("handoff", "resume", RECORD)

    assert "changed since: kept.txt\ndeleted since: x\n" in asked.out
    assert f"test: {test} (exit code 0 then, 3 now)\n" in asked.out
    assert f"passdown: exit 3: {test}\n" in asked.err
    assert f"test: {test} (exit code 0 then; run it with --run-test)\n" in left.out


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("no-such-program", "it could not be started: No such file or directory: no-such-program"),
        ("echo 'open", "it needs a shell: an unclosed quote; run it by hand"),
    ],
)
def test_a_test_that_cannot_be_run_is_said(command: Caller, test: str, why: str) -> None:
    write_record(command.folder, test, code="")

    done = command("handoff", "resume", RECORD, "--run-test", "--yes")

    assert done.code == 0
    assert f"test: {test} (not run then; could not be run now)" in done.out
    assert why in done.out + done.err


def test_a_test_of_which_parts_were_left_out_is_not_run(command: Caller) -> None:
    write_record(command.folder, "… pytest tests")

    done = command("handoff", "resume", RECORD, "--run-test", "--yes")

    assert done.code == 0
    assert "test: … pytest tests (exit code 0 then; parts of it were left out when it was shared)" in done.out
    assert "not running … pytest tests" in done.err
    assert "to run" not in done.out


def test_a_handoff_without_a_date_has_no_age(command: Caller) -> None:
    put(command.folder, "thoughts/shared/handoffs/bare/current.md", "nothing\n")

    assert command("handoff", "resume", "bare").out.startswith("no changes found\n")


@pytest.mark.requirement("C161")
@pytest.mark.parametrize("noun", ["handoff", "checkpoint"])
def test_what_a_new_session_of_a_host_resumes_is_its_own(
    command: Caller, monkeypatch: pytest.MonkeyPatch, noun: str
) -> None:
    command("handoff", "create", "--stream", "auth")
    command("end")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "h-7")

    resumed = command(noun, "resume", "auth", "--yes")

    assert (resumed.code, "this claude session is new here; started " in resumed.err) == (0, True)
    assert command("done") == Done(0, "done: Make logout work\n", "")
    assert command("status").out.count(" live, ") == 1
