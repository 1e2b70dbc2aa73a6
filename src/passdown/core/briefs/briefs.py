"""The brief: what a session is told when it starts, within a budget (C59, C67, C68).

1. The head is always included: goal, now, how much is unread, the three newest feedbacks and their count, and
   the first next step. It comes first, so the first 2,000 characters alone are a safe brief.
2. The other parts share the remaining room (`packing`): blockers, what the session holds and its messages;
   rules; decisions; questions; the team; what was observed of a session that recorded nothing. Within a
   share, facts that name a file at hand come first, then those of the same track, of the same branch, and the
   newest. Omitted lines are counted, with the command that shows them.
3. What sessions and people wrote is data: it follows a `>`, on one line, without control or bidirectional
   characters, and is cut after 300 characters. What comes before the `>` is ours.
4. The brief is enclosed by two lines with a delimiter and a nonce, which no text inside can contain.

The same input, budget, time and frame produce the same bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.briefs.brief_frame import BriefFrame, hash_body
from passdown.core.briefs.brief_input import BriefInput, CommitSubject, OrphanedTask
from passdown.core.briefs.brief_lines import ALL_FACTS, INBOX, MAX_TEXT, MESSAGE, BriefLine, FactLines
from passdown.core.briefs.budgets import Budget, Size, measure
from passdown.core.briefs.packing import POINTER, SEEN_SHARE, SHARES, VERBS, BriefPart, Omission, Packing
from passdown.core.briefs.receipts import COMMIT_SIZE, sort_receipts
from passdown.core.facts import AIM_CHARS, FAILED, Fact, identify, is_made_key, is_result, read_phase
from passdown.core.kinds import FURTHER, FactKind
from passdown.core.phases import PhaseState
from passdown.core.safe_text import one_line
from passdown.core.sessions.ledger_sync import is_blocking
from passdown.core.times import age_words, render_millis
from passdown.records import record

_SHORTEST: Final = 20
_LIMITS: Final = (AIM_CHARS, 120, 60)
"""The lengths to which lines of the head are cut, tried in this order until the head fits."""
_FEEDBACK: Final = 3
"""How many of the newest feedbacks are always shown."""
_CONTESTED: Final = 2
"""How many contested decisions come before decisions that name a file at hand."""
_LATELY: Final = 10
_AGENT: Final = 40
_LABEL: Final = 60
_FILES: Final = 20
_BEFORE: Final = MappingProxyType({FactKind.GOAL.value: "goal: ", FactKind.NOW.value: "last worked on: "})
_NEWEST: Final = 5
_RECEIPTS: Final = "passdown view list receipts"
_UNCONFIRMED: Final = "UNCONFIRMED"
NO_GOAL: Final = 'none yet. Record it when you know it: `passdown goal "…"`'
NO_NOW: Final = "none yet"
_POINTERS: Final = f"`passdown search WORDS`, `{ALL_FACTS}`"
_PAST: Final = "imported old sessions edited these files"
_PAST_COMMAND: Final = "`passdown search FILE --kind history`"
_FIRST_BANNER: Final = "Passdown is on. Nothing recorded yet."
_RECORD: Final = "`passdown goal | now | done | next | decide | rule-out | ask | note`, each with a text"


@record
class Brief:
    """A brief that is ready to be shown."""

    frame: Annotated[BriefFrame, "The first and the last line."]
    body: Annotated[str, "The text between them."]
    lines: Annotated[tuple[tuple[int, str, BriefLine], ...], "Each line, with its class and kind."]
    omitted: Annotated[tuple[Omission, ...], "What was left out."]

    @property
    def text(self) -> str:
        """The whole brief."""
        return f"{self.frame.head}\n{self.body}\n{self.frame.tail}"

    @property
    def size(self) -> Size:
        """The size of the whole brief."""
        return measure(self.text)

    @property
    def facts(self) -> frozenset[str]:
        """The ids of the facts that it shows in full."""
        return frozenset(line.id for _, _, line in self.lines if line.id)

    @property
    def feedback(self) -> tuple[str, ...]:
        """The ids of the feedback that it shows in full."""
        return tuple(line.id for _, kind, line in self.lines if kind == FactKind.FEEDBACK and line.id)

    @property
    def messages(self) -> tuple[int, ...]:
        """The positions of the messages that it shows in full."""
        shown = (line for _, kind, line in self.lines if kind == MESSAGE and line.id)
        return tuple(int(line.fact.key) for line in shown if line.fact)


def pack_brief(brief_input: BriefInput, budget: Budget, now: datetime, frame: BriefFrame) -> Brief:
    """Make a brief that never exceeds the budget; the same input produces the same bytes."""
    show = FactLines(brief_input.agent, now, frame, MAX_TEXT, budget)
    rest = tuple(_make_rest(brief_input, show))
    shares = (*SHARES, SEEN_SHARE) if brief_input.explains_recording else SHARES

    def make_packing(limit: int) -> Packing:
        head = FactLines(brief_input.agent, now, frame, limit, budget, is_marked=limit != _SHORTEST)
        return Packing((*_make_head(brief_input, head), *rest), budget, frame, shares)

    for limit in _LIMITS:
        packing = make_packing(limit)
        if packing.pack():
            return _finish(packing, frame)
    packing = make_packing(_SHORTEST)
    packing.pack(is_shortest=True)
    return _finish(packing, frame)


def pack_messages(brief_input: BriefInput, budget: Budget, now: datetime, frame: BriefFrame) -> Brief:
    """Make a brief that has only messages, for a session that was briefed before."""
    show = FactLines(brief_input.agent, now, frame, MAX_TEXT, budget)
    packing = Packing((_messages(brief_input, show),), budget, frame)
    packing.pack()
    return _finish(packing, frame)


def _finish(packing: Packing, frame: BriefFrame) -> Brief:
    body, lines, omitted = packing.packed()
    return Brief(frame=frame, body=body, lines=lines, omitted=omitted)


# --- what is shown --------------------------------------------------------------------------------


def _make_head(brief_input: BriefInput, show: FactLines) -> Iterator[BriefPart]:
    """Yield the parts of the head in order (1)."""
    aim = brief_input.aim
    yield _one_part(FactKind.GOAL, aim.goal, NO_GOAL, show)
    now = _one_part(FactKind.NOW, aim.now, NO_NOW, show)
    yield now._replace(title=aim.work_name.capitalize(), kind=aim.work_name.replace(" ", "_"))
    unread: list[BriefLine] = []
    if brief_input.unread:  # only a brief may be made from a part of the events (C131)
        left = "1 file" if brief_input.unread == 1 else f"{brief_input.unread:,} files"
        read = f"Only the newest {brief_input.read:,} events were read; not read yet: {left}"
        unread.append(BriefLine(f"{read}. `passdown brief` reads all"))
    yield _plain_part(1, "unread", "Not all events were read yet", unread)._replace(head=1)
    feedback = _part(brief_input, show, FactKind.FEEDBACK, brief_input.feedback)
    yield feedback._replace(head=_FEEDBACK)
    steps = [show.line(fact) for fact in aim.next]
    yield _plain_part(2, FactKind.NEXT, FactKind.NEXT.row.title, steps)._replace(head=1)


def _make_rest(brief_input: BriefInput, show: FactLines) -> Iterator[BriefPart]:
    """Yield the other parts in order (2)."""
    aim = brief_input.aim
    verbs = [BriefLine(_RECORD)] if brief_input.explains_recording else []
    yield _plain_part(1, VERBS, "Record what matters when it happens", verbs)
    questions = brief_input.nearest(FactKind.QUESTION)
    receipts = sort_receipts(brief_input.of(FactKind.RECEIPT))
    results = show.results(brief_input.of(FactKind.FILE))
    blocking = [fact for fact in questions if is_blocking(fact.text)]
    phases = brief_input.of(FactKind.CHECKPOINT)
    failed_phases = [fact for fact in phases if read_phase(fact).status == PhaseState.FAILED]
    blocking += [fact for fact in failed_phases if not _is_taken_up(fact, phases)]
    blockers = [
        *map(show.line, blocking),
        *(results(fact, FAILED) for fact in receipts.failed if show.is_fresh(fact)),
    ]
    yield _plain_part(1, "blocker", "Blockers", blockers)
    yield _plain_part(1, "holding", "You hold", list(_holdings(brief_input, show)))
    yield _messages(brief_input, show)
    yield _part(brief_input, show, FactKind.CONSTRAINT, brief_input.nearest(FactKind.CONSTRAINT))
    yield _part(brief_input, show, FactKind.RECEIPT, receipts.once)
    yield from _further(brief_input, show, 1)
    before = [show.line(fact, _BEFORE[fact.kind]) for fact in aim.before_it]
    yield _plain_part(2, "before", "Before that", before)
    words = [show.line(brief_input.words)] if brief_input.words else []
    yield _plain_part(2, FactKind.WORDS, "The agent's last message", words)
    yield _questions(brief_input, [fact for fact in questions if fact not in blocking], show)
    orphans = [_show_orphan(one, show) for one in brief_input.team.orphans]
    yield _plain_part(2, "orphan", "Tasks of crashed sessions", orphans, "passdown task list")
    yield _gates(brief_input, show)
    yield _decisions(brief_input, show)
    yield from _further(brief_input, show, 2)
    ahead = [_show_ahead(fact, show) for fact in brief_input.ahead]
    yield _plain_part(2, "ahead", "Dated ahead: ignored here", ahead, "passdown doctor")
    yield _part(brief_input, show, FactKind.MALFORMED)
    yield _team(brief_input, show)
    places = [f"ledger > {show.data(brief_input.ledger)[:MAX_TEXT]}"] if brief_input.ledger else []
    if brief_input.past_edits:
        places.append(f"{_PAST} {brief_input.past_edits} times: {_PAST_COMMAND}")
    yield _plain_part(3, POINTER, "More", [BriefLine(one) for one in (*places, _POINTERS)])
    for kind in (FactKind.ANSWER, FactKind.DONE):
        part = _part(brief_input, show, kind)
        yield part._replace(lines=part.lines[:_LATELY])
    yield from _further(brief_input, show, 3)
    failed = [results(fact, FAILED) for fact in receipts.failed if not show.is_fresh(fact)]
    tests = [*failed, *map(results, receipts.passed[:_LATELY])]
    yield _plain_part(3, "test", "Test results", tests, _RECEIPTS)
    commits = [_show_commit(one, show) for one in brief_input.commits]
    part = _plain_part(3, FactKind.COMMIT, "Commits", commits, _RECEIPTS)
    yield part._replace(lines=part.lines[:_LATELY])
    yield _files(brief_input, show)


def _further(brief_input: BriefInput, show: FactLines, level: int) -> Iterator[BriefPart]:
    """Yield the kinds that have no fixed position among the parts."""
    for kind in FURTHER:
        if kind.row.brief_class == level:
            yield _part(brief_input, show, kind)


def _show_commit(one: CommitSubject, show: FactLines) -> BriefLine:
    """Render a commit by its short hash and its subject; this does not count as the whole fact."""
    text = f"{one.fact.text[:COMMIT_SIZE]} {one.subject}"
    return BriefLine(show.line(one.fact._replace(text=text)).text, "", one.fact)


def _files(brief_input: BriefInput, show: FactLines) -> BriefPart:
    """List the changed files, including those of commits: the most edited first, then the newest."""
    known = {fact.text: fact for fact in brief_input.of(FactKind.FILE)}
    for commit in brief_input.commits:
        for path in commit.files:
            known.setdefault(path, commit.fact._replace(kind=FactKind.FILE.value, text=path))
    counts = Counter(path for commit in brief_input.commits for path in commit.files)
    counts.update(brief_input.edits)
    facts = sorted(known.values(), key=lambda fact: -counts[fact.text])
    part = _part(brief_input, show, FactKind.FILE, facts)
    lines = [BriefLine(f"> {show.data(fact.text)[:MAX_TEXT]}", fact.id, fact) for fact in facts[:_FILES]]
    return part._replace(lines=tuple(lines))


def _one_part(kind: FactKind, fact: Fact | None, nothing: str, show: FactLines) -> BriefPart:
    line = show.line(fact) if fact else BriefLine(nothing)
    return BriefPart(kind.row.brief_class, kind, kind.row.title, (line,), 1, head=1)


def _plain_part(
    level: int, kind: str, title: str, lines: Sequence[BriefLine], command: str = ALL_FACTS
) -> BriefPart:
    return BriefPart(level, kind, title, tuple(lines), len(lines), command)


def _part(
    brief_input: BriefInput, show: FactLines, kind: FactKind, some: Sequence[Fact] | None = None
) -> BriefPart:
    facts = brief_input.of(kind) if some is None else some
    lines = show.lines(facts, _lead_of(kind))
    is_listed = all(one.event and not one.branch for one in facts)
    command = f"passdown view list {kind.row.plural}" if is_listed else ALL_FACTS
    total = len(facts) + brief_input.beyond.get(kind, 0)
    return BriefPart(kind.row.brief_class, kind, kind.row.title, lines, total, command)


def _lead_of(kind: FactKind) -> Callable[[Fact], str]:
    """Return a function that puts the key in front of a fact, unless the key was made from its words."""
    if kind is FactKind.DECISION:
        return lambda one: "" if is_made_key(one) else f"{one.key}: "
    return lambda one: f"{one.key} → " if kind is FactKind.ANSWER else ""


def _decisions(brief_input: BriefInput, show: FactLines) -> BriefPart:
    """List contested decisions first (C162), but only so many that others have room too."""
    keys = {identify(facts[0]) for facts in brief_input.contested}
    rest = [fact for fact in brief_input.nearest(FactKind.DECISION) if identify(fact) not in keys]
    part = _part(brief_input, show, FactKind.DECISION, rest)
    near = sum(brief_input.nearby.names(fact) for fact in rest)
    contested = [show.contested(facts) for facts in brief_input.contested]
    first, more = contested[:_CONTESTED], contested[_CONTESTED:]
    lines = (*first, *part.lines[:near], *more, *part.lines[near:])
    return part._replace(lines=lines, total=len(keys) + part.total)


def _questions(brief_input: BriefInput, facts: Sequence[Fact], show: FactLines) -> BriefPart:
    """List unconfirmed questions first (R81)."""
    unsure = [one for one in facts if one.text.lstrip().upper().startswith(_UNCONFIRMED)]
    others = [one for one in facts if one not in unsure]
    part = _part(brief_input, show, FactKind.QUESTION, [*unsure, *others])
    note = f" (first ask the user 1 to 3 of those marked {_UNCONFIRMED})" if unsure else ""
    return part._replace(title=part.title + note)


def _gates(brief_input: BriefInput, show: FactLines) -> BriefPart:
    """List the gates that are due, then the results of the session's track; without one, of all tracks."""
    track = brief_input.track
    of_track = [fact for fact in brief_input.of(FactKind.GATE) if not track or fact.track == track]
    part = _part(brief_input, show, FactKind.GATE, [fact for fact in of_track if is_result(fact.text)])
    due = [
        BriefLine(f"due: `passdown gate run {show.name(gate)}` > {show.data(why)[:MAX_TEXT]}")
        for gate, why in brief_input.due_gates.items()
    ]
    return part._replace(lines=(*due, *part.lines), total=len(due) + part.total)


def _is_taken_up(failed: Fact, phases: Sequence[Fact]) -> bool:
    """Return whether the failed phase of a stream document has been reported on since (C155)."""
    later = (one for one in phases if one.at > failed.at and one.stream == failed.stream)
    return bool(failed.stream) and any(one.key == failed.key for one in later)


def _holdings(brief_input: BriefInput, show: FactLines) -> Iterator[BriefLine]:
    held = brief_input.team.holdings
    for one in held:
        left = "" if one.left is None else f", {age_words(one.left)} left"
        text = show.data(f"{one.name} {one.title}".rstrip())
        yield BriefLine(f"{one.kind}{left} > {text[:MAX_TEXT]}")
    if brief_input.task and not any(one.name == brief_input.task for one in held):
        yield BriefLine(f"task > {show.data(brief_input.task)[:MAX_TEXT]}")
    if brief_input.track:
        yield BriefLine(f"track > {show.data(brief_input.track)[:MAX_TEXT]}")


def _messages(brief_input: BriefInput, show: FactLines) -> BriefPart:
    """Show the newest messages and count the others (C90)."""
    found = brief_input.team.messages
    lines: list[BriefLine] = []
    for one in found[:_NEWEST]:
        fact = Fact(MESSAGE, one.text, one.at, one.agent, key=str(one.position))
        lines.append(show.line(fact, "urgent: " if one.is_urgent else ""))
    return BriefPart(1, MESSAGE, "Unread messages", tuple(lines), len(found), INBOX)


def _show_orphan(one: OrphanedTask, show: FactLines) -> BriefLine:
    task = show.name(one.task)
    origin = f"{task}, orphaned by {show.name(one.agent)}: `passdown takeover {task}`"
    return BriefLine(f"({origin}) > {show.data(one.title)[:MAX_TEXT]}")


def _team(brief_input: BriefInput, show: FactLines) -> BriefPart:
    """Show who else is at work, and the first tasks that are ready."""
    team = brief_input.team
    if not (brief_input.peers or team.members or team.ready):
        return _plain_part(3, "peer", "", [])
    from passdown.core.briefs.team_lines import show_team  # many work alone

    return show_team(brief_input.peers, team, show)


def _show_ahead(fact: Fact, show: FactLines) -> BriefLine:
    """Render a fact of an event that is dated ahead, with its date."""
    text = show.data(f"{fact.key}: {fact.text}" if fact.key else fact.text)[:MAX_TEXT]
    return BriefLine(f"({show.name(fact.agent)}, {show.name(fact.event_id)}, {fact.at.date()}) > {text}")


def brief_hash(brief: Brief) -> str:
    """Hash the text between the two lines: briefs with the same content have the same hash."""
    return hash_body(brief.body)


# --- the banner -----------------------------------------------------------------------------------


class CombinedEvent(NamedTuple):
    """An event that was combined into the brief."""

    at: datetime
    agent: str
    label: str


def render_banner(
    combined: Iterable[CombinedEvent], total: int, goal: str, now: str, title: str = "Now", unread: int = 0
) -> str:
    """Render the combined events, newest first, then the goal and current or last work (R120, R121).

    `unread` is the number of event files that were not read yet.
    """
    shown: list[str] = []
    for one in combined:
        minute = f"{render_millis(one.at)[:16].replace('T', ' ')}Z"
        shown.append(f"  {_cut(one.agent, _AGENT)}  {minute}  {_cut(one.label, _LABEL)}")
    if not (total or unread or goal or now):
        return _FIRST_BANNER
    count = f"{total} event{'' if total == 1 else 's'} combined" if total else "no events yet"
    rest = [f"  and {total - len(shown)} earlier: `passdown log --all`"] if total > len(shown) else []
    files = "1 event file" if unread == 1 else f"{unread:,} event files"
    left = f"; {files} not read yet (`passdown brief` reads all)" if unread else ""
    lines = [f"Passdown: {count}{left}", *shown, *rest]
    lines += [f"Goal: {_cut(goal, MAX_TEXT) or NO_NOW}", f"{title}: {_cut(now, MAX_TEXT) or NO_NOW}"]
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[:limit].rstrip()}…"
