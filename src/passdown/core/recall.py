"""How much of what matters reaches a brief: histories with planted facts, and what is found of them.

A history is made from a seed: sessions that follow each other, each with a journal, each published as an
event but the last, which is being briefed, and the one before, which crashed. In it are facts that hold at
the end, and at least ten times as much that was superseded, corrected, answered or taken back. A fact is
recalled when its whole text is in the brief.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.accounts import ADD, Account, Start, fold_journal, make_start
from passdown.core.briefs import Brief, Frame, pack_brief
from passdown.core.budgets import PREVIEW, Budget, Size, measure
from passdown.core.budgets import TOKENS as USUAL
from passdown.core.events import Event, render_event
from passdown.core.facts import Fact, FactKind, Provenance
from passdown.core.journal import JournalLine
from passdown.core.merge import make_digest, merge
from passdown.core.publications import make_event
from passdown.core.sources import Source, parse_source
from passdown.core.standings import Standing, aim_of, gather, mark_observed, settled_of
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
"""What the line that names all that is left out takes at most."""
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


class Planted(NamedTuple):
    """A fact that holds at the end of a history, and the class it belongs to."""

    level: int
    kind: FactKind
    text: str
    key: str = ""


@record
class History:
    """The journals and events of sessions that followed each other."""

    journals: Annotated[tuple[tuple[JournalLine, ...], ...], "The lines of each session, the first first."]
    events: Annotated[tuple[tuple[Source, Event], ...], "The events that were published."]
    published: Annotated[int, "How many sessions have published all they know."]
    planted: Annotated[tuple[Planted, ...], "What holds."]
    noise: Annotated[int, "How many facts no longer hold."]
    noise_size: Annotated[int, "How many characters they have."]


class _Dice:
    """Numbers and texts that look random and follow from a seed alone."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def below(self, limit: int) -> int:
        """Give a number from 0 to below the limit."""
        self._count += 1
        digest = hashlib.sha256(f"{self._seed} {self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def text(self) -> str:
        """Give a text of 40 to 120 characters that no other call gives."""
        words = _WORDS.split()
        size = _SHORTEST + self.below(_LONGEST - _SHORTEST + 1)
        text = f"{self._count:x}"
        while len(text) < size:
            text += f" {words[self.below(len(words))]}"
        return text[:size].rstrip().ljust(_SHORTEST, ".")


class _Deed(NamedTuple):
    """Something that a session says."""

    kind: FactKind
    text: str
    key: str = ""


def make_history(seed: int, sessions: int) -> History:
    """Make a history of so many sessions; the same seed makes the same history."""
    dice = _Dice(f"{seed} {sessions}")
    planted = tuple(_plant(dice))
    aims = {FactKind.GOAL, FactKind.NOW, FactKind.NEXT}
    places = [sessions - 1 if one.kind in aims else dice.below(sessions) for one in planted]
    decided = [place for one, place in zip(planted, places, strict=True) if one.kind is FactKind.DECISION]
    said: list[list[_Deed]] = [[] for _ in range(sessions)]
    noise = list(_make_noise(dice, said, decided))
    for one, place in zip(planted, places, strict=True):
        said[place].append(_Deed(one.kind, one.text, one.key))
    journals = [tuple(_write_journal(number, deeds)) for number, deeds in enumerate(said)]
    published = max(sessions - 2, 0)
    return History(
        journals=tuple(journals),
        events=tuple(pair for number in range(published) for pair in _publish(number, journals[number])),
        published=published,
        planted=planted,
        noise=len(noise),
        noise_size=sum(map(len, noise)),
    )


def _plant(dice: _Dice) -> Iterator[Planted]:
    for level, kind, count in _PLAN:
        for number in range(count):
            text = dice.text()
            if kind is FactKind.QUESTION and level == 1:
                text = f"Blocked: {text}"[:_LONGEST].rstrip()
            key = f"choice-{number}" if kind is FactKind.DECISION else ""
            yield Planted(level, kind, text, ADD if kind is FactKind.NEXT and number else key)


def _make_noise(dice: _Dice, said: Sequence[list[_Deed]], decided: Sequence[int]) -> Iterator[str]:
    """Let sessions say what will not hold, and take it back, now or later; give every such text."""
    for number in range(max(_NOISE, len(said))):
        first = dice.below(len(said))
        later = first + dice.below(len(said) - first)
        kind = _NOISY[number % len(_NOISY)]
        text = dice.text()
        yield text
        if kind in {FactKind.CONSTRAINT, FactKind.DONE}:
            said[first].append(_Deed(kind, text))
            said[later].append(_Deed(FactKind.RETRACTION, text, kind))
        elif kind in {FactKind.QUESTION, FactKind.FEEDBACK}:
            said[first].append(_Deed(kind, text))
            said[later].append(_Deed(FactKind.ANSWER, "yes", text))
        elif kind is FactKind.RECEIPT:  # an event cannot take a receipt back, so it must not come that far
            said[first].extend([_Deed(kind, text), _Deed(FactKind.RETRACTION, text, kind)])
        elif kind is FactKind.DECISION:  # never later than the one that holds
            choice = dice.below(len(decided))
            said[min(first, decided[choice])].append(_Deed(kind, text, f"choice-{choice}"))
        else:
            said[first].append(_Deed(kind, text))


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


def _write_journal(number: int, deeds: Iterable[_Deed]) -> Iterator[JournalLine]:
    """Write a session's lines, a second apart."""
    at = _START + number * _APART
    agent = f"agent-{number:08x}"
    before = _name(number - 1) if number else ""
    yield JournalLine(seq=1, fact=make_start(Start(branch="main", continues=before), at, agent))
    for seq, deed in enumerate(deeds, 2):
        at += timedelta(seconds=1)
        fact = Fact(kind=deed.kind, text=deed.text, at=at, agent=agent, key=deed.key or None)
        is_seen = deed.kind is FactKind.RECEIPT
        yield JournalLine(seq=seq, fact=replace(fact, provenance=Provenance.VERIFIED) if is_seen else fact)


def _name(number: int) -> str:
    return f"s-{number:012x}"


def _publish(number: int, lines: Sequence[JournalLine]) -> Iterator[tuple[Source, Event]]:
    """Publish what a session said, as its end does; nothing when it said nothing."""
    event = make_event(fold_journal(_name(number), lines), lines, 0, kind="session_end", reason="clear")
    if event is not None:
        at = lines[-1].fact.at + _MILLISECOND
        stamped = replace(event, ts=at, id=f"ev-{number:016x}")
        source = cast("Source", parse_source(render_event(stamped).encode(), "event.md"))
        yield source, stamped


# --- measuring ------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What briefs of one budget recalled of histories of one length."""

    sessions: int
    tokens: int
    classes: tuple[float, float, float]
    preview: float
    used: Size
    has_room: bool
    is_within: bool


def stand(history: History) -> tuple[Standing, datetime]:
    """Give what holds for the last session, as a brief sees it, and the instant it is briefed at."""
    accounts = [fold_journal(_name(number), lines) for number, lines in enumerate(history.journals)]
    account, *before = reversed(accounts)
    waiting = [line for lines in history.journals[history.published :] for line in lines]
    every = [line for lines in history.journals for line in lines]
    digest = make_digest(merge(source for source, _ in history.events), 0, _LIMIT)
    tables = gather(digest, (), waiting, settled_of(every))
    mark_observed(tables, {source.rank.hash: event for source, event in history.events})
    standing = Standing(
        agent=account.agent,
        aim=aim_of(account, before),
        tables=tables,
        ledger="conductor/sessions/active/LEDGER.md",
    )
    return standing, _end(account)


def _end(account: Account) -> datetime:
    return (account.touched_at or _START) + timedelta(minutes=5)


def measure_recall(sessions: int, budgets: Sequence[Budget], seeds: Sequence[int] = SEEDS) -> Sequence[Row]:
    """Brief the last session of each history within each budget, and count what is recalled."""
    histories = [make_history(seed, sessions) for seed in seeds]
    standings = [stand(history) for history in histories]
    rows: list[Row] = []
    for budget in budgets:
        found = [
            _measure(history, *standing, budget)
            for history, standing in zip(histories, standings, strict=True)
        ]
        one, two, three, preview = (
            sum(share) / len(found) for share in zip(*(each.shares for each in found), strict=True)
        )
        used = max((each.used for each in found), key=lambda size: size.bytes)
        has_room = all(each.has_room for each in found)
        is_within = all(budget.holds(each.used) for each in found)
        rows.append(Row(sessions, budget.tokens, (one, two, three), preview, used, has_room, is_within))
    return rows


def find_broken(rows: Iterable[Row]) -> Sequence[Row]:
    """Give the rows that break a promise.

    1. No brief is over its budget.
    2. Class 1 is recalled whole wherever it fits.
    3. At the usual budget at least 95 % of it is recalled, and that within the first 2,000 characters.
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


def _measure(history: History, standing: Standing, now: datetime, budget: Budget) -> _Measured:
    frame = Frame(nonce=f"{len(history.journals):012x}")
    brief = pack_brief(standing, budget, now, frame)
    whole = pack_brief(standing, Budget(tokens=1_000_000, characters=3_000_000), now, frame)
    one, two, three = (_share(history.planted, level, brief.text) for level in (1, 2, 3))
    preview = _share(history.planted, 1, brief.text[:PREVIEW])
    return _Measured((one, two, three, preview), brief.size, budget.holds(_needed(whole)))


def _share(planted: Iterable[Planted], level: int, text: str) -> float:
    wanted = [one.text in text for one in planted if one.level == level]
    return sum(wanted) / len(wanted)


def _needed(whole: Brief) -> Size:
    """Say how much room class 1 takes at most, with all that stands around it."""
    end = whole.body.find("\nNext:")
    return measure(f"{whole.frame.head}\n{whole.body[:end]}\n{whole.frame.tail}").plus(Size(_NAMING, _NAMING))


# --- showing --------------------------------------------------------------------------------------


_BAR: Final = 20


def render_recall(rows: Sequence[Row]) -> str:
    """Show recall as a table, and against the budget as a plot; at most 80 columns."""
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
