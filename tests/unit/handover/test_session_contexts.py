"""The anchored context of a session: saved by commands and hooks, checked, and recalled."""

import json
from pathlib import Path
from typing import Any

import pytest

from passdown.core.facts import Provenance
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.engines.files.documents import FileDocuments
from passdown.services.sessions.journals import append_fact
from passdown.settings import Settings
from tests.support.projects import open_checkout
from tests.unit.hooks.test_hooks import context
from tests.unit.sessions.test_ordinary_sessions import Day

FILE = ".conductor/session-context.md"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a repository with one session."""
    made = Day(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    assert made.command("start").code == 0
    return made


def read(day: Day) -> str:
    return (day.project.folder / FILE).read_text(encoding="utf-8")


def know(day: Day) -> None:
    """Let the session say all that a context holds."""
    for words in (
        ("goal", "Ship it"),
        ("rule-out", "a daemon", "--because", "it dies"),
        ("decide", "store", "SQLite", "--because", "it is there"),
        ("now", "the parser"),
        ("done", "the lexer"),
        ("ask", "Which license?"),
        ("next", *(f"step {number}" for number in range(7))),
    ):
        assert day.command(*words).code == 0


@pytest.mark.requirement("R231", "R233", "R234", "G10", "C106")
def test_a_context_without_what_it_must_preserve_is_not_saved(day: Day) -> None:
    refused = day.command("context", "save")
    assert refused.code == 1
    assert "Intent [PRESERVE] section is empty" in refused.err
    day.command("goal", "Ship it")
    refused = day.command("context", "save")
    assert refused.code == 1
    assert "Constraints & Ruled-Out [PRESERVE] section is empty" in refused.err
    assert not (day.project.folder / FILE).exists()

    assert day.command("context", "save", "--nothing-ruled-out").code == 0

    assert "- CONSTRAINT: nothing is ruled out so far\n" in read(day)
    assert day.command("context", "check").code == 0
    assert day.command("context", "save").code == 0  # it was said before


@pytest.mark.requirement("R231", "R233", "G10", "C106")
def test_a_saved_context_has_every_section_and_is_shortened_by_the_rules(day: Day) -> None:
    know(day)
    assert day.command("context", "save").out == f"saved: {FILE}\n"

    text = read(day)

    assert text.startswith("<!-- session-context v1 -->\n")
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Intent [PRESERVE]",
        "## Constraints & Ruled-Out [PRESERVE]",
        "## Decisions Made",
        "## Files Modified",
        "## Open Questions / TODOs",
        "## Current State",
        "## Next Steps",
    ]
    assert "- RULED_OUT: a daemon -- it dies\n" in text
    assert f"| SQLite | it is there | {day.at:%Y-%m-%d} |" in text
    assert text.endswith("1. step 0\n1. step 1\n1. step 2\n1. step 3\n1. step 4\n")
    recalled = day.command("context", "recall").out
    assert "> Goal: Ship it\n" in recalled
    assert "> the parser\n" in recalled


@pytest.mark.requirement("G10", "C106")
def test_what_people_wrote_into_a_context_stays(day: Day) -> None:
    know(day)
    day.command("context", "save")
    mine = read(day).replace(
        "## Decisions Made", "- CONSTRAINT: no new service\n\n## Risks\n\nOne.\n\n## Decisions Made"
    )
    (day.project.folder / FILE).write_text(mine, encoding="utf-8")
    day.command("now", "the printer")

    assert day.command("context", "save").code == 0

    assert read(day) == mine.replace("the parser", "the printer")


@pytest.mark.requirement("R231", "C106")
def test_a_context_that_says_the_same_is_not_written_again(day: Day) -> None:
    know(day)
    day.command("context", "save")
    before = (day.project.folder / FILE).stat()

    assert day.command("context", "save").out == f"saved: {FILE}\n"

    after = (day.project.folder / FILE).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    day.command("now", "the printer")
    assert day.command("context", "save").code == 0
    assert (day.project.folder / FILE).stat().st_ino != before.st_ino


@pytest.mark.requirement("G10", "C106")
def test_a_damaged_context_is_kept_beside_the_new_one_and_a_newer_one_refused(day: Day) -> None:
    know(day)
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_bytes(b"\xff\xfe broken")

    saved = json.loads(day.command("context", "save", "--json").out)

    assert (day.project.folder / saved["backup"]).read_bytes() == b"\xff\xfe broken"
    assert day.command("context", "check").code == 0
    newer = read(day).replace("v1 -->", "v2 -->")
    (day.project.folder / FILE).write_text(newer, encoding="utf-8")
    refused = day.command("context", "save")
    assert refused.code == 1
    assert "upgrade passdown" in refused.err
    assert read(day) == newer


@pytest.mark.requirement("G11", "C106")
@pytest.mark.parametrize(
    "damaged",
    [
        b"\xff\xfe broken",
        b"half a line {{{\n",
        b"<<<<<<< ours\n# Session Context\n\n## Intent\n\n- Goal: x\n=======\n>>>>>>> theirs\n",
    ],
)
def test_each_damaged_context_is_kept_under_a_name_of_its_own(day: Day, damaged: bytes) -> None:
    know(day)
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    for text in (damaged, b"another " + damaged, damaged):
        (day.project.folder / FILE).write_bytes(text)
        saved = day.command("context", "save")
        assert "the old file could not be read; it is now .conductor/" in saved.err
        assert read(day).startswith("<!-- session-context v1 -->\n\n# Session Context\n\n## Intent")
        assert day.command("context", "check").code == 0

    kept = sorted((day.project.folder / ".conductor").glob("*.bak"), key=lambda path: len(path.name))

    assert [path.read_bytes() for path in kept] == [damaged, b"another " + damaged]
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}


@pytest.mark.requirement("G11", "C106")
@pytest.mark.parametrize("words", [("end",), ("handoff", "create")])
def test_who_saves_a_context_in_passing_says_where_a_damaged_one_is(day: Day, words: tuple[str, ...]) -> None:
    know(day)
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_bytes(b"half a line {{{\n")

    done = day.command(*words)

    (kept,) = (day.project.folder / ".conductor").glob("*.bak")
    assert done.code == 0
    assert f"passdown: {FILE} could not be read; moved it to .conductor/{kept.name}\n" in done.err
    assert kept.read_bytes() == b"half a line {{{\n"


@pytest.mark.requirement("G10", "C106")
def test_a_saved_context_begins_with_its_version_even_where_somebody_left_it_out(day: Day) -> None:
    know(day)
    day.command("context", "save")
    text = read(day)
    (day.project.folder / FILE).write_text(text.partition("-->\n\n")[2], encoding="utf-8")

    assert day.command("context", "save").code == 0

    assert read(day) == text


@pytest.mark.requirement("G10", "C106")
def test_open_items_stay_until_they_are_ticked_answered_or_taken_back(day: Day) -> None:
    know(day)
    day.command("ask", "Which name?")
    day.command("ask", "Which color?")
    day.command("context", "save")
    more = (
        "- Which license?\n- [ ] Tell the DBA\n- [x] Buy a domain\n- Price?\n- UNCONFIRMED: the DBA agreed\n"
        "- UNCONFIRMED: the tests pass: long ago\n- UNCONFIRMED: UNCONFIRMED: the tests pass: `make`\n"
    )
    changed = read(day).replace("- Which license?\n", more)
    (day.project.folder / FILE).write_text(changed, encoding="utf-8")
    assert day.command("answer", "Which name?", "Passdown").code == 0
    assert day.command("retract", "Which color?").code == 0

    assert day.command("context", "save").code == 0

    open_items = read(day).partition("## Open Questions / TODOs\n\n")[2].partition("\n\n##")[0]
    assert open_items.splitlines() == [
        "- [ ] Tell the DBA",
        "- Price?",
        "- UNCONFIRMED: the DBA agreed",
        "- Which license?",
    ]


@pytest.mark.requirement("C106", through="command")
def test_saving_again_and_again_leaves_no_other_file(day: Day) -> None:
    know(day)
    for number in range(3):
        day.command("now", f"step {number}")
        assert day.command("context", "save").code == 0

    names = [path.name for path in (day.project.folder / ".conductor").iterdir()]
    assert [name for name in names if "session-context" in name] == ["session-context.md"]


@pytest.mark.requirement("C106", through="command")
def test_what_somebody_wrote_while_it_was_saved_is_taken_in_by_the_next_save(
    day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(day)
    day.command("context", "save")
    real = FileDocuments.replace

    def write_first(self: FileDocuments, path: str, data: bytes, **more: Any) -> None:
        if path == FILE:
            edited = read(day).replace("- Which license?\n", "- Which license?\n- Who pays?\n")
            (day.project.folder / FILE).write_text(edited, encoding="utf-8")
        real(self, path, data, **more)

    day.command("now", "the printer")
    with monkeypatch.context() as patched:
        patched.setattr(FileDocuments, "replace", write_first)
        assert day.command("context", "save").code == 0
    assert "Who pays?" not in read(day)

    assert day.command("context", "save").code == 0

    assert "- Who pays?\n" in read(day)
    assert "the printer" in read(day)


@pytest.mark.requirement("G2", through="command")
def test_an_archive_tells_new_files_from_changed_ones(day: Day) -> None:
    day.project.write("old.py", "x\n")
    day.project.git("add", "old.py")
    day.project.git("commit", "--quiet", "--message=old")
    session = json.loads(day.command("start", "--new", "--json").out)["session"]
    account = next(one for one in day.host.accounts() if one.session == session)
    workspace = open_checkout(day.project.folder, Settings())
    for name in ("old.py", "new.py"):
        append_fact(workspace, account, NewFact(FactKind.FILE, name), Provenance.OBSERVED)

    done = day.command("handoff", "create", "--session", session)

    (record,) = (day.project.folder / "conductor/sessions/archive").iterdir()
    artifacts = record.read_text(encoding="utf-8").partition("## Artifacts\n")[2].partition("\n## ")[0]
    assert done.code == 0
    modified, _, created = artifacts.partition("### Created")
    assert [line.split()[1] for line in modified.splitlines() if ".py" in line] == ["old.py"]
    assert [line.split()[1] for line in created.splitlines() if ".py" in line] == ["new.py"]


@pytest.mark.requirement("G10", "R77", "C106")
def test_what_no_test_confirms_is_marked_once(day: Day) -> None:
    know(day)
    day.command("ask", "--unconfirmed", "UNCONFIRMED: the limits fit")
    workspace = open_checkout(day.project.folder, Settings())
    failed = NewFact(FactKind.TEST, "pytest -q", "1")
    append_fact(workspace, day.host.accounts()[0], failed, Provenance.OBSERVED)

    assert day.command("context", "save").code == 0

    marked = [line for line in read(day).splitlines() if "UNCONFIRMED" in line]
    assert marked == [
        "- UNCONFIRMED: the limits fit",
        "- UNCONFIRMED: the tests pass: `pytest -q`: exit 1",
    ]


@pytest.mark.requirement("G10", "C106")
def test_constraints_give_their_reason_and_are_written_once(day: Day) -> None:
    know(day)
    day.command("rule-out", "threads (of the kernel)", "--because", "they race (often)")
    day.command("rule-out", "CONSTRAINT: an answer takes a second", "--because", "people wait")
    day.command("rule-out", "XML")
    day.command("context", "save")
    older = read(day).replace("a daemon -- it dies", "a daemon (it dies)")
    (day.project.folder / FILE).write_text(older, encoding="utf-8")

    assert day.command("context", "save").code == 0

    lines = [line for line in read(day).splitlines() if line.startswith(("- RULED_OUT", "- CONSTRAINT"))]
    assert lines == [
        "- RULED_OUT: a daemon -- it dies",
        "- RULED_OUT: threads (of the kernel) -- they race (often)",
        "- CONSTRAINT: an answer takes a second -- people wait",
        "- RULED_OUT: XML",
    ]


@pytest.mark.requirement("G10", "C106")
def test_the_state_has_three_sentences_and_what_is_blocked(day: Day) -> None:
    know(day)
    day.command("task", "add", "Parse the plan")
    day.command("claim")
    day.command("close", "--reason", "blocked", "--note", "No schema. Nobody answers. We wait.")
    day.command("now", "The parser, e.g. the lexer. It reads! It writes. It prints.")
    day.command("done", "The tree. It has leaves.")

    assert day.command("context", "save").code == 0

    task = day.command("task", "list", "--all").out.split()[0]
    state = read(day).partition("## Current State\n\n")[2].partition("\n\n##")[0]
    assert state.splitlines() == [
        "The parser, e.g. the lexer. It reads!",
        "Done last: The tree.",
        f"Blocked: Parse the plan ({task}): No schema. Nobody answers. We wait.",
    ]


@pytest.mark.requirement("R233", "R234")
def test_check_names_what_is_missing(day: Day) -> None:
    assert day.command("context", "check").code == 1
    assert day.command("context", "recall").code == 1
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_text(
        "# Session Context\n\n## Intent\n\n- Goal: (none)\n", encoding="utf-8"
    )

    checked = day.command("context", "check")

    assert checked.code == 1
    assert "version is not the first line" in checked.out
    assert f"{FILE}:3: error: Intent is empty" in checked.out
    assert json.loads(day.command("context", "check", "--json").out)["is_kept"] is False
    assert day.command("check", FILE, "--fix", "--yes").code == 1  # what is empty, only somebody can fill
    assert read(day).startswith("<!-- session-context v1 -->\n")
    assert json.loads(day.command("context", "recall", "--json").out)["context"]["intent"] == ["Goal: (none)"]


@pytest.mark.requirement("R232", "C106")
def test_the_end_of_a_session_and_a_handoff_save_its_context(day: Day) -> None:
    know(day)
    assert day.command("handoff", "create").code == 0
    (day.project.folder / FILE).unlink()

    assert day.command("end").code == 0

    assert "- RULED_OUT: a daemon" in read(day)


@pytest.mark.requirement("C119")
def test_a_tracked_context_is_changed_by_its_verb_alone(day: Day) -> None:
    know(day)
    day.command("context", "save", "--nothing-ruled-out")
    (day.project.folder / FILE).write_text("# Session Context\n", encoding="utf-8")
    day.project.git("add", "--force", FILE)

    assert day.command("end").code == 0

    assert read(day) == "# Session Context\n"


@pytest.mark.requirement("R232", "C106")
def test_hooks_save_a_context_before_a_compaction_if_it_is_complete(day: Day) -> None:
    day.command("end")
    day.host.call("SessionStart", source="startup")
    day.host.call("PreCompact", trigger="manual")
    assert not (day.project.folder / FILE).exists()
    know(day)

    day.host.call("PreCompact", trigger="manual")

    assert (
        "- RULED_OUT: a daemon"
        in next((day.project.folder / ".conductor").glob("session-context*")).read_text()
    )


@pytest.mark.requirement("R235", "C106")
def test_a_start_recalls_a_context_only_where_nobody_knows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    day = Day(tmp_path / "project", monkeypatch, capsys)
    day.set_up()
    text = "<!-- session-context v1 -->\n# Session Context\n\n## Intent\n\n- Goal: Port it to Rust\n"
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_text(
        f"{text}\n## Constraints & Ruled-Out\n\n- RULED_OUT: a rewrite\n", encoding="utf-8"
    )

    told = context(day.host.call("SessionStart", source="startup"))

    assert "Port it to Rust" in told
    assert "a rewrite" in told
    day.command("goal", "Port it to Go")
    day.host.call("SessionEnd", reason="prompt_input_exit")
    later = context(day.host.call("SessionStart", source="startup", session_id="two"))
    assert "Port it to Go" in later
    assert "Rust" not in later


@pytest.mark.requirement("R235", "C106")
@pytest.mark.parametrize("by_hook", [True, False])
def test_a_start_recalls_a_context_after_a_session_that_said_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, by_hook: bool
) -> None:
    day = Day(tmp_path / "project", monkeypatch, capsys)
    day.set_up()
    if by_hook:
        day.host.call("SessionStart", source="startup")
        day.host.call("UserPromptSubmit", prompt="What is this?")
        day.host.call("SessionEnd", reason="prompt_input_exit")
    else:
        day.command("start")
        day.command("end")
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_text(
        "<!-- session-context v1 -->\n# Session Context\n\n## Intent\n\n- Goal: Port it to Rust\n\n"
        "## Constraints & Ruled-Out\n\n- RULED_OUT: a rewrite -- slow\n"
        "- CONSTRAINT: an answer takes a second\n",
        encoding="utf-8",
    )

    if by_hook:
        told = context(day.host.call("SessionStart", source="startup", session_id="two"))
    else:
        told = day.command("start").out + day.command("brief").out

    assert "> Port it to Rust\n" in told
    assert "> a rewrite (slow)\n" in told
    assert "> CONSTRAINT: an answer takes a second\n" in told


@pytest.mark.requirement("G10", "C106")
def test_of_many_changed_files_the_last_and_those_that_are_not_committed_are_named(day: Day) -> None:
    know(day)
    names = [f"file{number:02}.py" for number in range(24)]
    for name in names:
        (day.project.folder / name).write_text(f"{name}\n", encoding="utf-8")
    day.project.git("add", *names[:23])
    day.project.git("commit", "--quiet", "--message=files")
    (day.project.folder / names[1]).write_text("changed\n", encoding="utf-8")
    (day.project.folder / names[2]).unlink()
    account = day.host.accounts()[0]
    workspace = open_checkout(day.project.folder, Settings())
    for name in names:
        append_fact(workspace, account, NewFact(FactKind.FILE, name), Provenance.OBSERVED)

    assert day.command("context", "save").code == 0

    kept = [line for line in read(day).splitlines() if line.startswith(("- file", "- ("))]
    assert kept == ["- file01.py", *(f"- {name}" for name in names[4:]), "- (3 more)"]


@pytest.mark.requirement("R235", "C106")
@pytest.mark.parametrize("text", ["<!-- session-context v9 -->\n# Session Context\n", "<<<<<<< ours\n"])
def test_a_context_that_cannot_be_read_says_nothing_at_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    day = Day(tmp_path / "project", monkeypatch, capsys)
    day.set_up()
    (day.project.folder / ".conductor").mkdir(exist_ok=True)
    (day.project.folder / FILE).write_text(text, encoding="utf-8")

    assert "ours" not in context(day.host.call("SessionStart", source="startup"))
