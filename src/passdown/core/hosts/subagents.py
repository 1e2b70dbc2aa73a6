"""The commands that a subagent may not run: those that change tasks, claims and handoffs (C84, R211)."""

from types import MappingProxyType
from typing import Final

from passdown.core.hosts.tracker_commands import PROGRAM, VALUED, find_verb
from passdown.core.lazy_regex import pattern
from passdown.core.shell_commands import find_programs

_OURS: Final = "passdown"
_OUR_VERBS: Final = frozenset({"claim", "close", "task", "takeover", "handoff", "result apply"})
_RELEASE: Final = "release"
_TASK: Final = pattern(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*(?:\.[0-9]+)*")
"""What may be the id of a task; a file or folder of such a name can be written with a `/`."""
_READ_ONLY: Final = frozenset({"show", "ready", "list", "blocked", "version", "help"})
_VALUED: Final = MappingProxyType({_OURS: frozenset[str](), PROGRAM: VALUED})
"""The options before a verb that take the next word as their value."""

_RETURN_FORMAT: Final = (
    '{"status": "success", "summary": "…", '
    '"beadUpdates": [{"id": "…", "action": "close", "reason": "…", "notes": "…"}], "filesModified": ["…"]}'
)


def find_coordination(command: str) -> str:
    """Return the first program and verb in a command that a subagent must not run, or "" if there is none.

    1. The tracker: all verbs except those that only read.
    2. Passdown: the verbs that change who works on what, also `release` with a word that may be a task.
    3. Help, and a program without a verb, may always run.
    """
    for program in find_programs(command):
        name, *words = program or [""]
        verb = find_verb(words, _VALUED[name]) if name in _VALUED else ""
        if verb == "result":  # showing one is reading
            verb = " ".join(words[words.index(verb) :][:2])
        is_refused = verb not in _READ_ONLY if name == PROGRAM else verb in _OUR_VERBS  # 1, 2
        if name == _OURS and verb == _RELEASE:
            is_refused = any(_TASK.fullmatch(word) for word in words[words.index(verb) + 1 :])
        if verb and is_refused:
            return f"{name} {verb}"
    return ""


def refuse_coordination(program: str, subagent_type: str) -> str:
    """Return the message that tells a subagent what was not run, and what to return instead (R208)."""
    who = f"a subagent ({subagent_type})" if subagent_type else "a subagent"
    return (
        f"Passdown: `{program}` was not run: {who} must not change tasks, claims or handoffs; "
        "only the agent that started it does. Instead, end with this object, which that agent applies "
        '(`status` is "success" or "failed", `action` is "close" or "update"; '
        f"leave out what does not apply):\n{_RETURN_FORMAT}"
    )


_BLOCKED: Final = ("update", "close", "create", "sync")
_OWN_BLOCKED: Final = f"`{_OURS} {'`, `'.join(sorted(_OUR_VERBS))}`"
_ALLOWED: Final = MappingProxyType(
    {
        "show <id>": "View task details",
        "ready": "See ready tasks",
        "list": "List tasks",
        "blocked": "Check blockers",
    }
)
_RULES_FORMAT: Final = """\
### Return Format
When done, return structured result:
```json
{
  "status": "success|failed",
  "summary": "Brief description of work done",
  "beadUpdates": [
    {"id": "...", "action": "close|update", "reason": "...", "notes": "..."}
  ],
  "filesModified": ["..."]
}
```
"""


def render_rules(*, is_beads: bool) -> str:
    """Return the rules that a subagent is told at its start (R211); without Beads, those for other tasks."""
    name = "Beads" if is_beads else "Task"
    parts = [f"## {name} Rules (Subagent)\n\nYou are a subagent. {name} access is READ-ONLY.\n"]
    blocked = [f"- {_OWN_BLOCKED} - Return request to main agent"]
    if is_beads:
        allowed = [f"- `{PROGRAM} {verb} --json` - {what}" for verb, what in _ALLOWED.items()]
        parts.append("\n".join(["### Allowed Commands", *allowed, ""]))
        blocked = [f"- `{PROGRAM} {verb}` - Return request to main agent" for verb in _BLOCKED] + blocked
    parts.append("\n".join(["### Blocked Commands", *blocked, ""]))
    return "\n".join([*parts, _RULES_FORMAT])
