"""`passdown doctor` names every ailment of a real project, and it is gone after `--fix` or after its hint."""

import json
import os
import re
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from passdown.core.facts import Provenance
from passdown.core.formats.journal import JournalLine, render_line
from passdown.core.formats.registry import SESSION_CONTEXT
from passdown.core.kinds import FactKind
from passdown.core.project import findings
from passdown.core.project.findings import CacheHealth
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import NO_PROCESS, SessionStart, make_start
from passdown.engines.process import SystemProcesses
from passdown.engines.sqlite.event_index import SqliteIndex
from passdown.engines.system import SystemClock
from passdown.errors import CacheError
from passdown.services.sessions.journals import append_fact, read_account
from passdown.settings import Settings
from passdown.wiring import health
from passdown.wiring.health import examine_cache
from tests.answers.setup_answers import COST, DOCTOR
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, VIEW, listing, open_checkout, put, put_event
from tests.support.sessions import NOON

HEALTHY = Done(0, "", "passdown: no problems found\n")
GONE = f".passdown-{2**22 + 1}-0123456789abcdef.tmp"
LEGACY = "# Notes\n\n## Ledger\n**Goal:** Fix hooks\n\n### Now\n[->] Create the PR\n"


class Clock:
    """The machine's clock, moved by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand at noon."""
        self.at = NOON
        monkeypatch.setattr(SystemClock, "now", lambda _: self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock; nobody knows processes, so that it alone decides who lives."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    return Clock(monkeypatch)


@pytest.fixture
def project(tmp_path: Path, clock: Clock) -> Project:
    """Give a repository with a commit."""
    assert clock.at == NOON
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project that is set up and healthy."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("init", "--yes").code == 0
    return call


def find(command: Caller, *arguments: str) -> list[tuple[str, str]]:
    """Name what the doctor finds: code and text."""
    answer = json.loads(command("doctor", "--json", *arguments).out)
    jsonschema.validate(answer, DOCTOR)
    return [(one["code"], one["what"]) for one in answer["findings"]]


def mends(command: Caller) -> list[str]:
    """Let the doctor mend all, and say what it did."""
    done = command("doctor", "--fix", "--yes")
    assert (done.code, done.err) == (0, HEALTHY.err), done
    assert command("doctor") == HEALTHY
    return [line for line in done.out.splitlines() if line.startswith("fixed: ")]


# --- set-up ---------------------------------------------------------------------------------------


def test_a_project_that_is_not_set_up(command: Caller, project: Project) -> None:
    (project.folder / "passdown.toml").unlink()

    assert command("doctor") == Done(
        0,
        "not-set-up: there is no passdown.toml, so nothing runs automatically (warning)\n"
        "  hint: run `passdown init`; it shows the changes and asks\n",
        "passdown: 1 warning\n",
    )
    assert command("doctor", "--fix", "--yes").code == 0
    assert not (project.folder / "passdown.toml").exists()
    command("init", "--yes")
    assert command("doctor") == HEALTHY


def test_settings_that_nobody_knows_are_a_warning(command: Caller, project: Project) -> None:
    put(project.folder, "passdown.toml", "[nosuch]\n")

    done = command("doctor")

    assert done == Done(
        0,
        "settings: passdown.toml: unknown section [nosuch] (warning)\n  hint: fix it there\n",
        "passdown: 1 warning\n",
    )
    put(project.folder, "passdown.toml", "")
    assert command("doctor") == HEALTHY


@pytest.mark.requirement("C76")
def test_a_repository_that_chooses_a_server_is_told_on_and_not_believed(
    command: Caller, project: Project
) -> None:
    put(project.folder, "passdown.toml", '[coordination]\nurl = "https://ada:hunter2@evil.example.com"\n')

    warning = "passdown.toml: coordination.url is ignored, because a repository may not set it; set it in "
    status, doctor = command("status"), command("doctor")

    assert (status.code, doctor.code) == (0, 0)
    assert status.err.startswith(f"passdown: {warning}")
    assert " ".join(doctor.out.split()).startswith(f"settings: {warning}")
    assert "hunter2" not in f"{status.out}{status.err}{doctor.out}{doctor.err}"
    put(project.folder, "passdown.toml", "")
    assert command("doctor") == HEALTHY


def test_settings_that_cannot_be_read_do_not_keep_the_doctor_from_looking(
    command: Caller, project: Project
) -> None:
    put(project.folder, "passdown.toml", "[commit\n")
    put(project.folder, f".conductor/{GONE}", "")

    assert [code for code, _ in find(command)] == ["settings", "leftovers"]
    assert command("doctor").code == 1
    put(project.folder, "passdown.toml", "")
    mends(command)


@pytest.mark.requirement("R3")
def test_local_files_that_git_does_not_ignore(command: Caller, project: Project) -> None:
    (project.folder / ".gitignore").unlink()

    assert find(command) == [("not-ignored", "git does not ignore .conductor, conductor/sessions/active")]
    assert mends(command) == ["fixed: wrote git rules: .gitignore"]


def test_local_files_in_a_project_that_is_not_set_up(command: Caller, project: Project) -> None:
    for name in ("passdown.toml", ".gitignore", ".gitattributes"):
        (project.folder / name).unlink()
    put(project.folder, ".conductor/state.json", "{}")

    assert [code for code, _ in find(command, "--fix", "--yes")] == ["not-set-up", "not-ignored"]
    assert "run `passdown init` to write the missing rules" in command("doctor").out
    command("init", "--yes")
    assert command("doctor") == HEALTHY


def test_a_rule_of_the_user_that_undoes_ours(command: Caller, project: Project) -> None:
    rules = (project.folder / ".gitignore").read_text()
    put(project.folder, ".gitignore", f"{rules}!/.conductor\n")

    assert find(command, "--fix", "--yes") == [("not-ignored", "git does not ignore .conductor")]
    assert "look for a later ! rule that undoes them" in " ".join(command("doctor").out.split())
    put(project.folder, ".gitignore", rules)
    assert command("doctor") == HEALTHY


def test_local_files_that_git_tracks(command: Caller, project: Project) -> None:
    put(project.folder, "conductor/sessions/active/notes.txt", "mine\n")
    project.git("add", "--force", "conductor")
    project.git("commit", "--quiet", "--message=two")

    assert find(command) == [("tracked", "git tracks conductor/sessions/active/notes.txt")]
    hint = re.search(r"`git ([^`]*)`", command("doctor").out)
    assert hint is not None
    project.git(*hint[1].split())
    project.git("commit", "--quiet", "--message=three")
    assert command("doctor") == HEALTHY
    assert (project.folder / "conductor/sessions/active/notes.txt").exists()


@pytest.mark.requirement("C119")
def test_state_that_git_tracks_is_named_and_documents_of_other_tools_are_not(
    command: Caller, project: Project
) -> None:
    for name in ("paused", "journal/s-1.jsonl", ".gitignore", "handoff_1.json"):
        put(project.folder, f".conductor/{name}", "theirs\n")
    put(project.folder, ".conductor/session-context.md", SESSION_CONTEXT.example())
    project.git("add", "--force", ".conductor")

    assert find(command) == [
        (
            "tracked",
            "git tracks .conductor/journal/s-1.jsonl, so Passdown ignores it: anyone can have committed it",
        ),
        ("tracked", "git tracks .conductor/paused, so Passdown ignores it: anyone can have committed it"),
        ("tracked", "git tracks .conductor/.gitignore"),
    ]
    said = " ".join(command("doctor").out.split())
    assert "run `git rm -- .conductor/paused`, or `git rm --cached -- .conductor/paused` if this" in said
    project.git("rm", "--quiet", "--force", "--", ".conductor/paused", ".conductor/journal/s-1.jsonl")
    project.git("rm", "--quiet", "--cached", "--", ".conductor/.gitignore")
    assert command("doctor") == HEALTHY


@pytest.mark.requirement("C119")
def test_more_state_than_is_named_is_counted(command: Caller, project: Project) -> None:
    for number in range(12):
        put(project.folder, f".conductor/waiting/{number:02}", "theirs\n")
    project.git("add", "--force", ".conductor")

    found = find(command)

    assert len(found) == 11
    assert found[-1] == ("tracked", "git tracks 2 more files of local state, which Passdown ignores")


@pytest.mark.requirement("C119")
def test_an_index_that_nobody_can_read(command: Caller, project: Project) -> None:
    put(project.folder, ".conductor/paused", "mine\n")
    (project.folder / ".git/index").write_bytes(b"damaged")

    said = "git does not list the files it tracks, so Passdown ignores everything in .conductor"
    assert ("tracked", said) in find(command)


@pytest.mark.requirement("C119")
def test_a_journal_that_names_a_ledger_elsewhere(command: Caller, project: Project, clock: Clock) -> None:
    start = SessionStart(checkout=str(project.folder), ledger="../out\x1b[2J.md")
    line = JournalLine(seq=1, fact=make_start(start, clock.at, "agent"))
    put(project.folder, ".git/passdown/journal/s-1.jsonl", render_line(line))

    ((code, what),) = find(command)

    assert code == "journal"
    assert what == "the journal of s-1 names ../out\\u001b[2J.md as its ledger; Passdown ignores that"


def test_shared_files_that_git_ignores(command: Caller, project: Project) -> None:
    rules = (project.folder / ".gitignore").read_text()
    put(project.folder, ".gitignore", f"thoughts/\n{rules}")

    few = "thoughts/shared/handoffs, thoughts/shared/handoffs/events, thoughts/shared/handoffs/archive"
    assert find(command) == [("ignored", f"git ignores {few} and 1 more")]
    hint = re.search(r"`git (check-ignore[^`]*)`", " ".join(command("doctor").out.split()))
    assert hint is not None
    assert project.git(*hint[1].split()).startswith(".gitignore:1:thoughts/")
    put(project.folder, ".gitignore", rules)
    assert command("doctor") == HEALTHY


def test_what_is_private_may_be_ignored(command: Caller, project: Project) -> None:
    for name in (".gitignore", ".gitattributes", "passdown.toml"):
        (project.folder / name).unlink()
    command("init", "--yes", "--private")

    assert command("doctor") == HEALTHY
    exclude = project.folder / ".git/info/exclude"
    exclude.write_text(exclude.read_text().replace("/.conductor\n", ""))
    assert find(command) == [("not-ignored", "git does not ignore .conductor")]
    assert mends(command) == ["fixed: wrote git rules: .git/info/exclude"]


def test_line_ends_that_git_may_change(command: Caller, project: Project) -> None:
    rules = project.folder / ".gitattributes"
    rules.write_text(rules.read_text().replace("/thoughts/shared/handoffs/** -text\n", ""))

    assert find(command) == [("line-ends", ".gitattributes lets git change the line endings of events")]
    assert mends(command) == ["fixed: wrote git rules: .gitattributes"]


@pytest.mark.requirement("C116")
def test_a_view_that_git_does_not_merge_by_union(command: Caller, project: Project) -> None:
    rules = project.folder / ".gitattributes"
    rules.write_text(rules.read_text().replace(f"/{VIEW} merge=union\n", ""))

    what = f".gitattributes does not set merge=union for {VIEW}, so a merge can conflict in it"
    assert find(command) == [("view-merge", what)]
    assert mends(command) == ["fixed: wrote git rules: .gitattributes"]
    assert project.git("check-attr", "merge", "--", VIEW) == f"{VIEW}: merge: union\n"


def test_events_that_pull_requests_show_in_full_are_a_warning(command: Caller, project: Project) -> None:
    rules = project.folder / ".gitattributes"
    lines = rules.read_text().splitlines(keepends=True)
    rules.write_text("".join(line for line in lines if "linguist-generated" not in line))

    (finding,) = json.loads(command("doctor", "--json").out)["findings"]
    assert (finding["code"], finding["severity"]) == ("generated", "warning")
    assert command("doctor").code == 0
    assert mends(command) == ["fixed: wrote git rules: .gitattributes"]
    files = (f"{EVENTS}/2026-01-01/a.md", "conductor/sessions/archive/b.md", VIEW)
    shown = project.git("check-attr", "linguist-generated", "--", *files).splitlines()
    assert [line.rpartition(": ")[2] for line in shown] == ["set", "set", "unspecified"]


def test_what_killed_processes_left_behind(command: Caller, project: Project) -> None:
    places = (".", ".git/info", ".git/passdown/journal", ".conductor", f"{EVENTS}/2026-01-01")
    for place in places:
        put(project.folder, f"{place}/{GONE}", "half")
    put(project.folder, f"src/{GONE}", "not ours to look for")

    assert find(command) == [("leftovers", "5 unfinished writes left by killed processes")]
    assert mends(command) == ["fixed: removed 5 unfinished writes"]
    assert [path.parent.name for path in project.folder.rglob(GONE)] == ["src"]


@pytest.mark.parametrize("private", ["--private", "--shared"])
@pytest.mark.parametrize("place", ["worktree", "submodule", "apps/web"])
def test_every_kind_of_checkout_is_healthy_once_it_is_set_up(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch, place: str, private: str
) -> None:
    if place == "worktree":
        project.git("worktree", "add", "--quiet", "worktree", "-b", "side")
    elif place == "submodule":
        inner = make_started(project.folder.parent / "inner")
        allowed = ("-c", "protocol.file.allow=always")
        project.git(*allowed, "submodule", "--quiet", "add", str(inner.folder), "submodule")
    else:
        (project.folder / place).mkdir(parents=True)
    monkeypatch.chdir(project.folder / place)

    assert command("init", "--here", "--yes", private).code == 0
    assert command("start").code == 0
    assert command("doctor") == HEALTHY
    checkout = Project(folder=project.folder / place)
    assert "active" not in checkout.git("status", "--porcelain", "--untracked-files=all", ".")


def test_without_git_there_are_no_rules_to_miss(
    command: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    assert [code for code, _ in find(command)] == ["not-set-up"]
    command("init", "--yes")
    assert command("doctor") == HEALTHY


# --- events and view --------------------------------------------------------------------------------


def test_a_view_that_is_missing_outdated_or_edited(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    assert find(command) == [("view", f"{VIEW} is missing")]
    assert mends(command) == [f"fixed: rebuilt the view: {VIEW}"]

    put_event(project.folder, "2026-01-10T14:00:00Z", now="Wait")
    assert find(command) == [("view", f"{VIEW} is older than its events")]
    mends(command)

    view = project.folder / VIEW
    put(project.folder, VIEW, view.read_text().replace("Wait", "Hurry"))
    assert find(command) == [("view", f"{VIEW} was edited by hand")]
    assert command("doctor", "--fix", "--yes").code == 0
    (kept,) = [path for path in listing(project.folder) if path.startswith(".conductor/edited-view-")]
    assert b"Hurry" in listing(project.folder)[kept]
    assert find(command) == [("kept-view", f"{kept} has 1 line that no event has")]
    (project.folder / kept).unlink()

    put(project.folder, VIEW, re.sub(r"renderer: \d+", "renderer: 99", view.read_text()))
    assert [code for code, _ in find(command)] == ["view"]
    mends(command)


def test_a_view_is_not_missed_where_it_is_not_committed(command: Caller, project: Project) -> None:
    project.git("checkout", "--quiet", "-b", "side")
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    assert command("doctor") == HEALTHY


def test_a_document_of_somebody_else_in_the_views_place(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, LEGACY)

    assert find(command, "--fix", "--yes") == [("view", f"{VIEW} was not made by Passdown")]
    assert (project.folder / VIEW).read_text() == LEGACY
    assert command("migrate", "--yes").code == 0
    assert command("doctor") == HEALTHY


def test_events_that_were_altered(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    mends(command)
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=two")
    (event,) = (project.folder / EVENTS).iterdir()
    event.write_text(event.read_text().replace("Create", "Delete"))

    assert ("events", "1 event missing or altered") in find(command)
    project.git("checkout", "--quiet", "--", ".")
    assert command("doctor") == HEALTHY


def test_events_that_cannot_be_read(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    bad = put(project.folder, f"{EVENTS}/broken.md", "what?\n")
    mends_view = find(command, "--fix", "--yes")

    assert mends_view == [("events", f"1 event file skipped, and left out of the view: {EVENTS}/broken.md")]
    bad.unlink()
    mends(command)


@pytest.mark.requirement("C127")
def test_events_that_a_merge_left_in_conflict(command: Caller, project: Project) -> None:
    command("synthesize")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=Set up")
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    (path,) = (project.folder / EVENTS).iterdir()
    ours = path.read_text()
    for branch, text in (("theirs", ours.replace("Create", "Delete")), ("ours", ours)):
        project.git("checkout", "--quiet", "-b", branch, "main")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        project.git("add", "--", EVENTS)
        project.git("commit", "--quiet", f"--message={branch}")
    project.git("merge", "--quiet", "theirs", check=False)

    assert ("conflicts", "a merge has conflicts in 1 file of events") in find(command)
    assert "hint: run `passdown archive resolve`" in command("doctor").out
    project.git("merge", "--abort")
    assert "conflicts" not in [code for code, _ in find(command)]


def test_a_crowded_folder_of_events(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MANY_FILES", 2)
    for hour in (8, 9, 10):
        put_event(project.folder, f"2026-01-10T{hour:02}:00:00Z", now="Create the PR")

    put(project.folder, "passdown.toml", '[events]\nlayout = "flat"\n')

    assert find(command, "--fix", "--yes") == [("layout", f"{EVENTS} has 3 files")]
    with monkeypatch.context() as roomy:
        roomy.setattr(findings, "MANY_FILES", 3)
        assert command("doctor") == HEALTHY
    assert command("doctor").code == 0
    for chosen in ("day", "auto"):
        put(project.folder, "passdown.toml", f'[events]\nlayout = "{chosen}"\n')
        assert command("doctor") == HEALTHY


# --- sessions and clocks ----------------------------------------------------------------------------


@pytest.mark.requirement("C159", "C86")
def test_a_server_that_does_not_answer(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    command("team", "init", "--yes")
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:9/nothing")

    done = command("doctor")

    told = " ".join(done.out.split())
    assert (done.code, "server: cannot reach the coordination server (127.0.0.1:9)" in told) == (1, True)
    assert "check that the server runs, that its address" in told


def test_a_server_that_answers_late(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("init", "--yes").code == 0
    monkeypatch.setattr(health, "_examine_server", lambda *_: (None, 0.05))

    done = command("doctor")

    told = " ".join(done.out.split())
    assert (done.code, "server: the coordination server takes 50 ms to answer a message" in told) == (0, True)


def test_a_session_that_never_ended(command: Caller, project: Project, clock: Clock) -> None:
    command("start", "--nickname", "toast")
    command("done", "Session model")
    assert command("doctor") == HEALTHY
    clock.at += timedelta(hours=27)

    ((code, what),) = find(command)
    assert code == "session"
    assert re.fullmatch(r"toast-[0-9a-f]{8} was last seen 1 d ago and did not end", what)
    assert [line.partition(": toast-")[0] for line in mends(command)] == [
        "fixed: ended sessions and published their facts",
        f"fixed: rebuilt the view: {VIEW}",
    ]
    assert "Session model" in (project.folder / VIEW).read_text()


def test_a_session_that_ended_without_publishing(command: Caller, project: Project, clock: Clock) -> None:
    command("start")
    command("done", "Session model")
    (journal,) = (project.folder / ".git/passdown/journal").iterdir()
    session = open_checkout(project.folder, Settings())
    account = read_account(session, journal.stem)
    append_fact(session, account, NewFact(FactKind.END, "logout"), Provenance.OBSERVED)
    clock.at += timedelta(minutes=5)

    ((code, what),) = find(command)
    assert (code, what) == (
        "session",
        f"{account.agent} ended 5 min ago; its record is published at the next start",
    )
    mends(command)


def test_a_journal_with_a_torn_line(command: Caller, project: Project) -> None:
    command("start")
    (journal,) = (project.folder / ".git/passdown/journal").iterdir()
    with journal.open("a", encoding="utf-8") as file:
        file.write('{"v":1,"seq":99,"fa')

    assert find(command) == [("journal", f"1 line of .git/passdown/journal/{journal.name} cannot be read")]
    assert "is incomplete" in command("doctor").out
    assert command("end").code == 0
    assert "journal" not in [code for code, _ in find(command, "--fix", "--yes")]
    assert command("doctor") == HEALTHY


def test_a_journal_that_tells_of_nobody(command: Caller, project: Project) -> None:
    odd = put(project.folder, ".conductor/journal/s-odd.jsonl", "\n")
    assert command("doctor") == HEALTHY
    odd.write_bytes(b"\xff\xfe\n")

    assert find(command) == [("journal", "1 line of .conductor/journal/s-odd.jsonl cannot be read")]
    assert "look at the file, then move it away" in " ".join(command("doctor").out.split())
    odd.unlink()
    assert command("doctor") == HEALTHY


def test_a_torn_journal_of_an_ended_session_is_not_a_problem(command: Caller, project: Project) -> None:
    torn = put(project.folder, ".git/passdown/journal/s-odd.jsonl", '{"v":1,"seq":99,"fa')
    assert find(command) == [("journal", "1 line of .git/passdown/journal/s-odd.jsonl cannot be read")]

    ended = torn.parent / "ended" / "2026-01" / torn.name
    ended.parent.mkdir(parents=True)
    torn.rename(ended)

    assert command("doctor") == HEALTHY


def test_a_file_in_the_place_of_a_folder_of_journals_is_not_read(command: Caller, project: Project) -> None:
    put(project.folder, ".conductor/journal", "")

    assert command("doctor") == HEALTHY


def test_an_event_from_the_far_future(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-14T12:00:00Z", now="Create the PR")
    assert find(command, "--fix", "--yes") == [("clock", f"event {event.id} is dated 2026-01-14T12:00:00Z")]

    assert command("event", "retract", str(event.id)).code == 0
    mends(command)


def test_a_clock_that_is_behind(command: Caller, project: Project, clock: Clock) -> None:
    put_event(project.folder, "2026-01-11T14:00:00Z", now="Create the PR")

    assert find(command, "--fix", "--yes") == [
        ("clock", "this machine's clock is 2 h behind the newest event")
    ]
    assert "it says 2026-01-11T12:00:00Z: set it" in command("doctor").out
    clock.at += timedelta(hours=1, minutes=55)
    assert command("doctor") == HEALTHY


# --- the rest ---------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be_used(command: Caller, project: Project) -> None:
    assert command("doctor") == HEALTHY
    folder = project.folder / ".git/passdown/cache"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.touch()

    done = command("doctor")

    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "cache: the cache in .git/passdown/cache cannot be used (warning)",
    )
    folder.unlink()
    assert command("doctor") == HEALTHY


def test_a_cache_that_fails_is_done_without(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.folder / ".gitattributes").unlink()

    def fail(*_: object) -> None:
        raise CacheError("the cache of the event log cannot be used: disk full")

    with monkeypatch.context() as broken:
        broken.setattr(SqliteIndex, "places", fail)
        assert [code for code, _ in find(command)] == ["line-ends", "view-merge", "cache"]
    mends(command)


def test_a_cache_on_another_machine(command: Caller, project: Project, tmp_path: Path) -> None:
    assert command.folder == project.folder
    mounts = tmp_path / "mounts"
    mounts.write_text("36 35 0:32 / / rw - nfs4 server:/x rw\n")
    workspace = open_checkout(project.folder, Settings())

    judged = [examine_cache(workspace, mounts=name) for name in (str(mounts), "")]

    assert judged == [CacheHealth.REMOTE, CacheHealth.GOOD]


def test_documents_with_errors(command: Caller, project: Project) -> None:
    path = "conductor/sessions/archive/2026-01-10-12-00-manual.md"
    put(project.folder, path, "---\nsession_id: s-1\ntrigger: manual\nended: never\n---\n")

    ((code, what),) = find(command)
    assert code == "documents"
    assert re.fullmatch(rf"\d+ errors? in {path}", what)
    assert command("check").code == 1
    (project.folder / path).unlink()
    assert command("doctor") == HEALTHY


def test_a_pause_is_a_warning(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    command("pause")
    monkeypatch.setenv("PASSDOWN_OFF", "1")

    done = command("doctor")

    assert done == Done(
        0,
        "paused: Passdown is paused by PASSDOWN_OFF (warning)\n"
        "  hint: unset PASSDOWN_OFF in the environment\n"
        "paused: Passdown is paused by .git/passdown/paused since 2026-01-11T12:00:00Z\n  (warning)\n"
        "  hint: run `passdown unpause` to end the pause\n",
        "passdown: 2 warnings\n",
    )
    command("unpause")
    monkeypatch.delenv("PASSDOWN_OFF")
    assert command("doctor") == HEALTHY


@pytest.mark.requirement("C134")
def test_transcripts_that_a_host_deletes_before_they_were_imported(
    command: Caller, project: Project, clock: Clock, home: Path
) -> None:
    folder = home / ".claude/projects/-project"
    folder.mkdir(parents=True)
    made = ClaudeTranscript(path=folder / "h-1.jsonl", root=project.folder)
    made.ask("Where should sessions live?")
    written = (clock.at - timedelta(days=10)).timestamp()
    os.utime(made.path, (written, written))

    said = "Claude Code will delete 1 transcript of this project, the first in 20 days"
    assert find(command) == [("transcripts", said)]
    assert "run `passdown import --host claude`" in command("doctor").out
    assert command("import", "--yes").code == 0
    assert command("doctor") == HEALTHY


# --- as a whole -------------------------------------------------------------------------------------


def test_without_a_terminal_nothing_is_mended(command: Caller, project: Project) -> None:
    for name in (".gitignore", ".gitattributes"):
        (project.folder / name).unlink()
    before = listing(project.folder)

    plain, fix = command("doctor"), command("doctor", "--fix")

    assert plain.err == "passdown: 3 problems\n  hint: 3 of them can be fixed with --fix; it asks first\n"
    assert (fix.code, fix.out) == (1, plain.out)
    assert fix.err == (
        "passdown: nothing was fixed\n  hint: no terminal to ask on; pass --yes to fix without asking\n"
        "passdown: 3 problems\n"
    )
    assert command("doctor", "--fix", "--json").code == 1
    assert listing(project.folder) == before


def test_what_cannot_be_mended_is_said_and_the_rest_is_mended(command: Caller, project: Project) -> None:
    (project.folder / ".gitattributes").unlink()
    (project.folder / ".gitattributes").symlink_to("nowhere")
    put(project.folder, f".conductor/{GONE}", "")

    done = command("doctor", "--fix", "--yes")

    assert done.code == 1
    assert "could not fix: could not read .gitattributes: " in done.err
    assert "fixed: removed 1 unfinished write\n" in done.out
    answer = json.loads(command("doctor", "--fix", "--yes", "--json").out)
    jsonschema.validate(answer, DOCTOR)
    assert (answer["is_healthy"], answer["mended"]) == (False, [])
    assert len(answer["refused"]) == 1


def test_every_line_fits_80_columns(command: Caller, project: Project) -> None:
    for name in (".gitignore", ".gitattributes"):
        (project.folder / name).unlink()
    put_event(project.folder, "2026-01-14T12:00:00Z", now="Create the PR")
    put(project.folder, f".conductor/{GONE}", "")

    lines = command("doctor").out.splitlines()

    assert max(map(len, lines)) <= 80
    firsts = [line for line in lines if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in firsts] == [
        "not-ignored",
        "line-ends",
        "view-merge",
        "leftovers",
        "view",
        "clock",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--yes"], "--yes does nothing without --fix"),
        (["--cost", "--fix"], "--cost and --fix cannot be combined"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(command: Caller, arguments: list[str], message: str) -> None:
    done = command("doctor", *arguments)

    assert (done.code, done.err.splitlines()[0]) == (2, f"passdown: {message}")


# --- costs ------------------------------------------------------------------------------------------


def test_what_was_not_measured_is_said_plainly(command: Caller) -> None:
    assert command("doctor", "--cost") == Done(
        0, "", "passdown: no measurements yet; hooks record them, and none has run here\n"
    )


def test_costs_are_summed_up_from_all_places(command: Caller, project: Project) -> None:
    line = '{"at":"2026-01-11T12:00:00Z","what":"%s","ms":%s,"chars":%s}\n'
    ours = "".join(line % ("start", number, number * 10) for number in range(1, 101))
    put(project.folder, ".git/passdown/metrics.jsonl", ours + "nonsense\n")
    put(project.folder, ".conductor/metrics.jsonl", line % ("prompt", 1.25, 0))

    assert command("doctor", "--cost") == Done(
        0,
        "what                            runs     p50 ms     p95 ms  p50 chars  p95 chars\n"
        "prompt                             1        1.2        1.2          0          0\n"
        "start                            100       50.0       95.0        500        950\n",
        "passdown: 1 line skipped: not a measurement\n",
    )
    answer = json.loads(command("doctor", "--cost", "--json").out)
    jsonschema.validate(answer, COST)
    assert (answer["skipped"], [one["what"] for one in answer["costs"]]) == (1, ["prompt", "start"])


# --- every check --------------------------------------------------------------------------------------


def test_all_says_in_a_line_what_came_of_each_check(command: Caller, project: Project) -> None:
    command("init", "--yes")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=Set up")
    command("start", "--nickname", "amber")
    command("goal", "Fix the login")
    command("end")
    command("synthesize")

    done = command("doctor", "--all")

    first, *rest = done.out.splitlines()
    assert re.fullmatch(r"passdown certify         [1-9][0-9]* facts?, no problems", first)
    assert [" ".join(line.split()) for line in rest] == [
        "passdown check 5 documents, no problems",
        "passdown doctor no problems",
        "passdown view verify 1 event, no problems",
        "passdown archive verify 0 archived events, no problems",
    ]
    assert (done.code, done.err) == (0, "passdown: no problems found\n")


def test_all_ends_as_the_worst_check_does(command: Caller, project: Project) -> None:
    command("init", "--yes")
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    command("synthesize")
    put_event(project.folder, "2026-01-10T14:03:52Z", now="Merge it")

    old = command("doctor", "--all", "--json")
    steps = {one["command"]: one for one in json.loads(old.out)["steps"]}
    assert steps["passdown view verify"]["exit_code"] == command("view", "verify").code == 4
    assert json.loads(old.out)["exit_code"] == old.code == max(one["exit_code"] for one in steps.values())
    assert "the view is outdated\n" in command("doctor", "--all").out

    put(project.folder, f"{EVENTS}/2026-01-09T00-00-00.000Z_x.md", "---\nts: no time\n---\n")
    bad = command("doctor", "--all")
    assert event.id
    assert (bad.code, command("check").code) == (1, 1)
    assert re.search(r"^passdown check +[0-9]+ documents?, 1 problem", bad.out, re.MULTILINE)
    assert re.search(r"^passdown: [1-5] of 5 checks did not pass\n  hint: ", bad.err, re.MULTILINE)


def test_a_check_that_cannot_be_made_stops_no_other(command: Caller, project: Project) -> None:
    (project.folder / "passdown.toml").write_text("[", encoding="utf-8")

    done = command("doctor", "--all")

    lines = done.out.splitlines()
    assert done.code == command("certify").code == 2
    assert [" not done: " in line for line in lines] == [True, True, False, True, True]
    assert lines[2].startswith("passdown doctor          1 problem")


@pytest.mark.parametrize("option", ["--fix", "--cost"])
def test_all_is_not_combined(command: Caller, option: str) -> None:
    assert command("doctor", "--all", option) == Done(
        2, "", f"passdown: --all and {option} cannot be combined\n  hint: remove one of them\n"
    )
