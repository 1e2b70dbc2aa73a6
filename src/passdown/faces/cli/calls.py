"""Call an action for a command, print its notices, and finish it once the answer is out."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from passdown.actions.answers import Answered, Notice, NoticeKind, encode
from passdown.actions.callers import CallEnvironment, Caller, ask, open_bare, open_caller
from passdown.errors import StorageError
from passdown.faces.cli import output

if TYPE_CHECKING:  # few commands have something to record, or read many files
    from collections.abc import Iterable, Sequence

    from passdown.core.project.metrics import Metric
    from passdown.faces.cli.progress import Progress
    from passdown.services.workspace.verbs import VerbRun

Request = TypeVar("Request")
Result = TypeVar("Result")

_WORDS: Final[Mapping[NoticeKind, str]] = MappingProxyType(
    {
        NoticeKind.WARNING: "{text}",
        NoticeKind.TROUBLE: "{text}",
        NoticeKind.NO_CACHE: "{reason}; continuing without it",
        NoticeKind.SESSION_STARTED: "no session was running here; started {agent}",
        NoticeKind.HOST_SESSION_STARTED: "this {host} session is new here; started {agent}",
        NoticeKind.NAMED_SESSION_STARTED: (
            "no session is called {name} (set in PASSDOWN_SESSION); started {agent}"
        ),
        NoticeKind.PERSON_SESSION_STARTED: "recording as {agent}, because a person typed this",
        NoticeKind.UNKNOWN_HOST: "unknown host {host}; recorded as given",
        NoticeKind.MODE_KEPT: "{agent} keeps the mode it started with: {mode}",
        NoticeKind.LEDGER_EDITED: "recorded {edits} from {ledger}",
        NoticeKind.LEDGER_ELSEWHERE: "{agent} works in {place}; its ledger is updated there",
        NoticeKind.LEDGER_PROBLEM: "{ledger}:{line}: {field}: {problem}; the ledger was not changed",
        NoticeKind.VIEW_NOT_UPDATED: "the view was not updated: {reason}",
        NoticeKind.NOT_COMMITTED: "not committed: {reason}",
        NoticeKind.STAYS_UNREAD: "the messages stay unread: {reason}",
        NoticeKind.STEP: "{step}: {text}",
        NoticeKind.NOT_RELEASED: "could not release what {agent} holds: {reason}",
        NoticeKind.UNKNOWN_TRIGGER: "unknown trigger {trigger}; recorded as given",
        NoticeKind.SAME_TRACK: "{agent} is working on {track} too",
        NoticeKind.NO_SESSION: "no session is running here",
        NoticeKind.WHOLE_REPOSITORY: (
            "the project is the whole repository, {root}; use --here for this folder only"
        ),
        NoticeKind.HOST_SETTINGS: "{path}: {text}",
        NoticeKind.CHECKOUT_SKIPPED: "skipped the events of {checkout}: {reason}",
    }
)
_LEDGER_HINT: Final = "your fact is recorded; fix the ledger, and it shows the fact too"
_EVENTS: Final = "reading events"


def call(
    action: Callable[[Caller, Request], Result],
    request: Request,
    session: str = "",
    verb: "VerbRun | None" = None,
    *,
    is_first: bool = True,
    doing: str = _EVENTS,
) -> Answered[Result]:
    """Call an action in the project of the current folder, and print its notices.

    Only the first action of a command reports problems with the settings. `doing` labels the progress bar
    while many files are read.
    """
    bar = _ReadingBar(doing)
    caller = open_caller(find_environment(current_folder(), bar.step), session, verb)
    return _ask(action, caller, request, bar, 0 if is_first else len(caller.notices))


def call_bare(
    action: Callable[[Caller, Request], Result], request: Request, *, is_anywhere: bool = False
) -> Answered[Result]:
    """Call an action that reads the settings of the project itself, if it needs them.

    With `is_anywhere` it does not depend on the current folder, which may even be gone.
    """
    bar = _ReadingBar(_EVENTS)
    folder = Path() if is_anywhere else current_folder()
    return _ask(action, open_bare(find_environment(folder, bar.step)), request, bar, 0)


def _ask(
    action: Callable[[Caller, Request], Result],
    caller: Caller,
    request: Request,
    bar: "_ReadingBar",
    known: int,
) -> Answered[Result]:
    """Call an action; however it ends, print its notices except the known ones.

    What it opened is closed here, or by `settle` if something is left to do after the answer.
    """
    with ExitStack() as unless_owed:
        unless_owed.callback(caller.close)
        try:
            answer = ask(action, caller, request)
        finally:
            bar.hide()
            say_notices(caller.notices[known:])
        if answer.after:
            unless_owed.pop_all()
    return answer


def find_environment(
    folder: Path, progress: Callable[[int, int], None] = lambda _number, _total: None
) -> CallEnvironment:
    """Return where a command was called, and what the command line can do for an action."""
    return CallEnvironment(
        folder=folder,
        program=sys.argv[0],
        variables=os.environ,
        has_terminal=output.has_person,
        report=output.note,
        progress=progress,
        record_metrics=_record_metrics,
    )


class _ReadingBar:
    """A progress bar for an action that reads many files; it loads nothing if there are few."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._bar: Progress | None = None

    def step(self, number: int, total: int) -> None:
        """Count one more file as read; restart the bar when the count restarts."""
        if self._bar is None or number == 1:
            from passdown.faces.cli.progress import MANY, Progress

            self.hide()
            is_shown = total >= MANY and output.is_terminal(sys.stderr)
            self._bar = Progress(self._doing, total, shown=is_shown)
        self._bar.step()

    def hide(self) -> None:
        if self._bar is not None:
            self._bar.hide()


def _record_metrics(root: str, metrics: "Iterable[Metric]") -> bool:
    from passdown.faces.hooks.hook_log import log_metrics  # few commands have something to record

    return log_metrics(root, metrics)


def current_folder() -> Path:
    """Return the folder that the command was called in."""
    try:
        return Path.cwd()
    except OSError as found:
        reason = f"could not find the current folder: {found.strerror}"
        raise StorageError(reason, hint="change to a folder that exists") from found


def show(answer: Answered[Result], say: Callable[[Result], None], *, as_json: bool) -> Result:
    """Print an answer as JSON or as text, settle it, and return its result."""
    if as_json:
        output.say_json(encode(answer.result))
    else:
        say(answer.result)
    settle(answer)
    return answer.result


def settle(answer: Answered[object]) -> None:
    """Run what had to wait for the answer, unless nobody could read the answer (C90)."""
    try:
        if output.is_read():
            known = len(answer.notices)
            for act in answer.after:
                act()
            say_notices(answer.notices[known:])
    finally:
        answer.close()


def say_notices(notices: "Sequence[Notice]") -> None:
    """Print the notices that come with an answer."""
    for one in notices:
        output.note(_WORDS[one.kind].format_map(_fill(one)))
        if hint := one.hint or (_LEDGER_HINT if one.values.get("is_last") else ""):
            output.note_hint(hint)


def _fill(notice: Notice) -> Mapping[str, object]:
    count = notice.values.get("count")
    if not isinstance(count, int):
        return notice.values
    return {**notice.values, "edits": output.counted(count, "manual edit")}
