"""Find what was observed of sessions that recorded nothing: commits, edited files, and last messages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from passdown import layout
from passdown.core.briefs.brief_input import CommitSubject, Nearby
from passdown.core.briefs.receipts import sort_receipts
from passdown.core.facts import Fact
from passdown.core.fold import Table, Tables
from passdown.core.ids import kebab
from passdown.core.kinds import INHERITED, FactKind
from passdown.core.merge.merge import Digest, NewestFacts
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError
from passdown.ports.index import NearFacts, Neighbourhood
from passdown.ports.repository import UNKNOWN
from passdown.records import replace
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Paths

_COMMITS: Final = 50
"""How many of the newest commits git is asked about."""
_FILES: Final = 500
"""How many files count as at hand."""
_COUNTS: Final = 1_048_576
"""How large the counts of imported sessions by file may be to be read."""
_SESSIONS: Final = 2
"""How many sessions count: the session and the one it continues."""


def find_last_words(chain: Iterable[Account]) -> Fact | None:
    """Return the last message of the agent, from the first of these sessions that has one (C135)."""
    return next((fact for one in chain for fact in one.of(FactKind.WORDS)[-1:]), None)


def count_edits(chain: Iterable[Account]) -> Mapping[str, int]:
    """Count how often these sessions edited each file."""
    counts: Counter[str] = Counter()
    for one in chain:
        counts.update({fact.text: fact.edits for fact in one.of(FactKind.FILE)})
    return counts


def describe_commits(workspace: Workspace, receipts: Iterable[Fact]) -> tuple[CommitSubject, ...]:
    """Return the newest commits that are on a branch here, newest first, with their subjects from git."""
    facts = sorted(receipts, key=lambda fact: fact.at, reverse=True)
    known = {fact.text: fact for fact in sort_receipts(facts).commits[:_COMMITS]}
    found = workspace.history.describe([*known]) if known else ()
    own = own_paths(workspace.settings.paths)
    return tuple(
        CommitSubject(
            known[one.id], one.subject, tuple(path for path in one.files if not _is_below(path, own))
        )
        for one in found
    )


def without_own_files(workspace: Workspace, files: Table) -> Table:
    """Return the files without Passdown's own documents, which are not the agent's work."""
    own = own_paths(workspace.settings.paths)
    return {key: fact for key, fact in files.items() if not _is_below(fact.text, own)}


def own_paths(paths: Paths) -> Sequence[str]:
    """Return the paths that our own commits change, which say nothing about the work."""
    shared = (paths.archive, paths.handoffs, paths.events, paths.event_archive, paths.view)
    return (paths.ledgers, paths.runtime, *shared)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)


# --- the files that a session has at hand, and the facts that name them (C132) ---------------------


def find_neighbourhood(
    workspace: Workspace, chain: Sequence[Account], track: str, until: datetime
) -> Neighbourhood:
    """Find what a session works on; `chain` is the session and those it continues."""
    branch = workspace.repository.branch()
    track = kebab(track) if track else ""
    kinds = (FactKind.FILE, FactKind.READ)
    seen = [fact.text for one in chain[:_SESSIONS] for kind in kinds for fact in reversed(one.of(kind))]
    last = () if seen else workspace.index.files_of_last(track, branch, until)
    files = tuple(dict.fromkeys([*seen, *_list_changed(workspace, branch), *last]))[:_FILES]
    return Neighbourhood(files, track, branch)


def count_past_edits(workspace: Workspace, files: Sequence[str]) -> int:
    """Count how often imported sessions edited these files (C134); of history, only the counts are read."""
    documents, path = workspace.git_documents, layout.history_counts()
    if not files or documents is None or not documents.exists(path):
        return 0
    from passdown.core.formats.history import sum_counts  # few projects have history

    with suppress(StorageError):  # it was just removed
        if documents.size(path) <= _COUNTS:
            return sum_counts(documents.read(path), files)
    return 0


def _list_changed(workspace: Workspace, branch: str) -> Sequence[str]:
    """List the files that differ from the integration branch; on that branch itself, git is not asked."""
    base = workspace.repository.integration_branch(workspace.settings.view.branch)
    if base is None or branch in {base, UNKNOWN}:
        return ()
    return workspace.commit_contents.changed_since(base)


def add_facts(digest: Digest, near: NearFacts) -> Digest:
    """Add near facts to the newest ones, however old they are."""
    kinds = dict(digest.kinds)
    for kind in INHERITED:
        facts, total = kinds[kind]
        known = {(fact.key, fact.text) for fact in facts}
        found = [one for one in near.facts if one.kind == kind and (one.key, one.text) not in known]
        kinds[kind] = NewestFacts((*facts, *found), max(total, len(facts) + len(found)))
    return replace(digest, kinds=kinds)


def judge_near(near: NearFacts, tables: Tables) -> Nearby:
    """Decide which facts are near; facts that are not in the index are checked here."""
    facts = (fact for kind in INHERITED for fact in tables[kind].values() if not fact.event or fact.branch)
    found = {(fact.kind, fact.text) for fact in facts if near.files.are_in(fact.text)}
    return Nearby(named=near.named | found, of_track=near.of_track, of_branch=near.of_branch)
