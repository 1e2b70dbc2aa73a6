"""The handoff: what a session passes on, in one model that several documents show (C19).

1. It is made from an account, or from a ledger whose journal is missing; secrets are removed when it is made.
2. A stream document shows it in its Ledger section; nothing else in the document changes (R74).
3. An archive shows it as the record of the session (G2).
4. Read back from either, it holds what the next session carries on and what has changed since (G18).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.documents.fields import read_count
from passdown.core.documents.key_value import Pair
from passdown.core.documents.keys import PLACE
from passdown.core.documents.scalars import read_scalar, write_scalar
from passdown.core.facts import Fact, make_key
from passdown.core.formats.archives import LEDGER, Archive, ArchiveDecision, Artifact, archive_status
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.ledgers import Ledger
from passdown.core.formats.streams import (
    Checkpoint,
    Stream,
    Workflow,
    read_question,
    write_question,
)
from passdown.core.ids import slug
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState
from passdown.core.problems import Malformed, Unknown
from passdown.core.sessions.ledger_sync import RULED_OUT, NewFact, make_rule, split_decision
from passdown.core.sessions.progress import (
    ACTIVE,
    find_unconfirmed,
    is_derived,
    join_phases,
    phases_of,
    update_status,
    update_workflow,
)
from passdown.core.sessions.secrets import redact, redact_account, redact_all
from passdown.core.sessions.session_facts import Account, only_shared
from passdown.records import record, replace

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
_PHASE: Final = "Phase "


class HandoffDecision(NamedTuple):
    """A decision, or a constraint if it has no key."""

    key: str
    text: str
    because: str = ""


class FileHash(NamedTuple):
    """A file and the hash of its content; empty if it could not be read."""

    path: str
    hash: str = ""


@record
class CheckoutState:
    """The state of a checkout: when, where, and which files."""

    at: Annotated[datetime, "When it was examined."]
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit; empty if unknown."] = ""
    file_hashes: Annotated[tuple[FileHash, ...], "The changed files, with the hash of each."] = ()


@record
class Handoff:
    """What one session passes on."""

    at: Annotated[datetime | None, "When it was made."] = None
    session: Annotated[str, "The session."] = ""
    agent: Annotated[str, "The agent that ran the session."] = ""
    trigger: Annotated[str, "What caused it: manual, track-switch, …"] = "manual"
    started_at: Annotated[datetime | None, "When the session began."] = None
    track: Annotated[str, "The track it worked on."] = ""
    task: Annotated[str, "The task it had claimed."] = ""
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit."] = ""
    goal: Annotated[str, "What should be achieved."] = ""
    now: Annotated[str, "The present step."] = ""
    done: Annotated[tuple[str, ...], "Finished work."] = ()
    next: Annotated[tuple[str, ...], "The next steps, in order."] = ()
    choices: Annotated[tuple[HandoffDecision, ...], "Decisions and constraints."] = ()
    questions: Annotated[tuple[str, ...], "Open questions."] = ()
    answered: Annotated[tuple[str, ...], "Questions that are no longer open."] = ()
    blocked: Annotated[tuple[str, ...], "Tasks that were closed as blocked, each with what blocks it."] = ()
    unconfirmed: Annotated[tuple[str, ...], "What nobody has verified, as far as it was seen."] = ()
    left: Annotated[tuple[str, ...], "Past present steps, done or not."] = ()
    feedback: Annotated[tuple[str, ...], "What the user said."] = ()
    phases: Annotated[tuple[Phase, ...], "The state of each phase."] = ()
    test: Annotated[str, "The command that tests it."] = ""
    test_exit: Annotated[int | None, "The exit code of that command."] = None
    file_hashes: Annotated[tuple[FileHash, ...], "The changed files, with the hash of each."] = ()
    redacted: Annotated[tuple[str, ...], "The names of the rules that found the removed secrets."] = ()


def make_handoff(account: Account, checkout_state: CheckoutState, trigger: str) -> Handoff:
    """Make a handoff from an account, without its secrets (1)."""
    clean, found = redact_account(only_shared(account))
    (branch, *paths), more = redact_all(
        [checkout_state.branch, *(file_hash.path for file_hash in checkout_state.file_hashes)]
    )
    blocked, rest = redact_all([why for _, why in account.blocked])
    chosen = sorted((*clean.of(FactKind.DECISION), *clean.of(FactKind.CONSTRAINT)), key=lambda fact: fact.at)
    tests = clean.of(FactKind.TEST)
    return Handoff(
        at=checkout_state.at,
        session=clean.session,
        agent=clean.agent,
        trigger=trigger,
        started_at=clean.started_at,
        track=clean.track,
        task=clean.task,
        branch=branch or clean.branch,
        commit=checkout_state.commit,
        goal=clean.goal.text if clean.goal else "",
        now=clean.now.text if clean.now else "",
        done=_texts(clean, FactKind.DONE),
        next=_texts(clean, FactKind.NEXT),
        choices=tuple(map(_choice_of, chosen)),
        questions=_texts(clean, FactKind.QUESTION),
        answered=tuple(one.key for one in clean.of(FactKind.ANSWER)),
        feedback=_texts(clean, FactKind.FEEDBACK),
        blocked=tuple(blocked),
        unconfirmed=tuple(find_unconfirmed(clean)),
        left=tuple(redact_all(account.left)[0]),
        phases=tuple(phases_of(clean)),
        test=tests[-1].text if tests else "",
        test_exit=_number(tests[-1].key) if tests else None,
        file_hashes=tuple(
            FileHash(path, one.hash) for path, one in zip(paths, checkout_state.file_hashes, strict=True)
        ),
        redacted=tuple(dict.fromkeys((*found, *more, *rest))),
    )


def _choice_of(fact: Fact) -> HandoffDecision:
    if fact.kind == FactKind.DECISION:
        return HandoffDecision(fact.key, fact.text, fact.because)
    return HandoffDecision("", fact.text.removeprefix(RULED_OUT), fact.because)


def handoff_from_ledger(ledger: Ledger, at: datetime, trigger: str) -> Handoff:
    """Make a handoff from a ledger that another tool kept, without its secrets (1)."""
    said = [part for one in ledger.decisions for part in (one.decision, one.reasoning)]
    lists = (ledger.done, ledger.next, ledger.questions, ledger.modified)
    texts, found = redact_all([ledger.goal, ledger.now, *said, *(text for one in lists for text in one)])
    parts = iter(texts)
    goal, now = next(parts), next(parts)
    choices = tuple(_read_choice(next(parts), next(parts)) for _ in ledger.decisions)
    done, following, questions, modified = (tuple(next(parts) for _ in one) for one in lists)
    return Handoff(
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
        file_hashes=tuple(FileHash(path) for path in modified),
        redacted=found,
    )


def _texts(account: Account, kind: FactKind) -> tuple[str, ...]:
    return tuple(entry.text for entry in account.of(kind))


def _number(text: str) -> int | None:
    try:
        return read_count(text)
    except Malformed:
        return None


def to_stream(handoff: Handoff, name: str, known: Stream | None = None) -> Stream:
    """Write a handoff into a stream document, an existing or a new one (2).

    In an existing document, what the session does not know stays: decisions of others, unanswered questions,
    and everything outside the Ledger section.
    """
    stream = known or _new_stream(handoff, name)
    checkpoint = _to_checkpoint(handoff, stream.checkpoint or Checkpoint())
    now = "" if make_key(stream.now) in handoff.left else stream.now
    return replace(
        stream,
        status=update_status(handoff.trigger, stream.status),
        updated=handoff.at,
        goal=_line(handoff.goal) or stream.goal,
        ledger_branch=handoff.branch or stream.ledger_branch,
        test=_line(handoff.test) or stream.test,
        now=handoff.now or now,
        this_session=handoff.done or stream.this_session,
        next=handoff.next or stream.next,
        decisions=tuple(_join_pairs(stream.decisions, handoff.choices)),
        questions=tuple(read_question(text) for text in _join_questions(stream, handoff)),
        workflow=update_workflow(stream.workflow, checkpoint.phases, is_told=bool(handoff.phases)),
        checkpoint=checkpoint,
    )


def _line(text: str) -> str:
    return text.replace("\n", " ")


def _to_checkpoint(handoff: Handoff, known: Checkpoint) -> Checkpoint:
    return replace(
        known,
        agent=handoff.agent or known.agent,
        task=_line(handoff.task or handoff.goal) or known.task,
        started=known.started or handoff.started_at,
        last_updated=handoff.at,
        phases=join_phases(known.phases, handoff.phases),
        validation=_to_validation(handoff, known.validation or ValidationState()),
        resume=tuple(_resume_notes(handoff, known.resume)),
    )


def _new_stream(handoff: Handoff, name: str) -> Stream:
    """Make the minimal document (R83)."""
    resolved = [Pair(key="goal", value=_line(handoff.goal))] if handoff.goal else []
    return Stream(
        date=handoff.at,
        session_name=name,
        branch=handoff.branch or "unknown",
        status=ACTIVE,
        title=f"Work Stream: {name}",
        this_session=(STARTED,),
        next=(NO_STEP,),
        workflow=Workflow(phase=1, retries=0, max_retries=3),
        resolved=(*resolved, Pair(key="resource_allocation", value="balanced")),
        checkpoint=Checkpoint(phases=(Phase(phase=1, state=PhaseState.PENDING),)),
        context=CONTEXT,
    )


def _join_pairs(known: Iterable[Pair], choices: Iterable[HandoffDecision]) -> Iterator[Pair]:
    """Merge the session's choices into the existing ones; a constraint is identified by its text."""
    table = {_pair_key(pair): pair for pair in known}
    for choice in choices:
        text = f"{choice.text} ({choice.because})" if choice.because else choice.text
        pair = Pair(key=choice.key or RULED_OUT_KEY, value=_line(text))
        table[_pair_key(pair)] = pair
    return iter(table.values())


def _pair_key(pair: Pair) -> str:
    return make_key(f"{pair.key} {pair.value}" if pair.key == RULED_OUT_KEY else pair.key)


def _join_questions(stream: Stream, handoff: Handoff) -> Sequence[str]:
    known = [text for text in map(write_question, stream.questions) if not is_derived(text)]
    table = {make_key(text): text for text in (*known, *handoff.questions, *handoff.unconfirmed)}
    answered = set(map(make_key, handoff.answered))
    return [text for key, text in table.items() if key not in answered]


def _to_validation(handoff: Handoff, known: ValidationState) -> ValidationState:
    """Keep what a resumed session checks: files with their hashes, the commit, the test."""
    hashes = {
        file_hash.path: f"{_HASH}{file_hash.hash}" for file_hash in handoff.file_hashes if file_hash.hash
    }
    members = {
        **({_COMMIT: dump(handoff.commit)} if handoff.commit else {}),
        **({_HASHES: json.dumps(hashes, ensure_ascii=False)} if hashes else {}),
    }
    others = {name: text for name, text in known.others if name not in {_COMMIT, _HASHES}}
    return replace(
        known,
        files_modified=tuple(file_hash.path for file_hash in handoff.file_hashes) or known.files_modified,
        last_test_command=handoff.test or known.last_test_command,
        last_test_exit_code=handoff.test_exit if handoff.test else known.last_test_exit_code,
        others=tuple({**others, **members}.items()),
    )


def _resume_notes(handoff: Handoff, known: Iterable[Pair]) -> Iterator[Pair]:
    table = {pair.key: pair.value for pair in known}
    focus = table.get(_FOCUS, "")
    table[_FOCUS] = handoff.now or ("" if make_key(focus) in handoff.left else focus) or "(not started)"
    table[_ACTION] = next(iter(handoff.next), "") or table.get(_ACTION, "") or "Begin Phase 1"
    failed = [one for one in handoff.phases if one.state is PhaseState.FAILED]
    if failed or table.get(_BLOCKERS, "").startswith(_PHASE):
        table[_BLOCKERS] = "; ".join(map(_show_failure, failed)) or "(none)"
    table.setdefault(_BLOCKERS, "(none)")
    return (Pair(key=key, value=_line(value)) for key, value in table.items())


def _show_failure(phase: Phase) -> str:
    why = f": {phase.detail}" if phase.detail else ""
    return f"{_PHASE}{phase.phase} failed{why}"


def from_stream(stream: Stream) -> Handoff:
    """Read a handoff back from a stream document (4)."""
    checkpoint = stream.checkpoint or Checkpoint()
    validation = checkpoint.validation or ValidationState()
    others = dict(validation.others)
    hashes = _read_hashes(others.get(_HASHES, "{}"))
    commit: object = json.loads(others.get(_COMMIT, '""'))
    asked = [write_question(one) for one in stream.questions]
    choices = (
        HandoffDecision("", one.value)
        if one.key == RULED_OUT_KEY
        else HandoffDecision(one.key, one.value or one.key)
        for one in stream.decisions
    )
    return Handoff(
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
        questions=tuple(text for text in asked if not is_derived(text)),
        unconfirmed=tuple(text for text in asked if is_derived(text)),
        phases=checkpoint.phases,
        test=validation.last_test_command or stream.test,
        test_exit=validation.last_test_exit_code,
        file_hashes=tuple(FileHash(path, hashes.get(path, "")) for path in validation.files_modified),
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


def to_archive(handoff: Handoff, ledger: str = "") -> Archive:
    """Write a handoff as the archive of a session, optionally followed by its whole ledger (3)."""
    front = {
        "branch": handoff.branch,
        _COMMIT: handoff.commit,
        "test": _line(handoff.test),
        "test_exit_code": "" if handoff.test_exit is None else str(handoff.test_exit),
    }
    unknown = [
        Unknown(place=PLACE, text=f"{name}: {write_scalar(value)}") for name, value in front.items() if value
    ]
    if ledger:
        unknown.append(Unknown(place=LEDGER, text=redact(ledger).text.rstrip()))
    return Archive(
        date=handoff.at,
        session_id=handoff.session,
        trigger=handoff.trigger,
        status=archive_status(handoff.trigger),
        track=handoff.track or None,
        summary=handoff.goal,
        completed=handoff.done,
        in_progress=(handoff.now,) if handoff.now else (),
        blocked=handoff.blocked,
        next_steps=handoff.next,
        decisions=tuple(_show_choice(choice) for choice in handoff.choices),
        modified=tuple(
            Artifact(file=file_hash.path, note=f"{_HASH}{file_hash.hash}" if file_hash.hash else "")
            for file_hash in handoff.file_hashes
        ),
        context="\n".join(handoff.feedback),
        questions=handoff.questions,
        unknown=tuple(unknown),
    )


def _show_choice(choice: HandoffDecision) -> ArchiveDecision:
    text = _show_decision(choice) if choice.key else f"{RULED_OUT}{choice.text}"
    return ArchiveDecision(decision=text, reasoning=choice.because)


def _show_decision(choice: HandoffDecision) -> str:
    """Return a decision with its key, unless the key is made from its words."""
    return choice.text if choice.key == slug(choice.text) else f"{choice.key}: {choice.text}"


def _read_choice(text: str, because: str) -> HandoffDecision:
    if text.startswith(RULED_OUT):
        return HandoffDecision("", text.removeprefix(RULED_OUT), because)
    return HandoffDecision(*split_decision(text), because)


def from_archive(archive: Archive) -> Handoff:
    """Read a handoff back from an archive (4)."""
    front: dict[str, str] = {}
    for one in archive.unknown:
        if one.place == PLACE:
            name, _, value = one.text.partition(":")
            front[name.strip()] = read_scalar(value.strip()) or ""
    return Handoff(
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
        blocked=archive.blocked,
        feedback=(archive.context,) if archive.context else (),
        test=front.get("test", ""),
        test_exit=_number(front.get("test_exit_code", "")),
        file_hashes=tuple(
            FileHash(one.file, one.note.removeprefix(_HASH) if one.note.startswith(_HASH) else "")
            for one in archive.modified
        ),
    )


def facts_to_carry(handoff: Handoff) -> Sequence[NewFact]:
    """Return what the next session carries on: goal, now, next, decisions, constraints, questions."""
    new_facts = [NewFact(FactKind.GOAL, handoff.goal)] if handoff.goal else []
    if handoff.now:
        new_facts.append(NewFact(FactKind.NOW, handoff.now))
    if handoff.next:
        new_facts.append(NewFact(FactKind.NEXT, "\n".join(" ".join(text.split()) for text in handoff.next)))
    for choice in handoff.choices:
        if choice.key:
            new_facts.append(NewFact(FactKind.DECISION, choice.text, choice.key, choice.because))
        else:
            new_facts.append(NewFact(FactKind.CONSTRAINT, make_rule(choice.text, choice.because)))
    return [*new_facts, *(NewFact(FactKind.QUESTION, text) for text in handoff.questions)]
