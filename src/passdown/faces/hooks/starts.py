"""Hooks that send a brief: at the start of a session or subagent, and again if a brief was cut."""

import os
from contextlib import suppress
from typing import Final

from passdown.core.briefs.budgets import TOKENS, Budget
from passdown.core.hosts.hook_calls import FORK, HookReply
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.errors import CacheError, StorageError
from passdown.faces.hooks import hook_log
from passdown.faces.hooks.hook_context import HookContext
from passdown.faces.hooks.views import update_view
from passdown.records import replace
from passdown.services.handover.banners import make_banner
from passdown.services.handover.deliveries import NONCE, send_brief, take_notice
from passdown.services.log.commit_marks import is_known_committed
from passdown.services.log.legacy_view import find_legacy
from passdown.services.sessions.sessions import StartedSession, StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.workspaces import append_line, open_elsewhere, open_with_handoffs

CUT: Final = "Passdown: the host cut the brief; sending a shorter one"

UNRECORDED: Final = "Passdown cannot record this session, or not all of it"
"""What user and agent are told if the start of a session cannot be written."""

LEGACY: Final = "{path} was not made by Passdown; `passdown migrate` imports it"
"""What user and agent are told of a `current.md` from before Passdown (R139)."""

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


def _start(context: HookContext) -> HookReply:
    call = context.call
    request = StartRequest(host=context.host.name, host_session=call.session, is_fork=call.cause == FORK)
    started = start_session(context.workspace, request)
    handoffs = _tell_handoffs(context, started.account)
    _export(context, started.account)
    _record(context, started)
    sent = send_brief(
        context.workspace,
        started.account,
        _usual(context.host.budget),
        open_elsewhere(context.workspace, context.limits),
        is_known=call.cause == _RESUME,
    )
    update_view(context)
    notice = "\n".join([make_banner(context.workspace, sent.aim), *_name_dead(context, started)])
    if path := find_legacy(context.workspace):
        said = LEGACY.format(path=path)
        told = f"{sent.text}\n\n{said}. The brief shows what its known sections say.\n"
        return _joined(HookReply(context=told.lstrip(), notice=f"{notice}\n{said}"), handoffs)
    return _joined(HookReply(context=sent.text, notice=notice), handoffs)


def _tell_handoffs(context: HookContext, account: Account) -> HookReply:
    """Tell the session what others handed to it; usually there is nothing, and nothing more is loaded."""
    workspace = context.workspace
    try:
        checkouts = open_with_handoffs(workspace, context.limits)
        if not checkouts and workspace.find_coordination() is None:
            return HookReply()
        from passdown.faces.hooks.handoff_news import read_news

        room = max(_LEAST_ROOM, context.host.budget.characters - _BRIEF)
        report = read_news(workspace, account, checkouts, room)
    except StorageError as trouble:  # the next start tells it
        context.note(trouble.message)
        return HookReply()
    for text in report.troubles:
        context.note(text)
    return HookReply(context="\n".join(report.lines), notice="\n".join(report.notices))


def _joined(reply: HookReply, more: HookReply) -> HookReply:
    """Put what two replies say into one."""
    if not more.context:
        return reply
    context = "\n\n".join(filter(None, (reply.context.rstrip(), f"{more.context}\n")))
    return HookReply(context=context, notice="\n".join(filter(None, (reply.notice, more.notice))))


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
    if is_known_committed(workspace):
        return ""
    from passdown.services.sessions.owed_commits import AT_START, commit_waiting, find_trouble

    return find_trouble(commit_waiting(workspace, AT_START))


def prompt(context: HookContext) -> HookReply:
    """Brief the session again: the host cut the last brief, which the user is told.

    Or the model lost it in a compaction, in a host that does not call us after one and shows no notices.
    """
    account = context.find()
    take_notice(context.workspace, context.name)
    if account is None:  # the host reported its end, but it continues
        return start(context)
    sent = send_brief(context.workspace, account, _usual(context.host.budget))
    return HookReply(context=sent.text, notice=CUT)


def start_subagent(context: HookContext) -> HookReply:
    """Send a short brief to a subagent; its work belongs to its session."""
    account = context.find()
    if account is None:
        return HookReply()
    budget = context.host.budget.smaller()
    try:
        return HookReply(context=send_brief(context.workspace, account, budget).text)
    except CacheError:
        raise  # the caller goes on without the cache
    except StorageError as trouble:  # that it was sent cannot be recorded
        context.note(trouble.message)
        return HookReply(context=_make_brief(context, context.without_cache(), budget))
