"""Finds the tasks that an agent claimed or closed with the tracker's own commands (R34, R35).

Only certain changes count: the exit code is 0 and belongs to the tracker, and the output does not call the
task an error, which some builds do with exit code 0.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern
from passdown.core.shell_commands import find_programs, find_succeeded

PROGRAM: Final = "bd"
CLAIMED: Final = "claimed"
LEFT: Final = "left"
"""The states of a task after a command: the agent has it, or no longer has it."""

VALUED: Final = frozenset({"--db", "--actor", "--lock-timeout", "-C", "--directory"})
"""The options of every verb that take the next word as their value."""
_VALUED: Final = VALUED | frozenset(
    [
        *("--acceptance", "--add-label", "-a", "--assignee", "--await-id", "--body-file", "--defer", "-d"),
        *("--description", "--design", "--due", "-e", "--estimate", "--external-ref", "--notes", "--parent"),
        *("-p", "--priority", "--remove-label", "--session", "--set-labels", "-s", "--status", "--title"),
        *("-t", "--type", "-r", "--reason", "-m", "--message", "--append-notes", "--if-assignee"),
        *("--if-status", "--metadata", "--comment", "--reason-file", "--format"),
    ]
)
_HELP: Final = frozenset({"-h", "--help"})
_STATUS: Final = frozenset({"-s", "--status"})
_TASK: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:]{0,63}(?:-[A-Za-z0-9_.:]{1,64}){1,4}")
_PRINTED: Final = pattern(r'"id"\s*:\s*"([^"\\]{1,256})"')
_ENDING: Final = frozenset({"close", "done", "unclaim"})
_LONGEST: Final = 20_000


def find_verbs(command: str) -> Iterator[str]:
    """Yield the tracker's commands in a shell command, without their arguments."""
    for name, *words in find_programs(command):
        if name == PROGRAM and (verb := find_verb(words, VALUED)):
            yield f"{PROGRAM} {verb}"


def find_verb(words: Sequence[str], valued: Collection[str]) -> str:
    """Return the verb of a program, or "" for a call without one or for help."""
    if not _HELP.isdisjoint(words):
        return ""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word if word.replace("-", "").isalpha() else ""  # such as a redirection
        is_value = word in valued
    return ""


class ObservedTask(NamedTuple):
    """A task, and its state after a command."""

    task: str
    state: str


class _Call(NamedTuple):
    """One call of the tracker."""

    verb: str
    tasks: tuple[str, ...]
    is_claim: bool
    status: str


def find_task_changes(command: str, code: int | None, output: str) -> Iterator[ObservedTask]:
    """Find the tasks that a command claimed or closed.

    1. `update --claim`, `update --status in_progress` and `ready --claim` claim; the last prints the task.
    2. `close`, `unclaim`, and `update` with the status closed or open, end a claim.
    3. A task that an error line of the output names was not changed.
    """
    if PROGRAM not in command or code != 0:
        return
    for name, *words in find_succeeded(command, code):
        call = _read(words) if name == PROGRAM else None
        state = _judge(call) if call else ""
        if call is None or not state:
            continue
        tasks = _find_printed(output) if call.verb == "ready" else call.tasks
        errors = [line for line in output[:_LONGEST].splitlines() if "error" in line.lower()]
        for task in tasks:
            if not any(task in line for line in errors):  # 3
                yield ObservedTask(task, state)


def _judge(call: _Call) -> str:
    """Return what a call does to its tasks, or "" if nobody claims or loses them."""
    if call.verb in _ENDING:
        return LEFT  # 2
    if call.verb == "ready":
        return CLAIMED if call.is_claim else ""
    if call.verb != "update":
        return ""
    if call.is_claim or call.status == "in_progress":
        return CLAIMED  # 1
    return LEFT if call.status in {"closed", "open"} else ""  # 2


def _read(words: Sequence[str]) -> _Call:
    """Read the words after the program's name; words that are neither option nor task are left out."""
    plain: list[str] = []
    status = ""
    option = ""
    for word in words:
        name, has_value, value = word.partition("=")
        if option:
            status = word if option in _STATUS else status
            option = ""
        elif not word.startswith("-"):
            plain.append(word)
        elif has_value:
            status = value.strip("'\"") if name in _STATUS else status
        else:
            option = word if word in _VALUED else ""
    verb, *rest = plain or [""]
    tasks = tuple(dict.fromkeys(word for word in rest if _TASK.fullmatch(word)))
    return _Call(verb, tasks, "--claim" in words, status)


def _find_printed(output: str) -> tuple[str, ...]:
    """Return the task that `ready --claim --json` printed."""
    found = _PRINTED.search(output[:_LONGEST])
    return (found[1],) if found and _TASK.fullmatch(found[1]) else ()
