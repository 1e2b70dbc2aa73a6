"""Archive the journals of ended sessions, a portion at a time, so that a start reads few journals (C129)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, NamedTuple

from passdown.core.formats.journal import Scope
from passdown.core.json_text import dump
from passdown.core.sessions.session_facts import Account, is_final_end
from passdown.core.times import is_older
from passdown.core.work.ended_sessions import needs_nothing
from passdown.errors import CacheError
from passdown.services.log.events import update_portion
from passdown.services.sessions.journals import KEPT_LIVE, newest_first, read_account
from passdown.services.workspace.workspaces import Workspace, list_other_roots

ELSEWHERE: Final = timedelta(days=30)
"""The age from which events on a branch other than the integration branch are enough."""


class Portion(NamedTuple):
    """How many journals one call looks at, and how many it archives."""

    looked: int
    moved: int


AFTER_ANSWER: Final = Portion(100, 20)
BY_COMMAND: Final = Portion(2_000, 500)


def put_away_ended(workspace: Workspace) -> int:
    """Archive a portion of the journals of ended sessions; return how many.

    1. The ones that grew last stay, and in every checkout the one of its last session, which the next one
       continues.
    2. The session needs nothing more, and its events are in a commit of the integration branch, or old and in
       a commit of another branch. Without git, or where git ignores events, they need only exist.
    3. A hook starts no git: it counts only events that are known to be committed.
    """
    names = newest_first(workspace, workspace.journals.sessions(Scope.LIVE))
    if len(names) <= KEPT_LIVE:
        return 0
    portion = AFTER_ANSWER if workspace.is_hook else BY_COMMAND
    moved = 0
    with suppress(CacheError):  # without the index of events, nothing is known to be published
        update_portion(workspace.log, workspace.index)
        judge = _Judge(workspace, names)
        for name in _choose(workspace, names[KEPT_LIVE:], portion.looked):  # 1
            account = judge.find_settled(name)
            if account is not None and workspace.journals.put_away(name, account.last_seq):
                moved += 1
                if moved == portion.moved:
                    break
    return moved


def _choose(workspace: Workspace, names: Sequence[str], most: int) -> Iterator[str]:
    """Yield a portion of the ended sessions; if they are many, each call looks at others."""
    start = int(workspace.now().timestamp()) % len(names) if len(names) > most else 0
    for name in (*names[start:], *names[:start])[:most]:
        last = workspace.journals.last(name)
        if last is not None and is_final_end(last.fact):
            yield name


class _Judge:
    """Decides for one session after another; what is the same for all is found once."""

    def __init__(self, workspace: Workspace, names: Sequence[str]) -> None:
        self._workspace = workspace
        self._names = names
        self._lasts = dict[str, str]()
        self._roots = {workspace.root, *(root for root, _ in list_other_roots(workspace.repository))}
        repository = workspace.repository
        self._has_git = repository.is_there()
        integration = repository.integration_branch(workspace.settings.view.branch)
        self._is_integration = integration is not None and repository.branch() == integration

    def find_settled(self, name: str) -> Account | None:
        """Return a session that needs nothing more; None for any other."""
        workspace = self._workspace
        account = read_account(workspace, name)
        if self._is_last_here(account):  # 1
            return None
        covered = workspace.index.published(name).line
        if not needs_nothing(account, workspace.journals.read(name), covered):  # 2
            return None
        return account if not covered or self._is_safe(account) else None

    def _is_last_here(self, account: Account) -> bool:
        root = account.start.checkout
        if root not in self._roots:
            return False
        if root not in self._lasts:
            texts = (f'"checkout":{written}' for written in (dump(root), json.dumps(root)))
            here = {*self._workspace.journals.mentioning(Scope.LIVE, *texts)}
            self._lasts[root] = next((name for name in self._names if name in here), "")
        return self._lasts[root] == account.session

    def _is_safe(self, account: Account) -> bool:
        """Return whether the events of a session cannot get lost with a branch (2)."""
        if not self._has_git:
            return True
        workspace, ended_at = self._workspace, account.ended_at
        if left := self._find_uncommitted(account.session):
            return not workspace.is_hook and workspace.repository.is_ignored(left[0])
        is_old = ended_at is not None and is_older(ended_at, workspace.now(), ELSEWHERE)
        return self._is_integration or is_old

    def _find_uncommitted(self, session: str) -> Sequence[str]:
        """Return a file of each event of a session that is not known to be committed (3)."""
        workspace = self._workspace
        folder = workspace.settings.paths.events
        left: Mapping[str, str] = {
            f"{folder}/{path}": path for path in workspace.index.uncommitted_of(session)
        }
        if not left or workspace.is_hook:
            return [*left]
        committed = workspace.tracking.committed_among([*left])
        workspace.index.note_committed([left[path] for path in committed])
        return sorted({*left} - committed)
