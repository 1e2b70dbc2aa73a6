"""Try Passdown: the life of two sessions in a temporary repository, by the commands that agents type."""

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from passdown import layout
from passdown.actions.callers import Caller
from passdown.actions.project.installs import find_own_program
from passdown.records import record
from passdown.wiring.trials import open_trial


class _Scene(NamedTuple):
    """Commands that one process runs before it ends, and what they show."""

    title: str
    commands: tuple[tuple[str, ...], ...]


_OURS: Final = layout.OURS
_SET_UP: Final = (
    ("git", "-c", "init.defaultBranch=main", "init", "--quiet"),
    ("git", "commit", "--quiet", "--allow-empty", "--message", "A shop"),
    (_OURS, "init", "--yes"),
)
_SCENES: Final = (
    _Scene(
        "In a repository with Passdown, an agent starts, and records what matters as it works.",
        (
            (_OURS, "start", "--nickname", "amber"),
            (_OURS, "goal", "People sign in with a cookie instead of a token"),
            (_OURS, "decide", "store", "Keep sessions in Redis", "--because", "it expires them"),
            (_OURS, "rule-out", "Never put the token into a URL", "--because", "it ends up in logs"),
            (_OURS, "done", "Set the cookie at login"),
            (_OURS, "now", "End the session at logout"),
        ),
    ),
    _Scene(
        "Its terminal is killed. Another agent starts, is told what the first one knew, and goes on.",
        (
            (_OURS, "start", "--nickname", "birch"),
            (_OURS, "brief"),
            (_OURS, "done"),
            (_OURS, "end"),
        ),
    ),
    _Scene(
        "You look at what was kept.",
        ((_OURS, "log"), (_OURS, "search", "redis"), (_OURS, "certify")),
    ),
)


@record
class TrialStep:
    """A command of the trial, and what it printed."""

    title: Annotated[str, "What is about to happen; empty if it goes on."]
    command: Annotated[tuple[str, ...], "The command and its arguments."]
    output: Annotated[str, "What it printed."]


@record
class TrialResult:
    """The whole trial."""

    steps: Annotated[tuple[TrialStep, ...], "Each command, in order."]


def try_out(caller: Caller, _request: None = None) -> TrialResult:
    """Run a session that crashes and one that goes on, in a temporary repository that is removed afterwards.

    Nothing outside that folder is read or written: it has a home of its own.
    """
    caller.around.report("working in a temporary repository; this takes a few seconds")
    steps: list[TrialStep] = []
    with open_trial(find_own_program(caller)) as run:
        run(_SET_UP)
        for number, scene in enumerate(_SCENES):
            caller.around.progress(number, len(_SCENES))
            steps += _play(scene, run(scene.commands))
    return TrialResult(steps=tuple(steps))


def _play(scene: _Scene, printed: Sequence[str]) -> Sequence[TrialStep]:
    titles = (scene.title, *("" for _ in scene.commands[1:]))
    return [
        TrialStep(title=title, command=command, output=text)
        for title, command, text in zip(titles, scene.commands, printed, strict=True)
    ]
