"""Turns observations into new facts of a session, each recorded once (C60, C61).

1. Each journal line names the source of its observation, so that no observation is recorded twice.
2. A file that was read, a commit, a plan item with its status, and a command with its exit code are recorded
   once, however often they are observed. A test is recorded each time it ran, because the last result
   counts, and a file each time it was edited, because an edit makes earlier test results outdated (C121).
3. Files are recorded by their paths from the project root, also in the command of a test. Files outside the
   project, git's own files, and the session's own documents are not recorded.
4. If no goal is stated, the first prompt is the goal; if no current step is stated, the last prompt is it,
   unless that is the goal.
5. A commit that git also has counts as verified.
6. A task that the session claimed with the tracker's own command is its current task until it closes it.
7. Of the agent's messages, only the last one is recorded, and it stays on the machine (C135).
8. Characters that move the cursor or are invisible are escaped, because the text may come from anywhere.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import EDITS, PROMPTED, WORDS_CHARS, Provenance, cut_aim, make_key, tell_counts
from passdown.core.formats.journal import JournalLine
from passdown.core.hosts.transcripts import Observation
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line, printable
from passdown.core.sessions.ledger_sync import TASK, NewFact
from passdown.core.sessions.session_facts import Account
from passdown.records import record

REF: Final = "ref"
"""The member of a line that names the source of the observation."""

COMMAND_CHARS: Final = 500
_SHORTEST_ID: Final = 7
_CLAIMED: Final = "claimed"


class NewObservation(NamedTuple):
    """A fact to record, and the source of its observation."""

    said: NewFact
    ref: str
    provenance: Provenance = Provenance.OBSERVED


@record
class ObservationContext:
    """Where a session works, and what git knows about it."""

    roots: Annotated[tuple[str, ...], "The project root, as every path that leads to it."]
    own: Annotated[tuple[str, ...], "Our own folders, relative to the root."] = ()
    commits: Annotated[tuple[str, ...], "The commits made here since the session started."] = ()
    files: Annotated[
        tuple[str, ...], "The files that git has seen change since then, relative to the root."
    ] = ()
    words: Annotated[str, "The agent's last message."] = ""


def refs_of(lines: Iterable[JournalLine]) -> set[str]:
    """Return the sources that journal lines name (1)."""
    found = (value for line in lines for name, value in line.fact.others if name == REF)
    return {text for value in found if isinstance(text := json.loads(value), str)}


def find_new_facts(
    account: Account, refs: Collection[str], seen: Sequence[Observation], on: ObservationContext
) -> Sequence[NewObservation]:
    """Return the facts that a session has not recorded yet."""
    telling = _NewFacts(account, on)
    done = set(refs)
    for one in seen:
        if one.ref not in done:
            telling.take(one)
            done |= {one.ref} - {""}
    for name in on.commits:
        telling.take(Observation(FactKind.COMMIT, name, f"git {name}"))
    seen_done, telling.told = telling.told, []
    for path in on.files:
        telling.take_file(FactKind.FILE, path, f"git {path}")
    # Facts derived from prompts come before the prompts: if a crash cuts off the prompts, both are found
    # again. Files that only git reports come before the tests: git does not tell when they were edited, so
    # they must not make a test result outdated.
    told = [*_aims(account, telling.prompts), *telling.told, *seen_done]
    if on.words and cut_words(on.words) not in {fact.text for fact in account.of(FactKind.WORDS)}:  # 7
        told.append(NewObservation(NewFact(FactKind.WORDS, on.words), ""))
    return [one._replace(said=one.said._replace(text=printable(one.said.text))) for one in told]


def cut_words(text: str) -> str:
    """Cut an agent's message to the length that is kept (C135)."""
    return text if len(text) <= WORDS_CHARS else f"{text[: WORDS_CHARS - 1]}…"


def _aims(account: Account, prompts: Sequence[str]) -> Iterator[NewObservation]:
    """Yield the goal and the current step from prompts, unless they are stated (4)."""
    if not prompts:
        return
    goal = account.goal.text if account.goal else ""
    if account.goal is None and not account.of(FactKind.PROMPT):
        yield NewObservation(NewFact(FactKind.GOAL, cut_aim(prompts[0]), PROMPTED), "")
        goal = cut_aim(prompts[0])
    last, now = cut_aim(prompts[-1]), account.now
    if last != goal if now is None else now.provenance is Provenance.OBSERVED:
        yield NewObservation(NewFact(FactKind.NOW, last, PROMPTED), "")


class _NewFacts:
    """Collects new facts, one observation at a time."""

    def __init__(self, account: Account, on: ObservationContext) -> None:
        """Start with what the session already knows."""
        self.account = account
        self.on = on
        self.told: list[NewObservation] = []
        self.prompts: list[str] = []
        self.known = {
            (str(kind), make_key(entry.text), entry.key if kind is FactKind.COMMAND else "")
            for kind in (FactKind.FILE, FactKind.READ, FactKind.COMMAND)
            for entry in account.of(kind)
        }
        self.edits = {make_key(entry.text): entry.edits for entry in account.of(FactKind.FILE)}
        self.commits = {entry.text for entry in account.of(FactKind.COMMIT)}
        self.plan = {make_key(entry.text): entry.because for entry in account.of(FactKind.PLAN)}
        self.task = account.task
        asked = account.of(FactKind.PROMPT)
        self.last = asked[-1].text if asked else ""

    def take(self, one: Observation) -> None:
        """Record an observation if it is new."""
        code = "" if one.exit is None else str(one.exit)
        match one.kind:
            case FactKind.PROMPT:
                if one.text != self.last:
                    self.last = one.text
                    self.prompts.append(one.text)
                    self.told.append(NewObservation(NewFact(FactKind.PROMPT, one.text), one.ref))
            case FactKind.FILE:
                self._take_edit(from_root(one.text, self.on.roots) or "", one.ref)
            case FactKind.READ:
                self.take_file(one.kind, from_root(one.text, self.on.roots) or "", one.ref)
            case FactKind.COMMAND:
                self._tell_once(NewFact(FactKind.COMMAND, one.text[:COMMAND_CHARS], code), one.ref)
            case FactKind.TEST:
                text = _without(one.text, self.on.roots)[:COMMAND_CHARS]
                new = NewFact(FactKind.TEST, text, code, others=tell_counts(one.counted))
                self.told.append(NewObservation(new, one.ref))
            case FactKind.COMMIT:
                self._take_commit(one)
            case FactKind.BINDING:
                self._take_task(one)
            case _:
                if self.plan.get(make_key(one.text)) != one.status:
                    self.plan[make_key(one.text)] = one.status
                    item = NewFact(FactKind.PLAN, one.text, because=one.status)
                    self.told.append(NewObservation(item, one.ref))

    def take_file(self, kind: FactKind, path: str, ref: str) -> None:
        """Record a file if it belongs to the project (3)."""
        if self._is_concerned(path):
            self._tell_once(NewFact(kind, one_line(path)), ref)

    def _take_edit(self, path: str, ref: str) -> None:
        """Record that a file was edited once more."""
        if not self._is_concerned(path):
            return
        name = make_key(one_line(path))
        count = self.edits[name] = self.edits.get(name, 0) + 1
        self.known.add((str(FactKind.FILE), name, ""))
        counted = ((EDITS, str(count)),) if count > 1 else ()
        self.told.append(NewObservation(NewFact(FactKind.FILE, one_line(path), others=counted), ref))

    def _is_concerned(self, path: str) -> bool:
        own = any(path == one or path.startswith(f"{one}/") for one in (".git", *self.on.own))
        return bool(path) and not own

    def _take_task(self, one: Observation) -> None:
        """Bind the session to a task that it claimed, and unbind it from one that it closed (6).

        This is recorded even if nothing changes: otherwise reading the transcript again could change it.
        """
        if one.status == _CLAIMED:
            self.task = one.text
        elif self.task == one.text:
            self.task = ""
        self.told.append(NewObservation(NewFact(FactKind.BINDING, self.task, TASK), one.ref))

    def _take_commit(self, one: Observation) -> None:
        """Record a commit, by its full id if git knows it (5)."""
        whole = next((name for name in self.on.commits if _is_same(name, one.text)), "")
        if any(_is_same(known, one.text) for known in self.commits):
            return
        self.commits.add(whole or one.text)
        is_both = bool(whole) and not one.ref.startswith("git ")
        provenance = Provenance.VERIFIED if is_both else Provenance.OBSERVED
        self.told.append(NewObservation(NewFact(FactKind.COMMIT, whole or one.text), one.ref, provenance))

    def _tell_once(self, new_fact: NewFact, ref: str) -> None:
        name = (str(new_fact.kind), make_key(new_fact.text), new_fact.key)
        if name not in self.known:
            self.known.add(name)
            self.told.append(NewObservation(new_fact, ref))


def _without(command: str, roots: Sequence[str]) -> str:
    """Make the paths in a command relative to the project root, whose location stays private (3)."""
    for root in filter(_parts, roots):
        command = command.replace(f"{root.rstrip('/')}/", "")
    return command


def _is_same(one: str, other: str) -> bool:
    """Return whether two commit ids, full or short, name the same commit."""
    size = min(len(one), len(other))
    return size >= _SHORTEST_ID and one[:size] == other[:size]


def from_root(path: str, roots: Sequence[str]) -> str | None:
    """Return a path relative to the project root, or None if it is outside or is the root itself."""
    parts = _parts(path)
    for root in roots:
        base = _parts(root)
        if base and parts[: len(base)] == base:
            return "/".join(parts[len(base) :]) or None
    return None


def _parts(path: str) -> list[str]:
    """Split a path, with slashes of either kind, into its parts."""
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return parts
