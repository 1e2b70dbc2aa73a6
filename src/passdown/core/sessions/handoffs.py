"""The handoff: what a session passes on, as one model behind several documents (C19).

1. It is made from an account, or from a ledger without a journal; secrets are removed in the process.
2. A stream document has it in its Ledger section; see `core.sessions.handoff_streams`.
3. An archive has it as the record of the session (G2).
4. Read back from either, it has what the next session carries on, and what is needed to find changes (G18).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.fields import read_count
from passdown.core.documents.keys import PLACE
from passdown.core.documents.scalars import read_scalar, write_scalar
from passdown.core.formats.archives import LEDGER, Archive, ArchiveDecision, Artifact, archive_status
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.ledgers import Ledger
from passdown.core.json_text import dump, read_members, text_of
from passdown.core.kinds import CARRIED, FactKind
from passdown.core.problems import Malformed, Unknown
from passdown.core.sessions.ledger_sync import RULED_OUT, NewFact, make_rule, show_decision, split_decision
from passdown.core.sessions.progress import (
    count_retries,
    find_failure,
    find_unconfirmed,
    list_phase_tests,
    phases_of,
    read_counts,
)
from passdown.core.sessions.secrets import redact, redact_account, redact_all
from passdown.core.sessions.session_facts import Account, only_shared
from passdown.core.test_counts import CountedTests
from passdown.core.times import is_older
from passdown.records import record, replace

HASH: Final = "sha256:"
"""The prefix of a file hash."""

OLD_AFTER: Final = timedelta(hours=24)
"""The age after which a handoff may be out of date."""

_COMMIT: Final = "commit"
_HASHES: Final = "file_hashes"

Further = tuple[tuple[FactKind, tuple[str, ...]], ...]
"""Facts of the kinds that have no field in documents, by kind."""
Sections = tuple[tuple[str, tuple[str, ...]], ...]
"""The same facts, by the heading of their section."""


class HandoffDecision(NamedTuple):
    """A decision, or a constraint if it has no key."""

    key: str
    text: str
    because: str = ""


class FileHash(NamedTuple):
    """A file and the hash of its content; the hash is empty if the file could not be read."""

    path: str
    hash: str = ""


class FileChange(NamedTuple):
    """A file and how many lines the session added and removed, such as `+12 -3`."""

    path: str
    change: str


@record
class CheckoutState:
    """The state of a checkout: time, branch, commit and changed files."""

    at: Annotated[datetime, "When the state was read."]
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit; empty if unknown."] = ""
    file_hashes: Annotated[tuple[FileHash, ...], "The changed files, with their hashes."] = ()
    created: Annotated[tuple[str, ...], "The changed files that did not exist when the session started."] = ()
    changes: Annotated[tuple[FileChange, ...], "What changed in those files, if known."] = ()


@record
class Handoff:
    """What one session passes on."""

    at: Annotated[datetime | None, "When it was made."] = None
    session: Annotated[str, "The session."] = ""
    agent: Annotated[str, "The agent that ran the session."] = ""
    trigger: Annotated[str, "What triggered it: manual, track-switch, …"] = "manual"
    started_at: Annotated[datetime | None, "When the session began."] = None
    track: Annotated[str, "The track it worked on."] = ""
    task: Annotated[str, "The task it had claimed."] = ""
    branch: Annotated[str, "The branch."] = ""
    commit: Annotated[str, "The last commit."] = ""
    goal: Annotated[str, "What should be achieved."] = ""
    now: Annotated[str, "The current step."] = ""
    done: Annotated[tuple[str, ...], "Finished work."] = ()
    next: Annotated[tuple[str, ...], "The next steps, in order."] = ()
    choices: Annotated[tuple[HandoffDecision, ...], "Decisions and constraints."] = ()
    questions: Annotated[tuple[str, ...], "Open questions."] = ()
    answered: Annotated[tuple[str, ...], "Questions that are no longer open."] = ()
    blocked: Annotated[tuple[str, ...], "Tasks that were closed as blocked, each with its reason."] = ()
    unconfirmed: Annotated[tuple[str, ...], "What is known to be unverified."] = ()
    more: Annotated[Further, "Facts of further kinds."] = ()
    left: Annotated[tuple[str, ...], "Former current steps, done or not."] = ()
    feedback: Annotated[tuple[str, ...], "What the user said."] = ()
    phases: Annotated[tuple[Phase, ...], "The state of each phase."] = ()
    test: Annotated[str, "The last test command that was run."] = ""
    test_exit: Annotated[int | None, "The exit code of that command."] = None
    counted: Annotated[CountedTests | None, "How many of its tests pass, if known."] = None
    phase_tests: Annotated[tuple[tuple[int, str], ...], "The test of each validated phase."] = ()
    retries: Annotated[
        tuple[tuple[int, int], ...], "How often each phase failed since it was last validated."
    ] = ()
    failure: Annotated[str, "The last failure that was not fixed since."] = ""
    file_hashes: Annotated[tuple[FileHash, ...], "The changed files, with their hashes."] = ()
    created: Annotated[tuple[str, ...], "The changed files that did not exist when the session started."] = ()
    redacted: Annotated[tuple[str, ...], "The names of the rules that found the removed secrets."] = ()
    events: Annotated[tuple[str, ...], "The events that have its facts, if it does not repeat them."] = ()
    changes: Annotated[tuple[FileChange, ...], "What changed in those files, if known."] = ()


def make_handoff(account: Account, checkout_state: CheckoutState, trigger: str) -> Handoff:
    """Make a handoff from an account, without secrets (1)."""
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
        choices=tuple(
            HandoffDecision(fact.key, fact.text, fact.because)
            if fact.kind == FactKind.DECISION
            else HandoffDecision("", fact.text.removeprefix(RULED_OUT), fact.because)
            for fact in chosen
        ),
        questions=_texts(clean, FactKind.QUESTION),
        answered=tuple(one.key for one in clean.of(FactKind.ANSWER)),
        feedback=_texts(clean, FactKind.FEEDBACK),
        blocked=tuple(blocked),
        more=tuple((kind, _texts(clean, kind)) for kind in CARRIED),
        unconfirmed=tuple(find_unconfirmed(clean)),
        left=tuple(redact_all(account.left)[0]),
        phases=tuple(phases_of(clean)),
        test=tests[-1].text if tests else "",
        test_exit=_number(tests[-1].key) if tests else None,
        counted=read_counts(tests[-1]) if tests else None,
        phase_tests=tuple(list_phase_tests(clean).items()),
        retries=tuple(count_retries(clean).items()),
        failure=find_failure(clean),
        file_hashes=tuple(
            FileHash(path, one.hash) for path, one in zip(paths, checkout_state.file_hashes, strict=True)
        ),
        changes=tuple(one._replace(path=redact(one.path).text) for one in checkout_state.changes),
        created=tuple(redact_all(checkout_state.created)[0]),
        redacted=tuple(dict.fromkeys((*found, *more, *rest))),
    )


def handoff_from_ledger(ledger: Ledger, at: datetime, trigger: str) -> Handoff:
    """Make a handoff from another tool's ledger, without secrets (1)."""
    said = [part for one in ledger.decisions for part in (one.decision, one.reasoning)]
    further = (texts for _, texts in read_further(ledger.more))
    lists = (ledger.done, ledger.next, ledger.questions, ledger.modified, *further)
    texts, found = redact_all([ledger.goal, ledger.now, *said, *(text for one in lists for text in one)])
    parts = iter(texts)
    goal, now = next(parts), next(parts)
    choices = tuple(_read_choice(next(parts), next(parts)) for _ in ledger.decisions)
    done, following, questions, modified, *more = (tuple(next(parts) for _ in one) for one in lists)
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
        more=tuple(zip(CARRIED, more, strict=True)),
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


def to_archive(handoff: Handoff, ledger: str = "") -> Archive:
    """Convert a handoff to the archive of a session, optionally followed by its whole ledger (3)."""
    front = {
        "branch": handoff.branch,
        _COMMIT: handoff.commit,
        "test": handoff.test.replace("\n", " "),
        "test_exit_code": "" if handoff.test_exit is None else str(handoff.test_exit),
    }
    changes = dict(handoff.changes)
    unknown = [
        Unknown(place=PLACE, text=f"{name}: {write_scalar(value)}") for name, value in front.items() if value
    ]
    hashes = {one.path: f"{HASH}{one.hash}" for one in handoff.file_hashes if one.hash}
    if hashes and not handoff.events:  # nobody is meant to continue from the record of an ended session
        unknown.append(Unknown(place=PLACE, text=f"{_HASHES}: {dump(hashes)}"))
    if ledger:
        unknown.append(Unknown(place=LEDGER, text=redact(ledger).text.rstrip()))
    return Archive(
        date=handoff.at,
        session_id=handoff.session,
        trigger=handoff.trigger,
        status=archive_status(handoff.trigger),
        track=handoff.track or None,
        events=handoff.events,
        summary=handoff.goal,
        completed=handoff.done,
        in_progress=(handoff.now,) if handoff.now else (),
        blocked=handoff.blocked,
        next_steps=handoff.next,
        decisions=tuple(
            ArchiveDecision(
                decision=show_decision(one.key, one.text) if one.key else f"{RULED_OUT}{one.text}",
                reasoning=one.because,
            )
            for one in handoff.choices
        ),
        modified=tuple(
            Artifact(file=one.path, note=changes.get(one.path, ""))
            for one in handoff.file_hashes
            if one.path not in handoff.created
        ),
        created=tuple(
            Artifact(file=one.path, note=changes.get(one.path, ""))
            for one in handoff.file_hashes
            if one.path in handoff.created
        ),
        context="\n".join(handoff.feedback),
        questions=handoff.questions,
        further_facts=name_further(handoff.more),
        unknown=tuple(unknown),
    )


def _read_file(one: Artifact, hashes: Mapping[str, str]) -> FileHash:
    """Read a file with its hash, which older archives have in place of the change."""
    if one.note.startswith(HASH):
        return FileHash(one.file, one.note.removeprefix(HASH))
    return FileHash(one.file, hashes.get(one.file, ""))


def _read_hashes(text: str) -> Mapping[str, str]:
    """Read the hashes of files by their paths; none if the text has another form."""
    try:
        members = read_members(text)
        return {one.name: (text_of(one.value, one.name) or "").removeprefix(HASH) for one in members}
    except Malformed:
        return {}


def _read_choice(text: str, because: str) -> HandoffDecision:
    if text.startswith(RULED_OUT):
        return HandoffDecision("", text.removeprefix(RULED_OUT), because)
    return HandoffDecision(*split_decision(text), because)


def name_further(more: Further, above: str = "") -> Sections:
    """Return facts of further kinds by the heading of their section."""
    return tuple((f"{above}{kind.row.heading}", texts) for kind, texts in more if texts)


def read_further(sections: Sections, above: str = "") -> Further:
    """Read facts of further kinds back from their sections."""
    found = dict(sections)
    return tuple((kind, found.get(f"{above}{kind.row.heading}", ())) for kind in CARRIED)


def from_archive(archive: Archive) -> Handoff:
    """Read a handoff back from an archive (4)."""
    front: dict[str, str] = {}
    for one in archive.unknown:
        if one.place == PLACE:
            name, _, value = one.text.partition(":")
            front[name.strip()] = read_scalar(value.strip()) or ""
    hashes = _read_hashes(front.get(_HASHES, ""))
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
        more=read_further(archive.further_facts),
        feedback=(archive.context,) if archive.context else (),
        test=front.get("test", ""),
        test_exit=_number(front.get("test_exit_code", "")),
        file_hashes=tuple(_read_file(one, hashes) for one in (*archive.modified, *archive.created)),
        created=tuple(one.file for one in archive.created),
        events=archive.events,
        changes=tuple(
            FileChange(one.file, one.note)
            for one in (*archive.modified, *archive.created)
            if one.note and not one.note.startswith(HASH)
        ),
    )


def without_events(handoff: Handoff, events: tuple[str, ...]) -> Handoff:
    """Return the handoff of an ended session without what its events state."""
    return replace(
        handoff,
        events=events,
        branch="",
        now="",
        done=(),
        next=(),
        choices=(),
        questions=(),
        more=(),
        feedback=(),
    )


def facts_to_carry(handoff: Handoff) -> Sequence[NewFact]:
    """Return what the next session carries on: goal, now, next, and facts that hold until retracted."""
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
    new_facts += [NewFact(FactKind.QUESTION, text) for text in handoff.questions]
    return [*new_facts, *(NewFact(kind, text) for kind, texts in handoff.more for text in texts)]


# --- what has changed since ------------------------------------------------------------------------


@record
class HandoffDrift:
    """The differences from the state that a handoff describes."""

    age: Annotated[timedelta | None, "The age of the handoff."] = None
    is_old: Annotated[bool, "Whether it is older than 24 hours."] = False
    branch: Annotated[tuple[str, str] | None, "The branch then and now, if they differ."] = None
    commits: Annotated[int | None, "How many commits were made since; None if unknown."] = None
    changed: Annotated[tuple[str, ...], "Files whose content has changed."] = ()
    missing: Annotated[tuple[str, ...], "Files that are gone."] = ()
    test: Annotated[str, "The recorded test command."] = ""
    test_then: Annotated[int | None, "Its exit code then."] = None
    test_now: Annotated[int | None, "Its exit code now; None if it was not run."] = None

    @property
    def is_clean(self) -> bool:
        """Whether no change is known."""
        quiet = not (self.is_old or self.branch or self.commits or self.changed or self.missing)
        return quiet and (self.test_now is None or self.test_now == (self.test_then or 0))


def find_drift(
    handoff: Handoff, here: CheckoutState, commits: int | None, test_now: int | None
) -> HandoffDrift:
    """Compare a handoff with the current state; whatever it does not mention counts as unchanged."""
    age = here.at - handoff.at if handoff.at else None
    hashes = {one.path: one.hash for one in here.file_hashes}
    known = [file_hash for file_hash in handoff.file_hashes if file_hash.hash]
    differs = bool(handoff.branch) and handoff.branch != here.branch
    return HandoffDrift(
        age=age,
        is_old=handoff.at is not None and is_older(handoff.at, here.at, OLD_AFTER),
        branch=(handoff.branch, here.branch) if differs else None,
        commits=commits,
        changed=tuple(one.path for one in known if hashes.get(one.path) not in {None, "", one.hash}),
        missing=tuple(one.path for one in known if not hashes.get(one.path)),
        test=handoff.test,
        test_then=handoff.test_exit,
        test_now=test_now,
    )
