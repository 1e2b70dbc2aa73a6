"""What a word is, what a query means, and which line shows the answer."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.search_query import (
    MAX_WORD,
    DocumentHead,
    SearchTerm,
    Snippet,
    count_term,
    count_words,
    fold_text,
    is_shell_safe,
    join_words,
    make_snippet,
    parse_query,
    read_head,
    render_match,
    score,
    shell_word,
    split_words,
)

SIGNS = "\"*:^+-(){}[]<>|&\\/.,;'`~!@#$%=?_ \n\t\r\0"
# Texts that look like queries of SQLite, and texts of all scripts.
texts = st.one_of(
    st.text(st.sampled_from(SIGNS + "abAB01éß設計한ि"), max_size=40),
    st.lists(
        st.sampled_from(["AND", "OR", "NOT", "NEAR(", "text:", '"', "*", "a", "b", "ab", "words", "^", ")"]),
        max_size=8,
    ).map(" ".join),
    st.text(max_size=60),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("... --- ***", []),
        ("Write the parser.", ["write", "the", "parser"]),
        ("src/a_b.py:12", ["src", "a", "b", "py", "12"]),
        ("ev-f68ac503", ["ev", "f68ac503"]),
        ("Café ÉCOLE naïve", ["cafe", "ecole", "naive"]),
        ("cafe\u0301", ["cafe"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ﬁle Ⅳ", ["file", "iv"]),
        ("Ёлка Ἀθήνα", ["елка", "αθηνα"]),
        ("שָׁלוֹם", ["שלום"]),
        ("再設計する", ["再", "設", "計", "す", "る"]),
        ("がか", ["が", "か"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("x" * (MAX_WORD + 1), ["x" * MAX_WORD, "x"]),
        ("é" * (MAX_WORD + 1), ["e" * MAX_WORD, "e"]),
        ("a\ud800b\0c", ["a", "b", "c"]),
    ],
)
def test_words_are_letters_and_digits_without_case_and_accents(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ('"" * "*"', []),
        ("Alpha beta", [SearchTerm(("alpha",)), SearchTerm(("beta",))]),
        ("alpha ALPHA", [SearchTerm(("alpha",))]),
        ("a_b.py", [SearchTerm(("a", "b", "py"))]),
        ('say "No Server" now', [SearchTerm(("say",)), SearchTerm(("no", "server")), SearchTerm(("now",))]),
        ("pars*", [SearchTerm(("pars",), is_prefix=True)]),
        ('"no serv"* x', [SearchTerm(("no", "serv"), is_prefix=True), SearchTerm(("x",))]),
        ('"open', [SearchTerm(("open",))]),
        ("a* a", [SearchTerm(("a",), is_prefix=True), SearchTerm(("a",))]),
        (
            "a OR NOT text:b",
            [SearchTerm(("a",)), SearchTerm(("or",)), SearchTerm(("not",)), SearchTerm(("text", "b"))],
        ),
    ],
)
def test_a_query_is_terms_and_nothing_else(text: str, terms: list[SearchTerm]) -> None:
    assert list(parse_query(text).terms) == terms


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("", []),
        ("why do we keep sessions", [("keep", "keep"), ("sessions", "session")]),
        ("what is this", [("what", "what"), ("is", "is"), ("this", "this")]),
        ("Caroline's re-run", [("caroline", "carolin"), ("run", "run")]),
        ("keep keeps keeping", [("keep", "keep")]),
        ("a_b.py, x-y v2 getName", [("a b py", ""), ("x", "x"), ("y", "y"), ("v2", ""), ("getname", "")]),
        ("migrat* 'no server'", [("migrat*", ""), ("server", "server")]),
        ('"is it" over', [("is it", "")]),
        ("設計 हिन्दी", [("設 計", ""), ("हिन्दी", "हिन्दी")]),
        ("end.", [("end", "end")]),
    ],
)
def test_words_of_a_question_have_stems_and_names_have_none(text: str, loose: list[tuple[str, str]]) -> None:
    assert [(term.shown, term.stem) for term in parse_query(text).loose] == loose


def test_what_was_quoted_is_required() -> None:
    assert parse_query('why "no server" here').required == (SearchTerm(("no", "server")),)


def test_a_query_of_sqlite_quotes_every_term() -> None:
    terms = parse_query('no "or not" NEAR(x').terms

    assert render_match(terms) == '"no" AND "or not" AND "near x"'
    assert render_match(parse_query('"a b"* c*').terms) == '"a b"* AND "c"*'


@given(texts)
def test_no_text_makes_a_word_that_could_mean_something_to_sqlite(text: str) -> None:
    for term in parse_query(text).terms:
        assert term.words
        for word in term.words:
            assert 0 < len(word) <= MAX_WORD
            assert re.search(r'[\s"*:^+(){}\\-]|_', word) is None
            word.encode()


@pytest.fixture(scope="module")
def words_table() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii')")
        yield connection


@given(texts, texts)
def test_sqlite_finds_exactly_what_the_words_of_a_query_mean(
    words_table: sqlite3.Connection, text: str, query: str
) -> None:
    terms = parse_query(query).terms
    if not terms:
        return
    words_table.execute("INSERT INTO words (words) VALUES ('delete-all')")
    words_table.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (join_words(text),))

    found = words_table.execute("SELECT 1 FROM words WHERE words MATCH ?", (render_match(terms),)).fetchone()

    assert (found is not None) == all(_stands_in(term, split_words(text)) for term in terms)
    assert (found is not None) == all(count_term(term, join_words(text)) for term in terms)


def _stands_in(term: SearchTerm, words: list[str]) -> bool:
    """Say by hand what a term means: its words in a row, of the last one perhaps the start."""
    *first, last = term.words
    for at in range(len(words) - len(first)):
        end = words[at + len(first)]
        if words[at : at + len(first)] == first and (
            end == last or (term.is_prefix and end.startswith(last))
        ):
            return True
    return False


@given(texts)
def test_every_text_is_found_by_each_of_its_words(text: str) -> None:
    joined = join_words(text)

    assert count_words(joined) == len(split_words(text))
    for word in split_words(text):
        assert count_term(SearchTerm((word,)), joined)
        assert count_term(SearchTerm((word[:1],), is_prefix=True), joined)


@given(texts)
def test_folding_keeps_lines(text: str) -> None:
    assert fold_text(text).count("\n") == text.count("\n")


def test_a_rare_word_a_frequent_word_and_a_short_document_count_more() -> None:
    common = score([1], [900], 1000, 1.0)
    rare = score([1], [2], 1000, 1.0)

    assert 0 < common < rare
    assert rare < score([3], [2], 1000, 1.0)
    assert rare < score([1], [2], 1000, 0.5)
    assert score([1, 1], [2, 2], 1000, 1.0) == pytest.approx(2 * rare)
    assert score([], [], 0, 1.0) == 0


def test_scores_are_those_of_sqlite() -> None:
    """The index in memory ranks like the one in a file."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii')")
    documents = ["a a b", "a c c c c", "c", "d e f g", "e", "f g"]
    for number, text in enumerate(documents, 1):
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, join_words(text)))
    found = connection.execute(
        'SELECT rowid, -bm25(words) FROM words WHERE words MATCH \'"a" AND "c"\''
    ).fetchall()
    connection.close()

    average = sum(len(text.split()) for text in documents) / len(documents)
    assert found == [(2, pytest.approx(score([1, 4], [2, 2], 6, 5 / average)))]


@pytest.mark.parametrize(
    ("text", "query", "snippet"),
    [
        ("one\ntwo Parser\nthree", "parser", Snippet(2, "two Parser", ("Parser",))),
        ("x\nx b\nb", "b x", Snippet(2, "x b", ("x", "b"))),
        ("x\n  - Café au lait  \n", "CAFE", Snippet(2, "- Café au lait", ("Café",))),
        ("parsers\nparser", "parser", Snippet(2, "parser", ("parser",))),
        (
            "one\nthe parser\nsessions of the parser",
            "why do parsers need a session",
            Snippet(3, "sessions of the parser", ("sessions", "parser")),
        ),
        ("dying\ndies", "die", Snippet(1, "dying", ("dying",))),
        ("one\nparsers", "pars*", Snippet(2, "parsers", ("parsers",))),
        ("z a_b z\na z b", '"a b"', Snippet(1, "z a_b z", ("a", "b"))),
        ("一\n再設計する", "設計", Snippet(2, "再設計する", ("設", "計"))),
        ("é\nhindi हिन्दी", "हिन्दी", Snippet(2, "hindi हिन्दी", ("हिन्दी",))),
        ("\n\nfirst\nsecond", "gone", Snippet(3, "first", ())),
        ("", "gone", Snippet(1, "", ())),
        ("one\n20 ℃", "c", Snippet(2, "20 ℃", ())),
        ("aa\n" + "x" * 70, "x" * 70, Snippet(2, "x" * 70, ("x" * 64, "x" * 6))),
    ],
)
def test_the_line_with_most_of_the_words_is_shown(text: str, query: str, snippet: Snippet) -> None:
    assert make_snippet(text, parse_query(query), 80) == snippet


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("needle and some more words than fit", "needle and some mor…"),
        ("some more words than fit before a needle", "…fit before a needle"),
        ("some words before a needle and some words behind", "…re a needle and so…"),
        ("    needle after some room that does not count", "needle after some r…"),
    ],
)
def test_a_long_line_is_cut_around_the_first_word(line: str, shown: str) -> None:
    snippet = make_snippet(line, parse_query("needle"), 20)

    assert len(snippet.text) <= 20
    assert "needle" in snippet.text
    assert snippet.text == shown


@given(texts, texts, st.integers(min_value=2, max_value=50))
def test_every_query_of_every_text_has_a_line(text: str, query: str, size: int) -> None:
    snippet = make_snippet(text, parse_query(query), size)

    assert 1 <= snippet.line <= text.count("\n") + 1
    assert len(snippet.text) <= size
    line = text.split("\n")[snippet.line - 1]
    assert snippet.text.strip("…").strip() in line
    assert all(word in line for word in snippet.words)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (
            "---\ndate: 2026-01-10T13:00:00Z\nsession_id: s-1\n---\n",
            DocumentHead(datetime(2026, 1, 10, 13, tzinfo=UTC), "s-1"),
        ),
        (
            "---\ndate: 2026-01-10\nupdated: 2026-01-11\n---\n",
            DocumentHead(datetime(2026, 1, 11, tzinfo=UTC), ""),
        ),
        ("---\ndate: soon\nsession_id: null\ntrigger: x\n---\n", DocumentHead(None, "")),
        ("---\nsession_id:\n- a\n- b\n---\n", DocumentHead(None, "")),
        ("no front matter", DocumentHead(None, "")),
    ],
)
def test_the_head_says_when_and_which_session(text: str, head: DocumentHead) -> None:
    assert read_head(text) == head


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a/b-c_1.md", "a/b-c_1.md"),
        ("", "''"),
        ("a b", "'a b'"),
        ("-rf", "'-rf'"),
        ("$(rm x)", "'$(rm x)'"),
        ("it's", "'it'\"'\"'s'"),
        ("~", "'~'"),
    ],
)
def test_a_shell_takes_a_text_for_one_word(text: str, word: str) -> None:
    assert shell_word(text) == word
    assert is_shell_safe(text) == (word == text)
