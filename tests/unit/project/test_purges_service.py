"""Local data of a project is listed and removed; what git tracks stays."""

from pathlib import Path

from passdown.services.project.setups import list_local, purge
from passdown.settings import Settings
from tests.support.gits import make_started
from tests.support.projects import open_checkout, put


def test_what_is_local_goes_and_what_is_tracked_stays(tmp_path: Path) -> None:
    project = make_started(tmp_path)
    put(tmp_path, ".conductor/keep.md", "tracked")
    project.git("add", "--force", ".conductor/keep.md")
    project.git("commit", "--quiet", "--message=keep")
    put(tmp_path, "conductor/sessions/active/notes.md", "only staged")
    project.git("add", "--force", "conductor/sessions/active/notes.md")
    for path in (
        ".git/passdown/journal/s-1.jsonl",
        ".conductor/session-state_x.json",
        "conductor/sessions/active/LEDGER.md",
        "thoughts/shared/handoffs/events/one.md",
    ):
        put(tmp_path, path, "x")

    found = list_local(open_checkout(tmp_path, Settings()))

    assert [one.shown for one in found] == [
        ".git/passdown/journal/s-1.jsonl",
        ".conductor/session-state_x.json",
        "conductor/sessions/active/LEDGER.md",
    ]
    assert purge(found) == 3
    assert list_local(open_checkout(tmp_path, Settings())) == []
    assert (tmp_path / ".conductor/keep.md").exists()
    assert (tmp_path / "thoughts/shared/handoffs/events/one.md").exists()


def test_without_git_there_is_local_data_too(tmp_path: Path) -> None:
    put(tmp_path, ".conductor/journal/s-1.jsonl", "x")

    assert purge(list_local(open_checkout(tmp_path, Settings()))) == 1
