"""Tell a host's session about messages, or brief it or a subagent."""

from typing import TYPE_CHECKING, Annotated

from passdown import layout
from passdown.actions.callers import Caller, ask_engine, find_hosted
from passdown.actions.sessions.starts import BeginRequest, HostStart, make_brief, read_copied, start_hosted
from passdown.core.sessions.session_facts import Account
from passdown.errors import CacheError, StorageError
from passdown.records import record
from passdown.services.handover.deliveries import (
    leave_mail_notice,
    send_brief,
    send_mail,
    take_notice,
)

if TYPE_CHECKING:
    from passdown.core.briefs.brief_input import TeamInput
    from passdown.core.briefs.budgets import Budget
    from passdown.ports.coordination import Coordination


@record
class PromptResult:
    """What the session is told with a prompt."""

    started: Annotated[
        HostStart | None, "The session, if the host had reported its end but continues it."
    ] = None
    mail: Annotated[str | None, "Messages; empty if none are left, None if the engine must be asked."] = ""
    brief: Annotated[str | None, "The brief again, shorter; None if it is not sent again."] = None


def answer_prompt(caller: Caller, request: BeginRequest) -> PromptResult:
    """Tell the session about its messages, or brief it again because the host cut the last brief.

    It is also briefed again after a compaction, in a host that neither calls us after one nor shows notices.
    """
    account = find_hosted(caller)
    is_mail = take_notice(caller.workspace, layout.session_file(caller.session))
    if account is None or request.budget is None:  # the host reported its end, but it continues
        return PromptResult(started=start_hosted(caller, request))
    team, trouble = _read_team(caller, account)
    if not is_mail:
        team = team or read_copied(caller, account)
        sent = send_brief(caller.workspace, account, request.budget, team=team)
        return PromptResult(brief=sent.text)
    if trouble:  # the next prompt asks again
        leave_mail_notice(caller.workspace, layout.session_file(caller.session))
        return PromptResult()
    if team is None:  # hooks do not ask this engine, but it has messages too
        return PromptResult(mail=None)
    return PromptResult(mail=send_mail(caller.workspace, account, request.budget, team))


def _read_team(caller: Caller, account: Account) -> "tuple[TeamInput | None, str]":
    """Return the team from the coordination engine, if hooks ask it, and what went wrong."""
    found: TeamInput | None = None

    def act(coordination: "Coordination") -> None:
        from passdown.services.coordination.membership import join_project  # few sessions coordinate
        from passdown.services.coordination.team_input import read_team

        nonlocal found
        join_project(caller.workspace, account, is_alone=True)  # shows that it is alive
        found = read_team(caller.workspace, account.session, coordination)

    trouble = ask_engine(caller, act)
    return found, trouble


@record
class SubagentStart:
    """What a subagent is told at its start."""

    rules: Annotated[str, "The rules for tasks; empty in a project without them."]
    brief: Annotated[str, "A short brief; empty without a session."]


def start_subagent(caller: Caller, budget: "Budget") -> SubagentStart:
    """Return the rules for tasks and a short brief for a subagent; its work belongs to its session."""
    from passdown.wiring.subagents import find_rules  # only subagents are told them

    return SubagentStart(brief=_brief_subagent(caller, budget), rules=find_rules(caller.workspace))


def _brief_subagent(caller: Caller, budget: "Budget") -> str:
    account = find_hosted(caller)
    if account is None:
        return ""
    try:
        return send_brief(caller.workspace, account, budget).text
    except CacheError:
        raise  # it is tried again without the cache
    except StorageError as trouble:  # that it was sent cannot be recorded
        caller.note_trouble(trouble.message)
        return make_brief(caller.without_cache(), budget)
