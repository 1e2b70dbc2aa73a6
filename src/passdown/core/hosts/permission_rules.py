"""The permission rules in a host's settings: added as text, and removed again (C71).

Our rules are recognised by their text. A rule that was there before the install is the user's and stays.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from passdown.core.json_text import append_member, list_at, object_at, read_items, read_members

MEMBER: Final = "permissions"
LIST: Final = "allow"

VERBS: Final = (
    *("goal", "now", "done", "next", "decide", "rule-out", "ask", "answer", "note"),
    *("brief", "status", "log show", "search", "inbox", "msg", "claim", "close", "reserve", "release"),
)
"""The commands that record, read and coordinate; none of them runs a command that someone else wrote."""
WHOLE_COMMANDS: Final = ("log", "log --json", "log --sessions")
"""Commands that are allowed as they stand: `log retract`, which takes back the event of another, is not."""

_STEP: Final = "  "


class SettingsChange(NamedTuple):
    """Settings after our change, or a note that says why they were not changed."""

    text: str
    note: str = ""


def put_rules(text: str, rules: Sequence[str]) -> SettingsChange:
    """Return settings with our rules added after the existing ones.

    Raises `Malformed` if the settings are not a JSON object. Rules in an unknown form are left alone.
    """
    text = text if text.strip() else "{}\n"
    values = [one.value for one in read_members(text) if one.name == MEMBER]
    value: object = values[0] if values else {}
    there = object_at(value).get(LIST, [])
    if not isinstance(value, dict) or not isinstance(there, list):
        return SettingsChange(text, "the permission rules have an unknown form; they were not changed")
    missing = [rule for rule in rules if rule not in there]
    return SettingsChange(_add(text, (MEMBER, LIST), missing, _STEP) if missing else text)


def _add(text: str, path: Sequence[str], rules: Sequence[str], indent: str) -> str:
    """Add rules to the list under nested names, each on its own line."""
    name, *rest = path
    member = next((one for one in read_members(text) if one.name == name), None)
    if member is None:
        return append_member(text, name, _render(rest, rules, indent))
    inner = text[member.value_start : member.value_end]
    changed = _add(inner, rest, rules, indent + _STEP) if rest else _extend(inner, rules, indent)
    return text[: member.value_start] + changed + text[member.value_end :]


def _render(path: Sequence[str], rules: Sequence[str], indent: str) -> str:
    value: object = list(rules)
    for name in reversed(path):
        value = {name: value}
    return json.dumps(value, indent=len(_STEP), ensure_ascii=False).replace("\n", f"\n{indent}")


def _extend(text: str, rules: Sequence[str], indent: str) -> str:
    items = read_items(text)
    if not items:
        return _render((), rules, indent)
    start, end = items[-1]
    before = text[:start].rstrip()
    gap = text[len(before) : start]
    gap = gap if "\n" in gap else f"\n{indent}{_STEP}"
    return text[:end] + "".join(f",{gap}{json.dumps(rule)}" for rule in rules) + text[end:]


def drop_rules(
    settings: Mapping[str, object], rules: Collection[str], before: Mapping[str, object]
) -> dict[str, object]:
    """Return settings without our rules; `before` are the settings before the install.

    A list or an object that only our rules needed is removed.
    """
    wanted = dict(settings)
    value, old = object_at(wanted, MEMBER), object_at(before, MEMBER)
    known, mine = list_at(value, LIST), list_at(old, LIST)
    rest = [rule for rule in known if rule not in rules or rule in mine]
    if rest == known:
        return wanted
    if rest or LIST in old:
        wanted[MEMBER] = {**value, LIST: rest}
    elif len(value) > 1 or MEMBER in before:
        wanted[MEMBER] = {name: one for name, one in value.items() if name != LIST}
    else:
        del wanted[MEMBER]
    return wanted
