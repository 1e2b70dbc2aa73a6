"""The status line in a host's settings: added as text, wrapped around an existing one, and removed again.

Our entry is recognised by its command. After removal, the file is the same as before to the byte, except for
changes made by others in the meantime.
"""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from passdown.core.hosts.installs import PLUGIN, PLUGIN_ID
from passdown.core.hosts.permission_rules import SettingsChange, drop_rules
from passdown.core.json_text import object_at, read_members, revise_members
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed

MEMBER: Final = "statusLine"
VERB: Final = "status-line"

_LISTS: Final = MappingProxyType({"enabledPlugins": PLUGIN_ID, "extraKnownMarketplaces": PLUGIN})
"""The members in which a host lists plugins, and the name of our plugin there."""

_OURS: Final = pattern(r'passdown(?:\.exe)?"? status-line\b')
# The host sends its JSON once, but two commands need it.
_HEAD: Final = 'input=$(cat); printf %s "$input" | '
_MIDDLE: Final = '; printf %s "$input" | {\n'
_TAIL: Final = "\n}"


def wrap_command(line: str, inner: str) -> str:
    """Return the command that shows our line, followed by the output of another command."""
    ours = f"{line} {VERB}"
    return f"{_HEAD}{ours}{_MIDDLE}{inner}{_TAIL}" if inner else ours


def unwrap_command(command: str) -> str | None:
    """Return the command inside our wrapper, empty if there is none; None if the command is not ours."""
    head, middle, rest = command.partition(_MIDDLE)
    if middle and head.startswith(_HEAD) and _OURS.search(head) and rest.endswith(_TAIL):
        return rest.removesuffix(_TAIL)
    return "" if _OURS.search(command) else None


def put_status_line(text: str, line: str, *, can_wrap: bool) -> SettingsChange:
    """Return settings with our status line; raise `Malformed` if they are not a JSON object.

    1. If there is none, ours is added.
    2. An existing one is wrapped, if the shell supports that.
    3. A status line that is not a command is left alone.
    """
    text = text if text.strip() else "{}\n"
    value = read_settings(text).get(MEMBER)
    if value is None:  # 1
        return SettingsChange(
            revise_members(text, {MEMBER: {"type": "command", "command": wrap_command(line, "")}})
        )
    there = object_at(value)
    command = there.get("command")
    if not isinstance(command, str) or there.get("type") != "command":  # 3
        return SettingsChange(text, "the settings have another kind of status line; it was not changed")
    found = unwrap_command(command)
    inner = command if found is None else found
    if inner and not can_wrap:
        return SettingsChange(text, "the settings already have a status line; it was not changed")
    wrapped = wrap_command(line, inner)  # 2
    return SettingsChange(
        text if wrapped == command else revise_members(text, {MEMBER: {**there, "command": wrapped}})
    )


def read_settings(text: str) -> dict[str, object]:
    """Read settings; an empty file has none. Raises `Malformed` if they are not a JSON object."""
    return {member.name: member.value for member in read_members(text)} if text.strip() else {}


def undo_settings(text: str, before: str | None, rules: Collection[str] = ()) -> str | None:
    """Return settings without our entries and rules; None if nothing is left of a file that we created.

    The result is based on the previous content: if nothing else has changed, it is identical to the byte.
    """
    try:
        old = read_settings(before or "")
    except Malformed:  # it was broken then and has been repaired since
        return clean_settings(text, rules)
    wanted = _without_ours(read_settings(text), rules, old)
    if before is None:
        return adapt(text, wanted) if wanted else None
    empty = {name: value for name, value in old.items() if name in _LISTS and not value}
    return adapt(before, {**empty, **wanted})


def clean_settings(text: str, rules: Collection[str] = ()) -> str:
    """Return settings without our entries and rules, if the previous content is unknown."""
    return adapt(text, _without_ours(read_settings(text), rules, {}))


def _without_ours(
    settings: Mapping[str, object], rules: Collection[str], before: Mapping[str, object]
) -> dict[str, object]:
    wanted = drop_rules(settings, rules, before)
    for name, key in _LISTS.items():
        if isinstance(wanted.get(name), dict):
            wanted[name] = {one: each for one, each in object_at(wanted, name).items() if one != key}
            if not wanted[name]:
                del wanted[name]
    line = object_at(wanted, MEMBER)
    inner = unwrap_command(str(line.get("command", "")))
    if inner:
        wanted[MEMBER] = {**line, "command": inner}
    elif inner is not None:
        del wanted[MEMBER]
    return wanted


def adapt(text: str, wanted: Mapping[str, object]) -> str:
    """Change the text of a JSON object until it has exactly these members; the rest stays to the byte."""
    there = read_settings(text)
    for name in [name for name in there if name not in wanted]:
        text = drop_member(text, name)
    known = {name: json.dumps(value, sort_keys=True) for name, value in there.items()}
    changes = {  # compared as text: in JSON, 1 and true differ
        name: value for name, value in wanted.items() if known.get(name) != json.dumps(value, sort_keys=True)
    }
    return revise_members(text if text.strip() else "{}\n", changes) if changes else text


def drop_member(text: str, name: str) -> str:
    """Remove a member from an object, with its comma."""
    members = read_members(text)
    index = next(index for index, member in enumerate(members) if member.name == name)
    member = members[index]
    if index + 1 < len(members):
        return text[: member.start] + text[members[index + 1].start :]
    if index:
        return text[: members[index - 1].value_end] + text[member.value_end :]
    return text[: text.index("{") + 1] + text[member.value_end :].lstrip()
