"""The lines of a brief: each shows one fact, its origin before a `>` and its text after it.

What sessions and people wrote is data: it is shown on one line, without control or bidirectional characters,
and is cut after 300 characters. What comes before the `>` is ours.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.budgets import Budget, Size, measure
from passdown.core.briefs.receipts import describe_result
from passdown.core.facts import NOT_PUBLISHED, WORDS_CHARS, Fact, Provenance, show_fact
from passdown.core.ids import FactId
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.safe_text import one_line
from passdown.core.sessions.ledger_sync import RULED_OUT
from passdown.core.times import age_words, is_older

MAX_TEXT: Final = 300
ALL_FACTS: Final = "passdown brief --json"
"""The command that shows every fact in full."""
MESSAGE: Final = "message"
"""The kind of the lines that show messages."""
INBOX: Final = "passdown inbox"

_NAME: Final = 40
_HASH: Final = 16
_OLD: Final = timedelta(hours=24)
_NOT_IN_NAMES: Final = pattern(r"[()<>`\s]+")


class BriefLine(NamedTuple):
    """One line of a brief; `id` is empty if it shows no fact, or only a part of one."""

    text: str
    id: FactId | str = ""
    fact: Fact | None = None


class FactLines:
    """Renders facts as lines for one agent, at one instant."""

    def __init__(
        self,
        agent: str,
        now: datetime,
        frame: BriefFrame,
        limit: int,
        budget: Budget,
        *,
        is_marked: bool = True,
    ) -> None:
        """Keep the reader, the time, and the limits of the lines."""
        self._agent, self._now, self._frame = agent, now, frame
        self._limit, self._budget, self._is_marked = limit, budget, is_marked

    def lines(
        self, facts: Iterable[Fact], lead: Callable[[Fact], str] = lambda _: ""
    ) -> tuple[BriefLine, ...]:
        """Render facts until they alone fill the budget; later ones would not fit anyway."""
        lines: list[BriefLine] = []
        size = Size()
        for fact in facts:
            if not self._budget.holds(size):
                break
            lines.append(self.line(fact, lead(fact)))
            size = size.plus(measure(lines[-1].text))
        return tuple(lines)

    def line(self, fact: Fact, lead: str = "") -> BriefLine:
        """Render a fact, with its origin before it."""
        is_rule = fact.kind == FactKind.CONSTRAINT  # the heading already says that something is ruled out
        said = fact.text.removeprefix(RULED_OUT) if is_rule else show_fact(fact)
        text = self.data(f"{lead}{said}")
        limit = WORDS_CHARS if fact.kind == FactKind.WORDS and self._limit == MAX_TEXT else self._limit
        is_cut = len(text) > limit
        if is_cut:
            text = f"{text[:limit].rstrip()}…"
        marks = ", ".join(self._marks(fact, is_cut=is_cut)) if self._is_marked else ""
        shown = f"({marks}) > {text}" if marks else f"> {text}"
        return BriefLine(shown, "" if is_cut else fact.id, fact)

    def results(self, files: Sequence[Fact]) -> Callable[..., BriefLine]:
        """Return a function that renders a test result, with its commit and how many files changed since."""

        def show(fact: Fact, lead: str = "") -> BriefLine:
            line = self.line(fact, lead)
            return line._replace(text=f"{line.text}{describe_result(fact, files)}")

        return show

    def contested(self, facts: Sequence[Fact]) -> BriefLine:
        """Render the contested decisions of one key, each with its author and age."""
        from passdown.core.briefs.contested_lines import Showing, render_contested  # few are contested

        text, is_cut = render_contested(facts, Showing(self.data, self.name, self.age), self._limit)
        return BriefLine(f"> {text}", "" if is_cut else facts[0].id, facts[0])

    def data(self, text: str) -> str:
        """Return an untrusted text as one safe line."""
        return self._frame.clean(one_line(" ".join(text.split())))

    def name(self, text: str) -> str:
        """Return an untrusted name in a form that is safe before the `>`."""
        shown = _NOT_IN_NAMES.sub("_", self.data(text))
        return shown if len(shown) <= _NAME else f"{shown[:_NAME]}…"

    def age(self, at: datetime) -> str:
        """Return how long ago an instant was."""
        return age_words(self._now - at)

    def is_fresh(self, fact: Fact) -> bool:
        """Return whether a fact was stated within the last day."""
        return not is_older(fact.at, self._now, _OLD)

    def _marks(self, fact: Fact, *, is_cut: bool) -> Iterator[str]:
        is_own = fact.agent == self._agent
        if not is_own:
            yield self.name(fact.agent)
        if not is_own or not self.is_fresh(fact):
            yield self.age(fact.at)
        if fact.branch:
            yield f"on {self.name(fact.branch)}"
        if fact.is_unpublished:
            yield NOT_PUBLISHED
        if fact.provenance is not Provenance.STATED:
            yield fact.provenance.value
        if is_cut:
            command = INBOX if fact.kind == MESSAGE else ALL_FACTS
            command = f"passdown log show {fact.event[:_HASH]}" if fact.event else command
            yield f"cut: `{command}`"
