"""The view `current.md`: all events merged, for people and for tools that read a Ledger section (S2).

The body is a Ledger section like that of a stream, so tools that extract such a section can read the view
too. The footer records the merged events and the hash of the text above it (C64).
"""

import re
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, Generic, NamedTuple, TypeVar, cast

from passdown.core.documents.conflicts import conflict_problems, is_marker
from passdown.core.documents.documents import (
    DocumentContent,
    DocumentShape,
    ParsedDocument,
    read_document,
    write_document,
)
from passdown.core.documents.fields import count_key, instant_key, read_instant, text_key, write_value
from passdown.core.documents.key_value import Pair, read_pair, write_pair
from passdown.core.documents.keys import read_keys, write_keys
from passdown.core.documents.markdown import is_placeholder
from passdown.core.documents.outlines import Outline
from passdown.core.documents.places import (
    Codec,
    Heading,
    ListOf,
    Place,
    PlacePosition,
    PlaceReading,
    SingleLine,
)
from passdown.core.documents.scalars import quote, read_scalar
from passdown.core.formats.checkpoints import Phase, read_phase, write_phase
from passdown.core.formats.streams import NOW_LIST, Question, read_question, write_question
from passdown.core.formats.view_footer import hash_text
from passdown.core.formats.view_location import RENDERER
from passdown.core.kinds import FURTHER
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.core.safe_text import one_line
from passdown.core.statements import CONTRADICTION, UNSEEN
from passdown.core.times import render_millis
from passdown.records import as_dict, field, record, replace

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

VERSION: Final = RENDERER
TITLE: Final = "Project Ledger"
FOOTER: Final = "footer"
VIEW_HASH: Final = "view_sha256"

_FOOTER: Final = pattern(r"\s*_synthesized:[ \t]*\r?\n(?P<keys>(?:[ \t]+[^\n]*\n|\r?\n)*)---\s*")
_EARLIER: Final = pattern(r"""And ([0-9]{1,9}) earlier: (?:`([^`\n]*)`|("[^\n]*"))\r?""")
_SIGNED: Final = pattern(r" \(by [^\s()]+, (?:carried on by [^\s()]+, )?(?:not )?ended\)$")
_CONTESTED: Final = pattern(rf"(?:\A|\n){CONTRADICTION}([^\s][^\n]*{re.escape(UNSEEN)}[^\n]*[^\s])\s*\Z")
_NOT_IN_NAMES: Final = pattern(r"[\s(),]+")
_NAME: Final = 40
_IN_CODE: Final = pattern(r"[^`\x00-\x1f\x7f-\x9f\u2028\u2029]*")


@record
class Earlier:
    """How many entries a section leaves out, and the command that lists them."""

    count: Annotated[int, "How many entries are left out."]
    command: Annotated[str, "The command that lists them."]


@record
class Footer:
    """The events and the renderer from which a view was made."""

    event_count: Annotated[int | None, "How many events were merged."] = None
    latest_ts: Annotated[datetime | None, "The time of the newest event."] = None
    generated_at: Annotated[
        datetime | None, "The same time again, so that equal events give equal bytes."
    ] = None
    skipped: Annotated[int | None, "How many events could not be merged."] = None
    renderer: Annotated[int | None, "The version of the renderer."] = None
    events_sha256: Annotated[str | None, "The hash of the event set."] = None
    view_sha256: Annotated[str | None, "The hash of the text above the footer."] = None


@record
class FurtherSection:
    """Facts of a kind that has no field of its own, under its heading."""

    heading: Annotated[str, "The section's heading."]
    items: Annotated[tuple[str, ...], "The facts that hold, newest first."] = ()
    earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None


@record
class View:
    """The document merged from events; it can be deleted and rebuilt."""

    title: Annotated[str, "The document's title."] = TITLE
    updated: Annotated[datetime | None, "The time of the newest event."] = None
    goal: Annotated[str, "The newest goal."] = ""
    now: Annotated[str, "The current step, according to the newest event."] = ""
    this_session: Annotated[tuple[str, ...], "Finished work, newest first."] = ()
    this_session_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    next: Annotated[tuple[str, ...], "The next steps."] = ()
    next_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    decisions: Annotated[tuple[Pair, ...], "Decisions by key."] = ()
    decisions_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    contested: Annotated[
        tuple[str, ...], "Decisions under one key whose writers did not know of each other."
    ] = ()
    constraints: Annotated[tuple[str, ...], "What is ruled out or must hold."] = ()
    constraints_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    questions: Annotated[tuple[Question, ...], "Open questions."] = ()
    questions_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    answers: Annotated[tuple[Pair, ...], "Answers by question or feedback."] = ()
    answers_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    checkpoints: Annotated[tuple[Phase, ...], "Points of progress, the latest of each phase."] = ()
    checkpoints_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    gates: Annotated[tuple[str, ...], "Results of gates, the last of each gate and track."] = ()
    gates_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    more: Annotated[tuple[FurtherSection, ...], "Facts of further kinds."] = ()
    footer: Annotated[
        Footer | None,
        "The events and renderer it was made from; None if Passdown did not write the document.",
    ] = None
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def sign_line(text: str, author: str, bearer: str, *, is_ended: bool) -> str:
    """Add to a line of a view its author, who carried it on, if anyone, and whether that session ended."""
    carried = f", carried on by {_name(bearer)}" if bearer != author else ""
    return f"{text} (by {_name(author)}{carried}, {'' if is_ended else 'not '}ended)"


def unsign_line(text: str) -> str:
    """Return a line of a view without its author."""
    return _SIGNED.sub("", text)


def _name(agent: str) -> str:
    shown = _NOT_IN_NAMES.sub("_", one_line(agent))
    return shown if len(shown) <= _NAME else f"{shown[:_NAME]}…"


class BoundedEntries(NamedTuple, Generic[T_co]):
    """The newest entries of a section, how many it leaves out, and its contradictions."""

    items: tuple[T_co, ...] = ()
    earlier: Earlier | None = None
    contested: tuple[str, ...] = ()


@record(kw_only=False)
class BoundedList(Generic[T]):
    """A list whose last lines may show contradictions and the number of earlier entries."""

    items: ListOf[T]
    may_contradict: bool = False

    def read(self, content: str, at: PlacePosition) -> PlaceReading[BoundedEntries[T]]:
        """Read the entries, the contradictions, and the line about earlier entries."""
        body, newline, last = content.rstrip().rpartition("\n")
        match = _EARLIER.fullmatch(last)
        body = body if match and newline else "" if match else content
        contested: list[str] = []
        while self.may_contradict and (found := _CONTESTED.search(body)):
            contested.insert(0, found[1])
            body = body[: found.start()]
        reading = self.items.read(body, at)
        command = match[2] or read_scalar(match[3] or "") or "" if match else ""
        earlier = Earlier(count=int(match[1]), command=command) if match else None
        entries = BoundedEntries(reading.value, earlier, tuple(contested))
        return PlaceReading(entries, reading.strays, reading.problems)

    def write(self, value: BoundedEntries[T]) -> str:
        """Write the entries, the contradictions, and the line about earlier entries."""
        line = ""
        if value.earlier:
            command = value.earlier.command
            shown = f"`{command}`" if _IN_CODE.fullmatch(command) else quote(command)
            line = f"And {value.earlier.count} earlier: {shown}"
        contested = (f"{CONTRADICTION}{text}" for text in value.contested)
        return "\n\n".join(part for part in (self.items.write(value.items), *contested, line) if part)


def _write_millis(name: str, value: datetime | None) -> str:
    return f"{name}: {render_millis(value) if value else 'null'}\n"


def _write_hash(name: str, value: str | None) -> str:
    # Always quoted, because some readers take a hash of digits and one `e` for a number.
    return f"{name}: {quote(value or '')}\n"


_FOOTER_KEYS: Final = (
    count_key("event_count"),
    replace(instant_key("latest_ts"), writer=_write_millis),
    replace(instant_key("generated_at"), writer=_write_millis),
    count_key("skipped"),
    count_key("renderer"),
    replace(text_key("events_sha256"), writer=_write_hash),
    replace(text_key(VIEW_HASH), writer=_write_hash),
)


def _section(title: str, codec: Codec[T]) -> Place[T]:
    return Place(f"Ledger/{title}", codec, f"### {title}", required=False)


def _bounded(title: str, items: ListOf[T], *, may_contradict: bool = False) -> Place[BoundedEntries[object]]:
    codec = BoundedList(items, may_contradict=may_contradict)
    return _section(title, cast("Codec[BoundedEntries[object]]", codec))


_TEXTS: Final = ListOf(str, str)
_PAIRS: Final = ListOf(read_pair, write_pair)
_QUESTIONS: Final = ListOf(read_question, write_question)
_PHASES: Final = ListOf(read_phase, write_phase)

LEDGER: Final = Place("Ledger", Heading(), "## Ledger", "\n", "\n")
UPDATED: Final[Place[datetime | None]] = Place(
    "Ledger/Updated", SingleLine(read_instant, write_value, None), "**Updated:**", " ", "\n"
)
GOAL: Final = Place("Ledger/Goal", SingleLine(str, str, ""), "**Goal:**", " ")
NOW: Final = _section("Now", NOW_LIST)
_SECTIONS: Final = (
    ("this_session", "this_session_earlier", _bounded("This Session", ListOf(str, str, tick="[x]"))),
    ("next", "next_earlier", _bounded("Next", ListOf(str, str, tick="[ ]"))),
    ("decisions", "decisions_earlier", _bounded("Decisions", _PAIRS, may_contradict=True)),
    ("constraints", "constraints_earlier", _bounded("Constraints", _TEXTS)),
    ("questions", "questions_earlier", _bounded("Open Questions", _QUESTIONS)),
    ("answers", "answers_earlier", _bounded("Answers", _PAIRS)),
    ("checkpoints", "checkpoints_earlier", _bounded("Checkpoints", _PHASES)),
    ("gates", "gates_earlier", _bounded("Gates", _TEXTS)),
)
"""For each section: the field with its entries, the field with the number left out, and its place."""
_MORE: Final = MappingProxyType(
    {kind.row.heading: _section(kind.row.heading, BoundedList(_TEXTS)) for kind in FURTHER}
)

SHAPE: Final = DocumentShape(
    name="view",
    keys=(),
    outline=Outline((LEDGER, UPDATED, GOAL, NOW, *(place for *_, place in _SECTIONS), *_MORE.values())),
    title=TITLE,
    section="Ledger",
)


def parse_view(text: str) -> View:
    """Read a view without losing anything; `problems` lists what is wrong.

    Raises `FormatError` if the text is too large or made by a newer renderer format.
    """
    found = read_document(text, SHAPE)
    region = found.region
    footer = _FOOTER.fullmatch(region.after) if region.rule else None
    line = text.count("\n", 0, len(text) - len(region.after)) + 2
    keys = read_keys(_dedent(footer["keys"]), _FOOTER_KEYS, line) if footer else None
    problems = [*conflict_problems(text), *found.problems]
    if keys is None:
        hint = "Passdown leaves it alone; `passdown synthesize` writes a view next to it"
        problems.append(warning(1, FOOTER, "is missing, so this view was not made from events", hint))
        rest = region.after.strip("\r\n")
        kept = [rest] if rest.strip() else []
    else:
        problems += keys.problems
        above = text[: len(text) - len(region.rule) - len(region.after)]
        if keys.values[VIEW_HASH] not in {None, hash_text(above)}:
            hint = "the view was edited by hand"
            problems.append(error(line, VIEW_HASH, "does not match the text above", hint))
        kept = [one.text for one in keys.unknown]
    more = ((heading, found.place(place)) for heading, place in _MORE.items())
    return _make_view(
        **_read_sections(found),
        title=found.title,
        updated=found.place(UPDATED),
        goal=found.place(GOAL),
        more=tuple(
            FurtherSection(heading=heading, items=entries.items, earlier=entries.earlier)
            for heading, entries in more
            if entries != BoundedEntries()
        ),
        footer=_make_footer(**keys.values) if keys else None,
        unknown=(*found.unknown, *(Unknown(place=FOOTER, text=one) for one in kept)),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        source=text,
    )


_make_view: Final = cast("Callable[..., View]", View)
_make_footer: Final = cast("Callable[..., Footer]", Footer)


def _read_sections(found: ParsedDocument) -> dict[str, object]:
    """Return the fields that hold entries; a second current step counts as a next step."""
    values: dict[str, object] = {}
    for name, earlier, place in _SECTIONS:
        entries = found.place(place)
        values[name], values[earlier] = entries.items, entries.earlier
        if entries.contested:
            values["contested"] = entries.contested
    now, *others = found.place(NOW) or ("",)
    steps = cast("tuple[str, ...]", values["next"])
    return {**values, "now": now, "next": (*others, *steps)}


def _dedent(keys: str) -> str:
    lines = keys.split("\n")
    common = min((len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()), default=0)
    return "\n".join(line[common:] if line.strip() else line for line in lines)


def render_view(view: View) -> str:
    """Write a view with the hash of its text; one that was read and not changed is returned unchanged."""
    if view.source is not None and view == parse_view(view.source):
        return view.source
    values: dict[str, object] = {
        LEDGER.name: None,
        UPDATED.name: view.updated,
        GOAL.name: view.goal,
        NOW.name: (view.now,) if view.now else (),
    }
    for name, earlier, place in _SECTIONS:
        contested = view.contested if name == "decisions" else ()
        values[place.name] = BoundedEntries(getattr(view, name), getattr(view, earlier), contested)
    more = {one.heading: BoundedEntries(one.items, one.earlier) for one in view.more}
    for heading, place in _MORE.items():
        values[place.name] = more.get(heading, BoundedEntries())
    unknown = tuple(one for one in view.unknown if one.place != FOOTER)
    above = write_document(SHAPE, DocumentContent(view.title, values, unknown)).removesuffix("---\n")
    kept = "".join(f"{one.text}\n" for one in view.unknown if one.place == FOOTER)
    if view.footer is None:
        return f"{above}---\n\n{kept}" if kept else above
    footer = {**as_dict(view.footer), VIEW_HASH: hash_text(above)}
    keys = write_keys(_FOOTER_KEYS, footer, ())
    inner = "".join(f"  {line}\n" for line in (keys + kept).splitlines())
    return f"{above}---\n_synthesized:\n{inner}---\n"


# --- what a person wrote --------------------------------------------------------------------------

_OURS: Final = pattern(
    rf"{re.escape(UPDATED.head)}|And [0-9]{{1,9}} earlier: |{CONTRADICTION}.+{re.escape(UNSEEN)}"
)
_HEADS: Final = frozenset({f"# {TITLE}", LEDGER.head})


class OwnLine(NamedTuple):
    """A line of a view that is in no known view, with its heading."""

    section: str
    text: str


def list_own_lines(text: str, known: Collection[str]) -> Iterator[OwnLine]:
    """Yield the lines of a view that a person may have written: not in `known`, not in the frame (C116).

    The frame is the title, the headings, the footers, the time, the lines about earlier entries and about
    decisions that contradict each other, and conflict markers. It may appear twice in a view that git merged.
    """
    section = ""
    is_footer = False
    for whole in text.replace("\r\n", "\n").split("\n"):
        line = whole.rstrip()
        is_footer = line == "_synthesized:" or (is_footer and (line[:1].isspace() or is_marker(line)))
        if line.startswith("#"):
            section = "" if line in _HEADS else line
        elif not (is_footer or line in known or _is_frame(line)):
            yield OwnLine("" if line.startswith(GOAL.head) else section, line)


def _is_frame(line: str) -> bool:
    is_bare = line in {"", "---", GOAL.head} or is_marker(line) or is_placeholder(line)
    return is_bare or bool(_OURS.match(line))


def render_own_line(line: OwnLine) -> str:
    """Return a view with only this line."""
    section = f"{line.section}\n" if line.section else ""
    return f"# {TITLE}\n\n{LEDGER.head}\n{section}{line.text}\n"
