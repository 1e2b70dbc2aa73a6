"""Reads and revises the body of a Markdown document as an outline of places, without touching the rest."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from passdown.core.documents.keys import PLACE
from passdown.core.documents.markdown import (
    LineState,
    Section,
    fold_title,
    is_heading,
    mark_lines,
    read_heading,
    split_sections,
    write_heading,
)
from passdown.core.documents.places import Place, PlacePosition, composed, rewrite
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.records import record

TITLE: Final = "title"

_LABEL: Final = pattern(r"\*\*([^*\n:]{1,40})(?::\*\*|\*\*:)")
_DEEPEST: Final = 6
_LABEL_LEVEL: Final = 7


class Segment(NamedTuple):
    """A run of a body, made of `head`, `lead`, `content` and `trail`.

    `level` is the level of its heading: 0 before the first heading, and for a label below all headings.
    """

    name: str
    head: str
    lead: str
    content: str
    trail: str
    line: int
    level: int

    @property
    def text(self) -> str:
        """The run as written."""
        return self.head + self.lead + self.content + self.trail

    @property
    def content_line(self) -> int:
        """The line on which the content begins."""
        return self.line + (self.head + self.lead).count("\n")


@record(kw_only=False)
class Outline:
    """The places of a format, in the order in which they are written."""

    places: tuple[Place[object], ...]

    def by_fold(self) -> dict[str, Place[object]]:
        """Return the places by their names, folded so that spelling does not matter."""
        return {_fold(place.name): place for place in self.places}


@record(kw_only=False)
class Body:
    """The values read from a body."""

    title: str
    values: Mapping[str, object]
    unknown: tuple[Unknown, ...]
    problems: tuple[Problem, ...]


def _fold(name: str) -> str:
    return "/".join(fold_title(part) for part in name.split("/"))


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


class _Names:
    r"""Names the sections and labels of a body, each place once.

    A section that is not a place is named by the path of its titles, prefixed with `?`. A `/` in a title
    becomes a `\`, and no title can be confused with the names that are not sections.
    """

    def __init__(self, outline: Outline) -> None:
        self._known = outline.by_fold()
        self._with_labels = {_parent(place.name) for place in outline.places if place.is_label}
        self._seen: set[str] = set()
        self._path: list[tuple[int, str]] = []

    def of_section(self, section: Section) -> str:
        """Name a section; the sections before it must already be named."""
        self._path = [(level, title) for level, title in self._path if level < section.level]
        if section.level == 0:
            return ""
        if section.level == 1:
            return self._take(TITLE) or f"?{TITLE}"
        self._path.append((section.level, section.title.replace("/", "\\")))
        path = "/".join(title for _, title in self._path)
        place = self._known.get(_fold(path))
        if place is not None and not place.is_label and self._take(place.name):
            return place.name
        return f"?{path.capitalize() if path in {TITLE, PLACE} else path}"

    def of_label(self, section: str, label: str) -> str:
        """Name a label of a section; return an empty string if it is not a place."""
        place = self._known.get(_fold(f"{section}/{label}"))
        return self._take(place.name) if place is not None and place.is_label else ""

    def _take(self, name: str) -> str:
        if name in self._seen:
            return ""
        self._seen.add(name)
        return name

    def has_labels(self, section: str) -> bool:
        """Return whether a section can hold labels that are places."""
        return section in self._with_labels


def cut_body(text: str, outline: Outline, line: int = 1) -> list[Segment]:
    """Split a body at its headings and at labels that are places; the joined segments are the body.

    A segment that is not a place of the outline has an empty name if it is before the first heading, `title`
    if it is a heading of level 1, and otherwise the path of its titles prefixed with `?`.
    """
    names = _Names(outline)
    sections = split_sections(text, line)
    segments = (segment for section in sections for segment in _cut_section(section, names))
    return [segment for segment in segments if segment.text]


def _cut_section(section: Section, names: _Names) -> Iterator[Segment]:
    """Yield a section's own segment, then one for each label that is a place."""
    name = names.of_section(section)
    body = section.body
    labels = list(_labels(body, name, names)) if names.has_labels(name) else []
    ends = [start for start, _, _ in labels] + [len(body)]
    head = section.head.rstrip("\r\n")
    own = section.head[len(head) :] + body[: ends[0]]
    yield _segment(name, head, own, section.line, section.level)
    for (start, width, label), end in zip(labels, ends[1:], strict=True):
        at = section.line + section.head.count("\n") + body.count("\n", 0, start)
        head, rest = body[start : start + width], body[start + width : end]
        yield _segment(label, head, rest, at, _LABEL_LEVEL)


def _labels(body: str, section: str, names: _Names) -> Iterator[tuple[int, int, str]]:
    """Yield the offset, width and name of labels that are places."""
    lines = body.split("\n")
    offset = 0
    for line, state in zip(lines, mark_lines(lines)[0], strict=True):
        match = _LABEL.match(line) if line[:2] == "**" and state is LineState.TEXT else None
        name = names.of_label(section, match[1]) if match else ""
        if match and name:
            yield offset, match.end(), name
        offset += len(line) + 1


def _segment(name: str, head: str, rest: str, line: int, level: int) -> Segment:
    # The lead is only whole blank lines and the space after a label; an indent belongs to the content.
    start = len(rest) - len(rest.lstrip())
    if start < len(rest):
        start = rest.rfind("\n", 0, start) + 1 or start
    end = max(start, len(rest.rstrip()))
    return Segment(name, head, rest[:start], rest[start:end], rest[end:], line, level)


def read_body(text: str, outline: Outline, line: int = 1) -> Body:
    """Read every place; keep text outside of them, verbatim and in order."""
    known = {place.name: place for place in outline.places}
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = list(_unclosed(text, line))
    title = ""
    for segment in cut_body(text, outline, line):
        place = known.get(segment.name)
        if place is not None:
            reading = place.codec.read(segment.content, PlacePosition(segment.content_line, place.name))
            values[place.name] = reading.value
            problems += reading.problems
            unknown += [Unknown(place=place.name, text=stray) for stray in reading.strays]
        elif segment.name not in {"", TITLE}:
            unknown.append(Unknown(place=segment.name.removeprefix("?"), text=segment.text.rstrip()))
        else:
            title = read_heading(segment.head)[1] if segment.name == TITLE else title
            unknown += [Unknown(place=segment.name, text=segment.content)] if segment.content else []
    problems += _missing(outline, values, line)
    for place in outline.places:
        if place.name not in values:
            values[place.name] = place.codec.read("", PlacePosition(1, place.name)).value
    return Body(title, values, tuple(unknown), tuple(problems))


def _unclosed(text: str, line: int) -> Iterator[Problem]:
    lines = text.split("\n")
    for number in mark_lines(lines)[1]:
        what = "comment" if "<!--" in lines[number] else "code fence"
        yield error(line + number, "text", f"has a {what} that is never closed")


def _missing(outline: Outline, values: Mapping[str, object], line: int) -> Iterator[Problem]:
    for place in outline.places:
        parent = _parent(place.name)
        if place.required and place.name not in values and (not parent or parent in values):
            what = "label" if place.is_label else "section"
            yield warning(line, place.name, f"{what} is missing", f"add `{place.head}`", fixable=True)


def write_body(outline: Outline, values: Mapping[str, object], unknown: Sequence[Unknown]) -> str:
    """Write every place in order, with its stray text, and the sections that are not places.

    An optional place is left out if it and all places under it are empty.
    """
    written = {place.name: place.codec.write(values[place.name]) for place in outline.places}
    inside = [one for one in unknown if one.place not in {"", TITLE, PLACE}]
    said = {name for name, content in written.items() if content} | {one.place for one in inside}
    spoken = {"/".join(parts[:count]) for parts in map(_parts, said) for count in range(1, len(parts) + 1)}
    strays, sections = _sort_out(outline, inside)
    parts: list[str] = []
    for place in outline.places:
        if place.required or place.name in spoken:
            parts.append(place.head + _composed(place, written[place.name], strays[place.name]) + place.trail)
        parts += [f"{text}\n\n" for text in sections[place.name]]
    return "".join([*parts, *(f"{text}\n\n" for text in sections[""])])


def _parts(name: str) -> list[str]:
    return name.split("/")


def _sort_out(
    outline: Outline, unknown: Iterable[Unknown]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Assign stray text to the place that contains it, and unknown sections to the place they follow.

    A section follows the last place under its parent; one under another unknown section follows that. All
    other sections go to the end, and so does text whose place is unknown.
    """
    strays: dict[str, list[str]] = {place.name: [] for place in outline.places}
    sections: dict[str, list[str]] = {name: [] for name in (*strays, "")}
    last = {"/".join(_parts(name)[:n]): name for name in strays for n in range(1, len(_parts(name)) + 1)}
    before, anchor = "", ""
    for one in unknown:
        if one.place in strays and not is_heading(one.text):
            strays[one.place].append(one.text)
            continue
        if not before or not one.place.startswith(f"{before}/"):
            before, anchor = one.place, last.get(_parent(one.place), "")
        sections[anchor].append(one.text)
    return strays, sections


def _composed(place: Place[object], content: str, strays: Sequence[str]) -> str:
    """Return a content with its strays, as it follows a head."""
    whole = composed(place.codec.read, content, strays)
    return place.lead + whole if whole else ""


def revise_body(
    text: str,
    outline: Outline,
    values: Mapping[str, object],
    was: Mapping[str, object],
    forced: frozenset[str],
) -> str:
    """Rewrite the places whose value differs from `was`; leave every other byte unchanged.

    Places in `forced` are also rewritten; if one has to be added, its required children are added with it.
    An optional section that becomes empty is removed, if another section follows that is not below it.
    """
    segments = cut_body(text, outline)
    gone: set[str] = set()
    present = {segment.name: index for index, segment in enumerate(segments)}
    changed = {place.name for place in outline.places if values[place.name] != was[place.name]}
    added = _with_children(outline, forced - present.keys()) | (changed - present.keys())
    for place in outline.places:
        index = present.get(place.name)
        if index is not None and place.name in forced | changed:
            content = rewrite(place.codec, segments[index].content, values[place.name])
            is_optional = not (place.required or place.is_label)
            is_followed = _end(segments, index) == index + 1 < len(segments)
            if is_optional and not content.strip() and is_followed:
                gone.add(place.name)
            segments[index] = _filled(segments[index], place, content)
    for place in outline.places:
        if place.name in added:
            _insert(segments, outline, place, place.codec.write(values[place.name]))
    return "".join(segment.text for segment in segments if segment.name not in gone)


def _with_children(outline: Outline, names: Iterable[str]) -> set[str]:
    wanted = set(names)
    for place in outline.places:
        if place.required and _parent(place.name) in wanted:
            wanted.add(place.name)
    return wanted


def _filled(segment: Segment, place: Place[object], content: str) -> Segment:
    """Put a content into a segment, in the segment's own layout if it has one, else in the place's."""
    bare = content.rstrip("\r\n")
    if not segment.content and not bare:
        return segment
    if segment.content or not bare:
        return segment._replace(lead=segment.lead if bare else "", content=bare)
    blank = segment.lead.lstrip(" \t")
    return segment._replace(lead=place.lead, content=bare, trail=blank if "\n" in blank else "\n")


def _insert(segments: list[Segment], outline: Outline, place: Place[object], content: str) -> None:
    """Add a place that the body lacks, after adding its missing parents."""
    parent = next((one for one in outline.places if one.name == _parent(place.name)), None)
    if parent and all(segment.name != parent.name for segment in segments):
        _insert(segments, outline, parent, "")
    at, level = _position(segments, outline, place)
    if at:
        before = segments[at - 1].text
        gap = "" if before.endswith("\n") else "\n"
        if not place.is_label and not (before + gap).replace("\r", "").endswith("\n\n"):
            gap += "\n"
        segments[at - 1] = segments[at - 1]._replace(trail=segments[at - 1].trail + gap)
    head = place.head if place.is_label else write_heading(level, place.head.lstrip("#"))
    trail = place.trail if at < len(segments) else "\n"
    segments.insert(at, Segment(place.name, head, "", _composed(place, content, ()), trail, 0, level))


def _position(segments: Sequence[Segment], outline: Outline, place: Place[object]) -> tuple[int, int]:
    """Return the position of a place and its heading level, such that no other section changes its parent.

    1. After the nearest preceding place under the same parent, and everything under that.
    2. A label: right after its parent's own text.
    3. A section: after its parent's labels, or the title; on the level of the section that follows.
    """
    index = {segment.name: number for number, segment in enumerate(segments)}
    parent = _parent(place.name)
    names = [
        one.name for one in outline.places if one.is_label == place.is_label and _parent(one.name) == parent
    ]
    for name in reversed(names[: names.index(place.name)]):  # 1
        if name in index:
            return _end(segments, index[name]), segments[index[name]].level
    over = index[parent] if parent else index.get(TITLE, index.get("", -1))
    at = over + 1
    if place.is_label:  # 2
        return at, _LABEL_LEVEL
    while at < len(segments) and segments[at].level == _LABEL_LEVEL:  # 3
        at += 1
    base = segments[over].level if parent else 1
    following = segments[at].level if at < len(segments) else 0
    return at, following if base < following <= _DEEPEST else min(base + 1, _DEEPEST)


def _end(segments: Sequence[Segment], start: int) -> int:
    """Return the index after a segment and everything under it."""
    level = segments[start].level
    rest = range(start + 1, len(segments))
    return next((index for index in rest if segments[index].level <= level), len(segments))


def retitled(body: str, outline: Outline, title: str, was: str) -> str:
    """Change the title if it differs from what it was; add it if there was none."""
    if title == was:
        return body
    segments = cut_body(body, outline)
    at = next((i for i, segment in enumerate(segments) if segment.name == TITLE), None)
    head = write_heading(1, title) if title else ""
    if at is None:
        below = body.lstrip("\r\n")
        return f"{head}\n\n{below}" if below else f"{head}\n"
    segments[at] = segments[at]._replace(head=head)
    return "".join(segment.text for segment in segments)
