"""Observe a session in its host's transcript and in git, and record what is new."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.hosts.observations import (
    REF,
    NewObservation,
    ObservationContext,
    cut_words,
    find_new_facts,
    from_root,
    refs_of,
)
from passdown.core.hosts.signals import Signal, find_signals
from passdown.core.hosts.transcripts import (
    MAX_TEXT,
    START,
    Observation,
    TranscriptMark,
    TranscriptReader,
    parse_mark,
    read_piece,
    render_mark,
    storable,
)
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.secrets import redact, redact_all
from passdown.core.sessions.session_facts import MARK, Account, fold_journal
from passdown.ports.transcripts import Transcripts
from passdown.records import record, replace
from passdown.services.sessions.journals import make_fact, read_account
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice

if TYPE_CHECKING:
    from passdown.core.work.observed_work import WorkNews

MOST_PARTS: Final = 1000
"""How many transcripts of subagents are read for one session."""


@record
class TranscriptSource:
    """A session's transcript: where it is, and how to read it."""

    path: Annotated[str, "Where the session's own transcript is."]
    reader: Annotated[TranscriptReader, "How the host writes."]
    transcripts: Annotated[Transcripts, "What reads it."]
    roots: Annotated[tuple[str, ...], "The project's root, by every path that leads to it."] = ()
    said: Annotated[
        str, "The agent's last message, if the host passed it; the transcript may not have it yet."
    ] = ""


@record
class ObservationResult:
    """The new observations."""

    kept: Annotated[LedgerUpdate, "The state of the ledger."]
    counts: Annotated[Counter[str], "How many facts of each kind were recorded."]
    failed: Annotated[int, "How many tests failed."]
    passed_over: Annotated[int, "How many lines could not be read."]
    signals: Annotated[tuple[Signal, ...], "Signs that the session degrades."] = ()
    commands: Annotated[tuple[str, ...], "The commands that were run since, in order."] = ()
    edited: Annotated[
        tuple[str, ...], "The files that were edited, relative to the root; known ones too."
    ] = ()
    work: Annotated["WorkNews | None", "Phases of the test-first cycle, and gates that became due."] = None


@record
class _Intake:
    """New observations in the transcripts, and the new reading positions."""

    seen: tuple[Observation, ...]
    marks: dict[str, TranscriptMark]
    passed_over: int
    words: str = ""


def observe(
    workspace: Workspace, account: Account, source: TranscriptSource | None, *, with_files: bool = True
) -> ObservationResult:
    """Record what a session did since the last time, and update its ledger.

    1. If two processes observe the same session at once, the second finds nothing new.
    2. Facts and the position in each transcript are written together. After an interruption, that part is
       read again and missing facts are added.
    3. Secrets are redacted before anything is written.
    4. Without a source, only git is asked; `with_files` includes changed files, for which git must be
       started.

    Raises a StorageError if a transcript cannot be read, or nothing could be written.
    """
    passed_over = 0
    signals: tuple[Signal, ...] = ()
    commands: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    work: WorkNews | None = None

    def make(seq: int) -> Sequence[JournalLine]:  # 1
        nonlocal passed_over, signals, commands, edited, work
        lines = workspace.journals.read(account.session)
        known = fold_journal(account.session, lines)
        intake = _read(source, known) if source else _Intake(seen=(), marks={}, passed_over=0)
        passed_over, refs = intake.passed_over, refs_of(lines)
        grounds = _grounds(workspace, known, source, with_files=with_files)
        grounds = replace(grounds, words=intake.words)
        told = find_new_facts(known, refs, intake.seen, grounds)
        ran = [one for one in intake.seen if one.kind is FactKind.COMMAND and one.ref not in refs]
        commands = tuple(one.text for one in ran)
        files = (from_root(one.text, grounds.roots) for one in intake.seen if one.kind is FactKind.FILE)
        edited = tuple(dict.fromkeys(filter(None, files)))
        signals = _find_signals(known, intake.seen, told)
        facts = [*_facts(workspace, known, told)]
        if known.track or known.task:
            new = [one for one in intake.seen if one.ref not in refs]
            work = _follow(workspace, known, new, grounds)
            facts += _work_facts(workspace, known, work)
        facts += _bookmarks(workspace, known, intake.marks)  # 2
        return [JournalLine(seq=seq + number, fact=fact) for number, fact in enumerate(facts)]

    facts = [line.fact for line in workspace.journals.extend(account.session, make)]
    return ObservationResult(
        kept=update_ledger(workspace, read_account(workspace, account.session)),
        counts=Counter(fact.kind for fact in facts if fact.kind != FactKind.BOOKMARK),
        failed=sum(fact.kind == FactKind.TEST and (fact.key or "0") != "0" for fact in facts),
        passed_over=passed_over,
        signals=signals,
        commands=commands,
        edited=edited,
        work=work,
    )


def observe_files(workspace: Workspace, account: Account) -> Account:
    """Record the files that changed according to git since a session began; return its account.

    Starts git. Raises a StorageError if nothing could be written.
    """
    on = replace(_grounds(workspace, account, None, with_files=True), commits=())

    def make(seq: int) -> Sequence[JournalLine]:
        known = fold_journal(account.session, workspace.journals.read(account.session))
        facts = _facts(workspace, known, find_new_facts(known, (), (), on))
        return [JournalLine(seq=seq + number, fact=fact) for number, fact in enumerate(facts)]

    workspace.journals.extend(account.session, make)
    return update_ledger(workspace, read_account(workspace, account.session)).account


def _follow(
    workspace: Workspace, known: Account, seen: Sequence[Observation], grounds: ObservationContext
) -> "WorkNews":
    """Find test-first phases and due gates in new observations of a session with a track or a task."""
    from passdown.core.work.observed_work import WorkContext, follow_work  # few sessions have either

    settings = workspace.settings
    commits = {fact.text for fact in known.of(FactKind.COMMIT)}
    named = [one.text for one in seen if one.kind is FactKind.COMMIT]
    on = WorkContext(
        now=workspace.now(),
        folders=(settings.paths.tracks, settings.paths.loops),
        follows_tdd=settings.tdd.default,
        commits=tuple(
            name
            for name in grounds.commits
            if name not in commits and not any(name.startswith(one) for one in named)
        ),
    )
    files = (
        one._replace(text=from_root(one.text, grounds.roots) or "") if one.kind is FactKind.FILE else one
        for one in seen
    )
    return follow_work(known, list(files), on)


def _work_facts(workspace: Workspace, known: Account, work: "WorkNews") -> Sequence[Fact]:
    """Return phases and due gates as facts, and notes for the task as wishes (C99)."""
    facts = [
        make_fact(workspace, known, one, Provenance.OBSERVED)
        for one in (*(change.fact for change in work.changes), *work.due)
    ]
    if work.changes and workspace.settings.tracker.kind is not TrackerChoice.NONE:
        from passdown.core.work.phase_notes import make_notes  # few turns have a phase

        facts += make_notes(known, work.changes, workspace.now(), workspace.entropy.token)
    return facts


def _find_signals(
    known: Account, seen: Sequence[Observation], told: Sequence[NewObservation]
) -> tuple[Signal, ...]:
    """Find signs of degradation in new observations, with secrets redacted (3)."""
    before = {entry.text: entry.key for entry in known.of(FactKind.TEST)}
    tests = [(one.said.text, one.said.key) for one in told if one.said.kind is FactKind.TEST]
    return tuple(one._replace(text=redact(one.text).text) for one in find_signals(seen, before, tests))


def _read(source: TranscriptSource, known: Account) -> _Intake:
    """Read the new parts of the session's transcript and those of its subagents."""
    seen: list[Observation] = []
    marks: dict[str, TranscriptMark] = {}
    passed_over, words = 0, ""
    paths = [source.path]
    for path in paths:
        name = source.reader.bookmark(path)
        before = parse_mark(known.bookmarks.get(name, ""))
        mark = before if before.offset <= source.transcripts.size(path) else START
        while data := source.transcripts.read(path, mark.offset):
            reading = read_piece(source.reader, data, mark)
            seen += reading.seen
            passed_over += reading.passed_over
            words = (reading.words or words) if path == source.path else words
            if reading.mark.offset == mark.offset:
                break
            mark = reading.mark
        if mark != before:
            marks[name] = mark
        found = source.transcripts.find(source.reader.parts(path, mark))
        paths += [one for one in found if one not in paths][: MOST_PARTS - len(paths)]
    words = storable(source.said)[:MAX_TEXT] or words
    return _Intake(seen=tuple(seen), marks=marks, passed_over=passed_over, words=words)


def _grounds(
    workspace: Workspace, known: Account, source: TranscriptSource | None, *, with_files: bool
) -> ObservationContext:
    """Ask git what was done since the session started; not for a session of another checkout."""
    paths = workspace.settings.paths
    is_here = known.start.checkout == workspace.root
    since = known.started_at
    history = workspace.history if is_here else None
    return ObservationContext(
        roots=(known.start.checkout, *(source.roots if source and is_here else ())),
        own=(
            *(paths.ledgers, paths.runtime, paths.archive, paths.handoffs),
            *(paths.events, paths.event_archive, paths.view),
        ),
        commits=tuple(history.commits_since(since, known.start.commit)) if history and since else (),
        files=tuple(history.files_since(since)) if history and since and with_files else (),
    )


def _facts(workspace: Workspace, known: Account, told: Sequence[NewObservation]) -> Sequence[Fact]:
    """Turn observations into facts with time and author, without secrets (3)."""
    texts, _ = redact_all([one.said.text for one in told])
    said = [one.said._replace(text=text) for one, text in zip(told, texts, strict=True)]
    facts: list[Fact] = []
    for one, new in zip(told, said, strict=True):
        # Redact before cutting: half a secret would not be recognized.
        is_words = new.kind is FactKind.WORDS
        cut = new._replace(text=cut_words(new.text)) if is_words else new
        fact = make_fact(workspace, known, cut, one.provenance)
        ref = ((REF, dump(one.ref)),) if one.ref else ()
        facts.append(fact._replace(others=(*fact.others, *ref)))
    return facts


def _bookmarks(workspace: Workspace, known: Account, marks: dict[str, TranscriptMark]) -> Sequence[Fact]:
    """Record how far each transcript is read; pending calls may contain secrets too (3)."""
    facts: list[Fact] = []
    for name, mark in marks.items():
        waiting = tuple(
            call._replace(texts=tuple(redact(text).text for text in call.texts)) for call in mark.waiting
        )
        fact = make_fact(workspace, known, NewFact(FactKind.BOOKMARK, name), Provenance.OBSERVED)
        facts.append(fact._replace(others=((MARK, render_mark(replace(mark, waiting=waiting))),)))
    return facts
