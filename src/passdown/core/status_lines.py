"""The status line in Claude's settings: put in as text, wrapped around what was there, and taken out again.

An entry of ours is known by its command. Taken out, a file is as it was before, to the byte, but for what
somebody else has changed meanwhile.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from passdown.core.installs import PLUGIN, PLUGIN_ID
from passdown.core.jsontext import read_members, revise_members
from passdown.core.patterns import pattern
from passdown.core.problems import Malformed

MEMBER: Final = "statusLine"
VERB: Final = "status-line"

_LISTS: Final = MappingProxyType({"enabledPlugins": PLUGIN_ID, "extraKnownMarketplaces": PLUGIN})
"""The members in which a host notes plugins, and what ours is called there."""

_OURS: Final = pattern(r'passdown(?:\.exe)?"? status-line\b')
# The host hands its JSON over once, and two commands want it.
_HEAD: Final = 'input=$(cat); printf %s "$input" | '
_MIDDLE: Final = '; printf %s "$input" | {\n'
_TAIL: Final = "\n}"


class Put(NamedTuple):
    """Settings with the status line, and why it is not there when it is not."""

    text: str
    note: str = ""


def wrap_command(line: str, inner: str) -> str:
    """Give the command that shows our line, and below it what another command shows."""
    ours = f"{line} {VERB}"
    return f"{_HEAD}{ours}{_MIDDLE}{inner}{_TAIL}" if inner else ours


def unwrap_command(command: str) -> str | None:
    """Give the command that ours was wrapped around, empty if around none; None if it is not ours."""
    head, middle, rest = command.partition(_MIDDLE)
    if middle and head.startswith(_HEAD) and _OURS.search(head) and rest.endswith(_TAIL):
        return rest.removesuffix(_TAIL)
    return "" if _OURS.search(command) else None


def put_status_line(text: str, line: str, *, can_wrap: bool) -> Put:
    """Give settings with our status line; raise `Malformed` when they are no object of JSON.

    1. Where there is none, ours is put in.
    2. One that is there is wrapped, where the shell can do that.
    3. What is no command is left as it is.
    """
    text = text if text.strip() else "{}\n"
    value = read_settings(text).get(MEMBER)
    if value is None:  # 1
        return Put(revise_members(text, {MEMBER: {"type": "command", "command": wrap_command(line, "")}}))
    there = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    command = there.get("command")
    if not isinstance(command, str) or there.get("type") != "command":  # 3
        return Put(text, "there is a status line of another kind, which is left as it is")
    found = unwrap_command(command)
    inner = command if found is None else found
    if inner and not can_wrap:
        return Put(text, "there is a status line already, which is left as it is")
    wrapped = wrap_command(line, inner)  # 2
    return Put(text if wrapped == command else revise_members(text, {MEMBER: {**there, "command": wrapped}}))


def read_settings(text: str) -> dict[str, object]:
    """Read settings; an empty file has none. Raises `Malformed` when they are no object of JSON."""
    return {member.name: member.value for member in read_members(text)} if text.strip() else {}


def undo_settings(text: str, before: str | None) -> str | None:
    """Give settings without anything of ours; None when there is nothing left of a file that we made.

    What was there before is the base: where nobody else changed anything, the answer is that, to the byte.
    """
    wanted = _without_ours(read_settings(text))
    if before is None:
        return adapt(text, wanted) if wanted else None
    try:
        empty = {name: value for name, value in read_settings(before).items() if name in _LISTS and not value}
        return adapt(before, {**empty, **wanted})
    except Malformed:  # it was broken then, and somebody has mended it
        return adapt(text, wanted)


def clean_settings(text: str) -> str:
    """Give settings without anything of ours, where nobody knows what was there before."""
    return adapt(text, _without_ours(read_settings(text)))


def _without_ours(settings: Mapping[str, object]) -> dict[str, object]:
    wanted = dict(settings)
    for name, key in _LISTS.items():
        value = wanted.get(name)
        if isinstance(value, dict):
            rest = {one: each for one, each in cast("dict[str, object]", value).items() if one != key}
            wanted[name] = rest
            if not rest:
                del wanted[name]
    value = wanted.get(MEMBER)
    line = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    inner = unwrap_command(str(line.get("command", "")))
    if inner:
        wanted[MEMBER] = {**line, "command": inner}
    elif inner is not None:
        del wanted[MEMBER]
    return wanted


def adapt(text: str, wanted: Mapping[str, object]) -> str:
    """Change the text of an object until it has these members; what is right stays to the byte."""
    there = read_settings(text)
    for name in [name for name in there if name not in wanted]:
        text = drop_member(text, name)
    changes = {name: value for name, value in wanted.items() if not _is_same(there, name, value)}
    return revise_members(text if text.strip() else "{}\n", changes) if changes else text


def _is_same(there: Mapping[str, object], name: str, value: object) -> bool:
    """Say whether a member has that value; for JSON, 1 and true are two."""
    return name in there and json.dumps(there[name], sort_keys=True) == json.dumps(value, sort_keys=True)


def drop_member(text: str, name: str) -> str:
    """Take a member out of an object, with its comma."""
    members = read_members(text)
    index = next(index for index, member in enumerate(members) if member.name == name)
    member = members[index]
    if index + 1 < len(members):
        return text[: member.start] + text[members[index + 1].start :]
    if index:
        return text[: members[index - 1].value_end] + text[member.value_end :]
    return text[: text.index("{") + 1] + text[member.value_end :].lstrip()
