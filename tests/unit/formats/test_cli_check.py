"""`passdown check` says what it looked at, what is wrong, and how it ends."""

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

from passdown.actions.project.checks import CheckCounts
from passdown.core.formats.registry import ARCHIVE, LEDGER
from tests.answers.check_answers import CHECK
from tests.support.commands import Caller, Done

ACTIVE = "conductor/sessions/active"
LEDGER_PATH = f"{ACTIVE}/LEDGER.md"
BAD_MODE = LEDGER.example().replace("mode: SA", "mode: solo")
WARNED = LEDGER.example().replace("platform: claude", "platform: abacus")
FIXABLE = (
    LEDGER.example().replace("### Next\n", "- Writing the page\n\n### Next\n").replace("e\n\n- W", "e\n- W")
)
BAD_LINES = "{path}:7: mode: is not a known value: solo\n  hint: use one of SA, MA\n"

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links or modes")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command, in the folder of a project."""
    write(str(tmp_path / "project/.git/HEAD"), "ref: refs/heads/main\n")
    return Caller(monkeypatch, capsys, tmp_path / "project")


def write(path: str, text: str = "") -> None:
    """Write a file below the current folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8", newline="")


def test_a_valid_file_has_nothing_wrong(command: Caller) -> None:
    write(LEDGER_PATH, LEDGER.example())

    assert command("check", LEDGER_PATH) == Done(0, "", "passdown: 1 document checked, no problems\n")


def test_an_error_makes_the_check_fail(command: Caller) -> None:
    write(LEDGER_PATH, BAD_MODE)

    assert command("check", LEDGER_PATH) == Done(
        1, BAD_LINES.format(path=LEDGER_PATH), "passdown: 1 document checked, 1 with errors\n"
    )


@pytest.mark.requirement("C18")
def test_a_warning_makes_only_a_strict_check_fail(command: Caller) -> None:
    write(LEDGER_PATH, WARNED)
    found = (
        f"{LEDGER_PATH}:4: platform: is not a known platform: abacus (warning)\n"
        "  hint: use one of amp, claude, codex, copilot, cursor, gemini, generic,\n"
        "        opencode\n"
    )
    summary = "passdown: 1 document checked, 1 with warnings only\n"

    assert command("check", LEDGER_PATH) == Done(0, found, summary)
    assert command("check", "--strict", LEDGER_PATH) == Done(1, found, summary)


def test_a_folder_has_a_summary_and_other_files_are_left_alone(command: Caller) -> None:
    write("docs/a/LEDGER.md", LEDGER.example())
    write("docs/b/LEDGER.md", BAD_MODE)
    write("docs/c/LEDGER.md", WARNED)
    write("docs/readme.md", "hello\n")
    write("docs/code.py", "pass\n")

    done = command("check", "docs")

    assert done.code == 1
    assert done.err == (
        "passdown: 3 documents checked, 1 with errors, 1 with warnings only; 1 other file ignored\n"
    )


def test_a_problem_that_can_be_repaired_is_offered_to_be(command: Caller) -> None:
    write(LEDGER_PATH, FIXABLE)

    assert command("check").err == (
        "passdown: 1 document checked, 1 with warnings only\n"
        "  hint: repair 1 problem with --fix; it shows the diff first\n"
    )


def test_a_file_that_is_named_must_be_a_document(command: Caller) -> None:
    write("readme.md", "hello\n")

    assert command("check", "readme.md") == Done(
        1,
        "readme.md:1: format: is not in a format that Passdown knows\n"
        "  hint: `passdown format` lists the formats; `passdown format example NAME`\n"
        "        shows one\n",
        "passdown: 1 document checked, 1 with errors\n",
    )


def test_a_folder_without_documents_says_so(command: Caller) -> None:
    write("docs/readme.md", "hello\n")
    Path("empty").mkdir()
    hint = "  hint: run `passdown format` to see where the documents of each format belong\n"

    assert command("check", "empty") == Done(0, "", f"passdown: no documents found in empty\n{hint}")
    assert command("check", "docs", "empty") == Done(
        0, "", f"passdown: no documents found in docs or empty; 1 other file ignored\n{hint}"
    )


def test_a_project_without_documents_says_where_it_looked(command: Caller) -> None:
    assert command("check") == Done(
        0,
        "",
        "passdown: no documents found in this project\n"
        "  hint: looked in conductor/sessions/active, conductor/sessions/archive,\n"
        "        thoughts/shared/handoffs, thoughts/shared/handoffs/events,\n"
        "        thoughts/shared/handoffs/archive, .conductor, changes; name a FILE to\n"
        "        look elsewhere\n",
    )


def test_the_project_is_checked_from_any_of_its_folders(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(LEDGER_PATH, BAD_MODE)
    write("src/a/LEDGER.md", BAD_MODE)
    monkeypatch.chdir("src/a")

    assert command("check") == Done(
        1, BAD_LINES.format(path=f"../../{LEDGER_PATH}"), "passdown: 1 document checked, 1 with errors\n"
    )


def test_the_project_is_checked_at_the_places_its_settings_name(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("passdown.toml", '[paths]\nledgers = "log"\n[colour]\n')
    write("log/LEDGER.md", BAD_MODE)
    write(LEDGER_PATH, BAD_MODE)

    assert command("check") == Done(
        1,
        BAD_LINES.format(path="log/LEDGER.md"),
        "passdown: passdown.toml: unknown section [colour]\npassdown: 1 document checked, 1 with errors\n",
    )
    monkeypatch.setenv("PASSDOWN_PATHS_LEDGERS", ACTIVE)
    assert command("check").out == BAD_LINES.format(path=LEDGER_PATH)


def test_a_missing_file_is_wrong_usage_and_nothing_is_checked_or_written(command: Caller) -> None:
    write("LEDGER.md", FIXABLE)

    assert command("check", "nosuch.md") == Done(
        2,
        "",
        "passdown: no such file or folder: nosuch.md\n  hint: check the spelling; links are not followed\n",
    )
    assert command("check", "--fix", "--yes", "LEDGER.md", "a.md", "", "b/c") == Done(
        2,
        "",
        "passdown: no such file or folder: a.md, an empty name, b/c\n"
        "  hint: check the spelling; nothing was checked\n",
    )
    assert Path("LEDGER.md").read_text(encoding="utf-8") == FIXABLE


def test_each_file_is_checked_once_however_often_it_is_named(command: Caller) -> None:
    write("docs/LEDGER.md", BAD_MODE)

    done = command("check", "docs/LEDGER.md", "docs", "./docs/../docs/LEDGER.md", str(Path.cwd()))

    assert done.out == BAD_LINES.format(path="docs/LEDGER.md")
    assert done.err == "passdown: 1 document checked, 1 with errors\n"


def test_a_file_outside_is_shown_as_it_was_named(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    write("other/docs/LEDGER.md", BAD_MODE)
    root = Path.cwd()
    write("here/x.md")
    monkeypatch.chdir("here")

    for named, shown in (
        ("../other/docs/LEDGER.md", "../other/docs/LEDGER.md"),
        ("../other", "../other/docs/LEDGER.md"),
        ("..", "../other/docs/LEDGER.md"),
        (str(root / "other"), f"{root.as_posix()}/other/docs/LEDGER.md"),
        (str(root / "other/docs/LEDGER.md"), f"{root.as_posix()}/other/docs/LEDGER.md"),
    ):
        assert command("check", named).out == BAD_LINES.format(path=shown), named


def test_a_broken_document_is_known_by_its_path_wherever_one_stands(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("conductor/sessions/archive/2026-03-02-09-30-manual.md", "hello\n")
    assert '"format": "archive"' in command("check", "--json").out
    monkeypatch.chdir("conductor/sessions/archive")

    assert '"format": "archive"' in command("check", "--json", ".").out
    monkeypatch.chdir("..")
    assert '"format": "archive"' in command("check", "--json", "archive/2026-03-02-09-30-manual.md").out


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_checked(command: Caller) -> None:
    Path("a").mkdir()
    Path("a/bad.md").write_bytes(b"one\n\xff\n")
    write("b/LEDGER.md", LEDGER.example())

    assert command("check", ".") == Done(
        1,
        "a/bad.md:2: file: is not UTF-8 text\n  hint: save it as UTF-8\n",
        "passdown: 2 documents checked, 1 with errors\n",
    )


@posix
def test_a_name_cannot_move_the_cursor_or_break_the_line(command: Caller) -> None:
    name = "a\n\x1b[2J\u202e.md"
    write(name, "hello\n")

    done = command("check", name)

    assert done.out.splitlines()[0] == (
        "a\\u000a\\u001b[2J\\u202e.md:1: format: is not in a format that Passdown knows"
    )
    assert command("check", "\x1b.md").err.splitlines()[0] == "passdown: no such file or folder: \\u001b.md"


@posix
def test_a_name_that_is_not_utf8_is_checked_with_its_folder(command: Caller) -> None:
    name = os.fsdecode(b"\xff.md")
    write(name, BAD_MODE)

    assert command("check", name).code == 2
    assert BAD_LINES.format(path="\\udcff.md") in command("check", ".").out


@posix
def test_a_folder_that_has_gone_is_told(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    Path("../gone").rmdir()

    done = command("check")

    assert done.code == 5
    assert done.err.startswith("passdown: could not find the current folder: ")
    monkeypatch.undo()


def test_the_answer_in_json_keeps_its_schema(command: Caller) -> None:
    write("a/LEDGER.md", LEDGER.example())
    write("b/LEDGER.md", BAD_MODE)
    write("c/LEDGER.md", WARNED.replace("mode: SA", "format: 99"))
    write("readme.md", "hello\n")
    write("other.md", "hello\n")

    done = command("check", "--json", ".", "readme.md")

    answer = json.loads(done.out)
    jsonschema.validate(answer, CHECK)
    files = {file["path"]: file for file in answer["files"]}
    assert (done.code, done.err) == (1, "")
    assert list(files) == ["a/LEDGER.md", "b/LEDGER.md", "c/LEDGER.md", "readme.md"]
    assert answer["summary"] == {
        "checked": 4,
        "with_errors": 3,
        "with_warnings": 0,
        "repaired": 0,
        "not_repaired": 0,
        "other_files": 1,
    }
    jsonschema.Draft202012Validator(LEDGER.schema()).validate(files["b/LEDGER.md"]["data"])
    assert files["b/LEDGER.md"]["problems"][0]["severity"] == "error"
    assert (files["c/LEDGER.md"]["format"], files["c/LEDGER.md"]["data"]) == ("ledger", None)
    assert (files["readme.md"]["format"], files["readme.md"]["format_version"]) == (None, None)


def test_an_empty_answer_in_json_keeps_its_schema(command: Caller) -> None:
    answer = json.loads(command("check", "--json").out)

    jsonschema.validate(answer, CHECK)
    assert answer["files"] == []


@pytest.mark.parametrize(("yes", "code"), [(False, 1), (True, 0)])
def test_a_repair_in_json_is_written_only_with_yes_and_shows_its_difference(
    command: Caller, *, yes: bool, code: int
) -> None:
    write(LEDGER_PATH, FIXABLE)

    done = command("check", "--json", "--fix", *(["--yes"] if yes else []))

    answer = json.loads(done.out)
    jsonschema.validate(answer, CHECK)
    repair = answer["files"][0]["repair"]
    assert (done.code, done.err, repair["written"]) == (code, "", yes)
    assert repair["difference"].startswith(f"--- {LEDGER_PATH}\n+++ {LEDGER_PATH}\n@@ ")
    assert (answer["summary"]["repaired"], answer["summary"]["not_repaired"]) == (int(yes), int(not yes))
    assert (Path(LEDGER_PATH).read_text(encoding="utf-8") == FIXABLE) is not yes


def test_help_fits_80_columns_and_tells_the_exit_codes(command: Caller) -> None:
    done = command("check", "--help")

    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "Exits with 0" in done.out


def test_counts_are_of_files_and_never_twice() -> None:
    tally = CheckCounts()

    assert not tally.fails(strict=True)
    assert CheckCounts(not_repaired=1).fails(strict=False)


def test_an_archive_of_a_past_session_is_checked_too(command: Caller) -> None:
    write("conductor/sessions/archive/2026-03-02-09-30-session-end.md", ARCHIVE.example())

    assert command("check") == Done(0, "", "passdown: 1 document checked, no problems\n")
