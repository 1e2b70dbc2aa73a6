"""What every `SearchIndex` implementation must do."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.project.ranking import RANKED, MatchRank
from passdown.core.project.search_query import DocumentKind, parse_query
from passdown.ports.event_log import FileMark
from passdown.ports.search import (
    Hit,
    SearchChange,
    SearchDocument,
    SearchFile,
    SearchFilter,
    SearchIndex,
)

_START = datetime(2026, 1, 10, 12, tzinfo=UTC)
_HOSTILE = (
    '"',
    '""',
    '"*',
    "*",
    "NOT alpha",
    "alpha NOT beta",
    "alpha OR gamma",
    "alpha AND",
    "NEAR(alpha beta, 1)",
    "text:alpha",
    "words:alpha",
    "-text:alpha",
    "{text}:alpha",
    "^alpha",
    "alpha + beta",
    "(alpha",
    "alpha)",
    "alpha'; DROP TABLE words; --",
    "alpha\0beta",
    "rank:bm25(10)",
    "'alpha' UNION SELECT 1",
    ":match ?1 $x @y",
    "\\alpha \\\\",
    "alpha\n\tbeta",
    "\ud800 alpha",
)


class SearchConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> SearchIndex:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: SearchIndex) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SearchIndex]:
        """Return an empty index."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_an_empty_index_can_be_asked(self, index: SearchIndex) -> None:
        """It is empty, and finds nothing."""
        assert (index.folders(DocumentKind.EVENT), index.files(DocumentKind.EVENT, "")) == ({}, {})
        assert index.find(parse_query("alpha"), SearchFilter(), 5)[:2] == ((), 0)

    def test_folders_and_files_are_given_back_as_they_were(self, index: SearchIndex) -> None:
        """Marks are preserved exactly, separately for each source."""
        mark = FileMark(2**62, 2**63 - 1, 2**63 - 1)
        _apply(index, [_file("a.md", _document("alpha"))._replace(mark=mark)], {"": 7, "day": 2**62})
        _apply(index, [_file("b.md")], {"": 8}, kind=DocumentKind.ARCHIVE)

        assert index.folders(DocumentKind.EVENT) == {"": 7, "day": 2**62}
        assert index.folders(DocumentKind.ARCHIVE) == {"": 8}
        assert index.files(DocumentKind.EVENT, "") == {"a.md": mark}
        assert index.files(DocumentKind.ARCHIVE, "") == {"b.md": FileMark(1, 2, 3)}
        assert index.files(DocumentKind.STREAM, "") == {}

    def test_a_folder_whose_mark_is_not_known_yet_is_not_listed(self, index: SearchIndex) -> None:
        """What is applied in batches counts as listed with the last batch."""
        _apply(index, [_file("a.md", _document("alpha"))])

        assert index.folders(DocumentKind.EVENT) == {}
        assert index.files(DocumentKind.EVENT, "") == {"a.md": FileMark(1, 2, 3)}

    def test_a_hit_says_what_was_found_and_where(self, index: SearchIndex) -> None:
        """Everything stored about a document is returned."""
        document = _document("Alpha beta", agent="crisp-1", name="ev-1", minutes=3)
        _apply(index, [_file("a.md", document, folder="2026-01-10")])

        hit = Hit(
            DocumentKind.EVENT,
            document.key[:32],
            "ev-1",
            document.at,
            "crisp-1",
            is_retracted=False,
            folder="2026-01-10",
            file="a.md",
        )
        (best,), total, weak, is_least, _ = index.find(parse_query("ALPHA"), SearchFilter(), 5)
        assert (best._replace(score=0), total, weak, is_least) == (hit, 1, 0, False)

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("alpha", "14"),
            ("ALPHA beta", "1"),
            ("beta alpha", "1"),
            ('"alpha beta"', "1"),
            ('"beta alpha"', ""),
            ("alp", ""),
            ("alp*", "14"),
            ('"alpha be"*', "1"),
            ("gamma_delta.py", "2"),
            ("delta_gamma", ""),
            ("café", "3"),
            ("CAFE", "3"),
            ("straße", "3"),
            ("STRASSE", "3"),
            ("設計", "3"),
            ("計設", ""),
            ("計", "3"),
            ("alpha alpha alpha", "14"),
            ("none", ""),
            ("alpha none", ""),
            ("...", ""),
            ("x" * 100, "4"),
            ("x" * 63, ""),
            ("x" * 70 + "*", "4"),
        ],
    )
    def test_a_query_finds_what_holds_all_of_its_terms(
        self, index: SearchIndex, query: str, found: str
    ) -> None:
        """Case, accents and order do not matter; phrases and prefixes do."""
        texts = ("Alpha beta.", "in gamma_delta.py", "Un café, Straße; 再設計する", f"alpha {'x' * 100}")
        files = [_file(f"{number}.md", _document(text)) for number, text in enumerate(texts, 1)]
        _apply(index, files)

        assert "".join(sorted(_exact(index, query))).replace(".md", "") == found

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("why do we keep sessions in redis", "dabc"),
            ("keeping session redis", "dacb"),
            ("sessions", "bdc"),
            ("session", "cbd"),
            ("redis kafka", "da"),
            ('"sessions are" redis', "db"),
            ("keep_sessions redis", "da"),
            ("we do", ""),
        ],
    )
    def test_a_question_finds_what_holds_its_words_in_any_form(
        self, index: SearchIndex, query: str, found: str
    ) -> None:
        """All words come before some of them, and an exact word before another form of it."""
        texts = {
            "a": "Redis is one more thing to run, and it must be watched by somebody",
            "b": "Sessions are short",
            "c": "A session of somebody else",
            "d": "Sessions are kept in Redis, so keep it running",
            "e": "Something else altogether that is not asked for",
        }
        _apply(index, [_file(name, _document(text)) for name, text in texts.items()])

        assert "".join(_names(index, query)) == found

    @pytest.mark.parametrize("query", _HOSTILE)
    def test_no_query_is_more_than_its_words(self, index: SearchIndex, query: str) -> None:
        """Operators, quotes and filters count as separators or words."""
        texts = (
            "alpha",
            "beta",
            "alpha beta",
            "not alpha and or near text words",
            "near alpha beta 1",
            "alpha drop table words",
        )
        _apply(index, [_file(f"{number}.md", _document(text)) for number, text in enumerate(texts)])

        terms = parse_query(query).terms
        words = {word for term in terms for word in term.words}
        expected = {f"{number}.md" for number, text in enumerate(texts) if terms and words <= {*text.split()}}
        assert set(_exact(index, query)) <= expected
        if all(len(term.words) == 1 for term in terms):
            assert set(_exact(index, query)) == expected

    def test_the_best_answer_comes_first_then_the_newest(self, index: SearchIndex) -> None:
        """A rare word weighs more than a common one, and a short document more than a long one."""
        filler = " ".join(f"word{number}" for number in range(60))
        texts = {
            "long": (f"needle {filler}", 9),
            "often": ("needle needle needle other things", 0),
            "old": ("one needle other things", 1),
            "new": ("one needle other things here".removesuffix(" here") + ".", 2),
        }
        others = {f"other {number}": (filler, number) for number in range(20)}
        files = [
            _file(name, _document(text, minutes=minutes))
            for name, (text, minutes) in (texts | others).items()
        ]
        _apply(index, files)

        assert _names(index, "needle") == ["often", "new", "old", "long"]

    def test_the_limit_cuts_and_the_total_counts(self, index: SearchIndex) -> None:
        """All hits are counted, up to a limit."""
        documents = [_document(f"alpha n{number}", minutes=number) for number in range(RANKED + 5)]
        _apply(index, [_file("a.md", *documents[:12]), _file("b.md", *documents[12:])])

        best, total, _, is_least, _ = index.find(parse_query("alpha"), SearchFilter(), 3)
        assert is_least
        assert ([hit.at for hit in best], total) == ([one.at for one in documents[: RANKED + 1 : -1]], RANKED)
        found = index.find(parse_query("alpha n1*"), SearchFilter(), 0)
        assert (found.best, found.total) == ((), 1 + 10 + 100 + 1000)

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (SearchFilter(), "abcd"),
            (SearchFilter(kinds=frozenset({DocumentKind.EVENT})), "ab"),
            (SearchFilter(kinds=frozenset({DocumentKind.ARCHIVE, DocumentKind.STREAM})), "cd"),
            (SearchFilter(kinds=frozenset({DocumentKind.LEDGER})), ""),
            (SearchFilter(agent="crisp"), "ac"),
            (SearchFilter(agent="crisp-1"), "a"),
            (SearchFilter(agent="cris"), ""),
            (SearchFilter(agent="cr%"), ""),
            (SearchFilter(since=_START + timedelta(minutes=2)), "bcd"),
            (SearchFilter(since=_START + timedelta(minutes=2), agent="crisp"), "c"),
        ],
    )
    def test_what_is_wanted_narrows_down(self, index: SearchIndex, wanted: SearchFilter, found: str) -> None:
        """It filters by kind, by agent with or without its digits, and by time."""
        _apply(index, [_file("a", _document("alpha", agent="crisp-1", minutes=1))])
        _apply(index, [_file("b", _document("alpha ", agent="toast", minutes=2))])
        _apply(index, [_file("c", _document("alpha.", agent="crisp", minutes=3))], kind=DocumentKind.ARCHIVE)
        _apply(index, [_file("d", _document("alpha!", agent="", minutes=4))], kind=DocumentKind.STREAM)

        assert "".join(sorted(_names(index, "alpha", wanted))) == found

    def test_what_is_gone_is_not_found(self, index: SearchIndex) -> None:
        """A deleted file, a deleted folder, and a file with other content."""
        _apply(
            index,
            [
                _file("a.md", _document("alpha a")),
                _file("b.md", _document("alpha b")),
                _file("c.md", _document("alpha c"), folder="day"),
            ],
            {"": 1, "day": 2},
        )

        _apply(index, [_file("b.md", _document("beta b"))], {"day": None}, gone=[("", "a.md"), ("x", "y")])

        assert (_names(index, "alpha"), _names(index, "beta")) == ([], ["b.md"])
        assert index.folders(DocumentKind.EVENT) == {"": 1}
        assert index.files(DocumentKind.EVENT, "day") == {}
        _apply(index, [_file("d.md", _document("alpha a"))])
        assert _names(index, "alpha") == ["d.md"]

    def test_a_document_in_several_files_is_one(self, index: SearchIndex) -> None:
        """It stays while one file holds it: archiving moves an event into a rollup."""
        one, two = _document("alpha one"), _document("alpha two")
        _apply(index, [_file("b.md", one)])
        _apply(index, [_file("a.jsonl", one, two)], gone=[("", "b.md")])

        assert _names(index, "one") == ["a.jsonl"]
        assert _names(index, "alpha") == ["a.jsonl"] * 2
        _apply(index, [_file("a.jsonl", two)])
        assert (_names(index, "one"), _names(index, "two")) == ([], ["a.jsonl"])

    def test_the_same_words_on_two_shelves_are_two_documents(self, index: SearchIndex) -> None:
        """Each is removed on its own."""
        _apply(index, [_file("a.md", _document("alpha"))])
        _apply(index, [_file("a.md", _document("alpha"))], kind=DocumentKind.STREAM)
        assert _names(index, "alpha") == ["a.md"] * 2

        _apply(index, gone=[("", "a.md")])
        assert [hit.kind for hit in index.find(parse_query("alpha"), SearchFilter(), 5).best] == [
            DocumentKind.STREAM
        ]

    def test_a_retracted_document_is_found_as_such(self, index: SearchIndex) -> None:
        """It is named by id or start of its hash; without the retraction it holds again."""
        by_name, by_hash = _document("alpha", name="ev-1"), _document("alpha beta", name="ev-2")
        taking_back = _document("gamma", name="ev-3")._replace(retracted=("ev-1", by_hash.key[:16]))
        _apply(index, [_file("a.md", by_name), _file("b.md", by_hash), _file("c.md", taking_back)])
        found = {
            hit.name: hit.is_retracted for hit in index.find(parse_query("alpha"), SearchFilter(), 5).best
        }
        assert found == {"ev-1": True, "ev-2": True}

        _apply(index, gone=[("", "c.md")])
        assert not any(hit.is_retracted for hit in index.find(parse_query("alpha"), SearchFilter(), 5).best)

    def test_a_change_that_fails_leaves_nothing_behind(self, index: SearchIndex) -> None:
        """All changes made inside are kept, or none."""
        _apply(index, [_file("a.md", _document("alpha"))], {"": 1})

        def fail() -> None:
            with index.changing():
                index.apply(
                    SearchChange(DocumentKind.EVENT, {"": 2}, [("", "a.md")], [_file("b", _document("beta"))])
                )
                raise InterruptedError

        with pytest.raises(InterruptedError):
            fail()

        assert (_names(index, "alpha"), _names(index, "beta")) == (["a.md"], [])
        assert index.folders(DocumentKind.EVENT) == {"": 1}
        _apply(index, [_file("b.md", _document("beta"))])
        assert _names(index, "beta") == ["b.md"]


def _document(text: str, *, agent: str = "toast", name: str = "", minutes: int = 0) -> SearchDocument:
    key = hashlib.sha256(f"{text} {minutes}".encode()).hexdigest()
    return SearchDocument(key, name, _START + timedelta(minutes=minutes), agent, text)


def _file(name: str, *documents: SearchDocument, folder: str = "") -> SearchFile:
    return SearchFile(folder, name, FileMark(1, 2, 3), documents)


def _apply(
    index: SearchIndex,
    found: Sequence[SearchFile] = (),
    folders: Mapping[str, int | None] | None = None,
    *,
    gone: Sequence[tuple[str, str]] = (),
    kind: DocumentKind = DocumentKind.EVENT,
) -> None:
    with index.changing():
        index.apply(SearchChange(kind, folders or {}, gone, found))


def _exact(index: SearchIndex, query: str) -> list[str]:
    """Return the documents that hold all terms exactly."""
    return [
        hit.file
        for hit in index.find(parse_query(query), SearchFilter(), 50).best
        if hit.rank is MatchRank.ALL
    ]


def _names(index: SearchIndex, query: str, wanted: SearchFilter | None = None) -> list[str]:
    hits = index.find(parse_query(query), wanted or SearchFilter(), 50)
    assert len(hits.best) == hits.total
    return [hit.file for hit in hits.best]
