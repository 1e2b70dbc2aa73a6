"""How conflicts in events are settled, which git reports if several clones archived the same events.

An event never changes, so there is nothing to merge in a file: it is there or not. Git reports a conflict
because it guesses renames: it takes a removed event for one of the events that were added.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from passdown.core.merge.rollups import is_rollup

_BASE: Final = 1


class Sides(NamedTuple):
    """The files with conflicts, with the ids of their contents by stage, and the files of both sides.

    Stage 1 is what both sides began with, 2 is ours and 3 theirs.
    """

    unmerged: Mapping[str, Sequence[tuple[int, str]]]
    ours: Mapping[str, str]
    theirs: Mapping[str, str]
    merged: Mapping[str, str]


class Settlement(NamedTuple):
    """What each file gets, None if it is removed; and the files whose conflict is left to the user."""

    contents: Mapping[str, str | None]
    left: tuple[str, ...]


def settle_conflicts(sides: Sides, held: Collection[str]) -> Settlement:
    """Decide about every file with a conflict; `held` are the contents that rollups of the merged tree have.

    1. A file that both sides have with the same content stays.
    2. A file that one side has is removed if a rollup holds it: one side has archived it. Otherwise it stays.
    3. A file that git put where neither side has it goes back to where one of them has it.
    4. If a content of the conflict would be in no file and no rollup then, the file is left to the user, and
       so is a file that the sides have with different contents. What git mixed from several files is no
       content.
    """
    found: dict[str, str | None] = {}
    left: list[str] = []
    for path in sorted(sides.unmerged):
        choice = _choose(path, sides, held)
        if isinstance(choice, _Unclear):
            left.append(path)
        else:
            found[path] = choice
    homes = {name: path for side in (sides.theirs, sides.ours) for path, name in side.items()}
    kept = set(sides.merged.values()) | {name for name in found.values() if name}
    for path in sorted(found):
        names = [name for stage, name in sides.unmerged[path] if stage == _BASE or name in homes]
        lost = [name for name in names if name not in kept and name not in held]
        if any(name not in homes for name in lost):  # 4
            del found[path]
            left.append(path)
            continue
        found |= {homes[name]: name for name in lost}  # 3
        kept.update(lost)
    return Settlement(found, tuple(sorted(left)))


class _Unclear:
    """Nobody but the user can tell what a file should hold."""


def _choose(path: str, sides: Sides, held: Collection[str]) -> "str | _Unclear | None":
    mine, other = sides.ours.get(path), sides.theirs.get(path)
    if mine is not None and other is not None:
        return mine if mine == other else _Unclear()
    one = mine or other
    if one is None or (one in held and not is_rollup(path.rpartition("/")[2])):
        return None
    return one
