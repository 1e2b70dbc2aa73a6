"""Read what people wrote into loop ledgers, and record it as facts (C105).

1. The content of a ledger is cached with the file's mark; an unchanged ledger is not read again.
2. A finished change is not read again, neither its state nor its ledgers.
3. Open feedback is recorded once, with the time of its turn, so that an answer on any machine is later.
4. Feedback is settled when a later turn names it, or when a person replaces it. It counts again if that is
   undone, for example because another branch is checked out.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, cast

from passdown import layout
from passdown.core.facts import Fact, Provenance, identify, identify_retracted
from passdown.core.fold import Table
from passdown.core.formats.change_states import ChangePhase, parse_change_state
from passdown.core.formats.loops import parse_loop
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.times import parse_instant, render_millis
from passdown.core.work.loop_feedback import LoopFeedback, find_feedback, place_of
from passdown.errors import FormatError, StorageError
from passdown.ports.change_files import NO_CHANGES
from passdown.ports.event_log import FileMark
from passdown.records import field, record, replace
from passdown.services.log.events import update_index
from passdown.services.sessions.journals import append_fact, read_account
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

NAMED: Final = "named"
REPLACED: Final = "replaced"
"""Why a feedback is settled: a later turn names it, or the text in its slot was replaced."""
PERSON: Final = "person"
"""The author of text in a feedback slot."""

_VERSION: Final = 1
_KIND: Final = FactKind.FEEDBACK.value


class LedgerItems(NamedTuple):
    """The feedback in a ledger, and the file's mark when it was read."""

    mark: FileMark
    items: tuple[LoopFeedback, ...]


@record
class LoopReadings:
    """The last reading of the loop ledgers here."""

    mark: Annotated[int, "The mark of the folder of changes."] = NO_CHANGES
    changes: Annotated[tuple[str, ...], "The changes that are not finished."] = ()
    states: Annotated[Mapping[str, FileMark], "The states that were read, by change."] = field(
        default_factory=dict[str, FileMark]
    )
    ledgers: Annotated[Mapping[str, LedgerItems], "The ledgers that were read, by change and loop."] = field(
        default_factory=dict[str, LedgerItems]
    )
    recorded: Annotated[Mapping[str, str], "When each feedback was recorded, by text."] = field(
        default_factory=dict[str, str]
    )
    over: Annotated[Mapping[str, str], "Settled feedback, `named` or `replaced`, by text."] = field(
        default_factory=dict[str, str]
    )

    @property
    def items(self) -> tuple[LoopFeedback, ...]:
        """All feedback, ledger by ledger."""
        return tuple(item for one in self.ledgers.values() for item in one.items)

    def find_over(self, texts: Collection[str]) -> Mapping[str, str]:
        """Return the feedback that is settled, and why: named by a turn, or replaced in its slot (4)."""
        slots = {item.text: item.is_named for item in self.items}
        places = {item.place for item in self.items}
        gone = {text: REPLACED for text in texts if text not in slots and place_of(text) in places}
        return {**gone, **{text: NAMED for text in texts if slots.get(text)}}


def read_loops(workspace: Workspace, also: Collection[str] = ()) -> LoopReadings:
    """Read the ledgers that have changed; `also` names changes to read even if they are finished."""
    known = _load(workspace)
    found = _look(workspace, known, also)
    if found != known:
        _save(workspace, found)
    return found


def _look(workspace: Workspace, known: LoopReadings, also: Collection[str]) -> LoopReadings:
    files = workspace.change_files
    mark = files.mark()
    if mark == NO_CHANGES:
        return replace(LoopReadings(), recorded=known.recorded, over=known.over)
    names = list(known.changes)
    if also or mark == 0 or mark != known.mark:
        ended = {*_load_ended(workspace)} - {*also}
        names = [name for name in files.changes() if name not in ended]
    looked = [_look_at(workspace, known, name) for name in names]
    finished = [one.change for one in looked if one.is_finished]
    if finished or also:
        _save_ended(workspace, {*_load_ended(workspace), *finished} - ({*also} - {*finished}))
    looked = [one for one in looked if not one.is_finished]
    gone = tuple(f"{name}/" for name in finished)
    return LoopReadings(
        mark=mark,
        changes=tuple(one.change for one in looked),
        states={one.change: one.state for one in looked if one.state},
        ledgers={name: items for one in looked for name, items in one.ledgers.items()},
        recorded={text: at for text, at in known.recorded.items() if not text.startswith(gone)},
        over={text: why for text, why in known.over.items() if not text.startswith(gone)},
    )


class _LookedAt(NamedTuple):
    """A change that was read."""

    change: str
    state: FileMark | None
    is_finished: bool = False
    ledgers: Mapping[str, LedgerItems] = MappingProxyType({})


def _look_at(workspace: Workspace, known: LoopReadings, change: str) -> _LookedAt:
    marks = workspace.change_files.files(change)
    state = marks.get(layout.CHANGE_STATE)
    if state is not None and state != known.states.get(change) and _is_finished(workspace, change):  # 2
        return _LookedAt(change, state, is_finished=True)
    ledgers: dict[str, LedgerItems] = {}
    for path, mark in marks.items():
        if loop := layout.loop_of(path):
            name = f"{change}/{loop}"
            before = known.ledgers.get(name)
            is_same = before is not None and before.mark == mark  # 1
            ledgers[name] = before if is_same and before else _read(workspace, change, path, mark)
    return _LookedAt(change, state, ledgers=ledgers)


def _is_finished(workspace: Workspace, change: str) -> bool:
    data = workspace.change_files.read(change, layout.CHANGE_STATE) or b""
    try:
        return parse_change_state(data.decode("utf-8", "replace")).phase is ChangePhase.FINISHED
    except FormatError:
        return False


def _read(workspace: Workspace, change: str, path: str, mark: FileMark) -> LedgerItems:
    data = workspace.change_files.read(change, path) or b""
    name = f"{change}/{layout.loop_of(path)}"
    try:
        return LedgerItems(mark, tuple(find_feedback(name, parse_loop(data.decode("utf-8", "replace")))))
    except FormatError:  # `passdown check` reports it
        return LedgerItems(mark, ())


# --- recording ------------------------------------------------------------------------------------


def record_feedback(
    workspace: Workspace, account: Account, also: Collection[str] = (), by_account: str = ""
) -> Account:
    """Record new and settled feedback since the ledgers were last read; return the updated account.

    `by_account` is the text of the feedback that the session itself has just left; any other is a person's.
    Raises a StorageError only if a fact could not be journalled.
    """
    readings = read_loops(workspace, also)
    waiting = [item for item in readings.items if not item.is_named]
    new = [item for item in waiting if item.text not in readings.recorded]
    again = [item for item in waiting if item.text in readings.over]  # 4
    known = frozenset[str]()
    if new:
        update_index(workspace.log, workspace.index)
        known = workspace.index.retracted(_KIND, [item.text for item in new])
    over = readings.find_over([text for text in readings.recorded if text not in readings.over])
    if not (new or again or over):
        return account
    said = [
        *(
            NewFact(FactKind.FEEDBACK, item.text, origin=_origin(workspace, item, account, by_account))
            for item in new
            if item.text not in known
        ),
        *(NewFact(FactKind.FEEDBACK, item.text) for item in again),
        *(NewFact(FactKind.RETRACTION, text, _KIND, why) for text, why in over.items()),
    ]
    for one in said:
        append_fact(workspace, account, one, Provenance.OBSERVED)
    now = render_millis(workspace.now())
    back = {item.text for item in again}
    recorded = {**readings.recorded, **{item.text: now for item in new}}
    ended = {**{text: why for text, why in readings.over.items() if text not in back}, **over}
    _save(workspace, replace(readings, recorded=recorded, over=ended))
    return read_account(workspace, account.session)


def _origin(workspace: Workspace, item: LoopFeedback, account: Account, by_account: str) -> Fact | None:
    """Return an origin with the time of the turn (3), or None if that is unknown or in the future."""
    if item.at is None or item.at > workspace.now():
        return None
    if item.text == by_account:
        return Fact(_KIND, item.text, item.at, account.agent, session=account.session)
    return Fact(_KIND, item.text, item.at, PERSON, provenance=Provenance.OBSERVED)


# --- the cached reading ---------------------------------------------------------------------------


def _load(workspace: Workspace) -> LoopReadings:
    """Return the cached reading; an empty one if it cannot be used."""
    path = f"{workspace.settings.paths.runtime}/{layout.LOOP_READINGS}"
    try:
        return _parse(json.loads(workspace.documents.read(path)))
    except (StorageError, ValueError, TypeError, KeyError, RecursionError):
        return LoopReadings()


def list_feedback(workspace: Workspace) -> Iterator[Fact]:
    """Yield the feedback in the loop ledgers that no turn names, whether it was recorded or not."""
    readings, now = read_loops(workspace), workspace.now()
    for item in readings.items:
        if not item.is_named:
            at = item.at or parse_instant(readings.recorded.get(item.text, "")) or now
            yield Fact(_KIND, item.text, min(at, now), PERSON, provenance=Provenance.OBSERVED)


def add_waiting(workspace: Workspace, known: Table, settled: Iterable[Fact]) -> Table:
    """Add open feedback from the loop ledgers, and leave out what they show to be settled (C105)."""
    over = read_loops(workspace).find_over([fact.text for fact in known.values()])
    kept = {key: fact for key, fact in known.items() if fact.text not in over}
    found = {identify(fact): fact for fact in list_feedback(workspace)}
    answered = {identify_retracted(fact) for fact in settled if fact.key == FactKind.FEEDBACK}
    new = {key: fact for key, fact in found.items() if key not in kept and key not in answered}
    ended = workspace.index.retracted(_KIND, [fact.text for fact in new.values()])
    return {**kept, **{key: fact for key, fact in new.items() if fact.text not in ended}}


def _parse(found: object) -> LoopReadings:
    values = cast("Mapping[str, object]", found)
    if values["v"] != _VERSION:
        return LoopReadings()
    ledgers = cast("Mapping[str, tuple[list[int], list[tuple[int, str, bool, str]]]]", values["ledgers"])
    return LoopReadings(
        mark=int(cast("int", values["mark"])),
        changes=tuple(map(str, cast("list[object]", values["changes"]))),
        states={
            name: FileMark(*map(int, mark))
            for name, mark in cast("Mapping[str, list[int]]", values["states"]).items()
        },
        ledgers={
            name: LedgerItems(
                FileMark(*map(int, mark)),
                tuple(
                    LoopFeedback(
                        name, int(turn), str(text), bool(is_named), parse_instant(at) if at else None
                    )
                    for turn, text, is_named, at in items
                ),
            )
            for name, (mark, items) in ledgers.items()
        },
        recorded={str(text): str(at) for text, at in cast("Mapping[str, str]", values["recorded"]).items()},
        over={str(text): str(why) for text, why in cast("Mapping[str, str]", values["over"]).items()},
    )


def _save(workspace: Workspace, readings: LoopReadings) -> None:
    """Cache a reading; without it, the ledgers are read again."""
    values = {
        "v": _VERSION,
        "mark": readings.mark,
        "changes": readings.changes,
        "states": readings.states,
        "ledgers": {
            name: [one.mark, [*map(_render_item, one.items)]] for name, one in readings.ledgers.items()
        },
        "recorded": readings.recorded,
        "over": readings.over,
    }
    _write(workspace, layout.LOOP_READINGS, values)


def _render_item(item: LoopFeedback) -> Sequence[object]:
    return [item.turn, item.text, item.is_named, render_millis(item.at) if item.at else ""]


def _load_ended(workspace: Workspace) -> Iterable[str]:
    path = f"{workspace.settings.paths.runtime}/{layout.ENDED_CHANGES}"
    try:
        return [*map(str, cast("list[object]", json.loads(workspace.documents.read(path))))]
    except (StorageError, ValueError, TypeError, RecursionError):
        return ()


def _save_ended(workspace: Workspace, ended: set[str]) -> None:
    if ended != {*_load_ended(workspace)}:
        _write(workspace, layout.ENDED_CHANGES, sorted(ended))


def _write(workspace: Workspace, name: str, values: object) -> None:
    runtime = workspace.settings.paths.runtime
    with suppress(StorageError):
        ignore_folder(workspace.documents, runtime)
        workspace.documents.replace(f"{runtime}/{name}", json.dumps(values).encode(), local=True)
