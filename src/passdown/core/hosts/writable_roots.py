"""The folders to which a host's sandbox may write, in its TOML settings: added as text, and removed (C158).

The result is always parsed again: if it is not what it should be, the text is left alone and the user is told
what to write.
"""

import json
import re
import tomllib
from collections.abc import Collection
from typing import Final, cast

from passdown.core.hosts.permission_rules import SettingsChange
from passdown.core.lazy_regex import pattern

SECTION: Final = "sandbox_workspace_write"
LIST: Final = "writable_roots"

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_HEADER: Final = pattern(rf"^[ \t]*\[[ \t]*{SECTION}[ \t]*\][ \t]*(?:#[^\n]*)?(?:\n|\Z)", re.MULTILINE)
_NEXT: Final = pattern(r"^[ \t]*\[", re.MULTILINE)
_ROOTS: Final = pattern(
    rf"^[ \t]*{LIST}[ \t]*=[ \t]*(\[(?:\s|,|#[^\n]*(?=\n)|{_STRING})*\])[ \t]*(?:#[^\n]*)?(?:\n|\Z)",
    re.MULTILINE,
)
_ITEM: Final = pattern(rf"#[^\n]*|({_STRING})(\s*,)?")


def read_roots(text: str) -> tuple[str, ...] | None:
    """Return the folders in the settings, or None if they are not a list; raise if the text is not TOML."""
    section = tomllib.loads(text).get(SECTION, {})
    found = cast("dict[str, object]", section).get(LIST, []) if isinstance(section, dict) else None
    items = cast("list[object]", found) if isinstance(found, list) else None
    return None if items is None else tuple(str(one) for one in items)


def put_root(text: str, root: str) -> SettingsChange:
    """Return settings that let the sandbox write to a folder, or a note that says what the user should write.

    1. If there is no section, add ours at the end.
    2. If there is one, add the list to it, or the folder to the list.
    """
    there = read_roots(text)
    if there is not None and root in there:
        return SettingsChange(text)
    section = _find_section(text)
    if section is None and SECTION not in tomllib.loads(text):  # 1
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        done = f"{text}{gap}[{SECTION}]\n{_render(root)}"
    else:
        done = _put_into(text, section, root) if section else text  # 2
    if there is not None and _reads(done, (*there, root), text):
        return SettingsChange(done)
    return SettingsChange(
        text, f"add {_quote(root)} to {LIST} under [{SECTION}] yourself; the settings were not changed"
    )


def _reads(text: str, roots: tuple[str, ...], before: str) -> bool:
    """Return whether settings have these folders and are otherwise unchanged."""
    try:
        is_same = _without_roots(text) == _without_roots(before)
    except tomllib.TOMLDecodeError:
        return False
    return is_same and read_roots(text) == roots


def _without_roots(text: str) -> dict[str, object]:
    data = tomllib.loads(text)
    section = data.pop(SECTION, {})
    return {**data, SECTION: {name: one for name, one in section.items() if name != LIST}}


def _find_section(text: str) -> tuple[int, int] | None:
    """Return the offsets where the lines of the section begin and end."""
    header = _HEADER.search(text)
    if header is None:
        return None
    following = _NEXT.search(text, header.end())
    return header.end(), following.start() if following else len(text)


def _put_into(text: str, section: tuple[int, int], root: str) -> str:
    start, end = section
    found = _ROOTS.search(text, start, end)
    if found is None:
        gap = "" if text[:start].endswith("\n") else "\n"
        return text[:start] + gap + _render(root) + text[start:]
    listed = found[1]
    items = [item for item in _ITEM.finditer(listed) if item[1]]
    if not items:
        return text[: found.start(1)] + f"[{_quote(root)}]" + text[found.end(1) :]
    last = items[-1]
    before = listed[: last.start()]
    gap = before[len(before.rstrip()) :] if len(items) > 1 or "\n" in before else " "
    added = f"{gap}{_quote(root)}," if last[2] else f",{gap}{_quote(root)}"
    at = found.start(1) + last.end()
    return text[:at] + added + text[at:]


def _render(root: str) -> str:
    return f"{LIST} = [\n  {_quote(root)},\n]\n"


def _quote(root: str) -> str:
    return json.dumps(root, ensure_ascii=False)


def drop_roots(text: str, roots: Collection[str], before: str) -> str:
    """Return settings without these folders; `before` are the settings before the install.

    A list or section that held only these folders is removed.
    """
    mine = read_roots(before) or ()
    for root in roots:
        section = _find_section(text)
        found = _ROOTS.search(text, *section) if section and root not in mine else None
        if section is None or found is None:
            continue
        listed = _drop_item(found[1], root)
        text = text[: found.start(1)] + listed + text[found.end(1) :]
    section = _find_section(text)
    found = _ROOTS.search(text, *section) if section else None
    if section and found and read_roots(text) == () and LIST not in tomllib.loads(before).get(SECTION, {}):
        text = text[: found.start()] + text[found.end() :]
        text = _drop_section(text) if SECTION not in tomllib.loads(before) else text
    return text


def _drop_item(listed: str, root: str) -> str:
    items = [item for item in _ITEM.finditer(listed) if item[1]]
    for number, item in enumerate(items):
        if tomllib.loads(f"x = {item[1]}")["x"] != root:
            continue
        start, end = item.span()
        head = listed[:start].rstrip()
        if number or item[2]:
            return (head if item[2] else head.removesuffix(",")) + listed[end:]
        return head + listed[end:].lstrip()
    return listed


def _drop_section(text: str) -> str:
    """Remove the section if nothing is left in it, and the empty line before it."""
    header, section = _HEADER.search(text), _find_section(text)
    if header is None or section is None or text[slice(*section)].strip():
        return text
    head = text[: header.start()]
    return (head.removesuffix("\n") if head.endswith("\n\n") else head) + text[section[1] :]
