"""What is fuzzed: a function for each parser, which raises when something that must hold does not.

A target takes any text. A parser may give a value or refuse; what it may raise stands in `REFUSALS`. What
must hold beyond that is asserted here, so that a run without a finding says more than "no crash".
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast
from zlib import crc32

from passdown.core.documents.documents import AnyDocument
from passdown.core.documents.frontmatter import (
    FrontMatterEntry,
    read_pairs,
    read_records,
    read_text,
    read_texts,
    split_entries,
    split_front_matter,
    write_map,
    write_text,
    write_texts,
)
from passdown.core.documents.lists import cut_list, write_item
from passdown.core.documents.markdown import escape_text, find_rule, split_sections, unescape_text
from passdown.core.documents.scalars import quote, read_flow, read_scalar, unquote, write_flow, write_scalar
from passdown.core.documents.tables import cut_table, read_row, write_row
from passdown.core.documents.yaml_library import load
from passdown.core.formats import events, journal, views
from passdown.core.formats.registry import FORMATS, Format, judge_path, recognise
from passdown.core.hosts.transcripts import START, TranscriptReader, parse_mark, read_piece, render_mark
from passdown.core.ids import (
    clean_foreign,
    event_file_name,
    fold_id,
    is_id,
    kebab,
    parse_event_file_name,
    slug,
)
from passdown.core.json_text import dump, read_members, revise_members
from passdown.core.problems import Malformed
from passdown.core.sessions.secrets import redact
from passdown.core.shell_commands import share_test
from passdown.core.times import (
    parse_instant,
    render_archive_stamp,
    render_file_stamp,
    render_millis,
    render_seconds,
)
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.hosts.claude.transcripts import READER as CLAUDE_CODE
from passdown.hosts.codex.transcripts import READER as CODEX
from passdown.records import compared_names_of, is_record, names_of, replace
from passdown.services.workspace.documents import check_text, plan_repair
from passdown.settings import SettingsSource, parse_settings

Target = Callable[[str], None]

REFUSALS: Final = (PassdownError, Malformed)
"""What a reader may raise for a text it does not take."""

_ROOT: Final = Path(__file__).resolve().parent.parent
_LEVELS: Final = 6
_SHORT: Final = 1500
_EXCERPT: Final = 12
_WRITTEN_ANEW: Final = 4
_REPAIRED: Final = 16
"""One text in so many is written in full, or repaired, too: that costs several times what reading does."""


def as_new(document: AnyDocument) -> AnyDocument:
    """The fields of a document as if nobody had written them yet, so that they are written in full."""
    if isinstance(document, views.View) and document.footer is not None:
        # A view is sealed when it is written; the seal is no part of what it says.
        document = replace(document, footer=replace(document.footer, view_sha256=None))
    return cast("Callable[..., AnyDocument]", replace)(document, source=None, unknown=())


def settled(value: object) -> object:
    """What a value says when instants are cut to the second, as most formats write them."""
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    if isinstance(value, tuple):
        return tuple(settled(one) for one in cast("tuple[object, ...]", value))
    if is_record(value):
        return {name: settled(getattr(value, name)) for name in compared_names_of(value)}
    return value


def _format_target(found: Format) -> Target:
    """Check three promises: the same bytes back; fields written in full, and repairs, say the same."""

    def check(text: str) -> None:
        recognise("x.md", text)
        try:
            document = found.parse(text)
        except FormatError:
            return
        assert found.render(document) == text, "a document that was read is not written back to the byte"
        for _ in judge_path(found, "events/2026-01-10T13-03-52Z_a.md", document):
            pass
        lot = crc32(text.encode())
        if lot % _WRITTEN_ANEW == 0:
            _check_written_anew(found, document)
        if lot % _REPAIRED == 0:
            _check_repair(found, text)

    return check


def _check_written_anew(found: Format, document: AnyDocument) -> None:
    made = as_new(document)
    written = found.render(made)
    again = settled(as_new(found.parse(written)))
    wanted = settled(made)
    if again != wanted:
        raise AssertionError(f"a document written in full reads differently: {_difference(wanted, again)}")


def _difference(one: object, other: object) -> str:
    before, after = cast("dict[str, object]", one), cast("dict[str, object]", other)
    return "; ".join(
        f"{name}: {before[name]!r} became {after[name]!r}" for name in before if before[name] != after[name]
    )


def _check_repair(found: Format, text: str) -> None:
    """A repair that is offered needs no second one, and loses no line that no field holds."""
    checked = check_text(found.paths[0], text)
    repair = plan_repair(checked)
    if repair is None or checked.document is None:
        return
    assert plan_repair(check_text(found.paths[0], repair.after)) is None, "a repair needs another repair"
    for one in checked.document.unknown:
        lost = [line for line in one.text.split("\n") if line.strip() and line.strip() not in repair.after]
        assert not lost, f"a repair loses {lost}"


def _read_event(text: str) -> None:
    """The fast path agrees with the whole reader wherever both can read a key."""
    try:
        fast = events.read_event(text)
        whole = events.parse_event(text)
    except REFUSALS:
        return
    for name in ("agent", "branch", "type", "reason", "goal", "now", "next", "this_session", "constraints"):
        if name in fast:
            expected = getattr(whole, name)
            assert fast[name] == expected, f"{name}: {fast[name]!r} is not {expected!r}"


def _front_matter(text: str) -> None:
    split = split_front_matter(text)
    assert "".join(split) == text, "the parts of a front matter are not the text"
    for part in (split.matter, split.body):
        for entry in split_entries(part)[0]:
            assert 0 <= entry.start < entry.end <= len(part)
            _read_entry(entry)


def _read_entry(entry: FrontMatterEntry) -> None:
    with suppress(Malformed):
        _same_text(read_text(entry))
    with suppress(Malformed):
        items = read_texts(entry)
        assert read_texts(_entry(write_texts("k", items))) == tuple(item for item in items if item)
    with suppress(Malformed):
        pairs = read_pairs(entry)
        assert read_pairs(_entry(write_map("k", pairs))) == pairs
    with suppress(Malformed):
        read_records(entry)


def _same_text(text: str | None) -> None:
    assert read_text(_entry(write_text("k", text))) == text


def _entry(written: str) -> FrontMatterEntry:
    """The one entry that was written; more or fewer are a way to inject keys."""
    found, strays = split_entries(written)
    assert len(found) == 1, f"{len(found)} entries were written as one"
    assert not strays, "an entry was written with text around it"
    return found[0]


def _sections(text: str) -> None:
    sections = split_sections(text)
    assert "".join(one.head + one.body for one in sections) == text, "the sections are not the text"
    assert all(1 <= one.level <= _LEVELS for one in sections[1:])
    find_rule(text)
    _stays_text(text)


def _stays_text(text: str) -> None:
    """Text that was escaped opens no section, no rule, and reads back."""
    escaped = escape_text(text)
    assert unescape_text(escaped) == text, "escaped text reads differently"
    assert len(split_sections(escaped)) == 1, "escaped text opens a section"
    assert find_rule(escaped) < 0, "escaped text draws a rule"


def _lists(text: str) -> None:
    pieces = cut_list(text, 1)
    assert "\n".join(line for piece in pieces for line in piece.lines) == text, "the items are not the list"
    for piece in pieces:
        item = unescape_text(piece.text)
        again = cut_list(write_item("- ", item), 1)
        if item.strip() and "\r" not in item:
            assert [unescape_text(one.text) for one in again] == [item.strip()], (
                "an item does not stay one item"
            )


def _tables(text: str) -> None:
    pieces = cut_table(text, ("Gate", "Status"), 1)
    assert "\n".join(line for piece in pieces for line in piece.lines) == text, "the rows are not the table"
    cells = read_row(text)
    assert read_row(write_row(cells)) == cells or not cells, "cells read differently"


def _scalars(text: str) -> None:
    assert unquote(quote(text)) == _encodable(text), "a quoted value reads differently"
    line = write_scalar(text)
    assert "\n" not in line
    assert read_scalar(line) == _encodable(text), "a value reads differently"
    read_scalar(text)
    items = tuple(text.split("|"))
    assert tuple(read_flow(write_flow(items))) == tuple(map(_encodable, items)), "a list reads differently"
    with suppress(Malformed):
        read_flow(text)


def _encodable(text: str) -> str:
    """Half a surrogate pair cannot be stored."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _yaml(text: str) -> None:
    with suppress(Malformed):
        _check_loaded(load(text))


def _check_loaded(value: object) -> None:
    """Only texts, lists and dicts of them; null is an empty stream."""
    if isinstance(value, list):
        for one in cast("Sequence[object]", value):
            _check_loaded(one)
    elif isinstance(value, dict):
        for key, one in cast("Mapping[object, object]", value).items():
            assert type(key) is str
            _check_loaded(one)
    else:
        assert value is None or type(value) is str


def _json(text: str) -> None:
    try:
        members = read_members(text)
    except Malformed:
        return
    for member in members:
        assert text[member.start] == '"'
        assert 0 <= member.start < member.value_start < member.value_end <= len(text)
    names = {member.name for member in members} | {"new"}
    revised = read_members(revise_members(text, dict.fromkeys(names, "x")))
    first = {member.name: member.value for member in reversed(revised)}
    assert first == dict.fromkeys(names, "x"), "members were not set"
    dump({member.name: member.value for member in members})


def _ids(text: str) -> None:
    found = parse_event_file_name(text)
    if found is not None:
        again = parse_event_file_name(event_file_name(found.at, found.agent))
        assert again is not None, "our own file name is not read"
        assert again.agent == fold_id(found.agent)
    with suppress(FormatError):
        assert clean_foreign(text) == text
    assert is_id(fold_id(text)), "a folded id is no id"
    assert fold_id(fold_id(text)) == fold_id(text)
    assert is_id(kebab(text))
    assert slug(slug(text)) == slug(text)


def _times(text: str) -> None:
    at = parse_instant(text)
    if at is None:
        return
    for render in (render_millis, render_seconds, render_file_stamp, render_archive_stamp):
        again = parse_instant(render(at))
        assert again is not None, "our own time is not read"
        assert again <= at
        assert parse_instant(render(again)) == again


def _journal_line(text: str) -> None:
    with suppress(Malformed):
        journal.parse_line(text)
    summed = f'{text},"sum":"{journal.checksum(text)}"}}'
    with suppress(Malformed):
        line = journal.parse_line(summed)
        assert journal.parse_line(journal.render_line(line).removesuffix("\n")) == line


def _transcript_target(reader: TranscriptReader) -> Target:
    """Check that a transcript tells the same in one piece and in two, and that nothing it tells is empty."""

    def check(text: str) -> None:
        data = text.encode("utf-8", "replace")
        whole = read_piece(reader, data)
        assert whole.mark.offset == data.rfind(b"\n") + 1, "lines were left out"
        assert all(one.text and one.text == one.text.strip() for one in whole.seen), "a fact is blank"
        cut = crc32(data) % (len(data) + 1)
        first = read_piece(reader, data[:cut], START)
        kept = parse_mark(render_mark(first.mark))
        assert kept == first.mark, "a mark reads differently"
        second = read_piece(reader, data[kept.offset :], kept)
        assert (*first.seen, *second.seen) == whole.seen, "a transcript tells something else when it is cut"
        assert second.mark == whole.mark

    return check


def _settings(text: str) -> None:
    # RecursionError: what `tomllib` raises for deep nesting is for `wiring` to catch, not for the settings.
    with suppress(tomllib.TOMLDecodeError, UsageError, RecursionError):
        settings, warnings = parse_settings([SettingsSource("fuzz", tomllib.loads(text))])
        assert all(isinstance(one, str) for one in warnings)
        for name in names_of(settings.paths):
            path = str(getattr(settings.paths, name))
            assert path, "a path is empty"
            assert not path.startswith(("/", "\\")), "a path is absolute"
            assert ".." not in path.replace("\\", "/").split("/"), "a path leads out"


def _secrets(text: str) -> None:
    """What is redacted is said, and sharing a command once is enough."""
    clean = redact(text)
    assert (clean.text == text) == (not clean.found)
    shared = share_test(text)
    assert share_test(shared) == shared


TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        **{found.name: _format_target(found) for found in FORMATS},
        "read-event": _read_event,
        "front-matter": _front_matter,
        "sections": _sections,
        "lists": _lists,
        "tables": _tables,
        "scalars": _scalars,
        "yaml": _yaml,
        "json": _json,
        "ids": _ids,
        "times": _times,
        "journal-line": _journal_line,
        "settings": _settings,
        "secrets": _secrets,
        "transcript-claude-code": _transcript_target(CLAUDE_CODE),
        "transcript-codex": _transcript_target(CODEX),
    }
)


def _excerpt(path: Path) -> str:
    """Give the short lines of a transcript that tell something."""
    reader = CODEX if path.name.startswith("rollout-") else CLAUDE_CODE
    lines = [line for line in path.read_bytes().split(b"\n") if len(line) < _SHORT and reader.wants(line, ())]
    return b"".join(line + b"\n" for line in lines[:_EXCERPT]).decode()


def seeds() -> dict[str, str]:
    """Texts to begin with: an example of each format, the golden files, lines of each small grammar."""
    texts = {f"example-{found.name}": found.example() for found in FORMATS}
    for path in sorted((_ROOT / "tests" / "formats" / "golden").glob("*")):
        texts[f"golden-{path.name}"] = path.read_text(encoding="utf-8")
    for path in sorted((_ROOT / "tests" / "hosts" / "recordings").glob("*/*.jsonl")):
        texts[f"transcript-{path.parent.name}"] = _excerpt(path)
    small = (
        "2026-01-10T13:03:52.123Z",
        "2026-01-10-13-03",
        "2026-01-10T13-03-52.001Z_claude-1f3a9c02.md",
        "[a, \"b, c\", 'd']",
        "{a: [b, c], d: |-\n  e\n}",
        '[paths]\nledgers = "a/b"\n',
        "- one\n  more\n\n1. [x] two\n```\n# code\n```\n",
        "| Gate | Status |\n|---|---|\n| a \\| b | - |\n",
        "<!-- c -->\n~~~~\n~~~~\n",
    )
    return texts | {f"small-{number}": text for number, text in enumerate(small)}
