"""The anchored context, `.conductor/session-context.md`: what a later session of an agent needs (S4, G10).

Its first line is a comment with its version. Sections marked [PRESERVE] are never shortened and never empty;
`core.work.session_contexts` shortens the others.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from passdown.core.documents.conflicts import find_conflict
from passdown.core.documents.documents import BareDocumentFormat, heading_line, refuse_unreadable
from passdown.core.documents.fields import in_section
from passdown.core.documents.lists import split_tick
from passdown.core.documents.markdown import is_placeholder
from passdown.core.documents.places import ListOf, SingleLine, rows_of
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.records import field, record, replace

VERSION: Final = 1
MARK: Final = f"<!-- session-context v{VERSION} -->"
INTENT: Final = "Intent"
CONSTRAINTS: Final = "Constraints & Ruled-Out"
RULED_OUT: Final = "RULED_OUT: "
CONSTRAINT: Final = "CONSTRAINT: "
WHY: Final = " -- "
"""Separates a constraint from its reason."""

_MARKED: Final = pattern(r"\ufeff?<!--[ \t]*session-context v(?P<version>[0-9]{1,9})[ \t]*-->")
_PRESERVE: Final = "[PRESERVE]"
_FEW: Final = 2


@record
class ContextDecision:
    """A row of Decisions Made."""

    decision: Annotated[str, "What was chosen."]
    why: Annotated[str, "The reason."] = ""
    date: Annotated[str, "The day, like 2025-12-27."] = ""


@record
class SessionContext:
    """What a session leaves for the next session of the same agent."""

    title: Annotated[str, "The document's title."] = "Session Context"
    track: Annotated[
        str, "The track it worked on.", in_section("Track ID", SingleLine(str, str, ""), required=False)
    ] = ""
    intent: Annotated[
        tuple[str, ...],
        "What is built and why: `Goal:`, `Why:`, `Success criteria:`. Never shortened.",
        in_section(f"{INTENT} {_PRESERVE}", ListOf(str, str, bare=True)),
    ] = ()
    constraints: Annotated[
        tuple[str, ...],
        "What must hold (`CONSTRAINT:`) and what was ruled out (`RULED_OUT:`). Never shortened.",
        in_section(f"{CONSTRAINTS} {_PRESERVE}", ListOf(str, str, bare=True)),
    ] = ()
    decisions: Annotated[
        tuple[ContextDecision, ...],
        "Decisions with their reasons; all are kept.",
        in_section("Decisions Made", rows_of(ContextDecision, "Decision", "Why", "Date")),
    ] = ()
    files: Annotated[
        tuple[str, ...], "Changed files: the last 20, and how many more.", in_section("Files Modified")
    ] = ()
    questions: Annotated[
        tuple[str, ...],
        "Open questions and to-dos; finished ones are left out.",
        in_section("Open Questions \\ TODOs"),
    ] = ()
    state: Annotated[str, "Where the work is, in two or three sentences.", in_section("Current State")] = ""
    next_steps: Annotated[
        tuple[str, ...], "The first five next steps.", in_section("Next Steps", ListOf(str, str, mark="1. "))
    ] = ()
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def find_empty(context: SessionContext) -> str:
    """Return the first section that is empty but must not be; an empty string if there is none."""
    preserved = ((INTENT, context.intent), (CONSTRAINTS, context.constraints))
    return next((name for name, lines in preserved if not any(map(says_something, lines))), "")


def says_something(line: str) -> bool:
    """Return whether a line has a text beside its label; a placeholder does not count."""
    _, rest = split_tick(line)
    text = rest.partition(":")[2] if rest.partition(":")[0].strip() in _LABELS else rest
    return bool(text.strip()) and not is_placeholder(text)


_LABELS: Final = frozenset({"Goal", "Why", "Success criteria", RULED_OUT.strip(": "), CONSTRAINT.strip(": ")})


def _judge(text: str, context: SessionContext) -> Iterator[Problem]:
    """Check that the version comes first, and that preserved sections are not empty."""
    if _MARKED.match(text) is None:
        yield warning(1, "version", "is not the first line", f"write `{MARK}`", fixable=True)
    for name, lines in ((INTENT, context.intent), (CONSTRAINTS, context.constraints)):
        count = sum(map(says_something, lines))
        line = heading_line(text, name)
        if not count:
            yield error(line, name, "is empty", "write at least one line: a context without it misleads")
        elif count < _FEW:
            yield warning(line, name, "has only one line")


FORMAT: Final = BareDocumentFormat(
    SessionContext, "session context", VERSION, _judge, title="Session Context"
)


def parse_session_context(text: str) -> SessionContext:
    """Read a context without losing anything; `problems` lists what is wrong.

    Raises `FormatError` if the text is too large or newer than this reader.
    """
    marked = _MARKED.match(text)
    refuse_unreadable(text, int(marked["version"]) if marked else None, VERSION, "session context")
    context = FORMAT.parse(text)
    unknown: list[Unknown] = []
    for one in context.unknown:
        mark = None if one.place else _MARKED.match(one.text)
        rest = one.text[mark.end() :].strip("\r\n") if mark else one.text
        unknown += [replace(one, text=rest)] if rest else []
    return replace(context, unknown=tuple(unknown))


def render_session_context(context: SessionContext) -> str:
    """Write a context; a new one starts with its version."""
    text = FORMAT.render(context)
    return text if context.source is not None else f"{MARK}\n\n{text}"


def mark_session_context(text: str) -> str:
    """Put the version first, unless the text already starts with it."""
    return text if _MARKED.match(text) else f"{MARK}\n\n{text}"


def is_damaged(context: SessionContext) -> bool:
    """Return whether a text is no longer a context: it has conflict markers, or none of the sections."""
    said = (context.track, context.intent, context.constraints, context.decisions, context.files)
    rest = (context.questions, context.state, context.next_steps)
    is_foreign = bool(context.unknown) and not any((*said, *rest))
    return is_foreign or find_conflict(context.source or "") > 0


def fix_session_context(context: SessionContext) -> str:
    """Write a context with what can be repaired."""
    return mark_session_context(FORMAT.fix(context))
