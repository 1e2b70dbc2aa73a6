"""Start a session or continue the running one, with or without a brief."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from passdown import layout
from passdown.actions.answers import HIDDEN, INLINE, Form, NoticeKind
from passdown.actions.callers import Caller, find_hosted, name_session
from passdown.actions.sessions.sessions import (
    SessionSummary,
    commit_waiting,
    put_away_ended,
    refresh_stream,
    summarize,
    update_view,
)
from passdown.core.formats.ledgers import GENERIC, PLATFORMS
from passdown.core.sessions.session_facts import Account
from passdown.errors import CacheError, PassdownError, StorageError
from passdown.records import record, replace
from passdown.services.handover import briefs
from passdown.services.handover.banners import make_banner
from passdown.services.handover.deliveries import NONCE, drop_mail_notice, send_brief
from passdown.services.log.commit_marks import has_outdated_view, is_known_committed
from passdown.services.log.views import find_legacy
from passdown.services.sessions.foreign_documents import has_documents
from passdown.services.sessions.journals import read_open
from passdown.services.sessions.sessions import (
    RecoveredSession,
    StartedSession,
    StartRequest,
    start_session,
)
from passdown.wiring.projects import open_hosts
from passdown.wiring.workspaces import append_line, has_handoffs, list_logs, open_elsewhere, open_others

if TYPE_CHECKING:
    from passdown.core.briefs.brief_input import TeamInput
    from passdown.core.briefs.budgets import Budget
    from passdown.services.coordination.addressed_handoffs import HandoffNews
    from passdown.services.handover.deliveries import SentBrief
    from passdown.services.workspace.workspaces import Workspace


@record
class BeginRequest:
    """What a start should do."""

    start: Annotated[StartRequest, "The session to start or continue."]
    is_asked: Annotated[bool, "Whether a user asked for it; the environment then names the session."] = False
    budget: Annotated["Budget | None", "How long a brief may be; None for none."] = None
    has_history: Annotated[bool, "Whether the session still has its earlier conversation."] = False
    room: Annotated[int | None, "How many characters handoffs may take; None for any number."] = None
    environment_file: Annotated[
        str, "The file through which the host's shell gets the id; empty for none."
    ] = ""


def _list_ids(recovered: Sequence[RecoveredSession]) -> list[str]:
    return [one.account.session for one in recovered]


def _list_handoffs(news: "HandoffNews | None") -> list[object]:
    if news is None:
        return []
    from passdown.core.schemas import to_data  # few sessions are handed something

    return [to_data(one) for one in news.own]


@record
class JoinedTeam:
    """What a session learns when it joins the coordination."""

    account: Annotated[Account, "The session."]
    team: Annotated["TeamInput | None", "The team, from the engine or from the last answer of a server."] = (
        None
    )
    inherited: Annotated[Sequence[str], "What it takes over from a dead session."] = ()
    trouble: Annotated[str, "Why it does not coordinate."] = ""
    is_asked: Annotated[bool, "Whether the engine was asked; the last answer of a server may be old."] = False


@record
class StartResult:
    """A running session."""

    session: Annotated[SessionSummary, "The session.", INLINE]
    team: Annotated[str | None, "The team that it belongs to."]
    role: Annotated[str | None, "What it works on."]
    is_new: Annotated[bool, "Whether it was just started."]
    recovered: Annotated[
        tuple[RecoveredSession, ...], "Sessions that did not end, and were just ended.", Form(_list_ids)
    ]
    archived: Annotated[tuple[str, ...], "The records of ledgers that were archived."]
    others: Annotated[tuple[SessionSummary, ...], "The other running sessions."]
    commit: Annotated[str | None, "The commit of the records of ended sessions."]
    handoffs: Annotated["HandoffNews | None", "What others handed to it.", Form(_list_handoffs)]
    started: Annotated[StartedSession, "The result of the service.", HIDDEN]
    joined: Annotated[JoinedTeam, "What it learned from the other sessions.", HIDDEN]
    brief: Annotated["SentBrief | None", "The brief, if it was asked for.", HIDDEN]
    banner: Annotated[str, "The banner for the user: newest events, goal and current work.", HIDDEN]
    legacy: Annotated[str, "A document in the place of the view that we did not make.", HIDDEN]
    is_in_git: Annotated[bool, "Whether the checkout is a git repository.", HIDDEN]
    now: Annotated[datetime, "When it was answered.", HIDDEN]


def start(caller: Caller, request: BeginRequest) -> StartResult:
    """Start a session or continue the running one; recover sessions that did not end.

    Handoffs to it count as read once the answer was written. If a user asked for the start, the records of
    ended sessions are committed first; hooks do that after their answer.
    """
    workspace = caller.workspace
    asked = _find_asked(caller, request.start) if request.is_asked else request.start
    _finish_dead(workspace)
    started = _take_in(workspace, start_session(workspace, asked))
    others = open_others(workspace, caller.around.limits)
    news = _find_handoffs(caller, started.account, [workspace, *(there for there, _ in others)], request)
    if request.environment_file:
        # On failure, the host's own variable still identifies the session.
        with suppress(StorageError):
            append_line(request.environment_file, f"export PASSDOWN_SESSION={started.account.session}")
    if started.is_recorded:
        from passdown.services.project.metrics import find_start_metrics  # usually there is none

        workspace.record_metrics(find_start_metrics(workspace, started))
    told = {one.handoff.id for one in news.told if one.handoff.id} if news else set[str]()
    joined = _join(caller, started, told, request)
    sent, banner = _brief(caller, joined, others, request)
    update_view(caller)
    commit: str | None = None
    if request.is_asked:
        from passdown.services.sessions.pending_commits import AT_START  # hooks commit after their answer

        commit = commit_waiting(caller, AT_START)
    if asked.mode and started.account.start.mode != asked.mode:
        mode = started.account.start.mode
        caller.note(NoticeKind.MODE_KEPT, agent=started.account.agent, mode=mode)
    if news is not None:
        caller.after.append(lambda: _settle_handoffs(caller, joined.account, news))
    caller.after.append(lambda: put_away_ended(caller))
    return StartResult(
        session=summarize(started.account),
        team=started.account.start.team or None,
        role=started.account.start.role or None,
        is_new=started.is_new,
        recovered=started.recovered,
        archived=tuple(one.path for one in started.archived if one.path),
        others=tuple(map(summarize, started.others)),
        commit=commit,
        handoffs=news,
        started=started,
        joined=joined,
        brief=sent,
        banner=banner,
        legacy=find_legacy(workspace),
        is_in_git=workspace.repository.is_there(),
        now=workspace.now(),
    )


@record
class HostStart:
    """A session that a host started, or why it could not be recorded."""

    result: Annotated[StartResult | None, "The session; None if it could not be fully recorded."]
    brief: Annotated[str, "The brief in that case."] = ""
    trouble: Annotated[str, "Why it could not be recorded."] = ""


def start_hosted(caller: Caller, request: BeginRequest) -> HostStart:
    """Start or continue a host's session, and brief it even if nothing can be written."""
    try:
        return HostStart(result=start(caller, request))
    except CacheError:
        raise  # it is tried again without the cache
    except StorageError as trouble:
        caller.note_trouble(trouble.message)
        text = _brief_unrecorded(caller, request.budget) if request.budget else ""
        return HostStart(result=None, brief=text, trouble=trouble.message)


def _brief_unrecorded(caller: Caller, budget: "Budget") -> str:
    """Make a brief without writing anything except the cache, or not even that."""
    try:
        return make_brief(caller, budget)
    except CacheError:  # a full disk has no space for it either
        return make_brief(caller.without_cache(), budget)


def make_brief(caller: Caller, budget: "Budget") -> str:
    """Make a brief for a host's session without recording that it was sent."""
    workspace = caller.workspace
    nonce = workspace.entropy.token(NONCE).hex()
    others = open_elsewhere(workspace, caller.around.limits)
    return briefs.make_brief(workspace, find_hosted(caller), budget, nonce, others).text


def _find_asked(caller: Caller, asked: StartRequest) -> StartRequest:
    """Return the user's request, with the session that the environment names, if it fits."""
    host = open_hosts().find_caller(caller.around.variables)
    is_other = asked.is_new or asked.host_session or (host and asked.host not in {GENERIC, host.host})
    if not is_other:
        asked = name_session(caller, asked)
    if asked.host not in PLATFORMS:
        caller.note(NoticeKind.UNKNOWN_HOST, host=asked.host)
    return asked


def _finish_dead(workspace: "Workspace") -> None:
    """Finish interrupted commands of dead sessions; nearly always there are none (C142)."""
    if any(one.unfinished for one in read_open(workspace)):
        from passdown.services.coordination.finishing import finish_dead

        finish_dead(workspace)


def _take_in(workspace: "Workspace", started: StartedSession) -> StartedSession:
    """Read in the documents of other tools, if there are any (C147)."""
    if not has_documents(workspace):
        return started
    from passdown.services.handover.streams import import_documents  # most projects have none

    return replace(started, account=import_documents(workspace, started.account))


def _brief(
    caller: Caller, joined: JoinedTeam, others: "Sequence[tuple[Workspace, str]]", request: BeginRequest
) -> "tuple[SentBrief | None, str]":
    """Brief the session if requested; also return the banner for the user.

    The document of its track is updated after the answer (R76).
    """
    if request.budget is None:
        return None, ""
    caller.after.append(lambda: refresh_stream(caller, joined.account))
    sent = send_brief(
        caller.workspace,
        joined.account,
        request.budget,
        list_logs(others),
        team=joined.team,
        is_known=request.has_history,
    )
    return sent, make_banner(caller.workspace, sent.aim)


def follow_start(caller: Caller) -> str:
    """Commit the records of ended sessions, if the settings say so, after the host was answered.

    Returns why they were not committed, if the user should know.
    """
    workspace = caller.workspace
    wanted = workspace.settings.commit
    if not (wanted.session_end or wanted.start) or not workspace.repository.is_there():
        return ""
    if is_known_committed(workspace) and not has_outdated_view(workspace):
        return ""
    from passdown.services.sessions.pending_commits import AT_START, find_trouble
    from passdown.services.sessions.pending_commits import commit_waiting as commit_owed

    is_cached = caller.around.limits.is_cached
    return find_trouble(commit_owed(workspace, AT_START, with_view=is_cached, note=caller.note_trouble))


# --- handoffs -----------------------------------------------------------------------------------------


def _find_handoffs(
    caller: Caller, account: Account, checkouts: "Sequence[Workspace]", request: BeginRequest
) -> "HandoffNews | None":
    """Return the handoffs to a session; usually there are none, and nothing more is loaded."""
    workspace = caller.workspace
    # The join reports that the engine does not answer; the next start shows what is missing here.
    with suppress(PassdownError):
        places = [one for one in checkouts if has_handoffs(one)]
        if places or workspace.find_coordination() is not None:
            from passdown.services.coordination.addressed_handoffs import take_handoffs

            return take_handoffs(
                workspace,
                account,
                places,
                lambda metrics: caller.around.record_metrics(workspace.root, metrics),
                request.room,
            )
    return None


def _settle_handoffs(caller: Caller, account: Account, news: "HandoffNews") -> None:
    """Mark the shown handoffs as read; report what went wrong with them."""
    troubles = list(news.troubles)
    if news.told:
        from passdown.services.coordination.addressed_handoffs import settle_handoffs

        troubles += settle_handoffs(caller.workspace, account, news.told)
    for text in troubles:
        caller.note_trouble(text)


# --- coordination -------------------------------------------------------------------------------------


def _join(
    caller: Caller, started: StartedSession, told: Collection[str], request: BeginRequest
) -> JoinedTeam:
    """Join the coordination, if sessions coordinate here; otherwise nothing is opened.

    `told` are the ids of messages that the session is shown in another way.
    """
    workspace = caller.workspace
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return JoinedTeam(account=started.account, team=read_copied(caller, started.account))
        from passdown.services.coordination.session_membership import arrive  # few sessions coordinate

        arrival = arrive(workspace, started, coordination, told)
    except CacheError:
        raise  # it is tried again without the cache
    except PassdownError as found:  # the session has started
        return JoinedTeam(account=started.account, trouble=found.message)
    if request.budget:
        drop_mail_notice(workspace, layout.session_file(request.start.host_session))  # the brief shows it
    inherited = arrival.inherited.resources if arrival.inherited else ()
    names = [name for _, name in inherited]
    return JoinedTeam(account=arrival.account, team=arrival.team, inherited=names, is_asked=True)


def read_copied(caller: Caller, account: Account) -> "TeamInput | None":
    """Return the last answer of a server about the team: hooks do not ask it themselves (C77)."""
    if not caller.workspace.has_server:
        return None
    from passdown.services.coordination.team_input import read_copied_team  # few projects have a server

    try:
        return read_copied_team(caller.workspace, account)
    except StorageError as trouble:
        caller.note_trouble(trouble.message)
        return None
