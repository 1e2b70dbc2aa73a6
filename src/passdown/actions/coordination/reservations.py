"""Reserve files, renew and release them, and take over what a dead session holds."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE
from passdown.actions.callers import Caller, need_author, need_person, need_session, refuse_without_holding
from passdown.actions.work.preflight import choose_session
from passdown.core.coordination.leases import Grant, Granted, Held, Lost
from passdown.core.coordination.path_words import find_held
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.coordination import path_words
from passdown.services.coordination import reservations as services
from passdown.services.coordination.claims import give_back_task

if TYPE_CHECKING:
    from passdown.core.sessions.session_facts import Account

_RELEASED: Final = "released"


@record
class ReserveRequest:
    """The files to reserve."""

    words: Annotated[tuple[str, ...], "Paths and patterns, as they were typed."]
    seconds: Annotated[float, "How many seconds they are held after the session goes silent."]
    is_everything: Annotated[bool, "Whether a pattern may match every file."] = False
    is_literal: Annotated[bool, "Whether each word is a name, whatever characters it has."] = False


@record
class HeldFilesRequest:
    """What the session holds: files that it has reserved, and for `release` its tasks, too."""

    words: Annotated[
        tuple[str, ...], "Paths, patterns and tasks, as they were typed; empty for all files."
    ] = ()
    is_literal: Annotated[bool, "Whether each word is a name, whatever characters it has."] = False


@record
class TakeoverRequest:
    """What to take over."""

    name: Annotated[str, "A task, or an agent for all that it holds."]
    is_forced: Annotated[bool, "Whether also from a session that is alive; only for people."] = False
    agent: Annotated[str, "The session that a person chose among several; empty if none."] = ""


@record
class UnderstoodPattern:
    """A pattern that a word was read as."""

    pattern: Annotated[str, "The pattern, from the root of the project."]
    files: Annotated[int | None, "How many tracked files it covers now; null if unknown."]
    is_bounded: Annotated[bool, "Whether there may be more."]


@record
class WordMeaning:
    """How a word was read."""

    word: Annotated[str, "The word as it was typed."]
    patterns: Annotated[tuple[UnderstoodPattern, ...], "The patterns."]


@record
class GrantedLeases:
    """Leases that the session holds now."""

    outcome: Annotated[str, "What was done."]
    grants: Annotated[tuple[Grant, ...], "The leases."]


@record
class ReservedFiles:
    """Files that were reserved."""

    granted: Annotated[GrantedLeases, "The reservations.", INLINE]
    understood: Annotated[tuple[WordMeaning, ...], "How each word was read."]
    covered: Annotated[Sequence[path_words.CoveredPattern], "How many files each covers.", HIDDEN]


@record
class ReleasedFiles:
    """Files that were released."""

    outcome: Annotated[str, "What was done."]
    resources: Annotated[tuple[str, ...], "The patterns."]


@record
class ReleasedHoldings:
    """Files that were released, and tasks that were given back."""

    files: Annotated[ReleasedFiles, "The files.", INLINE]
    tasks: Annotated[tuple[str, ...], "The tasks that others may claim now."]
    queued: Annotated[tuple[str, ...], "The tasks that the tracker is told of by a later command."]
    titles: Annotated[Mapping[str, str], "What the tasks are called.", HIDDEN]


@record
class RefusedLease:
    """A refusal; nothing was changed."""

    outcome: Annotated[str, "Whether it is held by another session, or lost."]
    refused: Annotated[Held | Lost, "Who holds it, or which lease was lost."]


def reserve(caller: Caller, request: ReserveRequest) -> ReservedFiles | RefusedLease:
    """Reserve all the named files, or none if another session holds one of them."""
    understood = _understand(caller, request.words, is_literal=request.is_literal)
    if not request.words:
        raise UsageError("name the files to reserve", hint="like `passdown reserve src/app.py docs/`")
    account = need_author(caller)
    wanted = path_words.keep_held(account.reservations, understood)
    asked = services.ReservationRequest(wanted, request.seconds, request.is_everything)
    outcome = services.reserve_files(caller.workspace, account, asked)
    if isinstance(outcome, Held):
        return _refuse(outcome)
    covered = path_words.count_files(caller.workspace, wanted)
    return ReservedFiles(
        granted=GrantedLeases(outcome="reserved", grants=outcome.grants),
        understood=_describe(understood, covered),
        covered=covered,
    )


def renew(caller: Caller, request: HeldFilesRequest) -> GrantedLeases | RefusedLease:
    """Renew the named reservations, or all."""
    understood = _understand(caller, request.words, is_literal=request.is_literal)
    account = need_author(caller, refuse_without_holding)
    named = path_words.choose_held(account.reservations, understood)
    return _grant(services.renew_reservations(caller.workspace, account, named), "renewed")


def release(caller: Caller, request: HeldFilesRequest) -> ReleasedFiles | ReleasedHoldings | RefusedLease:
    """Release the named reservations and give back the named tasks; without words, release all files."""
    account = need_author(caller, refuse_without_holding)
    tasks = _find_tasks(caller, account, request)
    words = tuple(word for word in request.words if word not in tasks)
    files = ReleasedFiles(outcome=_RELEASED, resources=())
    if words or not tasks:
        understood = _understand(caller, words, is_literal=request.is_literal)
        named = path_words.choose_held(account.reservations, understood)
        outcome = services.release_files(caller.workspace, account, named)
        if isinstance(outcome, Lost):
            return _refuse(outcome)
        files = ReleasedFiles(outcome=_RELEASED, resources=tuple(one.name for one in outcome.resources))
    return _give_back(caller, account, tasks, files) if tasks else files


def _find_tasks(caller: Caller, account: "Account", request: HeldFilesRequest) -> Sequence[str]:
    """Return the words that are tasks of the session; one that is a reservation of it, too, is a path."""
    words = () if request.is_literal else tuple(dict.fromkeys(request.words))
    named = [word for word in words if word in account.claims]
    understood = _understand(caller, tuple(named), is_literal=False)
    held = account.reservations
    return [one.word for one in understood if not find_held((*one.patterns, *one.other), held)]


def _give_back(
    caller: Caller, account: "Account", tasks: Sequence[str], files: ReleasedFiles
) -> ReleasedHoldings | RefusedLease:
    """Let others claim tasks; their files stay reserved."""
    titles: dict[str, str] = {}
    for task in tasks:
        found = give_back_task(caller.workspace, account, task)
        if isinstance(found, Lost):
            return _refuse(found)
        if found is not None:
            titles[task] = found.task.title
    queued = tuple(task for task in tasks if task not in titles)
    return ReleasedHoldings(files=files, tasks=tuple(titles), queued=queued, titles=titles)


def take_over(caller: Caller, request: TakeoverRequest) -> GrantedLeases | RefusedLease:
    """Take a task, or all that an agent holds, from a session that is dead."""
    if request.is_forced:
        hint = "ask its agent: `passdown msg`"
        need_person(caller, "take over from a session that is alive", hint=hint)
    chosen = choose_session(caller, request.agent)
    account = need_session(chosen, partial(services.need_held, caller.workspace, request.name))
    outcome = services.take_over(caller.workspace, account, request.name, force=request.is_forced)
    return _grant(outcome, "taken over")


def _understand(
    caller: Caller, words: tuple[str, ...], *, is_literal: bool
) -> Sequence[path_words.UnderstoodWord]:
    given = path_words.PathWords(words, caller.around.folder.as_posix(), is_literal)
    return path_words.understand_words(caller.workspace, given)


def _describe(
    understood: Sequence[path_words.UnderstoodWord], covered: Sequence[path_words.CoveredPattern]
) -> tuple[WordMeaning, ...]:
    counts = {one.pattern.rstrip("/"): one.coverage for one in covered}

    def describe(text: str) -> UnderstoodPattern:
        known = counts.get(text.rstrip("/"))
        return UnderstoodPattern(
            pattern=text, files=known.files if known else None, is_bounded=bool(known and known.is_bounded)
        )

    return tuple(
        WordMeaning(word=one.word, patterns=tuple(describe(text) for text in one.patterns))
        for one in understood
    )


def _grant(outcome: Granted | Held | Lost, word: str) -> GrantedLeases | RefusedLease:
    return (
        GrantedLeases(outcome=word, grants=outcome.grants)
        if isinstance(outcome, Granted)
        else _refuse(outcome)
    )


def _refuse(refused: Held | Lost) -> RefusedLease:
    return RefusedLease(outcome="held" if isinstance(refused, Held) else "lost", refused=refused)
