"""The days of a year of agents: what their sessions publish, and the journals and records that stay of them.

The same plan gives the same days. Texts come from the package's own renderers: of an event and of a rollup as
they are, and with other words in the places of those of a rendered one, which costs a tenth.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact
from passdown.core.formats.archives import archive_file_name
from passdown.core.formats.events import Event, render_event
from passdown.core.formats.journal import JournalLine, render_line
from passdown.core.holds import PUBLISHED
from passdown.core.ids import event_file_name
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import ID_SIZE
from passdown.core.sessions.session_facts import NO_PROCESS, SessionStart, make_start
from passdown.core.times import render_millis
from passdown.records import record

_SEED: Final = 20_261_119
_KEYS: Final = 400
_ID: Final = "ev-0000000000000000"
_TS: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LINE: Final = "7777777"
_VERBS: Final = ("Wrapped", "Compiled", "Moved", "Tested", "Renamed", "Measured", "Documented", "Fixed")
_THINGS: Final = (
    "the session hooks for paths with spaces",
    "the credential endpoint",
    "the event parser",
    "the signature check",
    "the archive of old events",
    "the release notes",
)
_PLACES: Final = ("src/auth/passkey.py", "tests/test_passkey.py", "docs/threat-model.md", "scripts/build.sh")


@record
class Year:
    """How many agents work, how much, and for how many days; the last of them is today."""

    name: str
    agents: int
    events_of_each: int
    days: int

    @property
    def events_a_day(self) -> int:
        """Return how many events a day has; each agent has one session a day."""
        return self.agents * self.events_of_each


class Published(NamedTuple):
    """An event: when, its id and hash, and its file."""

    at: datetime
    agent: str
    id: str
    hash: str
    name: str
    text: str


class Work(NamedTuple):
    """What one session leaves behind."""

    session: str
    journal: str
    ended_at: datetime
    record_name: str
    record: str
    events: Sequence[Published]


def make_day(year: Year, number: int, day: date, until: datetime) -> Iterator[Work]:
    """Make the sessions of a day, given by its number; those of today end before `until`."""
    begin = datetime.combine(day, time(), UTC)
    span = min(until - begin, timedelta(days=1)) * 0.99
    for place in range(year.agents):
        yield _make_work(year, number * year.agents + place, begin + span * place / year.agents / 50, span)


def _make_work(year: Year, number: int, begin: datetime, span: timedelta) -> Work:
    source = random.Random(_SEED + number)  # the texts must repeat, nobody need be surprised
    agent, session = f"claude-{number:08x}", f"s-{number:012x}"
    step = span * 0.97 / (year.events_of_each + 1)
    times = [_cut(begin + step * one) for one in range(year.events_of_each + 2)]
    said = [f"{_sentence(source)} ({number}.{one})" for one in range(1, year.events_of_each + 1)]
    events = [
        _publish(source, agent, session, one, text, at)
        for one, (text, at) in enumerate(zip(said, times[1:], strict=False), 2)
    ]
    return Work(
        session=session,
        journal=_render_journal(number, agent, said, times),
        ended_at=times[-1],
        record_name=archive_file_name(times[-1], "session-end", agent),
        record=_RECORD.format(
            at=f"{times[-1]:%Y-%m-%dT%H:%M:%SZ}", session=session, said=said[0], last=said[-1]
        ),
        events=events,
    )


def _cut(at: datetime) -> datetime:
    return at - timedelta(microseconds=at.microsecond % 1000)


def _sentence(source: random.Random) -> str:
    return f"{source.choice(_VERBS)} {source.choice(_THINGS)} in {source.choice(_PLACES)}"


# --- events -------------------------------------------------------------------------------------------


def _render_prototype(*, decides: bool) -> str:
    """Render an event with words that others take the place of."""
    event = Event(
        ts=_TS,
        agent="AGENT",
        branch="BRANCH",
        type="checkpoint",
        reason="turn-end",
        id=_ID,
        session="SESSION",
        covers=f"{_LINE}-{_LINE}",
        goal="GOAL",
        now="NOW",
        next=("NEXT",),
        this_session=("FIRST", "SECOND", "THIRD"),
        decisions=(Pair(key="KEY", value="CHOICE"),) if decides else (),
        files_modified=("FILE",),
    )
    text = render_event(event).replace("%", "%%")
    for word in _WORDS:
        text = text.replace(word, f"%({word})s")
    return text.replace(_ID, "%(ID)s").replace(render_millis(_TS), "%(TS)s").replace(_LINE, "%(LINE)s")


_WORDS: Final = (
    *("AGENT", "BRANCH", "SESSION", "GOAL", "NOW", "NEXT", "FIRST", "SECOND", "THIRD"),
    *("FILE", "KEY", "CHOICE"),
)
_PROTOTYPES: Final = (_render_prototype(decides=False), _render_prototype(decides=True))
_UNNAMED: Final = tuple(text.replace("id: %(ID)s\n", "") for text in _PROTOTYPES)
_DECIDES_ONE_OF: Final = 8


def _publish(
    source: random.Random, agent: str, session: str, line: int, said: str, at: datetime
) -> Published:
    kind = int(line % _DECIDES_ONE_OF == 0)
    words = {
        "TS": render_millis(at),
        "AGENT": agent,
        "BRANCH": f"feat/{source.choice(('passkeys', 'parser', 'hooks-path-spaces'))}",
        "SESSION": session,
        "LINE": line,
        "GOAL": "People can log in with a passkey, done when the tests pass",
        "NOW": f"Create the pull request after this, {_sentence(source)}",
        "NEXT": f"{_sentence(source)}, after that close issue {source.randint(1, 99)}",
        "FIRST": said,
        "SECOND": f"{_sentence(source)} for {session}",
        "THIRD": f"{_sentence(source)} and looked at it again",
        "FILE": source.choice(_PLACES),
        "KEY": f"choice_{source.randrange(_KEYS)}",
        "CHOICE": f"{said}, because it is faster",
    }
    digest = hashlib.sha256((_UNNAMED[kind] % words).encode()).hexdigest()
    text = _PROTOTYPES[kind] % {**words, "ID": f"ev-{digest[:ID_SIZE]}"}
    name = event_file_name(at, agent)
    return Published(
        at, agent, f"ev-{digest[:ID_SIZE]}", hashlib.sha256(text.encode()).hexdigest(), name, text
    )


# --- journals and records -----------------------------------------------------------------------------


def _render_journal(number: int, agent: str, said: Sequence[str], times: Sequence[datetime]) -> str:
    """Render the journal of an ended session: each of its lines that may be published is in an event."""
    start = SessionStart(
        host="claude-code",
        host_session=f"year-{number}",
        checkout=_CHECKOUT,
        branch="main",
        ledger=f"conductor/sessions/active/{agent}/LEDGER.md",
        process=NO_PROCESS,
    )
    facts = [
        make_start(start, times[0], agent),
        *(
            Fact(kind=FactKind.DONE.value, text=text, at=at, agent=agent)
            for text, at in zip(said, times[1:], strict=False)
        ),
        Fact(kind=FactKind.END.value, text="session-end", at=times[-1], agent=agent, key=PUBLISHED),
    ]
    return "".join(render_line(JournalLine(seq=seq, fact=fact)) for seq, fact in enumerate(facts, 1))


_CHECKOUT: Final = "/home/ada/project"
_RECORD: Final = """---
date: {at}
session_id: {session}
trigger: session-end
status: complete
branch: main
---

# Session Handoff

## Summary

People can log in with a passkey, done when the tests pass

## Completed

- {said}
- {last}

## In Progress

## Blocked

- None

## Next Steps

## Key Decisions

| Decision | Reasoning |
|----------|-----------|

## Artifacts
"""
