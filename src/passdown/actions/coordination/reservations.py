"""Reserve files, renew and release them, and take over what a dead session holds."""

from collections.abc import Sequence
from typing import Annotated

from passdown.actions.answers import HIDDEN, INLINE
from passdown.actions.callers import Caller, need_person, need_session
from passdown.actions.work.preflight import choose_session
from passdown.core.coordination.leases import Grant, Granted, Held, Lost, Released
from passdown.records import record
from passdown.services.coordination import path_words
from passdown.services.coordination import reservations as services


@record
class ReserveRequest:
    """The files to reserve."""

    words: Annotated[tuple[str, ...], "Paths and patterns, as they were typed."]
    seconds: Annotated[float, "How many seconds they are held after the session goes silent."]
    is_everything: Annotated[bool, "Whether a pattern may match every file."] = False
    is_literal: Annotated[bool, "Whether each word is a name, whatever characters it has."] = False


@record
class HeldFilesRequest:
    """Files that the session has reserved."""

    words: Annotated[tuple[str, ...], "Paths and patterns, as they were typed; empty for all."] = ()
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
class RefusedLease:
    """A refusal; nothing was changed."""

    outcome: Annotated[str, "Whether it is held by another session, or lost."]
    refused: Annotated[Held | Lost, "Who holds it, or which lease was lost."]


def reserve(caller: Caller, request: ReserveRequest) -> ReservedFiles | RefusedLease:
    """Reserve all the named files, or none if another session holds one of them."""
    understood = _understand(caller, request.words, is_literal=request.is_literal)
    account = need_session(caller)
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
    account = need_session(caller)
    named = path_words.choose_held(account.reservations, understood)
    return _grant(services.renew_reservations(caller.workspace, account, named), "renewed")


def release(caller: Caller, request: HeldFilesRequest) -> ReleasedFiles | RefusedLease:
    """Release the named reservations, or all."""
    understood = _understand(caller, request.words, is_literal=request.is_literal)
    account = need_session(caller)
    named = path_words.choose_held(account.reservations, understood)
    outcome = services.release_files(caller.workspace, account, named)
    if isinstance(outcome, Released):
        return ReleasedFiles(outcome="released", resources=tuple(one.name for one in outcome.resources))
    return _refuse(outcome)


def take_over(caller: Caller, request: TakeoverRequest) -> GrantedLeases | RefusedLease:
    """Take a task, or all that an agent holds, from a session that is dead."""
    if request.is_forced:
        hint = "ask its agent: `passdown msg`"
        need_person(caller, "take over from a session that is alive", hint=hint)
    account = need_session(choose_session(caller, request.agent))
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
