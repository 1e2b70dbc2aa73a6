"""From merged events to the view that people read: the newest of each section, bounded at any number.

A view stays under 16 KB: each section has a number of entries and a number of bytes it may take, a text over
300 characters is cut, and whatever is left out is counted, with the command that shows it.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar, cast

from passdown.core.checkpoints import Phase, PhaseState, read_state
from passdown.core.merge import Digest, Held, Newest
from passdown.core.pairs import Pair
from passdown.core.patterns import pattern
from passdown.core.problems import Malformed
from passdown.core.sources import (
    CHECKPOINTS,
    CONSTRAINTS,
    DECISIONS,
    DONE,
    GOAL,
    NEXT,
    NOW,
    QUESTIONS,
    Checkpoint,
    Section,
)
from passdown.core.streams import Question, read_question
from passdown.core.texts import one_line
from passdown.core.times import render_millis
from passdown.core.views import VERSION, Earlier, Footer, View

T = TypeVar("T")

MAX_BYTES: Final = 16_384
MAX_TEXT: Final = 300
LIMIT: Final = 20
"""How many entries of a section can be shown at most."""

_NUMBER: Final = pattern(r"[0-9]{1,9}")


class Bound(NamedTuple):
    """How much of a section is shown."""

    entries: int
    size: int
    command: str


_FINISHED: Final = Bound(15, 2_900, "passdown view list done")
_FOLLOWING: Final = Bound(10, 1_500, "passdown view list next")
_CHOICES: Final = Bound(LIMIT, 3_000, "passdown view list decisions")
_RULES: Final = Bound(LIMIT, 2_300, "passdown view list constraints")
_OPEN: Final = Bound(10, 1_500, "passdown view list questions")
_PHASES: Final = Bound(10, 1_200, "passdown view list checkpoints")
_ONE_TEXT: Final = 900


def make_view(digest: Digest) -> View:
    """Make the view of merged events; it depends on nothing else."""
    done, done_earlier = _take(digest.sections[DONE], _FINISHED, _text)
    following, next_earlier = _take(_next(digest), _FOLLOWING, _text)
    decisions, decisions_earlier = _take(digest.sections[DECISIONS], _CHOICES, _decision)
    constraints, constraints_earlier = _take(digest.sections[CONSTRAINTS], _RULES, _text)
    questions, questions_earlier = _take(digest.sections[QUESTIONS], _OPEN, _question)
    phases, phases_earlier = _take(digest.sections[CHECKPOINTS], _PHASES, _phase)
    return View(
        updated=digest.latest,
        goal=_register(digest, GOAL),
        now=_register(digest, NOW),
        this_session=done,
        this_session_earlier=done_earlier,
        next=following,
        next_earlier=next_earlier,
        decisions=decisions,
        decisions_earlier=decisions_earlier,
        constraints=constraints,
        constraints_earlier=constraints_earlier,
        questions=questions,
        questions_earlier=questions_earlier,
        checkpoints=phases,
        checkpoints_earlier=phases_earlier,
        footer=Footer(
            event_count=digest.event_count,
            latest_ts=digest.latest,
            generated_at=digest.latest,
            skipped=digest.skipped,
            renderer=VERSION,
            events_sha256=digest.events_sha256,
        ),
    )


def _register(digest: Digest, section: Section) -> str:
    held = digest.registers.get(section)
    return _shorten(str(held.value), held, _ONE_TEXT) if held else ""


def _next(digest: Digest) -> Newest:
    """Give the entries of the newest list of next steps, the first one first."""
    held = digest.registers.get(NEXT)
    values = (held.value,) if held and isinstance(held.value, str) else held.value if held else ()
    entries = tuple(held._replace(value=value) for value in values) if held else ()
    return Newest(entries, len(entries))


def _take(
    newest: Newest, bound: Bound, show: Callable[[Held], tuple[T, str]]
) -> tuple[tuple[T, ...], Earlier | None]:
    """Take entries while they fit; say how many are left out."""
    shown = _within([show(held) for held in newest.held[: bound.entries]], bound.size)
    left = newest.total - len(shown)
    return shown, Earlier(count=left, command=bound.command) if left else None


def _within(entries: Sequence[tuple[T, str]], size: int) -> tuple[T, ...]:
    taken: list[T] = []
    for entry, text in entries:
        size -= _size(text)
        if size < 0:
            break
        taken.append(entry)
    return tuple(taken)


def _size(text: str) -> int:
    """Say how many bytes an entry takes at most, with its mark and what its writer may escape."""
    escaped = sum(map(text.count, '\\"*_`<>[]#'))
    return len(text.encode("utf-8", "surrogatepass")) + escaped + 12


def _shorten(text: str, held: Held, size: int = _ONE_TEXT) -> str:
    """Show a text on one line; one over 300 characters, or too many bytes, is cut and names its command."""
    line = one_line(" ".join(text.split()))
    if len(line) <= MAX_TEXT and len(line.encode()) <= size:
        return line
    command = f"… `passdown event show {held.rank.hash[:16]}`"
    kept = line[:MAX_TEXT].encode()[: size - 60].decode("utf-8", "ignore")
    return kept.rstrip(" \\") + command


def _text(held: Held) -> tuple[str, str]:
    shown = _shorten(str(held.value), held)
    return shown, shown


def _question(held: Held) -> tuple[Question, str]:
    shown = _shorten(str(held.value), held)
    return read_question(shown), shown


def _decision(held: Held) -> tuple[Pair, str]:
    key, text = cast("tuple[str, str]", held.value)
    pair = Pair(key=_shorten(key, held, 200), value=_shorten(text, held))
    return pair, f"{pair.key}: {pair.value}"


def _phase(held: Held) -> tuple[Phase, str]:
    one = Checkpoint._make(held.value)
    detail = ", ".join(part for part in (one.task, one.agent, f"{render_millis(held.at)[:16]}Z") if part)
    number = int(one.phase) if _NUMBER.fullmatch(one.phase) else 0
    name = one.name or (one.phase if number == 0 else "")
    phase = Phase(
        phase=number,
        name=_shorten(name.replace("(", "[").replace(")", "]"), held, 120),
        state=_state(one.status),
        detail=_shorten(detail.replace("(", "[").replace(")", "]"), held, 200),
    )
    return phase, f"{phase.phase} {phase.name} {phase.state} {phase.detail} Phase"


def _state(status: str) -> PhaseState:
    try:
        return read_state(status)
    except Malformed:
        return PhaseState.PENDING
