"""Say in the subject of a commit what its events state."""

from collections.abc import Iterator, Sequence
from typing import Final

from passdown.core.formats.events import Event
from passdown.core.ids import shorten_agent
from passdown.core.safe_text import one_line
from passdown.core.sessions.secrets import redact

_AGENT: Final = 24
_TEXT: Final = 60
_READ: Final = 1_000
"""How much of a text is searched for secrets; what follows is never shown."""


def describe_events(events: Sequence[Event]) -> str:
    """Return what events state, such as `claude-639f: keep sessions in Redis, +2`; empty if nothing.

    1. The last event that states a fact gives the author and the text; `+2` counts the facts besides it.
    2. A decision says more than finished work, and that more than a rule, a question or the goal.
    3. Anybody may have written the files, so the text is one line, limited, and without secrets.
    """
    stated = [(event, texts) for event in events if (texts := [*_list_texts(event)])]
    if not stated:
        return ""
    event, texts = stated[-1]  # 1
    more = sum(len(texts) for _, texts in stated) - 1
    shown = _cut(texts[0], _TEXT)
    author = _cut(shorten_agent(event.agent or ""), _AGENT)
    parts = (f"{author}: {shown}" if author else shown, f"+{more}" if more else "")
    return ", ".join(filter(None, parts))


def _list_texts(event: Event) -> Iterator[str]:
    """Yield the facts of an event, the most telling first (2); the next steps are only shown alone."""
    facts = [
        *(one.value or one.key for one in reversed(event.decisions)),
        *reversed(event.this_session),
        *event.constraints,
        *event.open_questions,
        *(one.value for one in event.answers),
        *filter(None, (event.goal, event.now)),
    ]
    facts = facts or list(event.next or ())
    return (text for text in facts if text.strip())


def _cut(text: str, most: int) -> str:
    """Return a text on one line, without secrets and characters that are not printed, and limited (3)."""
    line = one_line(" ".join(redact(text[:_READ]).text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
