"""Brief a session through its host, and find out whether the brief arrived whole (C67).

Every brief that was sent stands in the session's journal with its nonce and hash. What the transcript shows
between the nonces, hashed, tells whether all of it arrived. One that was cut is sent again, smaller.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final, cast

from passdown.core.accounts import Account, Delivery
from passdown.core.bookkeeping import Said
from passdown.core.budgets import Budget
from passdown.core.facts import FactKind, Provenance
from passdown.errors import StorageError
from passdown.records import record
from passdown.services.checkouts import Site
from passdown.services.journals import Project, read_account, say
from passdown.services.local_files import list_places, write_local

if TYPE_CHECKING:  # who sends reads no transcript, and who reads one makes no brief
    from passdown.services.briefs import Elsewhere
    from passdown.services.observations import Source

SENT: Final = "sent"
WHOLE: Final = "whole"
CUT: Final = "cut"

WORDS: Final = "waiting"
"""The folder of local state with a file for each session that something waits for."""

_NONCE: Final = 6
_ECHOES: Final = frozenset({"stdout", "output"})
"""The members in which hosts keep what our hook printed; that says nothing about what the model got."""


@record
class Sent:
    """A brief on its way."""

    account: Annotated[Account, "What the session knows now."]
    text: Annotated[str, "What it is told; empty when it has just that before it already."]


def send_brief(
    project: Project,
    account: Account,
    budget: Budget,
    others: "Sequence[Elsewhere]" = (),
    *,
    is_known: bool = False,
) -> Sent:
    """Make a brief and write down that it was sent.

    With `is_known` the session has its history before it: what it was told last is not told again. A session
    whose host cut briefs gets smaller ones from then on.
    """
    from passdown.core.briefs import brief_hash  # noqa: PLC0415 - see above
    from passdown.services.briefs import make_brief  # noqa: PLC0415

    if cuts := sum(one.state == CUT for one in account.deliveries):
        budget = budget.smaller(cuts)
    nonce = project.entropy.token(_NONCE).hex()
    brief = make_brief(project, account, budget, nonce, others)
    digest = brief_hash(brief)
    last = account.deliveries[-1] if account.deliveries else None
    if is_known and last is not None and (last.hash, last.state) == (digest, WHOLE):
        return Sent(account=account, text="")
    _note(project, account, nonce, f"{SENT} {digest}")
    return Sent(account=read_account(project, account.session), text=brief.text)


def confirm(project: Project, account: Account, source: "Source") -> Sequence[Delivery]:
    """Look in what is new in a transcript for the briefs that were sent, and write down how each arrived.

    One that is not there may still come: it stays as it is, and is never taken for whole. To be called before
    the transcript is observed: what was read then is not new any more.
    """
    waiting = [one for one in account.deliveries if one.state == SENT]
    lines = list(_new_lines(account, source)) if waiting else []
    judged: list[Delivery] = []
    for delivery in waiting:
        if state := _judge(delivery, lines):
            _note(project, account, delivery.nonce, state)
            judged.append(delivery._replace(state=state))
    return judged


def await_turn_end(account: Account, source: "Source") -> None:
    """Give a host that writes late the time to write down what the turn did."""
    if source.tongue.is_turn_end is not None:
        offset = _offset(account, source)
        source.transcripts.await_line(source.path, offset, source.tongue.is_turn_end)


def _offset(account: Account, source: "Source") -> int:
    """Say how far a transcript was read."""
    from passdown.core.transcripts import parse_mark  # noqa: PLC0415 - see above

    return parse_mark(account.bookmarks.get(source.tongue.bookmark(source.path), "")).offset


def _new_lines(account: Account, source: "Source") -> Iterator[bytes]:
    offset = _offset(account, source)
    if offset > source.transcripts.size(source.path):  # another file has taken its place
        offset = 0
    while data := source.transcripts.read(source.path, offset):
        offset += len(data)
        yield from data.split(b"\n")


def _note(project: Project, account: Account, nonce: str, text: str) -> None:
    say(project, account, Said(FactKind.DELIVERY, text, nonce), Provenance.OBSERVED)


def _judge(delivery: Delivery, texts: Sequence[bytes]) -> str:
    """Say how a brief arrived; empty when nothing of it is there."""
    from passdown.core.briefs import Frame, receipt_of  # noqa: PLC0415 - see above

    frame, mark = Frame(nonce=delivery.nonce), delivery.nonce.encode()
    found = [text for line in texts if mark in line for text in _strings(line) if delivery.nonce in text]
    receipts = {receipt_of(text, frame) for text in found}
    if delivery.hash in receipts:
        return WHOLE
    return CUT if receipts else ""


def leave_word(site: Site, name: str) -> None:
    """Leave a file that the next prompt of a session finds: something waits to be told."""
    write_local(site, f"{WORDS}/{name}", b"")


def take_word(site: Site, name: str) -> None:
    """Take it away again; one that cannot be taken away is told once more."""
    with suppress(StorageError):
        for place in list_places(site, f"{WORDS}/{name}"):
            place.documents.remove(place.path, b"")


def _strings(line: bytes) -> Iterator[str]:
    """Give every text of a line of JSON; none of one that is none."""
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
