"""Search ledgers, journals, archived sessions, events, streams, loops and history."""

from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import MILLIS, Form, describe
from passdown.actions.callers import Caller
from passdown.actions.log.events import read_since
from passdown.core.project.search_query import DocumentKind
from passdown.ports.search import SearchFilter
from passdown.records import record
from passdown.services.project import search as service
from passdown.services.project.search import SearchMatch, SearchRequest
from passdown.services.project.status import IndexState
from passdown.wiring.searches import open_search_scope


def _tell_index(index: IndexState) -> dict[str, object]:
    return {"state": index.health.value, "changes": index.changes}


INDEX_STATE: Final = Form(_tell_index)
"""How the state of the search index is encoded."""


@record
class DocumentQuery:
    """What to search for, and how much of it to return."""

    text: Annotated[str, "The words."]
    kinds: Annotated[tuple[str, ...], "Only documents of these kinds; empty for all."] = ()
    agent: Annotated[str, "Only what this agent wrote."] = ""
    since: Annotated[str, "Only documents since a date or time, or an age."] = ""
    limit: Annotated[int, "How many results."] = 10
    size: Annotated[int, "The maximum length of a result's line."] = 200


@record
class FoundDocument:
    """A document that was found."""

    kind: Annotated[DocumentKind, "Its kind."]
    name: Annotated[str, "The event's id, or the name of the document."]
    path: Annotated[str, "Its file, from the root."]
    at: Annotated[datetime, "When it was written.", MILLIS]
    agent: Annotated[str | None, "Who wrote it, if known."]
    is_retracted: Annotated[bool, "Whether it was retracted."]
    line: Annotated[int, "The number of the matching line."]
    text: Annotated[str, "The matching line, shortened."]
    words: Annotated[tuple[str, ...], "The words in it that match."]
    command: Annotated[str, "The command that shows the whole document."]
    is_local: Annotated[bool, "Whether it is only on this machine."]
    score: Annotated[float, "How well it matches; comparable among results with the same `rank`."]
    rank: Annotated[str, "How much of the question it holds: `all`, `forms`, `some` or `weak`."]
    is_weak: Annotated[bool, "Whether it holds too little of the question to be an answer."]
    why: Annotated[str, "Why it was found: what it holds, or which words it lacks."]


@record
class FoundDocuments:
    """The results, best first: those with all words, then those with some; weak ones come last."""

    matches: Annotated[tuple[FoundDocument, ...], "The results, up to the limit."]
    total: Annotated[int, "How many results there are in all."]
    weak_total: Annotated[int, "How many of them are weak."]
    is_least: Annotated[bool, "Whether there may be more than that."]


def search(caller: Caller, request: DocumentQuery) -> FoundDocuments:
    """Return the documents that answer a question, or contain the words of a query."""
    since = read_since(request.since, caller.workspace.clock.now())
    wanted = SearchFilter(frozenset(map(DocumentKind, request.kinds)), request.agent, since)
    scope = open_search_scope(caller.workspace, cached=caller.around.limits.is_cached)
    asked = SearchRequest(text=request.text, wanted=wanted, limit=request.limit, size=request.size)
    found = service.search(caller.workspace, scope, asked, caller.around.progress)
    matches = tuple(_describe(one) for one in found.matches)
    return FoundDocuments(matches=matches, total=found.total, weak_total=found.weak, is_least=found.is_least)


def _describe(match: SearchMatch) -> FoundDocument:
    return describe(FoundDocument, match, match.snippet, rank=match.rank.name.lower())
