"""Signs that a session is getting worse: it repeats itself, or tests fail that passed before.

Only what a transcript shows is judged. Whether work goes backwards or contradicts a decision is for the agent
to notice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.hosts.transcripts import Observation
from passdown.core.json_text import dump, list_at, load_object, number_at
from passdown.core.safe_text import one_line
from passdown.records import record

SEVERAL: Final = 2
"""How many different signs mean that the session is getting worse."""

_LONGEST: Final = 60
_MOST: Final = 10


class SignalKind(StrEnum):
    """The kind of a sign."""

    TOOL_REPEAT = "tool_repeat"
    QUALITY_DROP = "quality_drop"


class Signal(NamedTuple):
    """One sign, and its evidence."""

    kind: SignalKind
    text: str


@record
class Degradation:
    """The signs of the last turn, and how often the context was compacted."""

    signals: Annotated[tuple[Signal, ...], "The signs of the last turn."] = ()
    compactions: Annotated[int, "How often the host compacted the context."] = 0

    @property
    def is_degraded(self) -> bool:
        """Whether there are enough different signs to warn."""
        return len({one.kind for one in self.signals}) >= SEVERAL


NO_SIGNS: Final = Degradation()


def find_signals(
    seen: Iterable[Observation], before: Mapping[str, str], tests: Iterable[tuple[str, str]]
) -> tuple[Signal, ...]:
    """Return the signs in a turn.

    `before` has the last exit code of each known test, `tests` the tests of this turn with their exit codes.
    """
    counts = Counter((one.kind, one.text) for one in seen if one.kind.row.repeated_as[1])
    repeats = [
        Signal(SignalKind.TOOL_REPEAT, f"{kind.row.repeated_as[0]} {_short(text)} {count} times")
        for (kind, text), count in counts.items()
        if count >= kind.row.repeated_as[1]
    ]
    last = dict(tests)
    worse = [name for name, code in last.items() if code not in {"", "0"} and before.get(name) == "0"]
    drops = [Signal(SignalKind.QUALITY_DROP, f"{_short(name)} fails but passed before") for name in worse]
    return (*repeats[:_MOST], *drops[:_MOST])


def _short(text: str) -> str:
    """Return the end of a path, or the start of a command, on one line."""
    line = one_line(text)
    if len(line) <= _LONGEST:
        return line
    return f"…{line[1 - _LONGEST :]}" if "/" in line and " " not in line else f"{line[: _LONGEST - 1]}…"


def render_degradation(found: Degradation) -> str:
    """Write the signs as one line of JSON."""
    signals = [[one.kind.value, one.text] for one in found.signals]
    return f"{dump({'compactions': found.compactions, 'signals': signals})}\n"


def parse_degradation(text: str) -> Degradation:
    """Read what `render_degradation` wrote, skipping what cannot be read."""
    data = load_object(text)
    signals: list[Signal] = []
    for pair in list_at(data, "signals"):
        match pair:
            case [str(kind), str(words)] if kind in set(SignalKind):
                signals.append(Signal(SignalKind(kind), one_line(words)))
            case _:
                pass
    return Degradation(signals=tuple(signals), compactions=max(number_at(data, "compactions") or 0, 0))
