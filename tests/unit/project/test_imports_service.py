"""Importing old transcripts: what is taken, what is written, and what stays as it is."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import pytest

from passdown.core.formats.history import parse_history
from passdown.core.hosts.transcripts import MAX_LINE
from passdown.errors import FormatError, StorageError, UsageError
from passdown.hosts import HOSTS
from passdown.records import field, record, replace
from passdown.services.project import imports as service
from passdown.services.project.imports import (
    HistoryPlace,
    ImportPlan,
    ImportScope,
    ImportTotals,
    TranscriptHost,
    find_due,
    find_history,
    forget_history,
    import_transcripts,
    list_history,
    pick_words,
    plan_import,
)
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.journals import MemoryJournals
from passdown.testing.memory.transcripts import MemoryTranscripts
from tests.support.sessions import NOON, ROOT, Place, make_place

pytestmark = pytest.mark.requirement("C134")

FOLDER: Final = "passdown/history"
TOP: Final = "/home/.claude/projects"


class BrokenTranscripts(MemoryTranscripts):
    """Transcripts some of which cannot be read, or become shorter when they are."""

    def __init__(self) -> None:
        """Begin with good ones."""
        super().__init__()
        self.broken: set[str] = set()
        self.cut: dict[str, int] = {}
        self.reads = 0

    def read(self, path: str, offset: int, most: int = MAX_LINE) -> bytes:
        """Return the content of a file."""
        self.reads += 1
        if path in self.broken:
            raise StorageError("broken")
        return super().read(path, offset, most)[: self.cut.get(path, most)]


@record
class Attic:
    """A project, a host with transcripts, and a place for history."""

    journals: MemoryJournals
    place: Place
    transcripts: BrokenTranscripts = field(default_factory=BrokenTranscripts)
    documents: MemoryDocuments = field(default_factory=MemoryDocuments)
    tops: list[str] = field(default_factory=list[str])
    there: list[str] = field(default_factory=lambda: [ROOT])
    urls: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])

    @property
    def scope(self) -> ImportScope:
        """What an import works with."""
        return ImportScope(
            place=HistoryPlace(documents=self.documents, folder=FOLDER, shown=f".git/{FOLDER}"),
            hosts=(make_host("claude", TOP, 30), make_host("codex", "/home/.codex/sessions", None)),
            transcripts=self.transcripts,
            resolve=lambda path: path,
            exists=self.there.__contains__,
            is_top=self.tops.__contains__,
            sweep=lambda: self.calls.append("sweep"),
            remotes=lambda: self.urls,
            clear=lambda: self.calls.append("clear"),
        )

    def write(self, session: str, *said: str, folder: str = ROOT, below: str = "-p") -> str:
        """Let the host write a transcript; give its path."""
        path = f"{TOP}/{below}/{session}.jsonl"
        self.transcripts.files[path] = b"".join(make_line(one, folder) for one in said)
        return path

    def plan(self, since: datetime | None = None) -> ImportPlan:
        """Plan an import."""
        return plan_import(self.place.project, self.scope, since)

    def run(self) -> ImportTotals:
        """Plan and carry it out."""
        return import_transcripts(self.place.project, self.scope, self.plan())

    def names(self) -> list[str]:
        """Name what was imported."""
        return [one.name for one in list_history(self.scope.place)]


def make_host(name: str, folder: str, kept_days: int | None) -> TranscriptHost:
    host = HOSTS.find(name)
    assert host.load_store is not None
    assert host.load_transcripts is not None
    store, reader = host.load_store(), host.load_transcripts()
    return TranscriptHost(
        name=name, title=host.title, folder=folder, store=store, reader=reader, kept_days=kept_days
    )


def make_line(text: str, folder: str = ROOT) -> bytes:
    """Write a prompt as Claude Code does."""
    line = {"type": "user", "message": {"content": text}, "uuid": "u", "cwd": folder}
    return json.dumps({**line, "timestamp": "2026-01-11T12:00:00Z"}, separators=(",", ":")).encode() + b"\n"


@pytest.fixture
def attic() -> Attic:
    journals = MemoryJournals()
    return Attic(journals=journals, place=make_place(journals))


def test_a_transcript_becomes_a_file_named_by_its_session(attic: Attic) -> None:
    path = attic.write("s-1", "hello", "again")
    steps: list[tuple[int, int]] = []

    plan = plan_import(attic.place.project, attic.scope, step=lambda *step: steps.append(step))
    totals = import_transcripts(attic.place.project, attic.scope, plan, lambda *step: steps.append(step))

    assert (totals.sessions, totals.entries, totals.redacted, totals.unreadable) == (1, 2, 0, 0)
    assert steps == [(1, 1), (1, 1)]
    assert plan.new[0].path == path
    read = parse_history(attic.documents.read(f"{FOLDER}/claude/s-1.jsonl").decode())
    assert read.head.transcript == path
    assert read.head.size == len(attic.transcripts.files[path])
    assert read.head.folder == ROOT
    assert attic.calls == ["sweep"]


def test_what_did_not_grow_is_not_read_again(attic: Attic) -> None:
    path = attic.write("s-1", "hello")
    attic.run()
    before = attic.documents.read(f"{FOLDER}/claude/s-1.jsonl")
    attic.transcripts.reads = 0

    assert attic.plan() == ImportPlan(known=1)
    attic.transcripts.files[path] = b""
    assert attic.plan() == ImportPlan(known=1)
    assert attic.transcripts.reads == 0
    assert attic.documents.read(f"{FOLDER}/claude/s-1.jsonl") == before

    attic.write("s-1", "hello", "more")
    assert attic.run().entries == 2


def test_of_several_transcripts_of_a_session_the_largest_counts(attic: Attic) -> None:
    attic.write("s-1", "short", below="-a")
    attic.write("s-1", "hello", "longest", below="-b")
    attic.write("s-1", "middle one", below="-c")

    assert [one.path for one in attic.plan().new] == [f"{TOP}/-b/s-1.jsonl"]


def test_only_what_is_new_enough_is_listed(attic: Attic) -> None:
    attic.write("s-1", "hello")
    assert len(attic.plan(NOON).new) == 1
    assert attic.plan(NOON + timedelta(seconds=1)) == ImportPlan()


def test_what_does_not_say_where_it_worked_is_counted(attic: Attic) -> None:
    attic.transcripts.files[f"{TOP}/-p/empty.jsonl"] = b"{}\n"
    attic.transcripts.broken.add(attic.write("broken", "hello"))
    attic.transcripts.files[f"{TOP}/-p/notes.txt"] = b"nothing"

    assert attic.plan() == ImportPlan(unreadable=2)


def test_a_first_line_may_be_longer_than_what_is_read_first(
    attic: Attic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "START_BYTES", 40)
    attic.write("s-1", "a long prompt")
    assert len(attic.plan().new) == 1


def test_a_session_is_ours_by_its_folder(attic: Attic) -> None:
    attic.tops.extend([f"{ROOT}/vendor/lib", ROOT])
    folders = [ROOT, f"{ROOT}/src", f"{ROOT}/vendor/lib/src", f"{ROOT}-two", "src", "C:/p", "/"]
    for number, folder in enumerate(folders):
        attic.write(f"s-{number}", "hello", folder=folder)

    plan = attic.plan()

    assert sorted(one.session for one in plan.new) == ["s-0", "s-1"]
    assert plan.foreign == 5


def test_a_removed_checkout_is_known_from_a_journal(attic: Attic) -> None:
    make_place(attic.journals, root="/gone", entropy=9).start()
    attic.write("s-1", "hello", folder="/gone/src")
    attic.write("s-2", "hello", folder="/elsewhere")
    assert [one.session for one in attic.plan().new] == ["s-1"]

    attic.there.extend(["/gone", "/gone/src"])  # something else is there now
    assert attic.plan().new == ()


def test_a_session_is_ours_by_its_remote(attic: Attic) -> None:
    told = {"cwd": "/away", "git": {"repository_url": "https://example.com/a/b.git"}, "parent_thread_id": "p"}
    line = json.dumps({"type": "session_meta", "payload": told}).encode() + b"\n"
    attic.transcripts.files["/home/.codex/sessions/2026/01/11/rollout-x.jsonl"] = line
    assert attic.plan().foreign == 1
    attic.urls.append("git@example.com:a/b")
    (one,) = attic.plan().new
    assert (one.parent, one.name) == ("p", "x")


def test_what_cannot_be_read_when_it_is_imported_is_left_out(attic: Attic) -> None:
    paths = [attic.write(f"s-{number}", "hello", "more") for number in range(3)]
    plan = attic.plan()
    attic.transcripts.broken.add(paths[0])
    attic.transcripts.cut[paths[1]] = 30

    totals = import_transcripts(attic.place.project, attic.scope, plan)

    assert (totals.sessions, totals.unreadable) == (1, 2)
    assert attic.names() == ["s-2"]


def test_a_half_line_and_a_secret_are_left_out(attic: Attic) -> None:
    path = attic.write("s-1", "my token is ghp_" + "0123456789abcdefghijABCDEFGHIJ0123Zx")
    attic.transcripts.files[path] += b'{"type":"user"'

    assert attic.run().redacted == 1
    (entry,) = find_history(attic.scope.place, "s-1").entries
    assert entry.text == "my token is [redacted: github-pat]"


def test_the_newest_are_listed_first_and_what_is_no_history_is_left_out(attic: Attic) -> None:
    attic.write("s-1", "hello")
    path = attic.write("s-2", "hello")
    attic.transcripts.files[path] = attic.transcripts.files[path].replace(b"2026-01-11", b"2026-01-12")
    attic.write("s-3")
    attic.transcripts.files[f"{TOP}/-p/s-3.jsonl"] = json.dumps({"cwd": ROOT}).encode() + b"\n"
    attic.run()
    attic.documents.replace(f"{FOLDER}/claude/odd.jsonl", b"odd")
    attic.documents.replace(f"{FOLDER}/claude/odd.txt", b"odd")

    assert attic.names() == ["s-2", "s-1", "s-3"]


def test_a_session_is_found_by_the_start_of_its_name(attic: Attic) -> None:
    for name in ("abc", "abcd", "xyz"):
        attic.write(name, f"in {name}")
    attic.run()
    place = attic.scope.place

    assert find_history(place, "x").head.session == "xyz"
    assert find_history(place, "abc").head.session == "abc"
    with pytest.raises(UsageError, match="2 imported sessions start with ab"):
        find_history(place, "ab")
    with pytest.raises(UsageError, match="no imported session is called q"):
        find_history(place, "q")
    attic.documents.replace(f"{FOLDER}/claude/xyz.jsonl", b"")
    with pytest.raises(FormatError):
        find_history(place, "xyz")


def test_files_are_counted_again_after_an_import_that_was_killed(attic: Attic) -> None:
    head = {"v": 1, "host": "claude", "session": "s-1", "files": ["src/a.py"]}
    attic.documents.replace(f"{FOLDER}/claude/s-1.jsonl", json.dumps(head).encode())
    plan = attic.plan()
    assert plan == ImportPlan(is_counted=False)

    import_transcripts(attic.place.project, attic.scope, plan)

    assert attic.documents.read(f"{FOLDER}/files.txt") == b"src/a.py\t1\n"
    assert attic.plan() == ImportPlan()


def test_forgetting_removes_every_file_and_then_the_words(attic: Attic) -> None:
    attic.write("s-1", "hello")
    attic.run()
    attic.documents.replace(f"{FOLDER}/notes.txt", b"ours")

    assert forget_history(attic.scope) == 1
    assert list(attic.documents.list("")) == []
    assert attic.calls == ["sweep", "sweep", "clear"]


def test_words_to_search_are_a_file_that_many_sessions_edited(attic: Attic) -> None:
    place = attic.scope.place
    assert pick_words(place) == ""
    attic.write("s-1", "please fix logins")
    attic.run()
    assert pick_words(place) == "please"
    for number, name in enumerate(("src/a b.py", "src/a b.py", "src/login.py", "src/other.py", "x/login.py")):
        head = {"v": 1, "host": "claude", "session": f"t-{number}"}
        lines = [json.dumps(one) for one in (head, {"kind": "file", "text": name})]
        attic.documents.replace(f"{FOLDER}/claude/t-{number}.jsonl", "\n".join(lines).encode())
    assert pick_words(place) == "login.py"


def test_files_that_disappear_are_left_out(attic: Attic, monkeypatch: pytest.MonkeyPatch) -> None:
    attic.write("s-1", "please")
    attic.run()
    read = attic.documents.read
    reads: list[str] = []

    def fail_second(path: str, *, settled: bool = False) -> bytes:
        reads.append(path)
        if len(reads) > 1:
            raise StorageError("gone")
        return read(path, settled=settled)

    monkeypatch.setattr(attic.documents, "read", fail_second)
    assert pick_words(attic.scope.place) == "please"
    assert list_history(attic.scope.place) == []

    def refuse(folder: str) -> Sequence[str]:
        raise StorageError(folder)

    monkeypatch.setattr(attic.documents, "list", refuse)
    assert list_history(attic.scope.place) == []


def test_a_host_that_deletes_is_named_with_the_days_that_are_left(attic: Attic) -> None:
    attic.write("s-1", "hello")
    attic.transcripts.changed = NOON - timedelta(days=10)
    project = attic.place.project

    (due,) = find_due(project, attic.scope, NOON)
    assert (due.host.name, due.transcripts, due.days) == ("claude", 1, 20)
    assert next(find_due(project, attic.scope, NOON + timedelta(days=40))).days == 0
    attic.run()
    assert list(find_due(project, attic.scope, NOON)) == []
    kept = replace(attic.scope, hosts=attic.scope.hosts[1:])
    assert list(find_due(project, kept, NOON)) == []
