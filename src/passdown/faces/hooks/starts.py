"""Hooks that send a brief: at the start of a session or subagent, and again if a brief was cut."""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.core.briefs.budgets import TOKENS, Budget
from passdown.core.hosts.hook_calls import FORK, GOES_ON, HookReply
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.errors import CacheError, StorageError
from passdown.faces.hooks import hook_log
from passdown.faces.hooks.handoff_search import find_news, settle_news
from passdown.faces.hooks.hook_context import HookContext
from passdown.faces.hooks.views import update_view
from passdown.records import replace
from passdown.services.handover.banners import make_banner
from passdown.services.handover.deliveries import (
    NONCE,
    drop_mail_notice,
    leave_mail_notice,
    send_brief,
    send_mail,
    take_notice,
)
from passdown.services.log.commit_marks import is_known_committed, owes_view
from passdown.services.log.legacy_view import find_legacy
from passdown.services.sessions.journals import read_open
from passdown.services.sessions.other_documents import has_documents
from passdown.services.sessions.sessions import StartedSession, StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.workspaces import append_line, has_handoffs, list_logs, open_elsewhere, open_others

if TYPE_CHECKING:
    from passdown.core.briefs.brief_input import TeamInput
    from passdown.faces.hooks.handoff_news import HandoffReport
    from passdown.ports.coordination import Coordination

CUT: Final = "Passdown: the host cut the brief; sending a shorter one"

MAIL: Final = "Passdown: there are messages of other sessions; `passdown inbox` prints them"

UNRECORDED: Final = "Passdown cannot record this session, or not all of it"
"""What user and agent are told if the start of a session cannot be written."""

LEGACY: Final = "{path} was not made by Passdown; `passdown migrate` imports it"
"""What user and agent are told of a `current.md` from before Passdown (R139)."""

AWAY: Final = "Passdown cannot coordinate with other sessions now: {trouble}"
"""What the user is told if the engine of coordination cannot be used (C86)."""

_RESUME: Final = "resume"
_BRIEF: Final = 3 * TOKENS
"""How many characters a brief may take."""
_LEAST_ROOM: Final = 1_000


def start(context: HookContext) -> HookReply:
    """Start or continue the session, and brief it, even if nothing can be written."""
    try:
        return _start(context)
    except CacheError:
        raise  # the caller goes on without the cache
    except StorageError as trouble:
        context.note(trouble.message)
        return _brief_unrecorded(context, trouble)


def _finish_dead(workspace: Workspace) -> None:
    """Finish what a command of a session that is gone began; nearly always there is none (C142)."""
    if any(one.unfinished for one in read_open(workspace)):
        from passdown.services.coordination.finishing import finish_dead

        finish_dead(workspace)


def _start(context: HookContext) -> HookReply:
    call = context.call
    request = StartRequest(
        host=context.host.name,
        host_session=call.session,
        is_fork=call.cause == FORK,
        goes_on=call.cause in GOES_ON,
    )
    _finish_dead(context.workspace)
    started = start_session(context.workspace, request)
    started = _take_in(context.workspace, started)
    others = open_others(context.workspace, context.limits)
    checkouts = [context.workspace, *(there for there, _ in others)]
    news = _find_handoffs(context, started.account, [one for one in checkouts if has_handoffs(one)])
    _export(context, started.account)
    _record(context, started)
    joined = _join(context, started, news.ids if news else ())
    context.defer(lambda: context.refresh_stream(joined.account))
    sent = send_brief(
        context.workspace,
        joined.account,
        _usual(context.host.budget),
        list_logs(others),
        team=joined.team,
        is_known=call.cause == _RESUME,
    )
    update_view(context)
    handoffs = _tell_handoffs(context, joined.account, news)
    notice = "\n".join(
        [make_banner(context.workspace, sent.aim), *_name_dead(context, started), *joined.notices]
    )
    if path := find_legacy(context.workspace):
        said = LEGACY.format(path=path)
        told = f"{sent.text}\n\n{said}. The brief shows what its known sections say.\n"
        return _joined(HookReply(context=told.lstrip(), notice=f"{notice}\n{said}"), handoffs)
    return _joined(HookReply(context=sent.text, notice=notice), handoffs)


def _take_in(workspace: Workspace, started: StartedSession) -> StartedSession:
    """Take in documents of others, if there are any (C147)."""
    if not has_documents(workspace):
        return started
    from passdown.services.handover.briefed_documents import take_in_documents  # most projects have none

    return replace(started, account=take_in_documents(workspace, started.account))


def _find_handoffs(
    context: HookContext, account: Account, checkouts: Sequence[Workspace]
) -> "HandoffReport | None":
    room = max(_LEAST_ROOM, context.host.budget.characters - _BRIEF)
    return find_news(context.workspace, account, checkouts, room)


def _tell_handoffs(context: HookContext, account: Account, news: "HandoffReport | None") -> HookReply:
    """Tell the session what others handed to it; it counts as read once the host was answered."""
    if news is None:
        return HookReply()

    def settle() -> None:
        for text in settle_news(context.workspace, account, news):
            context.note(text)

    for text in news.troubles:
        context.note(text)
    context.defer(settle)
    return HookReply(context="\n".join(news.lines), notice="\n".join(news.notices))


def _joined(reply: HookReply, more: HookReply) -> HookReply:
    """Put what two replies say into one."""
    if not more.context:
        return reply
    context = "\n\n".join(filter(None, (reply.context.rstrip(), f"{more.context}\n")))
    return HookReply(context=context, notice="\n".join(filter(None, (reply.notice, more.notice))))


class _JoinedSession(NamedTuple):
    """A session after its start, with what the engine of coordination says."""

    account: Account
    team: "TeamInput | None" = None
    notices: Sequence[str] = ()


def _join(context: HookContext, started: StartedSession, told: Collection[str]) -> _JoinedSession:
    """Let the session take part, if sessions coordinate here; nothing is opened otherwise.

    `told` are the ids of messages that it is told otherwise.
    """
    joined = _JoinedSession(started.account)

    def act(coordination: "Coordination") -> None:
        from passdown.services.coordination.arrivals import arrive, name_orphans  # few sessions coordinate

        nonlocal joined
        arrival = arrive(context.workspace, started, coordination, told)
        drop_mail_notice(context.workspace, context.name)  # the brief has it
        joined = _JoinedSession(arrival.account, arrival.team, name_orphans(arrival.team))

    trouble = context.ask_engine(act)
    if trouble:
        return joined._replace(notices=[AWAY.format(trouble=trouble)])
    return joined if joined.team else joined._replace(team=_read_copied(context, joined.account))


def _read_copied(context: HookContext, account: Account) -> "TeamInput | None":
    """Return what a server said last about the team: hooks do not ask it themselves (C77)."""
    if not context.workspace.has_server:
        return None
    from passdown.services.coordination.team_input import read_copied_team  # few projects have a server

    try:
        return read_copied_team(context.workspace, account)
    except StorageError as trouble:
        context.note(trouble.message)
        return None


def _brief_unrecorded(context: HookContext, trouble: StorageError) -> HookReply:
    """Brief a session that cannot be recorded, or not whole, and say so."""
    try:
        text = _make_brief(context, context.workspace, _usual(context.host.budget))
    except CacheError:  # a full disk has no space for it either
        text = _make_brief(context, context.without_cache(), _usual(context.host.budget))
    said = f"{UNRECORDED}: {trouble.message}"
    return HookReply(context=f"{text}\n\n{said}\n", notice=said)


def _make_brief(context: HookContext, workspace: Workspace, budget: Budget) -> str:
    """Make a brief without writing anything but the cache."""
    from passdown.services.handover.briefs import make_brief  # loaded with the brief

    nonce = workspace.entropy.token(NONCE).hex()
    return make_brief(
        workspace, context.find(), budget, nonce, open_elsewhere(workspace, context.limits)
    ).text


def _usual(budget: Budget) -> Budget:
    return replace(budget, tokens=min(budget.tokens, TOKENS))


def _name_dead(context: HookContext, started: StartedSession) -> list[str]:
    """Say from whom a new session takes over: one that gave no sign of life and did not end."""
    for one in started.recovered:
        account = one.account
        if started.takes_over(account):
            silent = context.workspace.now() - (account.touched_at or context.workspace.now())
            return [f"Took over from {account.agent}, last seen {age_words(silent)} ago"]
    return []


def _record(context: HookContext, started: StartedSession) -> None:
    """Record what is worth knowing about the start; usually there is nothing."""
    if started.is_recorded:
        from passdown.services.project.metrics import find_start_metrics

        hook_log.log_metrics(str(context.root), find_start_metrics(context.workspace, started))


def _export(context: HookContext, account: Account) -> None:
    """Export the session's id to the host's shell, if the host supports that (C51)."""
    path = os.environ.get(context.host.environment_file, "")
    if path:
        # On failure, the host's own variable still identifies the session.
        with suppress(StorageError):
            append_line(path, f"export PASSDOWN_SESSION={account.session}")


def commit_ended(context: HookContext) -> str:
    """Commit what ended sessions left, if the settings say so; return what the user should know."""
    workspace = context.workspace
    wanted = workspace.settings.commit
    if not (wanted.session_end or wanted.start) or not workspace.repository.is_there():
        return ""
    if is_known_committed(workspace) and not owes_view(workspace):
        return ""
    from passdown.services.sessions.owed_commits import AT_START, commit_waiting, find_trouble

    is_cached = context.limits.is_cached
    return find_trouble(commit_waiting(workspace, AT_START, with_view=is_cached, note=context.note))


def prompt(context: HookContext) -> HookReply:
    """Tell the session of its mail, or brief it again: the host cut the last brief, which the user is told.

    Or the model lost it in a compaction, in a host that does not call us after one and shows no notices.
    """
    account = context.find()
    is_mail = take_notice(context.workspace, context.name)
    if account is None:  # the host reported its end, but it continues
        return start(context)
    if is_mail:
        return _tell_mail(context, account)
    team, _ = _read_team(context, account)
    team = team or _read_copied(context, account)
    sent = send_brief(context.workspace, account, _usual(context.host.budget), team=team)
    return HookReply(context=sent.text, notice=CUT)


def _read_team(context: HookContext, account: Account) -> "tuple[TeamInput | None, str]":
    """Return what the engine of coordination says about a session, if hooks ask it, and what went wrong."""
    found: TeamInput | None = None

    def act(coordination: "Coordination") -> None:
        from passdown.services.coordination.membership import join_project  # few sessions coordinate
        from passdown.services.coordination.team_input import read_team

        nonlocal found
        join_project(context.workspace, account, is_alone=True)  # a sign of life
        found = read_team(context.workspace, account.session, coordination)

    trouble = context.ask_engine(act)
    return found, trouble


def _tell_mail(context: HookContext, account: Account) -> HookReply:
    """Tell what came since the last prompt (C90).

    If the engine does not answer, the next prompt asks it. An engine that hooks do not ask has the mail too.
    """
    team, trouble = _read_team(context, account)
    if trouble:
        leave_mail_notice(context.workspace, context.name)
        return HookReply()
    if team is None:
        return HookReply(context=MAIL, notice=MAIL)
    text = send_mail(context.workspace, account, _usual(context.host.budget), team)
    return HookReply(context=text, notice=MAIL if text else "")


def start_subagent(context: HookContext) -> HookReply:
    """Tell a subagent the rules for tasks, and send it a short brief; its work belongs to its session."""
    from passdown.wiring.subagents import find_rules  # only subagents are told them

    brief = _brief_subagent(context)
    return HookReply(context="\n".join(text for text in (find_rules(context.workspace), brief) if text))


def _brief_subagent(context: HookContext) -> str:
    account = context.find()
    if account is None:
        return ""
    budget = context.host.budget.smaller()
    try:
        return send_brief(context.workspace, account, budget).text
    except CacheError:
        raise  # the caller goes on without the cache
    except StorageError as trouble:  # that it was sent cannot be recorded
        context.note(trouble.message)
        return _make_brief(context, context.without_cache(), budget)
