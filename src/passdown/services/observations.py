"""Take in what a host's transcript and git tell of a session, and write down what it did not know yet."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.accounts import MARK, Account, fold_journal
from passdown.core.bookkeeping import Said
from passdown.core.facts import Fact, FactKind, Provenance
from passdown.core.journal import JournalLine
from passdown.core.jsontext import dump
from passdown.core.observations import REF, Grounds, Told, refs_of, tell
from passdown.core.secrets import redact, redact_all
from passdown.core.transcripts import START, Mark, Observation, Tongue, parse_mark, read_piece, render_mark
from passdown.ports.transcripts import Transcripts
from passdown.ports.works import Works
from passdown.records import record, replace
from passdown.services.journals import Project, make_fact
from passdown.services.ledgers import Kept, keep_ledger

MOST_PARTS: Final = 1000
"""How many transcripts of subagents are read for one session."""


@record
class Source:
    """A session's transcript: where it is, and how its host writes."""

    path: Annotated[str, "Where the session's own transcript is."]
    tongue: Annotated[Tongue, "How the host writes."]
    transcripts: Annotated[Transcripts, "What reads it."]
    roots: Annotated[tuple[str, ...], "The project's root, by every path that leads there."] = ()


@record
class Observed:
    """What was new."""

    kept: Annotated[Kept, "How the ledger stands."]
    counts: Annotated[Counter[str], "How many facts of each kind were told."]
    failed: Annotated[int, "How many tests failed."]
    passed_over: Annotated[int, "How many lines could not be read."]


@record
class _Intake:
    """What transcripts tell beyond what was read before, and how far they are read now."""

    seen: tuple[Observation, ...]
    marks: dict[str, Mark]
    passed_over: int


def observe(
    project: Project, account: Account, source: Source | None, *, with_files: bool = True
) -> Observed:
    """Write down what a session was seen to do since the last time, and bring its ledger up to date.

    1. Of two who observe the same session at once, the second finds nothing new.
    2. Facts and how far the transcripts are read are written together. Cut off in between, the next time
       reads that part again, and tells what is missing.
    3. Secrets are redacted before anything is written.
    4. Without a source git alone is asked; `with_files` lets it name files too, for which git is started.

    Raises a StorageError when a transcript cannot be read, or nothing could be written.
    """
    passed_over = 0

    def make(seq: int) -> Sequence[JournalLine]:  # 1
        nonlocal passed_over
        lines = project.journals.read(account.session)
        known = fold_journal(account.session, lines)
        intake = _read(source, known) if source else _Intake(seen=(), marks={}, passed_over=0)
        passed_over = intake.passed_over
        told = tell(
            known, refs_of(lines), intake.seen, _grounds(project, known, source, with_files=with_files)
        )
        facts = [*_facts(project, known, told), *_bookmarks(project, known, intake.marks)]  # 2
        return [JournalLine(seq=seq + number, fact=fact) for number, fact in enumerate(facts)]

    facts = [line.fact for line in project.journals.extend(account.session, make)]
    return Observed(
        kept=keep_ledger(project, fold_journal(account.session, project.journals.read(account.session))),
        counts=Counter(fact.kind for fact in facts if fact.kind != FactKind.BOOKMARK),
        failed=sum(fact.kind == FactKind.TEST and (fact.key or "0") != "0" for fact in facts),
        passed_over=passed_over,
    )


def _read(source: Source, known: Account) -> _Intake:
    """Read the session's transcript and those of its subagents from where they were left."""
    seen: list[Observation] = []
    marks: dict[str, Mark] = {}
    passed_over = 0
    paths = [source.path]
    for path in paths:
        name = source.tongue.bookmark(path)
        before = parse_mark(known.bookmarks.get(name, ""))
        mark = before if before.offset <= source.transcripts.size(path) else START
        while data := source.transcripts.read(path, mark.offset):
            reading = read_piece(source.tongue, data, mark)
            seen += reading.seen
            passed_over += reading.passed_over
            if reading.mark.offset == mark.offset:
                break
            mark = reading.mark
        if mark != before:
            marks[name] = mark
        found = source.transcripts.find(source.tongue.parts(path, mark))
        paths += [one for one in found if one not in paths][: MOST_PARTS - len(paths)]
    return _Intake(seen=tuple(seen), marks=marks, passed_over=passed_over)


def _grounds(project: Project, known: Account, source: Source | None, *, with_files: bool) -> Grounds:
    """Ask git what was done since the session began; about another checkout it is asked there."""
    paths = project.checkout.settings.paths
    repository = project.checkout.repository
    is_here = known.start.checkout == project.root
    since = known.started_at
    works = repository if isinstance(repository, Works) and is_here else None
    return Grounds(
        roots=(known.start.checkout, *(source.roots if source and is_here else ())),
        own=(paths.ledgers, paths.runtime),
        commits=tuple(works.commits_since(since)) if works and since else (),
        files=tuple(works.files_since(since)) if works and since and with_files else (),
    )


def _facts(project: Project, known: Account, told: Sequence[Told]) -> Sequence[Fact]:
    """Stamp and sign what is told, without its secrets (3)."""
    texts, _ = redact_all([one.said.text for one in told])
    return [
        _with_ref(make_fact(project, known, one.said._replace(text=text), one.provenance), one.ref)
        for one, text in zip(told, texts, strict=True)
    ]


def _with_ref(fact: Fact, ref: str) -> Fact:
    return replace(fact, others=((REF, dump(ref)),)) if ref else fact


def _bookmarks(project: Project, known: Account, marks: dict[str, Mark]) -> Sequence[Fact]:
    """Write down how far each transcript is read; what waits in it may hold secrets too (3)."""
    facts: list[Fact] = []
    for name, mark in marks.items():
        waiting = tuple(
            call._replace(texts=tuple(redact(text).text for text in call.texts)) for call in mark.waiting
        )
        fact = make_fact(project, known, Said(FactKind.BOOKMARK, name), Provenance.OBSERVED)
        facts.append(replace(fact, others=((MARK, render_mark(replace(mark, waiting=waiting))),)))
    return facts
