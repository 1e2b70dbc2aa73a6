"""Find the files that a session has at hand, and the facts that name them (C132)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from passdown.core.briefs.brief_input import Nearby
from passdown.core.fold import Tables
from passdown.core.ids import kebab
from passdown.core.kinds import INHERITED, FactKind
from passdown.core.merge.merge import Digest, NewestFacts
from passdown.core.sessions.session_facts import Account
from passdown.ports.index import NearFacts, Neighbourhood
from passdown.ports.repository import UNKNOWN
from passdown.records import replace
from passdown.services.workspace.workspaces import Workspace

_MOST: Final = 500
"""How many files are at hand."""
_SESSIONS: Final = 2
"""The session, and the one that it continues."""


def find_near(workspace: Workspace, chain: Sequence[Account], track: str, until: datetime) -> NearFacts:
    """Find what is near the work of a session; `chain` is the session and those it goes on from."""
    branch = workspace.repository.branch()
    track = kebab(track) if track else ""
    kinds = (FactKind.FILE, FactKind.READ)
    seen = [fact.text for one in chain[:_SESSIONS] for kind in kinds for fact in reversed(one.of(kind))]
    last = () if seen else workspace.index.files_of_last(track, branch, until)
    files = tuple(dict.fromkeys([*seen, *_list_changed(workspace, branch), *last]))[:_MOST]
    return workspace.index.near(Neighbourhood(files, track, branch), until)


def _list_changed(workspace: Workspace, branch: str) -> Sequence[str]:
    """List the files that the branch changes against the integration branch; git is not asked on that one."""
    base = workspace.repository.integration_branch(workspace.settings.view.branch)
    if base is None or branch in {base, UNKNOWN}:
        return ()
    return workspace.commit_contents.changed_since(base)


def add_facts(digest: Digest, near: NearFacts) -> Digest:
    """Add facts that are near to the newest ones, however old they are."""
    kinds = dict(digest.kinds)
    for kind in INHERITED:
        facts, total = kinds[kind]
        known = {(fact.key, fact.text) for fact in facts}
        found = [one for one in near.facts if one.kind == kind and (one.key, one.text) not in known]
        kinds[kind] = NewestFacts((*facts, *found), max(total, len(facts) + len(found)))
    return replace(digest, kinds=kinds)


def judge_near(near: NearFacts, tables: Tables) -> Nearby:
    """Say which facts are near; those that the index does not know are read."""
    facts = (fact for kind in INHERITED for fact in tables[kind].values() if not fact.event or fact.branch)
    found = {(fact.kind, fact.text) for fact in facts if near.files.are_in(fact.text)}
    return Nearby(named=near.named | found, of_track=near.of_track, of_branch=near.of_branch)
