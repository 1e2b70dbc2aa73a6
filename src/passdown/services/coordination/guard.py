"""Judge commits: no session commits files that another session holds or took over (C89)."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.leases import FREE, MINE, PathVerdict
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.times import seconds_words
from passdown.errors import StorageError, UsageError
from passdown.ports.commit_contents import CommitContent
from passdown.ports.coordination import Coordination
from passdown.records import record
from passdown.services.coordination.edits import find_age
from passdown.services.operations.operations import make_id
from passdown.services.sessions.liveness import find_named_session
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import PeoplePolicy

HOLD_SECONDS: Final = 120.0
"""How long files that passed are kept whatever happens, so that nobody takes them before the commit."""

_CHECK: Final = "check"
_PAGE: Final = 1_000


class Committer(NamedTuple):
    """Who commits, according to the environment."""

    ids: Sequence[str] = ()
    """The session's ids; the first known one counts."""
    is_agent: bool = False
    """Whether it is an agent, even if its session is unknown."""


@record
class GuardResult:
    """The result of the guard."""

    conflicts: Annotated[
        tuple[PathVerdict, ...], "The paths that another session holds, or took in between."
    ] = ()
    is_stopped: Annotated[bool, "Whether the commit must not be made."] = False
    trouble: Annotated[str, "Why the engine could not be asked; the last known state was used instead."] = ""


@record
class JudgedCommit:
    """An existing commit, and its conflicts."""

    commit: str
    conflicts: tuple[PathVerdict, ...] = ()


class PushedRefs(NamedTuple):
    """What a push changes on a remote."""

    tips: Sequence[str]
    """The commits that its branches and tags will have."""
    known: Sequence[str] = ()
    """The commits that they have now."""


@record
class PushResult:
    """The result of the guard for a push."""

    refused: Annotated[tuple[JudgedCommit, ...], "The commits that change files of another session."] = ()
    is_stopped: Annotated[bool, "Whether the push must not be made."] = False
    merged_views: Annotated[
        tuple[str, ...], "The last commits of branches whose view git merged and nobody regenerated."
    ] = ()


def check_commit(workspace: Workspace, committer: Committer) -> GuardResult:
    """Judge the commit that git is about to make.

    1. Without coordination, everything passes.
    2. An agent whose session is unknown holds nothing.
    3. A person is only warned, unless the settings say otherwise.
    4. If the engine does not answer or is read-only, the last known state decides, and no file is kept.
       Raises a StorageError if that cannot be read either.
    """
    account = find_named_session(workspace, committer.ids)
    session = account.session if account else ""  # 2
    trouble = ""
    try:
        coordination = workspace.find_coordination()
        content = workspace.commit_contents.staged() if coordination else None
        if coordination is None or content is None or not content.paths:  # 1
            return GuardResult()
        if session:
            coordination.members.beat([session])
        op, about = make_id(workspace), _subject(workspace, content.tree)
        checked = coordination.leases.check(op, session, content.paths, HOLD_SECONDS, about)
        conflicts = _refused(checked.verdicts)
    except StorageError as found:  # 4
        conflicts, trouble = _judge_without(workspace, session, found)
    stops = committer.is_agent or workspace.settings.guard.people is PeoplePolicy.STOP  # 3
    return GuardResult(conflicts=conflicts, is_stopped=bool(conflicts) and stops, trouble=trouble)


def _judge_without(
    workspace: Workspace, session: str, trouble: StorageError
) -> tuple[tuple[PathVerdict, ...], str]:
    coordination = workspace.read_coordination()
    content = workspace.commit_contents.staged()
    if coordination is None:
        raise trouble
    conflicts = _refused(coordination.leases.judge(session, content.paths if content else ()))
    age = find_age(coordination)
    since = "" if age is None else f", from {seconds_words(age)} ago"
    return conflicts, f"{trouble.message}; used the last known reservations{since}"


def check_commits(workspace: Workspace, span: str) -> Sequence[JudgedCommit] | None:
    """Judge the commits of a range, such as `main..HEAD`; None without coordination.

    1. A commit whose tree passed the guard is fine.
    2. Any other commit is judged by its files: no session may hold them. This does not count as a pass.
    """
    coordination = workspace.find_coordination()
    if coordination is None:
        return None
    contents = workspace.commit_contents.commits_in(span)
    if contents is None:
        hint = "write it like `main..HEAD`; a shallow clone lacks older commits"
        raise UsageError(f"git does not know the range {span}", hint=hint)
    return _judge_commits(workspace, coordination, contents)


def check_push(workspace: Workspace, committer: Committer, pushed: PushedRefs) -> PushResult:
    """Judge the commits of a push as `check_commits` does, but for the session that pushes (C156).

    1. Its own files pass. A person is only warned, unless the settings say otherwise.
    2. A branch must not end with a view that git merged and nobody regenerated, also if a person pushes it,
       and where sessions do not coordinate.
    """
    contents = workspace.commit_contents.commits_pushed(*pushed)
    merged = _find_merged_views(workspace, pushed.tips, contents or ())  # 2
    if merged:
        return PushResult(is_stopped=True, merged_views=merged)
    coordination = workspace.find_coordination() if contents else None
    if coordination is None or not contents:
        return PushResult()
    account = find_named_session(workspace, committer.ids)
    judged = _judge_commits(workspace, coordination, contents, account.session if account else "")
    refused = tuple(one for one in judged if one.conflicts)
    stops = committer.is_agent or workspace.settings.guard.people is PeoplePolicy.STOP
    return PushResult(refused=refused, is_stopped=bool(refused) and stops)


def _find_merged_views(
    workspace: Workspace, tips: Sequence[str], contents: Sequence[CommitContent]
) -> tuple[str, ...]:
    """Return the tips, among the commits that are pushed, with a view that git merged."""
    new, path = {one.commit for one in contents}, workspace.settings.paths.view
    views = ((tip, workspace.commit_contents.read_committed(tip, path)) for tip in tips if tip in new)
    return tuple(tip for tip, view in views if find_view_owner(view) is ViewOwner.MERGED)


def _judge_commits(
    workspace: Workspace, coordination: Coordination, contents: Sequence[CommitContent], session: str = ""
) -> Sequence[JudgedCommit]:
    passed = set(_list_passed(coordination))
    return [
        JudgedCommit(
            commit=content.commit, conflicts=_refused(coordination.leases.judge(session, content.paths))
        )
        for content in contents
        if content.paths and _subject(workspace, content.tree) not in passed
    ]


def _refused(verdicts: Sequence[PathVerdict]) -> tuple[PathVerdict, ...]:
    return tuple(one for one in verdicts if one.verdict not in {MINE, FREE})


def _subject(workspace: Workspace, tree: str) -> str:
    """Return the subject of a logged pass: the tree, and the project's folder if it is not the whole tree."""
    return f"{tree} {workspace.repository.prefix()}".rstrip() if tree else ""


def _list_passed(coordination: Coordination) -> Iterator[str]:
    position = 0
    while entries := coordination.history.since(position, _PAGE):
        yield from (one.subject for one in entries if one.verb == _CHECK and one.subject)
        position = entries[-1].position
