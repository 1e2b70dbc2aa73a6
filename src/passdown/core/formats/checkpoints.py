"""Checkpoints: the progress of a resumable agent, phase by phase (S1, R85 to R95)."""

import re
from collections.abc import Callable
from itertools import islice
from typing import Annotated, Final, cast

from passdown.core.documents.fields import declared_fields, in_member
from passdown.core.documents.places import PlacePosition, PlaceReading
from passdown.core.json_text import JsonMember, dump, read_object
from passdown.core.lazy_regex import pattern
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed, error, warning
from passdown.records import record

LAST_PHASE: Final = 999_999_999
"""The greatest number that a phase can have."""
_SYMBOLS: Final = (
    (PhaseState.PENDING, "○"),
    (PhaseState.IN_PROGRESS, "→"),
    (PhaseState.VALIDATED, "✓"),
    (PhaseState.FAILED, "✗"),
    (PhaseState.SKIPPED, "⊘"),
)
_PHASE: Final = pattern(
    r"Phase (?P<phase>[0-9]{1,9})(?: \((?P<name>[^\n]{0,300}?)\))?: ?(?:[^\w\s()]{1,4} ?)?"
    r"(?P<state>[A-Za-z]+(?:[_ -][A-Za-z]+)?)(?: \((?P<detail>[^\n]*)\))?",
    re.IGNORECASE,
)
_OPENED: Final = pattern(r"```(?:json)?\s*\Z")
_EDGE: Final = pattern(r"^\{", re.MULTILINE)
_TRIES: Final = 8
_LEFT_OUT: Final = frozenset({"test_count", "tests_passing"})
"""The members that are left out if they are unknown (C155)."""


@record
class Phase:
    """One line of Phase Status."""

    phase: Annotated[int, "The phase's number."]
    name: Annotated[str, "The phase's name."] = ""
    state: Annotated[PhaseState, "Its progress."] = PhaseState.PENDING
    detail: Annotated[str, "What was observed, or when it started."] = ""


@record
class ValidationState:
    """What an agent runs again before it resumes."""

    test_count: Annotated[int | None, "Number of tests in scope; left out if unknown.", in_member()] = None
    tests_passing: Annotated[int | None, "Number of passing tests; left out if unknown.", in_member()] = None
    files_modified: Annotated[tuple[str, ...], "Files changed in this session.", in_member()] = ()
    last_test_command: Annotated[str | None, "The command that validates the phase again.", in_member()] = (
        None
    )
    last_test_exit_code: Annotated[int | None, "The exit code to expect.", in_member()] = None
    others: Annotated[tuple[tuple[str, str], ...], "Further members: name and JSON value."] = ()


def read_phase(text: str) -> Phase:
    """Read `Phase N (Name): ✓ VALIDATED (detail)`; raise `Malformed` if it is not such a line."""
    match = _PHASE.fullmatch(text)
    if match is None:
        raise Malformed(f"is not a phase: {text[:60]}", "write it like `Phase 1 (Name): ○ PENDING`")
    return Phase(
        phase=int(match["phase"]),
        name=match["name"] or "",
        state=read_state(match["state"]),
        detail=match["detail"] or "",
    )


def write_phase(phase: Phase) -> str:
    """Write a line of Phase Status."""
    name = f" ({phase.name})" if phase.name else ""
    detail = f" ({phase.detail})" if phase.detail else ""
    line = f"Phase {phase.phase}{name}: {dict(_SYMBOLS)[phase.state]} {phase.state.value.upper()}{detail}"
    return line.replace("\n", " ")


@record(kw_only=False)
class JsonBlock:
    """The Validation State: a JSON object in a code block."""

    def read(self, content: str, at: PlacePosition) -> PlaceReading[ValidationState | None]:
        """Read the object anywhere in the content; text around it is a stray."""
        if not content:
            return PlaceReading(None)
        refused = Malformed("does not contain a JSON object")
        edges = [match.start() for match in islice(_EDGE.finditer(content), _TRIES)]
        anywhere = [content.index("{")] if "{" in content else []
        for start in edges or anywhere:
            try:
                members, end = read_object(content, start)
                value = _make_validation(content, members)
            except Malformed as found:
                refused = found
                continue
            before = _OPENED.sub("", content[:start])
            around = (before, content[end:].lstrip().removeprefix("```"))
            strays = [text.strip("\r\n") for text in around if text.strip()]
            problems = [warning(at.line, at.field, "has text around its JSON block")] if strays else []
            return PlaceReading(value, strays, problems)
        problem, _, line = refused.problem.partition(" at line ")
        return PlaceReading(None, [content], [error(at.line + int(line or 1) - 1, at.field, problem)])

    def write(self, value: ValidationState | None) -> str:
        """Write one member per line, without unknown counts."""
        if value is None:
            return ""
        told = [(one, getattr(value, one.field)) for one in declared_fields(ValidationState)]
        members = [
            (one.name, dump(one.to_json(found)))
            for one, found in told
            if found is not None or one.name not in _LEFT_OUT
        ]
        members += value.others
        lines = ",\n".join(f"  {dump(name)}: {text}" for name, text in members)
        return f"```json\n{{\n{lines}\n}}\n```"


def _make_validation(text: str, members: list[JsonMember]) -> ValidationState:
    values = {member.name: member.value for member in members}
    if len(values) < len(members):
        raise Malformed("has a duplicate member")
    raw = {member.name: text[member.value_start : member.value_end] for member in members}
    fields = declared_fields(ValidationState)
    known = {one.field: one.from_json(values.get(one.name)) for one in fields}
    others = tuple((name, value) for name, value in raw.items() if name not in known)
    return cast("Callable[..., ValidationState]", ValidationState)(**known, others=others)
