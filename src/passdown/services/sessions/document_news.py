"""Find facts of a document that no event and no journal of this machine has (C147)."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from passdown.core.facts import Fact, tell
from passdown.core.formats.journal import Scope, facts_of
from passdown.core.json_text import dump
from passdown.core.merge.event_facts import source_of
from passdown.core.sessions.journal_keys import told_key, told_names
from passdown.services.log.events import update_index
from passdown.services.log.history import EventTexts, parse_text
from passdown.services.sessions.journals import read_open
from passdown.services.workspace.workspaces import Workspace

_RECENT: Final = 100
_HELD: Final = 1_000


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
    told = {name for fact in _list_told(workspace, rest, stream) for name in told_names(fact)}  # 2
    return [fact for fact in rest if not told.issuperset(told_names(fact))]


def _list_told(workspace: Workspace, facts: Collection[Fact], stream: str) -> Iterator[Fact]:
    digest = workspace.index.digest(_HELD)
    yield from (fact for newest in digest.kinds.values() for fact in newest.facts)
    texts = EventTexts(workspace.log)
    for place in workspace.index.places_of(stream, _RECENT):
        yield from source_of(parse_text(texts.read(place)), place.rank).facts
    words = [dump(line)[1:-1] for fact in facts for line in fact.text.split("\n")]
    unpublished = (one.session for one in read_open(workspace))
    keys = [told_key(name) for fact in facts for name in told_names(fact)]
    mentioning = workspace.journals.mentioning(Scope.ALL, *words, keys=keys)
    for session in dict.fromkeys((*unpublished, *mentioning)):
        yield from map(tell, facts_of(session, workspace.journals.read(session)))
