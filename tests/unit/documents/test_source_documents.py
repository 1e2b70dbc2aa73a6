"""The examples of the source documents, each as the only memory of a project: nothing in them is lost."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from passdown.services.handover.streams import import_stream, read_stream
from passdown.services.sessions.journals import read_account
from passdown.settings import parse_settings
from tests.formats.test_golden import GOLDEN
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.machines import git
from tests.support.projects import EVENTS, open_checkout, put, stop_clock

pytestmark = pytest.mark.slow


STREAM = "thoughts/shared/handoffs/auth-refactor/current.md"
STREAM_FACTS = (
    "Replace JWT auth with session-based auth. Done when all tests pass and no JWT imports remain.",
    "Logout endpoint and session invalidation",
    "Session model created",
    "Redis integration complete",
    "Login endpoint working",
    "Middleware swap",
    "Remove JWT imports",
    "Update tests",
    "UUID v4 (simpler than signed tokens for our use case)",
    "Redis with 24h TTL (matches current JWT expiry)",
    "Dual-auth period, feature flag controlled",
    "UNCONFIRMED: Does rate limiter need session awareness?",
    "rate_limiter_awareness: UNKNOWN",
)


class Example(NamedTuple):
    """An example file, where it lies in a project, and the facts in it."""

    golden: str
    path: str
    facts: tuple[str, ...]


EXAMPLES = (
    Example(
        "ledger-template.md",
        "conductor/sessions/active/LEDGER.md",
        (
            "What we're trying to accomplish in this session.",
            "Completed item 1",
            "Completed item 2",
            "Current work item",
            "Upcoming item 1",
            "Upcoming item 2",
            "Chose X over Y (Because Z)",
            "Unresolved question 1?",
            "Unresolved question 2?",
        ),
    ),
    Example("stream-example.md", STREAM, STREAM_FACTS),
    Example(
        "stream-template.md",
        STREAM,
        (
            "<one-liner success criteria>",
            "<current focus - ONE thing only>",
            "<completed item 1>",
            "<completed item 2>",
            "<priority 1>",
            "<priority 2>",
            "<rationale>",
            "UNCONFIRMED: <things needing verification after clear>",
        ),
    ),
    Example("stream-minimal.md", STREAM, ("<one-liner>", "<current focus>", "<priority 1>")),
    Example(
        "event-seed.md",
        f"{EVENTS}/2026-01-10T13-03-52Z_toast.md",
        (
            "Create PR from carmandale:fix/hooks-path-spaces to parcadei:main",
            "Forked parcadei/Continuous-Claude-v3",
            "Wrapped 25 hooks in bash -c for spaced path support",
            "Compiled TypeScript hooks",
            "Use bash -c '...' for shell quoting",
            "Single quotes outside, double inside",
        ),
    ),
    Example("loop-answered.md", "changes/habits/loops/proposal.md", ("Approved.",)),
    Example(
        "session-context-seed.md",
        ".conductor/session-context.md",
        (
            "people log in without a password",
            "Ruled out: a second factor by SMS (it can be intercepted)",
            "CONSTRAINT: no new service",
            "Keep keys in PostgreSQL (It is there)",
            "[ ] Do we support roaming keys?",
            "The form works. The server does not check the signature yet.",
            "Check the signature",
            "Remove the old form",
        ),
    ),
)


def told(command: Caller) -> str:
    """Give what a brief says: its text, and all facts that have no room in it."""
    data = json.loads(command("brief", "--json").out)
    return "\n".join([data["text"], *(fact["text"] for fact in data["facts"])])


def counted(command: Caller) -> tuple[int, set[str]]:
    """Give how many facts are unaccounted for, and the texts of all that are counted."""
    data = json.loads(command("certify", "--json").out)
    return data["unaccounted"], {fact["text"] for fact in data["accounted"]}


def work(command: Caller, number: int) -> None:
    """Do in a running session what sessions do."""
    for words in (
        ("done", f"Wrote part {number}"),
        ("decide", f"part_{number}", f"Part {number} is a module"),
        ("ask", f"Is part {number} fast enough?"),
        ("answer", f"Is part {number} fast enough?", "Yes"),
        ("handoff", "create"),
    ):
        assert command(*words).code == 0, words
    assert command("end").code == 0


@pytest.mark.requirement("C147", "C160", "R139", "R43", "R80", "R235")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.golden)
def test_every_fact_of_an_example_is_told_found_and_counted(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch, example: Example
) -> None:
    put(project.folder, example.path, (GOLDEN / example.golden).read_text(encoding="utf-8"))

    for number in range(10):
        stop_clock(monkeypatch, f"2026-01-{11 + number}T12:00:00Z")
        assert command("start").code == 0
        if number < 2:
            brief = told(command)
            assert [fact for fact in example.facts if fact not in brief] == [], number
        work(command, number)

    unaccounted, texts = counted(command)
    assert unaccounted == 0
    assert [fact for fact in example.facts if not any(fact in text for text in texts)] == []
    for fact in example.facts:
        found = json.loads(command("search", "--json", "--", *fact.split()).out)
        assert found["total"] > 0, fact


@pytest.mark.requirement("C147")
def test_sessions_of_a_track_lose_nothing_of_its_document_and_are_briefed_from_it(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))

    for number in range(3):
        stop_clock(monkeypatch, f"2026-01-{11 + number}T12:00:00Z")
        assert command("start", "--track", "auth-refactor").code == 0
        brief = told(command)
        assert [fact for fact in STREAM_FACTS if fact not in brief] == [], number
        assert f"Goal:\n(implementer, {360 + number} d) > {STREAM_FACTS[0]}\n" in brief
        work(command, number)

    assert command("start", "--track", "auth-refactor").code == 0
    assert command("track", "finish").code == 0
    unaccounted, texts = counted(command)
    assert (unaccounted, [fact for fact in STREAM_FACTS if fact not in texts]) == (0, [])
    assert "status: complete\n" in (project.folder / STREAM).read_text(encoding="utf-8")


@pytest.mark.requirement("C147")
def test_a_document_that_a_brief_reads_is_counted_before_anybody_starts(
    command: Caller, project: Project
) -> None:
    put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))
    command("brief")

    unaccounted, texts = counted(command)

    assert (unaccounted, [fact for fact in STREAM_FACTS if fact not in texts]) == (0, [])
    assert not (project.folder / EVENTS).exists()


@pytest.mark.requirement("C147")
def test_an_edit_by_hand_is_stated_by_the_session_that_keeps_the_document(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))
    command("start", "--track", "auth-refactor")
    command("done", "Ours")
    command("handoff", "create")
    command("end")
    text = document.read_text(encoding="utf-8")
    edited = text.replace("- [x] Ours", "- [x] Ours\n- [x] By hand").replace("Middleware swap", "A new step")
    edited = edited.replace("[->] Logout", "[->] Secure logout")
    document.write_text(edited, encoding="utf-8")
    stop_clock(monkeypatch, "2026-01-12T12:00:00Z")

    command("start", "--track", "auth-refactor", "--nickname", "finder")

    said = [fact["text"] for fact in json.loads(command("brief", "--json").out)["account"]]
    assert sorted(said) == [
        "A new step",
        "By hand",
        "Remove JWT imports",
        "Secure logout endpoint and session invalidation",
        "Update tests",
    ]
    assert len(list((project.folder / EVENTS).iterdir())) == 3  # one is the end
    command("now", "Something else")
    command("handoff", "create")
    assert "[->] Something else" in document.read_text(encoding="utf-8")
    command("end")
    texts = counted(command)[1]
    assert {*said, *STREAM_FACTS} <= texts


@pytest.mark.requirement("C147")
def test_an_edit_that_the_session_has_overtaken_is_published_and_does_not_hold(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("start", "--track", "auth-refactor")
    command("goal", "First")
    command("handoff", "create")
    document = project.folder / STREAM
    text = document.read_text(encoding="utf-8")
    document.write_text(text.replace("**Goal:** First", "**Goal:** By hand"), encoding="utf-8")
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")

    command("goal", "Second")
    command("handoff", "create")

    assert "**Goal:** Second\n" in document.read_text(encoding="utf-8")
    assert "Goal:\n> Second\n" in command("brief").out
    assert "By hand" in command("search", "By", "hand").out
    assert "goal: By hand" in "".join(path.read_text() for path in (project.folder / EVENTS).iterdir())


@pytest.mark.requirement("C147")
def test_clones_that_take_in_the_same_document_merge_without_a_conflict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project, tmp_path: Path
) -> None:
    put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))
    Caller(monkeypatch, capsys, project.folder)("init", "--yes")
    git(project.folder, "add", "--all")
    git(project.folder, "commit", "--quiet", "--message=Document")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(project.folder), str(other))
    names: list[set[tuple[str, str]]] = []
    for folder, clock in ((project.folder, "2026-01-11T12:00:00Z"), (other, "2026-01-12T15:00:00Z")):
        stop_clock(monkeypatch, clock)
        command = Caller(monkeypatch, capsys, folder)
        command("start")
        command("done", f"Work in {folder.name}")
        command("end")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message=Work")
        found = (folder / "thoughts").rglob("*_implementer-*.md")  # it is old: the end archives it
        names.append({(path.name, path.read_text(encoding="utf-8")) for path in found})

    pulled = git(other, "pull", "--quiet", "--no-rebase", "--no-edit", check=False)
    assert pulled.returncode == 0, pulled.stdout + pulled.stderr

    assert names[0] == names[1]
    assert len(names[0]) == 1
    assert git(other, "status", "--porcelain").stdout == ""
    command = Caller(monkeypatch, capsys, other)
    command("start", "--new")
    brief = told(command)
    assert [fact for fact in (*STREAM_FACTS, "Work in project", "Work in other") if fact not in brief] == []
    assert counted(command)[0] == 0


@pytest.mark.requirement("C147")
def test_a_document_too_large_for_one_event_is_taken_in_as_several(command: Caller, project: Project) -> None:
    text = (GOLDEN / "stream-example.md").read_text(encoding="utf-8")
    many = [f"Item {number} {'x' * 200}" for number in range(1_000)]
    items = "".join(f"- [x] {one}\n" for one in many)
    put(project.folder, STREAM, text.replace("- [x] Session model created\n", items))

    command("start")

    files = [*(project.folder / EVENTS).iterdir()]
    assert len(files) > 3
    assert max(path.stat().st_size for path in files) <= 65_536
    brief = told(command)
    assert [fact for fact in (*STREAM_FACTS[:2], *STREAM_FACTS[3:], *many) if fact not in brief] == []
    command("start", "--new")
    assert len([*(project.folder / EVENTS).iterdir()]) == len(files)


@pytest.mark.requirement("C147")
def test_a_document_that_cannot_be_kept_is_not_written(command: Caller, project: Project) -> None:
    put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))
    put(project.folder, EVENTS, "a file where the folder of events belongs")
    before = (project.folder / STREAM).read_bytes()

    command("start", "--track", "auth-refactor")
    done = command("handoff", "create")

    assert done.code != 0
    assert (project.folder / STREAM).read_bytes() == before


@pytest.mark.requirement("C147")
def test_a_text_that_no_event_can_hold_stays_in_its_document(command: Caller, project: Project) -> None:
    text = (GOLDEN / "stream-example.md").read_text(encoding="utf-8")
    put(project.folder, STREAM, text.replace("Login endpoint working", "界" * 400_000))

    assert command("start", "--track", "auth-refactor").code == 0
    done = command("handoff", "create")

    assert done.code != 0
    assert "is too long for one event" in done.err
    assert "界" * 400_000 in (project.folder / STREAM).read_text(encoding="utf-8")
    assert not (project.folder / EVENTS).exists()


@pytest.mark.requirement("C147", "R139")
def test_a_view_that_was_not_migrated_is_counted(command: Caller, project: Project) -> None:
    view = "# Work\n\n## Ledger\n**Goal:** An old goal\n\n### This Session\n- [x] Old work\n"
    put(project.folder, "thoughts/shared/handoffs/current.md", view)
    put(project.folder, "conductor/sessions/active/LEDGER.md", LEDGER.format("Old work"))

    unaccounted, texts = counted(command)

    assert unaccounted == 0
    assert {"An old goal", "Old work"} <= texts
    command("done", "Old work")
    command("end")
    assert {"An old goal", "Old work"} <= counted(command)[1]


LEDGER = """---
updated: 2026-01-11T11:30:00Z
session_id: T-abc123
platform: amp
---

# Session Ledger

## State

### Done
- {}
"""


@pytest.mark.requirement("C147")
def test_a_session_that_has_ended_states_nothing_more(command: Caller, project: Project) -> None:
    session = json.loads(command("start", "--json").out)["session"]
    command("goal", "First")
    command("handoff", "create", "--stream", "auth-refactor")
    command("end")
    document = project.folder / STREAM
    text = document.read_text(encoding="utf-8").replace("### Next\n", "### Next\n- [ ] By hand\n")
    document.write_text(text, encoding="utf-8")

    workspace = open_checkout(project.folder, parse_settings([])[0])
    stream = read_stream(workspace, STREAM)
    account = read_account(workspace, session)

    assert import_stream(workspace, account, "auth-refactor", stream) == account
