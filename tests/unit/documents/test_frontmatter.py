"""Front matter: text is literal, what is written is read back by all, and no line is lost."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.frontmatter import (
    FrontMatterEntry,
    LineCounter,
    line_at,
    make_entry,
    plain_parts,
    raw_entry,
    read_pairs,
    read_records,
    read_text,
    read_texts,
    split_entries,
    split_front_matter,
    write_map,
    write_records,
    write_text,
    write_texts,
)
from passdown.core.documents.scalars import quote, write_scalar
from passdown.core.problems import Malformed
from tests.support.texts import texts

said = texts.filter(bool)
keys = said.filter(lambda key: len(key) <= 100)
maps = st.dictionaries(keys, texts, max_size=4).map(lambda pairs: tuple(pairs.items()))
EOLS = ("\n", "\r\n")


def entry_of(text: str) -> FrontMatterEntry:
    """The one entry of a text that has nothing else in it."""
    (entry,), strays = split_entries(text)
    assert strays == []
    return entry


def loaded(text: str) -> object:
    """What PyYAML reads under `key`, with every scalar as text."""
    read: dict[str, object] = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it only makes text
    return read["key"]


@given(texts)
@example("one\n\n  two\n\tthree")
@example("one\n- two")
def test_a_text_is_read_back(text: str) -> None:
    written = write_text("key", text)

    assert read_text(entry_of(written)) == text
    assert loaded(written) == text
    assert yaml.safe_load(written) == {"key": text}


def test_no_text_is_null() -> None:
    assert read_text(entry_of(write_text("key", None))) is None


@given(st.lists(said).map(tuple))
def test_a_list_is_read_back(items: tuple[str, ...]) -> None:
    written = write_texts("key", items)

    assert read_texts(entry_of(written)) == items
    assert loaded(written) == list(items)


@given(maps)
@example((("a:\xa0b", "c"),))
def test_a_map_is_read_back(pairs: tuple[tuple[str, str], ...]) -> None:
    written = write_map("key", pairs)

    assert read_pairs(entry_of(written)) == pairs
    assert loaded(written) == dict(pairs)


@given(st.lists(maps.filter(bool)).map(tuple), st.sampled_from([quote, write_scalar]))
def test_records_are_read_back(records: tuple[tuple[tuple[str, str], ...], ...], write: type[str]) -> None:
    written = write_records("key", ([(write_scalar(k), write(v)) for k, v in one] for one in records))

    assert read_records(entry_of(written)) == records
    assert loaded(written) == [dict(one) for one in records]


@given(st.dictionaries(st.sampled_from("abcdef"), texts).map(dict.items), st.sampled_from(EOLS))
def test_entries_do_not_reach_into_each_other(pairs: list[tuple[str, str]], eol: str) -> None:
    written = "".join(write_text(key, text) for key, text in pairs).replace("\n", eol)

    entries, strays = split_entries(written)

    assert strays == []
    assert [(entry.key, read_text(entry)) for entry in entries] == list(pairs)
    assert "".join(raw_entry(written, entry) for entry in entries) == written


LITERAL = [
    "issue #12 fixed",
    "fix: the thing",
    "`cmd`",
    "[WIP] x",
    "{x}",
    "&a",
    "*b",
    "!c",
    "no",
    "1:30",
    "2026-13-45",
    "- dash",
    "a\tb",
    "it's",
    '"half',
    '"one" or "two"',
    "|",
    "> quote",
    "| table |",
    "@x",
    "%x",
    "?",
    "100%",
]


@pytest.mark.parametrize("eol", EOLS)
@pytest.mark.parametrize("text", LITERAL)
def test_text_is_literal(text: str, eol: str) -> None:
    assert read_text(entry_of(f"now: {text}{eol}")) == text
    assert read_text(entry_of(f"now:\t{text} ")) == text


@pytest.mark.parametrize("text", [text for text in LITERAL if text[0] not in "{-"])
def test_text_is_literal_in_lists_and_maps(text: str) -> None:
    assert read_texts(entry_of(f"next:\n- {text}\n- b\n")) == (text, "b")
    assert read_texts(entry_of(f"next:\n  - {text}\n  - b\n")) == (text, "b")
    assert read_pairs(entry_of(f"decisions:\n  one: {text}\n  two: b\n")) == (("one", text), ("two", "b"))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("|\n  one\n\n    two\n  three\n", "one\n\n  two\nthree"),
        ("|\r\n  one\r\n  two\r\n", "one\ntwo"),
        ("|+\n\tone\n\ttwo\n\n", "one\ntwo"),
        ("|2\n    one\n  two\n", "  one\ntwo"),
        (">\n  one\n  two\n\n  three\n", "one two\nthree"),
        (">-\n  use *this* & !that\n  #12\n", "use *this* & !that #12"),
        ("one\n  two\n", "one\ntwo"),
        ("null\n  two\n", "null\ntwo"),
        ("\n  one\n", "one"),
        ("\n  'one'\n", "one"),
        ("\n  one\n  two\n", "one\ntwo"),
        ("'one\n  two''s\n\n  three'\n", "one two's\nthree"),
        ('"one \\\n  two\\\\\n  three"\n', "one two\\ three"),
        ('"one" and\n  "two"\n', '"one" and\n"two"'),
        ("[WIP\n  ]\n", "[WIP\n]"),
        ("[WIP\n]\n", "[WIP\n]"),
    ],
)
def test_texts_of_several_lines_are_read(written: str, text: str) -> None:
    assert read_text(entry_of(f"key: {written}")) == text


@given(st.lists(st.sampled_from(["a", "b c", "", "", "  d", "\te", "*f*", "# g", "- h", "i: j"]), min_size=1))
def test_folded_blocks_are_read_as_yaml_reads_them(lines: list[str]) -> None:
    inner = "".join(f"  {line}\n" if line else "\n" for line in ["first", *lines, "last"])

    assert read_text(entry_of(f"key: >-\n{inner}")) == loaded(f"key: >-\n{inner}")


@given(st.lists(st.sampled_from(["a", "b c", "", "*f*", "# g", "- h", "i: j", "\\n", "k\\"]), min_size=1))
@pytest.mark.parametrize("mark", ["'", '"'])
def test_quoted_texts_of_several_lines_are_read_as_yaml_reads_them(mark: str, lines: list[str]) -> None:
    written = f"key: {mark}first\n" + "".join(f"  {line}\n" for line in lines) + f"  last{mark}\n"

    assert read_text(entry_of(written)) == loaded(written)


def test_a_list_is_not_one_text() -> None:
    with pytest.raises(Malformed, match="is a list"):
        read_text(entry_of("now:\n- one\n- two\n"))


@pytest.mark.parametrize(
    ("written", "items"),
    [
        ("next:\n", ()),
        ("next: []\n", ()),
        ("next: null\n", ()),
        ("next: one\n", ("one",)),
        ("next: [a, 'b, c']\n", ("a", "b, c")),
        ("next: [fix: it, b]\n", ("fix: it", "b")),
        ('next: [\n  "a",\n  b,  # why\n]\n', ("a", "b")),
        ("next:\n- \n-\n- ''\n- a\n", ("a",)),
        ("next:\n-\n  a\n- b\n", ("a", "b")),
        ("next:\n- ''\n- |\n  a\n\n  b\n- >\n  c\n  d\n", ("a\n\nb", "c d")),
        ("next:\r\n- a\r\n  b\r\n- c\r\n", ("a\nb", "c")),
        ("next:\n  - a\n    - b\n  - c\n", ("a\n- b", "c")),
        ("next:\n- null\n- ~\n", ("null", "~")),
    ],
)
def test_lists_are_read_in_every_layout(written: str, items: tuple[str, ...]) -> None:
    assert read_texts(entry_of(written)) == items


@pytest.mark.parametrize(
    "written", ["next:\n  text\n  - a\n", "next: [[a], b]\n", "next: [a, {b: c}]\n", "next: [a, []\n"]
)
def test_what_is_no_list_of_texts_is_refused(written: str) -> None:
    with pytest.raises(Malformed):
        read_texts(entry_of(written))


@pytest.mark.parametrize(
    ("written", "pairs"),
    [
        ("decisions:\n", ()),
        ("decisions: {}\n", ()),
        ("decisions: null\n", ()),
        ("decisions: {a: b, c: ''}\n", (("a", "b"), ("c", ""))),
        ("decisions:\n- a: b\n- c: d\n", (("a", "b"), ("c", "d"))),
        ("decisions:\n- Use tabs\n- a: b\n", (("use_tabs", "Use tabs"), ("a", "b"))),
        (
            "decisions:\n  Use tabs\n  Never mind\n  a: b\n",
            (("use_tabs", "Use tabs"), ("never_mind", "Never mind"), ("a", "b")),
        ),
        ("decisions:\n  a: b\n  c\n", (("a", "b"), ("c", "c"))),
        ("decisions:\n  a: |\n    b\n    c\n  d:\n", (("a", "b\nc"), ("d", ""))),
        ("decisions:\n  a:b c: d\n", (("a:b c", "d"),)),
        ("decisions:\n  'a: b': c\n", (("a: b", "c"),)),
        ("decisions:\r\n  a: b\r\n  c: d\r\n", (("a", "b"), ("c", "d"))),
        ('decisions:\n  a: null\n  b: ~\n\n  c: "d"\n', (("a", ""), ("b", ""), ("c", "d"))),
        ("decisions:\n  a: b\n    c: d\n", (("a", "b\nc: d"),)),
    ],
)
def test_maps_are_read_in_every_layout(written: str, pairs: tuple[tuple[str, str], ...]) -> None:
    assert read_pairs(entry_of(written)) == pairs


@pytest.mark.parametrize(
    "written", ["decisions: some text\n", "decisions: {a: [b]}\n", "decisions: {a: b\n", "decisions: [a]\n"]
)
def test_what_is_no_map_of_texts_is_refused(written: str) -> None:
    with pytest.raises(Malformed):
        read_pairs(entry_of(written))


@pytest.mark.parametrize(
    ("written", "records"),
    [
        ("checkpoints:\n", ()),
        ("checkpoints: []\n", ()),
        ("checkpoints: ~\n", ()),
        ("checkpoints: [{a: b}, {c: d}]\n", ((("a", "b"),), (("c", "d"),))),
        ("checkpoints:\n- {a: b}\n- c: d\n  e: f\n", ((("a", "b"),), (("c", "d"), ("e", "f")))),
        ("checkpoints:\n-\n  a: b\n-   c: d\n    e: f\n", ((("a", "b"),), (("c", "d"), ("e", "f")))),
        ("checkpoints:\n- a: |\n    b\n  c: d\n- a: |\n    b\n", ((("a", "b"), ("c", "d")), (("a", "b"),))),
        ("checkpoints:\n- \n- a: b\n", ((("a", "b"),),)),
        ("checkpoints:\n- a: b\n  c: null\n\n- d: e\n", ((("a", "b"), ("c", "")), (("d", "e"),))),
        ("checkpoints:\n- a: b\n    c: d\n", ((("a", "b\nc: d"),),)),
    ],
)
def test_records_are_read_in_every_layout(
    written: str, records: tuple[tuple[tuple[str, str], ...], ...]
) -> None:
    assert read_records(entry_of(written)) == records


@pytest.mark.parametrize(
    "written",
    ["checkpoints: a\n", "checkpoints: [a]\n", "checkpoints: [{a: []}]\n", "checkpoints: null\n  a\n"],
)
def test_what_is_no_list_of_maps_is_refused(written: str) -> None:
    with pytest.raises(Malformed):
        read_records(entry_of(written))


@given(texts)
@example("\xa0a\nk: v")
@example("k: v\n]\nb")
def test_no_line_is_lost(text: str) -> None:
    entries, strays = split_entries(text)

    kept = sorted(
        [(one.start, raw_entry(text, one)) for one in entries] + [(one.start, one.text) for one in strays]
    )
    lines = [line.strip() for _, part in kept for line in part.split("\n")]
    assert sorted(filter(None, lines)) == sorted(filter(None, (line.strip() for line in text.split("\n"))))


@given(texts)
@example("a: b\n  c\n- d\ne:\n")
def test_a_text_of_entries_only_is_cut_the_short_way_too(text: str) -> None:
    entries, strays = split_entries(text)

    parts = plain_parts(text)

    if parts is None:
        assert strays or "]" in text or "}" in text or text[:1].isspace()
    else:
        plain = [make_entry((key, head.strip(), "\n".join(below), 0, 0)) for key, head, below in parts]
        assert [(one.key, one.head, one.rest.rstrip("\n")) for one in plain] == [
            (one.key, one.head, one.rest.rstrip("\n")) for one in entries
        ]
        assert strays == []


@given(texts)
def test_lines_are_counted_for_any_offset(text: str) -> None:
    counter = LineCounter(text)

    for offset in range(len(text) + 1):
        assert counter.at(offset) == line_at(text, offset)


@given(texts)
def test_entries_and_strays_say_where_they_stand(text: str) -> None:
    entries, strays = split_entries(text)

    for entry in entries:
        assert text.startswith(f"{entry.key}:", entry.start)
    for stray in strays:
        assert text.startswith(stray.text, stray.start)
        assert line_at(text, stray.start) == text[: stray.start].count("\n") + 1


def test_strays_are_runs_of_lines_that_belong_to_no_entry() -> None:
    entries, strays = split_entries("one\ntwo\n\nthree\na: b\n  c\n# d\nnot a key: e\n  f\n")

    assert [stray.text for stray in strays] == ["one\ntwo", "three", "# d\nnot a key: e"]
    assert [(entry.key, entry.head, entry.rest) for entry in entries] == [("a", "b", "  c\n  f\n")]


@given(
    texts,
    st.sampled_from(["", "---\n", "---\r\n", "\ufeff---\n", "---"]),
    st.sampled_from(["", "\n---\n", "\n---"]),
)
def test_the_parts_of_a_document_are_the_document(text: str, opening: str, closing: str) -> None:
    document = opening + text + closing + text

    assert "".join(split_front_matter(document)) == document


@pytest.mark.requirement("C33")
@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ("", ("", "", "", "")),
        ("a: b\n---\n", ("", "", "", "a: b\n---\n")),
        ("---\na: b\n---\nbody\n---\n", ("---\n", "a: b\n", "---\n", "body\n---\n")),
        ("\ufeff---\r\na: b\r\n--- \r\nbody", ("\ufeff---\r\n", "a: b\r\n", "--- \r\n", "body")),
        ("---\na: b\n\nbody", ("---\n", "a: b\n", "", "\nbody")),
        ("---\na: b\n# Title", ("---\n", "a: b\n", "", "# Title")),
        ("---\na: b", ("---\n", "a: b", "", "")),
        ("---", ("---", "", "", "")),
        ("----\na: b\n---\n", ("", "", "", "----\na: b\n---\n")),
    ],
)
def test_front_matter_starts_at_the_first_byte(document: str, parts: tuple[str, str, str, str]) -> None:
    assert split_front_matter(document) == parts


def test_a_word_too_long_for_a_key_is_none_the_short_way_either() -> None:
    assert plain_parts(f"{'k' * 64}: x\n") == [("k" * 64, " x", [""])]
    assert plain_parts(f"{'k' * 65}: x\n") is None
