"""What a session saves in its anchored context, and how it is shortened (C106, G10)."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from passdown.core.documents.lists import split_tick
from passdown.core.facts import make_key
from passdown.core.formats.session_contexts import (
    CONSTRAINT,
    RULED_OUT,
    WHY,
    ContextDecision,
    SessionContext,
    says_something,
)
from passdown.core.ids import slug
from passdown.core.lazy_regex import pattern
from passdown.core.sessions.handoffs import Handoff, HandoffDecision
from passdown.core.sessions.ledger_sync import UNCONFIRMED
from passdown.core.sessions.progress import is_derived
from passdown.records import replace

NOTHING_RULED_OUT: Final = f"{CONSTRAINT}nothing is ruled out so far"
NAMED_FILES: Final = 20
_STEPS: Final = 5
_GOAL: Final = "Goal: "
_STATE: Final = "Done last: "
_BLOCKED: Final = "Blocked: "
_SENTENCE: Final = pattern(r"(?<=[.!?])\s+(?=[^a-z\s])")
"""The space between two sentences; the one after "e.g." does not count."""
_REASON: Final = pattern(r"(?P<text>.*\S) \((?P<because>(?:[^()]|\([^()]*\))+)\)", re.DOTALL)


def make_context(
    handoff: Handoff,
    dates: Mapping[str, str],
    dirty: Collection[str] = (),
    *,
    nothing_ruled_out: bool = False,
) -> SessionContext:
    """Return the context of a session; `dates` has the day of each decision by its key.

    It names the last 20 changed files and all that are `dirty` (not committed). It keeps all decisions, open
    questions and blocked tasks, the first five next steps, two sentences of the present step and one of what
    was done last.
    """
    said = tuple(_show_constraint(one) for one in handoff.choices if not one.key)
    task = (f"Task: {handoff.task}",) if handoff.task else ()
    paths = [one.path for one in handoff.file_hashes]
    files = [path for at, path in enumerate(paths) if at >= len(paths) - NAMED_FILES or path in dirty]
    left = len(paths) - len(files)
    return SessionContext(
        track=handoff.track,
        intent=(f"{_GOAL}{handoff.goal}", *task) if handoff.goal else (),
        constraints=said or ((NOTHING_RULED_OUT,) if nothing_ruled_out else ()),
        decisions=tuple(
            ContextDecision(decision=one.text, why=one.because, date=dates.get(one.key, ""))
            for one in handoff.choices
            if one.key
        ),
        files=(*files, f"({left} more)") if left else tuple(files),
        questions=(*handoff.questions, *handoff.unconfirmed),
        state="\n".join(_list_state(handoff)),
        next_steps=handoff.next[:_STEPS],
    )


def _list_state(handoff: Handoff) -> Iterator[str]:
    if handoff.now:
        yield _shorten(handoff.now, 2)
    if handoff.done:
        yield _STATE + _shorten(handoff.done[-1], 1)
    yield from (f"{_BLOCKED}{one}" for one in handoff.blocked)


def _shorten(text: str, count: int) -> str:
    """Return the first sentences of a text."""
    ends = [found.start() for found in _SENTENCE.finditer(text)]
    return text[: ends[count - 1]] if len(ends) >= count else text


def _show_constraint(one: HandoffDecision) -> str:
    """Return a constraint as a line with its reason, which a session states in brackets after it."""
    text, because = one.text, one.because
    found = _REASON.fullmatch(text)
    if not because and found and WHY not in text:
        text, because = found["text"], found["because"]
    line = text if text.startswith(CONSTRAINT) else f"{RULED_OUT}{text}"
    return f"{line}{WHY}{because}" if because else line


def update_context(old: SessionContext, new: SessionContext, settled: Collection[str] = ()) -> SessionContext:
    """Return an older context updated with a new one; unknown text and ruled-out options stay.

    An open item also stays, unless it is ticked or its key is in `settled`.
    """
    said: dict[str, str] = {}
    for line in (*old.constraints, *new.constraints):
        # The same constraint may have its reason in brackets in an older file.
        name = line if line.startswith(CONSTRAINT) else _show_constraint(_read_constraint(line))
        said[name] = line
    known = [line for line in said.values() if says_something(line)]
    if len(known) > 1:
        known = [line for line in known if line != NOTHING_RULED_OUT]
    decisions = (*old.decisions, *new.decisions)
    return replace(
        old,
        track=new.track or old.track,
        intent=new.intent or old.intent,
        constraints=tuple(known),
        decisions=tuple({make_key(one.decision): one for one in decisions}.values()),
        files=new.files,
        questions=_join_questions(old, new, settled),
        state=new.state,
        next_steps=new.next_steps,
    )


def _join_questions(old: SessionContext, new: SessionContext, settled: Collection[str]) -> tuple[str, ...]:
    lines = [(*split_tick(line), line) for line in old.questions]
    items = {make_key(text): line for tick, text, line in lines if tick.strip().lower() != "x"}
    kept = {key: line for key, line in items.items() if key not in settled and not _is_made_anew(line)}
    return tuple((kept | {make_key(line): line for line in new.questions}).values())


def _is_made_anew(line: str) -> bool:
    """Return whether Passdown derived an open item by itself; older versions wrote its mark twice."""
    return is_derived(line) or is_derived(line.removeprefix(UNCONFIRMED))


def to_handoff(context: SessionContext) -> Handoff:
    """Return a context as a handoff."""
    goal = next((line.removeprefix(_GOAL) for line in context.intent if says_something(line)), "")
    ruled_out = [line for line in context.constraints if says_something(line) and line != NOTHING_RULED_OUT]
    decisions = (HandoffDecision(slug(one.decision), one.decision, one.why) for one in context.decisions)
    return Handoff(
        track=context.track,
        goal=goal,
        now=context.state.partition("\n")[0],
        next=context.next_steps,
        choices=(*map(_read_constraint, ruled_out), *decisions),
        questions=context.questions,
    )


def _read_constraint(line: str) -> HandoffDecision:
    text, _, because = line.removeprefix(RULED_OUT).partition(WHY)
    return HandoffDecision("", text, because)
