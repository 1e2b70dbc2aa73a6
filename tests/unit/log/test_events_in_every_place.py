"""Every verb answers for an event in a rollup as for one in a file of its own (C128)."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollup
from tests.support.commands import Caller, Done, say_all
from tests.support.gits import Project
from tests.support.projects import EVENTS, put, put_event

COPIES = "thoughts/shared/handoffs/archive"

Pair = tuple[RollupMember, EventFacts]


class Counts(NamedTuple):
    """What `archive verify` counts."""

    rollups: int = 0
    events: int = 0
    copies: int = 0


def day_of(pair: Pair) -> str:
    return pair[1].rank.at.date().isoformat()


def by_day(pairs: Iterable[Pair]) -> list[list[Pair]]:
    return [list(some) for _, some in groupby(sorted(pairs, key=day_of), day_of)]


def put_rollup(folder: Path, pairs: Sequence[Pair]) -> None:
    text = render_rollup(pairs[0][1].rank.at.date(), pairs)
    put(folder, f"{EVENTS}/{day_of(pairs[0])}/{name_rollup(text)}", text)


def lie_flat(folder: Path, pairs: list[Pair]) -> Counts:
    for member, _ in pairs:
        put(folder, f"{EVENTS}/{member.name}", member.data.decode())
    return Counts()


def lie_by_day(folder: Path, pairs: list[Pair]) -> Counts:
    for pair in pairs:
        put(folder, f"{EVENTS}/{day_of(pair)}/{pair[0].name}", pair[0].data.decode())
    return Counts()


def lie_in_rollups(folder: Path, pairs: list[Pair]) -> Counts:
    days = by_day(pairs)
    for some in days:
        put_rollup(folder, some)
    return Counts(len(days), len(pairs))


def lie_in_rollups_with_copies(folder: Path, pairs: list[Pair]) -> Counts:
    for pair in pairs:
        put(folder, f"{COPIES}/{day_of(pair)}/{pair[0].name}", pair[0].data.decode())
    return lie_in_rollups(folder, pairs)._replace(copies=len(pairs))


def lie_in_parts(folder: Path, pairs: list[Pair]) -> Counts:
    for pair in pairs:
        put_rollup(folder, [pair])
    return Counts(len(pairs), len(pairs))


def lie_in_overlapping_rollups(folder: Path, pairs: list[Pair]) -> Counts:
    lie_in_parts(folder, [some[-1] for some in by_day(pairs) if len(some) > 1])
    several = sum(len(some) > 1 for some in by_day(pairs))
    counts = lie_in_rollups(folder, pairs)
    return counts._replace(rollups=counts.rollups + several)


def lie_in_both(folder: Path, pairs: list[Pair]) -> Counts:
    lie_flat(folder, pairs)
    return lie_in_rollups(folder, pairs)


PLACES: tuple[Callable[[Path, list[Pair]], Counts], ...] = (
    lie_by_day,
    lie_in_rollups,
    lie_in_rollups_with_copies,
    lie_in_parts,
    lie_in_overlapping_rollups,
    lie_in_both,
)

VERBS = (
    ("event", "show", "ID"),
    ("log", "show", "ID"),
    ("event", "show", "HASH"),
    ("event", "show", "ID", "--json"),
    ("log",),
    ("log", "--all", "--json"),
    ("log", "-n", "2", "--type", "session_end"),
    ("search", "rotation"),
    ("search", "rotation", "--json"),
    ("view", "verify"),
    ("certify",),
    ("certify", "--json"),
    ("synthesize", "--check"),
    ("view", "list", "done"),
    ("brief",),
)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with events of a month, and of a session that ended."""
    call = Caller(monkeypatch, capsys, project.folder)
    put(project.folder, "passdown.toml", "[events]\narchive = false\n")
    for day in range(1, 31, 7):
        put_event(project.folder, f"2025-12-{day:02}T08:00:00Z", "crisp", this_session=(f"Built part {day}",))
    say_all(call)
    call("publish")
    call("done", "Key rotation")
    call("end")
    call("synthesize")
    return call


def take_events(folder: Path) -> list[Pair]:
    """Take all single files away, and give what they held."""
    pairs: list[Pair] = []
    for path in sorted((folder / EVENTS).glob("202*.md")):
        source = parse_event_facts(path.read_bytes(), path.name)
        assert source is not None
        pairs.append((RollupMember(path.name, path.read_bytes()), source))
        path.unlink()
    assert len(pairs) == 7
    return pairs


def ask(command: Caller, verb: Sequence[str], pairs: Sequence[Pair]) -> Done:
    """Call a verb about the event that says what nobody else says; where it lies is not compared."""
    rank = next(source.rank for member, source in pairs if b"Key rotation" in member.data)
    names = {"ID": rank.id, "HASH": rank.hash[:20]}
    done = command(*(names.get(word, word) for word in verb))
    if "--json" in verb:
        answer = json.loads(done.out)
        for row in [*answer.get("events", ()), *answer.get("matches", ()), answer.get("event") or {}]:
            assert (command.folder / row.pop("path", ".")).exists()
        return Done(done.code, json.dumps(answer, sort_keys=True), done.err)
    # Each brief has a mark of its own.
    return Done(done.code, re.sub(r"brief [0-9a-f]{12}", "brief", done.out), done.err)


@pytest.mark.requirement("C128")
@pytest.mark.parametrize("place", PLACES)
def test_every_verb_answers_wherever_an_event_lies(
    command: Caller, project: Project, place: Callable[[Path, list[Pair]], Counts]
) -> None:
    pairs = take_events(project.folder)
    lie_flat(project.folder, pairs)
    expected = {verb: ask(command, verb, pairs) for verb in VERBS}
    counts = place(project.folder, take_events(project.folder))
    found = {verb: ask(command, verb, pairs) for verb in VERBS}
    verified = json.loads(command("archive", "verify", "--json").out)

    assert found == expected
    assert "Key rotation" in expected["event", "show", "ID"].out
    assert expected["view", "verify"].code == 0
    assert counts == Counts(verified["rollups"], verified["events"], verified["copies"])
    assert verified["problems"] == []


@pytest.mark.requirement("C128")
@pytest.mark.parametrize("place", PLACES)
def test_an_event_is_retracted_wherever_it_lies(
    command: Caller, project: Project, place: Callable[[Path, list[Pair]], Counts]
) -> None:
    pairs = take_events(project.folder)
    place(project.folder, pairs)
    name = next(source.rank.id for member, source in pairs if b"Key rotation" in member.data)

    done = command("event", "retract", name, "--because", "a mistake")

    assert done.out.startswith(f"retracted {name} ")
    assert "Key rotation" not in command("view", "list", "done").out
    assert "(retracted)" in command("log").out


@pytest.mark.requirement("C128")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data.replace(b"rotation", b"ROTATION"), "1 of its lines cannot be read"),
        (lambda data: data[: data.rindex(b"\n", 0, -1) + 1], "1 of its lines cannot be read"),
        (lambda data: data[:-40], "1 of its lines cannot be read"),
        (lambda _: b"", "1 of its lines cannot be read"),
    ],
)
def test_a_damaged_part_is_named_and_the_others_are_read(
    command: Caller, project: Project, damage: Callable[[bytes], bytes], said: str
) -> None:
    pairs = take_events(project.folder)
    lie_in_parts(project.folder, pairs)
    parts = (project.folder / EVENTS).rglob("rollup-*")
    part = next(path for path in parts if b"Key rotation" in path.read_bytes())
    part.write_bytes(damage(part.read_bytes()))
    name = part.relative_to(project.folder).as_posix()

    shown = [command(*words) for words in (("view", "verify"), ("archive", "verify"), ("doctor",))]

    assert [done.code for done in shown] == [1, 1, 1]
    assert all(name in done.out.replace("\n  ", " ").replace("\n", "") for done in shown[:2])
    assert said in " ".join(shown[1].out.split())
    assert "Built part 8" in command("log").out


@pytest.mark.requirement("C128")
def test_a_committed_event_whose_name_has_another_text_elsewhere_is_named(
    command: Caller, project: Project
) -> None:
    pairs = take_events(project.folder)
    changed = [(RollupMember(one.name, one.data + b"\n"), source) for one, source in pairs]
    lie_by_day(project.folder, [*pairs[:-1], changed[-1]])

    found = command("view", "verify")

    assert found.code == 1
    assert len(found.out.splitlines()) == 1
    assert found.out.startswith(f"{EVENTS}/{pairs[-1][0].name}: altered event {pairs[-1][1].rank.id}: ")
