"""Three clones of one bare remote over months, with worktrees, long-lived branches and late ones."""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final

import pytest

from passdown.core.merge import archive_runs
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.services.log import archive_writers
from passdown.services.log.events import update_index
from passdown.services.log.views import make_text
from passdown.services.workspace.workspaces import NO_LIMITS, UNCACHED
from passdown.wiring.projects import read_settings
from tests.proofs.clones.last_release import clean_old, move_old
from tests.proofs.clones.trees import Trees, digest
from tests.support.commands import Caller, Done
from tests.support.machines import OURS
from tests.support.projects import ARCHIVE, EVENTS, open_checkout, put_event

PASSED: Final = (
    timedelta(seconds=40),
    timedelta(minutes=20),
    timedelta(hours=7),
    timedelta(days=1),
    timedelta(days=6),
)
"""How much time may pass after a step; on average 35 hours."""
_LONG_AGO: Final = timedelta(days=4000)
_READ_AGAIN: Final = 10
_MANY: Final = 12
_BEFORE: Final = 15
_DAYS_BEFORE: Final = 50
"""How many events there are at the beginning, and of how many days: they are due at once."""
_PULLED: Final = 0.6


class Writers(StrEnum):
    """Who puts events away."""

    NOBODY = "nobody, by default"
    ONE = "one writer"
    ALWAYS = "one at the end of its sessions"
    TWO = "now and then two"
    LAST_RELEASE = "one with the last release"


class ConflictError(AssertionError):
    """Git reported a conflict in our files."""


class LostError(AssertionError):
    """An event is no longer held where it was."""


@dataclass
class Site:
    """One clone: its checkout of the integration branch, and a worktree with a long-lived branch."""

    root: Path
    side: Path
    branch: str

    @property
    def checkouts(self) -> tuple[Path, Path]:
        """Return both checkouts."""
        return self.root, self.side


@dataclass
class Tally:
    """What happened, for the figures that a proof prints."""

    sessions: int = 0
    runs: int = 0
    merges: int = 0
    conflicts: int = 0
    moved_by_the_last_release: int = 0
    rolled: int = 0
    days: int = 0


class World:
    """The clones, the time that all of them have, and what each checkout is known to hold."""

    def __init__(
        self, folder: Path, writers: Writers, seed: int, patch: pytest.MonkeyPatch, command: Caller
    ) -> None:
        """Make a repository that is set up, and three clones of it."""
        self.writers = writers
        self.seed = seed
        self.chance = Random(f"{writers} {seed}")  # the same steps for the same seed
        self.tally = Tally()
        self.written: set[str] = set()
        self._patch = patch
        self._command = command
        self._trees = Trees()
        self._held: dict[Path, frozenset[str]] = {}
        self._count = 0
        self._settle_clocks()
        for module in (archive_runs, archive_writers):  # a day has few events here
            patch.setattr(module, "MANY_FILES", _MANY)
        self.remote = folder / "origin.git"
        self.sites = self._make_sites(folder)
        self.job = self._clone(folder, "job")
        if writers is Writers.ALWAYS:
            self.call(self.sites[0].root, "archive", "run", "--always")

    # --- time ---------------------------------------------------------------------------------------

    def _settle_clocks(self) -> None:
        """Let all clocks show the same made-up time, which began so long ago that it stays in the past."""
        real = SystemClock().now
        self.at = real().replace(microsecond=0) - _LONG_AGO
        self.began = self.at
        self._patch.setattr(SystemClock, "now", lambda _: self.at)
        self._patch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
        self.wait(timedelta())

    def wait(self, passed: timedelta) -> None:
        """Let time pass, for git too."""
        self.at += passed
        for role in ("AUTHOR", "COMMITTER"):
            self._patch.setenv(f"GIT_{role}_DATE", self.at.isoformat())

    # --- to make it ---------------------------------------------------------------------------------

    def _make_sites(self, folder: Path) -> tuple[Site, ...]:
        subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", str(self.remote)], check=True)
        first = self._clone(folder, "ada")
        self.git(first, "checkout", "-q", "-b", "main")
        (first / "passdown.toml").write_text(self._settings(), encoding="utf-8")
        self.call(first, "init", "--yes")
        for number in range(_BEFORE):
            at = self.at - timedelta(days=_DAYS_BEFORE * number / _BEFORE)
            put_event(first, at.isoformat(), "amber", session="s-before", this_session=(self.name("done"),))
        self.git(first, "add", "--all")
        self.git(first, "commit", "-qm", "Set up")
        self.git(first, "push", "-q", "-u", "origin", "main")
        roots = [first, self._clone(folder, "bob"), self._clone(folder, "cleo")]
        sites: list[Site] = []
        for root in roots:
            branch, side = f"side-{root.name}", folder / f"{root.name}-side"
            self.git(root, "remote", "set-head", "origin", "main")
            self.git(root, "worktree", "add", "-q", "-b", branch, str(side))
            sites.append(Site(root, side, branch))
        return tuple(sites)

    def _settings(self) -> str:
        # The last release knows no `archiver`, so it goes on moving where only that is set.
        by_job = "archiver = 'job'"
        choices = {Writers.NOBODY: "", Writers.ALWAYS: by_job, Writers.LAST_RELEASE: by_job}
        return f"[events]\n{choices.get(self.writers, 'archive = false')}\n"

    def _clone(self, folder: Path, name: str) -> Path:
        subprocess.run(["git", "clone", "-q", str(self.remote), name], cwd=folder, check=True)
        return folder / name

    # --- what is called -----------------------------------------------------------------------------

    def call(self, root: Path, *words: str) -> Done:
        """Call the command in a checkout; it must succeed."""
        done = self.ask(root, *words)
        assert done.code == 0, f"passdown {' '.join(words)} in {root.name}\n{done.out}{done.err}"
        return done

    def ask(self, root: Path, *words: str) -> Done:
        """Call the command in a checkout."""
        self._patch.chdir(root)
        return self._command(*words)

    def git(self, root: Path, *words: str) -> str:
        """Run git, which must succeed."""
        done = self.try_git(root, *words)
        assert done.returncode == 0, f"git {' '.join(words)} in {root.name}\n{done.stdout}{done.stderr}"
        return done.stdout

    def try_git(self, root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run git."""
        command = ["git", "-c", "core.editor=true", "-c", "gc.auto=0", *words]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    # --- sessions -----------------------------------------------------------------------------------

    def has_last_release(self, site: Site) -> bool:
        """Return whether sessions of a clone are those of the last release."""
        return self.writers is Writers.LAST_RELEASE and site is self.sites[-1]

    def work(self, root: Path) -> None:
        """Run a session from start to end, which commits; sometimes it publishes in between."""
        self.call(root, "start", "--new", *(["--fresh"] if self.chance.random() < 0.5 else []))
        for _ in range(self.chance.randint(1, 2)):
            self.call(root, "done", self.name("done"))
            if self.chance.random() < 0.3:
                self.call(root, "publish")
        if self.chance.random() < 0.4:
            key, text = f"key {self.chance.randint(1, 9)}", self.name("choice")
            self.call(root, "decide", "--replace", key, text)
        self.wait(timedelta(seconds=self.chance.randint(1, 50)))
        self.call(root, "end")
        self.tally.sessions += 1

    def name(self, what: str) -> str:
        """Make up a text that nobody else says."""
        self._count += 1
        return f"{what} {self._count}"

    def work_in_the_last_release(self, root: Path) -> None:
        """Run a session of the last release: what it moves is in the commit of its end."""
        self.work(root)
        moved = move_old(root, self.at)
        self.tally.moved_by_the_last_release += moved
        if moved:
            self.git(root, "add", "--all", "--", EVENTS, ARCHIVE)
            self.git(root, "commit", "-qm", f"passdown: {moved} archive files")

    def clean_in_the_last_release(self, root: Path) -> None:
        """Let a person remove old copies with the last release, and commit that."""
        if clean_old(root, self.at):
            self.git(root, "add", "--all", "--", ARCHIVE)
            self.git(root, "commit", "-qm", "Clean the archive")

    # --- people -------------------------------------------------------------------------------------

    def edit(self, root: Path) -> None:
        """Commit something of one's own."""
        name = self.name("code").replace(" ", "-")
        (root / f"{name}.txt").write_text(name, encoding="utf-8")
        self.git(root, "add", f"{name}.txt")
        self.git(root, "commit", "-qm", "Code")

    def pull(self, root: Path, how: str) -> None:
        """Pull the integration branch."""
        self.git(root, "fetch", "-q")
        if self.writers is Writers.ALWAYS and self._is_shared(root):
            how = "merge"
        words = ("rebase", "-q", "origin/main") if how == "rebase" else _merge("origin/main")
        self._join(root, words)

    def _is_shared(self, root: Path) -> bool:
        """Return whether another branch has commits that are not pushed, which nobody should rebase.

        A rebase would make a run a second time. The branch moves a file in one of the two; when a later run
        has removed the copy, git reports a conflict, as it does for two writers.
        """
        own = self.git(root, "rev-list", "origin/main..main").split()
        others = self.git(root, "rev-list", f"origin/main..side-{root.name}").split()
        return not set(own).isdisjoint(others) if own else False

    def push(self, root: Path) -> None:
        """Push, after a pull where somebody was faster."""
        if self.try_git(root, "push", "-q", "origin", "main").returncode != 0:
            self.pull(root, self.chance.choice(("merge", "rebase")))
            self.git(root, "push", "-q", "origin", "main")

    def merge_in(self, site: Site) -> None:
        """Bring a long-lived branch what the integration branch has."""
        self._join(site.side, _merge("main"))

    def merge_back(self, site: Site) -> None:
        """Merge the long-lived branch; it goes on afterwards."""
        self._join(site.root, _merge(site.branch))

    def merge_late(self, site: Site) -> None:
        """Merge a branch that began long ago, whose sessions worked then."""
        behind = min(self.chance.randint(1, 40), int(self.git(site.root, "rev-list", "--count", "HEAD")) - 1)
        began = self.git(site.root, "rev-list", "--first-parent", f"--skip={behind}", "-n1", "HEAD").strip()
        if not began:
            return
        name = self.name("late").replace(" ", "-")
        tree = site.root.parent / name
        self.git(site.root, "worktree", "add", "-q", "-b", name, str(tree), began)
        now, self.at = self.at, max(self.began, self.at - timedelta(days=self.chance.randint(1, 45)))
        self.work(tree)
        self.at = now
        self.wait(timedelta(seconds=1))
        self._join(site.root, _merge(name))
        self.git(site.root, "worktree", "remove", "--force", str(tree))

    def _join(self, root: Path, words: Sequence[str]) -> None:
        """Merge or rebase; settle our conflicts with the command where the last release or two wrote."""
        done = self.try_git(root, *words)
        self.tally.merges += 1
        while done.returncode != 0:
            paths = self.git(root, "diff", "--name-only", "--diff-filter=U").split()
            said = f"git {' '.join(words)} in {root.name}: {', '.join(paths)}\n{done.stdout}{done.stderr}"
            if not paths or not all(path.startswith(OURS) for path in paths):
                raise AssertionError(said)
            self.tally.conflicts += len(paths)
            if self.writers not in {Writers.TWO, Writers.LAST_RELEASE}:
                raise ConflictError(said)
            self.resolve(root)
            if left := self.git(root, "diff", "--name-only", "--diff-filter=U").split():
                raise ConflictError(f"left by `archive resolve`: {', '.join(left)}\n{said}")
            goes_on = ("rebase", "--continue") if words[0] == "rebase" else ("commit", "-q", "--no-edit")
            done = self.try_git(root, *goes_on)

    # --- runs ---------------------------------------------------------------------------------------

    def resolve(self, root: Path) -> None:
        """Settle the conflicts of a merge."""
        self.call(root, "archive", "resolve")

    def run(self, root: Path) -> None:
        """Put events away in a checkout, as its owner does."""
        self.call(root, "synthesize", "--no-confirm", "--commit")  # git may have merged the view
        self.call(root, "archive", "run")
        self.tally.runs += 1

    def run_job(self) -> None:
        """Put events away as the job of the how-to does: begun again if somebody was faster."""
        self.git(self.job, "fetch", "-q", "origin", "main")
        self.git(self.job, "checkout", "-q", "-B", "main", "origin/main")
        self.run(self.job)
        self.git(self.job, "push", "-q", "origin", "main")

    def run_here(self, site: Site) -> None:
        """Put events away in a second clone, whose owner mostly pulled first and pushes at some time."""
        if self.chance.random() < _PULLED:
            self.pull(site.root, "merge")
        self.ask(
            site.root, "archive", "run"
        )  # it refuses where the job's last run was fetched and not merged
        self.tally.runs += 1

    def damage(self) -> None:
        """Damage a rollup of the job's checkout: a run must remove nothing that it should have held."""
        self.git(self.job, "fetch", "-q", "origin", "main")
        self.git(self.job, "checkout", "-q", "-B", "main", "origin/main")
        rollups = sorted((self.job / EVENTS).glob("*/rollup-*.jsonl"))
        if not rollups:
            return
        chosen = self.chance.choice(rollups)
        data = chosen.read_bytes()
        how = self.chance.choice(("altered", "cut", "missing"))
        if how == "missing":
            chosen.unlink()
        else:
            at = self.chance.randrange(len(data))
            chosen.write_bytes(
                data[:at] + (bytes([data[at] ^ 1]) + data[at + 1 :] if how == "altered" else b"")
            )
        before = self._list_files(self.job, chosen.parent.name)
        self.ask(self.job, "archive", "run")
        gone = before - self._list_files(self.job, chosen.parent.name)
        self.git(self.job, "reset", "-q", "--hard", "origin/main")
        self.git(self.job, "clean", "-qfd", "--", EVENTS, ARCHIVE)
        if gone:
            raise LostError(f"{how}: {chosen.name}; a run removed {', '.join(sorted(gone))}")

    def _list_files(self, root: Path, day: str) -> set[str]:
        """Return the events and copies of a day that have files of their own, wherever they lie."""
        found = (*(root / EVENTS).rglob("*.md"), *(root / ARCHIVE).rglob("*.md"))
        return {path.name for path in found if path.name.startswith(day)}

    # --- what must hold -----------------------------------------------------------------------------

    def check(self, root: Path) -> None:
        """See that a checkout still holds what it held."""
        held = self._trees.held(root)
        if lost := self._held.get(root, frozenset()) - held:
            raise LostError(f"{root.name} lost {self._name(lost)}")
        self._held[root] = held
        self.written |= held
        self._age(root)

    def _name(self, lost: Iterable[str]) -> str:
        return ", ".join(sorted(self._trees.ids[one] for one in lost))

    def _age(self, root: Path) -> None:
        """Let what just changed have changed at the made-up time, so that folders rest as they do."""
        for folder in ((root / EVENTS), *(root / EVENTS).glob("????-??-??")):
            if folder.is_dir() and folder.stat().st_mtime > self.at.timestamp():
                os.utime(folder, (self.at.timestamp(), self.at.timestamp()))

    def check_view(self, root: Path) -> str:
        """See that the view of the index that followed every step is that of one made anew; return it."""
        settings, _ = read_settings(root, os.environ)
        texts: list[str] = []
        for limits in (NO_LIMITS, UNCACHED):
            checkout = open_checkout(root, settings, limits)
            update_index(checkout.log, checkout.index)
            texts.append(make_text(checkout.index))
            checkout.close()
        step_by_step, anew = texts
        assert step_by_step == anew, f"the index of {root.name} is not the one that is made anew"
        return anew

    def meet(self) -> None:
        """Merge all branches, and bring each clone what the others have."""
        for site in self.sites:
            self.merge_back(site)
            self.check(site.root)
            self.push(site.root)
            self.check(site.root)
        for site in self.sites:
            self.pull(site.root, "merge")
            self.merge_in(site)
            for root in site.checkouts:
                self.check(root)

    def check_all(self) -> None:
        """See that all clones hold and show every event that was ever written, and have the same view."""
        views: set[str] = set()
        for site in self.sites:
            for root in site.checkouts:
                if lost := self.written - self._held[root]:
                    raise LostError(f"{root.name} lacks {self._name(lost)}")
                views.add(self.check_view(root))
        assert len(views) == 1
        self.tally.rolled = self._trees.rolled
        for one in sorted(self.written):
            site = self.chance.choice(self.sites)
            shown = self.call(site.root, "event", "show", self._trees.ids[one])
            assert digest(shown.out.encode()) == one, f"{self._trees.ids[one]} is shown otherwise"

    def count(self) -> dict[str, object]:
        """Return what happened, for the figures of a proof."""
        counts = asdict(self.tally)
        return {"events": len(self.written), **{name.replace("_", " "): one for name, one in counts.items()}}


def _merge(name: str) -> tuple[str, ...]:
    return ("merge", "-q", "--no-edit", name)


def play(world: World, steps: int) -> None:
    """Let so many things happen, and look after each; what fails says in which step."""
    for number in range(steps):
        site = world.chance.choice(world.sites)
        name, root, act = _choose(world, site)
        try:
            act()
            for one in (root, site.root):
                world.check(one)
            if number % _READ_AGAIN == 0:
                world.check_view(root)
        except (AssertionError, StorageError) as found:
            found.add_note(
                f"step {number} of the {world.writers} with seed {world.seed}: {name} in {root.name}"
            )
            raise
        world.wait(world.chance.choice(PASSED))
    world.tally.days = (world.at - world.began).days
    world.meet()
    world.check_all()


Step = tuple[str, Path, Callable[[], object]]


def _choose(world: World, site: Site) -> Step:
    """Return one thing that sessions and people do: its name, where, and how."""
    root, side = site.root, site.side
    is_last = world.has_last_release(site)
    session = world.work_in_the_last_release if is_last else world.work
    moves: list[tuple[int, Step]] = [
        (8, ("session", root, lambda: session(root))),
        (4, ("session", side, lambda: session(side))),
        (1, ("edit", root, lambda: world.edit(root))),
        (4, ("push", root, lambda: world.push(root))),
        (3, ("pull", root, lambda: world.pull(root, "merge"))),
        (2, ("pull --rebase", root, lambda: world.pull(root, "rebase"))),
        (2, ("merge main", side, lambda: world.merge_in(site))),
        (2, ("merge the branch", root, lambda: world.merge_back(site))),
        (1, ("merge a late branch", root, lambda: world.merge_late(site))),
        (0 if world.writers in {Writers.NOBODY, Writers.ALWAYS} else 3, ("job", world.job, world.run_job)),
        (1, ("damage", world.job, world.damage)),
    ]
    if world.writers is Writers.TWO:
        moves.append((3, ("run", root, lambda: world.run_here(site))))
    if is_last:
        moves.append((2, ("clean", root, lambda: world.clean_in_the_last_release(root))))
    return world.chance.choices([step for _, step in moves], [weight for weight, _ in moves])[0]
