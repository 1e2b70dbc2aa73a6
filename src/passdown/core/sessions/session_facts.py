"""The account of a session: the result of folding all lines of its journal.

Lines are applied in the order of their numbers. If two have the same number, which can happen on a file
system without locks, both count. A later goal, now or decision of the same key replaces the earlier one; a
list grows; a retraction removes a fact until it is stated again. Everything that identifies a session (host,
process, checkout, ledger) is in its first line, so the journal alone is enough to continue it. A later line
of that kind replaces the first, when a start adopts an empty session or assigns a team or a role.
"""

from __future__ import annotations  # compiled types would take a tenth of the time to load a verb

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, TypeVar, cast

from passdown.core.facts import PROMPTED, Fact, make_key, may_leave, share
from passdown.core.fold import fold
from passdown.core.formats.journal import JournalLine, facts_of, put_in_order
from passdown.core.holds import BLOCKED, PUBLISHED, UNRELEASED, read_fence
from passdown.core.ids import fold_id, name_file
from passdown.core.kinds import FactKind
from passdown.records import field, record, replace

T = TypeVar("T")


class HostProcess(NamedTuple):
    """The host's process, identified by its id, start time and boot, because ids are reused."""

    pid: int = 0
    started: str = ""
    boot: str = ""


NO_PROCESS: Final = HostProcess()

PERSON: Final = "person"
"""The kind of the session of a person, who works beside the agents (C122)."""


class Delivery(NamedTuple):
    """A brief that was sent to the session: its nonce, its hash, and whether it arrived."""

    nonce: str
    hash: str
    state: str
    messages: tuple[int, ...] = ()
    """The positions of the messages that it showed in full."""
    is_mail: bool = False
    """Whether it had only messages."""
    feedback: tuple[str, ...] = ()
    """The ids of the feedback that it showed in full."""


def name_work(now: Fact, *, is_over: bool) -> str:
    """Return the title of a session's current step, which is no longer "now" once the session ended (C152).

    The last prompt of a session that stated nothing shows what it was asked, not what it did.
    """
    if not is_over:
        return "now"
    return "last prompt" if now.key == PROMPTED else "last worked on"


class NewFact(NamedTuple):
    """A fact that has not been written yet."""

    kind: FactKind
    text: str
    key: str = ""
    because: str = ""
    origin: Fact | None = None
    """The original fact of another session, if it is carried on."""
    others: tuple[tuple[str, str], ...] = ()
    """Extra members: name and JSON value."""


@record
class SessionStart:
    """What identifies a session."""

    host: Annotated[str, "The program the agent runs in."] = "generic"
    host_session: Annotated[str, "The host's id for the session."] = ""
    name: Annotated[str, "The id that the user gave it, shown in its ledger and state file."] = ""
    file: Annotated[str, "The form of that id in file names."] = ""
    checkout: Annotated[str, "The working copy, as an absolute path."] = ""
    branch: Annotated[str, "The branch at the start."] = "unknown"
    commit: Annotated[str, "The last commit at the start."] = ""
    ledger: Annotated[str, "The ledger's path, relative to the root."] = ""
    process: Annotated[HostProcess, "The host's process."] = NO_PROCESS
    continues: Annotated[str, "The session that this one continues."] = ""
    mode: Annotated[str, "SA or MA."] = "SA"
    is_fresh: Annotated[bool, "Whether it starts without the goal of earlier sessions."] = False
    team: Annotated[str, "Its team, if one was set (C150)."] = ""
    role: Annotated[str, "What it works on, if that was set."] = ""
    kind: Annotated[str, "`person` for the session of a person; empty for an agent's (C122)."] = ""

    @property
    def is_person(self) -> bool:
        """Whether it is the session of a person."""
        return self.kind == PERSON


@record
class Account:
    """Everything that a session knows."""

    session: Annotated[str, "The session's id."] = ""
    agent: Annotated[str, "The agent that runs the session."] = ""
    start: Annotated[SessionStart, "What identifies the session."] = SessionStart()
    started_at: Annotated[datetime | None, "When it began."] = None
    touched_at: Annotated[datetime | None, "When it last wrote to its journal."] = None
    said_at: Annotated[datetime | None, "When it last stated something; heartbeats do not count."] = None
    ended_at: Annotated[datetime | None, "When it ended."] = None
    end_reason: Annotated[str, "Why it ended."] = ""
    is_published: Annotated[bool, "Whether it ended with everything published."] = False
    last_seq: Annotated[int, "The number of the last line."] = 0
    host_sessions: Annotated[tuple[str, ...], "Every id that the host gave it."] = ()
    cleared_at: Annotated[datetime | None, "When a clear ended its conversation; None if it continued."] = (
        None
    )
    branch: Annotated[str, "The branch it was last seen on."] = "unknown"
    track: Annotated[str, "The track it works on."] = ""
    task: Annotated[str, "The task it has claimed."] = ""
    tdd: Annotated[str, "Where it is in the test-first cycle: RED, GREEN or REFACTOR."] = ""
    tdd_choice: Annotated[str, "Whether test-first was chosen: ON, OFF, or empty."] = ""
    tdd_skip: Annotated[str, "Why the current task is not test-first."] = ""
    claims: Annotated[Mapping[str, int], "The tasks it holds, and their fences; 0 means unfenced."] = field(
        default_factory=dict[str, int]
    )
    unreleased: Annotated[tuple[str, ...], "Tasks it closed while the engine could not be reached."] = ()
    blocked: Annotated[tuple[tuple[str, str], ...], "Tasks it closed as blocked, and the reasons."] = ()
    unfinished: Annotated[tuple[str, ...], "Operations it began and whose outcome is unknown."] = ()
    reservations: Annotated[Mapping[str, int], "The path patterns it holds, and their fences."] = field(
        default_factory=dict[str, int]
    )
    results: Annotated[tuple[str, ...], "Results of its subagents that were not applied yet, by id."] = ()
    goal: Annotated[Fact | None, "What it should achieve."] = None
    now: Annotated[Fact | None, "The current step."] = None
    left: Annotated[tuple[str, ...], "Former current steps, done or not."] = ()
    bookmarks: Annotated[Mapping[str, str], "How far each transcript was read, as JSON."] = field(
        default_factory=dict[str, str]
    )
    deliveries: Annotated[tuple[Delivery, ...], "The briefs it was sent, oldest first."] = ()
    ahead: Annotated[tuple[str, ...], "Events dated ahead that it knows of."] = ()
    is_prepared: Annotated[bool, "Whether its preflight was done."] = False
    lists: Annotated[Mapping[str, tuple[Fact, ...]], "The other facts by kind, oldest first."] = field(
        default_factory=dict[str, tuple[Fact, ...]]
    )

    @property
    def label(self) -> str:
        """Its id in its ledger: the user's, or ours."""
        return self.start.name or self.session

    @property
    def handle(self) -> str:
        """Its id in its state file and handoffs: the user's, or its agent."""
        return self.start.name or self.agent

    @property
    def file_id(self) -> str:
        """The same id, in the form used in file names."""
        return self.start.file or fold_id(self.agent)

    @property
    def unfenced(self) -> tuple[str, ...]:
        """Tasks claimed or closed while the engine could not be reached, and not settled since (C86)."""
        return (*(name for name, fence in self.claims.items() if not fence), *self.unreleased)

    def of(self, kind: FactKind) -> tuple[Fact, ...]:
        """Return the facts of a kind, oldest first."""
        if kind is FactKind.GOAL or kind is FactKind.NOW:
            fact = self.goal if kind is FactKind.GOAL else self.now
            return (fact,) if fact else ()
        return self.lists.get(kind.value, ())


AHEAD: Final = "ahead"
"""The member of a heartbeat that names events dated ahead that the session knows of."""
PREFLIGHT: Final = "preflight"
"""The key of the heartbeat that follows a preflight."""
CLEARED: Final = "cleared"
"""The key of the heartbeat that follows a clear, after which a new conversation starts (C153)."""
MARK: Final = "mark"
"""The member of a bookmark with the position up to which a transcript was read."""


def fold_journal(session: str, lines: Iterable[JournalLine]) -> Account:
    """Fold the lines of a journal, given in any order; a duplicate line counts once."""
    in_order = put_in_order([*lines])
    left: dict[str, None] = {}

    def note_left(fact: Fact, _by: Fact) -> None:
        if fact.kind == FactKind.NOW:
            left[make_key(fact.text)] = None

    folded = fold(facts_of(session, in_order), note_left, own=session)
    life = _Life(session)
    for line in in_order:
        life.take(line)
    registers = {kind.value: folded.of(kind) for kind in (FactKind.GOAL, FactKind.NOW)}
    lists = {kind: tuple(table.values()) for kind, table in folded.tables.items() if kind not in registers}
    # The same state occurs in every phase, and each one is kept.
    lists |= {kind: tuple(facts) for kind, facts in folded.phases.items()}
    claims, reservations = (folded.held_of(kind) for kind in (FactKind.CLAIM, FactKind.RESERVATION))
    return replace(
        life.account,
        agent=life.agent,
        last_seq=life.last_seq,
        touched_at=life.touched_at,
        said_at=life.said_at,
        claims={name: read_fence(fact) or 0 for name, fact in claims.items()},
        unreleased=tuple(folded.held_of(UNRELEASED)),
        blocked=tuple((name, fact.because) for name, fact in folded.held_of(BLOCKED).items()),
        unfinished=tuple(folded.held_of(FactKind.OPERATION)),
        reservations={name: read_fence(fact) or 0 for name, fact in reservations.items()},
        results=tuple(folded.held_of(FactKind.RESULT)),
        goal=next(iter(registers[FactKind.GOAL]), None),
        now=next(iter(registers[FactKind.NOW]), None),
        left=tuple(left),
        lists=lists,
    )


def fold_without_end(session: str, lines: Iterable[JournalLine]) -> Account:
    """Fold the lines of a journal as if the session had not ended, so that it keeps its track and task."""
    return fold_journal(session, (line for line in lines if line.fact.kind != FactKind.END))


def only_shared(account: Account) -> Account:
    """Return an account without local facts and without the words of test commands that must not leave."""
    goal, now = account.goal, account.now
    return replace(
        account,
        goal=goal if goal and may_leave(goal) else None,
        now=now if now and may_leave(now) else None,
        bookmarks={},
        lists={
            kind: tuple(share(fact) for fact in facts if may_leave(fact))
            for kind, facts in account.lists.items()
        },
    )


def is_final_end(fact: Fact) -> bool:
    """Return whether a fact is an end after which everything is published."""
    return fact.kind == FactKind.END and fact.key == PUBLISHED


class _Life:
    """Collects the state of the session itself, line by line."""

    def __init__(self, session: str) -> None:
        self.account = Account(session=session)
        self.agent = ""
        self.last_seq = 0
        self.touched_at: datetime | None = None
        self.said_at: datetime | None = None

    def take(self, line: JournalLine) -> None:
        """Apply one line; of an unknown kind, only the time is used."""
        fact = line.fact
        if not self.agent or fact.kind == FactKind.START:
            self.agent = line.written_by
        self.last_seq = line.seq
        if line.written_by == self.agent:  # others may write here to settle its operations
            self.touched_at = line.written_at
        if fact.kind not in _SIGNS:
            self.said_at = line.written_at
            if self.account.is_published:
                self.account = replace(self.account, is_published=False)
        take = _TAKE.get(fact.kind)
        if take is not None:
            self.account = take(self.account, fact)


def _take_start(account: Account, fact: Fact) -> Account:
    start = read_start(fact)
    ids = (*account.host_sessions, *filter(None, [start.host_session]))
    account = replace(account, start=start, branch=start.branch, host_sessions=tuple(dict.fromkeys(ids)))
    return account if account.started_at else replace(account, started_at=fact.at)


def _take_host(account: Account, fact: Fact) -> Account:
    ids = (*account.host_sessions, fact.text)
    return replace(account, host_sessions=tuple(dict.fromkeys(ids)), cleared_at=None)


def _take_branch(account: Account, fact: Fact) -> Account:
    return replace(account, branch=fact.text)


def _take_bookmark(account: Account, fact: Fact) -> Account:
    marks = {**account.bookmarks, fact.text: dict(fact.others).get(MARK, "")}
    return replace(account, bookmarks=marks)


def _take_binding(account: Account, fact: Fact) -> Account:
    """Bind track or task; a new task starts without a phase of the test-first cycle (R219)."""
    if fact.key != "task":
        choice = account.tdd_choice if account.track == fact.text else ""
        return replace(account, track=fact.text, tdd_choice=choice)
    if account.task == fact.text:
        return account
    return replace(account, task=fact.text, tdd="", tdd_skip="")


TDD_ON: Final = "ON"
TDD_OFF: Final = "OFF"
"""The choices made with `--tdd` and `--no-tdd`."""
TDD_SKIPPED: Final = "SKIPPED"
"""The text of the fact that has the reason why a task is not test-first."""


def _take_tdd(account: Account, fact: Fact) -> Account:
    """Apply a phase of the test-first cycle, a choice, or the reason to skip the cycle."""
    if fact.text in {TDD_ON, TDD_OFF}:
        phase = "" if fact.text == TDD_OFF else account.tdd
        return replace(account, tdd_choice=fact.text, tdd_skip="", tdd=phase)
    if fact.text == TDD_SKIPPED:
        return replace(account, tdd_skip=fact.because)
    return replace(account, tdd=fact.text)


MESSAGES: Final = "messages"
"""The member of a delivery that lists the messages that a brief showed in full."""
FEEDBACK: Final = "feedback"
"""The member of a delivery that lists the ids of the feedback that was shown in full."""
MAIL: Final = "mail"
"""The same as `messages`, for a delivery that had only messages."""


def _take_delivery(account: Account, fact: Fact) -> Account:
    """Add a brief that was sent, or record whether it arrived."""
    known = {one.nonce: one for one in account.deliveries}
    nonce, (state, _, digest) = fact.key, fact.text.partition(" ")
    others = dict(fact.others)
    messages = _read_list(others.get(MAIL) or others.get(MESSAGES), int)
    feedback = _read_list(others.get(FEEDBACK), str)
    before = known.get(nonce) or Delivery(nonce, digest, state, messages, MAIL in others, feedback)
    known[nonce] = before._replace(state=state)
    return replace(account, deliveries=tuple(known.values()))


def _read_list(text: str | None, kind: type[T]) -> tuple[T, ...]:
    """Return the items of a list member; an invalid value has none."""
    told: object = json.loads(text or "[]")
    found = cast("list[object]", told) if isinstance(told, list) else []
    return tuple(one for one in found if isinstance(one, kind))


def _take_heartbeat(account: Account, fact: Fact) -> Account:
    """Record known events dated ahead, the preflight, and a clear."""
    if fact.key == PREFLIGHT:
        account = replace(account, is_prepared=True)
    if fact.key == CLEARED:
        account = replace(account, cleared_at=fact.at)
    told = read_ahead(fact)
    return replace(account, ahead=tuple(dict.fromkeys((*account.ahead, *told)))) if told else account


def read_ahead(fact: Fact) -> tuple[str, ...]:
    """Return the events dated ahead that a heartbeat names; an invalid value names none."""
    return _read_list(dict(fact.others).get(AHEAD), str)


def _take_end(account: Account, fact: Fact) -> Account:
    """End the session once; release track and task when everything is published."""
    if account.ended_at is None:
        account = replace(account, ended_at=fact.at, end_reason=fact.text)
    if fact.key == PUBLISHED:
        account = replace(account, is_published=True, track="", task="", tdd="")
    return account


_SIGNS: Final = frozenset(kind.value for kind in FactKind if kind.row.is_sign)
_TAKE: Final[Mapping[str, Callable[[Account, Fact], Account]]] = MappingProxyType(
    {
        FactKind.START.value: _take_start,
        FactKind.HOST.value: _take_host,
        FactKind.BRANCH.value: _take_branch,
        FactKind.BINDING.value: _take_binding,
        FactKind.TDD.value: _take_tdd,
        FactKind.BOOKMARK.value: _take_bookmark,
        FactKind.DELIVERY.value: _take_delivery,
        FactKind.HEARTBEAT.value: _take_heartbeat,
        FactKind.END.value: _take_end,
    }
)


def make_start(start: SessionStart, at: datetime, agent: str) -> Fact:
    """Make the fact for the first line of a journal, or for a later one that replaces it."""
    values = {
        "host": start.host,
        "host_session": start.host_session,
        "name": start.name,
        "file": start.file,
        "checkout": start.checkout,
        "branch": start.branch,
        "ledger": start.ledger,
        "process": list(start.process),
        "continues": start.continues,
        "mode": start.mode,
        "fresh": start.is_fresh,
        "team": start.team,
        "role": start.role,
        "by": start.kind,
    }
    others = tuple((name, json.dumps(value, ensure_ascii=True)) for name, value in values.items() if value)
    return Fact(FactKind.START.value, "started", at, agent, commit=start.commit, others=others)


def read_start(fact: Fact) -> SessionStart:
    """Read what identifies a session; invalid values are ignored."""
    values: dict[str, object] = {name: json.loads(text) for name, text in fact.others}

    def text(name: str, default: str = "") -> str:
        value = values.get(name)
        return value if isinstance(value, str) else default

    return SessionStart(
        host=text("host", "generic"),
        host_session=text("host_session"),
        name=text("name"),
        file=text("file") if name_file(text("file")) == text("file") else "",
        checkout=text("checkout"),
        branch=text("branch", "unknown"),
        commit=fact.commit,
        ledger=text("ledger"),
        process=_read_process(values.get("process")),
        continues=text("continues"),
        mode=text("mode", "SA"),
        is_fresh=values.get("fresh") is True,
        team=text("team"),
        role=text("role"),
        kind=text("by"),
    )


def _read_process(values: object) -> HostProcess:
    match values:
        case [int(pid), str(started), str(boot)]:
            return HostProcess(pid, started, boot)
        case _:
            return NO_PROCESS
