"""Two clones of one bare repository, both at work on its integration branch, with people and sessions."""

import os
import random
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.engines.system import SystemClock
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import SynthesisResult, synthesize
from passdown.services.project.setups import SetupRequest, plan_setup, write_setup
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.session_end import close_session
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.services.workspace.workspaces import NO_LIMITS, UNCACHED, ReadLimits
from passdown.settings import Settings, SettingsSource, parse_settings
from passdown.wiring.workspaces import LocalWorkspace, Outside
from tests.support.commands import run
from tests.support.machines import OURS, MovingClock, git

VIEW: Final = "thoughts/shared/handoffs/current.md"
ATTRIBUTES: Final = ".gitattributes"
STEPS: Final = (
    timedelta(),
    timedelta(seconds=20),
    timedelta(minutes=5),
    timedelta(hours=9),
    timedelta(days=1),
)
_SECTION: Final = re.compile(r"^(?:- |\[->\])", re.MULTILINE)


class ConflictError(AssertionError):
    """Git reported a conflict, or refused what people do every day."""


class Clone:
    """One clone, the person who owns it, and the sessions that run in it."""

    def __init__(self, root: Path, settings: Settings, clock: MovingClock, chance: random.Random) -> None:
        """Open a clone with a clock that both share."""
        self.root = root
        self.clock = clock
        self.said: list[str] = []
        self.hand: list[str] = []
        self.offered: list[str] = []
        self._settings = settings
        self._chance = chance
        self._count = 0

    def open(self, limits: ReadLimits = NO_LIMITS) -> LocalWorkspace:
        """Open the checkout as a new process would."""
        workspace = LocalWorkspace(self.root, self._settings, Outside(variables=os.environ), limits)
        assert workspace.log is not None  # it judges by the system's clock what has changed just now
        workspace.__dict__["clock"] = self.clock
        return workspace

    def name(self, what: str) -> str:
        """Make up a text that nobody else says."""
        self._count += 1
        return f"{what} {self._count} of {self.root.name}"

    # --- sessions -----------------------------------------------------------------------------------

    def work(self) -> None:
        """Run a session from its start to its end, which commits."""
        workspace = self.open()
        account = start_session(
            workspace, StartRequest(is_new=True, is_fresh=self._chance.random() < 0.5)
        ).account
        done = [self.name("done") for _ in range(self._chance.randint(1, 3))]
        facts = [
            *(NewFact(FactKind.DONE, text) for text in done),
            NewFact(FactKind.DECISION, self.name("choice"), f"key {self._chance.randint(1, 6)}"),
            NewFact(FactKind.NEXT, self.name("step")),
            NewFact(FactKind.NOW, self.name("now")),
            *([NewFact(FactKind.GOAL, self.name("goal"))] if self._chance.random() < 0.3 else []),
        ]
        update_ledger(workspace, account, facts)
        self.said += done
        self.clock.at += self._chance.choice(STEPS[:2])
        closed = close_session(self.open(), account)
        assert closed.troubles == ()
        assert closed.view is not None
        self.offered += closed.view.offered

    def work_beside(self, other: "Clone") -> None:
        """Run a session while somebody runs one in the other clone."""
        self.work()
        other.work()

    def call(self) -> None:
        """Run a session with the real commands."""
        text = self.name("done")
        for words in (("start", "--new"), ("done", text), ("end",)):
            answer = run(*words, cwd=self.root)
            assert answer.code == 0, answer.err
            self.offered += answer.err.splitlines()
        self.said.append(text)

    def synthesize(self, *, to_commit: bool) -> SynthesisResult:
        """Make the view as `passdown synthesize` does."""
        made = synthesize(self.open(), to_commit=to_commit)
        self.offered += made.written.offered
        return made

    # --- the person ---------------------------------------------------------------------------------

    def edit_view(self) -> None:
        """Write a line into the view, in one of the ways in which people do."""
        path = self.root / VIEW
        if not path.exists():
            return
        text = path.read_bytes().decode()
        line = self.name("hand")
        items = [found.start() for found in _SECTION.finditer(text)] or [0]
        at = self._chance.choice(items)
        end = text.find("\n", at)
        changed = self._chance.choice(
            [
                f"{text[:at]}- {line}\n{text[at:]}",  # above an entry
                f"{text[:at]}- {line}{text[end:]}",  # instead of an entry
                f"{text}\n{line}\n",  # after the footer
                f"{line}\n{text}",  # at the top
                text.replace("**Goal:** ", f"**Goal:** {line} ", 1)
                if "**Goal:** " in text
                else f"{line}\n{text}",
            ]
        )
        path.write_bytes(changed.encode())
        self.hand.append(line)

    def edit_code(self) -> None:
        """Commit something of one's own."""
        path = self.root / f"{self.root.name}.txt"
        path.write_text(self.name("code"), encoding="utf-8")
        self.git("add", path.name)
        self.git("commit", "-qm", "Code")

    def commit_view(self) -> None:
        """Commit what was written into the view by hand."""
        if self.is_dirty():
            self.git("commit", "-qam", "Edit the view")

    def is_dirty(self) -> bool:
        """Say whether a tracked file has changes that nobody committed."""
        return bool(git(self.root, "status", "--porcelain", "--untracked-files=no").stdout)

    # --- git ----------------------------------------------------------------------------------------

    def git(self, *arguments: str) -> str:
        """Run git; raise a ConflictError if it fails."""
        done = git(self.root, *arguments, check=False)
        if done.returncode != 0:
            said = f"git {' '.join(arguments)} in {self.root.name}\n{done.stdout}{done.stderr}"
            raise ConflictError(said)
        return done.stdout

    def pull(self, *options: str) -> None:
        """Pull as people do who have changes that they did not commit: with a stash around it."""
        is_stashed = self.is_dirty()
        if is_stashed:
            self.git("stash", "--quiet")
        self.git("pull", "--quiet", "--no-edit", *options)
        if is_stashed:
            self.git("stash", "pop", "--quiet")

    def pull_with_autostash(self) -> None:
        """Rebase with what git itself stashes."""
        self.git("pull", "--quiet", "--rebase", "--autostash")
        kept = git(self.root, "stash", "list").stdout
        if kept:  # git says only this of a stash that it could not apply
            raise ConflictError(f"git pull --rebase --autostash in {self.root.name}\n{kept}")

    def push(self) -> None:
        """Push, after a pull if somebody else was faster."""
        if git(self.root, "push", "--quiet", check=False).returncode != 0:
            self.pull("--no-rebase")
            self.git("push", "--quiet")

    def cherry_pick(self) -> None:
        """Take one commit of the other over, the oldest that is missing here."""
        self.git("fetch", "--quiet")
        missing = self.git("rev-list", "--reverse", "--no-merges", "HEAD..origin/main").split()
        if missing and not self.is_dirty():
            self.git("cherry-pick", "--allow-empty", "--keep-redundant-commits", missing[0])

    def branch_off(self) -> None:
        """Work on another branch, and merge it."""
        if self.is_dirty():
            return
        name = f"feature-{self._count}"
        self.git("checkout", "--quiet", "-b", name)
        self.work()
        self.git("checkout", "--quiet", "main")
        self.work()
        self.git("merge", "--quiet", "--no-edit", name)

    # --- what there is ------------------------------------------------------------------------------

    def finished(self) -> set[str]:
        """Give all that the events of this clone say is done."""
        checkout = self.open(UNCACHED)
        update_index(checkout.log, checkout.index)
        return {fact.text for fact in checkout.index.digest(10**9).kinds["done"].facts}

    def kept(self) -> str:
        """Give all copies of views that were kept."""
        return "".join(path.read_text() for path in (self.root / ".conductor").glob("edited-view-*.md"))

    def uncommitted(self) -> list[str]:
        """Name our files that git would show as changed or new."""
        lines = git(self.root, "status", "--porcelain").stdout.splitlines()
        return [line for line in lines if line[3:].startswith(OURS)]


def make_clones(folder: Path, policy: str, chance: random.Random) -> tuple[Clone, Clone]:
    """Make a bare repository that is set up, and two clones of it."""
    tables: dict[str, dict[str, object]] = {
        "view": {"commit": policy},
        "events": {"retention_days": 1, "archive": True},
        "commit": {"session_end": True},
    }
    settings, _ = parse_settings([SettingsSource("test", tables)])
    clock = MovingClock(SystemClock().now() - timedelta(days=40))
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
    clones: list[Clone] = []
    for name in ("ada", "bob"):
        git(folder, "clone", "--quiet", "origin.git", name)
        clone = Clone(folder / name, settings, clock, chance)
        if not clones:
            git(clone.root, "checkout", "--quiet", "-b", "main")
            (clone.root / "passdown.toml").write_text(_render(tables), encoding="utf-8")
            workspace = clone.open()
            write_setup(workspace, plan_setup(workspace, SetupRequest()).changes)
            git(clone.root, "add", "--all")
            git(clone.root, "commit", "--quiet", "--message=Set up")
            git(clone.root, "push", "--quiet", "--set-upstream", "origin", "main")
        git(clone.root, "remote", "set-head", "origin", "main")
        clones.append(clone)
    return clones[0], clones[1]


def _render(tables: dict[str, dict[str, object]]) -> str:
    shown = {True: "true", False: "false"}
    lines: list[str] = []
    for name, values in tables.items():
        lines.append(f"[{name}]")
        lines += [
            f"{key} = {shown[value] if isinstance(value, bool) else repr(value)}"
            for key, value in values.items()
        ]
    return os.linesep.join([*lines, ""])


def play(clone: Clone, other: Clone, chance: random.Random, *, has_branches: bool) -> None:
    """Do one thing that people and sessions do."""
    moves: list[tuple[int, Callable[[], object]]] = [
        (8, clone.work),
        (2, lambda: clone.work_beside(other)),
        (4, clone.push),
        (4, lambda: clone.pull("--no-rebase")),
        (3, lambda: clone.pull("--rebase")),
        (2, clone.pull_with_autostash),
        (2, clone.cherry_pick),
        (3, clone.edit_view),
        (2, clone.commit_view),
        (2, clone.edit_code),
        (2 if has_branches else 0, clone.branch_off),
    ]
    weights, actions = zip(*moves, strict=True)
    chance.choices(actions, weights)[0]()
    clone.clock.at += chance.choice(STEPS)


def exchange(ada: Clone, bob: Clone) -> None:
    """Repair the views, and bring each what the other has."""
    for clone in (ada, bob, ada):
        clone.synthesize(to_commit=True)
        clone.pull("--no-rebase")
        clone.synthesize(to_commit=True)
        clone.push()
    bob.pull("--no-rebase")
