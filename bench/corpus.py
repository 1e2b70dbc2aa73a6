"""Events as agents write them, the same ones in every run: about 740 bytes each."""

import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

_CLOSE: Final = timedelta(seconds=37)
_APART: Final = timedelta(days=1) / 285
_SEED: Final = 20_260_110
_START: Final = datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)
_AGENTS: Final = ("claude-1f3a9c02", "codex-77ab01cd", "amber-0c4de912", "toast")
_TYPES: Final = (("session_end", "clear"), ("checkpoint", "pre-compact"), ("handoff", "done"))
_VERBS: Final = ("Wrapped", "Compiled", "Moved", "Tested", "Renamed", "Measured", "Documented", "Fixed")
_THINGS: Final = (
    "the session hooks for paths with spaces",
    "the credential endpoint",
    "the event parser",
    "the signature check",
    "the archive of old events",
    "the release notes",
)
_PLACES: Final = ("src/auth/passkey.py", "tests/test_passkey.py", "docs/threat-model.md", "scripts/build.sh")
_REASONS: Final = (
    "Use bash -c '...' for shell quoting",
    "Single quotes outside, double inside",
    "No passwords to leak: WebAuthn",
    "Measured #3 times, it is 2 % faster",
)
_SHARE_OF_BLOCKS: Final = 0.02
_SHARE_OF_NEWER_KEYS: Final = 0.3


def make_events(count: int) -> list[str]:
    """Make so many events; the same number gives the same texts."""
    source = random.Random(_SEED)  # the texts must repeat, nobody need be surprised
    return [_make_event(source, number, _CLOSE * number) for number in range(count)]


def make_log(count: int) -> Iterator[tuple[str, str, str]]:
    """Make the day, file name and text of so many events, 285 a day, each with items of its own."""
    source = random.Random(_SEED)  # the texts must repeat, nobody need be surprised
    for number in range(count):
        text = _make_event(source, number, _APART * number).replace("\n- ", f"\n- {number}: ")
        text = text.replace(f"\n- {number}: phase", "\n- phase").replace(f'- {number}: "', f'- "{number}: ')
        _, ts, _, agent, *_ = re.split(r": |\n", text.removeprefix("---\n"))
        yield ts[:10], f"{ts.replace(':', '-')}_{agent}.md", text


def _make_event(source: random.Random, number: int, since: timedelta) -> str:
    at = _START + since
    newer = source.random() < _SHARE_OF_NEWER_KEYS
    front = "".join(_front(source, at, number, newer=newer))
    body = "\n".join(_body(source, at, newer=newer))
    return f"---\n{front}---\n\n{body}"


def _front(source: random.Random, at: datetime, number: int, *, newer: bool) -> Iterator[str]:
    kind, reason = source.choice(_TYPES)
    yield f"ts: {at:%Y-%m-%dT%H:%M:%S}.{number % 1000:03d}Z\n"
    yield f"agent: {source.choice(_AGENTS)}\n"
    yield f"branch: feat/fix-{source.choice(('hooks-path-spaces', 'passkeys', 'parser'))}\n"
    yield f"type: {kind}\n"
    yield f"reason: {reason}\n"
    if newer:
        yield f"id: e-{source.getrandbits(48):012x}\n"
        yield f"session: s-{source.getrandbits(24):06x}\n"
        yield f"covers: 1-{source.randint(2, 40)}\n"


def _body(source: random.Random, at: datetime, *, newer: bool) -> Iterator[str]:
    if newer:
        yield 'goal: "People can log in with a passkey: done when the tests pass."\n'
    yield _now(source)
    yield _texts("this_session", [_sentence(source) for _ in range(3)])
    yield _texts("next", [f'"{_sentence(source)}: after that, close issue #{source.randint(1, 99)}"'])
    yield "decisions:\n" + "".join(f'  {key}: "{text}"\n' for key, text in _decisions(source))
    if newer:
        yield _texts("files_modified", source.sample(_PLACES, 1))
    updated = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    yield f"checkpoints:\n- phase: {source.randint(1, 9)}\n  status: validated\n  updated: {updated}\n"


def _now(source: random.Random) -> str:
    if source.random() < _SHARE_OF_BLOCKS:
        return f"now: |-\n  {_sentence(source)}\n  and then {_sentence(source)}\n"
    return f"now: Create the pull request after this, {_sentence(source)}\n"


def _sentence(source: random.Random) -> str:
    return f"{source.choice(_VERBS)} {source.choice(_THINGS)} in {source.choice(_PLACES)}"


def _decisions(source: random.Random) -> Iterator[tuple[str, str]]:
    for key in ("bash_c_wrapper", "single_quotes_outer"):
        yield key, source.choice(_REASONS)


def _texts(key: str, items: Sequence[str]) -> str:
    return f"{key}:\n" + "".join(f"- {item}\n" for item in items)
