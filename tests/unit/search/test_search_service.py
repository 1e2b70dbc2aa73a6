"""Searching a project: what is new is read once, what changes each time, and the answer says where."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.facts import Fact
from passdown.core.formats.journal import MAX_LINES, JournalLine, render_line
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.merge.rollups import RollupMember, render_rollup
from passdown.core.project.ranking import RANKED
from passdown.core.project.search_query import DocumentKind, SearchQuery, Snippet
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.search import MemorySearch
from passdown.engines.sqlite.search_index import SqliteSearch, open_search
from passdown.errors import StorageError, UsageError
from passdown.ports import search as ports
from passdown.ports.event_log import FileMark
from passdown.ports.search import Hits, SearchFilter, SearchIndex
from passdown.records import field, record, replace
from passdown.services.project import search as service
from passdown.services.project.search import SearchRequest, SearchResults, SearchScope, search
from tests.support.events import make_text
from tests.support.sessions import LEDGER, Place, make_place, with_parts

ARCHIVE = "conductor/sessions/archive"
NAME = "2026-01-10-13-00-manual.md"


class Shelf:
    """A shelf that a test fills, and that counts what is read and listed."""

    def __init__(self) -> None:
        """Begin empty, with a mark that moves with each change."""
        self.marks: dict[str, int] = {"": 1}
        self.content: dict[str, dict[str, tuple[FileMark, bytes | None]]] = {}
        self.read_names: list[str] = []
        self.listed: list[str] = []

    def put(self, name: str, text: str | None, folder: str = "") -> None:
        """Write a file; without a text it cannot be read."""
        self.marks[folder] = mark = max(self.marks.values()) + 1
        data = None if text is None else text.encode()
        self.content.setdefault(folder, {})[name] = (FileMark(len(data or b""), mark * 1000, mark), data)

    def drop(self, name: str, folder: str = "") -> None:
        """Remove a file."""
        self.marks[folder] = max(self.marks.values()) + 1
        del self.content[folder][name]

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give every folder."""
        del known
        return dict(self.marks)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder."""
        self.listed.append(folder)
        return {name: mark for name, (mark, _) in self.content.get(folder, {}).items()}

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a file."""
        self.read_names.append(name)
        found = self.content.get(folder, {}).get(name)
        return found and found[1]


@record
class Desk:
    """A project with shelves."""

    place: Place
    archive: Shelf = field(default_factory=Shelf)
    streams: Shelf = field(default_factory=Shelf)
    loops: Shelf = field(default_factory=Shelf)
    history: Shelf = field(default_factory=Shelf)
    ended: Shelf = field(default_factory=Shelf)
    index: SearchIndex = field(default_factory=MemorySearch)

    @property
    def scope(self) -> SearchScope:
        """What a search works with."""
        sources: dict[DocumentKind, ports.SearchSource] = {
            DocumentKind.ARCHIVE: self.archive,
            DocumentKind.EVENT: self.place.log,
            DocumentKind.STREAM: self.streams,
            DocumentKind.LOOP: self.loops,
            DocumentKind.HISTORY: self.history,
            DocumentKind.JOURNAL: self.ended,
        }
        return SearchScope(index=self.index, sources=sources)

    def event(self, name: str = "a.md", folder: str = "", **said: str) -> str:
        """Write an event; give its text."""
        text = make_text(**said)
        assert self.place.log.create(folder, name, text.encode())
        return text

    def ask(self, text: str, limit: int = 10, size: int = 80, **wanted: object) -> SearchResults:
        """Search."""
        asked = SearchRequest(text=text, wanted=SearchFilter(**wanted), limit=limit, size=size)  # type: ignore[arg-type]
        return search(self.place.project, self.scope, asked)


@pytest.fixture
def desk() -> Desk:
    return Desk(place=make_place())


def names(answer: SearchResults) -> list[str]:
    assert answer.total == len(answer.matches)
    return [match.name for match in answer.matches]


def test_an_event_is_found_with_all_that_is_known_of_it(desk: Desk) -> None:
    desk.event(now="Write the parser", id="ev-1")

    (match,) = desk.ask("PARSER").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.EVENT, "ev-1", "toast")
    assert match.path == "thoughts/shared/handoffs/events/a.md"
    assert match.at == datetime(2026, 1, 10, 13, tzinfo=UTC)
    assert match.command == "passdown log show ev-1"
    assert match.snippet == Snippet(7, 'now: "Write the parser"', ("parser",))
    assert not match.is_retracted


def test_a_record_is_found_by_its_file(desk: Desk) -> None:
    desk.archive.put(
        NAME, "---\ndate: 2026-01-10T13:00:07Z\nsession_id: s-9\n---\n\n# Handoff\n\nUse SQLite\n"
    )

    (match,) = desk.ask("sqlite").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.ARCHIVE, NAME.removesuffix(".md"), "s-9")
    assert (match.path, match.at) == (f"{ARCHIVE}/{NAME}", datetime(2026, 1, 10, 13, 0, 7, tzinfo=UTC))
    assert match.command == "passdown handoff show 2026-01-10-13-00-manual"
    assert match.snippet.line == 8


def test_a_record_of_a_session_with_a_journal_names_the_agent(desk: Desk) -> None:
    account = desk.place.start()
    desk.archive.put(NAME, f"---\nsession_id: {account.session}\n---\nalpha\n")
    desk.archive.put("x.md", f"---\nsession_id: {account.session}\n---\nalpha beta\n")
    desk.archive.put("y.md", "---\nsession_id: ../../etc\n---\nalpha beta gamma\n")

    found = {match.name: (match.agent, match.at) for match in desk.ask("alpha").matches}
    assert found == {
        NAME.removesuffix(".md"): (account.agent, datetime(2026, 1, 10, 13, tzinfo=UTC)),
        "x": (account.agent, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=3)),
        "y": ("../../etc", datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=4)),
    }


def test_a_stream_is_found_by_its_name_and_again_when_it_changed(desk: Desk) -> None:
    head = "---\ndate: 2026-01-09T00:00:00Z\n---\n\n# Work Stream: auth\n\n## Ledger\n"
    updated = "**Updated:** 2026-01-10T00:00:00Z\n"
    agent = "\n### Checkpoints\n**Agent:** crisp-1\n"
    desk.streams.put("auth/current.md", f"{head}{updated}**Goal:** passkeys\n{agent}")
    (match,) = desk.ask("passkeys").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.STREAM, "auth", "crisp-1")
    assert match.at == datetime(2026, 1, 10, tzinfo=UTC)
    assert match.path == "thoughts/shared/handoffs/auth/current.md"
    assert match.command == "passdown handoff show auth"

    desk.streams.put("auth/current.md", f"{head}**Goal:** passwords\n")
    assert names(desk.ask("passkeys")) == []
    (match,) = desk.ask("passwords").matches
    assert (match.at, match.agent) == (datetime(2026, 1, 9, tzinfo=UTC), "")


def test_a_stream_that_cannot_be_parsed_is_found_all_the_same(desk: Desk) -> None:
    desk.streams.put("new/current.md", "---\nformat: 99\n---\n\n# Work Stream: new\n\n## Ledger\nalpha\n")

    (match,) = desk.ask("alpha").matches
    assert (match.name, match.at.year, match.agent) == ("new", 1970, "")


def test_live_ledgers_come_first_and_are_read_each_time(desk: Desk) -> None:
    account = desk.place.start()
    desk.place.say(account, FactKind.NOW, "Write the parser")
    desk.event(now="parser parser parser")

    ledger, event = desk.ask("parser").matches
    assert (ledger.kind, ledger.name, ledger.agent) == (DocumentKind.LEDGER, LEDGER, account.agent)
    assert (ledger.command, ledger.snippet.text) == (f"cat {LEDGER}", "- Write the parser")
    assert event.kind is DocumentKind.EVENT
    desk.place.edit("- Write the parser", "- Write the lexer")
    assert [match.kind for match in desk.ask("parser").matches] == [DocumentKind.EVENT]
    assert [match.kind for match in desk.ask("lexer").matches] == [DocumentKind.LEDGER]


def test_prompts_are_found_in_the_journal_and_what_the_ledger_shows_only_there(desk: Desk) -> None:
    account = desk.place.start()
    desk.place.say(account, FactKind.NOW, "Write the parser")
    desk.place.say(account, FactKind.NOTE, "The lexer is slow")

    (match,) = desk.ask("lexers").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.JOURNAL, account.session, account.agent)
    assert (match.is_local, match.why) == (True, "all words, some in another form")
    assert match.snippet.text == "note: The lexer is slow"
    assert [one.kind for one in desk.ask("parser").matches] == [DocumentKind.LEDGER]
    assert desk.ask("lexer", kinds=frozenset({DocumentKind.LEDGER})).matches == ()
    assert len(desk.ask("lexer", kinds=frozenset({DocumentKind.JOURNAL})).matches) == 1


def make_journal(*facts: tuple[FactKind, str], minute: int = 0) -> str:
    at = datetime(2026, 1, 9, 12, minute, tzinfo=UTC)
    lines = [
        JournalLine(seq=seq, fact=Fact(kind.value, text, at, "crane-00000001"))
        for seq, (kind, text) in enumerate(facts, 1)
    ]
    return "".join(map(render_line, lines))


@pytest.mark.requirement("C129", "C133")
def test_what_only_an_archived_journal_says_is_read_once_and_found(desk: Desk) -> None:
    said = make_journal((FactKind.NOTE, "The lexer is slow"), (FactKind.DONE, "Wrote the parser"))
    desk.ended.put("s-1.jsonl", said, "2026-01")
    desk.ended.put("s-2.jsonl", make_journal((FactKind.DONE, "Wrote the lexer")), "2026-01")
    desk.ended.put("s-3.jsonl", "\xff no journal\n", "2026-01")
    desk.ended.put("s-4.jsonl", said + "\n" * MAX_LINES, "2026-01")

    (match,) = desk.ask("lexers").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.JOURNAL, "s-1", "crane-00000001")
    assert (match.at, match.is_local) == (datetime(2026, 1, 9, 12, tzinfo=UTC), True)
    assert match.snippet.text == "note: The lexer is slow"
    assert match.path.endswith("journal/ended/2026-01/s-1.jsonl")
    assert match.path.rpartition("/")[2] in match.command
    assert desk.ask("parser").matches == ()  # its event says so
    assert sorted(desk.ended.read_names) == ["s-1.jsonl", *(f"s-{number}.jsonl" for number in (1, 2, 3, 4))]

    desk.ended.drop("s-1.jsonl", "2026-01")
    assert desk.ask("lexers").matches == ()


def test_a_running_session_comes_before_archived_journals(desk: Desk) -> None:
    desk.ended.put("s-1.jsonl", make_journal((FactKind.NOTE, "lexer lexer lexer")), "2026-01")
    account = desk.place.start()
    desk.place.say(account, FactKind.NOTE, "The lexer is slow in all of the tests that we have")

    assert names(desk.ask("lexer")) == [account.session, "s-1"]


def test_results_with_some_words_are_one_list_and_weak_ones_come_last(desk: Desk) -> None:
    account = desk.place.start()
    desk.place.say(account, FactKind.NOW, "Sing with giraffes")
    desk.event(name="a.md", now="The giraffe is hungry", id="ev-1")
    for number in range(9):
        desk.event(name=f"{number}.md", now=f"hungry {number}", id=f"ev-h{number}")

    answer = desk.ask("why do giraffes sing at the hungry telescope", limit=4)
    assert [(one.kind, one.is_weak) for one in answer.matches[:2]] == [
        (DocumentKind.LEDGER, False),
        (DocumentKind.EVENT, False),
    ]
    assert answer.matches[0].why == "not hungry, telescope"
    assert all(one.is_weak for one in answer.matches[2:])
    assert (len(answer.matches), answer.total, answer.weak) == (4, 11, 9)


def test_the_best_ledger_comes_first_then_the_newest(desk: Desk) -> None:
    def put(name: str, text: str, updated: str = "") -> None:
        head = f"---\nupdated: {updated}\nsession_id: s-{name}\n---\n" if updated else ""
        desk.place.write(f"{head}{text}\n", f"conductor/sessions/active/{name}/LEDGER.md")

    put("a", "alpha beta", "2026-01-10T01:00:00Z")
    put("b", "alpha beta", "2026-01-10T02:00:00Z")
    put("c", "alpha alpha", "2026-01-10T00:00:00Z")
    put("d", "gamma")
    for other in "efghij":
        put(other, "delta", "2026-01-10T00:00:00Z")
    desk.place.write("alpha", "conductor/sessions/active/notes.txt")

    assert [match.agent for match in desk.ask("alpha").matches] == ["s-c", "s-b", "s-a"]
    assert desk.ask("gamma").matches[0].at == desk.place.project.now()
    answer = desk.ask("alpha", limit=2)
    assert ([match.agent for match in answer.matches], answer.total) == (["s-c", "s-b"], 3)
    assert [match.agent for match in desk.ask("alpha", agent="s-a").matches] == ["s-a"]
    assert [match.agent for match in desk.ask("alpha", agent="s").matches] == ["s-c", "s-b", "s-a"]
    since = datetime(2026, 1, 10, 2, tzinfo=UTC)
    assert [match.agent for match in desk.ask("alpha", since=since).matches] == ["s-b"]


def test_ledgers_that_cannot_be_read_are_left_out(desk: Desk) -> None:
    desk.event(now="alpha")
    desk.place.write("alpha", "conductor/sessions/active")
    assert [match.kind for match in desk.ask("alpha").matches] == [DocumentKind.EVENT]

    class Unreadable:
        """Documents that are listed and cannot be read."""

        def list(self, folder: str) -> list[str]:
            """Name one."""
            return [f"{folder}/LEDGER.md"]

        def read(self, path: str, *, settled: bool = False) -> bytes:
            """Refuse."""
            raise StorageError(f"could not read {path} ({settled})")

    project = with_parts(desk.place, documents=Unreadable())
    answer = search(project, desk.scope, SearchRequest(text="alpha"))
    assert [match.kind for match in answer.matches] == [DocumentKind.EVENT]


def test_only_the_kinds_that_are_wanted_are_brought_up_to_date(desk: Desk) -> None:
    account = desk.place.start()
    desk.place.say(account, FactKind.NOW, "alpha")
    desk.event(now="alpha")
    desk.archive.put(NAME, "alpha\n")

    assert [match.kind for match in desk.ask("alpha", kinds=frozenset({DocumentKind.LEDGER})).matches] == [
        DocumentKind.LEDGER
    ]
    assert [match.kind for match in desk.ask("alpha", kinds=frozenset({DocumentKind.EVENT})).matches] == [
        DocumentKind.EVENT
    ]
    assert desk.archive.read_names == []
    kinds = frozenset({DocumentKind.ARCHIVE, DocumentKind.LEDGER})
    assert [match.kind for match in desk.ask("alpha", kinds=kinds).matches] == [
        DocumentKind.LEDGER,
        DocumentKind.ARCHIVE,
    ]


def test_what_was_read_is_not_read_again(desk: Desk) -> None:
    for number in range(5):
        desk.archive.put(f"{number}.md", f"alpha n{number}\n", folder=f"day{number}")
    desk.ask("none")
    assert sorted(desk.archive.read_names) == [f"{number}.md" for number in range(5)]
    desk.archive.read_names.clear()
    desk.archive.listed.clear()

    desk.ask("none")
    assert (desk.archive.read_names, desk.archive.listed) == ([], [])
    desk.archive.put("new.md", "alpha new\n", folder="day3")
    assert names(desk.ask("new")) == ["new"]
    assert desk.archive.listed == ["day3"]
    assert desk.archive.read_names == ["new.md", "new.md"]  # once for its words, once for its line


def test_a_folder_that_changed_just_now_is_listed_again(desk: Desk) -> None:
    desk.archive.put(NAME, "alpha\n")
    desk.archive.marks[""] = 0
    desk.ask("alpha")
    desk.ask("alpha")

    assert desk.archive.listed == ["", ""]
    assert desk.archive.read_names == [NAME, NAME, NAME]  # read once, shown twice


def test_what_is_gone_is_not_found(desk: Desk) -> None:
    desk.archive.put("a.md", "alpha\n")
    desk.archive.put("b.md", "alpha beta\n", folder="day")
    assert set(names(desk.ask("alpha"))) == {"a", "b"}

    desk.archive.drop("a.md")
    del desk.archive.marks["day"]
    assert names(desk.ask("alpha")) == []


def test_what_is_gone_since_it_was_found_is_left_out(desk: Desk) -> None:
    desk.archive.put("a.md", "alpha\n")
    desk.archive.put("b.md", "alpha beta\n")
    desk.ask("alpha")
    mark, _ = desk.archive.content[""]["a.md"]
    desk.archive.content[""]["a.md"] = (mark, None)

    assert names(desk.ask("alpha")) == ["b"]


def test_a_file_that_cannot_be_read_is_tried_again(desk: Desk) -> None:
    desk.archive.put("a.md", None)
    assert names(desk.ask("alpha")) == []
    mark, _ = desk.archive.content[""]["a.md"]
    desk.archive.content[""]["a.md"] = (mark, b"alpha\n")
    desk.archive.marks[""] += 1

    assert names(desk.ask("alpha")) == ["a"]


def rollup_of(*texts: str) -> str:
    members = [(RollupMember(f"{number}.md", text.encode()), number) for number, text in enumerate(texts)]
    sources = [(member, parse_event_facts(member.data, member.name)) for member, _ in members]
    day = datetime(2026, 1, 10, tzinfo=UTC).date()
    return render_rollup(day, [(member, source) for member, source in sources if source])


def test_archived_events_are_found_in_their_rollup(desk: Desk) -> None:
    texts = [make_text(now=f"alpha n{number}", id=f"ev-{number}") for number in range(4)]
    desk.place.log.create("", "rollup-0.jsonl", rollup_of(*texts).encode())
    desk.place.log.create("", "bad.md", b"no event, but alpha")

    assert set(names(desk.ask("alpha"))) == {f"ev-{number}" for number in range(4)}
    (match,) = desk.ask("n2").matches
    assert match.snippet == Snippet(7, 'now: "alpha n2"', ("n2",))
    assert match.path == "thoughts/shared/handoffs/events/rollup-0.jsonl"


def test_an_event_stays_found_while_it_moves_into_a_rollup(desk: Desk) -> None:
    text = desk.event("a.md", now="alpha", id="ev-1")
    assert names(desk.ask("alpha")) == ["ev-1"]

    desk.place.log.archive("", ["a.md"], "2026-01-10")
    desk.place.log.create("", "rollup-0.jsonl", rollup_of(text).encode())
    (match,) = desk.ask("alpha").matches
    assert match.path.endswith("/rollup-0.jsonl")


def test_an_event_is_found_in_a_rollup_in_which_another_names_its_hash(desk: Desk) -> None:
    text = make_text(now="alpha")
    source = parse_event_facts(text.encode(), "a.md")
    assert source is not None
    before = make_text("2026-01-10T12:00:00Z", now=f"see {source.rank.hash}")
    rollup = rollup_of(before, text)
    assert rollup.index("see") < rollup.index("alpha")
    desk.place.log.create("", "rollup-0.jsonl", rollup.encode())

    assert desk.ask("alpha").matches[0].snippet.text == 'now: "alpha"'


class Changed:
    """A log whose rollup holds something else when it is read again."""

    def __init__(self, log: MemoryEventLog, data: bytes) -> None:
        """Answer with the log's files, and with these bytes from the second reading on."""
        self._log = log
        self._data = data
        self._readings = 0
        self.folders = log.folders
        self.files = log.files

    def read(self, folder: str, name: str) -> bytes | None:
        """Give the file, then the other bytes."""
        self._readings += 1
        return self._log.read(folder, name) if self._readings == 1 else self._data


@pytest.mark.parametrize("with_key", [False, True])
def test_an_event_that_left_its_rollup_is_left_out(desk: Desk, with_key: bool) -> None:
    text = make_text(now="alpha")
    rollup = rollup_of(text)
    desk.place.log.create("", "rollup-0.jsonl", rollup.encode())
    changed = rollup.replace("alpha", "gamma").rstrip("\n") if with_key else ""
    scope = replace(desk.scope, sources={DocumentKind.EVENT: Changed(desk.place.log, changed.encode())})

    assert search(desk.place.project, scope, SearchRequest(text="alpha")).matches == ()


def test_a_retracted_event_is_found_as_such(desk: Desk) -> None:
    desk.event("a.md", now="alpha", id="ev-1")
    text = make_text("2026-01-11T00:00:00Z", retracted_events=["ev-1"], type="retraction")
    desk.place.log.create("", "b.md", text.encode())

    (match,) = desk.ask("alpha").matches
    assert match.is_retracted


def test_a_name_is_never_more_than_a_word_of_the_command(desk: Desk) -> None:
    text = desk.event("a.md", now="alpha", id="$(touch x)")
    desk.archive.put("; rm -rf x.md", "alpha beta\n")
    desk.archive.put("-h.md", "alpha beta gamma\n")
    source = parse_event_facts(text.encode(), "a.md")
    assert source is not None

    found = {match.name: match.command for match in desk.ask("alpha").matches}
    assert found == {
        "$(touch x)": f"passdown log show {source.rank.hash[:16]}",
        "; rm -rf x": f"passdown handoff show '{ARCHIVE}/; rm -rf x.md'",
        "-h": f"passdown handoff show {ARCHIVE}/-h.md",
    }


@pytest.mark.parametrize("text", ["", "  ", '"*" ... --', "\ud800"])
def test_a_query_without_a_word_is_refused(desk: Desk, text: str) -> None:
    with pytest.raises(UsageError, match="nothing to search for") as raised:
        desk.ask(text)
    assert raised.value.hint


def test_a_query_of_too_many_words_is_refused(desk: Desk) -> None:
    desk.event(now="alpha")
    most = " ".join(f"n{number}" for number in range(63))
    (match,) = desk.ask(f"{most} alpha").matches
    assert match.is_weak

    with pytest.raises(UsageError, match="too many words"):
        desk.ask(".".join(f"n{number}" for number in range(65)))


def test_an_agent_that_is_no_text_finds_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.event(now="alpha")
    index = open_search(str(tmp_path / "search.db"), shared_memory=False)
    assert replace(desk, index=index).ask("alpha", agent="\udcff").total == 0
    index.close()


def test_more_than_can_be_ranked_is_said_to_be_a_least_number(desk: Desk) -> None:
    class Many(MemorySearch):
        """An index that knows of as many as are ranked."""

        def find(self, query: SearchQuery, wanted: SearchFilter, limit: int) -> Hits:
            """Find what there is, and say that there is more."""
            return super().find(query, wanted, limit)._replace(total=RANKED, is_least=True)

    desk.event(now="alpha")
    answer = replace(desk, index=Many()).ask("alpha", limit=5)
    assert (len(answer.matches), answer.total, answer.is_least) == (1, RANKED, True)
    assert not desk.ask("alpha").is_least


def test_every_file_is_a_step(desk: Desk) -> None:
    steps: list[tuple[int, int]] = []
    for number in range(3):
        desk.event(f"{number}.md", now=f"alpha {number}")

    search(desk.place.project, desk.scope, SearchRequest(text="alpha"), lambda *step: steps.append(step))

    assert steps == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(("name", "most"), [("BATCH", 10), ("BATCH_CHARACTERS", 10 * len("alpha n00\n"))])
def test_a_reading_that_is_cut_off_goes_on_where_it_ended(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(service, name, most)
    for number in range(35):
        desk.archive.put(f"{number:02}.md", f"alpha n{number:02}\n")
    desk.archive.put("gone.md", "alpha\n")
    index = open_search(str(tmp_path / "search.db"), shared_memory=False)
    desk = replace(desk, index=index)

    def cut_off(number: int, total: int) -> None:
        assert total == 36
        if number == 25:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        search(desk.place.project, desk.scope, SearchRequest(text="alpha"), cut_off)
    desk.archive.read_names.clear()
    desk.archive.drop("gone.md")

    assert desk.ask("alpha", limit=0).total == 35
    assert desk.archive.read_names == [f"{number:02}.md" for number in range(20, 35)]
    index.close()


def test_both_indexes_answer_alike(desk: Desk, tmp_path: Path) -> None:
    words = ["alpha", "beta", "gamma", "delta"]
    for number in range(40):
        said = " ".join(words[at] for at in range(4) if number >> at & 1) + f" n{number}"
        desk.event(f"{number:02}.md", now=said, id=f"ev-{number}")
    index = open_search(str(tmp_path / "search.db"), shared_memory=False)

    for query in ("alpha", "alpha beta", '"beta gamma"', "n1*", "delta -n8"):
        here, there = desk.ask(query, limit=50), replace(desk, index=index).ask(query, limit=50)
        assert here == there
        assert here.total
    assert isinstance(index, SqliteSearch)
    index.close()


@pytest.mark.parametrize("text", ["alpha\n", "", "<!-- turn 1 v9 -->\nalpha\n"])
def test_a_loop_is_found_even_if_it_has_no_turn_that_can_be_read(desk: Desk, text: str) -> None:
    desk.loops.put("habits/loops/specs.md", f"# Alpha\n{text}")

    (match,) = desk.ask("alpha").matches

    assert (match.kind, match.name) == (DocumentKind.LOOP, "habits/specs")
    assert match.command.endswith("habits/loops/specs.md")


@pytest.mark.requirement("C134")
def test_an_imported_session_is_found_by_what_people_see_of_it(desk: Desk) -> None:
    head = '{"v":1,"host":"claude","session":"s-1","ended":"2026-01-10T12:00:00Z"}'
    entries = (
        '{"kind":"prompt","text":"where do\\nsessions live?"}\n{"kind":"command","text":"make","exit":2}'
    )
    desk.history.put("claude/s-1.jsonl", f"{head}\n{entries}\n")
    desk.history.put("claude/odd name.jsonl", "nothing that can be read")

    (match,) = desk.ask("sessions").matches
    assert (match.kind, match.name, match.agent) == (DocumentKind.HISTORY, "s-1", "claude")
    assert match.is_local
    assert match.path == ".git/passdown/history/claude/s-1.jsonl"
    assert match.at == datetime(2026, 1, 10, 12, tzinfo=UTC)
    assert match.command == "passdown history show s-1"
    assert match.snippet == Snippet(5, "sessions live?", ("sessions",))
    assert desk.ask("user").matches[0].snippet.text == "user: where do"
    assert desk.ask("prompt").total == 0, "how it is stored is not searched"
    assert desk.ask("nothing").total == 0
    assert desk.ask("sessions", kinds=frozenset({DocumentKind.EVENT})).total == 0
