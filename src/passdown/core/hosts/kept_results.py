"""The results of subagents in a session's journal: what each subagent returned, and whether it was applied.

1. A result is recorded once, in full. A result without task updates is only noted, and an unreadable one is
   kept as malformed.
2. Before the first attempt to apply it, a line records an operation id for each of its updates, so that each
   update acts once, however often it is tried.
3. After each attempt, a line records the outcome. An update that was refused is tried again under a new id;
   one whose outcome is unknown, under the same id. Once all are done, a line says that the result is applied.
4. A dropped result is never applied.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, cast

from passdown.core.facts import Fact
from passdown.core.hosts.results import SubagentResult, TaskUpdate, as_data, read_result
from passdown.core.json_text import dump, object_at
from passdown.core.kinds import FactKind
from passdown.core.problems import Malformed
from passdown.records import field, record, replace

DONE: Final = "done"
"""The outcome of an update that was applied; any other outcome is the reason why it was not."""


class ResultStep(StrEnum):
    """What happened to a result."""

    TAKEN = "taken"
    NOTED = "noted"
    MALFORMED = "malformed"
    BEGUN = "begun"
    TRIED = "tried"
    APPLIED = "applied"
    DROPPED = "dropped"


class ResultState(StrEnum):
    """The state of a result."""

    WAITING = "waiting"
    APPLIED = "applied"
    NOTED = "noted"
    MALFORMED = "malformed"
    DROPPED = "dropped"


_FIRST: Final = frozenset({ResultStep.TAKEN, ResultStep.NOTED, ResultStep.MALFORMED})
_OPEN: Final = frozenset({ResultState.WAITING, ResultState.MALFORMED})


@record
class KeptResult:
    """A subagent's result as recorded in the journal."""

    id: Annotated[str, "The hash of its content."]
    at: Annotated[datetime, "When it was recorded."]
    state: Annotated[ResultState, "Its state."] = ResultState.WAITING
    result: Annotated[SubagentResult | None, "Its content; None if it cannot be read."] = None
    problems: Annotated[tuple[str, ...], "What could not be understood."] = ()
    subagent: Annotated[str, "The host's id for the subagent; empty if the result came from a file."] = ""
    operations: Annotated[
        Mapping[int, str], "The ids of the operations that apply the updates, by position (2)."
    ] = field(default_factory=dict[int, str])
    outcomes: Annotated[Mapping[int, str], "The outcomes of the updates that were tried, by position."] = (
        field(default_factory=dict[int, str])
    )

    @property
    def is_open(self) -> bool:
        """Whether it still has to be applied, fixed or dropped."""
        return self.state in _OPEN

    @property
    def updates(self) -> tuple[TaskUpdate, ...]:
        """The task updates that it asks for."""
        return self.result.updates if self.result else ()

    @property
    def left(self) -> Sequence[int]:
        """The positions of the updates that are not applied yet."""
        return [at for at in range(len(self.updates)) if self.outcomes.get(at) != DONE]


def fold_results(facts: Iterable[Fact]) -> dict[str, KeptResult]:
    """Return the state of each result, from the facts of journals in their order."""
    found: dict[str, KeptResult] = {}
    for fact in facts:
        if fact.kind == FactKind.RESULT.value and fact.text in set(ResultStep):
            known = found.get(fact.key)
            step = ResultStep(fact.text)
            if known is not None:
                found[fact.key] = _follow(known, fact, step)
            elif step in _FIRST:
                found[fact.key] = _begin(fact, step)
    return found


def _begin(fact: Fact, step: ResultStep) -> KeptResult:
    told = dict(fact.others)
    try:
        result = read_result(told.get("result", ""))
    except Malformed:  # another version wrote it
        result = None
    state = ResultState.WAITING if result else ResultState.MALFORMED
    return KeptResult(
        id=fact.key,
        at=fact.at,
        state=state if step is ResultStep.TAKEN else ResultState(step.value),
        result=result,
        problems=_texts(told.get("problems", "[]")),
        subagent="".join(_texts(told.get("subagent", "[]"))),
    )


def _follow(known: KeptResult, fact: Fact, step: ResultStep) -> KeptResult:
    told: dict[str, object] = {name: json.loads(value) for name, value in fact.others}
    match step:
        case ResultStep.BEGUN:
            begun = object_at(told, "operations")
            named = {int(at): str(op) for at, op in begun.items() if at.isdecimal()}
            return replace(known, operations={**named, **known.operations})  # 2
        case ResultStep.TRIED:
            at, outcome = told.get("update"), str(told.get("outcome"))
            if not isinstance(at, int) or known.outcomes.get(at) == DONE:
                return known
            is_over = outcome != DONE and told.get("unsure") is not True  # 3
            left = {name: op for name, op in known.operations.items() if name != at or not is_over}
            return replace(known, outcomes={**known.outcomes, at: outcome}, operations=left)
        case ResultStep.APPLIED | ResultStep.DROPPED if known.is_open:
            return replace(known, state=ResultState(step.value))
        case _:
            return known


def _texts(value: str) -> tuple[str, ...]:
    found: object = json.loads(value)
    listed = cast("list[object]", found) if isinstance(found, list) else [found]
    return tuple(one for one in listed if isinstance(one, str))


Members = tuple[tuple[str, str], ...]


def members_of_result(result: SubagentResult, subagent: str) -> Members:
    """Return the further members of the line that records a result."""
    return _members(result=as_data(result), problems=list(result.problems), subagent=subagent)


def members_of_malformed(problem: str, subagent: str) -> Members:
    """Return the further members of the line that records an unreadable result."""
    return _members(problems=[problem], subagent=subagent)


def members_of_begin(operations: Mapping[int, str]) -> Members:
    """Return the further members of the line before the first attempt."""
    return _members(operations={str(at): op for at, op in operations.items()})


def members_of_try(at: int, outcome: str, *, is_unsure: bool = False) -> Members:
    """Return the further members of the line after an attempt."""
    return (("update", dump(at)), *_members(outcome=outcome, unsure=is_unsure))


def _members(**values: object) -> Members:
    return tuple((name, dump(value)) for name, value in values.items() if value)
