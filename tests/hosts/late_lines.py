"""The time that a model takes to think, in which Claude Code writes its transcript.

Claude Code writes what is new every 100 ms, not before it calls a hook. A model that answers at once would
end a turn before the transcript shows what led to the answer, which no real one does.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

_SECONDS: Final = 3.0
_PAUSE: Final = 0.01
_BRIEF: Final = re.compile(r"===== passdown brief ([0-9a-f]+) begins")


def transcripts_beside(root: str) -> Path:
    """Return where Claude Code keeps its transcripts, for the home that lies beside a project."""
    return Path(root).parent / "home" / ".claude" / "projects"


def await_written(request: Mapping[str, object], transcripts: Path, written: set[str]) -> None:
    """Wait until transcripts hold the results of tools and the briefs of a request, or for three seconds.

    `written` are marks that need not be looked for any more; those of this request are added.
    """
    marks = set(_marks(request)) - written
    written |= marks
    if transcripts.parent.is_dir():
        _wait(lambda: _has_all(transcripts, marks))


def _wait(is_it: Callable[[], bool]) -> None:
    until = time.monotonic() + _SECONDS
    while not is_it() and time.monotonic() < until:
        time.sleep(_PAUSE)


def _has_all(transcripts: Path, marks: set[str]) -> bool:
    if not marks:
        return True
    text = "".join(path.read_text("utf-8", "replace") for path in transcripts.rglob("*.jsonl"))
    return all(mark in text for mark in marks)


def _marks(request: Mapping[str, object]) -> Iterator[str]:
    """Give what names the results of tools in the last message, and the briefs in all of them."""
    messages = cast("Sequence[dict[str, Any]]", request.get("messages") or [])
    yield from _BRIEF.findall(json.dumps(messages))
    content = messages[-1]["content"] if messages else []
    for block in content if isinstance(content, list) else []:
        if block.get("type") == "tool_result":
            yield block["tool_use_id"]
