"""Checkpoints: where a resumable agent stands, phase by phase (S1, R85 to R95)."""

import re
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Final

from passdown.core.fields import read_choice
from passdown.core.jsontext import Member, count_of, dump, read_object, text_of, texts_of
from passdown.core.patterns import pattern
from passdown.core.places import At, Reading, Stray
from passdown.core.problems import Malformed, error, warning
from passdown.records import record


class PhaseState(StrEnum):
    """How far a phase is; written in capitals in documents, in lower case in data."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    VALIDATED = "validated"
    FAILED = "failed"
    SKIPPED = "skipped"


_STATES: Final = MappingProxyType({state.value: state for state in PhaseState})
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
_MEMBERS: Final = frozenset(
    {"test_count", "tests_passing", "files_modified", "last_test_command", "last_test_exit_code"}
)


@record
class Phase:
    """One line of Phase Status."""

    phase: Annotated[int, "The phase's number."]
    name: Annotated[str, "The phase's name."] = ""
    state: Annotated[PhaseState, "How far it is."] = PhaseState.PENDING
    detail: Annotated[str, "What was seen, or when it began."] = ""


@record
class ValidationState:
    """What a resumed agent re-runs before it goes on."""

    test_count: Annotated[int, "Tests in scope."] = 0
    tests_passing: Annotated[int, "Tests that pass."] = 0
    files_modified: Annotated[tuple[str, ...], "Files touched in this session."] = ()
    last_test_command: Annotated[str | None, "The command to re-validate with."] = None
    last_test_exit_code: Annotated[int | None, "The exit code to expect."] = None
    others: Annotated[tuple[tuple[str, str], ...], "Further members: name and JSON value."] = ()


def read_state(text: str) -> PhaseState:
    """Read a phase's state in any case, with or without its symbol."""
    known = _STATES.get(text)
    if known is not None:
        return known
    word = text.strip().lstrip("○→✓✗⊘->").strip().replace(" ", "_").replace("-", "_")
    return read_choice(word, PhaseState)


def read_phase(text: str) -> Phase:
    """Read `Phase N (Name): ✓ VALIDATED (detail)`; raise `Malformed` when it is no such line."""
    match = _PHASE.fullmatch(text)
    if match is None:
        raise Malformed(f"is not a phase: {text[:60]}", "write `Phase 1 (Name): ○ PENDING`")
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

    def read(self, content: str, at: At) -> Reading[ValidationState | None]:
        """Read the object wherever it stands; what surrounds it is stray."""
        if not content:
            return Reading(None)
        refused = Malformed("holds no JSON object")
        for start in _starts(content):
            try:
                members, end = read_object(content, start)
                return _around(content[:start], _make_validation(content, members), content[end:], at)
            except Malformed as found:
                refused = found
        problem, _, line = refused.problem.partition(" at line ")
        return Reading(
            None, [Stray(at.line, content)], [error(at.line + int(line or 1) - 1, at.field, problem)]
        )

    def write(self, value: ValidationState | None) -> str:
        """Write one member a line."""
        if value is None:
            return ""
        members = [
            ("test_count", dump(value.test_count)),
            ("tests_passing", dump(value.tests_passing)),
            ("files_modified", dump(list(value.files_modified))),
            ("last_test_command", dump(value.last_test_command)),
            ("last_test_exit_code", dump(value.last_test_exit_code)),
            *value.others,
        ]
        lines = ",\n".join(f"  {dump(name)}: {text}" for name, text in members)
        return f"```json\n{{\n{lines}\n}}\n```"

    def revise(self, content: str, value: ValidationState | None) -> str:
        """Write the block anew, keeping the text around it."""
        strays = self.read(content, At(1, "")).strays
        return "\n\n".join(part for part in [*(stray.text for stray in strays), self.write(value)] if part)


def _starts(content: str) -> list[int]:
    """Find where the object may begin: at the left edge, or else anywhere."""
    edges = [match.start() for match in islice(_EDGE.finditer(content), _TRIES)]
    first = content.find("{")
    return edges or ([first] if first >= 0 else [])


def _around(before: str, value: ValidationState, behind: str, at: At) -> Reading[ValidationState | None]:
    opened = _OPENED.search(before)
    rest = [before[: opened.start()] if opened else before, behind.lstrip().removeprefix("```")]
    strays = [Stray(at.line, text.strip("\r\n")) for text in rest if text.strip()]
    problems = [warning(at.line, at.field, "has text around its JSON block")] if strays else []
    return Reading(value, strays, problems)


def _make_validation(text: str, members: list[Member]) -> ValidationState:
    values = {member.name: member.value for member in members}
    if len(values) < len(members):
        raise Malformed("names a member twice")
    raw = {member.name: text[member.value_start : member.value_end] for member in members}
    return ValidationState(
        test_count=count_of(values.get("test_count"), "test_count") or 0,
        tests_passing=count_of(values.get("tests_passing"), "tests_passing") or 0,
        files_modified=texts_of(values.get("files_modified"), "files_modified"),
        last_test_command=text_of(values.get("last_test_command"), "last_test_command"),
        last_test_exit_code=count_of(values.get("last_test_exit_code"), "last_test_exit_code"),
        others=tuple((name, value) for name, value in raw.items() if name not in _MEMBERS),
    )
