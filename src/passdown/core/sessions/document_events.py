"""Turn other tools' documents into events: equal documents make equal events (C147).

1. The event of a document has the time of the document, the author it names, and no `after`: it knows no
   other event. So the same document produces the same bytes in every clone.
2. Its file name contains the hash of these bytes, so different events never share a name.
3. A document that is too large for one event is split; secrets are removed.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

from passdown.core.digests import sha256
from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact, make_key
from passdown.core.formats.events import MAX_CHARS, Event, EventCheckpoint, render_event
from passdown.core.formats.streams import Checkpoint, Stream
from passdown.core.ids import event_file_name, fold_id
from passdown.core.kinds import CARRIED, FactKind
from passdown.core.merge.event_facts import ID_SIZE, EventRank, source_of
from passdown.core.sessions.handoff_streams import NO_STEP, STARTED, from_stream
from passdown.core.sessions.handoffs import Handoff, facts_to_carry
from passdown.core.sessions.secrets import redact_all
from passdown.records import record, replace

TYPE: Final = "document"
REASON: Final = "taken_in"
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of a document without one."""

MOST_BYTES: Final = 1_048_576
"""The size of the largest event; a larger one would not be read."""

_ROOM: Final = MAX_CHARS - 2_000
"""How many characters of facts fit into one event, beside its front matter."""
_NAME: Final = 40
_LISTS: Final = ("this_session", "decisions", "constraints", "open_questions", "checkpoints", "more")


@record
class StreamContent:
    """The content of another tool's document."""

    author: Annotated[str, "Its author, or else its name."]
    at: Annotated[datetime, "When it was last saved, according to itself."]
    event: Annotated[Event, "Everything in it, as an event without a time and an id."]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Its facts, in the form they have in events."""
        return source_of(self.event, EventRank(self.at, self.author, "", "")).facts


def read_stream_content(stream: Stream, name: str) -> StreamContent:
    """Read the content of a stream document, without the placeholders of empty sections."""
    handoff = from_stream(stream)
    author = handoff.agent or name
    questions = (*handoff.questions, *stream.unknowns)
    around = stream.checkpoint or Checkpoint()
    phases = tuple(
        EventCheckpoint(
            phase=one.phase,
            status=one.state,
            updated=around.last_updated,
            name=one.name,
            agent=around.agent or None,
            task=around.task or None,
        )
        for one in handoff.phases
        if one.name
    )
    said = replace(handoff, done=tuple(one for one in handoff.done if one != STARTED), questions=questions)
    event = replace(_write_event(said, author), stream=name, checkpoints=phases)
    return StreamContent(author=author, at=handoff.at or NO_TIME, event=event)


def _write_event(handoff: Handoff, author: str) -> Event:
    carried = facts_to_carry(handoff)
    texts = [part for one in carried for part in (one.key, one.text, one.because)]
    clean, _ = redact_all([*texts, *handoff.done])
    parts = iter(clean)
    said = [one._replace(key=next(parts), text=next(parts), because=next(parts)) for one in carried]

    def texts_of(kind: FactKind) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.text for one in said if one.kind is kind))

    steps = next(iter(texts_of(FactKind.NEXT)), "")
    decided = {
        make_key(one.key): Pair(key=one.key, value=f"{one.text} ({one.because})" if one.because else one.text)
        for one in said
        if one.kind is FactKind.DECISION
    }
    return Event(
        agent=author,
        branch=handoff.branch or "unknown",
        type=TYPE,
        reason=REASON,
        goal=next(iter(texts_of(FactKind.GOAL)), None),
        now=next(iter(texts_of(FactKind.NOW)), None),
        next=tuple(step for step in steps.split("\n") if step and step != NO_STEP) or None,
        this_session=tuple(dict.fromkeys(parts)),
        decisions=tuple(decided.values()),
        constraints=texts_of(FactKind.CONSTRAINT),
        open_questions=texts_of(FactKind.QUESTION),
        more=tuple((kind.row.event_key, found) for kind in CARRIED if (found := texts_of(kind))),
    )


def split_content(content: StreamContent) -> Sequence[Event]:
    """Return the events for a document's content, each small enough for one file (1, 3)."""
    whole = content.event
    if len(render_event(whole)) <= _ROOM:
        return [replace(whole, ts=content.at)]
    frame = replace(whole, goal=None, now=None, next=None, **dict.fromkeys(_LISTS, ()))
    events = [replace(frame, **{name: getattr(whole, name)}) for name in ("goal", "now", "next")]
    events += [replace(frame, **{name: part}) for name in _LISTS for part in _parts(frame, name, whole)]
    return [replace(one, ts=content.at) for one in events if one != frame]


def _parts(frame: Event, name: str, whole: Event) -> Iterator[tuple[object, ...]]:
    """Split a list into parts that fit; an entry that is too large gets a part of its own."""
    part: tuple[object, ...] = ()
    size = 0
    for entry in getattr(whole, name):
        own = len(render_event(replace(frame, **{name: (entry,)})))
        if part and size + own > _ROOM:
            yield part
            part, size = (), 0
        part, size = (*part, entry), size + own
    yield part


def name_document_file(event: Event, data: bytes) -> str:
    """Return the file name of an event, with the hash of its bytes (2)."""
    digest = sha256(data).hexdigest()[:ID_SIZE]
    author = fold_id(event.agent or "")[:_NAME]
    return event_file_name(event.ts or NO_TIME, f"{author}-{digest}")
