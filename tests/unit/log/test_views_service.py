"""A view is written where it belongs, never over somebody's text, and compared to the byte."""

from pathlib import Path

import pytest

from passdown.engines.memory.index import MemoryIndex
from passdown.errors import PassdownError, StorageError
from passdown.services.log.events import update_index
from passdown.services.log.views import (
    NOTE,
    ViewState,
    WrittenView,
    judge_view,
    make_text,
    read_view,
    write_view,
)
from passdown.services.workspace.local_files import ignore_folder
from passdown.testing.memory.documents import MemoryDocuments
from tests.stores.benches import Bench, make_bench
from tests.support.projects import put_event

RUNTIME = ".conductor"
RULE = f"{RUNTIME}/.gitignore"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give a checkout with an event."""
    put_event(tmp_path, "2026-01-10T13:03:52Z", now="Create the PR")
    bench = make_bench(tmp_path)
    update_index(bench.checkout.log, bench.checkout.index)
    return bench


@pytest.mark.requirement("R116")
def test_the_same_events_give_the_same_bytes(bench: Bench) -> None:
    other = MemoryIndex()
    update_index(bench.checkout.log, other)

    assert make_text(bench.checkout.index) == make_text(other)


def test_a_view_is_judged_against_the_events(bench: Bench) -> None:
    index, documents = bench.checkout.index, MemoryDocuments()
    text = make_text(index)

    def judge(there: str) -> ViewState:
        documents.replace("view.md", there.encode())
        return judge_view(documents, "view.md", index)

    assert judge_view(documents, "view.md", index) is ViewState.MISSING
    assert judge(text) is ViewState.CURRENT
    assert judge(text.replace("\n", "\r\n")) is ViewState.OUTDATED
    assert judge(text.replace("Create", "Destroy")) is ViewState.EDITED
    assert judge(text.replace("renderer: 6", "renderer: 9")) is ViewState.OTHER_RENDERER
    assert judge("# Mine\n") is ViewState.FOREIGN
    put_event(bench.folder, "2026-01-10T14:03:52Z", now="Write tests")
    update_index(bench.checkout.log, index)
    assert judge(text) is ViewState.OUTDATED


@pytest.mark.requirement("R119")
def test_a_view_that_was_made_before_is_not_made_again_until_events_change(bench: Bench) -> None:
    index = bench.checkout.index
    made = make_text(index)
    remembered = index.recall(NOTE)
    documents = MemoryDocuments({"view.md": made.encode()})

    assert remembered
    assert judge_view(documents, "view.md", index) is ViewState.CURRENT
    put_event(bench.folder, "2026-01-10T14:03:52Z", now="Write tests")
    update_index(bench.checkout.log, index)
    assert index.recall(NOTE) is None
    assert judge_view(documents, "view.md", index) is ViewState.OUTDATED
    assert index.recall(NOTE) not in {None, remembered}


def test_writing_replaces_what_is_ours_only(bench: Bench) -> None:
    text = make_text(bench.checkout.index)
    documents = MemoryDocuments()

    assert write_view(documents, "a/view.md", text, RUNTIME) == WrittenView(
        "a/view.md", ViewState.MISSING, ""
    )
    assert write_view(documents, "a/view.md", text, RUNTIME) == WrittenView(
        "a/view.md", ViewState.CURRENT, ""
    )
    assert list(documents.list("")) == ["a/view.md"]
    documents.replace("a/view.md", b"# Mine\n")
    with pytest.raises(PassdownError, match="was not made by Passdown"):
        write_view(documents, "a/view.md", text, RUNTIME)
    assert documents.read("a/view.md") == b"# Mine\n"


def test_an_edited_view_is_kept_first(bench: Bench) -> None:
    text = make_text(bench.checkout.index)
    edited = text.replace("Create", "Destroy").encode()
    documents = MemoryDocuments({"view.md": edited})

    written = write_view(documents, "view.md", text, RUNTIME)

    assert written.before is ViewState.EDITED
    assert written.kept.startswith(f"{RUNTIME}/edited-view-")
    assert documents.read(written.kept) == edited
    assert read_view(documents, "view.md") == text.encode()
    assert documents.read(RULE).endswith(b"*\n")


def test_a_local_view_brings_the_rule_that_keeps_it_out_of_git(bench: Bench) -> None:
    documents = MemoryDocuments()

    write_view(documents, f"{RUNTIME}/current.md", make_text(bench.checkout.index), RUNTIME)

    assert documents.read(RULE).endswith(b"*\n")
    documents.replace(RULE, b"mine\n")
    ignore_folder(documents, RUNTIME)
    assert documents.read(RULE) == b"mine\n"


def test_a_folder_that_cannot_be_written_is_told() -> None:
    in_the_way = MemoryDocuments({RUNTIME: b""})

    with pytest.raises(StorageError):
        ignore_folder(in_the_way, RUNTIME)
