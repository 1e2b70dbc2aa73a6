"""The account of a session: what the lines of its journal add up to.

Lines are applied in the order of their numbers; two of one number, which a file system without locks can
bring about, both count. A later goal, now or decision of the same key takes the place
of the earlier one; a list grows; a retraction takes a fact out until it is stated again. Whatever a session
is known by (host, process, checkout, ledger) stands in its first line: the journal alone is enough to go on.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import Fact, FactKind, Provenance, make_key
from passdown.core.ids import slug
from passdown.core.journal import JournalLine
from passdown.records import field, record, replace

ADD: Final = "add"
"""The key of next steps that follow those that are there; without it they take their place."""

PUBLISHED: Final = "published"
"""The key of an end after which nothing is left to do: without it the next start publishes what is open."""


class Entry(NamedTuple):
    """One fact that holds, with the line that says so."""

    text: str
    at: datetime
    seq: int
    provenance: Provenance
    key: str = ""
    because: str = ""


class Process(NamedTuple):
    """The process of the host: a number that is used again tells nothing without its start and the boot."""

    pid: int = 0
    started: str = ""
    boot: str = ""


NO_PROCESS: Final = Process()


class Delivery(NamedTuple):
    """A brief that was sent to the session: what marks it, its hash, and how it arrived."""

    nonce: str
    hash: str
    state: str


@record
class Start:
    """What a session is known by."""

    host: Annotated[str, "The program the agent runs in."] = "generic"
    host_session: Annotated[str, "The id the host gave the session."] = ""
    checkout: Annotated[str, "The working copy, an absolute path."] = ""
    branch: Annotated[str, "The branch at the start."] = "unknown"
    ledger: Annotated[str, "The ledger's path from the root."] = ""
    process: Annotated[Process, "The host's process."] = NO_PROCESS
    continues: Annotated[str, "The session that this one goes on from."] = ""
    mode: Annotated[str, "SA or MA."] = "SA"
    is_fresh: Annotated[bool, "Whether it does not carry on what others were to achieve."] = False


@record
class Account:
    """All that a session knows."""

    session: Annotated[str, "The session's id."] = ""
    agent: Annotated[str, "Whose session it is."] = ""
    start: Annotated[Start, "What the session is known by."] = Start()
    started_at: Annotated[datetime | None, "When it began."] = None
    touched_at: Annotated[datetime | None, "When its journal last grew."] = None
    said_at: Annotated[datetime | None, "When it last said something; a sign of life says nothing."] = None
    ended_at: Annotated[datetime | None, "When it ended."] = None
    end_reason: Annotated[str, "Why it ended."] = ""
    is_published: Annotated[bool, "Whether it ended and everything was published by then."] = False
    last_seq: Annotated[int, "The number of the last line."] = 0
    host_sessions: Annotated[tuple[str, ...], "Every id the host gave it."] = ()
    track: Annotated[str, "The track it works on."] = ""
    task: Annotated[str, "The task it has claimed."] = ""
    goal: Annotated[Entry | None, "What it is to achieve."] = None
    now: Annotated[Entry | None, "What it does."] = None
    bookmarks: Annotated[Mapping[str, str], "How far each transcript was read, as JSON."] = field(
        default_factory=dict[str, str]
    )
    deliveries: Annotated[tuple[Delivery, ...], "The briefs it was sent, oldest first."] = ()
    lists: Annotated[Mapping[str, tuple[Entry, ...]], "The other facts by kind, oldest first."] = field(
        default_factory=dict[str, tuple[Entry, ...]]
    )

    def of(self, kind: FactKind) -> tuple[Entry, ...]:
        """Give the facts of a kind, oldest first."""
        return self.lists.get(kind.value, ())


_SILENT: Final = frozenset(
    {FactKind.HEARTBEAT, FactKind.HOST, FactKind.END, FactKind.BOOKMARK, FactKind.DELIVERY}
)
_LISTS: Final = frozenset(
    {
        FactKind.NEXT,
        FactKind.DONE,
        FactKind.DECISION,
        FactKind.CONSTRAINT,
        FactKind.QUESTION,
        FactKind.FEEDBACK,
        FactKind.NOTE,
        FactKind.CHECKPOINT,
        FactKind.RECEIPT,
        FactKind.PROMPT,
        FactKind.FILE,
        FactKind.READ,
        FactKind.COMMIT,
        FactKind.TEST,
        FactKind.COMMAND,
        FactKind.PLAN,
    }
)
_HERE_ONLY: Final = frozenset(
    {
        FactKind.PROMPT,
        FactKind.NOTE,
        FactKind.READ,
        FactKind.COMMAND,
        FactKind.PLAN,
        FactKind.BOOKMARK,
        FactKind.DELIVERY,
    }
)
"""What stays on the machine (C61): what was said to the host, and what commands were run."""

PROMPTED: Final = "prompt"
"""The key of a goal or now that nobody stated: it is a prompt (C60)."""

MARK: Final = "mark"
"""The member of a bookmark that tells how far a transcript was read."""


def fold_journal(session: str, lines: Iterable[JournalLine]) -> Account:
    """Add up the lines of a journal, read in any order; a line that comes twice counts once."""
    folding = _Folding(session)
    for line in _in_order([*lines]):
        folding.take(line)
    return folding.account()


def _in_order(lines: list[JournalLine]) -> list[JournalLine]:
    """Sort lines and take out doubles; numbers that grow, as nearly always, show that none is needed."""
    if all(before.seq < after.seq for before, after in pairwise(lines)):
        return lines
    return sorted(set(lines), key=_order)


def _order(line: JournalLine) -> tuple[object, ...]:
    """Give the place of a line: its number, then its time, then what it says."""
    fact = line.fact
    said = (fact.kind, fact.text, fact.key or "", fact.because or "", fact.provenance.value)
    return (line.seq, fact.at, fact.agent, *said, fact.others, line.others)


def entry_key(kind: str, fact: Fact) -> str:
    """Give what facts of a kind that are one share: a decision's key, else the text.

    A checkpoint is one of its own: the same state comes again in every phase.
    """
    if kind == FactKind.DECISION:
        return make_key(fact.key or slug(fact.text))
    if kind == FactKind.CHECKPOINT:
        return make_key(f"{fact.at.isoformat()}\n{fact.key or ''}\n{fact.text}")
    return make_key(fact.text)


def may_leave(kind: str, entry: Fact | Entry) -> bool:
    """Say whether what a session knows may leave the machine (C61).

    1. Prompts, notes to oneself, files that were read, commands and plans stay.
    2. A goal or now that is a prompt stays, also when a later session carries it on.
    3. Of files that were only seen, those outside the project stay.
    """
    if kind in _HERE_ONLY:  # 1
        return False
    if kind in {FactKind.GOAL, FactKind.NOW}:  # 2
        return entry.key != PROMPTED
    is_seen_file = kind == FactKind.FILE and entry.provenance is Provenance.OBSERVED
    return not is_seen_file or is_inside(entry.text)  # 3


def is_inside(path: str) -> bool:
    """Say whether a path, written from the root, lies in the project."""
    return not path.startswith(("/", "\\", "../", "~")) and path != ".." and path[1:2] != ":"


def only_shared(account: Account) -> Account:
    """Give an account without what stays on the machine."""
    goal, now = account.goal, account.now
    return replace(
        account,
        goal=goal if goal and may_leave(FactKind.GOAL, goal) else None,
        now=now if now and may_leave(FactKind.NOW, now) else None,
        bookmarks={},
        lists={
            kind: tuple(entry for entry in entries if may_leave(kind, entry))
            for kind, entries in account.lists.items()
        },
    )


def is_last_word(fact: Fact) -> bool:
    """Say whether a fact is an end after which nothing is left to do."""
    return fact.kind == FactKind.END and fact.key == PUBLISHED


class _Folding:
    """Collects an account, line by line."""

    def __init__(self, session: str) -> None:
        self._account = Account(session=session)
        self._tables: dict[str, dict[str, Entry]] = {}
        self._agent = ""
        self._last_seq = 0
        self._touched_at: datetime | None = None
        self._said_at: datetime | None = None

    def take(self, line: JournalLine) -> None:
        """Apply one line."""
        fact = line.fact
        account = self._account
        self._agent = self._agent or fact.agent
        self._last_seq, self._touched_at = line.seq, fact.at
        if fact.kind not in _SILENT:
            self._said_at = fact.at
            self._account = replace(account, is_published=False) if account.is_published else account
        entry = Entry(fact.text, fact.at, line.seq, fact.provenance, fact.key or "", fact.because or "")
        if fact.kind in _LISTS:
            self._add(fact, entry)
        elif fact.kind == FactKind.GOAL:
            self._account = replace(self._account, goal=_unless_weaker(account.goal, entry))
        elif fact.kind == FactKind.NOW:
            self._account = replace(self._account, now=_unless_weaker(account.now, entry))
        elif fact.kind == FactKind.ANSWER:
            self._table(FactKind.QUESTION).pop(make_key(fact.key or ""), None)
            self._table(FactKind.ANSWER)[make_key(fact.key or fact.text)] = entry
        elif fact.kind == FactKind.RETRACTION:
            self._retract(fact)
        else:
            self._take_life(fact)

    def _take_life(self, fact: Fact) -> None:
        """Apply a line about the session itself; of a kind we do not know, nothing but its time is taken."""
        if fact.kind == FactKind.START:
            start = read_start(fact)
            ids: tuple[str, ...] = (start.host_session,) if start.host_session else ()
            self._account = replace(self._account, start=start, started_at=fact.at, host_sessions=ids)
        elif fact.kind == FactKind.HOST:
            ids = (*self._account.host_sessions, fact.text)
            self._account = replace(self._account, host_sessions=tuple(dict.fromkeys(ids)))
        elif fact.kind == FactKind.DELIVERY:
            self._take_delivery(fact)
        elif fact.kind == FactKind.BOOKMARK:
            marks = {**self._account.bookmarks, fact.text: dict(fact.others).get(MARK, "")}
            self._account = replace(self._account, bookmarks=marks)
        elif fact.kind == FactKind.BINDING:
            track, task = self._account.track, self._account.task
            track, task = (track, fact.text) if fact.key == "task" else (fact.text, task)
            self._account = replace(self._account, track=track, task=task)
        elif fact.kind == FactKind.END:
            self._take_end(fact)

    def _take_delivery(self, fact: Fact) -> None:
        """Add a brief that was sent, or say how it arrived."""
        known = {one.nonce: one for one in self._account.deliveries}
        nonce, (state, _, digest) = fact.key or "", fact.text.partition(" ")
        before = known.get(nonce, Delivery(nonce, digest, state))
        known[nonce] = before._replace(state=state)
        self._account = replace(self._account, deliveries=tuple(known.values()))

    def _take_end(self, fact: Fact) -> None:
        """End the session; it ends once, and lets go of track and task when all of it is published."""
        account = self._account
        if account.ended_at is None:
            account = replace(account, ended_at=fact.at, end_reason=fact.text)
        if fact.key == PUBLISHED:
            account = replace(account, is_published=True, track="", task="")
        self._account = account

    def _add(self, fact: Fact, entry: Entry) -> None:
        table = self._table(fact.kind)
        if fact.kind == FactKind.NEXT:
            if fact.key != ADD:
                table.clear()
            table |= {make_key(text): entry._replace(text=text) for text in fact.text.split("\n") if text}
            return
        key = entry_key(fact.kind, fact)
        table.pop(key, None)
        # A decision without a key has the one that its words make.
        table[key] = entry._replace(key=key) if fact.kind == FactKind.DECISION else entry

    def _retract(self, fact: Fact) -> None:
        kind = fact.key or ""
        if kind == FactKind.GOAL:
            self._account = replace(self._account, goal=None)
        elif kind == FactKind.NOW:
            self._account = replace(self._account, now=None)
        else:
            self._table(kind).pop(make_key(fact.text), None)

    def _table(self, kind: str) -> dict[str, Entry]:
        return self._tables.setdefault(str(kind), {})

    def account(self) -> Account:
        """Give what was collected."""
        lists = {kind: tuple(table.values()) for kind, table in self._tables.items()}
        return replace(
            self._account,
            agent=self._agent,
            last_seq=self._last_seq,
            touched_at=self._touched_at,
            said_at=self._said_at,
            lists=lists,
        )


def _unless_weaker(known: Entry | None, entry: Entry) -> Entry:
    """Take the new entry, unless it is weaker than the known one.

    What was only observed is weaker than what was stated, and a prompt is weaker than all but a prompt: what
    an earlier session stated is carried on as observed.
    """
    if known is None:
        return entry
    observed = entry.provenance is Provenance.OBSERVED
    is_prompt = entry.key == PROMPTED and known.key != PROMPTED
    return known if is_prompt or (observed and known.provenance is not Provenance.OBSERVED) else entry


def make_start(start: Start, at: datetime, agent: str) -> Fact:
    """Make the first line's fact of a journal."""
    values = {
        "host": start.host,
        "host_session": start.host_session,
        "checkout": start.checkout,
        "branch": start.branch,
        "ledger": start.ledger,
        "process": list(start.process),
        "continues": start.continues,
        "mode": start.mode,
        "fresh": start.is_fresh,
    }
    others = tuple((name, json.dumps(value, ensure_ascii=True)) for name, value in values.items() if value)
    return Fact(kind=FactKind.START.value, text="started", at=at, agent=agent, others=others)


def read_start(fact: Fact) -> Start:
    """Read what a session is known by; what does not fit is as if it were not there."""
    values: dict[str, object] = {name: json.loads(text) for name, text in fact.others}

    def text(name: str, default: str = "") -> str:
        value = values.get(name)
        return value if isinstance(value, str) else default

    return Start(
        host=text("host", "generic"),
        host_session=text("host_session"),
        checkout=text("checkout"),
        branch=text("branch", "unknown"),
        ledger=text("ledger"),
        process=_read_process(values.get("process")),
        continues=text("continues"),
        mode=text("mode", "SA"),
        is_fresh=values.get("fresh") is True,
    )


def _read_process(values: object) -> Process:
    match values:
        case [int(pid), str(started), str(boot)]:
            return Process(pid, started, boot)
        case _:
            return NO_PROCESS
