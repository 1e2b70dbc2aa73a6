"""Random events to merge: many ties, many retractions, one text in several forms."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from passdown.core.documents.scalars import quote
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember
from passdown.records import record
from tests.proofs.merge.oracle import MAPS, SETS, Fact, Said, make_stamp

START = datetime(2026, 1, 10, 23, 59, 58, tzinfo=UTC)
AGENTS = ("amber", "amber-2", "crisp", "toast", "Ünal")
IDS = ("", "", "", "e1", "e2", "e3", "e4", "e5")
WORDS = ("a", "b", "b ", "é", "e\u0301", "x: y", "# z", "constructor", "日本", "c\nd", "Å", "A\u030a")
KEYS = ("k1", "k2", "constructor", "é", "e\u0301")
_ZONE = timezone(timedelta(hours=9))
_VOIDS = tuple(dict.fromkeys(void for voids in SETS.values() for void in voids))


@record
class Sample:
    """One event: what it says, the file it is in, and how it is read."""

    said: Said
    raw_ts: str
    member: RollupMember
    source: EventFacts


def make_pool(random: Random, size: int) -> list[Sample]:
    """Make events that have much to do with each other."""
    samples = [make_sample(random, number) for number in range(size)]
    # The hash of an event names it, too.
    names = [sample.said.hash[:16] for sample in random.sample(samples, min(3, size))]
    return [*samples, *(make_sample(random, size + number, (name,)) for number, name in enumerate(names))]


def make_sample(random: Random, number: int, retracted: tuple[str, ...] = ()) -> Sample:
    """Make one event."""
    at = START + timedelta(seconds=random.randrange(4), milliseconds=random.choice((0, 0, 1)))
    agent, name = random.choice(AGENTS), random.choice(IDS)
    registers: dict[str, str | tuple[str, ...]] = {
        key: random.choice(WORDS).strip() for key in ("goal", "now") if random.random() < 0.4
    }
    if random.random() < 0.3:
        registers["next"] = _words(random, 0)
    lists = {
        key: _words(random, 1)
        for key in (*SETS, *_VOIDS, "retracted_now", "retracted_decisions")
        if random.random() < (0.35 if key in SETS else 0.25)
    }
    if "retracted_decisions" in lists:
        lists["retracted_decisions"] = (random.choice(KEYS),)
    maps = {
        name: tuple((key, random.choice(WORDS)) for key in random.sample(KEYS, random.choice((0, 0, 1, 2))))
        for name in MAPS
    }
    checkpoints = tuple(_checkpoint(random) for _ in range(random.choice((0, 0, 1, 2))))
    if not retracted and random.random() < 0.12:
        retracted = (random.choice(IDS[3:]),)
    stated = {**dict.fromkeys(registers, 1), **{key: len(texts) for key, texts in lists.items()}}
    stated |= {"next": len(registers.get("next", ())), **{name: len(pairs) for name, pairs in maps.items()}}
    origins = _origins(random, at, stated) if random.random() < 0.5 else {}
    raw_ts = _stamp(random, at)
    body = [f"{key}: {quote(text)}\n" for key, text in registers.items() if isinstance(text, str)]
    body += [_list(key, text) for key, text in registers.items() if isinstance(text, tuple)]
    body += [_list(key, texts) for key, texts in lists.items()]
    body += [
        f"{name}:\n" + "".join(f"  {quote(key)}: {quote(text)}\n" for key, text in pairs)
        for name, pairs in maps.items()
        if pairs
    ]
    body += ["checkpoints:\n" + "".join(map(_record, checkpoints))] * bool(checkpoints)
    body += [_list("retracted_events", retracted)] * bool(retracted)
    body += ["origins:\n" + "".join(f"  {key}: {_tokens(told)}\n" for key, told in origins.items())] * bool(
        origins
    )
    body += [f"unknown_{number}: {quote(random.choice(WORDS))}\n"] * random.randrange(2)
    random.shuffle(body)
    front = [f"ts: {raw_ts}\n", f"agent: {agent}\n", *([f"id: {name}\n"] if name else []), "branch: main\n"]
    random.shuffle(front)
    text = f"---\n{''.join(front)}---\n\n{''.join(body)}"
    if random.random() < 0.1:
        text = text.replace("\n", "\r\n")
    said = Said(
        text=text,
        stamp=make_stamp(text, at, agent, name),
        registers=registers,
        lists=lists,
        maps=maps,
        checkpoints=checkpoints,
        retracted_events=retracted,
        origins=origins,
    )
    member = RollupMember(f"{number}.md", text.encode())
    source = parse_event_facts(member.data, member.name)
    assert source is not None
    return Sample(said=said, raw_ts=raw_ts, member=member, source=source)


Told = tuple[tuple[int, datetime], ...]


def _origins(random: Random, at: datetime, stated: Mapping[str, int]) -> dict[str, Told]:
    """Say when things were said, of some keys; a clock may be ahead of the event's."""
    return {
        key: tuple(
            (random.randrange(1, 4), at - timedelta(milliseconds=random.choice((-1, 0, 0, 1, 1000))))
            for _ in range(count)
        )
        for key, count in stated.items()
        if count and random.random() < 0.8
    }


def _tokens(told: Told) -> str:
    return ", ".join(f"{seq} {at.isoformat(timespec='milliseconds')}" for seq, at in told)


def _words(random: Random, least: int) -> tuple[str, ...]:
    return tuple(random.sample(WORDS, random.randint(least, 3)))


def _stamp(random: Random, at: datetime) -> str:
    """Write an instant in one of its forms."""
    form = random.randrange(4)
    if form == 0:
        return at.astimezone(_ZONE).isoformat(timespec="milliseconds")
    if form == 1 and not at.microsecond:
        return at.isoformat(timespec="seconds").replace("+00:00", "Z")
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _list(key: str, texts: tuple[str, ...]) -> str:
    return f"{key}:\n" + "".join(f"- {quote(text)}\n" for text in texts) if texts else f"{key}: []\n"


def _checkpoint(random: Random) -> Fact:
    return Fact(
        agent=random.choice(("", "crisp")),
        task=random.choice(("", "", "t1")),
        phase=random.choice(("1", "2", "")),
        status=random.choice(("validated", "failed", "odd")),
        name=random.choice(("", "n")),
        updated=random.choice((None, START, START + timedelta(seconds=1))),
    )


def _record(one: Fact) -> str:
    updated = one.updated.isoformat() if one.updated else ""
    pairs = (("status", one.status), ("agent", one.agent), ("task", one.task), ("phase", one.phase))
    more = (("name", one.name), ("updated", updated))
    return "- " + "\n  ".join(f"{key}: {text}" for key, text in (*pairs, *more) if text) + "\n"
