"""How often imported sessions edited the files that a session works on."""

import pytest

from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.handover.seen_work import count_past_edits
from passdown.services.workspace.workspaces import Workspace
from passdown.testing.memory.documents import MemoryDocuments
from tests.support.sessions import make_place

COUNTS = "passdown/history/files.txt"


@pytest.fixture
def documents() -> MemoryDocuments:
    return MemoryDocuments()


@pytest.fixture
def workspace(documents: MemoryDocuments) -> Workspace:
    return replace(make_place().project, git_documents=documents)


@pytest.mark.requirement("C134")
def test_edits_of_the_files_are_summed(workspace: Workspace, documents: MemoryDocuments) -> None:
    assert count_past_edits(workspace, ["a.py"]) == 0
    documents.replace(COUNTS, b"a.py\t2\nb.py\t3\n")
    assert count_past_edits(workspace, ["a.py", "b.py", "c.py"]) == 5
    assert count_past_edits(workspace, []) == 0
    assert count_past_edits(make_place().project, ["a.py"]) == 0, "without git, none are read"


@pytest.mark.requirement("C134")
def test_counts_that_are_too_large_or_cannot_be_read_are_left_out(
    workspace: Workspace, documents: MemoryDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents.replace(COUNTS, b"a.py\t2\n" + b"x\t1\n" * 300_000)
    assert count_past_edits(workspace, ["a.py"]) == 0
    documents.replace(COUNTS, b"a.py\t2\n")

    def refuse(path: str) -> bytes:
        raise StorageError(path)

    monkeypatch.setattr(documents, "read", refuse)
    assert count_past_edits(workspace, ["a.py"]) == 0
