"""Checking tells what is wrong and where; repairing changes nothing that a document says."""

from collections.abc import Callable

import pytest

from passdown.core.formats.registry import ARCHIVE, EVENT, FORMATS, JOURNAL, LEDGER, STREAM, VIEW, Format
from passdown.core.problems import Problem, Severity
from passdown.errors import StorageError, UsageError
from passdown.records import replace
from passdown.services.workspace import documents as service
from passdown.services.workspace.documents import (
    CheckedFile,
    Repair,
    check_document,
    check_text,
    plan_repair,
    write_repair,
)
from passdown.settings import Paths
from passdown.testing.memory.documents import MemoryDocuments

LEDGER_PATH = "conductor/sessions/active/LEDGER.md"


def ledger(*changes: tuple[str, str]) -> str:
    """Make a ledger that is valid but for these changes."""
    text = LEDGER.example()
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


TWO_NOWS = ("- Verifying the assertion signature", "- Verifying the assertion signature\n- Writing the page")
NO_SECTION = ("## Open Questions\n\n- Do we support roaming keys on day one?\n\n", "")


def checked_ledger(*changes: tuple[str, str]) -> CheckedFile:
    """Check a ledger with these changes."""
    return check_text(LEDGER_PATH, ledger(*changes))


def fixed(text: str, known: Format = LEDGER) -> str:
    """Repair a text; it must be possible."""
    repair = plan_repair(check_text(known.paths[0], text))
    assert repair is not None
    assert repair.before == text
    return repair.after


def test_a_folder_is_listed_without_files_that_cannot_be_documents() -> None:
    below = MemoryDocuments(dict.fromkeys(("a/b.md", "a/c.json", "a/d.jsonl", "a/e.py", "f.md"), b""))

    assert service.list_documents(below, "a") == ["a/b.md", "a/c.json", "a/d.jsonl"]


def test_a_file_that_is_named_is_listed_whatever_its_name() -> None:
    below = MemoryDocuments({"a/e.py": b""})

    assert service.list_documents(below, "a/e.py") == ["a/e.py"]


def test_a_missing_path_is_wrong_usage() -> None:
    with pytest.raises(UsageError) as refused:
        service.list_documents(MemoryDocuments(), "a.md")

    assert (refused.value.message, refused.value.hint) == (
        "a.md: no such file or folder",
        "check the spelling; links are not followed",
    )


def test_a_project_is_listed_once_and_in_order_by_its_settings() -> None:
    paths = Paths(ledgers="log", view="view.txt", events="thoughts/shared/handoffs/events")
    names = (
        "thoughts/shared/handoffs/events/x.md",
        "log/LEDGER.md",
        "log/notes.txt",
        "conductor/sessions/active/LEDGER.md",
        "view.txt",
        ".conductor/session-state_a.json",
        ".conductor/edited-view-0123456789ab.md",
        ".conductor/preferences.json",
    )

    assert service.list_project(MemoryDocuments(dict.fromkeys(names, b"")), paths) == [
        ".conductor/session-state_a.json",
        "log/LEDGER.md",
        "thoughts/shared/handoffs/events/x.md",
        "view.txt",
    ]


def test_an_empty_project_has_no_documents() -> None:
    assert service.list_project(MemoryDocuments(), Paths()) == []


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_a_valid_document_has_nothing_wrong(known: Format) -> None:
    path = "2026-03-02T09-30-00.000Z_claude-1f3a9c02.md" if known is EVENT else "any.md"
    below = MemoryDocuments({path: known.example().encode()})

    checked = check_document(below, path)

    assert checked.format is known
    assert checked.document == known.parse(known.example())
    assert checked.problems == ()
    assert checked.is_ours
    assert not checked.has_errors


def test_a_file_of_no_format_is_not_ours() -> None:
    checked = check_document(MemoryDocuments({"readme.md": b"hello\n"}), "readme.md")

    assert checked == CheckedFile(path="readme.md", text="hello\n")
    assert not checked.is_ours
    assert service.report_unknown_file(checked).has_errors


def test_a_longer_path_tells_the_format_of_a_broken_document() -> None:
    below = MemoryDocuments({"LEDGER.txt": b"hello\n"})

    checked = check_document(below, "LEDGER.txt", known_as="/x/handoffs/login/current.md")

    assert checked.format is STREAM
    assert checked.path == "LEDGER.txt"


def test_text_that_is_not_utf8_is_a_problem_with_its_line() -> None:
    checked = check_document(MemoryDocuments({"a.md": b"one\ntwo \xff\n"}), "a.md")

    assert [(one.line, one.field, one.problem, one.hint) for one in checked.problems] == [
        (2, "file", "is not UTF-8 text", "save it as UTF-8")
    ]


def test_a_file_that_cannot_be_read_is_a_problem_that_does_not_name_it_again() -> None:
    below = MemoryDocuments({"folder.md/x.md": b""})

    assert [check_document(below, path).problems[0].problem for path in ("none.md", "folder.md")] == [
        "no such file",
        "could not read: it is not a regular file",
    ]


def test_a_huge_file_is_not_read() -> None:
    below = MemoryDocuments({"a.md": bytes(service.MAX_BYTES + 1)})

    assert [one.problem for one in check_document(below, "a.md").problems] == [
        "is over 67108864 bytes, so it is not read"
    ]


def test_a_newer_document_is_refused_and_says_so() -> None:
    checked = checked_ledger(("mode: SA", "mode: SA\nformat: 99"))

    assert checked.document is None
    assert [(one.field, one.problem) for one in checked.problems] == [
        ("format", "ledger has format 99; this version of passdown reads up to 1")
    ]
    assert plan_repair(checked) is None


def test_problems_stand_in_the_order_of_their_lines() -> None:
    checked = checked_ledger(("mode: SA", "mode: solo"), ("updated: 2026-03-02T09:30:00Z", "updated: soon"))

    assert [(one.line, one.field, one.severity) for one in checked.problems] == [
        (2, "updated", Severity.ERROR),
        (7, "mode", Severity.ERROR),
    ]


@pytest.mark.parametrize(
    "text",
    [
        ledger(TWO_NOWS),
        ledger(NO_SECTION),
        ledger(("- Verifying the assertion signature", "Verifying the assertion signature")),
        ledger(("\n---\n\n# Session Ledger", "\n\n# Session Ledger")),
        "---\nsession_id: x\nplatform: claude\n---\n",
        "---\nsession_id: x\nplatform: claude\n\n# Session Ledger\n\n## Goal\n\nx\n",
    ],
    ids=["two nows", "no section", "plain text", "unclosed", "only keys", "unclosed and empty"],
)
@pytest.mark.parametrize("crlf", [False, True], ids=["LF", "CRLF"])
def test_a_repair_leaves_nothing_to_repair_and_keeps_the_line_ends(text: str, *, crlf: bool) -> None:
    text = text.replace("\n", "\r\n") if crlf else text

    after = fixed(text)

    again = check_text(LEDGER_PATH, after)
    assert not any(problem.fixable for problem in again.problems)
    assert plan_repair(again) is None
    assert after.count("\r\n") == (after.count("\n") if crlf else 0)


@pytest.mark.parametrize("known", [STREAM, ARCHIVE])
def test_a_document_with_only_its_keys_is_filled_up(known: Format) -> None:
    keys = "session_name: x\nstatus: active\n" if known is STREAM else "session_id: x\ntrigger: manual\n"

    after = fixed(f"---\n{keys}---\n", known)

    assert not any(problem.fixable for problem in check_text(known.paths[0], after).problems)


def test_a_repair_changes_only_the_lines_that_need_it() -> None:
    repair = plan_repair(checked_ledger(TWO_NOWS))

    assert repair is not None
    assert repair.difference("a b.md") == (
        "--- a b.md\n+++ a b.md\n@@ -33,9 +33,9 @@\n \n ### Now\n - Verifying the assertion signature\n"
        "-- Writing the page\n \n ### Next\n+- Writing the page\n - Session cookie\n - Log-out\n \n"
    )


@pytest.mark.parametrize(
    "checked",
    [
        checked_ledger(),
        checked_ledger(("mode: SA", "mode: solo")),
        check_text("readme.md", "hello"),
        check_text(EVENT.paths[0], EVENT.example().replace("ts: ", "ts: soon ")),
        check_text(VIEW.paths[0], VIEW.example().replace("- [x] ", "- ")),
        check_text(JOURNAL.paths[1], JOURNAL.example() + "{"),
    ],
    ids=["valid", "not ours to guess", "no document", "event", "view", "journal"],
)
def test_what_is_not_safe_to_repair_is_left(checked: CheckedFile) -> None:
    assert plan_repair(checked) is None
    assert not any(problem.fixable for problem in checked.problems)


def with_fix(fix: Callable[[str], str]) -> CheckedFile:
    """Check a ledger with a repairable problem whose format repairs like this."""
    checked = checked_ledger(TWO_NOWS)
    assert checked.format is not None
    return replace(checked, format=replace(checked.format, fix=fix))


def test_a_repair_that_would_change_what_a_document_says_is_none() -> None:
    assert plan_repair(with_fix(lambda text: text.replace("passkey", "password"))) is None


def test_a_repair_that_changes_nothing_is_none() -> None:
    assert plan_repair(with_fix(lambda text: text)) is None


def test_a_repair_that_never_ends_is_cut_off() -> None:
    repair = plan_repair(with_fix(lambda text: f"{text}\n"))

    assert repair is not None
    assert repair.after == repair.before + "\n" * service.MAX_ROUNDS


def test_a_repair_is_written() -> None:
    below = MemoryDocuments({"a.md": b"before"})

    write_repair(below, Repair(path="a.md", before="before", after="after"))

    assert below.read("a.md") == b"after"


def test_a_file_that_has_changed_meanwhile_is_not_written() -> None:
    below = MemoryDocuments({"a.md": b"newer"})

    with pytest.raises(StorageError) as refused:
        write_repair(below, Repair(path="a.md", before="before", after="after"))

    assert (refused.value.message, refused.value.hint) == (
        "a.md has changed since; nothing was written",
        "run the command again; nothing was overwritten",
    )
    assert below.read("a.md") == b"newer"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\r\n", "b\r\n", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\r\n", "b\n", "@@ -1 +1 @@\n-a\r\n+b\n"),
        ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        ("a\x0bb\u2028c\n", "a\n", "@@ -1 +1 @@\n-a\x0bb\u2028c\n+a\n"),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
    ],
    ids=["LF", "CRLF", "mixed", "no newline", "other line ends", "from nothing"],
)
def test_a_difference_is_by_lines_and_says_where_the_last_one_does_not_end(
    before: str, after: str, shown: str
) -> None:
    difference = Repair(path="x", before=before, after=after).difference("n.md")

    assert difference == f"--- n.md\n+++ n.md\n{shown}"


def test_only_errors_make_a_check_fail() -> None:
    warned = CheckedFile(
        path="a", problems=(Problem(line=1, field="f", problem="p", severity=Severity.WARNING),)
    )

    assert warned.is_ours
    assert not warned.has_errors
