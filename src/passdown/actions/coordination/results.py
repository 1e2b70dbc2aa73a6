"""Apply each result of a subagent once; list, show and drop results."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, SECONDS, describe
from passdown.actions.callers import Caller, find_shown, need_session
from passdown.core.digests import sha256
from passdown.core.hosts.kept_results import KeptResult
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.work import results as services
from passdown.wiring.subagents import find_rules
from passdown.wiring.workspaces import read_named

INPUT: Final = "-"
"""The file name that stands for standard input."""


@record
class ApplyRequest:
    """The results to apply."""

    path: Annotated[str, "A file with a result, `-` for standard input; empty for the saved results."] = ""
    given: Annotated[bytes, "Standard input, if the path is `-`."] = b""
    names: Annotated[
        tuple[str, ...], "The ids of saved results; empty for all that are not applied yet."
    ] = ()


@record
class ListResultsRequest:
    """The results to list."""

    is_all: Annotated[bool, "Whether to include applied and dropped results."] = False


@record
class UpdateSummary:
    """A change that a result requests."""

    id: Annotated[str, "The task."]
    action: Annotated[str, "close or update."]
    reason: Annotated[str | None, "Why to close it."]
    notes: Annotated[str | None, "The note to add."]
    outcome: Annotated[str | None, "done, or why it failed; null if it was not tried."]


@record
class ResultSummary:
    """What a subagent returned, and what was done with it."""

    id: Annotated[str, "Its id."]
    state: Annotated[str, "Its state."]
    at: Annotated[datetime, "When it was saved.", SECONDS]
    subagent: Annotated[str | None, "The host's id for the subagent; null if it came from a file."]
    status: Annotated[str | None, "Whether the subagent succeeded; null if the result is malformed."]
    summary: Annotated[str | None, "What the subagent did, in its words."]
    updates: Annotated[tuple[UpdateSummary, ...], "The changes that it requests."]
    files: Annotated[tuple[str, ...], "The files that the subagent changed."]
    problems: Annotated[tuple[str, ...], "What could not be read."]
    kept: Annotated[KeptResult, "The result as the journal has it.", HIDDEN]


@record
class AppliedResults:
    """The outcome of applying results."""

    session: Annotated[str, "The session."]
    results: Annotated[tuple[ResultSummary, ...], "Each result as it is now."]
    applied: Annotated[Sequence[services.AppliedResult], "What was tried for each result.", HIDDEN]


@record
class ListedResults:
    """The results of a session's subagents."""

    results: Annotated[tuple[ResultSummary, ...], "The results, oldest first."]


@record
class ShownResult:
    """One result."""

    result: Annotated[ResultSummary, "The result."]


@record
class SubagentRules:
    """The rules for subagents."""

    rules: Annotated[str, "The rules."]


def apply(caller: Caller, request: ApplyRequest) -> AppliedResults:
    """Apply the result in a file, or those that were saved when subagents ended."""
    check = partial(_refuse_unknown, caller, request)
    account, workspace = need_session(caller, check), caller.workspace
    if request.path:
        chosen: Sequence[KeptResult] = [_take(caller, account, request)]
    else:
        known = services.list_results(workspace, account)
        chosen = [services.find_result(known, name) for name in request.names] or [
            one for one in known if one.is_open
        ]
    applied = [services.apply_result(workspace, account, one) for one in chosen]
    return AppliedResults(
        session=account.session, results=tuple(_summarize(one.kept) for one in applied), applied=applied
    )


def _refuse_unknown(caller: Caller, request: ApplyRequest) -> None:
    """Raise an error for a file that cannot be read, or for the name of a result: there are none yet."""
    if request.path and request.path != INPUT:
        read_named(request.path, str(caller.around.folder))
    for name in request.names:
        services.find_result((), name)


def _take(caller: Caller, account: Account, request: ApplyRequest) -> KeptResult:
    """Save the result in a file; other input makes it another command (C142)."""
    is_input = request.path == INPUT
    data = request.given if is_input else read_named(request.path, str(caller.around.folder))
    verb = caller.workspace.verb
    verb.call = verb.call._replace(input=sha256(data).hexdigest())
    kept = services.take_result(caller.workspace, account, data.decode("utf-8", "replace"))
    if kept is None:
        where = "the input" if is_input else request.path
        raise UsageError(
            f"there is no result in {where}", hint="run `passdown result rules` to see the format"
        )
    return kept


def list_known(caller: Caller, request: ListResultsRequest) -> ListedResults:
    """List the results that are not applied yet, or all; this starts no session."""
    found = [one for one in _list_results(caller) if request.is_all or one.is_open]
    return ListedResults(results=tuple(map(_summarize, found)))


def show(caller: Caller, name: str) -> ShownResult:
    """Show a result, by the start of its id."""
    return ShownResult(result=_summarize(services.find_result(_list_results(caller), name)))


def drop(caller: Caller, name: str) -> ShownResult:
    """Drop a result without applying it; changes that were already applied stay."""
    account, workspace = need_session(caller, partial(services.find_result, (), name)), caller.workspace
    found = services.find_result(services.list_results(workspace, account), name)
    return ShownResult(result=_summarize(services.drop_result(workspace, account, found)))


def read_rules(caller: Caller, _request: None = None) -> SubagentRules:
    """Return the rules for subagents."""
    return SubagentRules(rules=find_rules(caller.workspace, is_asked=True))


def _list_results(caller: Caller) -> Sequence[KeptResult]:
    account = find_shown(caller)
    return services.list_results(caller.workspace, account) if account else ()


def _summarize(kept: KeptResult) -> ResultSummary:
    told = kept.result
    updates = [
        describe(UpdateSummary, one, id=one.task, outcome=kept.outcomes.get(at))
        for at, one in enumerate(kept.updates)
    ]
    return describe(
        ResultSummary,
        kept,
        status=told.status if told else None,
        summary=told.summary if told else None,
        updates=tuple(updates),
        files=told.files if told else (),
        kept=kept,
    )
