"""Handoffs to one agent: written for it, shown when it starts, deleted if nobody reads them (C91)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Annotated, Final

from passdown import layout
from passdown.core.coordination.handoff_rules import (
    HANDOFF_EXPIRY,
    HANDOFF_MESSAGE,
    HandoffPattern,
    HandoffState,
    compose_content,
    cut_content,
    has_expired,
    is_kept,
    judge_handoff,
    names_of_session,
    nickname_of,
)
from passdown.core.coordination.messages import ALL, NORMAL_MESSAGE, URGENT_MESSAGE, Message, NewMessage
from passdown.core.formats.addressed_handoffs import (
    AddressedHandoff,
    HandoffContext,
    parse_addressed_handoff,
    render_addressed_handoff,
)
from passdown.core.formats.journal import Scope
from passdown.core.ids import name_file
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.project.metrics import Metric, MetricKind
from passdown.core.sessions.secrets import redact, redact_all
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, StorageError, UsageError
from passdown.records import record, replace
from passdown.services.coordination.mail import acknowledge_mail, deliver
from passdown.services.coordination.membership import join_project
from passdown.services.operations.operations import make_id
from passdown.services.sessions.journals import read_accounts, read_before
from passdown.services.sessions.liveness import is_called, is_live
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

RecordMetrics = Callable[[Sequence[Metric]], bool]
"""Records metrics, and returns whether that worked."""

_MOST_FILES: Final = 20
_MOST_LISTED: Final = 1_000
_SHARE: Final = 1_000
"""How many characters one handoff gets where space is limited."""


@record
class AddressedRequest:
    """A handoff to write, and its recipient."""

    to: str
    text: str = ""
    pattern: HandoffPattern | None = None


@record
class WrittenAddressed:
    """A handoff that was written."""

    handoff: AddressedHandoff
    path: Annotated[str, "Its path; absolute if it is in another checkout."]
    redacted: tuple[str, ...] = ()
    is_sent: Annotated[bool, "Whether it was also sent as a message."] = False
    trouble: Annotated[str, "Why it could not be sent as a message too."] = ""


@record
class FoundHandoff:
    """A handoff found in a checkout."""

    place: Workspace
    path: str
    data: bytes
    handoff: AddressedHandoff
    state: HandoffState = HandoffState.WAITING
    is_tracked: Annotated[bool, "Whether git tracks it; then it is only shown (C119)."] = False

    @property
    def named(self) -> str:
        """The recipient in its file name."""
        return layout.handoff_addressee(self.path.rpartition("/")[2])


@record
class HandoffNews:
    """News about handoffs for a starting session."""

    own: Annotated[tuple[AddressedHandoff, ...], "The handoffs for the session."] = ()
    told: Annotated[tuple[FoundHandoff, ...], "The same, to be marked as read by `settle_handoffs`."] = ()
    more: Annotated[int, "How many more for the session had no space, and wait."] = 0
    late: Annotated[tuple[FoundHandoff, ...], "Handoffs for others that have waited for long."] = ()
    expired: Annotated[tuple[FoundHandoff, ...], "Handoffs for others that expired unread; deleted."] = ()
    messages: Annotated[tuple[Message, ...], "Messages that expired unread; deleted."] = ()
    troubles: Annotated[tuple[str, ...], "The problems on the way."] = ()


# --- writing --------------------------------------------------------------------------------------


def create_addressed(
    workspace: Workspace, account: Account, request: AddressedRequest, checkouts: Sequence[Workspace]
) -> WrittenAddressed:
    """Write a handoff to one agent, into its checkout if that is in `checkouts`, else into ours.

    Nothing is overwritten. Where sessions coordinate, it is also sent as a message with the same id.
    """
    accounts = read_accounts(workspace, Scope.ALL)
    to, addressee = _find_addressee(workspace, account, accounts, request.to)
    now = workspace.now()
    content = redact(compose_content(request.pattern, request.text, account))
    if not content.text.strip():
        hint = 'add a text: `passdown handoff create --to AGENT "TEXT"`'
        raise UsageError("nothing to hand over: this session has no goal and no steps", hint=hint)
    files, in_files = redact_all([one.text for one in account.of(FactKind.FILE)[-_MOST_FILES:]])
    is_urgent = request.pattern is HandoffPattern.ESCALATION
    handoff = AddressedHandoff(
        sender=account.handle,
        to=to,
        created_at=now,
        expires_at=now + HANDOFF_EXPIRY,
        content=content.text,
        context=HandoffContext(
            task_id=account.task or None, track_id=account.track or None, files=tuple(files)
        ),
        priority=URGENT_MESSAGE if is_urgent else NORMAL_MESSAGE,
        id=make_id(workspace),
    )
    roots = {one.root: one for one in checkouts}
    place = roots.get(addressee.start.checkout if addressee else "", workspace)
    path = _write(place, handoff, account, addressee)
    written = WrittenAddressed(
        handoff=handoff,
        path=show_path(workspace, place, path),
        redacted=tuple(dict.fromkeys((*content.found, *in_files))),
    )
    is_agent = addressee is not None and nickname_of(addressee).casefold() != request.to.strip().casefold()
    return _send(workspace, account, written, addressee.agent if addressee and is_agent else to)


def leave_message(
    workspace: Workspace, account: Account, text: str, to: str, checkouts: Sequence[Workspace]
) -> WrittenAddressed | None:
    """Leave a message as a handoff because the engine does not answer (C86).

    Returns None unless it is for one session that is known on this machine: a file would reach nobody else.
    """
    others = [one for one in read_accounts(workspace, Scope.ALL) if one.session != account.session]
    if not any(is_called(one, to) or nickname_of(one).casefold() == to.casefold() for one in others):
        return None
    return create_addressed(workspace, account, AddressedRequest(to=to, text=text), checkouts)


def _find_addressee(
    workspace: Workspace, account: Account, accounts: Sequence[Account], to: str
) -> tuple[str, Account | None]:
    """Return the address and the newest session that has it, preferring live sessions.

    The id of a session is replaced by the name that the user gave it, or by its agent. A nickname stays: any
    session of that name may read the handoff.
    """
    to = to.strip()
    if not to or ":" in to or to == ALL:
        hint = "name one agent or session; to reach several, use `passdown msg`"
        raise UsageError(f"a handoff goes to one agent, not to {to or 'nobody'}", hint=hint)
    if is_called(account, to):
        raise UsageError(
            f"{to} is this session", hint="`passdown handoff create` without --to writes one for any session"
        )
    others = [one for one in reversed(accounts) if one.session != account.session]
    others.sort(key=lambda one: not is_live(workspace, one))
    called = next((one for one in others if is_called(one, to)), None)
    named = next((one for one in others if nickname_of(one).casefold() == to.casefold()), None)
    return _choose_address(to, called, named), called or named


def _choose_address(to: str, called: Account | None, named: Account | None) -> str:
    found = called or named
    if found and found.start.name.casefold() == to.casefold():
        return found.start.name
    return called.handle if called and not named else to


def _write(place: Workspace, handoff: AddressedHandoff, account: Account, addressee: Account | None) -> str:
    """Write a handoff, named after both sessions by the ids that the user gave them."""
    runtime = place.settings.paths.runtime
    ignore_folder(place.documents, runtime)
    data = render_addressed_handoff(handoff).encode()
    is_known = addressee is not None and handoff.to == addressee.handle
    to = addressee.file_id if addressee and is_known else name_file(handoff.to or "")
    number = 1
    while not place.documents.create(
        path := f"{runtime}/{layout.handoff_name(account.file_id, to, number)}", data
    ):
        number += 1
    return path


def _send(
    workspace: Workspace, account: Account, written: WrittenAddressed, address: str
) -> WrittenAddressed:
    """Also send it as a message if sessions coordinate here; the file exists in any case."""
    handoff = written.handoff
    try:
        if workspace.find_coordination() is None:
            return written
        context = handoff.context or HandoffContext()
        about = {"taskId": context.task_id, "trackId": context.track_id, "files": list(context.files)}
        message = NewMessage(
            account.session,
            address,
            handoff.content or "",
            dump(about),
            handoff.priority or NORMAL_MESSAGE,
            HANDOFF_MESSAGE,
            HANDOFF_EXPIRY.total_seconds(),
        )
        deliver(workspace, join_project(workspace, account), message, handoff.id or "")
    except StorageError as found:
        return replace(written, trouble=found.message)
    return replace(written, is_sent=True)


def show_path(workspace: Workspace, place: Workspace, path: str) -> str:
    """Return the path of a file for display; absolute if it is in another checkout."""
    return path if place.root == workspace.root else f"{place.root}/{path}"


# --- reading --------------------------------------------------------------------------------------


def find_handoffs(
    workspace: Workspace, account: Account, checkouts: Sequence[Workspace], state: HandoffState
) -> Sequence[FoundHandoff]:
    """Return the handoffs in `checkouts` with this state for a session, the oldest first; nothing changes."""
    return [one for one in _find(workspace, account, checkouts)[0] if one.state is state]


def settle_handoffs(workspace: Workspace, account: Account, told: Sequence[FoundHandoff]) -> Sequence[str]:
    """Mark handoffs that were shown as read: move the files, and acknowledge the messages sent with them.

    Returns the problems; a handoff that could not be marked is shown again.
    """
    troubles: list[str] = []
    for one in told:
        if not one.is_tracked:
            try:
                _move(one)
            except StorageError as found:
                troubles.append(found.message)
    ids = {one.handoff.id for one in told if one.handoff.id}
    # If the engine does not answer, another command says so, and the messages are shown again.
    with suppress(StorageError):
        if ids and workspace.find_coordination() is not None:
            waiting = join_project(workspace, account).messages.waiting(account.session)
            acknowledge_mail(workspace, account, [one for one in waiting if one.message.message in ids])
    return troubles


def settle_told(
    workspace: Workspace, account: Account, checkouts: Sequence[Workspace], positions: Sequence[int]
) -> Sequence[str]:
    """Mark the handoffs as read whose messages, at these positions, were read; return the problems."""
    waiting = workspace.coordination.messages.waiting(account.session)
    ids = {one.message.message for one in waiting if one.position in positions}
    own = find_handoffs(workspace, account, checkouts, HandoffState.OWN)
    return settle_handoffs(workspace, account, [one for one in own if one.handoff.id in ids])


def take_handoffs(
    workspace: Workspace,
    account: Account,
    checkouts: Sequence[Workspace],
    record_metrics: RecordMetrics,
    room: int | None = None,
) -> HandoffNews:
    """Return what a starting session is told about handoffs, and clean up.

    1. Handoffs for the session come first, as many as fit into `room` characters. The caller marks them as
       read after they were shown, so that they are shown again if it is killed before.
    2. Handoffs for others that have waited for half a day are named.
    3. Handoffs for others that expired are returned, recorded in the metrics, and only then deleted. The same
       happens to messages that expired unread.
    4. Handoffs that were read long ago are deleted.
    """
    found, troubles = _find(workspace, account, checkouts)
    own = [one for one in found if one.state is HandoffState.OWN]
    told = own if room is None else own[: max(1, room // _SHARE)]  # 1
    shown = [one.handoff if room is None else _cut(workspace, one, room) for one in told]
    others = [one for one in found if not one.is_tracked]
    late = [one for one in others if one.state is HandoffState.LATE]  # 2
    over = [one for one in others if one.state is HandoffState.EXPIRED]
    expired = [one for one in over if _expire(workspace, one, record_metrics)]  # 3
    messages: Sequence[Message] = ()
    with suppress(StorageError):  # the next start tries again
        messages = _expire_messages(workspace, expired, record_metrics)
    _forget_old(workspace, checkouts)  # 4
    return HandoffNews(
        own=tuple(shown),
        told=tuple(told),
        more=len(own) - len(told),
        late=tuple(late),
        expired=tuple(expired),
        messages=tuple(messages),
        troubles=tuple(troubles),
    )


def _find(
    workspace: Workspace, account: Account, checkouts: Sequence[Workspace]
) -> tuple[list[FoundHandoff], list[str]]:
    """Return the handoffs in these checkouts, the oldest first, and the problems in reading them.

    Handoffs that git tracks come last, and are omitted once they expired, since nobody deletes them.
    """
    before = () if account.start.is_fresh else read_before(workspace, account.start.continues)
    names = names_of_session(account, before)
    now = workspace.now()
    found: list[FoundHandoff] = []
    troubles: list[str] = []
    for place in checkouts:
        folder = place.settings.paths.runtime
        try:
            listed = (
                path
                for path in place.documents.list(folder)
                if layout.handoff_addressee(path[len(folder) + 1 :])
            )
            paths = list(islice(listed, _MOST_LISTED))
        except StorageError as trouble:
            troubles.append(trouble.message)
            continue
        for path in paths:
            is_tracked = place.tracking.tracked(folder).holds(path)
            try:
                data = place.documents.read(path)
                handoff = parse_addressed_handoff(data.decode("utf-8", "replace"))
            except (StorageError, FormatError) as trouble:
                troubles += [] if is_tracked else [f"{show_path(workspace, place, path)}: {trouble.message}"]
                continue
            one = FoundHandoff(place=place, path=path, data=data, handoff=handoff, is_tracked=is_tracked)
            state = judge_handoff(handoff, one.named, account, names, now)
            if not (is_tracked and has_expired(handoff, now)):
                found.append(replace(one, state=state))
    found.sort(key=lambda one: (one.is_tracked, one.handoff.created_at or now, one.path))
    return found, troubles


def _cut(workspace: Workspace, one: FoundHandoff, room: int) -> AddressedHandoff:
    path = one.path if one.is_tracked else _processed(one)
    return cut_content(one.handoff, min(_SHARE, room) // 2, show_path(workspace, one.place, path))


def _processed(one: FoundHandoff) -> str:
    return f"{one.place.settings.paths.runtime}/{layout.PROCESSED}/{one.path.rpartition('/')[2]}"


def _move(one: FoundHandoff) -> None:
    """Move a handoff to the folder of those that were read, without overwriting another (R225)."""
    documents = one.place.documents
    path = _processed(one)
    stem = path.removesuffix(layout.JSON)
    number = 1
    while not documents.create(path, one.data) and documents.read(path) != one.data:
        number += 1
        path = f"{stem}-{number}{layout.JSON}"
    documents.remove(one.path, one.data)


def _expire(workspace: Workspace, one: FoundHandoff, record_metrics: RecordMetrics) -> bool:
    """Record that nobody read a handoff, and delete it; return whether it is gone (R228)."""
    path = show_path(workspace, one.place, one.path)
    values = {"file": path, "from": one.handoff.sender, "to": one.handoff.to, "content": one.handoff.content}
    metric = Metric(MetricKind.HANDOFF_EXPIRED, workspace.now(), values)
    # A handoff that cannot be deleted now is found again by the next start.
    with suppress(StorageError):
        return record_metrics([metric]) and one.place.documents.remove(one.path, one.data)
    return False


def _expire_messages(
    workspace: Workspace, expired: Sequence[FoundHandoff], record_metrics: RecordMetrics
) -> Sequence[Message]:
    """Delete messages that expired unread, and record those that had no handoff file (C45)."""
    coordination = workspace.find_coordination()
    if coordination is None:
        return ()
    known = {one.handoff.id for one in expired}
    gone = coordination.messages.expire(make_id(workspace)).messages
    gone = tuple(one for one in gone if one.message not in known)
    told = [
        {"file": f"message {one.message}", "from": one.agent, "to": one.to, "content": one.content}
        for one in gone
    ]
    now = workspace.now()
    record_metrics([Metric(MetricKind.HANDOFF_EXPIRED, now, values) for values in told])
    return gone


def _forget_old(workspace: Workspace, checkouts: Sequence[Workspace]) -> None:
    """Delete handoffs that were shown long ago; unreadable ones are kept."""
    for place in checkouts:
        with suppress(StorageError):  # a folder that cannot be listed is kept
            for path in list(place.documents.list(f"{place.settings.paths.runtime}/{layout.PROCESSED}")):
                _forget(workspace, place, path)


def _forget(workspace: Workspace, place: Workspace, path: str) -> None:
    with suppress(StorageError, FormatError):  # it is kept
        data = place.documents.read(path)
        if not is_kept(parse_addressed_handoff(data.decode("utf-8", "replace")), workspace.now()):
            place.documents.remove(path, data)
