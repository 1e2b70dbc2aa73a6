"""Find secrets before anything is shared, and replace them with a visible mark (G18).

A rule is tried only where one of its anchors occurs, so a text without anchors costs one search per anchor
and nothing more. Every pattern runs in linear time on any text. Base64 of a text with a secret counts as a
secret as a whole.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import log2
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.sessions import secret_rules
from passdown.core.sessions.session_facts import Account
from passdown.records import record, replace

_STEM: Final = 3
_NAME_LIMIT: Final = 50
# No rule matches across this separator, so texts can be searched together.
_BETWEEN: Final = "\n;\n"
_ROUNDS: Final = 2
_DEPTH: Final = 2
"""How many layers of encoding are searched."""
_WRAPPED: Final = pattern(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+={0,2}")
_RUN: Final = pattern(r"[a-z0-9_-]+")
_LONG: Final = 4_096
"""How many characters a text has whose runs are listed first."""
_BINARY: Final = pattern(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xff]")
_SAMPLE: Final = 24
"""How many characters of base64 are decoded first; shorter runs are not searched."""
_LOCAL: Final = frozenset(kind for kind in FactKind if not kind.row.event_key) - {
    FactKind.RETRACTION,
    FactKind.BINDING,
}
"""Kinds that never appear in events or handoffs."""


class RedactedText(NamedTuple):
    """A text that can be shared, and the names of the rules that found secrets in it."""

    text: str
    found: tuple[str, ...] = ()


@record
class SecretRule:
    """How to find one kind of secret."""

    name: Annotated[str, "The rule's name, as shown in the mark."]
    entropy: Annotated[float, "The least randomness of a value, in bits per character."]
    lead: Annotated[int, "How many characters before its anchor a secret begins."]
    anchors: Annotated[tuple[str, ...], "The text at which the pattern begins, in lower case."]
    pattern: Annotated[str, "The pattern; the secret is its first matching group, or else the whole match."]


class _Span(NamedTuple):
    start: int
    end: int
    rule: str


def redact(text: str) -> RedactedText:
    """Replace every secret with a mark.

    A mark may reveal a secret directly beside another one to a rule, so the text is searched a second time.
    Redacting again changes nothing, unless more than two secrets are directly adjacent.
    """
    found: dict[str, None] = {}
    for _ in range(_ROUNDS):
        spans = _join(_find(text))
        if not spans:
            break
        found |= dict.fromkeys(span.rule for span in spans)
        parts: list[str] = []
        at = 0
        for span in spans:
            parts += (text[at : span.start], f"[redacted: {span.rule}]")
            at = span.end
        text = "".join((*parts, text[at:]))
    return RedactedText(text, tuple(found))


def redact_all(texts: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """Redact many texts; where nothing is found, that costs hardly more than one text of their length."""
    starts = list(accumulate((len(one) + len(_BETWEEN) for one in texts[:-1]), initial=0))
    having = {bisect_right(starts, span.start) - 1 for span in _find(_BETWEEN.join(texts))}
    if not having:
        return texts, ()
    redacted = [redact(text) if number in having else RedactedText(text) for number, text in enumerate(texts)]
    found = dict.fromkeys(name for one in redacted for name in one.found)
    return [one.text for one in redacted], tuple(found)


def redact_lines(lines: Sequence[JournalLine]) -> tuple[Sequence[JournalLine], tuple[str, ...]]:
    """Redact the journal lines that may be shared; lines that stay on this machine are not searched."""
    shared = [line.fact for line in lines if line.fact.kind not in _LOCAL]
    said = [part for fact in shared for part in (fact.text, fact.key, fact.because)]
    texts, found = redact_all(said)
    if not found:
        return lines, ()
    clean = _with_texts(shared, texts)
    return [line if line.fact.kind in _LOCAL else replace(line, fact=next(clean)) for line in lines], found


def _with_texts(facts: Iterable[Fact], texts: Iterable[str]) -> Iterator[Fact]:
    """Replace the text, key and reason of each fact with the next three texts."""
    parts = iter(texts)
    return (
        fact._replace(text=text, key=key, because=because)
        for fact, text, key, because in zip(facts, parts, parts, parts, strict=True)
    )


def redact_account(account: Account) -> tuple[Account, tuple[str, ...]]:
    """Redact everything in an account that may be shared."""
    registers = [one for one in (account.goal, account.now) if one is not None]
    entries = [*registers, *(one for entries in account.lists.values() for one in entries)]
    said = [part for one in entries for part in (one.text, one.key, one.because)]
    texts, found = redact_all([account.track, account.task, *said])
    if not found:
        return account, ()
    track, task, *rest = texts
    clean = _with_texts(entries, rest)
    return replace(
        account,
        track=track,
        task=task,
        goal=next(clean) if account.goal else None,
        now=next(clean) if account.now else None,
        lists={kind: tuple(next(clean) for _ in entries) for kind, entries in account.lists.items()},
    ), found


def _find(text: str, depth: int = _DEPTH) -> Iterator[_Span]:
    """Yield secrets in any order; they may overlap."""
    yield from _find_plain(text)
    if depth:
        yield from _find_wrapped(text, depth)


def _find_wrapped(text: str, depth: int) -> Iterator[_Span]:
    """Yield base64 of texts with secrets; all decoded texts are searched together."""
    runs: list[tuple[int, int]] = []
    inner: list[str] = []
    for match in _WRAPPED.finditer(text):
        if decoded := _unwrap(match[0]):
            runs.append(match.span())
            inner.append(decoded)
    if not runs:
        return
    starts = list(accumulate((len(one) + len(_BETWEEN) for one in inner[:-1]), initial=0))
    for found in _find(_BETWEEN.join(inner), depth - 1):
        yield _Span(*runs[bisect_right(starts, found.start) - 1], found.rule)


def _unwrap(coded: str) -> str:
    """Decode base64 of either alphabet; return "" if the result is not text."""
    from binascii import a2b_base64  # few texts have any

    digits = coded.rstrip("=").replace("-", "+").replace("_", "/")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    if _BINARY.search(a2b_base64(digits[:_SAMPLE])):  # most lookalikes fail here
        return ""
    data = a2b_base64(digits + "=" * (-len(digits) % 4))
    return "" if _BINARY.search(data) else data.decode("ascii")


def _find_plain(text: str) -> Iterator[_Span]:
    """Yield the secrets that rules find in the text itself."""
    lowered = _lower(text)
    runs = _list_runs(lowered)
    for anchor, rules in _anchors().items():
        if anchor not in (runs if anchor in _plain_anchors() else lowered):
            continue
        at = lowered.find(anchor)
        places = [at]
        while (at := lowered.find(anchor, at + 1)) >= 0:
            places.append(at)
        for rule in rules:
            yield from _try(rule, text, lowered, places)


def _list_runs(lowered: str) -> str:
    """Return the distinct runs of plain characters in a long text; it has every plain anchor that they have.

    Words repeat, so looking for hundreds of anchors in the runs takes a fraction of the time.
    """
    return lowered if len(lowered) < _LONG else " ".join(set(_RUN.findall(lowered)))


def _try(rule: SecretRule, text: str, lowered: str, places: Sequence[int]) -> Iterator[_Span]:
    """Try a rule wherever its anchor occurs; text that it matched is not searched again."""
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
        # Other rules may match text of any length; a value that the generic rule rejects may itself be the
        # name of a secret.
        if is_secret or rule.name != secret_rules.GENERIC:
            behind = found.end()


def _is_secret(rule: SecretRule, value: str) -> bool:
    """Return whether a value is random enough, and does not look harmless."""
    for name in (rule.name, "*"):
        allowed = _allowed().get(name)
        if allowed is not None and _compile(allowed).fullmatch(value):
            return False
    # This entropy needs at least this many different characters; only then is the exact count worth it.
    return not rule.entropy or (len(set(value)) >= 2**rule.entropy - 1 and entropy_of(value) >= rule.entropy)


def _is_harmless(lowered: str, start: int, span: _Span) -> bool:
    """Return whether the generic rule matched ordinary text, judged by the value or the name before it."""
    value, stems = lowered[span.start : span.end], _words()
    starts = (at for at in range(len(value)) if value[at : at + _STEM] in stems)
    if any(value.startswith(stems[value[at : at + _STEM]], at) for at in starts):
        return True
    first = start
    while first > max(0, start - _NAME_LIMIT) and (
        lowered[first - 1].isalnum() or lowered[first - 1] in "_.-"
    ):
        first -= 1
    return _compile(secret_rules.HARMLESS).search(lowered, first, span.start) is not None


def entropy_of(text: str) -> float:
    """Return the randomness of a text, in bits per character (Shannon entropy)."""
    size = len(text)
    shares = [text.count(character) / size for character in set(text)]
    return -sum(share * log2(share) for share in shares)


def _join(spans: Iterable[_Span]) -> Sequence[_Span]:
    """Join overlapping secrets, in order; the name of a service's own rule wins."""
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
    """Return a text in lower case with all offsets unchanged, although some letters become two."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(one.lower() if one.isascii() else one for one in text)


@cache
def read_rules() -> tuple[SecretRule, ...]:
    """Read the rules from their table."""
    rows = (
        line.split(" ", 4) for line in f"{secret_rules.RULES}{secret_rules.OWN_RULES}".split("\n") if line
    )
    return tuple(
        SecretRule(
            name=name,
            entropy=float(entropy),
            lead=int(lead),
            anchors=tuple(anchors.split(",")),
            pattern=pattern.replace("{=}", secret_rules.GAP).replace("{.}", secret_rules.END),
        )
        for name, entropy, lead, anchors, pattern in rows
    )


@cache
def _anchors() -> Mapping[str, tuple[SecretRule, ...]]:
    """Return the rules by anchor."""
    table: dict[str, tuple[SecretRule, ...]] = {}
    for rule in read_rules():
        for anchor in rule.anchors:
            table[anchor] = (*table.get(anchor, ()), rule)
    return MappingProxyType(table)


@cache
def _plain_anchors() -> frozenset[str]:
    """Return the anchors that can only occur inside a run of plain characters."""
    return frozenset(anchor for anchor in _anchors() if _RUN.fullmatch(anchor))


@cache
def _allowed() -> Mapping[str, str]:
    """Return one pattern per rule for values that are not secrets."""
    table: dict[str, list[str]] = {}
    for line in secret_rules.ALLOWED.strip().split("\n"):
        name, _, pattern = line.partition(" ")
        table.setdefault(name, []).append(f"(?:{pattern})")
    return MappingProxyType({name: "|".join(patterns) for name, patterns in table.items()})


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """Return the harmless words by their first letters."""
    table: dict[str, tuple[str, ...]] = {}
    for word in secret_rules.HARMLESS_WORDS.split():
        table[word[:_STEM]] = (*table.get(word[:_STEM], ()), word)
    return MappingProxyType(table)


@cache
def _compile(pattern: str) -> "re.Pattern[str]":
    """Compile a pattern on first use; most are never used."""
    return re.compile(pattern, re.ASCII)
