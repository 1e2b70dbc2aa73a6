"""What a host's transcript tells: prompts, plan items, files read and edited, commands, tests, commits.

A transcript is a file of JSON lines that a host adds to. It is read in pieces, each from where the last one
ended; what a piece tells does not depend on where it was cut:

1. A line without its end is left for the next time.
2. A line that is not JSON, or not what we know, is passed over and counted.
3. A tool's call waits for its result, which may be in a later piece; results are matched by their ids.
4. A line longer than `MAX_LINE` is passed over, over as many pieces as it takes.

What is specific to a host (which lines matter, and how they are read) comes as a `Tongue`.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.commands import find_commits, find_tests
from passdown.core.facts import FactKind
from passdown.records import field, record, replace

MAX_LINE: Final = 33_554_432
MAX_WAITING: Final = 100
"""How many calls may wait for their results; of more the oldest are forgotten."""

MAX_PLAN: Final = 200
"""How many items of a plan are known by their numbers."""

MAX_MARK: Final = 65_536
"""How long a mark is at most when it is written down; a line of a journal must hold it."""

MAX_TEXT: Final = 2_000
"""How much of a prompt or a command is kept."""

Object = Mapping[str, object]


class Observation(NamedTuple):
    """One thing that was seen."""

    kind: FactKind
    text: str
    ref: str
    """What tells it from every other one: the id of the line or call, and which part of it."""
    exit: int | None = None
    status: str = ""
    """How far an item of a plan is."""


class Call(NamedTuple):
    """A tool's call that waits for its result: what it reads, edits, plans or runs."""

    id: str
    kind: FactKind
    texts: tuple[str, ...]


@record
class Mark:
    """How far a transcript was read, and what must be remembered for the rest of it."""

    offset: Annotated[int, "How many bytes were read."] = 0
    is_cut: Annotated[bool, "Whether that is in the middle of a line that is passed over."] = False
    is_agents: Annotated[bool, "Whether it is a subagent's: its prompts are not a person's."] = False
    folder: Annotated[str, "The folder that commands run in."] = ""
    waiting: Annotated[tuple[Call, ...], "Calls without a result."] = ()
    plan: Annotated[tuple[tuple[str, str], ...], "Items of the plan by their numbers."] = ()
    agents: Annotated[tuple[str, ...], "Subagents that were started."] = ()


START: Final = Mark()


class Reading(NamedTuple):
    """What a piece of a transcript tells."""

    seen: tuple[Observation, ...]
    mark: Mark
    passed_over: int = 0


@record(frozen=False)
class Book:
    """Collects what lines tell; a host's tongue writes into it."""

    seen: list[Observation] = field(default_factory=list[Observation])
    waiting: dict[str, Call] = field(default_factory=dict[str, Call])
    plan: dict[str, str] = field(default_factory=dict[str, str])
    agents: dict[str, None] = field(default_factory=dict[str, None])
    folder: str = ""
    is_agents: bool = False

    def see(self, kind: FactKind, text: str, ref: str, **more: object) -> None:
        """Write down one thing that was seen; an empty text is nothing."""
        clean = storable(text).strip()
        if clean:
            self.seen.append(Observation(kind, clean[:MAX_TEXT], ref, **more))  # type: ignore[arg-type]  # exit, status

    def wait(self, call: Call) -> None:
        """Let a call wait for its result."""
        if call.id and any(call.texts):
            self.waiting.pop(call.id, None)
            self.waiting[call.id] = call._replace(texts=tuple(text[:MAX_TEXT] for text in call.texts))
            while len(self.waiting) > MAX_WAITING:
                del self.waiting[next(iter(self.waiting))]

    def see_files(self, kind: FactKind, paths: Sequence[str], ref: str) -> None:
        """Write down files that were read or edited."""
        for path in dict.fromkeys(paths):
            self.see(kind, _below(self.folder, path), f"{ref} {path}")

    def see_command(self, command: str, code: int | None, output: str, ref: str) -> None:
        """Write down a command with its exit code, the tests in it, and the commits that it printed."""
        self.see(FactKind.COMMAND, command, ref, exit=code)
        for number, one in enumerate(find_tests(command, code)):
            self.see(FactKind.TEST, one.command, f"{ref} test {number}", exit=one.exit)
        self.see_commits(list(find_commits(command, output)), ref)

    def see_commits(self, names: Sequence[str], ref: str) -> None:
        """Write down commits."""
        for name in names:
            self.see(FactKind.COMMIT, name, f"{ref} {name}")

    def see_plan(self, text: str, status: str, ref: str) -> None:
        """Write down an item of a plan and how far it is."""
        self.see(FactKind.PLAN, " ".join(text.split()), ref, status=status)

    def see_whole_plan(self, items: Sequence[tuple[str, str]], ref: str) -> None:
        """Write down a plan that takes the place of the one before: what it lacks is gone."""
        texts = {" ".join(text.split()): status for text, status in items}
        for number, (text, status) in enumerate(texts.items()):
            self.see_plan(text, status, f"{ref} {number}")
        for text in [one for one, known in self.plan.items() if one == known and one not in texts]:
            del self.plan[text]
            self.see_plan(text, "deleted", f"{ref} without {text}")
        for text in texts:
            self.number(text, text)

    def number(self, name: str, text: str) -> None:
        """Remember an item of the plan by its number."""
        self.plan[name] = text[:MAX_TEXT]
        while len(self.plan) > MAX_PLAN:
            del self.plan[next(iter(self.plan))]


class Tongue(NamedTuple):
    """How a host writes."""

    name: str
    wants: Callable[[bytes, Collection[str]], bool]
    """Says at a glance whether a line may matter, knowing the ids of the calls that wait."""
    take: Callable[[Book, Object], None]
    """Writes into a book what a line tells."""
    parts: Callable[[str, Mark], Sequence[str]]
    """Gives patterns for the files, besides a transcript, that tell of the same session: subagents' own."""
    has_own_folder: bool = False
    """Every transcript lies in a folder that names it; the files themselves are all called alike."""
    is_turn_end: Callable[[bytes], bool] | None = None
    """Says whether a line tells that we were called at the end of a turn; only a host that writes its lines a
    while after the fact, and so after it called, has one."""
    fullness: Callable[[bytes], int | None] | None = None
    """Gives how full the context is, in percent, by a line that tells; not every host writes that down."""

    def bookmark(self, path: str) -> str:
        """Name a transcript among all that a session and those before it wrote."""
        parts = path.replace("\\", "/").rsplit("/", 2)
        return "/".join(parts[-2:]) if self.has_own_folder else parts[-1]


def read_piece(tongue: Tongue, data: bytes, mark: Mark = START) -> Reading:
    """Read a piece that begins where a mark says; the answer's mark says where the next one begins."""
    start = 0
    if mark.is_cut:  # 4
        start = data.find(b"\n") + 1
        if not start:
            return Reading((), replace(mark, offset=mark.offset + len(data)))
    end = data.rfind(b"\n") + 1
    if end <= start:  # 1
        is_cut = len(data) - start >= MAX_LINE
        offset = mark.offset + (len(data) if is_cut else start)
        return Reading((), replace(mark, offset=offset, is_cut=is_cut), int(is_cut))
    book = Book(
        waiting={call.id: call for call in mark.waiting},
        plan=dict(mark.plan),
        agents=dict.fromkeys(mark.agents),
        folder=mark.folder,
        is_agents=mark.is_agents,
    )
    passed_over = 0
    for line in data[start : end - 1].split(b"\n"):
        if tongue.wants(line, book.waiting):
            passed_over += not _take(tongue, book, line)
    return Reading(tuple(book.seen), _mark(book, mark.offset + end), passed_over)


def _mark(book: Book, offset: int) -> Mark:
    return Mark(
        offset=offset,
        is_agents=book.is_agents,
        folder=book.folder,
        waiting=tuple(book.waiting.values()),
        plan=tuple(book.plan.items()),
        agents=tuple(book.agents),
    )


def _take(tongue: Tongue, book: Book, line: bytes) -> bool:
    """Let a tongue read a line; False when it is no JSON object (2)."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    tongue.take(book, cast("Object", value))
    return True


def storable(text: str) -> str:
    """Give a text that can be written down: half a surrogate pair is shown as unknown."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def text_at(value: object, *names: str) -> str:
    """Give the text that members name, one inside the other; empty when it is not there, or no text."""
    found = _at(value, names)
    return found if isinstance(found, str) else ""


def object_at(value: object, *names: str) -> Object:
    """Give the object that members name; empty when it is not there, or no object."""
    found = _at(value, names)
    return cast("Object", found) if isinstance(found, dict) else {}


def list_at(value: object, *names: str) -> Sequence[object]:
    """Give the list that members name; empty when it is not there, or no list."""
    found = _at(value, names)
    return cast("list[object]", found) if isinstance(found, list) else ()


def number_at(value: object, *names: str) -> int | None:
    """Give the whole number that members name; None when it is not there, or no whole number."""
    found = _at(value, names)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _at(value: object, names: Sequence[str]) -> object:
    for name in names:
        if not isinstance(value, dict):
            return None
        value = cast("Object", value).get(name)
    return value


def _below(folder: str, path: str) -> str:
    """Give a path as the host means it: what is not absolute lies below the folder that it works in."""
    is_absolute = path.startswith(("/", "\\")) or path[1:2] == ":"
    return path if is_absolute or not folder or not path else f"{folder.rstrip('/')}/{path}"


def render_mark(mark: Mark) -> str:
    """Write a mark as JSON, within `MAX_MARK`: of what is too much, the oldest is forgotten."""
    text = _render(mark)
    while len(text) > MAX_MARK and (mark.waiting or mark.plan):
        if mark.plan:
            mark = replace(mark, plan=mark.plan[len(mark.plan) // 2 + 1 :])
        else:
            mark = replace(mark, waiting=mark.waiting[len(mark.waiting) // 2 + 1 :])
        text = _render(mark)
    return text


def _render(mark: Mark) -> str:
    values = {
        "offset": mark.offset,
        "is_cut": mark.is_cut,
        "is_agents": mark.is_agents,
        "folder": storable(mark.folder),
        "waiting": [[call.id, call.kind.value, *call.texts] for call in mark.waiting],
        "plan": [list(item) for item in mark.plan],
        "agents": list(mark.agents),
    }
    return json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=True)


def parse_mark(text: str) -> Mark:
    """Read a mark; what does not fit is as if it were not there."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return START
    return Mark(
        offset=max(0, number_at(value, "offset") or 0),
        is_cut=_at(value, ("is_cut",)) is True,
        is_agents=_at(value, ("is_agents",)) is True,
        folder=text_at(value, "folder"),
        waiting=tuple(call for one in list_at(value, "waiting") if (call := _parse_call(one)) is not None),
        plan=tuple(pair for one in list_at(value, "plan") if (pair := _parse_pair(one)) is not None),
        agents=tuple(one for one in list_at(value, "agents") if isinstance(one, str)),
    )


def _parse_call(value: object) -> Call | None:
    texts = cast("list[object]", value) if isinstance(value, list) else []
    name, kind = ([str(text) for text in texts[:2]] + ["", ""])[:2]
    return Call(name, FactKind(kind), tuple(map(str, texts[2:]))) if kind in set(FactKind) else None


def _parse_pair(value: object) -> tuple[str, str] | None:
    match value:
        case [str(name), str(text)]:
            return name, text
        case _:
            return None
