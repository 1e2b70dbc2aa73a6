"""What a subagent must leave to its session: commands that change tasks, claims and handoffs (C84)."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from passdown.core.shell_commands import find_programs

_OURS: Final = "passdown"
_OUR_VERBS: Final = frozenset({"claim", "close", "task", "takeover", "handoff"})
_TRACKER: Final = "bd"
_READ_ONLY: Final = frozenset({"show", "ready", "list", "blocked", "version", "help"})
_HELP: Final = frozenset({"-h", "--help"})
_VALUED: Final = MappingProxyType(
    {_OURS: frozenset[str](), _TRACKER: frozenset({"--db", "--actor", "--lock-timeout", "-C", "--directory"})}
)
"""The options before a verb whose value is the next word."""

_RETURN_FORMAT: Final = (
    '{"status": "success", "summary": "…", '
    '"beadUpdates": [{"id": "…", "action": "close", "reason": "…", "notes": "…"}], "filesModified": ["…"]}'
)


def find_coordination(command: str) -> str:
    """Return the first program and verb in a command that a subagent must not run, or "" if there is none.

    1. Of the tracker, everything but the verbs that only read.
    2. Of ours, the verbs that change who works on what.
    3. Help, and a program without a verb, may always run.
    """
    for program in find_programs(command):
        name, *words = program or [""]
        verb = _find_verb(words, _VALUED[name]) if name in _VALUED else ""
        is_refused = verb not in _READ_ONLY if name == _TRACKER else verb in _OUR_VERBS  # 1, 2
        if verb and is_refused:
            return f"{name} {verb}"
    return ""


def _find_verb(words: Sequence[str], valued: frozenset[str]) -> str:
    if not _HELP.isdisjoint(words):  # 3
        return ""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word if word.replace("-", "").isalpha() else ""  # such as a redirection
        is_value = word in valued
    return ""


def refuse_coordination(program: str, subagent_type: str) -> str:
    """Tell a subagent what was not run, and what to return instead (R208)."""
    who = f"a subagent ({subagent_type})" if subagent_type else "a subagent"
    return (
        f"Passdown: `{program}` was not run: {who} does not change tasks, claims or handoffs; "
        "the agent that started it does. End with this object, which that agent applies "
        '(`status` is "success" or "failed", `action` is "close" or "update"; '
        f"leave out what does not apply):\n{_RETURN_FORMAT}"
    )
