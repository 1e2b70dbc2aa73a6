"""Search ledgers, archived sessions, events, streams and loops."""

from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import MILLIS, Form, describe
from passdown.actions.callers import Caller
from passdown.actions.log.events import read_since
from passdown.core.project.search_query import DocumentKind
from passdown.ports.search import SearchFilter
from passdown.records import record
from passdown.services.project import search as service
from passdown.services.project.search import SearchRequest
from passdown.services.project.status import IndexState
from passdown.wiring.searches import open_search_scope


def _tell_index(index: IndexState) -> dict[str, object]:
    return {"state": index.health.value, "changes": index.changes}


INDEX_STATE: Final = Form(_tell_index)
"""How answers tell whether the search index has everything."""


@record
class DocumentQuery:
    """What to search for, and how much of it to tell."""

    text: Annotated[str, "The words."]
    kinds: Annotated[tuple[str, ...], "Only documents of these kinds; empty for all."] = ()
    agent: Annotated[str, "Only what this agent wrote."] = ""
    since: Annotated[str, "Only documents since a date or time, or an age."] = ""
    limit: Annotated[int, "How many answers."] = 10
    size: Annotated[int, "How long the line of an answer may be."] = 200


@record
class FoundDocument:
    """A document that was found."""

    kind: Annotated[DocumentKind, "What it is."]
    name: Annotated[str, "The event's id, or what the document is called."]
    path: Annotated[str, "The file it lies in, from the root."]
    at: Annotated[datetime, "When it was written.", MILLIS]
    agent: Annotated[str | None, "Who wrote it, if that is known."]
    is_retracted: Annotated[bool, "Whether it was taken back."]
    line: Annotated[int, "The number of the line that shows why it was found."]
    text: Annotated[str, "That line, cut."]
    words: Annotated[tuple[str, ...], "The words of it that were searched for."]
    command: Annotated[str, "The command that shows all of it."]


@record
class FoundDocuments:
    """What was found: ledgers of running sessions, then the best."""

    matches: Annotated[tuple[FoundDocument, ...], "As many as were asked for."]
    total: Annotated[int, "How many there are."]
    is_least: Annotated[bool, "Whether there may be still more."]


def search(caller: Caller, request: DocumentQuery) -> FoundDocuments:
    """Return the documents that hold every word."""
    since = read_since(request.since, caller.workspace.clock.now())
    wanted = SearchFilter(frozenset(map(DocumentKind, request.kinds)), request.agent, since)
    scope = open_search_scope(caller.workspace, cached=caller.around.limits.is_cached)
    asked = SearchRequest(text=request.text, wanted=wanted, limit=request.limit, size=request.size)
    found = service.search(caller.workspace, scope, asked, caller.around.progress)
    matches = tuple(describe(FoundDocument, one, one.snippet) for one in found.matches)
    return FoundDocuments(matches=matches, total=found.total, is_least=found.is_least)
