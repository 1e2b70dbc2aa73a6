"""Find facts of a document that no event and no journal of this machine has (C147)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from passdown.core.facts import Fact, identify, tell
from passdown.core.formats.journal import Scope, facts_of
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import source_of
from passdown.services.log.events import update_index
from passdown.services.log.history import EventTexts, parse_text
from passdown.services.sessions.journals import read_open
from passdown.services.workspace.workspaces import Workspace

_RECENT: Final = 100
_HELD: Final = 1_000

ToldName = tuple[str, str, str]
"""The content of a fact: its kind, the key of a decision or phase, and the text on one line."""


def find_news(workspace: Workspace, facts: Sequence[Fact], stream: str = "") -> Sequence[Fact]:
    """Return the facts of a document that are not known here, whether in force or not.

    1. Nearly all facts are found in the index, by their exact text.
    2. Some facts differ in a document: line breaks are gone, or later next steps are missing. So the others
       are compared with the facts in force, the last events of the stream, and journals.
    """
    update_index(workspace.log, workspace.index)
    stated = workspace.index.stated(facts)  # 1
    rest = [fact for fact in facts if fact not in stated]
    if not rest:
        return ()
    told = {name for fact in _list_told(workspace, rest, stream) for name in _names_of(fact)}  # 2
    return [fact for fact in rest if not told.issuperset(_names_of(fact))]


def _list_told(workspace: Workspace, facts: Iterable[Fact], stream: str) -> Iterator[Fact]:
    digest = workspace.index.digest(_HELD)
    yield from (fact for newest in digest.kinds.values() for fact in newest.facts)
    texts = EventTexts(workspace.log)
    for place in workspace.index.places_of(stream, _RECENT):
        yield from source_of(parse_text(texts.read(place)), place.rank).facts
    words = [dump(line)[1:-1] for fact in facts for line in fact.text.split("\n")]
    unpublished = (one.session for one in read_open(workspace))
    for session in dict.fromkeys((*unpublished, *workspace.journals.mentioning(Scope.ALL, *words))):
        yield from map(tell, facts_of(session, workspace.journals.read(session)))


def _names_of(fact: Fact) -> Iterator[ToldName]:
    if fact.kind == FactKind.NEXT:  # each step is a fact
        yield from ((fact.kind, "", _fold(step)) for step in fact.steps)
    else:
        yield fact.kind, "" if fact.kind == FactKind.CHECKPOINT else _fold(identify(fact)), _fold(fact.text)


def _fold(text: str) -> str:
    return " ".join(text.split())
