"""What was seen of the work of sessions that recorded nothing: commits, edited files, and last words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from passdown.core.briefs.brief_input import CommitSubject
from passdown.core.briefs.receipts import sort_receipts
from passdown.core.facts import Fact
from passdown.core.fold import Table
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Paths

_COMMITS: Final = 50
"""How many of the newest commits git is asked about."""


def find_last_words(chain: Iterable[Account]) -> Fact | None:
    """Return what the agent of the first of these sessions that has any words said last (C135)."""
    return next((fact for one in chain for fact in one.of(FactKind.WORDS)[-1:]), None)


def count_edits(chain: Iterable[Account]) -> Mapping[str, int]:
    """Count how often these sessions edited each file."""
    counts: Counter[str] = Counter()
    for one in chain:
        counts.update({fact.text: fact.edits for fact in one.of(FactKind.FILE)})
    return counts


def describe_commits(workspace: Workspace, receipts: Iterable[Fact]) -> tuple[CommitSubject, ...]:
    """Return the newest commits that a branch has here, the newest first, with their subjects from git."""
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
    """Leave out the documents of Passdown: no agent edits them as its work."""
    own = own_paths(workspace.settings.paths)
    return {key: fact for key, fact in files.items() if not _is_below(fact.text, own)}


def own_paths(paths: Paths) -> Sequence[str]:
    """Name what our own commits change: they say nothing about the work."""
    shared = (paths.archive, paths.handoffs, paths.events, paths.event_archive, paths.view)
    return (paths.ledgers, paths.runtime, *shared)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)
