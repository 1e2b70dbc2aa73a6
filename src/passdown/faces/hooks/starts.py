"""Hooks that send a brief: at the start of a session or subagent, and again if a brief was cut."""

import os
from collections.abc import Iterator
from typing import Final

from passdown.actions.callers import ask
from passdown.actions.handover import prompts
from passdown.actions.sessions.starts import (
    BeginRequest,
    HostStart,
    JoinedTeam,
    StartResult,
    follow_start,
    start_hosted,
)
from passdown.core.briefs.budgets import TOKENS
from passdown.core.hosts.hook_calls import FORK, GOES_ON, HookReply
from passdown.core.times import age_words
from passdown.faces.hooks.main import HookContext
from passdown.records import replace
from passdown.services.sessions.sessions import StartRequest

CUT: Final = "Passdown: the host cut the brief; sending a shorter one"

MAIL: Final = "Passdown: you have messages from other sessions; read them with `passdown inbox`"

UNRECORDED: Final = "Passdown cannot fully record this session"
"""What user and agent are told if the start of a session cannot be written."""

LEGACY: Final = "{path} was not made by Passdown; run `passdown migrate` to import it"
"""What user and agent are told of a `current.md` from before Passdown (R139)."""

AWAY: Final = "Passdown cannot coordinate with other sessions now: {trouble}"
"""What the user is told if the coordination engine cannot be used (C86)."""

_RESUME: Final = "resume"
_BRIEF: Final = 3 * TOKENS
"""How many characters a brief may take."""
_LEAST_ROOM: Final = 1_000


def answer_start(context: HookContext) -> HookReply:
    """Start or continue the session, and brief it, even if nothing can be written."""
    return _tell_start(context, ask(start_hosted, context.caller, _make_request(context)).result)


def _make_request(context: HookContext) -> BeginRequest:
    call, host = context.call, context.host
    return BeginRequest(
        start=StartRequest(
            host=host.name,
            host_session=call.session,
            is_fork=call.cause == FORK,
            goes_on=call.cause in GOES_ON,
        ),
        budget=replace(host.budget, tokens=min(host.budget.tokens, TOKENS)),
        has_history=call.cause == _RESUME,
        room=max(_LEAST_ROOM, host.budget.characters - _BRIEF),
        environment_file=os.environ.get(host.environment_file, ""),
    )


def _tell_start(context: HookContext, found: HostStart) -> HookReply:
    if found.result is None:
        said = f"{UNRECORDED}: {found.trouble}"
        return HookReply(context=f"{found.brief}\n\n{said}\n", notice=said)
    result = found.result
    text = result.brief.text if result.brief else ""
    notice = "\n".join(_list_notices(context, result))
    if result.legacy:
        said = LEGACY.format(path=result.legacy)
        told = f"{text}\n\n{said}. The brief shows the sections of it that Passdown knows.\n"
        return _with_handoffs(HookReply(context=told.lstrip(), notice=f"{notice}\n{said}"), result)
    return _with_handoffs(HookReply(context=text, notice=notice), result)


def _list_notices(context: HookContext, found: StartResult) -> Iterator[str]:
    """Yield what the user is told: the banner, whose work the session continues, and what others left."""
    yield found.banner
    for one in found.started.recovered:
        if found.started.takes_over(one.account):
            silent = found.now - (one.account.touched_at or found.now)
            yield f"Continues the work of {one.account.agent}, last seen {age_words(silent)} ago"
            break
    yield from _list_team_notices(context, found.joined)


def _list_team_notices(context: HookContext, joined: JoinedTeam) -> Iterator[str]:
    if joined.trouble:
        context.caller.note_trouble(joined.trouble)
        yield AWAY.format(trouble=joined.trouble)
    elif joined.team is not None and joined.is_asked:
        from passdown.faces.start_news import name_orphans  # few sessions coordinate

        yield from name_orphans(joined.team)


def _with_handoffs(reply: HookReply, found: StartResult) -> HookReply:
    """Add what others handed to the session."""
    news = found.handoffs
    if news is None:
        return reply
    from passdown.faces.start_news import (
        handoff_news_lines,
        handoff_notices,
    )  # few sessions are handed something

    root = found.session.checkout
    told = "\n".join(handoff_news_lines(news, root, found.now))
    if not told:
        return reply
    notices = "\n".join(handoff_notices(news, root, found.now))
    context = "\n\n".join(filter(None, (reply.context.rstrip(), f"{told}\n")))
    return HookReply(context=context, notice="\n".join(filter(None, (reply.notice, notices))))


def follow_up(context: HookContext) -> str:
    """Commit what ended sessions left; return what prevented it, if anything."""
    return follow_start(context.caller)


def answer_prompt(context: HookContext) -> HookReply:
    """Tell the session about its messages, or brief it again and tell the user."""
    found = ask(prompts.answer_prompt, context.caller, _make_request(context)).result
    if found.started is not None:
        return _tell_start(context, found.started)
    if found.brief is not None:
        return HookReply(context=found.brief, notice=CUT)
    if found.mail is None:
        return HookReply(context=MAIL, notice=MAIL)
    return HookReply(context=found.mail, notice=MAIL if found.mail else "")


def answer_subagent(context: HookContext) -> HookReply:
    """Tell a subagent the rules for tasks, and send it a short brief."""
    found = ask(prompts.start_subagent, context.caller, context.host.budget.smaller()).result
    return HookReply(context="\n".join(text for text in (found.rules, found.brief) if text))
