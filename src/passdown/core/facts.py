"""The fact: one thing a session must not lose (C56), the same from the journal to the brief.

A fact has a kind, a text and an origin: who said it, in which session, when, in which order, at which commit,
and how it is known (C120). An event states the origin of each of its facts; if it does not, its facts have
the event's own author and time.
"""

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.fields import read_choice, read_instant
from passdown.core.ids import FactId, fact_id, slug
from passdown.core.json_text import dump, text_of
from passdown.core.kinds import FactKind, Merging, kind_of
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed
from passdown.core.times import render_millis

ADD: Final = "add"
"""The key of next steps that are added to the existing ones; without it they replace them."""

PROMPTED: Final = "prompt"
"""The key of a goal or now that nobody stated and that was taken from a prompt (C60)."""

CLAIMED: Final = "claimed"
"""The key of a goal that nobody stated and that is the title of the session's claimed task."""

AIM_CHARS: Final = 200
"""How many characters of a prompt become the goal or the current step (C60)."""

WORDS_CHARS: Final = 500
"""How many characters of an agent's last message are kept and shown (C135)."""


def cut_aim(prompt: str) -> str:
    """Return a prompt as a goal or current step: on one line, shortened."""
    line = " ".join(prompt.split())
    return line if len(line) <= AIM_CHARS else f"{line[: AIM_CHARS - 1]}…"


SETTLED: Final = frozenset({"completed", "deleted", "cancelled"})
"""The statuses of plan items that are no longer to be done."""

TASK: Final = "task"
"""The further member of a checkpoint that names the task it belongs to."""

NAMED: Final = "named"
"""The further member of a test whose command was recorded for others to run."""

FAILED: Final = "failed: "
"""The prefix of a failed test."""

EDITS: Final = "edits"
"""The further member of a file that says how often its session edited it."""

TO: Final = "to"
"""The further member of feedback that names the agents it is for; without it, it is for all (C122)."""

FAILURE: Final = "error"
"""The further member of a checkpoint that says why it failed."""

TESTED: Final = "test"
"""The further member of a checkpoint that names the command that was run for it."""

TESTS: Final = "tests"
PASSING: Final = "passing"
"""The further members of a test or checkpoint: how many tests there are, and how many of them pass."""

RETRIES: Final = "retries"
"""The further member of a checkpoint that says how often its phase has failed since it was last validated."""

STREAM: Final = "stream"
"""The further member of a checkpoint that names the stream document that shows it."""

TRACK: Final = "track"
"""The further member of a gate's result that names the track it belongs to."""

TIME: Final = "time"
"""The further member of a decision, rule or gate's result: a time of day that was written by hand."""

UNPUBLISHED: Final = "unpublished"
"""The further member of a fact in a brief that another session has not published yet (C123)."""

NOT_PUBLISHED: Final = "not published yet"
"""How a brief marks such a fact."""

_EXIT: Final = ": exit "

GATES: Final = ("design", "spec", "plan-structure", "plan-execution", "completion")
"""The gates, in the order in which a track passes them."""

DUE: Final = "DUE"
"""The text of a fact about a gate that waits for a result; it stays on the machine."""


ESCALATED: Final = "BLOCKED: the gate "
"""How the question of an escalated gate to a person starts."""


class GateStatus(StrEnum):
    """How a validation gate ended."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    WARN = "WARN"
    FAIL = "FAIL"


ICONS: Final = MappingProxyType({GateStatus.PASS: "✅", GateStatus.WARN: "⚠️", GateStatus.FAIL: "❌"})
_STATUSES: Final = frozenset(GateStatus)


def is_result(status: str) -> bool:
    """Return whether a word is the result of a gate."""
    return status in _STATUSES


class Provenance(StrEnum):
    """How a fact is known: an agent stated it, Passdown observed it, or a command verified it."""

    STATED = "stated"
    OBSERVED = "observed"
    VERIFIED = "verified"


class Fact(NamedTuple):
    """One thing a session must not lose, with its origin."""

    kind: Annotated[str, "What it is: goal, now, done, decision, …"]
    text: Annotated[str, "What it states."]
    at: Annotated[datetime, "When it was said, by the hybrid clock."]
    agent: Annotated[str, "Who said or saw it."]
    key: Annotated[str, "A decision's key, a phase, an exit code, or what is retracted or answered."] = ""
    because: Annotated[str, "The reason."] = ""
    provenance: Annotated[Provenance, "How it is known."] = Provenance.STATED
    commit: Annotated[str, "The last commit when it was said; empty if unknown."] = ""
    others: Annotated[tuple[tuple[str, str], ...], "Further members: name and JSON value."] = ()
    session: Annotated[str, "The session that said it."] = ""
    seq: Annotated[int, "Its position in the session's journal; 0 if unknown."] = 0
    event: Annotated[str, "The hash of the event that holds it; empty for a journal line."] = ""
    event_id: Annotated[str, "The id of that event."] = ""
    branch: Annotated[str, "The branch of the checkout that holds it, if it is another checkout."] = ""

    @property
    def id(self) -> FactId:
        """The fact's id: a function of its kind and text."""
        return fact_id(self.kind, show_fact(self))

    @property
    def steps(self) -> tuple[str, ...]:
        """The lines of a list of next steps."""
        return tuple(line for line in self.text.split("\n") if line)

    @property
    def task(self) -> str:
        """The task that a checkpoint belongs to."""
        return self._other(TASK)

    @property
    def stream(self) -> str:
        """The stream document that shows a checkpoint."""
        return self._other(STREAM)

    @property
    def track(self) -> str:
        """The track that a gate's result belongs to."""
        return self._other(TRACK)

    @property
    def failure(self) -> str:
        """Why a checkpoint failed; empty if unknown."""
        return self._other(FAILURE)

    @property
    def time(self) -> str:
        """The local time of day that was written beside it by hand, if any."""
        return self._other(TIME)

    @property
    def edits(self) -> int:
        """How often its session edited a file; 1 if unknown."""
        found = json.loads(dict(self.others).get(EDITS, "1")) if self.others else 1
        return found if isinstance(found, int) else 1

    @property
    def to(self) -> tuple[str, ...]:
        """The agents that feedback is for; none if it is for all."""
        return read_readers(self.others)

    @property
    def is_named(self) -> bool:
        """Whether a test's command was recorded for others to run."""
        return any(name == NAMED for name, _ in self.others)

    @property
    def is_unpublished(self) -> bool:
        """Whether another session stated it and has not published it yet."""
        return any(name == UNPUBLISHED for name, _ in self.others)

    def _other(self, name: str) -> str:
        return str(json.loads(dict(self.others).get(name, '""'))) if self.others else ""


# --- the identity of facts ------------------------------------------------------------------------


def make_key(text: str) -> str:
    """Return a text in one form of Unicode and line ends, in which texts of the same fact are equal."""
    if text.isascii() and "\r" not in text:
        return text
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_escalation(question: str) -> bool:
    """Return whether an escalated gate asks this; only a person may answer or retract it (C154)."""
    return make_key(question).startswith(ESCALATED)


def find_named(text: str, entries: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return what a text may mean: a whole name beats a prefix, and the same case beats another case."""
    wanted, folded = make_key(text), make_key(text).casefold()
    ways: tuple[Callable[[str], bool], ...] = (
        lambda name: name == wanted,
        lambda name: name.casefold() == folded,
        lambda name: name.startswith(wanted),
        lambda name: name.casefold().startswith(folded),
    )
    for fits in ways:
        if found := [one for one, names in entries if any(fits(make_key(name)) for name in names)]:
            return list(dict.fromkeys(found))
    return []


def identify(fact: Fact) -> str:
    """Return the identity of a fact; of several facts with one kind and identity, the latest holds.

    1. The goal, the now, and the last message of an agent: there is one of each.
    2. A decision: its key, or the key made from its text. An answer: its question.
    3. A checkpoint: its phase, and its task or else its agent.
    4. A test: its name, however its command was spelled; the last exit code counts (C121).
    5. The result of a gate: the gate and its track. There is one phase of the test-first cycle.
    6. Anything else: its text.
    """
    kind = fact.kind
    if kind not in _SPECIAL:  # 6
        return make_key(fact.text)
    if kind in _SINGLE:  # 1
        return ""
    if kind in MAPS:  # 2
        return make_key(fact.key or (slug(fact.text) if kind == FactKind.DECISION else fact.text))
    if kind in _PHASES:  # 3, 5
        return _phase_of(fact)
    return make_key(_name_result(fact.text))  # 4


def is_made_key(fact: Fact) -> bool:
    """Return whether the key of a decision was made from its text, with or without the reason after it."""
    stated = fact.text.removesuffix(")")
    starts = (stated[:place] for place in _find_all(stated, " ("))
    return fact.key in {"", slug(fact.text)} or any(fact.key == slug(text) for text in starts)


def _find_all(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _name_result(text: str) -> str:
    """Return the name of a test that was run; any other receipt is its own name."""
    from passdown.core.test_names import name_of  # few calls have a test

    return name_of(command_of(text))


def identify_retracted(fact: Fact) -> str:
    """Return the identity of the fact that a retraction takes back; the retraction's key is its kind."""
    if fact.key in _REGISTERS:
        return ""
    return make_key(_name_result(fact.text) if fact.key in _RESULTS else fact.text)


def is_about(fact: Fact, kind: str, name: str) -> bool:
    """Return whether a fact states or retracts the fact with this kind and identity."""
    if fact.kind == FactKind.RETRACTION:
        return fact.key == kind and identify_retracted(fact) == name
    return fact.kind == kind and identify(fact) == name


def _phase_of(fact: Fact) -> str:
    if fact.kind == FactKind.GATE:
        return f"{make_key(fact.track)}\n{fact.key}"
    if fact.kind != FactKind.CHECKPOINT:
        return ""
    phase = read_phase(fact)
    owner = f"task {fact.task}" if fact.task else f"agent {fact.agent}"
    return f"{owner}\n{phase.phase or phase.name}"


def _kinds_of(*merging: Merging) -> frozenset[str]:
    return frozenset(kind.value for kind in FactKind if kind.row.merging in merging)


_REGISTERS: Final = _kinds_of(Merging.REGISTER)
MAPS: Final = _kinds_of(Merging.MAP)
"""The kinds whose facts have a key."""
_PHASES: Final = _kinds_of(Merging.PHASES)
_SINGLE: Final = _REGISTERS | {FactKind.WORDS.value}
_RESULTS: Final = frozenset({FactKind.RECEIPT.value, FactKind.TEST.value})
_SPECIAL: Final = _SINGLE | MAPS | _PHASES | _RESULTS


class ReadPhase(NamedTuple):
    """The phase of a checkpoint."""

    phase: str
    status: str
    name: str


def read_phase(fact: Fact) -> ReadPhase:
    """Read a checkpoint: its key is the phase, its text the state, or else the phase's name."""
    if fact.event:  # an event has a key for each value
        return ReadPhase(fact.key, fact.text, fact.because)
    from passdown.core.phases import read_state  # most facts have no phase

    try:
        return ReadPhase(fact.key, read_state(fact.text).value, fact.because)
    except Malformed:
        return ReadPhase(fact.key, "", fact.text)


def show_phase(fact: Fact) -> str:
    """Describe a phase and its progress in one line."""
    phase, status, name = read_phase(fact)
    of = f" of {fact.task}" if fact.task else ""
    shown = f" ({name})" if name else ""
    return f"Phase {phase or '?'}{shown}{of}: {status or 'pending'}"


def show_gate(fact: Fact) -> str:
    """Describe the result of a gate in one line."""
    of = f" of {fact.track}" if fact.track else ""
    notes = f" - {fact.because}" if fact.because else ""
    return f"{fact.key}{of}: {fact.text}{notes}"


def show_fact(fact: Fact) -> str:
    """Return a fact in one line; for most kinds this is the text."""
    if fact.kind == FactKind.CHECKPOINT:
        return show_phase(fact)
    return show_gate(fact) if fact.kind == FactKind.GATE else fact.text


def show_alone(fact: Fact) -> str:
    """Return a fact with its key or agent, for places that show neither."""
    if fact.kind in MAPS:
        return f"{fact.key}: {fact.text}"
    if fact.kind == FactKind.CHECKPOINT:
        phase, _, status = show_phase(fact).rpartition(": ")
        return f"{phase}, by {fact.agent}: {status}"
    return show_fact(fact)


def read_readers(members: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the agents that the further members of feedback name; none if it is for all."""
    found = next((value for name, value in members if name == TO), "")
    return tuple(str(json.loads(found)).split()) if found else ()


def address(reader: str, known: Sequence[tuple[str, ...]] = ()) -> tuple[tuple[str, str], ...]:
    """Return the further members of feedback for an agent, beside those who were told the same before.

    What was told to all stays for all.
    """
    if () in known:
        return ()
    names = dict.fromkeys((*(name for one in known for name in one), reader))
    return ((TO, dump(" ".join(names))),)


# --- what is published ----------------------------------------------------------------------------


def tell(fact: Fact) -> Fact:
    """Return a fact as an event states it: a decision with its reason, a test with its exit code."""
    if fact.kind == FactKind.DECISION:
        return fact._replace(text=show_reason(fact), because="", key=fact.key or slug(fact.text))
    kind = kind_of(fact.kind)
    if kind is None or not kind.row.told_as:
        return fact
    text = show_test(share(fact).text, fact.key) if kind is FactKind.TEST else fact.text
    return fact._replace(kind=kind.row.told_as, text=text, key="")


def share(fact: Fact) -> Fact:
    """Return a fact as it may leave the machine: of an observed test, only the known words (C61).

    A command that was recorded as the test of the work is for others to run, so it is shared whole (C102).
    """
    if fact.kind != FactKind.TEST or fact.is_named:
        return fact
    from passdown.core.shell_commands import share_test  # few calls have a test

    return fact._replace(text=share_test(fact.text))


def show_reason(fact: Fact) -> str:
    """Show a text with its reason, if there is one."""
    return f"{fact.text} ({fact.because})" if fact.because else fact.text


def show_test(command: str, code: str) -> str:
    """Show a test that was run, with its exit code if that is known."""
    return f"{command}{_EXIT}{code}" if code.isdigit() else command


def tell_counts(counted: tuple[int, int] | None) -> tuple[tuple[str, str], ...]:
    """Return the further members with the number of tests and of passing tests; none if unknown."""
    return ((TESTS, dump(counted[0])), (PASSING, dump(counted[1]))) if counted else ()


def command_of(receipt: str) -> str:
    """Return the command in a test that `show_test` wrote; any other receipt is returned whole."""
    command, sign, code = receipt.rpartition(_EXIT)
    return command if sign and command and code.isascii() and code.isdigit() else receipt


def code_of(receipt: str) -> str:
    """Return the exit code in a test that `show_test` wrote; empty for any other receipt."""
    return receipt[len(command_of(receipt)) :].removeprefix(_EXIT)


def has_failed(receipt: str) -> bool:
    """Return whether a receipt is a test with an exit code other than 0."""
    return bool(code_of(receipt).strip("0"))


def is_commit(receipt: str) -> bool:
    """Return whether a receipt is the full id of a commit."""
    return _COMMIT.fullmatch(receipt) is not None


_COMMIT: Final = pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")

NO_RESULT: Final = frozenset({"126", "127"})
"""The exit codes of a shell that could not run a command; they say nothing about its tests (C121)."""


def may_leave(fact: Fact) -> bool:
    """Return whether a fact may leave the machine (C61).

    1. Kinds without an event key stay here: prompts, private notes, files that were read, commands, plans.
    2. A goal or now that is a prompt stays here, even if a later session carries it on.
    3. Observed files outside the project stay here.
    4. A due gate stays here; the results of gates do not.
    """
    kind = kind_of(fact.kind)
    if kind is None or not kind.row.event_key:  # 1
        return False
    if kind.row.merging is Merging.REGISTER:  # 2
        return fact.key != PROMPTED
    if kind is FactKind.GATE:  # 4
        return is_result(fact.text)
    is_seen_file = kind is FactKind.FILE and fact.provenance is Provenance.OBSERVED
    return not is_seen_file or is_inside(fact.text)  # 3


def has_result(fact: Fact) -> bool:
    """Return whether events and briefs include a fact; a test without a known result is left out."""
    if fact.kind != FactKind.TEST or fact.is_named:
        return True
    return fact.key.isdigit() and fact.key not in NO_RESULT


def is_inside(path: str) -> bool:
    """Return whether a path, written from the root, is inside the project."""
    return not path.startswith(("/", "\\", "../", "~")) and path != ".." and path[1:2] != ":"


# --- as JSON --------------------------------------------------------------------------------------

_MEMBERS: Final = ("kind", "text", "at", "agent", "key", "because", "provenance", "commit", "session")


def parse_fact(members: Mapping[str, object]) -> Fact:
    """Read a fact from a JSON object; raise `Malformed` if a member is missing or invalid."""
    kind, text = _needed(members, "kind"), _needed(members, "text")
    provenance = text_of(members.get("provenance"), "provenance")
    return Fact(
        kind=kind,
        text=text,
        at=read_instant(_needed(members, "at")),
        agent=_needed(members, "agent"),
        key=text_of(members.get("key"), "key") or "",
        because=text_of(members.get("because"), "because") or "",
        provenance=read_choice(provenance, Provenance) if provenance else Provenance.STATED,
        commit=text_of(members.get("commit"), "commit") or "",
        others=tuple((name, dump(value)) for name, value in members.items() if name not in _MEMBERS),
        session=text_of(members.get("session"), "session") or "",
    )


def _needed(members: Mapping[str, object], name: str) -> str:
    text = text_of(members.get(name), name)
    if text is None:
        raise Malformed(f"`{name}` is missing")
    return text


def render_fact(fact: Fact) -> str:
    """Write a fact as a JSON object on one line, without members that are empty or have the default."""
    provenance = fact.provenance.value if fact.provenance is not Provenance.STATED else ""
    values = (
        str(fact.kind),
        fact.text,
        render_millis(fact.at),
        fact.agent,
        fact.key,
        fact.because,
        provenance,
        fact.commit,
        fact.session,
    )
    pairs = zip(_MEMBERS, values, strict=True)
    members = [f"{dump(name)}:{dump(value)}" for name, value in pairs if value or name in _ALWAYS]
    members += [f"{dump(name)}:{text}" for name, text in fact.others]
    return "{" + ",".join(members) + "}"


_ALWAYS: Final = frozenset({"kind", "text", "at", "agent"})
