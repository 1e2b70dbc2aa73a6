"""Secrets are found before anything is shared, and a visible mark takes their place (G18).

A rule is tried only where one of its anchors stands, so that a text without any costs a search for each
anchor and nothing more. Every pattern takes time in proportion to what it reads, whatever the text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import log2
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core import secret_rules
from passdown.core.accounts import Account, Entry
from passdown.core.facts import FactKind
from passdown.core.journal import JournalLine
from passdown.records import record, replace

_STEM: Final = 3
_NAME_LIMIT: Final = 50
# What no rule reads across, so that texts can be searched together.
_BETWEEN: Final = "\n;\n"
_LOCAL: Final = frozenset(
    {
        FactKind.PROMPT,
        FactKind.NOTE,
        FactKind.READ,
        FactKind.COMMAND,
        FactKind.PLAN,
        FactKind.BOOKMARK,
        FactKind.DELIVERY,
        FactKind.START,
        FactKind.HOST,
        FactKind.HEARTBEAT,
    }
)


class Redacted(NamedTuple):
    """A text that can be shared, and the names of the rules by which secrets were found in it."""

    text: str
    found: tuple[str, ...] = ()


@record
class Rule:
    """One way to find one kind of secret."""

    name: Annotated[str, "The rule's name, as the mark shows it."]
    entropy: Annotated[float, "How random a value is at least, in bits for each character."]
    lead: Annotated[int, "How many characters before its anchor a secret begins."]
    anchors: Annotated[tuple[str, ...], "What stands where the pattern begins, in lower case."]
    pattern: Annotated[str, "The pattern; its first group that matches is the secret, else all of it."]


class _Span(NamedTuple):
    start: int
    end: int
    rule: str


def redact(text: str) -> Redacted:
    """Put a mark in the place of every secret; what was redacted stays as it is when it is redacted again."""
    spans = _join(_find(text))
    if not spans:
        return Redacted(text)
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], f"[redacted: {span.rule}]")
        at = span.end
    parts.append(text[at:])
    return Redacted("".join(parts), tuple(dict.fromkeys(span.rule for span in spans)))


def redact_all(texts: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """Redact many texts; where nothing is found, that costs hardly more than one text of their length."""
    if next(_find(_BETWEEN.join(texts)), None) is None:
        return texts, ()
    redacted = [redact(text) for text in texts]
    return [one.text for one in redacted], tuple(
        dict.fromkeys(name for one in redacted for name in one.found)
    )


def redact_lines(lines: Sequence[JournalLine]) -> tuple[Sequence[JournalLine], tuple[str, ...]]:
    """Redact what lines of a journal say to others; those that stay on the machine are not even read."""
    shared = [line.fact for line in lines if line.fact.kind not in _LOCAL]
    said = [part for fact in shared for part in (fact.text, fact.key or "", fact.because or "")]
    texts, found = redact_all(said)
    if not found:
        return lines, ()
    parts = iter(texts)
    return [_with_texts(line, parts) if line.fact.kind not in _LOCAL else line for line in lines], found


def _with_texts(line: JournalLine, texts: Iterator[str]) -> JournalLine:
    """Let a line say the next three texts."""
    text, key, because = next(texts), next(texts), next(texts)
    return replace(line, fact=replace(line.fact, text=text, key=key or None, because=because or None))


def redact_account(account: Account) -> tuple[Account, tuple[str, ...]]:
    """Redact all that an account may tell others."""
    entries = [*_registers(account), *(one for entries in account.lists.values() for one in entries)]
    said = [part for one in entries for part in (one.text, one.key, one.because)]
    texts, found = redact_all([account.track, account.task, *said])
    if not found:
        return account, ()
    track, task, *rest = texts
    parts = iter(rest)
    clean = iter(
        [
            one._replace(text=text, key=key, because=because)
            for one, text, key, because in zip(entries, parts, parts, parts, strict=True)
        ]
    )
    return replace(
        account,
        track=track,
        task=task,
        goal=next(clean) if account.goal else None,
        now=next(clean) if account.now else None,
        lists={kind: tuple(next(clean) for _ in entries) for kind, entries in account.lists.items()},
    ), found


def _registers(account: Account) -> Iterable[Entry]:
    return [entry for entry in (account.goal, account.now) if entry is not None]


def _find(text: str) -> Iterator[_Span]:
    """Find secrets, in no order; they may overlap."""
    lowered = _lower(text)
    for anchor, rules in _anchors().items():
        at = lowered.find(anchor)
        if at < 0:
            continue
        places = [at]
        while (at := lowered.find(anchor, at + 1)) >= 0:
            places.append(at)
        for rule in rules:
            yield from _try(rule, text, lowered, places)


def _try(rule: Rule, text: str, lowered: str, places: Sequence[int]) -> Iterator[_Span]:
    """Try a rule where its anchor stands; what it matched is not searched again."""
    match = _compile(rule.pattern).match
    behind = 0
    for place in places:
        start = place - rule.lead
        if start < behind:
            continue
        found = match(text, start)
        if found is None:
            continue
        group = found.lastindex and next(n for n in range(1, found.lastindex + 1) if found[n] is not None)
        span = _Span(*found.span(group or 0), rule.name)
        is_secret = _is_secret(rule, text[span.start : span.end])
        if is_secret and rule.name == secret_rules.GENERIC:
            is_secret = not _is_harmless(lowered, start, span)
        if is_secret:
            yield span
        # Others can match without end; what the generic rule takes for a value may name one itself.
        if is_secret or rule.name != secret_rules.GENERIC:
            behind = found.end()


def _is_secret(rule: Rule, value: str) -> bool:
    """Say whether a value is random enough, and does not look like what is no secret."""
    for name in (rule.name, "*"):
        allowed = _allowed().get(name)
        if allowed is not None and _compile(allowed).fullmatch(value):
            return False
    # So many different characters it takes at least; counting them all is for the few that have them.
    return not rule.entropy or (len(set(value)) >= 2**rule.entropy - 1 and entropy_of(value) >= rule.entropy)


def _is_harmless(lowered: str, start: int, span: _Span) -> bool:
    """Say whether the generic rule found what people write: by the value's words, or the name before it."""
    if _has_word(lowered[span.start : span.end]):
        return True
    first = start
    while first > max(0, start - _NAME_LIMIT) and (
        lowered[first - 1].isalnum() or lowered[first - 1] in "_.-"
    ):
        first -= 1
    return _compile(secret_rules.HARMLESS).search(lowered, first, span.start) is not None


def entropy_of(text: str) -> float:
    """Give how random a text is, in bits for each character (Shannon)."""
    size = len(text)
    shares = [text.count(character) / size for character in set(text)]
    return -sum(share * log2(share) for share in shares)


def _has_word(value: str) -> bool:
    stems = _words()
    return any(
        value.startswith(word, at)
        for at in range(len(value) - _STEM + 1)
        for word in stems.get(value[at : at + _STEM], ())
    )


def _join(spans: Iterable[_Span]) -> Sequence[_Span]:
    """Put overlapping secrets together, in order; a rule that knows the service names them."""
    joined: list[_Span] = []
    for span in sorted(spans):
        if not joined or span.start >= joined[-1].end:
            joined.append(span)
            continue
        last = joined[-1]
        name = span.rule if last.rule == secret_rules.GENERIC else last.rule
        joined[-1] = _Span(last.start, max(last.end, span.end), name)
    return joined


def _lower(text: str) -> str:
    """Put a text in lower case, each character in its place: a few letters become two."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(one.lower() if one.isascii() else one for one in text)


@cache
def read_rules() -> tuple[Rule, ...]:
    """Read the rules from their table."""
    rows = (line.split(" ", 4) for line in secret_rules.RULES.split("\n") if line)
    return tuple(
        Rule(
            name=name,
            entropy=float(entropy),
            lead=int(lead),
            anchors=tuple(anchors.split(",")),
            pattern=pattern.replace("{=}", secret_rules.GAP).replace("{.}", secret_rules.END),
        )
        for name, entropy, lead, anchors, pattern in rows
    )


@cache
def _anchors() -> Mapping[str, tuple[Rule, ...]]:
    """Give the rules by their anchors."""
    table: dict[str, tuple[Rule, ...]] = {}
    for rule in read_rules():
        for anchor in rule.anchors:
            table[anchor] = (*table.get(anchor, ()), rule)
    return MappingProxyType(table)


@cache
def _allowed() -> Mapping[str, str]:
    """Give one pattern for each rule that has values which are no secrets."""
    table: dict[str, list[str]] = {}
    for line in secret_rules.ALLOWED.strip().split("\n"):
        name, _, pattern = line.partition(" ")
        table.setdefault(name, []).append(f"(?:{pattern})")
    return MappingProxyType({name: "|".join(patterns) for name, patterns in table.items()})


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """Give the harmless words by their first letters."""
    table: dict[str, tuple[str, ...]] = {}
    for word in secret_rules.HARMLESS_WORDS.split():
        table[word[:_STEM]] = (*table.get(word[:_STEM], ()), word)
    return MappingProxyType(table)


@cache
def _compile(pattern: str) -> "re.Pattern[str]":
    """Compile a pattern when it is first needed; most never are."""
    return re.compile(pattern, re.ASCII)
