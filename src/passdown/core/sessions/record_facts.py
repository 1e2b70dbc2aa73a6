"""Read the facts of a session from its events, for a record that does not repeat them."""

from collections.abc import Sequence
from typing import Final

from passdown.core.kinds import CARRIED, FactKind
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.core.sessions.handoffs import Handoff, HandoffDecision
from passdown.core.sessions.ledger_sync import RULED_OUT
from passdown.records import replace

_MOST_FACTS: Final = 1_000


def with_events(handoff: Handoff, events: Sequence[EventFacts]) -> Handoff:
    """Return a handoff with the facts of its events, which `without_events` left out."""
    kinds = make_digest(merge_events(events), 0, _MOST_FACTS).kinds

    def texts(kind: FactKind) -> tuple[str, ...]:
        found = kinds[kind].facts
        return tuple(one.text for one in (found if kind is FactKind.NEXT else reversed(found)))

    decisions = (HandoffDecision(one.key, one.text) for one in reversed(kinds[FactKind.DECISION].facts))
    rules = (HandoffDecision("", text.removeprefix(RULED_OUT)) for text in texts(FactKind.CONSTRAINT))
    return replace(
        handoff,
        branch=next((one.branch for one in events if one.branch), ""),
        now=next(iter(texts(FactKind.NOW)), ""),
        done=texts(FactKind.DONE),
        next=texts(FactKind.NEXT),
        choices=(*decisions, *rules),
        questions=texts(FactKind.QUESTION),
        more=tuple((kind, texts(kind)) for kind in CARRIED),
        feedback=texts(FactKind.FEEDBACK),
    )
