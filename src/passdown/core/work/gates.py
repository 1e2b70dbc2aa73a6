"""The rules of the validation gates: what each needs, how it ends, when a person decides (§2.16, C101).

1. In `speed` mode a failed gate is a warning. In `full` mode design, plan-execution and completion stop the
   work, unless `--validate-warn` makes them warnings. A missing document stops the work in any mode.
2. If a file about the whole project is missing, the check that needs it is skipped with a note.
3. The third failed attempt escalates: a person must decide, and every brief says so.
4. Only a person's answer ends the escalation and its comments; an agent's answer is a comment (C154).
"""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown import layout
from passdown.core.facts import ESCALATED, Fact, GateStatus
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import NewFact
from passdown.core.sessions.track_gates import MOST_ATTEMPTS

HALTING: Final = frozenset({"design", "plan-execution", "completion"})
COUNTED: Final = frozenset({"plan-structure", "completion"})
"""The gates that Passdown checks by itself; nobody has to judge them."""
NEEDED: Final = MappingProxyType(
    {
        "design": (layout.DESIGN,),
        "spec": (layout.DESIGN, layout.SPEC),
        "plan-structure": (layout.PLAN,),
        "plan-execution": (layout.PLAN,),
        "completion": (layout.PLAN,),
    }
)
"""The documents that a gate needs."""
QUESTIONS: Final = MappingProxyType(
    {
        "design": "Does it serve the product's goals, use the approved stack, and follow the code maps?",
        "spec": "Does it cover every design decision, with nothing beyond, testable and without conflicts?",
    }
)
"""The questions that an agent judges, and answers with `gate pass` or `gate fail`."""
_LONGEST: Final = 300
_BLOCKED: Final = "BLOCKED: "
_FAILED: Final = " failed "


class GateChoice(NamedTuple):
    """How strictly a gate is judged."""

    is_full: bool = False
    only_warn: bool = False


class GateVerdict(NamedTuple):
    """How a gate ended."""

    gate: str
    status: GateStatus
    notes: str
    left_out: Annotated[tuple[str, ...], "The checks that were skipped, and why."] = ()

    @property
    def stops(self) -> bool:
        """Whether the work must stop."""
        return self.status is GateStatus.FAIL


def decide(
    gate: str, choice: GateChoice, findings: Sequence[str], missing: Sequence[str] = (), passed: str = ""
) -> GateVerdict:
    """Return how a gate ends (1)."""
    if not (findings or missing):
        return GateVerdict(gate, GateStatus.PASS, passed[:_LONGEST])
    halts = bool(missing) or (choice.is_full and gate in HALTING)
    status = GateStatus.FAIL if halts and not choice.only_warn else GateStatus.WARN
    absent = [f"{name} is missing" for name in missing]
    return GateVerdict(gate, status, "; ".join([*absent, *findings])[:_LONGEST])


def escalate(gate: str, track: str, failures: Iterable[Fact], answers: int = 0) -> NewFact:
    """Return the question that a person must answer (3); `answers` makes it differ from earlier ones."""
    reasons = [fact.because for fact in failures if fact.because][-MOST_ATTEMPTS:]
    listed = "; ".join(f"{number}. {reason}" for number, reason in enumerate(reasons, 1))
    again = f" (again, after {answers} answer{'s' * (answers > 1)})" if answers else ""
    text = f"{blocked_by(gate, track)} {MOST_ATTEMPTS} times{again}, a person must decide: {listed}"
    return NewFact(FactKind.QUESTION, text)


def blocked_by(gate: str, track: str) -> str:
    """Return the beginning of the question that an escalated gate asks."""
    return f"{ESCALATED}{gate} of {track or 'this session'} failed"


def answer_escalation(
    question: str, text: str, comments: Iterable[str], *, is_person: bool
) -> Sequence[NewFact]:
    """Return the facts for an answer to an escalated gate, with the answer or comment first (4)."""
    about = f"{question.removeprefix(_BLOCKED).partition(_FAILED)[0]}: "
    if not is_person:
        return [NewFact(FactKind.COMMENT, f"{about}{text.strip()}" if text.strip() else "")]
    ended = [one for one in comments if one.startswith(about)]
    over = (NewFact(FactKind.RETRACTION, one, FactKind.COMMENT.value) for one in ended)
    return [NewFact(FactKind.ANSWER, text, question), *over]
