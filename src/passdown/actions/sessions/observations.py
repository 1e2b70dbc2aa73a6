"""Record what a host's transcript and git show about a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from passdown.actions.answers import INLINE
from passdown.actions.callers import Caller, need_session, note_ledger_update
from passdown.core.kinds import FactKind
from passdown.records import record
from passdown.services.sessions import observations
from passdown.wiring.projects import open_hosts
from passdown.wiring.transcripts import open_source


@record
class ObserveRequest:
    """What to read besides git."""

    transcript: Annotated[Path | None, "The transcript of the session; null for git only."] = None
    host: Annotated[str, "The program that wrote it; empty to guess it from the name of the file."] = ""


@record
class ObservedFacts:
    """How many facts were new."""

    session: Annotated[str, "The session that was observed."]
    agent: Annotated[str, "The name of its agent."]
    counts: Annotated[Mapping[str, int], "How many of each kind; those shown to people come first.", INLINE]
    failed_tests: Annotated[int, "How many of the tests failed."]
    passed_over: Annotated[int, "How many lines of the transcript could not be read."]


def observe(caller: Caller, request: ObserveRequest) -> ObservedFacts:
    """Record what is new; nothing is recorded twice."""
    source, path = None, request.transcript
    if path:
        hosts = open_hosts()
        writer = hosts.find(request.host) if request.host else hosts.guess({"transcript_path": path}, {})
        source = open_source(Path(caller.workspace.root), path, writer)
    found = observations.observe(caller.workspace, need_session(caller), source)
    note_ledger_update(caller, found.kept)
    kinds = sorted(
        (kind for kind in FactKind if kind.row.observed_as[1]), key=lambda kind: not kind.row.observed_as[0]
    )
    return ObservedFacts(
        session=found.kept.account.session,
        agent=found.kept.account.agent,
        counts={kind.row.observed_as[1]: found.counts[kind] for kind in kinds},
        failed_tests=found.failed,
        passed_over=found.passed_over,
    )
