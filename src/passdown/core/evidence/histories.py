"""Generate long histories of sessions whose facts stay in force, to measure briefs with.

A history is generated from a seed, without any knowledge of how briefs are packed. Every session states facts
of every kind, of at most 100 characters. Most are still in force at the end: some decisions are replaced
later, some questions answered and some rules retracted, and now and then a session decides a key without
knowing that another one has just decided it. A third of the decisions, rules and questions name a file.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.documents.key_value import Pair
from passdown.core.facts import GATES, GateStatus
from passdown.core.formats.events import Event, EventCheckpoint, EventGate
from passdown.core.kinds import INHERITED, FactKind
from passdown.core.phases import PhaseState
from passdown.core.times import render_millis
from passdown.records import record, replace

END: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""When the last session of every history ended."""

BRANCH: Final = "unknown"
"""The branch of all events: that of a folder without git."""

_APART: Final = timedelta(hours=3)
_LONGEST: Final = 100
_SHORTEST: Final = 60
_STEPS: Final = 3
_EDITED: Final = 3
_NAMING: Final = 3
"""One in this many facts names a file."""
_OUTDATED: Final = 5
"""One in this many sessions replaces, answers and retracts facts of earlier sessions."""
_UNKNOWING: Final = 20
"""One in this many sessions repeats a decision of the session before without knowing it."""
_NOT_PLAIN: Final = ("this_session", "checkpoints", "gates", "answers", "receipts", "more", "files_modified")
_AREAS: Final = ("api", "billing", "core", "exports", "imports", "mail", "search", "users")
_WORDS: Final = (
    "adapter archive batch branch budget cache clock commit config cursor deploy digest driver encoder "
    "fence fixture gateway header hook index journal kernel ledger limit lock marker merge migration mount "
    "nonce offset parser patch port probe queue record region replica retry route runner schema seal session "
    "shard signal socket stamp stream suite table tenant token tracker upload vector verify watch worker zone"
)


class HeldFact(NamedTuple):
    """A fact that is in force at the end, and the file it names."""

    kind: FactKind
    text: str
    session: int
    key: str = ""
    file: str = ""


@record
class SessionHistory:
    """The events of successive sessions, and the facts they leave in force."""

    events: Annotated[tuple[Event, ...], "One for each session, oldest first."]
    held: Annotated[tuple[HeldFact, ...], "Feedback, rules, decisions and questions in force, oldest first."]
    contested: Annotated[frozenset[str], "The keys under which two decisions are in force."]

    def of(self, kind: FactKind) -> tuple[HeldFact, ...]:
        """Return the facts of a kind that are in force, newest first."""
        return tuple(reversed([one for one in self.held if one.kind is kind]))

    @property
    def last_files(self) -> frozenset[str]:
        """The files that the last three sessions edited."""
        return frozenset(path for event in self.events[-3:] for path in event.files_modified)


class _SeededRandom:
    """Numbers and texts that look random but depend only on a seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, but not including, the limit."""
        self._count += 1
        digest = sha256(f"{self._seed} {self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def text(self, naming: str = "") -> str:
        """Return a text of 60 to 100 characters that no other call returns."""
        words = _WORDS.split()
        size = _SHORTEST + self.below(_LONGEST - _SHORTEST + 1)
        text = f"{self._count:x}{f' {naming}' if naming else ''}"
        while len(text) < size:
            text += f" {words[self.below(len(words))]}"
        return text[:_LONGEST].rstrip()


def make_history(seed: int, sessions: int, feedback: int = 1, *, is_plain: bool = False) -> SessionHistory:
    """Make a history with this many sessions, each with this many unanswered feedbacks.

    In a plain history, sessions state only goal, now, next steps, decisions, rules and questions.
    """
    writer = _Writer(_SeededRandom(f"{seed} {sessions}"), sessions, 0 if is_plain else feedback)
    events = tuple(map(writer.write, range(sessions)))
    if is_plain:
        events = tuple(replace(one, **dict.fromkeys(_NOT_PLAIN, ())) for one in events)
    held = tuple(one for some in writer.held.values() for one in some)
    return SessionHistory(
        events=events,
        held=tuple(sorted(held, key=lambda one: one.session)),
        contested=frozenset(writer.contested),
    )


class _Writer:
    """Writes one session after another, and remembers what is in force."""

    def __init__(self, rng: _SeededRandom, sessions: int, feedback: int) -> None:
        self._rng, self._sessions, self._feedback = rng, sessions, feedback
        count = max(24, sessions // 2)
        self._files = [f"src/{_AREAS[n % len(_AREAS)]}/module_{n}.py" for n in range(count)]
        self.contested: set[str] = set()
        self.held: dict[FactKind, list[HeldFact]] = {kind: [] for kind in (FactKind.FEEDBACK, *INHERITED)}

    def write(self, number: int) -> Event:
        """Write the event of a session."""
        at = END - (self._sessions - 1 - number) * _APART
        rng = self._rng
        is_late = number % _OUTDATED == _OUTDATED - 1
        rules = self._retire(FactKind.CONSTRAINT) if is_late else ()
        questions = self._retire(FactKind.QUESTION) if is_late else ()
        decided, origins = self._decide(number, at, is_late=is_late)
        said = [self._state(FactKind.FEEDBACK, number) for _ in range(self._feedback)]
        return Event(
            ts=at,
            agent=f"agent-{number:08x}",
            branch=BRANCH,
            type="session_end",
            reason="clear",
            session=f"s-{number:012x}",
            goal=rng.text(),
            now=rng.text(),
            next=tuple(rng.text() for _ in range(_STEPS)),
            this_session=(rng.text(),),
            decisions=decided,
            checkpoints=(
                EventCheckpoint(phase=1, status=PhaseState.VALIDATED, updated=at, task=f"t-{number}"),
            ),
            gates=(EventGate(gate=GATES[number % len(GATES)], status=GateStatus.PASS, at=at),),
            open_questions=(self._state(FactKind.QUESTION, number).text,),
            answers=tuple(Pair(key=one.text, value="yes") for one in questions),
            constraints=(self._state(FactKind.CONSTRAINT, number).text,),
            receipts=(rng.text(), f"pytest tests/test_{number}.py: exit 0"),
            feedback=tuple(one.text for one in said),
            files_modified=tuple(dict.fromkeys(self._file() for _ in range(_EDITED))),
            resolved_questions=tuple(one.text for one in questions),
            retracted_constraints=tuple(one.text for one in rules),
            origins=origins,
            more=(("turns", (rng.text(),)),),
        )

    def _file(self) -> str:
        return self._files[self._rng.below(len(self._files))]

    def _state(self, kind: FactKind, number: int, key: str = "") -> HeldFact:
        """State a fact; a third of the rules, decisions and questions name a file, in one of three ways."""
        file = "" if kind is FactKind.FEEDBACK or self._rng.below(_NAMING) else self._file()
        ways = (file, "/".join(file.split("/")[-2:]), file.rpartition("/")[2])
        text = self._rng.text(ways[self._rng.below(len(ways))])
        fact = HeldFact(kind, text, number, key, file)
        self.held[kind].append(fact)
        return fact

    def _retire(self, kind: FactKind) -> tuple[HeldFact, ...]:
        """Retract one fact of a kind."""
        held = self.held[kind]
        return (held.pop(self._rng.below(len(held))),) if held else ()

    def _decide(
        self, number: int, at: datetime, *, is_late: bool
    ) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Decide something new, and sometimes an earlier key again, with or without knowing it."""
        decided = [self._state(FactKind.DECISION, number, f"choice-{number}")]
        earlier = self.held[FactKind.DECISION][:-1] if is_late else []
        settled = [one for one in earlier if one.key not in self.contested]
        if settled:
            old = settled[self._rng.below(len(settled))]
            self.held[FactKind.DECISION].remove(old)
            decided.append(self._state(FactKind.DECISION, number, old.key))
        is_unknowing = number % _UNKNOWING == _UNKNOWING - 2 and number > 0
        key = f"choice-{number - 1}"
        if is_unknowing:
            self.contested.add(key)
            decided.append(self._state(FactKind.DECISION, number, key))
        pairs = tuple(Pair(key=one.key, value=one.text) for one in decided)
        # A decision under a key that the session did not know replaces nothing.
        replacing = [" replaces -" if one.key == key else "" for one in decided]
        origins = [f"{seq} {render_millis(at)}{rest}" for seq, rest in enumerate(replacing, 1)]
        return pairs, (Pair(key="decisions", value=", ".join(origins)),) if is_unknowing else ()
