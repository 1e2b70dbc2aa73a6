"""The table of rules and examples: what we miss, and what we take for a secret that is none."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Final

from passdown.core.sessions.secrets import redact
from passdown.records import record
from tests.secrets.examples import SETS, Example, read_examples
from tests.secrets.innocent import make_innocent

_LONGEST: Final = 100


@record
class SetResult:
    """How the examples of a rule set fared."""

    name: str
    rules: Annotated[int, "How many rules have examples."]
    secrets: Annotated[tuple[Example, ...], "What the rule set calls a secret."]
    missed: Annotated[tuple[Example, ...], "The secrets that are not redacted."]
    others: Annotated[tuple[Example, ...], "What a rule of the set does not want."]
    flagged: Annotated[tuple[Example, ...], "Those that some rule of ours redacts."]


@cache
def judge(name: str) -> SetResult:
    """Try the examples of a rule set."""
    examples = read_examples(name)
    secrets = tuple(one for one in examples if one.is_secret)
    others = tuple(one for one in examples if not one.is_secret)
    return SetResult(
        name=name,
        rules=len({one.rule for one in examples}),
        secrets=secrets,
        missed=tuple(one for one in secrets if not one.is_found),
        others=others,
        flagged=tuple(one for one in others if redact(one.text).found),
    )


def find_false() -> Sequence[str]:
    """Return the innocent texts that are redacted."""
    return [text for text in make_innocent() if redact(text).found]


def render_report() -> Iterator[str]:
    """Yield the lines of the table, then every example that was missed."""
    results = [judge(name) for name in SETS]
    for result in results:
        yield f"{result.name}: {result.rules} rules"
        yield f"  {len(result.missed)} of {len(result.secrets)} secrets missed"
        flagged, others = len(result.flagged), len(result.others)
        yield f"  {flagged} of {others} texts redacted that one of its rules leaves alone"
        yield from _render_rules(result)
    false = find_false()
    yield f"innocent: {len(false)} of {len(make_innocent())} redacted"
    yield from (f"  {_shorten(text)}" for text in false)


def _render_rules(result: SetResult) -> Iterator[str]:
    whole = Counter(one.rule for one in result.secrets)
    missed = Counter(one.rule for one in result.missed)
    for rule, count in whole.items():
        yield f"    {rule:45} {count - missed[rule]:5} found {missed[rule]:4} missed"
        yield from (f"      missed: {_shorten(one.text)}" for one in result.missed if one.rule == rule)


def _shorten(text: str) -> str:
    shown = repr(text)[1:-1]
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
