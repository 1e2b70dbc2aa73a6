"""`passdown synthesize` writes the view, says what it did, and changes nothing when it is asked to check."""

import json
import re
import sys
from pathlib import Path
from typing import Final

import jsonschema
import pytest

from passdown.core.formats.views import parse_view
from passdown.engines.sqlite.event_index import SqliteIndex
from passdown.errors import CacheError
from passdown.faces.cli import main as cli_main
from tests.answers.check_answers import ERROR
from tests.answers.log_answers import SYNTHESIZE
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import ARCHIVE, EVENTS, LOCAL, VIEW, listing, put, put_event, stop_clock

WRITTEN: Final = f"1 event; view written: {VIEW}\n"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def view_of(project: Project, path: str = VIEW) -> str:
    """Read the view."""
    return (project.folder / path).read_text(encoding="utf-8")


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.requirement("R96", "R98", "R113", "R114", "R118", "R125")
def test_all_events_become_one_view_that_can_be_made_again(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR", this_session=("Forked",))
    put_event(project.folder, "2026-01-10T14:15:00Z", "waffle", goal="Fix hooks", now="Write tests")

    assert command("synthesize", "--no-confirm") == Done(0, f"2 events; view written: {VIEW}\n", "")
    made = view_of(project)
    view = parse_view(made)
    assert view.problems == ()
    assert (view.goal, view.now, view.this_session) == (
        "Fix hooks (by waffle, ended)",
        "Write tests (by waffle, ended)",
        ("Forked",),
    )
    assert view.footer is not None
    assert (view.footer.event_count, view.footer.latest_ts) == (2, view.footer.generated_at)

    assert command("synthesize") == Done(0, f"2 events; view unchanged: {VIEW}\n", "")
    (project.folder / VIEW).unlink()
    command("synthesize")
    assert view_of(project) == made


@pytest.mark.requirement("R124", "R125")
def test_cc_synthesize_is_the_same_command(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.folder)
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    monkeypatch.setattr(sys, "argv", ["cc-synthesize", "--no-confirm"])
    assert cli_main.synthesize() == 0
    assert capsys.readouterr().out == WRITTEN
    monkeypatch.setattr(sys, "argv", ["cc-synthesize", "--version"])
    assert cli_main.synthesize() == 0
    assert capsys.readouterr().out.startswith("passdown ")


def test_without_events_nothing_is_written(command: Caller, project: Project) -> None:
    done = Done(0, "", f"passdown: there are no events in {EVENTS}; nothing was written\n")

    assert command("synthesize") == done
    assert command("synthesize", "--archive", "--commit") == done
    assert json.loads(command("synthesize", "--json").out)["state"] == "empty"
    assert command("synthesize", "--check") == Done(
        0, "", f"passdown: there are no events in {EVENTS}, and no view\n"
    )
    assert listing(project.folder) == {}


def test_a_view_whose_events_are_all_gone_is_made_again(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    command("synthesize")
    for path in (project.folder / EVENTS).iterdir():
        path.unlink()

    assert command("synthesize", "--check").code == 4
    assert command("synthesize").out == f"0 events; view written: {VIEW}\n"
    assert command("synthesize", "--check").code == 0


@pytest.mark.requirement("R115")
def test_events_that_cannot_be_read_are_left_out_and_counted(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put(project.folder, f"{EVENTS}/empty.md", "")
    put(project.folder, f"{EVENTS}/torn.md", "---\nts: [")

    done = command("synthesize")

    assert done == Done(
        0,
        WRITTEN,
        "passdown: 2 events could not be read and were skipped: "
        f"{EVENTS}/empty.md, {EVENTS}/torn.md\n"
        "  hint: run `passdown view verify` to see what was skipped and why\n",
    )
    footer = parse_view(view_of(project)).footer
    assert footer is not None
    assert footer.skipped == 2


@pytest.mark.requirement("C160")
def test_empty_files_are_no_events_and_stay_where_they_are(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-01T13:03:52Z", now="Create the PR")
    empty = [f"{EVENTS}/2026-01-01T13-03-5{number}.000Z_birch.md" for number in range(7)]
    for number, path in enumerate(empty):
        put(project.folder, path, "" if number else "---\n---\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=events")

    done = command("synthesize", "--archive")

    assert "1 event; view written" in done.out
    assert "1 event of 1 day archived" in done.out
    named = ", ".join(empty[:5])
    assert f"passdown: 7 events could not be read and were skipped: {named} and 2 more\n" in done.err
    assert all((project.folder / path).exists() for path in empty)
    footer = parse_view(view_of(project)).footer
    assert footer is not None
    assert (footer.event_count, footer.skipped, footer.renderer) == (1, 7, 6)
    assert "birch" not in command("log").out
    verified = command("view", "verify")
    assert f"{empty[1]}: skipped: is empty: it has neither front matter nor facts\n" in verified.out
    assert verified.code == 0
    found = " ".join(command("doctor").out.split())  # lines are folded
    assert f"7 event files skipped, and left out of the view: {empty[0]}, {empty[1]}" in found


def test_only_events_that_cannot_be_read_make_no_view(command: Caller, project: Project) -> None:
    put(project.folder, f"{EVENTS}/torn.md", "---\nts: [")

    done = command("synthesize")

    assert "there are no events" in done.err
    assert "1 event could not be read and was skipped" in done.err
    assert not (project.folder / VIEW).exists()


def test_an_event_far_in_the_future_is_named_with_the_way_to_retract_it(
    command: Caller, project: Project
) -> None:
    event = put_event(project.folder, "2999-01-01T00:00:00Z", now="Wrong clock")
    for hour in range(4):
        put_event(project.folder, f"2998-01-01T0{hour}:00:00Z", now="Wrong clock")

    done = command("synthesize")

    first, hint, *_, last = done.err.splitlines()
    assert first == (
        f"passdown: event {event.id} is dated 2999-01-01 00:00Z, far in the future; it overrides others"
    )
    assert hint == f"  hint: if its clock was wrong, run `passdown log retract {event.id}`"
    assert last == "passdown: 2 more events are dated far in the future"


def test_an_edited_view_is_kept_and_said(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    command("synthesize")
    edited = view_of(project).replace("Create the PR", "Something else")
    put(project.folder, VIEW, edited)

    assert command("synthesize", "--check") == Done(
        4,
        "",
        f"passdown: {VIEW} was edited by hand; it is made from events\n"
        "  hint: run `passdown synthesize`; it keeps a copy of the edited file\n",
    )
    done = command("synthesize")
    (kept,) = [path for path in listing(project.folder) if path.startswith(".conductor/edited-view-")]
    assert done == Done(
        0,
        WRITTEN,
        f"passdown: {VIEW} was edited by hand; a copy is kept in {kept}\n"
        "passdown: these lines of it are in no event:\n"
        "passdown:   [->] Something else (by toast, ended)\n"
        f"  hint: `passdown migrate {kept}` publishes them\n",
    )
    assert view_of(project, kept) == edited


def test_a_document_of_somebody_else_is_never_overwritten(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put(project.folder, VIEW, "# Mine\n")

    done = command("synthesize", "--archive")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"passdown: {VIEW} was not made by Passdown, so it was not changed\n")
    assert view_of(project) == "# Mine\n"
    assert command("synthesize", "--check").code == 4


@pytest.mark.requirement("R139")
def test_a_project_with_only_a_current_md_is_left_as_it_is(command: Caller, project: Project) -> None:
    put(project.folder, VIEW, "# Mine\n")
    before = listing(project.folder)

    for arguments in ([], ["--check"], ["--archive", "--commit"]):
        assert command("synthesize", *arguments) == Done(
            0,
            "",
            f"passdown: {VIEW} exists but {EVENTS} does not; nothing was changed\n"
            "  hint: run `passdown migrate` to import it\n",
        )
    assert json.loads(command("synthesize", "--json").out)["state"] == "legacy"
    assert listing(project.folder) == before


# --- archive and commit -----------------------------------------------------------------------------


@pytest.mark.requirement("R127", "R129")
def test_old_events_are_archived_and_all_is_committed(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-03T13:03:52Z", now="Old")
    put_event(project.folder, "2026-01-10T14:15:00Z", now="New")
    command("synthesize")
    made = view_of(project)

    done = command("synthesize", "--archive", "--commit")

    said = done.out.splitlines()
    assert said[:2] == [f"2 events; view unchanged: {VIEW}", "1 event of 1 day archived"]
    assert re.fullmatch(r"committed as [0-9a-f]{12}", said[2])
    assert view_of(project) == made
    assert (project.folder / ARCHIVE / "2026-01-03" / "2026-01-03T13-03-52.000Z_toast.md").is_file()
    assert project.git("status", "--porcelain") == ""
    assert command("synthesize", "--commit") == Done(
        0, f"2 events; view unchanged: {VIEW}\n", "passdown: not committed: nothing to commit\n"
    )


@pytest.mark.requirement("C127", "R127")
def test_archiving_alone_commits_only_what_it_archived(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-02T13:03:52Z", now="Old")
    put_event(project.folder, "2026-01-03T13:03:52Z", now="Old")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=events")

    done = command("synthesize", "--archive")

    assert done.out == f"2 events; view written: {VIEW}\n2 events of 2 days archived\n"
    assert project.git("log", "--format=%s").splitlines()[0] == (
        "passdown: 2 events archived (2 new rollups)"
    )
    assert project.git("status", "--porcelain") == f"?? {VIEW}\n"


@pytest.mark.requirement("C127")
def test_events_that_are_not_committed_are_not_archived(command: Caller, project: Project) -> None:
    project.git("commit", "--quiet", "--allow-empty", "--message=begin")
    put_event(project.folder, "2026-01-02T13:03:52Z", now="Old")

    done = command("synthesize", "--archive")

    assert (done.code, done.out) == (0, f"1 event; view written: {VIEW}\n")
    assert "not archived: 1 event is not committed yet" in done.err


def test_a_commit_that_is_not_made_says_why(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    for role in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{part}")

    done = command("synthesize", "--commit")

    assert (done.code, done.out) == (0, WRITTEN)
    first, hint = done.err.splitlines()[:2]
    assert first.startswith("passdown: not committed: ")
    assert hint.startswith("  hint: ")


# --- check --------------------------------------------------------------------------------------


@pytest.mark.requirement("R128", "R136")
def test_a_check_fails_when_the_view_is_not_what_the_events_make(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    hint = "  hint: run `passdown synthesize`\n"

    assert command("synthesize", "--check") == Done(4, "", f"passdown: {VIEW} is missing\n{hint}")
    command("synthesize")
    assert command("synthesize", "--check") == Done(0, "", f"passdown: {VIEW} is current: 1 event\n")
    put_event(project.folder, "2026-01-10T14:15:00Z", now="Write tests")
    before = listing(project.folder)
    assert command("synthesize", "--check") == Done(
        4, "", f"passdown: {VIEW} is outdated: it does not match the events\n{hint}"
    )
    answer = json.loads(command("synthesize", "--check", "--json").out)
    jsonschema.validate(answer, ERROR)
    assert answer["error"]["code"] == "outdated"
    assert listing(project.folder) == before


def test_a_check_says_when_another_version_made_the_view(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    command("synthesize")
    put(project.folder, VIEW, view_of(project).replace("renderer: 6", "renderer: 9"))

    done = command("synthesize", "--check")

    assert (done.code, done.err.splitlines()[0]) == (
        4,
        f"passdown: {VIEW} was made by another version of Passdown",
    )


def test_where_the_view_is_not_committed_a_check_passes_with_a_note(
    command: Caller, project: Project
) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("switch", "--quiet", "--create", "feat")

    note = "passdown: the view is not committed on branch feat, only on main\n"
    assert command("synthesize", "--check") == Done(0, "", note)
    answer = json.loads(command("synthesize", "--check", "--json").out)
    jsonschema.validate(answer, SYNTHESIZE)
    assert answer["view"] == {"path": LOCAL, "is_tracked": False, "note": note[10:-1]}
    assert command("synthesize").out == f"1 event; view written: {LOCAL}\n"
    assert project.git("status", "--porcelain") == ""


# --- input and output ------------------------------------------------------------------------------


@pytest.mark.requirement("R126")
def test_the_view_of_named_files_is_printed_and_nothing_is_written(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put_event(project.folder, "2026-01-10T14:15:00Z", "waffle", now="Write tests")
    put(project.folder, f"{EVENTS}/torn_toast.md", "---\nts: [")
    before = listing(project.folder)

    done = command("synthesize", "--input", f"{EVENTS}/*_toast.md", "--input", f"{EVENTS}/*toast.md")

    view = parse_view(done.out)
    assert (view.now, view.problems) == ("Create the PR (by toast, ended)", ())
    assert view.footer is not None
    assert (view.footer.event_count, view.footer.skipped) == (1, 1)
    assert done.err.startswith("passdown: 1 event could not be read and was skipped: ")
    assert f"{EVENTS}/torn_toast.md\n" in done.err
    assert listing(project.folder) == before


@pytest.mark.requirement("R126")
def test_the_view_of_named_files_is_written_to_a_named_file(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-02T13:03:52Z", now="Create the PR")
    command("synthesize", "--archive", "--commit")
    printed = command("synthesize", "--input", f"{EVENTS}/**/rollup-*.jsonl").out

    done = command("synthesize", "--input", f"{EVENTS}/*/*", "--output", "out/view.md")

    assert done == Done(0, "1 event; view written: out/view.md\n", "")
    assert view_of(project, "out/view.md") == printed == view_of(project)
    answer = json.loads(command("synthesize", "--input", f"{EVENTS}/*/*", "--json").out)
    jsonschema.validate(answer, SYNTHESIZE)
    assert answer["view"]["text"] == printed


def test_an_output_takes_the_place_of_a_view_of_ours_only(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")
    put(project.folder, f"{EVENTS}/torn.md", "---\nts: [")
    put(project.folder, "notes.md", "# Mine\n")

    done = command("synthesize", "--output", "view.md")
    assert done.out == "1 event; view written: view.md\n"
    assert "1 event could not be read" in done.err
    answer = json.loads(command("synthesize", "--output", "view.md", "--json").out)
    jsonschema.validate(answer, SYNTHESIZE)
    assert answer["view"] == {"path": "view.md"}
    assert command("synthesize", "--output", "-").out == view_of(project, "view.md")
    assert command("synthesize", "--output", "notes.md") == Done(
        1,
        "",
        "passdown: notes.md was edited or not made by Passdown; it was not overwritten\n"
        "  hint: name a new file, or move this one away\n",
    )
    assert not (project.folder / VIEW).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_an_input_that_cannot_be_read_is_named(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from passdown.engines.files.documents import FileDocuments  # only this test breaks it
    from passdown.errors import StorageError

    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    def fail(_: FileDocuments, path: str) -> bytes:
        raise StorageError(f"could not read {path}", hint="look")

    monkeypatch.setattr(FileDocuments, "read", fail)
    done = command("synthesize", "--input", f"{EVENTS}/*")

    assert f"passdown: could not read {EVENTS}/2026-01-10T13-03-52.000Z_toast.md" in done.err
    assert "1 event could not be read and was skipped" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "--input", "*"], "--check and --input cannot be combined"),
        (["--check", "--output", "x"], "--check and --output cannot be combined"),
        (["--check", "--commit"], "--check and --commit cannot be combined"),
        (["--input", "*", "--archive"], "--input and --archive cannot be combined"),
        (["--output", "x", "--archive"], "--output and --archive cannot be combined"),
        (["--output", ""], "--output needs the name of a file"),
        (["--input", "nothing/*"], "--input: no file matches nothing/*"),
        (["--input", ""], "--input: no file matches an empty name"),
    ],
)
def test_flags_that_cannot_be_meant_together_are_refused(
    command: Caller, arguments: list[str], message: str
) -> None:
    done = command("synthesize", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"passdown: {message}\n  hint: ")


# --- for programs, and without a cache ---------------------------------------------------------------


def test_what_was_done_is_one_json_object(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-03T13:03:52Z", now="Old")
    put_event(project.folder, "2999-01-10T13:03:52Z", now="New")

    first = json.loads(command("synthesize", "--json").out)
    second = json.loads(command("synthesize", "--json", "--archive", "--commit").out)
    third = json.loads(command("synthesize", "--json", "--commit").out)

    for answer in (first, second, third):
        jsonschema.validate(answer, SYNTHESIZE)
    assert (first["state"], first["events"], first["archived"], first["commit"]) == ("written", 2, None, None)
    assert [one["agent"] for one in first["ahead"]] == ["toast"]
    assert (second["state"], second["archived"]) == ("current", {"events": 1, "days": 1})
    assert second["commit"]["commit"]
    assert (third["commit"]["commit"], third["commit"]["why"]) == (None, "nothing")


def test_a_cache_that_fails_is_done_without(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Create the PR")

    def fail(*_: object) -> None:
        raise CacheError("the cache of the event log cannot be used: disk full")

    monkeypatch.setattr(SqliteIndex, "folders", fail)

    assert command("synthesize") == Done(
        0,
        WRITTEN,
        "passdown: the cache of the event log cannot be used: disk full; continuing without it\n",
    )


def test_settings_that_are_not_known_are_named(command: Caller, project: Project) -> None:
    put(project.folder, "passdown.toml", "[view]\ncolour = 1\n")

    assert command("synthesize").err.startswith("passdown: passdown.toml: unknown setting view.colour\n")


def test_a_folder_that_is_gone_is_said(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "cwd", fail)

    done = command("synthesize")
    assert (done.code, done.err.splitlines()[0]) == (
        5,
        "passdown: could not find the current folder: No such file or directory",
    )
