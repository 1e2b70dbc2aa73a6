"""The caller of an action: the workspace, and what the face knows about who calls and where (C157).

Actions do not read the environment, the terminal or the current folder; here they find or start the caller's
session.
"""

from __future__ import annotations  # compiled types would take a tenth of the time to load a verb

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from passdown.actions.answers import Answered, Notice, NoticeKind
from passdown.errors import CacheError, PassdownError, SeveralSessionsError, UsageError
from passdown.records import field, record, replace
from passdown.services.workspace.workspaces import NO_LIMITS, ReadLimits, Workspace
from passdown.settings import Settings
from passdown.wiring.projects import find_root, list_ancestors, open_hosts, read_settings
from passdown.wiring.workspaces import Outside, open_workspace

if TYPE_CHECKING:
    from passdown.core.hosts.persons import CommandCaller
    from passdown.core.project.metrics import Metric
    from passdown.core.sessions.session_facts import Account
    from passdown.ports.coordination import Coordination
    from passdown.ports.host import Host
    from passdown.services.sessions.ledgers import LedgerUpdate
    from passdown.services.sessions.sessions import StartRequest
    from passdown.services.workspace.verbs import VerbRun

NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})

Request = TypeVar("Request")
Result = TypeVar("Result")


def _ignore(*_: object) -> None:
    """Do nothing: the face is not interested."""


@record
class CallEnvironment:
    """Where a face was called, and what it can do for an action."""

    folder: Annotated[Path, "The folder that the caller is in."]
    program: Annotated[str, "How this program was called."] = ""
    variables: Annotated[Mapping[str, str], "The environment of the caller."] = NO_VARIABLES
    has_terminal: Annotated[
        Callable[[], bool], "Returns whether a person sees the output and can answer."
    ] = lambda: False
    limits: Annotated[ReadLimits, "How much work the caller may wait for."] = NO_LIMITS
    report: Annotated[Callable[[str], None], "Reports at once what the caller waits for."] = _ignore
    progress: Annotated[Callable[[int, int], None], "Receives how many of how many files were read."] = (
        _ignore
    )
    record_metrics: Annotated[
        Callable[[str, Iterable[Metric]], bool], "Records metrics; returns whether that worked."
    ] = lambda _root, _metrics: False


@record(frozen=False)
class Caller:
    """The caller of one action."""

    workspace: Annotated[Workspace, "The checkout that the action works on."]
    reopen: Annotated[Callable[[ReadLimits], Workspace], "Opens the same checkout with other limits."]
    around: Annotated[CallEnvironment, "Where the face was called."]
    session: Annotated[str, "The session that the caller named; empty if none."] = ""
    is_typed: Annotated[
        bool, "Whether a person or agent typed the command, so that the same words repeat it (C142)."
    ] = False
    notices: Annotated[list[Notice], "Notices for the caller."] = field(default_factory=list[Notice])
    after: Annotated[list[Callable[[], None]], "What runs once the answer was written."] = field(
        default_factory=list[Callable[[], None]]
    )

    def note(self, kind: NoticeKind, hint: str = "", **values: object) -> None:
        """Add a notice for the caller."""
        self.notices.append(Notice(kind, values, hint))

    def warn(self, text: str, hint: str = "") -> None:
        """Add a warning from a service."""
        self.note(NoticeKind.WARNING, hint, text=text)

    def note_trouble(self, text: str) -> None:
        """Add a notice about something that went wrong; a hook only logs it."""
        self.note(NoticeKind.TROUBLE, text=text)

    def outside(self, root: str) -> Outside:
        """Return the environment of the caller for the workspace of another root."""
        around = self.around
        return Outside(
            variables=around.variables,
            warn=self.warn,
            report=around.report,
            record_metrics=partial(around.record_metrics, root),
        )

    def without_cache(self) -> Caller:
        """Return the same caller with a workspace that does not use its cache."""
        limits = self.around.limits._replace(is_cached=False)
        self.workspace.close()
        workspace = self.reopen(limits)
        self.workspace.on_close(workspace.close)
        return replace(self, workspace=workspace, around=replace(self.around, limits=limits))

    def open_other(self, root: Path, settings: Settings, outside: Outside, limits: ReadLimits) -> Workspace:
        """Open another checkout; it is closed together with that of the caller."""
        workspace = open_workspace(root, settings, outside, limits)
        self.workspace.on_close(workspace.close)
        return workspace

    def close(self) -> None:
        """Close what was opened for the caller."""
        self.workspace.close()


def open_caller(
    around: CallEnvironment, session: str = "", verb: VerbRun | None = None, root: Path | None = None
) -> Caller:
    """Open the project of the caller's folder; warnings about its settings are the first notices.

    `verb` is the command as it was typed, if it changes what sessions share.
    """
    root = root or find_root(around.folder)
    settings, warnings = read_settings(root, around.variables)
    notices = [Notice(NoticeKind.WARNING, {"text": text}) for text in warnings]

    def warn(text: str) -> None:
        notices.append(Notice(NoticeKind.WARNING, {"text": text}))

    outside = Outside(
        variables=around.variables,
        warn=warn,
        report=around.report,
        record_metrics=partial(around.record_metrics, str(root)),
        verb=verb,
    )
    open_with = partial(open_workspace, root, settings, outside)
    return Caller(
        workspace=open_with(around.limits),
        reopen=open_with,
        around=around,
        session=session,
        is_typed=verb is not None,
        notices=notices,
    )


def open_bare(around: CallEnvironment) -> Caller:
    """Open the project of the caller's folder with the usual settings, for an action that reads them itself.

    Some actions work where there is no project yet, or its settings cannot be read.
    """
    root = find_root(around.folder)
    open_with = partial(open_workspace, root, Settings(), Outside(variables=around.variables))
    return Caller(workspace=open_with(around.limits), reopen=open_with, around=around)


def ask(action: Callable[[Caller, Request], Result], caller: Caller, request: Request) -> Answered[Result]:
    """Call an action; if the cache fails, call it again without the cache.

    Notices and follow-ups of the first try are dropped. So an action reads everything that needs the cache
    before it changes something, or it changes only what may be changed twice.
    """
    caller.workspace.begin()
    known = len(caller.notices)
    try:
        result = action(caller, request)
    except CacheError as found:
        del caller.notices[known:]
        caller.after.clear()
        caller.note(NoticeKind.NO_CACHE, reason=found.message)
        uncached = caller.without_cache()
        caller.workspace, caller.around = uncached.workspace, uncached.around
        result = action(caller, request)
    if caller.is_typed:
        from passdown.services.operations.operations import note_answered  # few actions change shared state

        caller.after.append(partial(note_answered, caller.workspace))
    return Answered(result, caller.notices, caller.after, caller.close)


def find_host(name: str, payload: Mapping[str, object], variables: Mapping[str, str]) -> Host:
    """Find the host that was named, or guess it from its payload and from the environment."""
    hosts = open_hosts()
    return hosts.find(name) if name else hosts.guess(payload, variables)


# --- the session of the caller --------------------------------------------------------------------


def find_running(caller: Caller) -> Account | None:
    """Find the session that the caller means; return None if none is running.

    If the host's own session is not known yet, for example because its hooks are not trusted yet, no other
    session is returned instead. The same holds for an unknown session that the environment names. This is the
    session whose work a command is about; `find_speaker` finds the one that says something.
    """
    from passdown.services.sessions.liveness import find_named_session  # not all actions need a session

    workspace, variables = caller.workspace, caller.around.variables
    if caller.session:
        from passdown.services.sessions.session_names import find_by_name  # most calls name none

        return find_by_name(workspace, caller.session)
    hosts = open_hosts()
    if told := find_named_session(workspace, hosts.session_ids(variables)):
        return told
    has_own = hosts.find_caller(variables) is not None or bool(find_new_id(caller))
    return None if has_own else _find_here(caller)


def _find_here(caller: Caller) -> Account | None:
    """Return the session here that a command means if nothing names one (C51, C122).

    1. The session whose own process, or terminal, started the command.
    2. The only session of an agent; if there are several, raises a SeveralSessionsError.
    3. The session of a person, if a person calls.
    """
    from passdown.services.sessions.liveness import find_above, find_person_session, find_session

    workspace = caller.workspace
    found = find_above(workspace, (one.pid for one in list_ancestors())) or find_session(workspace, "")
    if found is not None or not is_person(caller):
        return found
    return find_person_session(workspace)


def find_shown(caller: Caller) -> Account | None:
    """Return the session to show something about; of several, none, and a notice says how to choose."""
    try:
        return find_ready(caller)
    except SeveralSessionsError as found:
        caller.note(NoticeKind.WARNING, found.hint, text=found.message)
        return None


def find_new_id(caller: Caller) -> str:
    """Return the id in PASSDOWN_SESSION if no session ever had it; else an empty text."""
    name = open_hosts().find_given(caller.around.variables)
    if not name:
        return ""
    from passdown.services.sessions.liveness import find_called  # few environments name one

    return "" if find_called(caller.workspace, name) else name


def find_ready(caller: Caller) -> Account | None:
    """Find the session that the caller means, and make it ready for a command; None if none is running.

    Interrupted commands are finished first (C142), and what the session claimed or closed while the engine
    was unavailable is settled (C86).
    """
    return make_ready(caller, find_running(caller))


def make_ready(caller: Caller, found: Account | None) -> Account | None:
    """Finish the interrupted commands of a session, and settle what it claimed or closed meanwhile."""
    workspace = caller.workspace
    if found is not None and found.unfinished:
        from passdown.services.coordination.finishing import changing  # few calls need it
        from passdown.services.sessions.journals import read_account

        with changing(workspace, found):
            found = read_account(workspace, found.session)
    if found is not None and found.unfenced:
        from passdown.services.coordination.unfenced import settle_unfenced  # few calls need it

        found = settle_unfenced(workspace, found)
    return found


def need_session(caller: Caller, check: Callable[[], object] = _ignore) -> Account:
    """Find the session that the caller means; start one if none runs, or the environment names a new one.

    Only `start` makes a session that the caller names (C161). A command that would be refused starts none:
    `check` is called before a start, and raises an error.
    """
    found = find_ready(caller)
    if found is not None:
        return found
    check()
    from passdown.services.coordination.finishing import finish_dead  # most calls find a session
    from passdown.services.sessions.sessions import StartRequest, start_session

    finish_dead(caller.workspace)
    request = name_session(caller, StartRequest())
    account = start_session(caller.workspace, request).account
    if request.is_named:
        kind = NoticeKind.NAMED_SESSION_STARTED
    elif request.host_session:
        kind = NoticeKind.HOST_SESSION_STARTED
    else:
        kind = NoticeKind.SESSION_STARTED
    caller.note(kind, agent=account.agent, host=request.host, name=request.host_session)
    return account


def refuse_without_track() -> None:
    """Refuse what a session that was only just started cannot do: it has no track."""
    raise UsageError("this session has no track", hint="run `passdown track bind TRACK` first")


def refuse_without_holding() -> None:
    """Refuse what a session that was only just started cannot do: it holds nothing."""
    hint = "`passdown status` shows who holds what"
    raise UsageError("no session is running here, so nothing is held", hint=hint)


def name_session(caller: Caller, asked: StartRequest) -> StartRequest:
    """Return the start request, with the session that the caller's environment names, if any."""
    host = open_hosts().find_caller(caller.around.variables)
    if host is not None:
        return replace(asked, host=host.host, host_session=host.session)
    given = find_new_id(caller)
    return replace(asked, host_session=given, is_named=bool(given))


def find_or_begin(caller: Caller) -> Account | None:
    """Find the session that the caller means; start it if the environment names one that is not known."""
    is_named = caller.session or find_new_id(caller) or open_hosts().find_caller(caller.around.variables)
    return need_session(caller) if is_named else find_running(caller)


def find_author(caller: Caller) -> Account | None:
    """Return the session that says something, if it is running; None also if several sessions are.

    1. Of a person: the session that this terminal started, else the person's own.
    2. Of anybody else: the session that the command means (C51).
    """
    try:
        return find_speaker(caller)
    except SeveralSessionsError:  # the caller need not choose one of them
        return None


def find_speaker(caller: Caller) -> Account | None:
    """Return the session that says something, ready for it; None if it must be started first.

    Raises a SeveralSessionsError if an agent or program must choose one.
    """
    return make_ready(caller, _find_of_person(caller) if is_person(caller) else find_running(caller))


def _find_of_person(caller: Caller) -> Account | None:
    from passdown.services.sessions.liveness import find_above, find_person_session

    above = find_above(caller.workspace, (one.pid for one in list_ancestors()))
    return above or find_person_session(caller.workspace)


def need_author(caller: Caller, check: Callable[[], object] = _ignore) -> Account:
    """Find the session that says something; start one if there is none and `check` raises no error.

    What a person says is published once the answer is written: no end of a turn would do it.
    """
    if not is_person(caller):
        return need_session(caller, check)
    found = find_speaker(caller)
    if found is None:
        check()
        from passdown.services.sessions.sessions import start_person_session  # usually it is running

        found = start_person_session(caller.workspace)
        caller.note(NoticeKind.PERSON_SESSION_STARTED, agent=found.agent)
    if found.start.is_person:
        caller.after.append(partial(_publish_said, caller, found.session))
    return found


def _publish_said(caller: Caller, session: str) -> None:
    """Publish what a person said, and commit it unless Passdown is paused."""
    from passdown.services.project.pauses import find_pauses  # few callers are persons
    from passdown.services.sessions.said_facts import publish_said

    may_commit = not find_pauses(caller.workspace, caller.around.variables)
    for trouble in publish_said(caller.workspace, session, may_commit=may_commit):
        caller.note_trouble(trouble)


def find_hosted(caller: Caller) -> Account | None:
    """Find the session with a host's own id; return None if it is not running."""
    from passdown.services.sessions.liveness import find_session  # not all need a session

    try:
        return find_session(caller.workspace, caller.session) if caller.session else None
    except UsageError:
        return None


def ask_engine(caller: Caller, act: Callable[[Coordination], None]) -> str:
    """Use the coordination engine, if sessions coordinate here; return what went wrong (C86)."""
    try:
        if (found := caller.workspace.find_coordination()) is not None:
            act(found)
    except CacheError:
        raise  # it is tried again without the cache
    except PassdownError as trouble:
        caller.note_trouble(trouble.message)
        return trouble.message
    return ""


# --- the person -----------------------------------------------------------------------------------


def find_person(caller: Caller) -> CommandCaller:
    """Return whether the caller is a person, and if not, why (C122).

    Only this function collects the signs from which `core.hosts.persons` decides.
    """
    from passdown.core.hosts.persons import CallerSigns, decide_caller  # few actions ask who calls them

    around = caller.around
    variables = frozenset(name for name, value in around.variables.items() if value)
    signs = CallerSigns(caller.session, variables, list_ancestors(), around.has_terminal())
    return decide_caller(signs, open_hosts().agent_signs())


def is_person(caller: Caller) -> bool:
    """Return whether the caller is a person; for most callers this loads and reads nothing."""
    around = caller.around
    if caller.session or open_hosts().names_agent(around.variables) or not around.has_terminal():
        return False
    return find_person(caller).is_person


def need_person(caller: Caller, action: str, *, hint: str) -> None:
    """Raise a UsageError unless the caller is a person; `action` is what only a person may do."""
    found = find_person(caller)
    if not found.is_person:
        if caller.session and find_person(replace(caller, session="")).is_person:
            hint = "remove --session: with it, the session acts instead of you"
        raise UsageError(f"only a person at a terminal may {action}: {found.because}", hint=hint)


def name_hosts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the known hosts, and these names together with their aliases."""
    hosts = open_hosts()
    return tuple(row.names[0] for row in hosts.rows), tuple(hosts.names())


# --- shared by actions -------------------------------------------------------------------------------


def note_ledger_update(caller: Caller, update: LedgerUpdate) -> None:
    """Add notices about manual edits and problems found while the ledger was updated."""
    ledger = update.account.start.ledger
    if update.edits:
        caller.note(NoticeKind.LEDGER_EDITED, count=update.edits, ledger=ledger)
    if update.is_elsewhere:
        place = update.account.start.checkout
        caller.note(NoticeKind.LEDGER_ELSEWHERE, agent=update.account.agent, place=place)
    for number, one in enumerate(update.problems, 1):
        caller.note(
            NoticeKind.LEDGER_PROBLEM,
            ledger=ledger,
            line=one.line,
            field=one.field,
            problem=one.problem,
            is_last=number == len(update.problems),
        )
