"""Ids: the form of our ids, safe file names for foreign ids, and ids derived from content."""

import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NewType

from passdown.core.digests import sha256
from passdown.core.lazy_regex import pattern
from passdown.core.times import parse_instant, render_file_stamp
from passdown.errors import FormatError
from passdown.records import record

AgentId = NewType("AgentId", str)
"""``<nickname or host>-<8 hex>``, unique for each session; shown to users, and used to break ties."""
FactId = NewType("FactId", str)
StreamName = NewType("StreamName", str)

ID_LIMIT: Final = 64
FOREIGN_LIMIT: Final = 256
SLUG_LIMIT: Final = 48

_ID: Final = pattern(r"[a-z0-9][a-z0-9-]{0,63}")
_AGENT: Final = pattern(r"[a-z0-9][a-z0-9-]{0,54}-[0-9a-f]{8}")
_KEPT: Final = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
_KEBAB: Final = pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORD: Final = pattern(r"[a-z0-9]+")
_EVENT_FILE: Final = pattern(r"([0-9T.-]+Z)_([^/\\]+)\.md")
_DEVICE: Final = pattern(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")  # Windows reserves them in every folder
_UNPRINTABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control, half a surrogate pair, line ends
_MEANINGFUL: Final = frozenset({"Sm", "Sc", "So"})  # a `+` or `→` distinguishes texts; a comma does not
_AGENT_BYTES: Final = 4
_HASH_SIZE: Final = 6


@record
class EventName:
    """What an event's file name contains: when it was written, and the folded name of its author."""

    at: datetime
    agent: str


def is_id(text: str) -> bool:
    """Return whether text is one of our ids: one of a-z and 0-9, then at most 63 of those or hyphens."""
    return _ID.fullmatch(text) is not None


def clean_foreign(text: str, field: str = "id") -> str:
    """Return another tool's id verbatim; raise a FormatError for one that could break a line.

    Rejected are ids that are blank, have more than 256 characters, or contain control characters, line ends
    of any kind, or characters that cannot be encoded.
    """
    if not text.strip():
        message = f"{field}: an id must not be empty."
        raise FormatError(message, field=field, hint="Leave the field out, or give it a value.")
    if len(text) > FOREIGN_LIMIT:
        message = f"{field}: {_excerpt(text)} is longer than {FOREIGN_LIMIT} characters."
        raise FormatError(message, field=field, hint="Use the id that the other tool shows for it.")
    if not text.isprintable() and any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        message = f"{field}: {_excerpt(text)} contains control characters or line ends."
        raise FormatError(message, field=field, hint="An id is one line of visible characters.")
    return text


def fold_id(text: str) -> str:
    """Turn any id into a unique name that is safe in file names everywhere.

    The result is one of our ids, never a Windows device name. Ids that are already safe stay unchanged, so
    folding twice changes nothing. All others end in 6 hex of the hash of the original, so that ids that
    differ only in case, accents or punctuation keep different names, whatever the file system ignores.
    """
    if is_id(text) and not _DEVICE.fullmatch(text):
        return text
    return _with_hash("-".join(_WORD.findall(text.lower())) or "id", "-", ID_LIMIT, text)


def name_file(text: str, taken: Iterable[str] = ()) -> str:
    """Return an id unchanged if it is safe in file names everywhere; otherwise fold it with `fold_id`.

    1. It has at most 64 letters, digits, `.`, `_` and `-`, begins with a letter or digit, does not end in a
       dot, and is no Windows device name, also with an extension.
    2. It differs from every other name that is taken, ignoring case.
    """
    is_safe = _KEPT.fullmatch(text) and not _DEVICE.fullmatch(text.partition(".")[0].lower())  # 1
    is_clear = all(one == text or one.casefold() != text.casefold() for one in taken)  # 2
    return text if is_safe and is_clear else fold_id(text)


def fold_nickname(text: str) -> str:
    """Return a nickname in the form used in agent names: lower-case words and numbers, joined by hyphens."""
    return "-".join(_WORD.findall(_plain(text))) or "agent"


def name_person(text: str) -> str:
    """Return the nickname of a person, from the name that git knows; `person` if it has no words."""
    return "-".join(_WORD.findall(_plain(text))) or "person"


def make_agent(nickname: str, random: bytes) -> AgentId:
    """Make an agent's name, ``<nickname>-<8 hex>``, from a nickname (or host) and at least 4 random bytes."""
    if len(random) < _AGENT_BYTES:
        raise ValueError(f"an agent needs {_AGENT_BYTES} random bytes")
    suffix = "-" + random[:_AGENT_BYTES].hex()
    stem = fold_nickname(nickname)
    return AgentId(stem[: ID_LIMIT - len(suffix)].rstrip("-") + suffix)


def is_agent(text: str) -> bool:
    """Return whether a name has the form of our agents."""
    return _AGENT.fullmatch(text) is not None


def shorten_agent(agent: str) -> str:
    """Return an agent's id without the end of its number; any other text stays as it is."""
    return agent[:-_AGENT_BYTES] if is_agent(agent) else agent


def event_file_name(at: datetime, agent: str) -> str:
    """Return the file name of an event, ``YYYY-MM-DDTHH-MM-SS.mmmZ_<agent>.md``, with the agent folded."""
    return f"{render_file_stamp(at)}_{fold_id(agent)}.md"


def parse_event_file_name(name: str) -> EventName | None:
    """Read the name of an event file, with or without milliseconds; return None for other files.

    The agent is everything after the first ``_``; it may contain more of them. The seed wrote the shorter
    form without milliseconds.
    """
    found = _EVENT_FILE.fullmatch(name)
    at = parse_instant(found[1]) if found else None
    if found is None or at is None:
        return None
    try:
        return EventName(at=at, agent=clean_foreign(found[2]))
    except FormatError:
        return None


def fact_id(kind: str, text: str) -> FactId:
    """Return a fact's id: 12 hex of SHA-256 over kind, line feed and text (NFC, line ends LF)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return FactId(_hash(f"{kind}\n{unicodedata.normalize('NFC', lines)}")[:12])


def is_stream_name(text: str) -> bool:
    """Return whether text can name a stream: kebab-case, at most 64 characters, no Windows device name."""
    return len(text) <= ID_LIMIT and bool(_KEBAB.fullmatch(text)) and not _DEVICE.fullmatch(text)


def kebab(text: str) -> StreamName:
    """Turn any text into a stream name; texts that differ in letters, digits or symbols stay different."""
    return StreamName(_shorten(text, "-", ID_LIMIT, "stream"))


def slug(text: str) -> str:
    """Turn the text of a decision into its key: snake_case, at most 48 characters, never empty.

    Case, accents, spaces and punctuation do not matter. If letters, digits or symbols were lost, the key ends
    in 6 hex of a hash of the text: otherwise one decision would silently supersede another.
    """
    return _shorten(text, "_", SLUG_LIMIT, "decision")


def _shorten(text: str, separator: str, limit: int, empty: str) -> str:
    """Join the words of a text; add a hash if the words alone do not distinguish it from others."""
    plain = _plain(text)
    words = separator.join(_WORD.findall(plain))
    if words and len(words) <= limit and not _DEVICE.fullmatch(words) and not any(map(_is_lost, plain)):
        return words
    return _with_hash(words or empty, separator, limit, " ".join(plain.split()))


def _with_hash(stem: str, separator: str, limit: int, text: str) -> str:
    """Cut the stem so that it fits the limit together with the hash of the text."""
    return stem[: limit - _HASH_SIZE - 1].rstrip(separator) + separator + _hash(text)[:_HASH_SIZE]


def _plain(text: str) -> str:
    """Remove case, accents and compatibility forms from a text."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(character for character in folded if not unicodedata.combining(character))


def _is_lost(character: str) -> bool:
    """Return whether a character carries meaning that our names cannot keep."""
    if character.isascii() and character.isalnum():
        return False
    category = unicodedata.category(character)
    return category[0] in "LN" or category in _MEANINGFUL or character == "#"


def _hash(text: str) -> str:
    """Hash text as UTF-8; halves of surrogate pairs, which file names can contain, are included."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _excerpt(text: str) -> str:
    """Quote text for a message: one line, visible characters, not too long."""
    shown = ascii(text)
    return shown if len(shown) <= ID_LIMIT else shown[:ID_LIMIT] + "…"
