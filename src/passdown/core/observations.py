"""What was seen becomes what a session knows: facts that are new, each told once (C60, C61).

1. What a line of the journal tells already is not told again: it names what it was seen by.
2. A file, a commit, a plan item as far as it is, and a command with its exit code are told once, however
   often they are seen. A test is told each time it was run: the last result is the one that counts.
3. Files are told by their paths from the project's root, also in the command of a test; those outside of it,
   git's own, and the session's own papers are not told.
4. Where nobody states a goal, it is the first prompt; where nobody says what is done now, it is the last one.
5. A commit that git has too is verified.
6. What moves the cursor or cannot be seen is told as an escape: it may come from anywhere.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from passdown.core.accounts import PROMPTED, Account
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind, Provenance, make_key
from passdown.core.journal import JournalLine
from passdown.core.texts import one_line, printable
from passdown.core.transcripts import Observation
from passdown.records import record

REF: Final = "ref"
"""The member of a line that names what it was seen by."""

AIM_CHARS: Final = 200
"""How much of a prompt becomes a goal or now (C60)."""

COMMAND_CHARS: Final = 500
_SHORTEST_ID: Final = 7


class Told(NamedTuple):
    """A fact that has not been written yet, and what it was seen by."""

    said: Said
    ref: str
    provenance: Provenance = Provenance.OBSERVED


@record
class Grounds:
    """Where a session works, and what git knows of it."""

    roots: Annotated[tuple[str, ...], "The project's root, by every path that leads there."]
    own: Annotated[tuple[str, ...], "Folders of our own, from the root."] = ()
    commits: Annotated[tuple[str, ...], "The commits that were made here since the session began."] = ()
    files: Annotated[tuple[str, ...], "The files that git saw change since then, from the root."] = ()


def refs_of(lines: Iterable[JournalLine]) -> set[str]:
    """Name all that lines were seen by (1)."""
    found = (value for line in lines for name, value in line.fact.others if name == REF)
    return {text for value in found if isinstance(text := json.loads(value), str)}


def tell(account: Account, refs: Collection[str], seen: Sequence[Observation], on: Grounds) -> Sequence[Told]:
    """Say what a session did not know yet."""
    telling = _Telling(account, on)
    done = set(refs)
    for one in seen:
        if one.ref not in done:
            telling.take(one)
            done |= {one.ref} - {""}
    for name in on.commits:
        telling.take(Observation(FactKind.COMMIT, name, f"git {name}"))
    for path in on.files:
        telling.take_file(FactKind.FILE, path, f"git {path}")
    # What prompts lead to comes first: cut off before them, they are found again, and lead to it again.
    told = (*_aims(account, telling.prompts), *telling.told)
    return [one._replace(said=one.said._replace(text=printable(one.said.text))) for one in told]


def _aims(account: Account, prompts: Sequence[str]) -> Iterator[Told]:
    """Say what goal and now are, as long as nobody states them (4)."""
    if not prompts:
        return
    if account.goal is None and not account.of(FactKind.PROMPT):
        yield Told(Said(FactKind.GOAL, _cut(prompts[0]), PROMPTED), "")
    if account.now is None or account.now.provenance is Provenance.OBSERVED:
        yield Told(Said(FactKind.NOW, _cut(prompts[-1]), PROMPTED), "")


def _cut(text: str) -> str:
    """Put a text on one line of a bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= AIM_CHARS else f"{line[: AIM_CHARS - 1]}…"


class _Telling:
    """Collects what is new, one observation after the other."""

    def __init__(self, account: Account, on: Grounds) -> None:
        """Start with what the session knows."""
        self.account = account
        self.on = on
        self.told: list[Told] = []
        self.prompts: list[str] = []
        self.known = {
            (str(kind), make_key(entry.text))
            for kind in (FactKind.FILE, FactKind.READ)
            for entry in account.of(kind)
        } | {
            (str(FactKind.COMMAND), make_key(entry.text), entry.key) for entry in account.of(FactKind.COMMAND)
        }
        self.commits = {entry.text for entry in account.of(FactKind.COMMIT)}
        self.plan = {make_key(entry.text): entry.because for entry in account.of(FactKind.PLAN)}
        asked = account.of(FactKind.PROMPT)
        self.last = asked[-1].text if asked else ""

    def take(self, one: Observation) -> None:
        """Tell one observation, if it is new."""
        code = "" if one.exit is None else str(one.exit)
        match one.kind:
            case FactKind.PROMPT:
                self._take_prompt(one)
            case FactKind.FILE | FactKind.READ:
                path = from_root(one.text, self.on.roots)
                self.take_file(one.kind, path or "", one.ref)
            case FactKind.COMMAND:
                self._tell_once(Said(FactKind.COMMAND, one.text[:COMMAND_CHARS], code), one.ref)
            case FactKind.TEST:
                text = _without(one.text, self.on.roots)[:COMMAND_CHARS]
                self.told.append(Told(Said(FactKind.TEST, text, code), one.ref))
            case FactKind.COMMIT:
                self._take_commit(one)
            case _:
                self._take_plan(one)

    def take_file(self, kind: FactKind, path: str, ref: str) -> None:
        """Tell a file, unless it is no business of the project (3)."""
        own = any(path == one or path.startswith(f"{one}/") for one in (".git", *self.on.own))
        if path and not own:
            self._tell_once(Said(kind, one_line(path)), ref)

    def _take_prompt(self, one: Observation) -> None:
        if one.text != self.last:
            self.last = one.text
            self.prompts.append(one.text)
            self.told.append(Told(Said(FactKind.PROMPT, one.text), one.ref))

    def _take_plan(self, one: Observation) -> None:
        if self.plan.get(make_key(one.text)) != one.status:
            self.plan[make_key(one.text)] = one.status
            self.told.append(Told(Said(FactKind.PLAN, one.text, because=one.status), one.ref))

    def _take_commit(self, one: Observation) -> None:
        """Tell a commit by its whole id, where git knows it (5)."""
        whole = next((name for name in self.on.commits if _is_same(name, one.text)), "")
        if any(_is_same(known, one.text) for known in self.commits):
            return
        self.commits.add(whole or one.text)
        is_both = bool(whole) and not one.ref.startswith("git ")
        provenance = Provenance.VERIFIED if is_both else Provenance.OBSERVED
        self.told.append(Told(Said(FactKind.COMMIT, whole or one.text), one.ref, provenance))

    def _tell_once(self, said: Said, ref: str) -> None:
        name = (
            (said.kind, make_key(said.text), said.key)
            if said.key or said.kind is FactKind.COMMAND
            else (
                said.kind,
                make_key(said.text),
            )
        )
        if name not in self.known:
            self.known.add(name)
            self.told.append(Told(said, ref))


def _without(command: str, roots: Sequence[str]) -> str:
    """Write the paths of a command from the project's root: where that lies is nobody's business (3)."""
    for root in roots:
        if _parts(root):
            command = command.replace(f"{root.rstrip('/')}/", "")
    return command


def _is_same(one: str, other: str) -> bool:
    """Say whether two ids, whole or short, name the same commit."""
    size = min(len(one), len(other))
    return size >= _SHORTEST_ID and one[:size] == other[:size]


def from_root(path: str, roots: Sequence[str]) -> str | None:
    """Write a path from the project's root; None for one that lies outside, or is the root itself."""
    parts = _parts(path)
    for root in roots:
        base = _parts(root)
        if base and parts[: len(base)] == base:
            return "/".join(parts[len(base) :]) or None
    return None


def _parts(path: str) -> list[str]:
    """Cut a path, whichever way its slashes lean, into its steps."""
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return parts
