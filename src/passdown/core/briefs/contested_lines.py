"""Show decisions that were made without knowing of each other on one line (C162)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.facts import NOT_PUBLISHED, Fact
from passdown.core.safe_text import one_line
from passdown.core.statements import UNSEEN

_MOST: Final = 4
"""How many decisions of one key are shown."""
_LEAST: Final = 40
"""How many characters of each decision are shown at least."""


class Showing(NamedTuple):
    """The functions that render texts, names and times."""

    data: Callable[[str], str]
    name: Callable[[str], str]
    age: Callable[[datetime], str]


def render_contested(facts: Sequence[Fact], show: Showing, limit: int) -> tuple[str, bool]:
    """Return the line, with the decision in force first, and whether anything was left out."""
    size = max(_LEAST, limit // len(facts))
    texts = [show.data(fact.text) for fact in facts[:_MOST]]
    shown = [text if len(text) <= size else f"{text[:size].rstrip()}…" for text in texts]
    parts = [f"{text} ({_origin(fact, show)})" for text, fact in zip(shown, facts, strict=False)]
    left = len(facts) - len(parts)
    more = f"; and {left} more" if left else ""
    return f"{show.data(facts[0].key)}: {UNSEEN.join(parts)}{more}", bool(left) or shown != texts


def _origin(fact: Fact, show: Showing) -> str:
    branch = f", on {show.name(fact.branch)}" if fact.branch else ""
    mark = f", {NOT_PUBLISHED}" if fact.is_unpublished else ""
    return f"{show.name(fact.agent)}, {show.age(fact.at)}{branch}{mark}"


def render_contested_for_person(facts: Sequence[Fact], age: Callable[[datetime], str], limit: int) -> str:
    """Return the line for a person, with whole names; `age` shows when each decision was made."""

    def plain(text: str) -> str:
        return one_line(" ".join(text.split()))

    return render_contested(facts, Showing(plain, plain, age), limit)[0]
