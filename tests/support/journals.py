"""Random lines of journals, as sessions write them."""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from passdown.core.facts import Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from tests.formats.strategies import texts
from tests.support.sessions import make_line

WORDS = ("write the parser", "fix: the thing", "ship it", "é", "a | b", "- item", "why?", "x  y")
words = st.sampled_from(WORDS)
keys = st.sampled_from(("db", "cache_size", "why not"))
_PLAIN = (
    FactKind.DONE,
    FactKind.CONSTRAINT,
    FactKind.QUESTION,
    FactKind.FEEDBACK,
    FactKind.RECEIPT,
    FactKind.NOTE,
    FactKind.PROMPT,
    FactKind.FILE,
    FactKind.READ,
)
_VOID = (FactKind.DONE, FactKind.CONSTRAINT, FactKind.QUESTION, FactKind.NEXT)
Parts = tuple[str, str, str, str, Provenance]


def said(said_words: SearchStrategy[str] = words) -> SearchStrategy[Parts]:
    """Make what a line says: kind, text, key, reason, provenance."""
    none, stated = st.just(""), st.just(Provenance.STATED)
    kinds = [
        st.tuples(st.sampled_from([kind.value for kind in _PLAIN]), said_words, none, none, stated),
        st.tuples(st.just("decision"), said_words, keys | none, said_words | none, stated),
        st.tuples(st.sampled_from(("goal", "now")), said_words, none, none, st.sampled_from(Provenance)),
        st.tuples(
            st.just("next"),
            st.lists(said_words.map(_one_line), max_size=3).map("\n".join),
            st.sampled_from(("", "add")),
            none,
            stated,
        ),
        st.tuples(st.just("answer"), said_words, said_words, none, stated),
        st.tuples(
            st.just("retraction"), said_words, st.sampled_from([kind.value for kind in _VOID]), none, stated
        ),
        st.tuples(st.just("retraction"), keys, st.just("decision"), none, stated),
        st.tuples(st.just("checkpoint"), st.just("validated"), st.sampled_from("12"), none, stated),
        st.tuples(st.just("heartbeat"), st.just("alive"), none, none, st.just(Provenance.OBSERVED)),
    ]
    return st.one_of(kinds)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def number(parts: Sequence[Parts]) -> list[JournalLine]:
    """Make lines, numbered from 1."""
    return [
        make_line(seq, kind, text, key or None, because or None, provenance=provenance)
        for seq, (kind, text, key, because, provenance) in enumerate(parts, 1)
    ]


def journals(
    said_words: SearchStrategy[str] = words, max_size: int = 20
) -> SearchStrategy[list[JournalLine]]:
    """Make the lines of a session."""
    return st.lists(said(said_words), max_size=max_size).map(number)


def nasty_journals() -> SearchStrategy[list[JournalLine]]:
    """Make lines whose texts are as bad as texts get."""
    return journals(texts, max_size=12)
