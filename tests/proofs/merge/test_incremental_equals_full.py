"""An index that follows a log step by step says what one that reads everything anew says, to the byte."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from passdown.core.formats.views import render_view
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.merge.rollups import RollupMember, is_rollup, name_rollup, parse_rollup, render_rollup
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite.event_index import SqliteIndex, open_index
from passdown.engines.system import SystemClock
from passdown.services.log.events import update_index
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.proofs.pool import IDS, make_sample
from tests.support.events import MovedClock
from tests.support.gits import Project, make_project

PARTS = proof_count(fast=2, ci=20, long=20)
ROUND = 150
FOLDERS = ("", "", "2026-01-10", "2026-01-11")
FIRST_TIME = 1_600_000_000_000_000_000


@dataclass(slots=True, kw_only=True)
class World:
    """A log on disk in a repository, with an index that follows it."""

    project: Project
    log: FileEventLog
    index: SqliteIndex
    random: Random
    settled: bool
    """Folders have times long past, each change another: then only those that changed are listed."""
    limit: int
    number: int = 0
    touched: set[str] = field(default_factory=set)

    @property
    def events(self) -> Path:
        """Give the folder of events."""
        return self.project.folder / "events"

    def files(self) -> list[str]:
        """Name all files of events."""
        return sorted(str(one.relative_to(self.events)) for one in self.events.glob("**/*") if one.is_file())

    def write(self, path: str, data: bytes) -> None:
        """Write a file that has a time of its own."""
        full = self.events / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)
        self.number += 1
        os.utime(full, ns=(FIRST_TIME, FIRST_TIME + self.number))

    def settle(self) -> None:
        """Give every folder whose names changed a time of its own."""
        if not self.settled:
            return
        for folder in (self.events, *self.events.glob("*/")):
            if folder.exists() and folder.stat().st_mtime_ns > FIRST_TIME + 10**15:
                self.number += 1
                os.utime(folder, ns=(FIRST_TIME, FIRST_TIME + self.number))


def new_text(world: World) -> bytes:
    """Write a random event, now and then one that cannot be merged."""
    if world.random.random() < 0.04:
        return world.random.choice((b"", b"no event", b"\xff", b"---\nagent: a\n---\nnow: x\n"))
    return make_sample(world.random, world.number).member.data + new_links(world.random)


def new_links(random: Random) -> bytes:
    """Name events as read, now and then: known ones and others, circles among them."""
    keys = [key for key in ("after", "ahead") if random.random() < 0.15]
    return "".join(
        f"{key}:\n- {random.choice(IDS[3:])}\n- {random.choice(IDS[3:])}\n" for key in keys
    ).encode()


def new_name(world: World) -> str:
    """Name a file: most names tell nothing, some tell time and agent."""
    world.number += 1
    folder = world.random.choice(FOLDERS)
    name = (
        f"f{world.number}.md"
        if world.random.random() < 0.8
        else f"2026-01-11T00-00-00.{world.number:06}Z_a.md"
    )
    return f"{folder}/{name}" if folder else name


def add(world: World) -> None:
    """Add a file."""
    world.write(new_name(world), new_text(world))


def delete(world: World) -> None:
    """Delete one."""
    if files := world.files():
        (world.events / world.random.choice(files)).unlink()


def rename(world: World) -> None:
    """Rename one, also into another folder."""
    files = [name for name in world.files() if not is_rollup(Path(name).name)]
    if files:
        target = world.events / new_name(world)
        target.parent.mkdir(parents=True, exist_ok=True)
        (world.events / world.random.choice(files)).rename(target)


def replace(world: World) -> None:
    """Replace one by another event, as a checkout of another commit does."""
    files = [name for name in world.files() if not is_rollup(Path(name).name)]
    if files:
        name = world.random.choice(files)
        (world.events / name).unlink()
        world.write(name, new_text(world))


def copy(world: World) -> None:
    """Give one event a second file."""
    files = [name for name in world.files() if not is_rollup(Path(name).name)]
    if files:
        world.write(new_name(world), (world.events / world.random.choice(files)).read_bytes())


def drop_folder(world: World) -> None:
    """Delete a folder of a day with all that is in it."""
    folder = world.events / world.random.choice(FOLDERS[2:])
    if folder.exists():
        for one in folder.iterdir():
            one.unlink()
        folder.rmdir()


def archive(world: World) -> None:
    """Put the events of a folder and day into a rollup, then move the files; the view stays to the byte."""
    folder = world.random.choice(FOLDERS)
    pairs = [pair for name in world.log.files(folder) for pair in _read(world, folder, name)]
    if not pairs:
        return
    day = world.random.choice(pairs)[1].rank.at.date()
    chosen = [pair for pair in pairs if pair[1].rank.at.date() == day]
    before = check(world)

    text = render_rollup(day, chosen)
    world.log.create(world.random.choice(("", day.isoformat())), name_rollup(text), text.encode())
    world.settle()
    assert _above_footer(check(world)) == _above_footer(before)
    world.log.archive(folder, [member.name for member, _ in chosen], day.isoformat())
    world.settle()

    assert check(world) == before


def _above_footer(view: str) -> str:
    return view.partition("_synthesized:")[0]


def _read(world: World, folder: str, name: str) -> list[tuple[RollupMember, EventFacts]]:
    data = world.log.read(folder, name)
    source = None if data is None or is_rollup(name) else parse_event_facts(data, name)
    return [(RollupMember(name, data), source)] if data is not None and source else []


def batch(world: World) -> None:
    """Add and delete many at once, as a merge or a pull does."""
    for _ in range(world.random.randint(2, 8)):
        world.random.choice((add, add, delete, rename, replace))(world)


def unite_rollups(world: World) -> None:
    """Replace all rollups by one that holds the events of all."""
    rollups = [name for name in world.files() if is_rollup(Path(name).name)]
    members = [pair for name in rollups for pair in parse_rollup((world.events / name).read_bytes()).members]
    if members:
        for name in rollups:
            (world.events / name).unlink()
        text = render_rollup(datetime(2026, 1, 11, tzinfo=UTC).date(), members)
        world.write(name_rollup(text), text.encode())


def git_merge(world: World) -> None:
    """Merge two branches that both added and deleted, with the real git."""
    git = world.project.git
    _commit(world)
    git("checkout", "--quiet", "-b", f"side-{world.number}")
    batch(world)
    _commit(world)
    world.settle()
    check(world)
    side = git("branch", "--show-current").strip()
    git("checkout", "--quiet", "main")
    world.settle()
    check(world)
    for _ in range(3):
        add(world)
    _commit(world)
    git("merge", "--quiet", "--no-edit", "-X", "theirs", side, check=False)
    # Where one side renamed what the other deleted, git asks; take what lies there.
    _commit(world)


def _commit(world: World) -> None:
    world.project.git("add", "--all")
    world.project.git("commit", "--quiet", "--allow-empty", "--message=step")


STEPS: tuple[tuple[Callable[[World], None], int], ...] = (
    (add, 40),
    (delete, 14),
    (rename, 10),
    (replace, 10),
    (copy, 6),
    (archive, 6),
    (batch, 8),
    (drop_folder, 2),
    (unite_rollups, 2),
    (git_merge, 2),
)


def check(world: World) -> str:
    """Compare the index that follows with one that reads everything; give the view."""
    update_index(world.log, world.index)
    fresh = MemoryIndex()
    update_index(world.log, fresh)

    followed, anew = world.index.digest(world.limit), fresh.digest(world.limit)
    assert followed == anew
    view = render_view(make_view(anew))
    assert render_view(make_view(followed)) == view
    return view


def make_world(folder: Path, random: Random, *, settled: bool) -> World:
    project = make_project(folder / "project")
    project.write(".gitattributes", "* -text\n")
    project.write("events/.keep", "")
    clock = MovedClock(datetime(2100, 1, 1, tzinfo=UTC)) if settled else SystemClock()
    log = FileEventLog(str(project.folder / "events"), str(folder / "archive"), clock)
    index = open_index(str(folder / "index.db"), shared_memory=random.random() < 0.5)
    world = World(
        project=project,
        log=log,
        index=index,
        random=random,
        settled=settled,
        limit=random.choice((1, 3, LIMIT)),
    )
    world.settle()
    return world


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R96", "R113", "R116", "R119")
@pytest.mark.parametrize("part", range(PARTS))
def test_an_index_that_follows_says_what_one_that_reads_everything_says(
    part: int, tmp_path: Path, tell: Tell
) -> None:
    count = proof_count(fast=60, ci=500, long=100_000) // PARTS
    random = Random(part)  # repeatable on purpose
    steps, weights = zip(*STEPS, strict=True)
    for start in range(0, count, ROUND):
        world = make_world(tmp_path / str(start), random, settled=bool((part + start // ROUND) % 2))
        for _ in range(min(ROUND, count - start)):
            (step,) = random.choices(steps, weights)
            step(world)
            world.settle()
            check(world)
        assert len(world.index.places()) == world.index.digest(1).event_count
        world.index.close()
    tell(count)
