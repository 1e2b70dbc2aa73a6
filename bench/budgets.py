"""What each measurement aims at, what is allowed, and what limits the figures that are over their aim.

The aim is what was asked for. The allowance is at least 1.5 times what a quiet machine measures: what is over
it is told, and somebody should look. A size that is over it fails the run, for it is the same on any machine.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passdown.records import record


@record
class Budget:
    """An aim, the allowance, and why the aim is missed, if it is on purpose; `at_least` turns both round."""

    aim: float
    allowed: float
    limited_by: str = ""
    at_least: bool = False

    def is_aim_met(self, ratio: float) -> bool:
        """Say whether a ratio is what was asked for."""
        return ratio >= self.aim if self.at_least else ratio <= self.aim

    def is_allowed(self, ratio: float) -> bool:
        """Say whether a ratio is no more than is allowed."""
        return ratio >= self.allowed if self.at_least else ratio <= self.allowed


_LOADING: Final = "loading its modules, 5 to 7 P"
_VERB: Final = Budget(aim=8, allowed=16)
_AROUND: Final = "Python around the statements, where syncing the disk takes little"
_WORDS: Final = "one question in six shares no word, or only a common one, with its answer"
_COORDINATION: Final = Budget(aim=0.7, allowed=0.2, limited_by=_AROUND, at_least=True)

BUDGETS: Final[Mapping[str, Mapping[str, Budget]]] = MappingProxyType(
    {
        "start-up": {
            "passdown --version": Budget(aim=2, allowed=2),
            "passdown --help": Budget(aim=5.5, allowed=8),
            "synthesize --check": Budget(aim=5.5, allowed=8),
        },
        "verbs": {
            "start": Budget(
                aim=8, allowed=20, limited_by=f"{_LOADING}, and looking for sessions that never ended"
            ),
            "publish": Budget(aim=8, allowed=20, limited_by=f"{_LOADING}, and the index of the log"),
            "end": Budget(aim=8, allowed=20, limited_by=f"{_LOADING}, and archive, view and commit"),
            "": _VERB,
        },
        "hooks": {
            "prompt": Budget(aim=2, allowed=3),
            "start": Budget(aim=4, allowed=30, limited_by=f"{_LOADING}, and the brief"),
            "turn end": Budget(aim=5, allowed=15, limited_by=_LOADING),
            "end": Budget(aim=8, allowed=15, limited_by=_LOADING),
            "slowest, to 250 ms": Budget(aim=1, allowed=2),
        },
        "sessions": {
            "start": Budget(aim=12, allowed=30, limited_by=f"{_LOADING}, and the brief"),
            "turn end": Budget(aim=7, allowed=20, limited_by=_LOADING),
            "turn end with event, view and commit": Budget(aim=15, allowed=30, limited_by=_LOADING),
            "decide": Budget(aim=7, allowed=16, limited_by=_LOADING),
            "note": Budget(aim=7, allowed=16, limited_by=_LOADING),
            "end": Budget(aim=20, allowed=40, limited_by=f"{_LOADING}, and seven git processes"),
            "edit of a held file": Budget(
                aim=3, allowed=20, limited_by="a refusal names the holder, which takes what a verb loads"
            ),
            "edit of a free file": Budget(aim=3, allowed=4),
            "to day 1": Budget(aim=1.3, allowed=2, limited_by="see each thing's own row"),
        },
        "events": {
            "read_event": Budget(aim=5, allowed=3.9, at_least=True),
            "parse_event": Budget(aim=3, allowed=2.4, at_least=True),
        },
        "logs": {
            "rebuild": Budget(aim=6, allowed=12, limited_by="at 100,000 events in one folder, listing it"),
            "with cache built": Budget(aim=20, allowed=24),
            "view": Budget(aim=1, allowed=1),
            "one more event": Budget(
                aim=1, allowed=2, limited_by="at 100,000 events, one fsync more or less"
            ),
            "one more, to 1k": Budget(aim=1.5, allowed=4, limited_by="one fsync more or less decides"),
        },
        "commits": {
            "our commit": Budget(aim=1.2, allowed=1.8),
            "objects": Budget(aim=1, allowed=1),
        },
        "coordination": {
            "claim and close": _COORDINATION,
            "reserve, renew, release": _COORDINATION,
            "message": _COORDINATION,
            "sign of life": _COORDINATION,
            "read a message": Budget(aim=2, allowed=6, limited_by=_AROUND),
            "claim, to 1k tasks": Budget(aim=1.3, allowed=2, limited_by="one fsync more or less decides"),
        },
        "search": {
            "index, to the corpus": Budget(
                aim=0.6, allowed=0.7, limited_by="the words, of which a small corpus has more"
            ),
            "selective, to 2 ms": Budget(aim=1, allowed=3),
            "ripgrep, to selective": Budget(aim=100, allowed=60, at_least=True),
            "one more event, to 5 ms": Budget(aim=1, allowed=3),
        },
        "questions": {
            "seen half, hit@5": Budget(aim=0.9, allowed=0.8, limited_by=_WORDS, at_least=True),
            "half kept aside, hit@5": Budget(aim=0.9, allowed=0.8, limited_by=_WORDS, at_least=True),
            "half kept aside, unrelated refused": Budget(
                aim=0.7, allowed=0.5, limited_by="the threshold fits the half that was seen", at_least=True
            ),
            "half kept aside, right called weak": Budget(aim=0.2, allowed=0.25),
            "LoCoMo, hit@1": Budget(aim=0.7, allowed=0.7, at_least=True),
            "LoCoMo, hit@5": Budget(aim=0.91, allowed=0.91, at_least=True),
            "LoCoMo, MRR": Budget(aim=0.8, allowed=0.8, at_least=True),
        },
        "year": {
            "to day 1": Budget(aim=1.3, allowed=2, limited_by="a busy machine, or more that is read"),
            "git": Budget(aim=1.5, allowed=2.5, limited_by="records of sessions, a file each"),
            "git, more ms": Budget(aim=1, allowed=3, limited_by="records of sessions, a file each"),
            "tracked single files": Budget(aim=1, allowed=1),
            "made and measured": Budget(aim=1, allowed=1.5),
        },
        "transcripts": {
            "per 100 KB": Budget(aim=1, allowed=2.5, limited_by="the JSON parser alone takes 1.0 of it"),
        },
    }
)
