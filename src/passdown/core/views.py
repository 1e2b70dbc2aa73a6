"""The view `current.md`: all events merged, for people and for tools that read a Ledger section (S2).

The body is a Ledger section like a stream's, so that whoever extracts that section reads the view too. The
footer says from which events it was made and holds the hash of the text above it (C64).
"""

import re
from datetime import datetime
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

from passdown.core.checkpoints import Phase, read_phase, write_phase
from passdown.core.documents import Content, Shape
from passdown.core.fields import count_key, instant_key, text_key
from passdown.core.keys import Keys, read_keys, write_keys
from passdown.core.outlines import Outline
from passdown.core.pairs import Pair, read_pair, write_pair
from passdown.core.patterns import pattern
from passdown.core.places import At, ListOf, Place, Reading
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.core.regions import Region, read_region, write_region
from passdown.core.scalars import quote, unquote
from passdown.core.seals import hash_text
from passdown.core.streams import GOAL, LEDGER, NOW, UPDATED, Question, read_question, write_question
from passdown.core.times import render_millis
from passdown.core.view_places import RENDERER
from passdown.records import field, record, replace

T = TypeVar("T")

VERSION: Final = RENDERER
TITLE: Final = "Project Ledger"
FOOTER: Final = "footer"

_FOOTER: Final = pattern(r"\s*_synthesized:[ \t]*\r?\n(?P<keys>(?:[ \t]+[^\n]*\n|\r?\n)*)---\s*")
_EARLIER: Final = pattern(r"""And ([0-9]{1,9}) earlier: (?:`([^`\n]*)`|("[^\n]*"))\r?""")
_IN_CODE: Final = pattern(r"[^`\x00-\x1f\x7f-\x9f\u2028\u2029]*")


@record
class Earlier:
    """What a section leaves out, and the command that lists it."""

    count: Annotated[int, "How many entries are left out."]
    command: Annotated[str, "The command that lists them."]


@record
class Footer:
    """From what and by what a view was made."""

    event_count: Annotated[int | None, "How many events were merged."] = None
    latest_ts: Annotated[datetime | None, "The newest of them."] = None
    generated_at: Annotated[datetime | None, "The same, so that equal events give equal bytes."] = None
    skipped: Annotated[int | None, "Events that could not be merged."] = None
    renderer: Annotated[int | None, "The version of the renderer."] = None
    events_sha256: Annotated[str | None, "The hash of the event set."] = None
    view_sha256: Annotated[str | None, "The hash of the text above the footer."] = None


@record
class View:
    """The document merged from events; it may be deleted and rebuilt."""

    title: Annotated[str, "The document's title."] = TITLE
    updated: Annotated[datetime | None, "The newest event's time."] = None
    goal: Annotated[str, "The newest goal."] = ""
    now: Annotated[str, "What is being done, by the newest event."] = ""
    this_session: Annotated[tuple[str, ...], "What is finished, newest first."] = ()
    this_session_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    next: Annotated[tuple[str, ...], "What comes after."] = ()
    next_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    decisions: Annotated[tuple[Pair, ...], "Choices by key."] = ()
    decisions_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    constraints: Annotated[tuple[str, ...], "What is ruled out or must hold."] = ()
    constraints_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    questions: Annotated[tuple[Question, ...], "What is open."] = ()
    questions_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    checkpoints: Annotated[tuple[Phase, ...], "Points of progress, the latest of each phase."] = ()
    checkpoints_earlier: Annotated[Earlier | None, "What the section leaves out."] = None
    footer: Annotated[Footer | None, "Made of what; absent in a document that is not ours."] = None
    unknown: Annotated[tuple[Unknown, ...], "What no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


class Bounded(NamedTuple, Generic[T]):
    """The newest entries of a section, and what it leaves out."""

    items: tuple[T, ...] = ()
    earlier: Earlier | None = None


@record(kw_only=False)
class BoundedList(Generic[T]):
    """A list whose last line may say how many earlier entries there are."""

    items: ListOf[T]

    def read(self, content: str, at: At) -> Reading[Bounded[T]]:
        """Read the entries, and the line about earlier ones."""
        body, newline, last = content.rstrip().rpartition("\n")
        match = _EARLIER.fullmatch(last)
        reading = self.items.read(body if match and newline else "" if match else content, at)
        earlier = Earlier(count=int(match[1]), command=_read_command(match)) if match else None
        return Reading(Bounded(reading.value, earlier), reading.strays, reading.problems)

    def write(self, value: Bounded[T]) -> str:
        """Write the entries, then the line about earlier ones."""
        earlier = value.earlier
        line = f"And {earlier.count} earlier: {_write_command(earlier.command)}" if earlier else ""
        return "\n\n".join(part for part in (self.items.write(value.items), line) if part)

    def revise(self, content: str, value: Bounded[T]) -> str:
        """Write it anew: a view is made, not edited."""
        del content
        return self.write(value)


def _read_command(match: re.Match[str]) -> str:
    quoted = unquote(match[3]) if match[3] else match[2]
    return match[3] if quoted is None else quoted


def _write_command(command: str) -> str:
    """Write a command as code, or in quotes when it holds what code cannot."""
    return f"`{command}`" if _IN_CODE.fullmatch(command) else quote(command)


def _write_millis(name: str, value: datetime | None) -> str:
    return f"{name}: {render_millis(value) if value else 'null'}\n"


def _write_hash(name: str, value: str | None) -> str:
    # Always quoted: a hash of digits and one `e` is a number to some readers.
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
    "Ledger/Decisions", BoundedList(ListOf(read_pair, write_pair)), "### Decisions", required=False
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
_CHECKPOINTS: Final = Place(
    "Ledger/Checkpoints", BoundedList(ListOf(read_phase, write_phase)), "### Checkpoints", required=False
)
_GOAL: Final = replace(GOAL, trail="\n\n")

SHAPE: Final = Shape(
    name="view",
    keys=(),
    outline=Outline(
        (
            LEDGER,
            UPDATED,
            _GOAL,
            NOW,
            _THIS_SESSION,
            _NEXT,
            _DECISIONS,
            _CONSTRAINTS,
            _QUESTIONS,
            _CHECKPOINTS,
        )
    ),
    title=TITLE,
)


def parse_view(text: str) -> View:
    """Read a view; nothing is lost, and what is wrong is in `problems`.

    Raises `FormatError` when the text is too large or made by a newer renderer format.
    """
    found, region = read_region(text, SHAPE)
    footer = _FOOTER.fullmatch(region.after) if region.rule else None
    keys = read_keys(_dedent(footer["keys"]), _FOOTER_KEYS, _footer_line(text, region)) if footer else None
    problems = [*found.problems, *(keys.problems if keys else ()), *_judge(text, region, keys)]
    bounded = {place.name: found.place(place) for place in (_THIS_SESSION, _NEXT, _CONSTRAINTS)}
    nows = found.place(NOW)
    return View(
        title=found.body.title,
        updated=found.place(UPDATED),
        goal=found.place(_GOAL),
        now=nows[0] if nows else "",
        this_session=bounded[_THIS_SESSION.name].items,
        this_session_earlier=bounded[_THIS_SESSION.name].earlier,
        next=nows[1:] + bounded[_NEXT.name].items,
        next_earlier=bounded[_NEXT.name].earlier,
        decisions=found.place(_DECISIONS).items,
        decisions_earlier=found.place(_DECISIONS).earlier,
        constraints=bounded[_CONSTRAINTS.name].items,
        constraints_earlier=bounded[_CONSTRAINTS.name].earlier,
        questions=found.place(_QUESTIONS).items,
        questions_earlier=found.place(_QUESTIONS).earlier,
        checkpoints=found.place(_CHECKPOINTS).items,
        checkpoints_earlier=found.place(_CHECKPOINTS).earlier,
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
        hint = "it is left alone; `passdown synthesize` makes a view beside it"
        return [warning(1, FOOTER, "is missing, so this view was not made from events", hint)]
    stated = _VIEW_HASH.of(keys.values)
    above = text[: len(text) - len(region.rule) - len(region.after)]
    if stated is not None and stated != hash_text(above):
        line = _footer_line(text, region)
        return [error(line, "view_sha256", "does not fit the text above", "the view was edited by hand")]
    return []


def _content(view: View) -> Content:
    return Content(
        title=view.title,
        keys=(),
        places=(
            LEDGER.holds(None),
            UPDATED.holds(view.updated),
            _GOAL.holds(view.goal),
            NOW.holds((view.now,) if view.now else ()),
            _THIS_SESSION.holds(Bounded(view.this_session, view.this_session_earlier)),
            _NEXT.holds(Bounded(view.next, view.next_earlier)),
            _DECISIONS.holds(Bounded(view.decisions, view.decisions_earlier)),
            _CONSTRAINTS.holds(Bounded(view.constraints, view.constraints_earlier)),
            _QUESTIONS.holds(Bounded(view.questions, view.questions_earlier)),
            _CHECKPOINTS.holds(Bounded(view.checkpoints, view.checkpoints_earlier)),
        ),
        unknown=tuple(one for one in view.unknown if one.place != FOOTER),
    )


def render_view(view: View) -> str:
    """Write a view with the hash of its text; one that was read and not changed is what it was."""
    if view.source is not None and view == parse_view(view.source):
        return view.source
    above = write_region(SHAPE, _content(view), "").removesuffix("---\n")
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
    return write_keys(held, ())


def seal_view(view: View) -> View:
    """Return the view as it reads back once written, with its hash in the footer."""
    return replace(parse_view(render_view(replace(view, source=None))), source=None, problems=())
