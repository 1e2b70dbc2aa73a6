"""The snapshot: what a session passes on, in one model that several documents show (C19).

1. It is made of an account, or of a ledger whose journal is not here; secrets are taken out when it is made.
2. A stream document shows it in its Ledger section, and nothing else of the document changes (R74).
3. An archive shows it as the record of the session (G2).
4. Read back from either, it says what the next session carries on, and what has changed since (G18).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.accounts import Account, only_shared
from passdown.core.archives import LEDGER, Archive, ArchiveDecision, Artifact, archive_status
from passdown.core.bookkeeping import RULED_OUT, Said, make_rule, split_decision
from passdown.core.checkpoints import Phase, PhaseState, ValidationState, read_state
from passdown.core.facts import FactKind, make_key
from passdown.core.fields import read_count
from passdown.core.ids import slug
from passdown.core.jsontext import dump
from passdown.core.keys import PLACE
from passdown.core.ledgers import Ledger
from passdown.core.pairs import Pair
from passdown.core.problems import Malformed, Unknown
from passdown.core.scalars import read_scalar, write_scalar
from passdown.core.secrets import redact, redact_account, redact_all
from passdown.core.streams import Checkpoint, Stream, Workflow, open_phase, read_question, write_question
from passdown.core.times import is_older
from passdown.records import record, replace

OLD_AFTER: Final = timedelta(hours=24)
"""How long after it was written a handoff may say what is no longer so."""

STARTED: Final = "Session started"
NO_STEP: Final = "Name the next step"
RULED_OUT_KEY: Final = RULED_OUT.removesuffix(": ")
CONTEXT: Final = "## Context\n\nMinimal handoff created for ledger tracking. Full context to be added."
_HASH: Final = "sha256:"
_COMMIT: Final = "commit"
_HASHES: Final = "file_hashes"
_FOCUS: Final = "Current focus"
_ACTION: Final = "Next action"
_BLOCKERS: Final = "Blockers"


class Choice(NamedTuple):
    """A decision, or a constraint if it has no key."""

    key: str
    text: str
    because: str = ""


class Probe(NamedTuple):
    """A file and the hash of what it held; empty for one that could not be read."""

    path: str
    hash: str = ""


@record
class Surroundings:
    """What is the case around a session: when, where, and in which files."""

    at: Annotated[datetime, "When it was looked at."]
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit; empty if nobody knows."] = ""
    probes: Annotated[tuple[Probe, ...], "The files that were changed, with the hash of each."] = ()


@record
class Snapshot:
    """What one session passes on."""

    at: Annotated[datetime | None, "When it was made."] = None
    session: Annotated[str, "The session."] = ""
    agent: Annotated[str, "Whose session it was."] = ""
    trigger: Annotated[str, "What made it: manual, track-switch, …"] = "manual"
    started_at: Annotated[datetime | None, "When the session began."] = None
    track: Annotated[str, "The track it worked on."] = ""
    task: Annotated[str, "The task it had claimed."] = ""
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit."] = ""
    goal: Annotated[str, "What is to be achieved."] = ""
    now: Annotated[str, "What was being done."] = ""
    done: Annotated[tuple[str, ...], "What is finished."] = ()
    next: Annotated[tuple[str, ...], "What comes after, in order."] = ()
    choices: Annotated[tuple[Choice, ...], "Decisions and constraints."] = ()
    questions: Annotated[tuple[str, ...], "What is open."] = ()
    answered: Annotated[tuple[str, ...], "Questions that are no longer open."] = ()
    feedback: Annotated[tuple[str, ...], "What a person said."] = ()
    phases: Annotated[tuple[Phase, ...], "How far each phase is."] = ()
    test: Annotated[str, "The command that tests it."] = ""
    test_exit: Annotated[int | None, "How that command ended."] = None
    probes: Annotated[tuple[Probe, ...], "The files that were changed, with the hash of each."] = ()
    redacted: Annotated[tuple[str, ...], "The rules by which secrets were found and taken out."] = ()


@record
class Drift:
    """What is different from what a snapshot says."""

    age: Annotated[timedelta | None, "How old the snapshot is."] = None
    is_old: Annotated[bool, "Whether that is more than 24 hours."] = False
    branch: Annotated[tuple[str, str] | None, "The branch then and now, if they differ."] = None
    commits: Annotated[int | None, "How many commits were made since; None if nobody knows."] = None
    changed: Annotated[tuple[str, ...], "Files that hold something else now."] = ()
    missing: Annotated[tuple[str, ...], "Files that are gone."] = ()
    test: Annotated[str, "The recorded test command."] = ""
    test_then: Annotated[int | None, "How it ended then."] = None
    test_now: Annotated[int | None, "How it ended now; None if it was not run."] = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing is known to have changed."""
        quiet = not (self.is_old or self.branch or self.commits or self.changed or self.missing)
        return quiet and (self.test_now is None or self.test_now == (self.test_then or 0))


def make_snapshot(account: Account, around: Surroundings, trigger: str) -> Snapshot:
    """Make a snapshot of what an account knows, without its secrets (1)."""
    clean, found = redact_account(only_shared(account))
    (branch, *paths), more = redact_all([around.branch, *(probe.path for probe in around.probes)])
    decisions = [(one.seq, Choice(one.key, one.text, one.because)) for one in clean.of(FactKind.DECISION)]
    decisions += [
        (one.seq, Choice("", one.text.removeprefix(RULED_OUT), one.because))
        for one in clean.of(FactKind.CONSTRAINT)
    ]
    tests = clean.of(FactKind.TEST)
    return Snapshot(
        at=around.at,
        session=clean.session,
        agent=clean.agent,
        trigger=trigger,
        started_at=clean.started_at,
        track=clean.track,
        task=clean.task,
        branch=branch or clean.start.branch,
        commit=around.commit,
        goal=clean.goal.text if clean.goal else "",
        now=clean.now.text if clean.now else "",
        done=_texts(clean, FactKind.DONE),
        next=_texts(clean, FactKind.NEXT),
        choices=tuple(choice for _, choice in sorted(decisions)),
        questions=_texts(clean, FactKind.QUESTION),
        answered=tuple(one.key for one in clean.of(FactKind.ANSWER)),
        feedback=_texts(clean, FactKind.FEEDBACK),
        phases=tuple(_phases(clean)),
        test=tests[-1].text if tests else "",
        test_exit=_number(tests[-1].key) if tests else None,
        probes=tuple(Probe(path, one.hash) for path, one in zip(paths, around.probes, strict=True)),
        redacted=tuple(dict.fromkeys((*found, *more))),
    )


def ledger_snapshot(ledger: Ledger, at: datetime, trigger: str) -> Snapshot:
    """Make a snapshot of a ledger that some other tool kept, without its secrets (1)."""
    said = [part for one in ledger.decisions for part in (one.decision, one.reasoning)]
    lists = (ledger.done, ledger.next, ledger.questions, ledger.modified)
    texts, found = redact_all([ledger.goal, ledger.now, *said, *(text for one in lists for text in one)])
    parts = iter(texts)
    goal, now = next(parts), next(parts)
    choices = tuple(_read_choice(next(parts), next(parts)) for _ in ledger.decisions)
    done, following, questions, modified = (tuple(next(parts) for _ in one) for one in lists)
    return Snapshot(
        at=at,
        session=ledger.session_id or "unknown",
        trigger=trigger,
        track=ledger.bound_track or "",
        task=ledger.bound_bead or "",
        branch=ledger.branch,
        goal=goal,
        now=now,
        done=done,
        next=following,
        choices=choices,
        questions=questions,
        probes=tuple(Probe(path) for path in modified),
        redacted=found,
    )


def _texts(account: Account, kind: FactKind) -> tuple[str, ...]:
    return tuple(entry.text for entry in account.of(kind))


def _number(text: str) -> int | None:
    try:
        return read_count(text)
    except Malformed:
        return None


def _phases(account: Account) -> Iterator[Phase]:
    """Give the last state of each phase that a checkpoint names."""
    phases: dict[int, Phase] = {}
    for entry in account.of(FactKind.CHECKPOINT):
        number, state = _number(entry.key), _state(entry.text)
        if number is not None and state is not None:
            phases[number] = Phase(phase=number, name=entry.because, state=state)
    return iter(phases[number] for number in sorted(phases))


def _state(text: str) -> PhaseState | None:
    try:
        return read_state(text)
    except Malformed:
        return None


def to_stream(snapshot: Snapshot, name: str, known: Stream | None = None) -> Stream:
    """Show a snapshot in a stream document: one that is there, or a new one (2).

    In a document that is there, what the session does not know stays: decisions of others, questions that
    nobody answered, and whatever stands outside the Ledger section.
    """
    stream = known or _new_stream(snapshot, name)
    checkpoint = _to_checkpoint(snapshot, stream.checkpoint or Checkpoint())
    phase = open_phase(checkpoint.phases)
    return replace(
        stream,
        updated=snapshot.at,
        goal=_line(snapshot.goal) or stream.goal,
        ledger_branch=snapshot.branch or stream.ledger_branch,
        test=_line(snapshot.test) or stream.test,
        now=snapshot.now or stream.now,
        this_session=snapshot.done or stream.this_session,
        next=snapshot.next or stream.next,
        decisions=tuple(_join_pairs(stream.decisions, snapshot.choices)),
        questions=tuple(read_question(text) for text in _join_questions(stream, snapshot)),
        workflow=stream.workflow if phase is None else replace(stream.workflow, phase=phase),
        checkpoint=checkpoint,
    )


def _line(text: str) -> str:
    return text.replace("\n", " ")


def _to_checkpoint(snapshot: Snapshot, known: Checkpoint) -> Checkpoint:
    return replace(
        known,
        agent=snapshot.agent or known.agent,
        task=_line(snapshot.task or snapshot.goal) or known.task,
        started=known.started or snapshot.started_at,
        last_updated=snapshot.at,
        phases=snapshot.phases or known.phases,
        validation=_to_validation(snapshot, known.validation or ValidationState()),
        resume=tuple(_resume_notes(snapshot, known.resume)),
    )


def _new_stream(snapshot: Snapshot, name: str) -> Stream:
    """Make the minimal document (R83)."""
    resolved = [Pair(key="goal", value=_line(snapshot.goal))] if snapshot.goal else []
    return Stream(
        date=snapshot.at,
        session_name=name,
        branch=snapshot.branch or "unknown",
        status="active",
        title=f"Work Stream: {name}",
        this_session=(STARTED,),
        next=(NO_STEP,),
        workflow=Workflow(phase=1, retries=0, max_retries=3),
        resolved=(*resolved, Pair(key="resource_allocation", value="balanced")),
        checkpoint=Checkpoint(phases=(Phase(phase=1, state=PhaseState.PENDING),)),
        context=CONTEXT,
    )


def _join_pairs(known: Iterable[Pair], choices: Iterable[Choice]) -> Iterator[Pair]:
    """Lay the session's choices over those that are there; a constraint is known by its text."""
    table = {_pair_key(pair): pair for pair in known}
    for choice in choices:
        text = f"{choice.text} ({choice.because})" if choice.because else choice.text
        pair = Pair(key=choice.key or RULED_OUT_KEY, value=_line(text))
        table[_pair_key(pair)] = pair
    return iter(table.values())


def _pair_key(pair: Pair) -> str:
    return make_key(f"{pair.key} {pair.value}" if pair.key == RULED_OUT_KEY else pair.key)


def _join_questions(stream: Stream, snapshot: Snapshot) -> Sequence[str]:
    table = {make_key(text): text for text in (*map(write_question, stream.questions), *snapshot.questions)}
    for text in snapshot.answered:
        table.pop(make_key(text), None)
    return list(table.values())


def _to_validation(snapshot: Snapshot, known: ValidationState) -> ValidationState:
    """Keep what a resumed session checks: files with their hashes, the commit, the test."""
    hashes = {probe.path: f"{_HASH}{probe.hash}" for probe in snapshot.probes if probe.hash}
    members = {
        **({_COMMIT: dump(snapshot.commit)} if snapshot.commit else {}),
        **({_HASHES: json.dumps(hashes, ensure_ascii=False)} if hashes else {}),
    }
    others = {name: text for name, text in known.others if name not in {_COMMIT, _HASHES}}
    return replace(
        known,
        files_modified=tuple(probe.path for probe in snapshot.probes) or known.files_modified,
        last_test_command=snapshot.test or known.last_test_command,
        last_test_exit_code=snapshot.test_exit if snapshot.test else known.last_test_exit_code,
        others=tuple({**others, **members}.items()),
    )


def _resume_notes(snapshot: Snapshot, known: Iterable[Pair]) -> Iterator[Pair]:
    table = {pair.key: pair.value for pair in known}
    table[_FOCUS] = snapshot.now or table.get(_FOCUS, "") or "(not started)"
    table[_ACTION] = next(iter(snapshot.next), "") or table.get(_ACTION, "") or NO_STEP
    table.setdefault(_BLOCKERS, "(none)")
    return (Pair(key=key, value=_line(value)) for key, value in table.items())


def from_stream(stream: Stream) -> Snapshot:
    """Read back what a stream document passes on (4)."""
    checkpoint = stream.checkpoint or Checkpoint()
    validation = checkpoint.validation or ValidationState()
    others = dict(validation.others)
    hashes = _read_hashes(others.get(_HASHES, "{}"))
    commit: object = json.loads(others.get(_COMMIT, '""'))
    choices = (
        Choice("", one.value) if one.key == RULED_OUT_KEY else Choice(one.key, one.value or one.key)
        for one in stream.decisions
    )
    return Snapshot(
        at=stream.updated or stream.date,
        agent=checkpoint.agent,
        started_at=checkpoint.started,
        branch=stream.ledger_branch or stream.branch or "",
        commit=commit if isinstance(commit, str) else "",
        goal=stream.goal,
        now=stream.now,
        done=stream.this_session,
        next=tuple(text for text in stream.next if text != NO_STEP),
        choices=tuple(choices),
        questions=tuple(write_question(one) for one in stream.questions),
        phases=checkpoint.phases,
        test=validation.last_test_command or stream.test,
        test_exit=validation.last_test_exit_code,
        probes=tuple(Probe(path, hashes.get(path, "")) for path in validation.files_modified),
    )


def _read_hashes(text: str) -> Mapping[str, str]:
    found: object = json.loads(text)
    if not isinstance(found, dict):
        return MappingProxyType({})
    return {
        path: value.removeprefix(_HASH)
        for path, value in cast("dict[object, object]", found).items()
        if isinstance(path, str) and isinstance(value, str)
    }


def to_archive(snapshot: Snapshot, ledger: str = "") -> Archive:
    """Show a snapshot as the record of a session, which may end with its whole ledger (3)."""
    front = {
        "branch": snapshot.branch,
        _COMMIT: snapshot.commit,
        "test": _line(snapshot.test),
        "test_exit_code": "" if snapshot.test_exit is None else str(snapshot.test_exit),
    }
    unknown = [
        Unknown(place=PLACE, text=f"{name}: {write_scalar(value)}") for name, value in front.items() if value
    ]
    if ledger:
        unknown.append(Unknown(place=LEDGER, text=redact(ledger).text.rstrip()))
    return Archive(
        date=snapshot.at,
        session_id=snapshot.session,
        trigger=snapshot.trigger,
        status=archive_status(snapshot.trigger),
        track=snapshot.track or None,
        summary=snapshot.goal,
        completed=snapshot.done,
        in_progress=(snapshot.now,) if snapshot.now else (),
        next_steps=snapshot.next,
        decisions=tuple(_show_choice(choice) for choice in snapshot.choices),
        modified=tuple(
            Artifact(file=probe.path, note=f"{_HASH}{probe.hash}" if probe.hash else "")
            for probe in snapshot.probes
        ),
        context="\n".join(snapshot.feedback),
        questions=snapshot.questions,
        unknown=tuple(unknown),
    )


def _show_choice(choice: Choice) -> ArchiveDecision:
    text = _show_decision(choice) if choice.key else f"{RULED_OUT}{choice.text}"
    return ArchiveDecision(decision=text, reasoning=choice.because)


def _show_decision(choice: Choice) -> str:
    """Show a key, unless it is made of the decision's words."""
    return choice.text if choice.key == slug(choice.text) else f"{choice.key}: {choice.text}"


def _read_choice(text: str, because: str) -> Choice:
    if text.startswith(RULED_OUT):
        return Choice("", text.removeprefix(RULED_OUT), because)
    return Choice(*split_decision(text), because)


def from_archive(archive: Archive) -> Snapshot:
    """Read back what an archive passes on (4)."""
    front: dict[str, str] = {}
    for one in archive.unknown:
        if one.place == PLACE:
            name, _, value = one.text.partition(":")
            front[name.strip()] = read_scalar(value.strip()) or ""
    return Snapshot(
        at=archive.date,
        session=archive.session_id or "",
        trigger=archive.trigger or "manual",
        track=archive.track or "",
        branch=front.get("branch", ""),
        commit=front.get(_COMMIT, ""),
        goal=archive.summary,
        now=next(iter(archive.in_progress), ""),
        done=archive.completed,
        next=(*archive.in_progress[1:], *archive.next_steps),
        choices=tuple(_read_choice(one.decision, one.reasoning) for one in archive.decisions),
        questions=archive.questions,
        feedback=(archive.context,) if archive.context else (),
        test=front.get("test", ""),
        test_exit=_number(front.get("test_exit_code", "")),
        probes=tuple(
            Probe(one.file, one.note.removeprefix(_HASH) if one.note.startswith(_HASH) else "")
            for one in archive.modified
        ),
    )


def carry_on(snapshot: Snapshot) -> Sequence[Said]:
    """Say what the next session carries on: goal, now, next, decisions, constraints, questions."""
    said = [Said(FactKind.GOAL, snapshot.goal)] if snapshot.goal else []
    if snapshot.now:
        said.append(Said(FactKind.NOW, snapshot.now))
    if snapshot.next:
        said.append(Said(FactKind.NEXT, "\n".join(" ".join(text.split()) for text in snapshot.next)))
    for choice in snapshot.choices:
        if choice.key:
            said.append(Said(FactKind.DECISION, choice.text, choice.key, choice.because))
        else:
            said.append(Said(FactKind.CONSTRAINT, make_rule(choice.text, choice.because)))
    return [*said, *(Said(FactKind.QUESTION, text) for text in snapshot.questions)]


def find_drift(snapshot: Snapshot, here: Surroundings, commits: int | None, test_now: int | None) -> Drift:
    """Compare a snapshot with what is the case now; what it does not say cannot have changed."""
    age = here.at - snapshot.at if snapshot.at else None
    hashes = dict(here.probes)
    known = [probe for probe in snapshot.probes if probe.hash]
    differs = bool(snapshot.branch) and snapshot.branch != here.branch
    return Drift(
        age=age,
        is_old=snapshot.at is not None and is_older(snapshot.at, here.at, OLD_AFTER),
        branch=(snapshot.branch, here.branch) if differs else None,
        commits=commits,
        changed=tuple(one.path for one in known if hashes.get(one.path) not in {None, "", one.hash}),
        missing=tuple(one.path for one in known if not hashes.get(one.path)),
        test=snapshot.test,
        test_then=snapshot.test_exit,
        test_now=test_now,
    )
