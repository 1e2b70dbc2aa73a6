"""The view `current.md`: all events merged, for people and for tools that read a Ledger section (S2).

The body is a Ledger section like that of a stream, so tools that extract that section can also read the view.
The footer records the events that it was made from, and the hash of the text above it (C64).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

from passdown.core.documents.conflicts import conflict_problems
from passdown.core.documents.documents import DocumentContent, DocumentShape, read_document, write_document
from passdown.core.documents.fields import count_key, instant_key, read_instant, text_key
from passdown.core.documents.key_value import Pair, read_pair, write_pair
from passdown.core.documents.keys import Keys, read_keys, write_keys
from passdown.core.documents.markdown import Region
from passdown.core.documents.outlines import Outline
from passdown.core.documents.places import Heading, ListOf, Place, PlacePosition, PlaceReading, SingleLine
from passdown.core.documents.scalars import quote, unquote
from passdown.core.formats.checkpoints import Phase, read_phase, write_phase
from passdown.core.formats.streams import NOW_LIST, Question, read_question, write_question
from passdown.core.formats.view_footer import hash_text
from passdown.core.formats.view_location import RENDERER
from passdown.core.kinds import FURTHER
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.core.safe_text import one_line
from passdown.core.statements import CONTRADICTION, UNSEEN
from passdown.core.times import render_millis, render_seconds
from passdown.records import field, record, replace

T = TypeVar("T")

VERSION: Final = RENDERER
TITLE: Final = "Project Ledger"
FOOTER: Final = "footer"

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
    """The events and the renderer that a view was made with."""

    event_count: Annotated[int | None, "How many events were merged."] = None
    latest_ts: Annotated[datetime | None, "The time of the newest event."] = None
    generated_at: Annotated[datetime | None, "The same time, so that equal events give equal bytes."] = None
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
    """The document merged from events; it may be deleted and rebuilt."""

    title: Annotated[str, "The document's title."] = TITLE
    updated: Annotated[datetime | None, "The time of the newest event."] = None
    goal: Annotated[str, "The newest goal."] = ""
    now: Annotated[str, "The present step, according to the newest event."] = ""
    this_session: Annotated[tuple[str, ...], "Finished work, newest first."] = ()
    this_session_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    next: Annotated[tuple[str, ...], "The next steps."] = ()
    next_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    decisions: Annotated[tuple[Pair, ...], "Decisions by key."] = ()
    decisions_earlier: Annotated[Earlier | None, "The entries that the section leaves out."] = None
    contested: Annotated[tuple[str, ...], "Decisions of one key that did not know of each other."] = ()
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
        Footer | None, "The events and renderer it was made with; absent in a document that we did not write."
    ] = None
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def sign_line(text: str, author: str, bearer: str, *, is_ended: bool) -> str:
    """Add to a line of a view whose it is, who carried it on, if anybody did, and whether that one ended."""
    carried = f", carried on by {_name(bearer)}" if bearer != author else ""
    return f"{text} (by {_name(author)}{carried}, {'' if is_ended else 'not '}ended)"


def unsign_line(text: str) -> str:
    """Return a line of a view without whose it is."""
    return _SIGNED.sub("", text)


def _name(agent: str) -> str:
    shown = _NOT_IN_NAMES.sub("_", one_line(agent))
    return shown if len(shown) <= _NAME else f"{shown[:_NAME]}…"


class BoundedEntries(NamedTuple, Generic[T]):
    """The newest entries of a section, how many it leaves out, and what contradicts them."""

    items: tuple[T, ...] = ()
    earlier: Earlier | None = None
    contested: tuple[str, ...] = ()


@record(kw_only=False)
class BoundedList(Generic[T]):
    """A list whose last lines may say what contradicts an entry, and how many earlier entries there are."""

    items: ListOf[T]
    may_contradict: bool = False

    def read(self, content: str, at: PlacePosition) -> PlaceReading[BoundedEntries[T]]:
        """Read the entries, what contradicts them, and the line about earlier ones."""
        body, newline, last = content.rstrip().rpartition("\n")
        match = _EARLIER.fullmatch(last)
        body = body if match and newline else "" if match else content
        contested: list[str] = []
        while self.may_contradict and (found := _CONTESTED.search(body)):
            contested.insert(0, found[1])
            body = body[: found.start()]
        reading = self.items.read(body, at)
        earlier = Earlier(count=int(match[1]), command=_read_command(match)) if match else None
        entries = BoundedEntries(reading.value, earlier, tuple(contested))
        return PlaceReading(entries, reading.strays, reading.problems)

    def write(self, value: BoundedEntries[T]) -> str:
        """Write the entries, what contradicts them, and the line about earlier ones."""
        earlier = value.earlier
        line = f"And {earlier.count} earlier: {_write_command(earlier.command)}" if earlier else ""
        contested = (f"{CONTRADICTION}{text}" for text in value.contested)
        return "\n\n".join(part for part in (self.items.write(value.items), *contested, line) if part)


def _read_command(match: re.Match[str]) -> str:
    quoted = unquote(match[3]) if match[3] else match[2]
    return match[3] if quoted is None else quoted


def _write_command(command: str) -> str:
    """Write a command as code, or in quotes if code cannot hold it."""
    return f"`{command}`" if _IN_CODE.fullmatch(command) else quote(command)


def _write_millis(name: str, value: datetime | None) -> str:
    return f"{name}: {render_millis(value) if value else 'null'}\n"


def _write_hash(name: str, value: str | None) -> str:
    # Always quoted: some readers take a hash of digits and one `e` for a number.
    return f"{name}: {quote(value or '')}\n"


_EVENT_COUNT: Final = count_key("event_count")
_LATEST: Final = replace(instant_key("latest_ts"), writer=_write_millis)
_GENERATED: Final = replace(instant_key("generated_at"), writer=_write_millis)
_SKIPPED: Final = count_key("skipped")
_RENDERER: Final = count_key("renderer")
_EVENTS_HASH: Final = replace(text_key("events_sha256"), writer=_write_hash)
_VIEW_HASH: Final = replace(text_key("view_sha256"), writer=_write_hash)
_FOOTER_KEYS: Final = (_EVENT_COUNT, _LATEST, _GENERATED, _SKIPPED, _RENDERER, _EVENTS_HASH, _VIEW_HASH)

_THIS_SESSION: Final = Place(
    "Ledger/This Session", BoundedList(ListOf(str, str, tick="[x]")), "### This Session", required=False
)
_NEXT: Final = Place("Ledger/Next", BoundedList(ListOf(str, str, tick="[ ]")), "### Next", required=False)
_DECISIONS: Final = Place(
    "Ledger/Decisions",
    BoundedList(ListOf(read_pair, write_pair), may_contradict=True),
    "### Decisions",
    required=False,
)
_CONSTRAINTS: Final = Place(
    "Ledger/Constraints", BoundedList(ListOf(str, str)), "### Constraints", required=False
)
_QUESTIONS: Final = Place(
    "Ledger/Open Questions",
    BoundedList(ListOf(read_question, write_question)),
    "### Open Questions",
    required=False,
)
_ANSWERS: Final = Place(
    "Ledger/Answers", BoundedList(ListOf(read_pair, write_pair)), "### Answers", required=False
)
_CHECKPOINTS: Final = Place(
    "Ledger/Checkpoints", BoundedList(ListOf(read_phase, write_phase)), "### Checkpoints", required=False
)
_GATES: Final = Place("Ledger/Gates", BoundedList(ListOf(str, str)), "### Gates", required=False)
_INSTANT: Final[SingleLine[datetime | None]] = SingleLine(
    read_instant, lambda at: render_seconds(at) if at else "", None
)
LEDGER: Final = Place("Ledger", Heading(), "## Ledger", "\n", "\n")
UPDATED: Final = Place("Ledger/Updated", _INSTANT, "**Updated:**", " ", "\n")
GOAL: Final = Place("Ledger/Goal", SingleLine(str, str, ""), "**Goal:**", " ")
NOW: Final = Place("Ledger/Now", NOW_LIST, "### Now", required=False)
_MORE: Final = tuple(
    Place(
        f"Ledger/{kind.row.heading}",
        BoundedList(ListOf(str, str)),
        f"### {kind.row.heading}",
        required=False,
    )
    for kind in FURTHER
)

SHAPE: Final = DocumentShape(
    name="view",
    keys=(),
    outline=Outline(
        (
            LEDGER,
            UPDATED,
            GOAL,
            NOW,
            _THIS_SESSION,
            _NEXT,
            _DECISIONS,
            _CONSTRAINTS,
            _QUESTIONS,
            _ANSWERS,
            _CHECKPOINTS,
            _GATES,
            *_MORE,
        )
    ),
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
    keys = read_keys(_dedent(footer["keys"]), _FOOTER_KEYS, _footer_line(text, region)) if footer else None
    problems = [
        *conflict_problems(text),
        *found.problems,
        *(keys.problems if keys else ()),
        *_judge(text, region, keys),
    ]
    bounded = {place.name: found.place(place) for place in (_THIS_SESSION, _NEXT, _CONSTRAINTS)}
    nows = found.place(NOW)
    return View(
        title=found.title,
        updated=found.place(UPDATED),
        goal=found.place(GOAL),
        now=nows[0] if nows else "",
        this_session=bounded[_THIS_SESSION.name].items,
        this_session_earlier=bounded[_THIS_SESSION.name].earlier,
        next=nows[1:] + bounded[_NEXT.name].items,
        next_earlier=bounded[_NEXT.name].earlier,
        decisions=found.place(_DECISIONS).items,
        decisions_earlier=found.place(_DECISIONS).earlier,
        contested=found.place(_DECISIONS).contested,
        constraints=bounded[_CONSTRAINTS.name].items,
        constraints_earlier=bounded[_CONSTRAINTS.name].earlier,
        questions=found.place(_QUESTIONS).items,
        questions_earlier=found.place(_QUESTIONS).earlier,
        answers=found.place(_ANSWERS).items,
        answers_earlier=found.place(_ANSWERS).earlier,
        checkpoints=found.place(_CHECKPOINTS).items,
        checkpoints_earlier=found.place(_CHECKPOINTS).earlier,
        gates=found.place(_GATES).items,
        gates_earlier=found.place(_GATES).earlier,
        more=tuple(
            FurtherSection(heading=kind.row.heading, items=section.items, earlier=section.earlier)
            for kind, place in zip(FURTHER, _MORE, strict=True)
            if (section := found.place(place)) != BoundedEntries()
        ),
        footer=_make_footer(keys) if keys else None,
        unknown=found.unknown + _kept(region, keys),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        source=text,
    )


def _dedent(keys: str) -> str:
    lines = keys.split("\n")
    common = min((len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()), default=0)
    return "\n".join(line[common:] if line.strip() else line for line in lines)


def _footer_line(text: str, region: Region) -> int:
    return text.count("\n", 0, len(text) - len(region.after)) + 2


def _make_footer(keys: Keys) -> Footer:
    return Footer(
        event_count=_EVENT_COUNT.of(keys.values),
        latest_ts=_LATEST.of(keys.values),
        generated_at=_GENERATED.of(keys.values),
        skipped=_SKIPPED.of(keys.values),
        renderer=_RENDERER.of(keys.values),
        events_sha256=_EVENTS_HASH.of(keys.values),
        view_sha256=_VIEW_HASH.of(keys.values),
    )


def _kept(region: Region, keys: Keys | None) -> tuple[Unknown, ...]:
    if keys is not None:
        return tuple(Unknown(place=FOOTER, text=one.text) for one in keys.unknown)
    rest = region.after.strip("\r\n")
    return (Unknown(place=FOOTER, text=rest),) if rest.strip() else ()


def _judge(text: str, region: Region, keys: Keys | None) -> list[Problem]:
    if keys is None:
        hint = "it is not changed; `passdown synthesize` writes a view next to it"
        return [warning(1, FOOTER, "is missing, so this view was not made from events", hint)]
    stated = _VIEW_HASH.of(keys.values)
    above = text[: len(text) - len(region.rule) - len(region.after)]
    if stated is not None and stated != hash_text(above):
        line = _footer_line(text, region)
        return [error(line, "view_sha256", "does not match the text above", "the view was edited by hand")]
    return []


def _content(view: View) -> DocumentContent:
    return DocumentContent(
        title=view.title,
        values=dict(
            (
                LEDGER.holds(None),
                UPDATED.holds(view.updated),
                GOAL.holds(view.goal),
                NOW.holds((view.now,) if view.now else ()),
                _THIS_SESSION.holds(BoundedEntries(view.this_session, view.this_session_earlier)),
                _NEXT.holds(BoundedEntries(view.next, view.next_earlier)),
                _DECISIONS.holds(BoundedEntries(view.decisions, view.decisions_earlier, view.contested)),
                _CONSTRAINTS.holds(BoundedEntries(view.constraints, view.constraints_earlier)),
                _QUESTIONS.holds(BoundedEntries(view.questions, view.questions_earlier)),
                _ANSWERS.holds(BoundedEntries(view.answers, view.answers_earlier)),
                _CHECKPOINTS.holds(BoundedEntries(view.checkpoints, view.checkpoints_earlier)),
                _GATES.holds(BoundedEntries(view.gates, view.gates_earlier)),
                *_hold_more(view),
            )
        ),
        unknown=tuple(one for one in view.unknown if one.place != FOOTER),
    )


def _hold_more(view: View) -> Iterator[tuple[str, object]]:
    sections = {one.heading: BoundedEntries(one.items, one.earlier) for one in view.more}
    for kind, place in zip(FURTHER, _MORE, strict=True):
        yield place.holds(sections.get(kind.row.heading, BoundedEntries()))


def render_view(view: View) -> str:
    """Write a view with the hash of its text; one that was read and not changed is returned unchanged."""
    if view.source is not None and view == parse_view(view.source):
        return view.source
    above = write_document(SHAPE, _content(view)).removesuffix("---\n")
    kept = "".join(f"{one.text}\n" for one in view.unknown if one.place == FOOTER)
    if view.footer is None:
        return f"{above}---\n\n{kept}" if kept else above
    keys = _write_footer(replace(view.footer, view_sha256=hash_text(above)))
    inner = "".join(f"  {line}\n" for line in (keys + kept).splitlines())
    return f"{above}---\n_synthesized:\n{inner}---\n"


def _write_footer(footer: Footer) -> str:
    held = (
        _EVENT_COUNT.holds(footer.event_count),
        _LATEST.holds(footer.latest_ts),
        _GENERATED.holds(footer.generated_at),
        _SKIPPED.holds(footer.skipped),
        _RENDERER.holds(footer.renderer),
        _EVENTS_HASH.holds(footer.events_sha256),
        _VIEW_HASH.holds(footer.view_sha256),
    )
    return write_keys(_FOOTER_KEYS, dict(held), ())
