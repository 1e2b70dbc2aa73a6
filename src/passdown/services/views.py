"""Make the view from an index, write it where it belongs, and say whether the one there still holds."""

import hashlib
from enum import StrEnum
from typing import NamedTuple

from passdown.core.seals import Ownership, judge_owner, read_seal
from passdown.core.view_places import RENDERER
from passdown.errors import PassdownError
from passdown.ports.documents import Documents
from passdown.ports.index import Index
from passdown.services.local_files import ignore_folder
from passdown.services.view_notes import NOTE


class ViewState(StrEnum):
    """How the view that is there compares with the events."""

    CURRENT = "current"
    OUTDATED = "outdated"
    MISSING = "missing"
    EDITED = "edited"
    FOREIGN = "foreign"
    OTHER_RENDERER = "other-renderer"


class WrittenView(NamedTuple):
    """What writing did: what was there, whether it changed, and where an edited one was kept."""

    path: str
    before: ViewState
    kept: str


def make_text(index: Index) -> str:
    """Write the view of the events in an index; the same events give the same bytes."""
    from passdown.core.projections import LIMIT, make_view  # noqa: PLC0415 - a check often needs no view
    from passdown.core.views import render_view  # noqa: PLC0415

    digest = index.digest(LIMIT)
    text = render_view(make_view(digest))
    index.remember(NOTE, f"{_hash(text.encode())} {digest.event_count}")
    return text


def judge_view(documents: Documents, path: str, index: Index) -> ViewState:
    """Compare the view that is there with the events, to the byte.

    The view is made only when it was not made before from the same events.
    """
    there = read_view(documents, path)
    if there is None:
        return ViewState.MISSING
    remembered = index.recall(NOTE)
    if remembered is None:
        return _judge(there, _hash(make_text(index).encode()))
    return _judge(there, remembered.partition(" ")[0])


def _judge(there: bytes, expected: str) -> ViewState:
    if _hash(there) == expected:
        return ViewState.CURRENT
    owner = judge_owner(there)
    if owner is Ownership.FOREIGN:
        return ViewState.FOREIGN
    if owner is Ownership.EDITED:
        return ViewState.EDITED
    seal = read_seal(there.decode("utf-8", "replace"))
    return ViewState.OUTDATED if seal and seal.renderer == str(RENDERER) else ViewState.OTHER_RENDERER


def read_view(documents: Documents, path: str) -> bytes | None:
    """Read the view that is there; None when there is none."""
    return documents.read(path) if documents.exists(path) else None


def write_view(documents: Documents, path: str, text: str, runtime: str) -> WrittenView:
    """Write the view, unless it is there to the byte.

    1. A document that we did not make is never overwritten: refused.
    2. A view that was edited by hand is kept below `runtime` first.
    """
    data = text.encode()
    there = read_view(documents, path)
    before = _judge(there, _hash(data)) if there is not None else ViewState.MISSING
    kept = ""
    if before is ViewState.CURRENT:
        return WrittenView(path, before, kept)
    if before is ViewState.FOREIGN:  # 1
        hint = "`passdown migrate` takes it over as an event; nothing in it is lost"
        raise PassdownError(f"{path} was not made by Passdown and is left alone", hint=hint)
    if there is not None and before is ViewState.EDITED:  # 2
        kept = f"{runtime}/edited-view-{_hash(there)[:12]}.md"
        ignore_folder(documents, runtime)
        documents.replace(kept, there)
    if path.startswith(f"{runtime}/"):
        ignore_folder(documents, runtime)
    documents.replace(path, data)
    return WrittenView(path, before, kept)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
