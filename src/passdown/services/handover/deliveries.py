"""Brief a session through its host, and check whether the brief arrived complete (C67).

The session's journal records every brief with its nonce and hash. Comparing that with the hash of the text
between the nonces in the transcript shows whether all of it arrived. A truncated brief is sent again,
smaller.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final, cast

from passdown import layout
from passdown.core.briefs.budgets import Budget
from passdown.core.facts import Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.merge.ranks import limit_of
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import AHEAD, FEEDBACK, MAIL, MESSAGES, Account, Delivery
from passdown.core.times import next_instant
from passdown.errors import StorageError
from passdown.records import record, replace
from passdown.services.sessions.journals import make_fact, read_account, read_open, write_fact
from passdown.services.workspace.local_files import list_places, write_local
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # sending needs no transcript, and reading one needs no brief
    from passdown.core.briefs.brief_input import CurrentWork, TeamInput
    from passdown.core.briefs.briefs import Brief
    from passdown.services.handover.briefs import OtherCheckoutLog
    from passdown.services.sessions.observations import TranscriptSource

SENT: Final = "sent"
WHOLE: Final = "whole"
CUT: Final = "cut"

NONCE: Final = 6
"""How many random bytes the nonce of a brief has."""

_BRIEF_WAITS: Final = b""
_MAIL_WAITS: Final = b"mail\n"
"""The content of the file that tells a session's next prompt to look."""

_ECHOES: Final = frozenset({"stdout", "output"})
"""The members in which hosts store our hook's output, which is not what the model received."""


@record
class SentBrief:
    """A brief that was sent."""

    account: Annotated[Account, "The updated account of the session."]
    text: Annotated[str, "The text of the brief; empty if the session already has exactly this."]
    aim: Annotated["CurrentWork", "Goal, now and next in the brief."]


def send_brief(
    workspace: Workspace,
    account: Account,
    budget: Budget,
    others: "Sequence[OtherCheckoutLog]" = (),
    *,
    team: "TeamInput | None" = None,
    is_known: bool = False,
) -> SentBrief:
    """Make a brief and record that it was sent.

    `team` is the answer of the coordination engine, if it was asked. With `is_known`, the session still has
    its history, so the same brief is not repeated. A session whose host truncated a brief gets smaller ones
    from then on.
    """
    from passdown.core.briefs.brief_frame import BriefFrame
    from passdown.core.briefs.briefs import brief_hash, pack_brief
    from passdown.services.handover.briefs import read_brief_input

    briefs = [one for one in account.deliveries if not one.is_mail]
    if cuts := sum(one.state == CUT for one in briefs):
        budget = budget.smaller(cuts)
    nonce = workspace.entropy.token(NONCE).hex()
    brief_input = read_brief_input(workspace, account, others, with_unpublished=True)
    if team is not None:
        brief_input = replace(brief_input, team=team)
    brief = pack_brief(brief_input, budget, workspace.now(), BriefFrame(nonce=nonce))
    follow_events(workspace, account, brief)
    digest = brief_hash(brief)
    last = briefs[-1] if briefs else None
    if is_known and last is not None and (last.hash, last.state) == (digest, WHOLE):
        return SentBrief(account=account, text="", aim=brief_input.aim)
    told = [(MESSAGES, json.dumps(brief.messages))] if brief.messages else []
    told += [(FEEDBACK, json.dumps(brief.feedback))] if brief.feedback else []
    _note(workspace, read_account(workspace, account.session), nonce, f"{SENT} {digest}", tuple(told))
    account = read_account(workspace, account.session)
    return SentBrief(account=account, text=brief.text, aim=brief_input.aim)


def follow_events(workspace: Workspace, account: Account, brief: "Brief") -> None:
    """Make everything a session says later than all it was told, even if its clock is slow (C120).

    That includes events and unpublished facts of others. Events dated ahead are not followed (C115), but
    recorded, and the session's next event names them. Nothing is written if all clocks are right.
    """
    from passdown.core.briefs.brief_input import newest_unpublished_at

    now = workspace.now()
    known = max(now, account.touched_at or now)
    read = workspace.index.newest(known, account.session)
    shown = [line.fact for _, _, line in brief.lines if line.fact is not None]
    told = newest_unpublished_at(shown, account.agent)
    newest = [at for at in (read.at, told and next_instant(told, [told])) if at is not None]
    at = max((one for one in newest if one <= limit_of(read.present)), default=known)
    ahead = [name for name in read.ahead if name not in account.ahead]
    if (at > known or ahead) and account.ended_at is None:
        sign = make_fact(workspace, account, NewFact(FactKind.HEARTBEAT, "alive"), Provenance.OBSERVED)
        others = ((AHEAD, json.dumps(ahead)),) if ahead else ()
        with suppress(StorageError):  # if nothing can be written, the session cannot say anything either
            write_fact(workspace, account.session, sign._replace(at=max(at, known), others=others))


def send_mail(workspace: Workspace, account: Account, budget: Budget, team: "TeamInput") -> str:
    """Return the messages that a session has not read, and record that they were sent; empty if none."""
    from passdown.core.briefs.brief_frame import BriefFrame
    from passdown.core.briefs.brief_input import BriefInput
    from passdown.core.briefs.briefs import brief_hash, pack_messages

    if not team.messages:
        return ""
    nonce = workspace.entropy.token(NONCE).hex()
    brief_input = BriefInput(agent=account.agent, team=team)
    brief = pack_messages(brief_input, budget, workspace.now(), BriefFrame(nonce=nonce))
    told = ((MAIL, json.dumps(brief.messages)),)
    _note(workspace, account, nonce, f"{SENT} {brief_hash(brief)}", told)
    return brief.text


def note_shown_feedback(workspace: Workspace, account: Account, ids: Sequence[str]) -> None:
    """Record that a command showed feedback to a session."""
    nonce = workspace.entropy.token(NONCE).hex()
    told = ((MAIL, "[]"), (FEEDBACK, json.dumps(ids)))
    _note(workspace, account, nonce, f"{WHOLE} -", told)


def confirm(workspace: Workspace, account: Account, source: "TranscriptSource") -> Sequence[Delivery]:
    """Search the new part of a transcript for the briefs that were sent, and record how each arrived.

    A brief that is not found may still appear; until then it never counts as complete. Call this before the
    transcript is observed, which marks that part as read.
    """
    waiting = [one for one in account.deliveries if one.state == SENT]
    lines = list(_new_lines(account, source)) if waiting else []
    judged: list[Delivery] = []
    for delivery in waiting:
        if state := _judge(delivery, lines):
            _note(workspace, account, delivery.nonce, state)
            judged.append(delivery._replace(state=state))
    return judged


def await_turn_end(account: Account, source: "TranscriptSource") -> None:
    """Wait until a host that writes late has recorded the end of the turn."""
    if source.reader.is_turn_end is not None:
        offset = _offset(account, source)
        source.transcripts.await_line(source.path, offset, source.reader.is_turn_end)


def _offset(account: Account, source: "TranscriptSource") -> int:
    """Return how far a transcript was read."""
    from passdown.core.hosts.transcripts import parse_mark

    return parse_mark(account.bookmarks.get(source.reader.bookmark(source.path), "")).offset


def _new_lines(account: Account, source: "TranscriptSource") -> Iterator[bytes]:
    offset = _offset(account, source)
    if offset > source.transcripts.size(source.path):  # it was replaced by another file
        offset = 0
    while data := source.transcripts.read(source.path, offset):
        offset += len(data)
        yield from data.split(b"\n")


def _note(
    workspace: Workspace, account: Account, nonce: str, text: str, others: tuple[tuple[str, str], ...] = ()
) -> None:
    """Record how far a brief came; what a power cut loses is sent, or found in the transcript, once more."""
    fact = make_fact(workspace, account, NewFact(FactKind.DELIVERY, text, nonce), Provenance.OBSERVED)
    line = fact._replace(others=others)
    workspace.journals.append(account.session, lambda seq: JournalLine(seq=seq, fact=line), durable=False)


def _judge(delivery: Delivery, texts: Sequence[bytes]) -> str:
    """Return how a brief arrived; empty if none of it was found."""
    from passdown.core.briefs.brief_frame import BriefFrame, receipt_of

    frame, mark = BriefFrame(nonce=delivery.nonce), delivery.nonce.encode()
    found = [text for line in texts if mark in line for text in _strings(line) if delivery.nonce in text]
    receipts = {receipt_of(text, frame) for text in found}
    if delivery.hash in receipts:
        return WHOLE
    return CUT if receipts else ""


def leave_notice(workspace: Workspace, name: str) -> None:
    """Leave a file that tells the session's next prompt that a brief is waiting."""
    write_local(workspace, f"{layout.WAITING}/{name}", _BRIEF_WAITS)


def leave_mail_notice(workspace: Workspace, name: str) -> None:
    """Leave a file that tells the session's next prompt that messages are waiting; a brief has them too."""
    path = f"{layout.WAITING}/{name}"
    if not any(place.documents.exists(place.path) for place in list_places(workspace, path)):
        write_local(workspace, path, _MAIL_WAITS)


def notify_recipients(workspace: Workspace, agents: Collection[str]) -> None:
    """Tell the sessions of these agents, at their next prompt, that messages are waiting (C90)."""
    told = [one for one in read_open(workspace) if one.agent in agents]
    for name in [layout.session_file(name) for account in told for name in account.host_sessions]:
        with suppress(StorageError):  # the next start shows the messages
            leave_mail_notice(workspace, name)


def take_notice(workspace: Workspace, name: str) -> bool:
    """Remove that file; return whether only messages are waiting. If it fails, a brief is sent once more."""
    found = [one for one in (_MAIL_WAITS, _BRIEF_WAITS) if _remove_notice(workspace, name, one)]
    return found == [_MAIL_WAITS]


def drop_mail_notice(workspace: Workspace, name: str) -> None:
    """Remove that file if it only announced messages, which were read in another way."""
    _remove_notice(workspace, name, _MAIL_WAITS)


def _remove_notice(workspace: Workspace, name: str, content: bytes) -> bool:
    removed = False
    with suppress(StorageError):
        for place in list_places(workspace, f"{layout.WAITING}/{name}"):
            removed |= place.documents.remove(place.path, content)
    return removed


def _strings(line: bytes) -> Iterator[str]:
    """Yield every string in a line of JSON; nothing if it is not JSON."""
    try:
        waiting: list[object] = [json.loads(line)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            members = cast("dict[str, object]", value)
            waiting.extend(part for name, part in members.items() if name not in _ECHOES)
        elif isinstance(value, list):
            waiting.extend(cast("list[object]", value))
