"""How many of the important facts reach a brief, measured on histories with planted facts.

A history is made from a seed. It is a chain of sessions, each with a journal; all of them are published as
events except the last, which receives the brief, and the one before, which crashed. It contains facts that
hold at the end, and at least ten times as much text that was superseded, corrected, answered or retracted. A
fact is recalled if its whole text is in the brief.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, NamedTuple, cast

from passdown import layout
from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput, gather, settled_by, work_of
from passdown.core.briefs.briefs import Brief, pack_brief
from passdown.core.briefs.budgets import PREVIEW, Budget, Size, measure
from passdown.core.briefs.budgets import TOKENS as USUAL
from passdown.core.facts import ADD, Fact, Provenance
from passdown.core.formats.events import Event, render_event
from passdown.core.formats.journal import JournalLine, facts_of
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import Account, SessionStart, fold_journal, make_start
from passdown.records import record, replace

SESSIONS: Final = (1, 5, 20, 100, 500)
TOKENS: Final = (300, 500, 800, 1_500, 3_000)
SEEDS: Final = (1, 2, 3)

_ENOUGH: Final = 0.95
_NOISE: Final = 160
_LIMIT: Final = 1_000
_START: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
_APART: Final = timedelta(hours=7)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LONGEST: Final = 120
_SHORTEST: Final = 40
_NAMING: Final = 170
"""The most characters that the line about left-out parts can take."""
_PLAN: Final = (
    (1, FactKind.GOAL, 1),
    (1, FactKind.NOW, 1),
    (1, FactKind.FEEDBACK, 2),
    (1, FactKind.QUESTION, 1),
    (1, FactKind.CONSTRAINT, 4),
    (1, FactKind.RECEIPT, 3),
    (2, FactKind.NEXT, 4),
    (2, FactKind.DECISION, 6),
    (2, FactKind.QUESTION, 3),
    (3, FactKind.DONE, 6),
)
_WORDS: Final = (
    "adapter archive batch branch budget cache clock commit config cursor deploy digest driver encoder "
    "fence fixture gateway header hook index journal kernel ledger limit lock marker merge migration mount "
    "nonce offset parser patch port probe queue record region replica retry route runner schema seal session "
    "shard signal socket stamp stream suite table tenant token tracker upload vector verify watch worker zone"
)


class PlantedFact(NamedTuple):
    """A fact that holds at the end of a history, with its class."""

    level: int
    kind: FactKind
    text: str
    key: str = ""


@record
class RecallHistory:
    """The journals and events of sessions that followed each other."""

    journals: Annotated[
        tuple[tuple[JournalLine, ...], ...], "The lines of each session, oldest session first."
    ]
    events: Annotated[tuple[tuple[EventFacts, Event], ...], "The events that were published."]
    published: Annotated[int, "How many sessions have published everything."]
    planted: Annotated[tuple[PlantedFact, ...], "The facts that hold at the end."]
    noise: Annotated[int, "How many facts no longer hold."]
    noise_size: Annotated[int, "How many characters those facts have."]


class _SeededRandom:
    """Numbers and texts that look random but depend only on a seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, but not including, the limit."""
        self._count += 1
        digest = hashlib.sha256(f"{self._seed} {self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def text(self) -> str:
        """Return a text of 40 to 120 characters that no other call returns."""
        words = _WORDS.split()
        size = _SHORTEST + self.below(_LONGEST - _SHORTEST + 1)
        text = f"{self._count:x}"
        while len(text) < size:
            text += f" {words[self.below(len(words))]}"
        return text[:size].rstrip().ljust(_SHORTEST, ".")


class _PlannedFact(NamedTuple):
    """Something that a session states."""

    kind: FactKind
    text: str
    key: str = ""


def make_history(seed: int, sessions: int) -> RecallHistory:
    """Make a history with this many sessions; the same seed makes the same history."""
    rng = _SeededRandom(f"{seed} {sessions}")
    planted = tuple(_plant(rng))
    aims = {FactKind.GOAL, FactKind.NOW, FactKind.NEXT}
    places = [sessions - 1 if one.kind in aims else rng.below(sessions) for one in planted]
    decided = [place for one, place in zip(planted, places, strict=True) if one.kind is FactKind.DECISION]
    said: list[list[_PlannedFact]] = [[] for _ in range(sessions)]
    noise = list(_make_noise(rng, said, decided))
    for one, place in zip(planted, places, strict=True):
        said[place].append(_PlannedFact(one.kind, one.text, one.key))
    journals = [tuple(_write_journal(number, planned_facts)) for number, planned_facts in enumerate(said)]
    published = max(sessions - 2, 0)
    return RecallHistory(
        journals=tuple(journals),
        events=tuple(pair for number in range(published) for pair in _publish(number, journals[number])),
        published=published,
        planted=planted,
        noise=len(noise),
        noise_size=sum(map(len, noise)),
    )


def _plant(rng: _SeededRandom) -> Iterator[PlantedFact]:
    for level, kind, count in _PLAN:
        for number in range(count):
            text = rng.text()
            if kind is FactKind.QUESTION and level == 1:
                text = f"Blocked: {text}"[:_LONGEST].rstrip()
            key = f"choice-{number}" if kind is FactKind.DECISION else ""
            yield PlantedFact(level, kind, text, ADD if kind is FactKind.NEXT and number else key)


def _make_noise(
    rng: _SeededRandom, said: Sequence[list[_PlannedFact]], decided: Sequence[int]
) -> Iterator[str]:
    """Let sessions state facts that will not hold, and retract them, now or later; yield each such text."""
    for number in range(max(_NOISE, len(said))):
        first = rng.below(len(said))
        later = first + rng.below(len(said) - first)
        kind = _NOISY[number % len(_NOISY)]
        text = rng.text()
        yield text
        if kind in {FactKind.CONSTRAINT, FactKind.DONE}:
            said[first].append(_PlannedFact(kind, text))
            said[later].append(_PlannedFact(FactKind.RETRACTION, text, kind))
        elif kind in {FactKind.QUESTION, FactKind.FEEDBACK}:
            said[first].append(_PlannedFact(kind, text))
            said[later].append(_PlannedFact(FactKind.ANSWER, "yes", text))
        elif kind is FactKind.RECEIPT:  # an event cannot retract a receipt, so it is not published
            said[first].extend([_PlannedFact(kind, text), _PlannedFact(FactKind.RETRACTION, text, kind)])
        elif kind is FactKind.DECISION:  # never later than the one that holds
            choice = rng.below(len(decided))
            said[min(first, decided[choice])].append(_PlannedFact(kind, text, f"choice-{choice}"))
        else:
            said[first].append(_PlannedFact(kind, text))


_NOISY: Final = (
    FactKind.CONSTRAINT,
    FactKind.GOAL,
    FactKind.QUESTION,
    FactKind.NOW,
    FactKind.FEEDBACK,
    FactKind.NEXT,
    FactKind.DECISION,
    FactKind.RECEIPT,
    FactKind.DONE,
)


def _write_journal(number: int, planned_facts: Iterable[_PlannedFact]) -> Iterator[JournalLine]:
    """Write a session's lines, one second apart."""
    at = _START + number * _APART
    agent = f"agent-{number:08x}"
    before = _name(number - 1) if number else ""
    yield JournalLine(seq=1, fact=make_start(SessionStart(branch="main", continues=before), at, agent))
    for seq, planned in enumerate(planned_facts, 2):
        at += timedelta(seconds=1)
        fact = Fact(kind=planned.kind, text=planned.text, at=at, agent=agent, key=planned.key)
        is_seen = planned.kind is FactKind.RECEIPT
        yield JournalLine(seq=seq, fact=fact._replace(provenance=Provenance.VERIFIED) if is_seen else fact)


def _name(number: int) -> str:
    return f"s-{number:012x}"


def _publish(number: int, lines: Sequence[JournalLine]) -> Iterator[tuple[EventFacts, Event]]:
    """Publish what a session stated, as at its end; yield nothing if it stated nothing."""
    event = make_event(fold_journal(_name(number), lines), lines, 0, kind="session_end", reason="clear")
    if event is not None:
        at = lines[-1].fact.at + _MILLISECOND
        stamped = replace(event, ts=at, id=f"ev-{number:016x}")
        source = cast("EventFacts", parse_event_facts(render_event(stamped).encode(), "event.md"))
        yield source, stamped


# --- measuring ------------------------------------------------------------------------------------


class RecallRow(NamedTuple):
    """What briefs of one budget recalled of histories of one length."""

    sessions: int
    tokens: int
    classes: tuple[float, float, float]
    preview: float
    used: Size
    has_room: bool
    is_within: bool


def stand(history: RecallHistory) -> tuple[BriefInput, datetime]:
    """Return the brief input of the last session, and the instant at which it is briefed."""
    accounts = [fold_journal(_name(number), lines) for number, lines in enumerate(history.journals)]
    account, *before = reversed(accounts)
    named = [(_name(number), lines) for number, lines in enumerate(history.journals)]
    waiting = [fact for name, lines in named[history.published :] for fact in facts_of(name, lines)]
    settled = [fact for name, lines in named for fact in settled_by(name, lines)]
    digest = make_digest(merge_events(source for source, _ in history.events), 0, _LIMIT)
    tables = gather(digest, (), waiting, settled).tables
    brief_input = BriefInput(
        agent=account.agent,
        aim=work_of(account, before),
        tables=tables,
        ledger=f"{layout.LEDGERS}/{layout.LEDGER}",
    )
    return brief_input, _end(account)


def _end(account: Account) -> datetime:
    return (account.touched_at or _START) + timedelta(minutes=5)


def measure_recall(
    sessions: int, budgets: Sequence[Budget], seeds: Sequence[int] = SEEDS
) -> Sequence[RecallRow]:
    """Brief the last session of each history within each budget, and count what is recalled."""
    histories = [make_history(seed, sessions) for seed in seeds]
    standings = [stand(history) for history in histories]
    rows: list[RecallRow] = []
    for budget in budgets:
        found = [
            _measure(history, *brief_input, budget)
            for history, brief_input in zip(histories, standings, strict=True)
        ]
        one, two, three, preview = (
            sum(share) / len(found) for share in zip(*(each.shares for each in found), strict=True)
        )
        used = max((each.used for each in found), key=lambda size: size.bytes)
        has_room = all(each.has_room for each in found)
        is_within = all(budget.holds(each.used) for each in found)
        rows.append(RecallRow(sessions, budget.tokens, (one, two, three), preview, used, has_room, is_within))
    return rows


def find_broken(rows: Iterable[RecallRow]) -> Sequence[RecallRow]:
    """Return the rows that break a promise.

    1. No brief exceeds its budget.
    2. Class 1 is recalled completely wherever it fits.
    3. At the usual budget, at least 95 % of class 1 is recalled, and within the first 2,000 characters.
    """
    return [
        row
        for row in rows
        if not row.is_within  # 1
        or (row.has_room and row.classes[0] < 1)  # 2
        or (row.tokens >= USUAL and min(row.classes[0], row.preview) < _ENOUGH)  # 3
    ]


class _Measured(NamedTuple):
    """What one brief recalled: of the three classes, and of class 1 in its first 2,000 characters."""

    shares: tuple[float, float, float, float]
    used: Size
    has_room: bool


def _measure(history: RecallHistory, brief_input: BriefInput, now: datetime, budget: Budget) -> _Measured:
    frame = BriefFrame(nonce=f"{len(history.journals):012x}")
    brief = pack_brief(brief_input, budget, now, frame)
    whole = pack_brief(brief_input, Budget(tokens=1_000_000, characters=3_000_000), now, frame)
    one, two, three = (_share(history.planted, level, brief.text) for level in (1, 2, 3))
    preview = _share(history.planted, 1, brief.text[:PREVIEW])
    return _Measured((one, two, three, preview), brief.size, budget.holds(_needed(whole)))


def _share(planted: Iterable[PlantedFact], level: int, text: str) -> float:
    wanted = [one.text in text for one in planted if one.level == level]
    return sum(wanted) / len(wanted)


def _needed(whole: Brief) -> Size:
    """Return the most room that class 1 takes, including everything around it."""
    end = whole.body.find("\nNext:")
    return measure(f"{whole.frame.head}\n{whole.body[:end]}\n{whole.frame.tail}").plus(Size(_NAMING, _NAMING))


# --- showing --------------------------------------------------------------------------------------


_BAR: Final = 20


def render_recall(rows: Sequence[RecallRow]) -> str:
    """Show recall as a table, and as a plot against the budget; at most 80 columns wide."""
    lines = [
        "recall of planted facts, by class",
        "",
        "sessions  budget  class 1  class 2  class 3  class 1 in first 2,000  tokens used",
    ]
    lines += [
        f"{row.sessions:>8}  {row.tokens:>6,}"
        + "".join(f"  {_percent(share):>7}" for share in row.classes)
        + f"  {_percent(row.preview):>22}  {row.used.tokens:>11,}"
        for row in rows
    ]
    longest = max(row.sessions for row in rows)
    lines += ["", f"recall against budget, {longest} session{'s' * (longest != 1)}"]
    lines += [f"{'tokens':>6}  " + "  ".join(f"class {level}".ljust(_BAR) for level in (1, 2, 3))]
    for row in rows:
        if row.sessions == longest:
            lines.append(f"{row.tokens:>6,}  " + "  ".join(map(_bar, row.classes)))
    return "\n".join(line.rstrip() for line in lines)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _bar(share: float) -> str:
    filled = round(share * _BAR)
    return "#" * filled + "." * (_BAR - filled)
