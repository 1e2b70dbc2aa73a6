"""Past sessions of hosts: where their transcripts are, whose they are, and what is kept of them (C134).

1. Kept is what the user said, what the agent said in words, plans, edited files, commands with their exit
   codes, and commits; never a tool's output, and never what the agent thought.
2. What a transcript repeats is kept once: the same words in a row, a file, a commit, a plan item with its
   progress.
3. Secrets are redacted before a text is cut, so that no part of one is left at the cut.
4. A session that says too much is cut at the end; what is left out is counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate, takewhile
from typing import Annotated, Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.formats.history import HistoryEntry, HistoryHead
from passdown.core.hosts.observations import from_root
from passdown.core.hosts.transcripts import MessageReader, Object, Observation, load_line
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.safe_text import one_line, printable
from passdown.core.sessions.secrets import redact, redact_all
from passdown.core.times import parse_instant
from passdown.records import record, replace

TEXT_CHARS: Final = 2_000
"""How many characters of a text are kept."""

LONGEST: Final = 65_536
"""How many characters of a text are searched for secrets; a secret is never longer."""

MAX_CHARS: Final = 8_388_608
"""How many characters are kept of one session, each entry with the rest of its line."""

_LINE: Final = 100

ABOUT_CHARS: Final = 200
_KEPT: Final = frozenset(
    {
        FactKind.PROMPT,
        FactKind.WORDS,
        FactKind.PLAN,
        FactKind.FILE,
        FactKind.COMMAND,
        FactKind.COMMIT,
    }
)
_SPOKEN: Final = frozenset({FactKind.PROMPT, FactKind.WORDS})
_NAME: Final = pattern(r"[a-z0-9][a-z0-9-]{0,99}")
_DIGEST: Final = 12
_READABLE: Final = 60
_STATUS: Final = pattern(r"[a-z_ -]{1,24}")
_FOLDER: Final = b'"cwd"'


class TranscriptName(NamedTuple):
    """Which session a transcript is of, by the host's ids."""

    session: str
    parent: str = ""
    """The session that started it, if it is a subagent's."""


class TranscriptOrigin(NamedTuple):
    """Where a session worked, as its transcript says."""

    folder: str
    remote: str = ""
    """The remote of its repository, if the host records it."""
    parent: str = ""
    """The session that started it, if the transcript says that it is a subagent's."""


class TranscriptStore(NamedTuple):
    """Where a host keeps its transcripts, and how they are read as a whole."""

    folder: str
    """Their folder, below the host's own."""
    identify: Callable[[str], TranscriptName | None]
    """Returns which session a file is of, by its path below that folder; None for any other file."""
    find_origin: Callable[[Object], TranscriptOrigin | None]
    """Returns where the session worked, from a line that says so."""
    messages: MessageReader
    """How every message of the agent is read."""
    kept_days: Callable[[object], int] | None = None
    """Returns after how many days the host deletes a transcript, from its settings; not every host does."""


@record
class PastEntries:
    """What is kept of a past session."""

    entries: Annotated[tuple[HistoryEntry, ...], "What was said and done, in order."]
    left_out: Annotated[int, "How many entries were left out (4)."] = 0
    redacted: Annotated[tuple[str, ...], "The rules that found secrets."] = ()


def file_name(session: str) -> str:
    """Return the name of the history file of a session; ids that are no plain names get a hash.

    No two ids have the same name, also where case does not count, and a name never leads out of its folder.
    """
    if _NAME.fullmatch(session):
        return session
    readable = "".join(one if one.isascii() and one.isalnum() else "-" for one in session.lower())
    digest = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{readable[:_READABLE].strip('-') or 'session'}_{digest}"


def read_origin(store: TranscriptStore, start: bytes) -> TranscriptOrigin | None:
    """Return where a session worked, from the start of its transcript; None if that does not say it."""
    for line in start.split(b"\n")[:-1]:
        if _FOLDER in line and (found := store.find_origin(load_line(line))) and found.folder:
            return found
    return None


def find_own_root(folder: str, roots: Iterable[str]) -> str:
    """Return the innermost root that contains a folder; empty if none does."""
    inside = [root for root in roots if folder == root or folder.startswith(f"{root.rstrip('/')}/")]
    return max(inside, key=len, default="")


def is_same_remote(one: str, other: str) -> bool:
    """Return whether two URLs name the same repository, however it is reached."""
    return bool(one) and _bare(one) == _bare(other)


def _bare(url: str) -> tuple[str, str]:
    """Return the server and the path of a remote, without user, port and ending."""
    text = url.strip().lower().rstrip("/").removesuffix(".git")
    scheme, _, rest = text.partition("://")
    server, _, path = rest.partition("/") if rest else scheme.partition(":")
    return server.rpartition("@")[2].partition(":")[0], path.strip("/")


def make_entries(seen: Sequence[Observation], roots: Sequence[str]) -> PastEntries:
    """Make the entries of a session from what was observed in its transcript."""
    kept = list(_without_repeats(seen))
    texts, redacted = redact_all([_text_of(one, roots) for one in kept])
    entries = [_make_entry(one, text) for one, text in zip(kept, texts, strict=True)]
    sizes = accumulate(len(one.text) + _LINE for one in entries)
    count = sum(1 for _ in takewhile(lambda size: size <= MAX_CHARS, sizes))  # 4
    return PastEntries(
        entries=tuple(entries[:count]), left_out=len(entries) - count, redacted=tuple(sorted(redacted))
    )


def _without_repeats(seen: Iterable[Observation]) -> Iterator[Observation]:
    """Yield what is kept (1), each once (2)."""
    once: set[tuple[str, str, str]] = set()
    said: set[tuple[str, str]] = set()
    for one in seen:
        if one.kind not in _KEPT:
            continue
        name = (one.kind.value, one.text, one.status)
        if one.kind in _SPOKEN:
            if (one.kind.value, one.text) in said:
                continue
            said = {pair for pair in said if pair[0] != one.kind.value} | {(one.kind.value, one.text)}
        elif one.kind is not FactKind.COMMAND:
            if name in once:
                continue
            once.add(name)
        yield one


def _text_of(one: Observation, roots: Sequence[str]) -> str:
    """Return a text; a file of the project by its path from the root."""
    if one.kind is not FactKind.FILE:
        return one.text
    return from_root(one.text, roots) or one.text


def _make_entry(one: Observation, text: str) -> HistoryEntry:
    clean = one_line(text) if one.kind is FactKind.FILE else printable(text)
    return HistoryEntry(
        kind=one.kind.value,
        text=cut(clean, TEXT_CHARS),  # 3: after redaction
        at=parse_instant(one.time),
        exit=one.exit,
        status=one.status if _STATUS.fullmatch(one.status) else "",
    )


def cut(text: str, most: int) -> str:
    """Cut a text to a number of characters, with a mark at its end."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def make_head(base: HistoryHead, found: PastEntries) -> HistoryHead:
    """Complete the head of a history file with what its entries say."""
    times = [one.at for one in found.entries if one.at]
    prompts = [one.text for one in found.entries if one.kind == FactKind.PROMPT]
    counts: dict[str, int] = {}
    for one in found.entries:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    return replace(
        base,
        folder=printable(redact(base.folder).text),
        started=min(times, default=None),
        ended=max(times, default=None),
        about=cut(one_line(" ".join(prompts[0].split())), ABOUT_CHARS) if prompts else "",
        counts=tuple(counts.items()),
        files=tuple(one.text for one in found.entries if one.kind == FactKind.FILE and _is_inside(one.text)),
        left_out=found.left_out,
        redacted=found.redacted,
    )


def _is_inside(path: str) -> bool:
    """Return whether a file is named from the root of the project."""
    return not path.startswith(("/", "\\")) and path[1:2] != ":"


def days_left(changed: datetime, now: datetime, kept: int) -> int:
    """Return in how many days a host deletes a transcript; 0 if it may do so now."""
    return max(0, kept - (now - changed).days)
