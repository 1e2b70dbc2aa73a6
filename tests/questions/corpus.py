"""Questions about the history of a coding project, and questions about other things.

The questions were written before the ranking was tuned. Half of each kind is kept aside: nobody looks at its
results until the ranking is settled.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from passdown.core.project.search_query import split_words
from passdown.core.project.stems import STOP_WORDS, stem

_FOLDER: Final = Path(__file__).parent
_SEED: Final = 20_260_110
_WORK: Final = (
    "Reviewed two pull requests and answered comments",
    "Updated dependencies and ran the whole test suite",
    "Fixed a typo in the documentation of the API",
    "Renamed a module and moved its tests",
    "Removed code that nothing called",
    "Wrote a test for the depot screen before changing it",
    "Looked at the logs of the last deployment",
    "Waited for the pipeline, then merged",
    "Split a long function of the label service",
    "Talked with the carrier team about the next release",
    "Read the plan for customs forms",
    "Made the error message of the importer clearer",
    "Cleaned up old branches",
    "Measured the parcels page again, no change",
    "Added a column to the report of the billing run",
    "Started a draft of the migration, not finished",
    "Checked that the driver app still builds",
    "Moved a constant into the settings",
    "Noted questions for the next planning",
    "Took over from another session, nothing was lost",
)


class Question(NamedTuple):
    """A question, and the session of the history that answers it."""

    text: str
    session: int
    answer: str
    kind: str

    @property
    def is_kept_aside(self) -> bool:
        """Whether it belongs to the half that is looked at once."""
        return is_kept_aside(self.text)


def is_kept_aside(text: str) -> bool:
    """Return whether a question belongs to the half that is looked at once."""
    return sha256(text.encode()).digest()[0] % 2 == 1


@cache
def read_questions() -> Sequence[Question]:
    """Read the questions that the history answers."""
    return [_read_question(number, line) for number, line in enumerate(_lines("history.txt"))]


def _read_question(number: int, line: str) -> Question:
    kind, rest = line.split(" | ", 1)
    answer, text = rest.rsplit(" | ", 1)  # a command may have a pipe
    return Question(text, number, answer, kind)


@cache
def read_unrelated() -> Sequence[str]:
    """Read the questions that it does not answer."""
    return list(_lines("unrelated.txt"))


def _lines(name: str) -> Iterator[str]:
    text = (_FOLDER / name).read_text(encoding="utf-8")
    yield from (line for line in text.splitlines() if not line.startswith("#"))


def make_sessions() -> Sequence[str]:
    """Make the record of each session: what it wrote down, among the work of every day."""
    source = random.Random(_SEED)
    return [_make_session(one, source) for one in read_questions()]


def _make_session(one: Question, source: random.Random) -> str:
    first, second, third, fourth = source.sample(_WORK, 4)
    return (
        f"---\nsession_id: s-{one.session:012x}\n---\n\n# Session Handoff\n\n## Completed\n\n- {first}.\n"
        f"- {second}.\n\n## {one.kind.title()}\n\n- {one.answer}.\n\n"
        f"## Next Steps\n\n- {third}.\n- {fourth}.\n"
    )


def content_stems(text: str) -> set[str]:
    """Return the stems of a text's words that are no stop words."""
    return {stem(word) for word in split_words(text) if word not in STOP_WORDS}
