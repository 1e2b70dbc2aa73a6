"""A `GitHistory` whose content a test sets; by default that of a folder without git."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from passdown.core.git_hash import git_blob_id
from passdown.ports.commit_contents import ChangedLines, CommitContent
from passdown.ports.git_history import DescribedCommit, UnfinishedWork
from passdown.ports.repository import Skipped


class MemoryHistory:
    """Made-up commits; assign to the attributes to change them."""

    def __init__(self) -> None:
        """Start without commits."""
        self.last = ""
        self.counts: dict[str, int] = {}
        self.texts: dict[str, tuple[bytes, ...]] = {}
        self.works: list[tuple[datetime, str, tuple[str, ...]]] = []
        self.subjects: dict[str, str] = {}
        self.obstacle: Skipped | None = None
        self.ignored: tuple[str, ...] = ()
        self.index: CommitContent | None = None
        self.spans: dict[str, tuple[CommitContent, ...]] = {}
        self.counted: dict[str, dict[str, ChangedLines]] = {}
        self.committed: dict[tuple[str, str], bytes] = {}
        self.hooks = ""
        self.author = ""
        self.changed: dict[str, tuple[str, ...]] = {}
        self.unfinished = UnfinishedWork()

    def head(self) -> str:
        """Return the id of the last commit."""
        return self.last

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        """Return the count that was set for a commit."""
        del apart_from
        return self.counts.get(commit)

    def commits_since(self, at: datetime, after: str = "") -> Sequence[str]:
        """Return the commits made since then."""
        made = [name for made, name, _ in self.works if made >= at]
        return made[made.index(after) + 1 :] if after in made else made

    def describe(self, commits: Sequence[str]) -> Sequence[DescribedCommit]:
        """Return the subjects that were set, with the files of the same commits."""
        files = {name: paths for _, name, paths in self.works}
        return [
            DescribedCommit(name, self.subjects[name], files.get(name, ()))
            for name in commits
            if name in self.subjects
        ]

    def texts_of(self, path: str) -> Sequence[bytes]:
        """Return the contents that were set for a path."""
        return self.texts.get(path, ())

    def contents(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents that were set, by the ids that git would give them."""
        known = {git_blob_id(data): data for texts in self.texts.values() for data in texts}
        return {name: known[name] for name in ids if name in known}

    def files_since(self, at: datetime) -> Sequence[str]:
        """Return the files changed since then."""
        return [path for made, _, paths in self.works if made >= at for path in paths]

    def find_unfinished(self) -> UnfinishedWork:
        """Return what was set."""
        return self.unfinished

    def find_obstacle(
        self, now: datetime, amendable: timedelta, *, files_only: bool = False
    ) -> Skipped | None:
        """Return the obstacle that was set."""
        del now, amendable, files_only
        return self.obstacle

    def committable(self, paths: Sequence[str]) -> Sequence[str]:
        """Return the paths that are not below an ignored folder."""
        return [path for path in paths if not path.startswith(self.ignored)]

    def staged(self) -> CommitContent | None:
        """Return the index that was set."""
        return self.index

    def commits_in(self, span: str) -> Sequence[CommitContent] | None:
        """Return the commits that were set for a range."""
        return self.spans.get(span)

    def commits_pushed(self, tips: Sequence[str], known: Sequence[str]) -> Sequence[CommitContent] | None:
        """Return the commits that were set for a range, whatever the remote knows."""
        del known
        return self.spans.get(" ".join(tips))

    def changed_since(self, branch: str) -> Sequence[str]:
        """Return the files that were set for a branch."""
        return self.changed.get(branch, ())

    def find_created(self, commit: str, paths: Sequence[str]) -> Sequence[str]:
        """Return the paths that none of the commits changed until then, in the order they were set."""
        names = [name for _, name, _ in self.works]
        if commit not in names:
            return ()
        there = {path for _, _, some in self.works[: names.index(commit) + 1] for path in some}
        return [path for path in paths if path not in there]

    def count_changes(self, commit: str, paths: Sequence[str]) -> Mapping[str, ChangedLines]:
        """Return the changes that were set for a commit."""
        return {path: one for path, one in self.counted.get(commit, {}).items() if path in paths}

    def read_committed(self, commit: str, path: str) -> bytes | None:
        """Return the content that was set for a commit and a path."""
        return self.committed.get((commit, path))

    def author_name(self) -> str:
        """Return the name that was set."""
        return self.author

    def hooks_path(self) -> str:
        """Return the folder that was set."""
        return self.hooks
