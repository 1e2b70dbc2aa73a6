"""Documents whose typed part is one section: what stands before and after it is never touched.

The section runs from its heading to the first of: a line that is exactly `---`, a heading of its level or
above, the end. Code fences and comments do not count (C33, G14).
"""

from typing import Final, NamedTuple

from passdown.core.documents import Content, Found, Shape, framed, front_problems, refuse_unreadable
from passdown.core.frontmatter import Split, line_at, split_front_matter
from passdown.core.keys import PLACE, read_keys, revise_keys, write_keys
from passdown.core.markdown import find_rule, fold_title, split_sections, with_line_ends, write_heading
from passdown.core.outlines import (
    TITLE,
    Body,
    Outline,
    read_body,
    retitled,
    revise_body,
    write_body,
)
from passdown.core.problems import Problem, Unknown, error, warning

_NOTHING: Final = Outline(())
_LEVEL: Final = 2


class Region(NamedTuple):
    """A body cut at its section; the parts joined are the body. `rule` is the `---` line that ends it."""

    before: str
    section: str
    rule: str
    after: str


def cut_region(body: str, title: str) -> Region:
    """Cut a body at the section called `title`; without it, all is `before`."""
    sections = split_sections(body)
    names = [fold_title(one.title) if one.level == _LEVEL else "" for one in sections]
    if fold_title(title) not in names:
        return Region(body, "", "", "")
    first = names.index(fold_title(title))
    lengths = [len(one.head) + len(one.body) for one in sections]
    start = sum(lengths[:first])
    behind = next((i for i in range(first + 1, len(sections)) if sections[i].level <= _LEVEL), len(sections))
    section = body[start : sum(lengths[:behind])]
    at = find_rule(section)
    if at < 0:
        return Region(body[:start], section, "", body[start + len(section) :])
    end = section.find("\n", at) + 1 or len(section)
    return Region(body[:start], section[:at], section[at:end], body[start + end :])


def read_region(text: str, shape: Shape) -> tuple[Found, Region]:
    """Read front matter, title and the section, which is the outline's first place."""
    refuse_unreadable(text, None, 0, shape.name)
    section = shape.outline.places[0].name
    split = _split(text, shape)
    keys = read_keys(split.matter, shape.keys, 2)
    line = line_at(text, len(text) - len(split.body))
    region = cut_region(split.body, section)
    before = read_body(region.before, _NOTHING, line)
    body = read_body(region.section, shape.outline, line + region.before.count("\n"))
    problems = [
        *(front_problems(text, split.opening, split.closing) if shape.keys else ()),
        *keys.problems,
        *before.problems,
        *_region_problems(region, section, body, line),
    ]
    unknown = keys.unknown + before.unknown + body.unknown
    whole = Body(before.title, body.values, unknown, ())
    return Found(keys, whole, unknown, tuple(sorted(problems, key=lambda one: one.line))), region


def _region_problems(region: Region, section: str, body: Body, line: int) -> list[Problem]:
    if not region.section:
        return [error(line, section, "section is missing", f"add `## {section}`", fixable=True)]
    if not region.rule:
        at = line + (region.before + region.section).count("\n")
        rule = warning(at, section, "section does not end with a line `---`", fixable=True)
        return [*body.problems, rule]
    return list(body.problems)


def write_region(shape: Shape, content: Content, after: str) -> str:
    """Write a document in full; `after` follows the rule that ends the section."""
    section = shape.outline.places[0].name
    inside = [one for one in content.unknown if one.place.split("/")[0] == section]
    before = _write_before(content, [one for one in content.unknown if one.place.split("/")[0] != section])
    matter = f"---\n{write_keys(content.keys, content.unknown)}---\n\n" if shape.keys else ""
    body = write_body(shape.outline, content.places, inside).rstrip("\n")
    return f"{matter}{before}{body}\n\n---\n{after}"


def _write_before(content: Content, unknown: list[Unknown]) -> str:
    parts = [one.text for one in unknown if one.place == ""]
    parts += [write_heading(1, content.title)] if content.title else []
    parts += [one.text for one in unknown if one.place == TITLE]
    parts += [one.text for one in unknown if one.place not in {"", TITLE, PLACE}]
    return "".join(f"{part}\n\n" for part in parts)


def revise_region(
    text: str, shape: Shape, content: Content, after: str, fix: frozenset[str] = frozenset()
) -> str:
    """Make a document say `content`, and `after` follow its section, changing only what differs."""
    split = _split(text, shape)
    found, region = read_region(text, shape)
    name = shape.outline.places[0].name
    ruled = after != region.after or name in fix
    forced = fix | {name} if ruled and not region.section else fix
    matter = revise_keys(split.matter, content.keys, found.keys.values, fix)
    before = retitled(region.before, _NOTHING, content.title, found.body.title)
    section = revise_body(region.section, shape.outline, content.places, found.body.values, forced)
    if section and before and not region.section:
        before = before.rstrip() + "\n\n"
    rule = region.rule
    if not rule and ruled:
        section, rule = section.rstrip() + "\n\n", "---\n\n"
    return with_line_ends(framed(split, matter, before + section + rule + after, fix), text)


def _split(text: str, shape: Shape) -> Split:
    """Cut off the front matter; a format without keys has none."""
    return split_front_matter(text) if shape.keys else Split("", "", "", text)
