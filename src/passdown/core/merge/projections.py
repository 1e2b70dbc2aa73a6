"""Turn merged events into the view that people read: the newest entries of each section, within limits.

A view stays under 16 KB: each section has a limit on entries and on bytes, texts over 300 characters are cut,
and omitted entries are counted, with the command that shows them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact, read_phase, show_gate
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Question, read_question
from passdown.core.formats.views import (
    VERSION,
    Earlier,
    Footer,
    FurtherSection,
    View,
    sign_line,
)
from passdown.core.kinds import AIMS, FURTHER, FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.merge.merge import Digest, NewestFacts
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed
from passdown.core.safe_text import one_line
from passdown.core.statements import CONTRADICTION, UNSEEN
from passdown.core.times import render_millis

T = TypeVar("T")

MAX_TEXT: Final = 300
LIMIT: Final = 20
"""The most entries of a section that can be shown."""

_NUMBER: Final = pattern(r"[0-9]{1,9}")


class SectionLimit(NamedTuple):
    """The limits of a section, and the command that shows the rest."""

    entries: int
    size: int
    command: str


_FINISHED: Final = SectionLimit(15, 2_900, "passdown view list done")
_FOLLOWING: Final = SectionLimit(10, 1_500, "passdown view list next")
_CHOICES: Final = SectionLimit(LIMIT, 3_000, "passdown view list decisions")
_CONTESTED: Final = SectionLimit(5, 2_000, "passdown view list decisions")
_SIDES: Final = 4
_ONE_SIDE: Final = 400
_RULES: Final = SectionLimit(LIMIT, 2_300, "passdown view list constraints")
_OPEN: Final = SectionLimit(10, 1_500, "passdown view list questions")
_ANSWERS: Final = SectionLimit(10, 1_000, "passdown view list answers")
_PHASES: Final = SectionLimit(10, 1_200, "passdown view list checkpoints")
_GATES: Final = SectionLimit(10, 500, "passdown view list gates")
_ONE_TEXT: Final = 900


def make_view(digest: Digest) -> View:
    """Make the view of merged events; it depends on nothing else."""
    done, done_earlier = _take(digest.kinds[FactKind.DONE], _FINISHED, _text)
    following, next_earlier = _take(digest.kinds[FactKind.NEXT], _FOLLOWING, _signer(digest))
    contested = tuple(_show_contested(digest))
    choices = _CHOICES._replace(size=_CHOICES.size - sum(map(_size_contested, contested)))
    decisions, decisions_earlier = _take(digest.kinds[FactKind.DECISION], choices, _pair)
    constraints, constraints_earlier = _take(digest.kinds[FactKind.CONSTRAINT], _RULES, _text)
    questions, questions_earlier = _take(digest.kinds[FactKind.QUESTION], _OPEN, _question)
    answers, answers_earlier = _take(digest.kinds[FactKind.ANSWER], _ANSWERS, _pair)
    phases, phases_earlier = _take(digest.kinds[FactKind.CHECKPOINT], _PHASES, _phase)
    gates, gates_earlier = _take(digest.kinds[FactKind.GATE], _GATES, _gate)
    return View(
        updated=digest.latest,
        goal=_register(digest, FactKind.GOAL),
        now=_register(digest, FactKind.NOW),
        this_session=done,
        this_session_earlier=done_earlier,
        next=following,
        next_earlier=next_earlier,
        decisions=decisions,
        decisions_earlier=decisions_earlier,
        contested=contested,
        constraints=constraints,
        constraints_earlier=constraints_earlier,
        questions=questions,
        questions_earlier=questions_earlier,
        answers=answers,
        answers_earlier=answers_earlier,
        checkpoints=phases,
        checkpoints_earlier=phases_earlier,
        gates=gates,
        gates_earlier=gates_earlier,
        more=tuple(_further(digest)),
        footer=Footer(
            event_count=digest.event_count,
            latest_ts=digest.latest,
            generated_at=digest.latest,
            skipped=digest.skipped,
            renderer=VERSION,
            events_sha256=digest.events_sha256,
        ),
    )


def _show_contested(digest: Digest) -> Iterator[str]:
    """Yield contested decisions with their dates, not their ages: a view depends on events alone.

    They use the room of the section of decisions; `passdown view list decisions` shows those that do not fit.
    """
    size = _CONTESTED.size
    for facts in digest.contested[: _CONTESTED.entries]:
        parts = (f"{_shorten(one.text, one, _ONE_SIDE)} ({_signed(one)})" for one in facts[:_SIDES])
        more = f"; and {len(facts) - _SIDES} more" if len(facts) > _SIDES else ""
        shown = f"{_shorten(facts[0].key, facts[0], 200)}: {UNSEEN.join(parts)}{more}"
        size -= _size_contested(shown)
        if size < 0:
            return
        yield shown


def _size_contested(shown: str) -> int:
    return len(shown.encode()) + len(CONTRADICTION) + 2


def _signed(fact: Fact) -> str:
    return f"{_shorten(fact.agent, fact, 80)}, {fact.at:%Y-%m-%d}"


def _register(digest: Digest, kind: FactKind) -> str:
    fact = digest.one(kind)
    return _signer(digest)(fact)[0] if fact else ""


def _signer(digest: Digest) -> Callable[[Fact], tuple[str, str]]:
    """Return a function that shows goal, now and next, with their author where that matters (C152).

    1. Their session has ended, or only carried them on.
    2. They do not all come from one session.
    """
    writers = {digest.writers[fact.event] for kind in AIMS for fact in digest.kinds[kind].facts}
    is_mixed = len({(writer.session or writer.agent) for writer in writers}) > 1  # 2

    def show(fact: Fact) -> tuple[str, str]:
        shown, writer = _shorten(fact.text, fact), digest.writers[fact.event]
        if is_mixed or writer.is_ended or fact.agent != writer.agent:  # 1
            shown = sign_line(shown, fact.agent, writer.agent, is_ended=writer.is_ended)
        return shown, shown

    return show


def _further(digest: Digest) -> Iterator[FurtherSection]:
    """Yield a section for each kind that has no field of its own in a view."""
    for kind in FURTHER:
        bound = SectionLimit(10, 1_000, f"passdown view list {kind.row.plural}")
        texts, earlier = _take(digest.kinds[kind], bound, _text)
        if texts:
            yield FurtherSection(heading=kind.row.heading, items=texts, earlier=earlier)


def _take(
    newest: NewestFacts, bound: SectionLimit, show: Callable[[Fact], tuple[T, str]]
) -> tuple[tuple[T, ...], Earlier | None]:
    """Take entries while they fit, and count those left out."""
    shown = _within([show(fact) for fact in newest.facts[: bound.entries]], bound.size)
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
    """Return the most bytes that an entry can take, including its bullet and escapes."""
    escaped = sum(map(text.count, '\\"*_`<>[]#'))
    return len(text.encode("utf-8", "surrogatepass")) + escaped + 12


def _shorten(text: str, fact: Fact, size: int = _ONE_TEXT) -> str:
    """Show a text on one line; cut it if it is too long, and name the command that shows all of it."""
    line = one_line(" ".join(text.split()))
    if len(line) <= MAX_TEXT and len(line.encode()) <= size:
        return line
    command = f"… `passdown log show {fact.event[:16]}`"
    kept = line[:MAX_TEXT].encode()[: size - 60].decode("utf-8", "ignore")
    return kept.rstrip(" \\") + command


def _text(fact: Fact) -> tuple[str, str]:
    shown = _shorten(fact.text, fact)
    return shown, shown


def _gate(fact: Fact) -> tuple[str, str]:
    shown = _shorten(show_gate(fact), fact)
    return shown, shown


def _question(fact: Fact) -> tuple[Question, str]:
    shown = _shorten(fact.text, fact)
    return read_question(shown), shown


def _pair(fact: Fact) -> tuple[Pair, str]:
    pair = Pair(key=_shorten(fact.key, fact, 200), value=_shorten(fact.text, fact))
    return pair, f"{pair.key}: {pair.value}"


def _phase(fact: Fact) -> tuple[Phase, str]:
    one = read_phase(fact)
    detail = ", ".join(part for part in (fact.task, fact.agent, f"{render_millis(fact.at)[:16]}Z") if part)
    number = int(one.phase) if _NUMBER.fullmatch(one.phase) else 0
    name = one.name or (one.phase if number == 0 else "")
    phase = Phase(
        phase=number,
        name=_shorten(name.replace("(", "[").replace(")", "]"), fact, 120),
        state=_state(one.status),
        detail=_shorten(detail.replace("(", "[").replace(")", "]"), fact, 200),
    )
    return phase, f"{phase.phase} {phase.name} {phase.state} {phase.detail} Phase"


def _state(status: str) -> PhaseState:
    try:
        return read_state(status)
    except Malformed:
        return PhaseState.PENDING
