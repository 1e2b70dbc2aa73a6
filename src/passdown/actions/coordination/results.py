"""Apply what subagents returned, once; list, show and drop it."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, SECONDS, describe
from passdown.actions.callers import Caller, find_ready, need_session
from passdown.core.hosts.kept_results import KeptResult
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.work import results as services
from passdown.wiring.subagents import find_rules
from passdown.wiring.workspaces import read_named

INPUT: Final = "-"
"""The name of a file that stands for the input."""


@record
class ApplyRequest:
    """The results to apply."""

    path: Annotated[str, "A file with a result, `-` for the input; empty for those that were kept."] = ""
    given: Annotated[bytes, "The input, if the path stands for it."] = b""
    names: Annotated[tuple[str, ...], "Which of those that were kept; empty for all that wait."] = ()


@record
class ListResultsRequest:
    """The results to list."""

    is_all: Annotated[bool, "Whether also those that were applied or dropped."] = False


@record
class UpdateSummary:
    """What a result asks for."""

    id: Annotated[str, "The task."]
    action: Annotated[str, "close or update."]
    reason: Annotated[str | None, "Why it is to be closed."]
    notes: Annotated[str | None, "What is to be added to its notes."]
    outcome: Annotated[str | None, "done, or why not; null if it was not tried."]


@record
class ResultSummary:
    """What a subagent returned, and what became of it."""

    id: Annotated[str, "Its id."]
    state: Annotated[str, "How it stands."]
    at: Annotated[datetime, "When it was taken.", SECONDS]
    subagent: Annotated[str | None, "The host's id for the subagent; null if a file told."]
    status: Annotated[str | None, "Whether the subagent succeeded; null if it cannot be read."]
    summary: Annotated[str | None, "What the subagent did, in its words."]
    updates: Annotated[tuple[UpdateSummary, ...], "What it asks for."]
    files: Annotated[tuple[str, ...], "The files that the subagent changed."]
    problems: Annotated[tuple[str, ...], "What could not be understood."]
    kept: Annotated[KeptResult, "The result as the journal has it.", HIDDEN]


@record
class AppliedResults:
    """What came of applying results."""

    session: Annotated[str, "The session."]
    results: Annotated[tuple[ResultSummary, ...], "How each of them stands now."]
    applied: Annotated[Sequence[services.AppliedResult], "What was tried of each of them.", HIDDEN]


@record
class ListedResults:
    """The results of a session's subagents."""

    results: Annotated[tuple[ResultSummary, ...], "The oldest first."]


@record
class ShownResult:
    """One result."""

    result: Annotated[ResultSummary, "The result."]


@record
class SubagentRules:
    """What a subagent is told at its start."""

    rules: Annotated[str, "The rules."]


def apply(caller: Caller, request: ApplyRequest) -> AppliedResults:
    """Do what results ask for: that of a file, or those that were kept when subagents ended."""
    account, workspace = need_session(caller), caller.workspace
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


def _take(caller: Caller, account: Account, request: ApplyRequest) -> KeptResult:
    """Keep the result of a file, which becomes a part of the command: with other input it is another one."""
    is_input = request.path == INPUT
    data = request.given if is_input else read_named(request.path, str(caller.around.folder))
    verb = caller.workspace.verb
    verb.call = verb.call._replace(input=sha256(data).hexdigest())
    kept = services.take_result(caller.workspace, account, data.decode("utf-8", "replace"))
    if kept is None:
        where = "the input" if is_input else request.path
        raise UsageError(f"there is no result in {where}", hint="`passdown result rules` shows its form")
    return kept


def list_known(caller: Caller, request: ListResultsRequest) -> ListedResults:
    """List the results that wait to be applied, or all; looking starts no session."""
    found = [one for one in _list_results(caller) if request.is_all or one.is_open]
    return ListedResults(results=tuple(map(_summarize, found)))


def show(caller: Caller, name: str) -> ShownResult:
    """Show a result, by the start of its id."""
    return ShownResult(result=_summarize(services.find_result(_list_results(caller), name)))


def drop(caller: Caller, name: str) -> ShownResult:
    """Decide that a result is not applied; what was applied of it stays."""
    account, workspace = need_session(caller), caller.workspace
    found = services.find_result(services.list_results(workspace, account), name)
    return ShownResult(result=_summarize(services.drop_result(workspace, account, found)))


def read_rules(caller: Caller, _request: None = None) -> SubagentRules:
    """Return the rules that a subagent is told at its start."""
    return SubagentRules(rules=find_rules(caller.workspace, is_asked=True))


def _list_results(caller: Caller) -> Sequence[KeptResult]:
    account = find_ready(caller)
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
