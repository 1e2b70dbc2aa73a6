"""Reads a host's transcript: prompts, plan items, files, commands, tests, commits, messages.

A transcript is a file of JSON lines that a host appends to. It is read in pieces, each starting where the
last one ended. The result does not depend on where the pieces are cut:

1. A line without a line end is left for the next piece.
2. A line that is not JSON, or of an unknown form, is skipped and counted.
3. A tool call waits for its result, which may be in a later piece; results are matched by their ids.
4. A line longer than `MAX_LINE` is skipped, over as many pieces as it takes.

What is specific to a host (which lines matter, and how to read them) is in a `TranscriptReader`.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from passdown.core.facts import NO_RESULT
from passdown.core.json_text import list_at, load_object, number_at, text_at
from passdown.core.kinds import FactKind
from passdown.core.shell_commands import find_commits, find_tests
from passdown.records import field, record, replace

if TYPE_CHECKING:  # few commands are tests
    from passdown.core.test_counts import CountedTests

MAX_LINE: Final = 33_554_432
MAX_WAITING: Final = 100
"""How many calls may wait for their results; beyond that, the oldest are forgotten."""

MAX_PLAN: Final = 200
"""How many items of a plan are remembered by number."""

MAX_MARK: Final = 65_536
"""The maximum length of a written mark; it must fit into a journal line."""

MAX_TEXT: Final = 2_000
"""How many characters of a prompt or command are kept."""

_TIME: Final = 40
_TRACKER: Final = "bd "
"""Every command of the tracker contains this."""

Object = Mapping[str, object]


class Observation(NamedTuple):
    """One observation from a transcript."""

    kind: FactKind
    text: str
    ref: str
    """A unique reference: the id of the line or call, and which part of it."""
    exit: int | None = None
    status: str = ""
    """The progress of a plan item, or the new state of a task."""
    time: str = ""
    """When the host wrote the line, in the host's own form."""
    counted: "CountedTests | None" = None
    """How many tests pass, as the test runner reports."""


class ToolCall(NamedTuple):
    """A tool call that waits for its result: what it reads, edits, plans or runs."""

    id: str
    kind: FactKind
    texts: tuple[str, ...]


@record
class TranscriptMark:
    """How far a transcript was read, and the state needed to continue."""

    offset: Annotated[int, "How many bytes were read."] = 0
    is_cut: Annotated[bool, "Whether the offset is inside a line that is being skipped."] = False
    is_agents: Annotated[bool, "Whether it belongs to a subagent, whose prompts are not the user's."] = False
    folder: Annotated[str, "The folder in which commands run."] = ""
    waiting: Annotated[tuple[ToolCall, ...], "Calls without a result."] = ()
    plan: Annotated[tuple[tuple[str, str], ...], "Items of the plan by number."] = ()
    agents: Annotated[tuple[str, ...], "Subagents that were started."] = ()


START: Final = TranscriptMark()


class TranscriptReading(NamedTuple):
    """What a piece of a transcript contains."""

    seen: tuple[Observation, ...]
    mark: TranscriptMark
    passed_over: int = 0
    words: str = ""
    """The agent's last message in the piece; empty if there is none, or if it is a subagent's."""


@record(frozen=False)
class TranscriptCollector:
    """Collects observations from lines; a host's transcript reader writes into it."""

    seen: list[Observation] = field(default_factory=list[Observation])
    waiting: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    plan: dict[str, str] = field(default_factory=dict[str, str])
    agents: dict[str, None] = field(default_factory=dict[str, None])
    folder: str = ""
    is_agents: bool = False
    time: str = ""
    limit: int = MAX_TEXT
    """How many characters of a text are kept."""

    def see(self, kind: FactKind, text: str, ref: str, **more: object) -> None:
        """Record an observation; an empty text is ignored."""
        clean = storable(text).strip()
        if clean:
            one = Observation(kind, clean[: self.limit], ref, time=self.time, **more)  # type: ignore[arg-type]  # exit, status, counted
            self.seen.append(one)

    def wait(self, call: ToolCall) -> None:
        """Keep a call until its result arrives."""
        if call.id and any(call.texts):
            self.waiting.pop(call.id, None)
            self.waiting[call.id] = call._replace(texts=tuple(text[: self.limit] for text in call.texts))
            while len(self.waiting) > MAX_WAITING:
                del self.waiting[next(iter(self.waiting))]

    def see_files(self, kind: FactKind, paths: Sequence[str], ref: str) -> None:
        """Record files that were read or edited; a relative path is below the folder of the host."""
        for path in dict.fromkeys(paths):
            is_absolute = path.startswith(("/", "\\")) or path[1:2] == ":"
            is_whole = is_absolute or not self.folder or not path
            self.see(kind, path if is_whole else f"{self.folder.rstrip('/')}/{path}", f"{ref} {path}")

    def see_command(self, command: str, code: int | None, output: str, ref: str) -> None:
        """Record a command with its exit code, the tests in it, and the commits that it printed."""
        self.see(FactKind.COMMAND, command, ref, exit=code)
        tests = [*find_tests(command, code)]
        counted = None
        if len(tests) == 1:  # with several, it is unknown which one printed the counts
            from passdown.core.test_counts import count_tests  # few commands are tests

            counted = count_tests(output)
        for number, one in enumerate(tests):
            if str(one.exit) not in NO_RESULT:
                self.see(FactKind.TEST, one.command, f"{ref} test {number}", exit=one.exit, counted=counted)
        self.see_commits(list(find_commits(command, output)), ref)
        if _TRACKER in command:
            from passdown.core.hosts.tracker_commands import find_task_changes  # few commands are

            for number, change in enumerate(find_task_changes(command, code, output)):
                self.see(FactKind.BINDING, change.task, f"{ref} task {number}", status=change.state)

    def see_commits(self, names: Sequence[str], ref: str) -> None:
        """Record commits."""
        for name in names:
            self.see(FactKind.COMMIT, name, f"{ref} {name}")

    def see_plan(self, text: str, status: str, ref: str) -> None:
        """Record a plan item and its progress."""
        self.see(FactKind.PLAN, " ".join(text.split()), ref, status=status)

    def see_whole_plan(self, items: Sequence[tuple[str, str]], ref: str) -> None:
        """Record a plan that replaces the previous one; items missing from it are marked as deleted."""
        texts = {" ".join(text.split()): status for text, status in items}
        for number, (text, status) in enumerate(texts.items()):
            self.see_plan(text, status, f"{ref} {number}")
        for text in [one for one, known in self.plan.items() if one == known and one not in texts]:
            del self.plan[text]
            self.see_plan(text, "deleted", f"{ref} without {text}")
        for text in texts:
            self.number(text, text)

    def number(self, name: str, text: str) -> None:
        """Remember a plan item by its number."""
        self.plan[name] = text[: self.limit]
        while len(self.plan) > MAX_PLAN:
            del self.plan[next(iter(self.plan))]


class MessageReader(NamedTuple):
    """How to read every message of the agent, also of a subagent; see `read_piece`."""

    may_say: Callable[[bytes], bool]
    """Quickly checks whether a line may hold a message of the agent."""
    say: Callable[[Object], str]
    """Returns the agent's message in a line; empty for any other line."""
    limit: int = MAX_TEXT
    """How many characters of any text are kept."""


class TranscriptReader(NamedTuple):
    """How the transcripts of one host are read."""

    name: str
    wants: Callable[[bytes, Collection[str]], bool]
    """Quickly checks whether a line may matter, given the ids of the waiting calls."""
    take: Callable[[TranscriptCollector, Object], None]
    """Records the content of a line in a collector."""
    parts: Callable[[str, TranscriptMark], Sequence[str]]
    """Returns patterns for further files of the same session, those of subagents."""
    has_own_folder: bool = False
    """Whether a transcript is named by its folder, because all files have the same name."""
    is_turn_end: Callable[[bytes], bool] | None = None
    """Returns whether a line shows that the host called Passdown at the end of a turn.

    Only needed for a host that writes its lines with a delay, after the call.
    """
    fullness: Callable[[bytes], int | None] | None = None
    """Returns how full the context is, in percent, if the line says so; not every host records it."""

    words: Callable[[bytes], str] | None = None
    """Returns the agent's message in a line; empty for any other line."""

    def bookmark(self, path: str) -> str:
        """Return a name for a transcript that is unique among those of a session and its predecessors."""
        parts = path.replace("\\", "/").rsplit("/", 2)
        return "/".join(parts[-2:]) if self.has_own_folder else parts[-1]


def read_piece(
    reader: TranscriptReader,
    data: bytes,
    mark: TranscriptMark = START,
    messages: MessageReader | None = None,
) -> TranscriptReading:
    """Read a piece that begins at a mark; the returned mark is where the next piece begins.

    With `messages`, every message of the agent is among the observations, and not only the last.
    """
    start = 0
    if mark.is_cut:  # 4
        start = data.find(b"\n") + 1
        if not start:
            return TranscriptReading((), replace(mark, offset=mark.offset + len(data)))
    end = data.rfind(b"\n") + 1
    if end <= start:  # 1
        is_cut = len(data) - start >= MAX_LINE
        offset = mark.offset + (len(data) if is_cut else start)
        return TranscriptReading((), replace(mark, offset=offset, is_cut=is_cut), int(is_cut))
    collector = TranscriptCollector(
        waiting={call.id: call for call in mark.waiting},
        plan=dict(mark.plan),
        agents=dict.fromkeys(mark.agents),
        folder=mark.folder,
        is_agents=mark.is_agents,
        limit=messages.limit if messages else MAX_TEXT,
    )
    lines = data[start : end - 1].split(b"\n")
    passed_over = sum(not _take_line(reader, collector, line, messages) for line in lines)
    words = ""
    if reader.words and not messages and not collector.is_agents:  # only the line that has them is parsed
        said = (reader.words(line) for line in reversed(lines))
        words = storable(next(filter(None, said), ""))[:MAX_TEXT]
    reached = TranscriptMark(
        offset=mark.offset + end,
        is_agents=collector.is_agents,
        folder=collector.folder,
        waiting=tuple(collector.waiting.values()),
        plan=tuple(collector.plan.items()),
        agents=tuple(collector.agents),
    )
    return TranscriptReading(tuple(collector.seen), reached, passed_over, words)


def _take_line(
    reader: TranscriptReader, collector: TranscriptCollector, line: bytes, messages: MessageReader | None
) -> bool:
    """Record what matters in a line; return False if it should, but cannot be read."""
    is_wanted = reader.wants(line, collector.waiting)
    if not is_wanted and not (messages and messages.may_say(line)):
        return True
    found = load_object(line.decode("utf-8", "replace"))
    if found is None:  # 2
        return False
    collector.time = text_at(found, "timestamp")[:_TIME]
    if messages:
        collector.see(FactKind.WORDS, messages.say(found), "")
    if is_wanted:
        reader.take(collector, found)
    return True


def load_line(line: bytes) -> Object:
    """Parse a line; return an empty object if it is not one."""
    return load_object(line.decode("utf-8", "replace")) or {}


def storable(text: str) -> str:
    """Return a text that can be written to a file; lone surrogates become replacement characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def render_mark(mark: TranscriptMark) -> str:
    """Write a mark as JSON, within `MAX_MARK`; if it is too long, the oldest entries are dropped."""
    values = {
        "offset": mark.offset,
        "is_cut": mark.is_cut,
        "is_agents": mark.is_agents,
        "folder": storable(mark.folder),
        "waiting": [[call.id, call.kind.value, *call.texts] for call in mark.waiting],
        "plan": [list(item) for item in mark.plan],
        "agents": list(mark.agents),
    }
    text = json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=True)
    if len(text) <= MAX_MARK or not (mark.waiting or mark.plan):
        return text
    if mark.plan:
        return render_mark(replace(mark, plan=mark.plan[len(mark.plan) // 2 + 1 :]))
    return render_mark(replace(mark, waiting=mark.waiting[len(mark.waiting) // 2 + 1 :]))


def parse_mark(text: str) -> TranscriptMark:
    """Read a mark; parts that do not fit are ignored."""
    value = load_object(text) or {}
    return TranscriptMark(
        offset=max(0, number_at(value, "offset") or 0),
        is_cut=value.get("is_cut") is True,
        is_agents=value.get("is_agents") is True,
        folder=text_at(value, "folder"),
        waiting=tuple(call for one in list_at(value, "waiting") if (call := _parse_call(one)) is not None),
        plan=tuple(pair for one in list_at(value, "plan") if (pair := _parse_pair(one)) is not None),
        agents=tuple(one for one in list_at(value, "agents") if isinstance(one, str)),
    )


def _parse_call(value: object) -> ToolCall | None:
    texts = list_at(value)
    name, kind = ([str(text) for text in texts[:2]] + ["", ""])[:2]
    return ToolCall(name, FactKind(kind), tuple(map(str, texts[2:]))) if kind in set(FactKind) else None


def _parse_pair(value: object) -> tuple[str, str] | None:
    match value:
        case [str(name), str(text)]:
            return name, text
        case _:
            return None
