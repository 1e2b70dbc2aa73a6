"""Example strings of two public sets of rules, and how many of them we miss."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Final

from passdown.core.sessions.secrets import redact
from passdown.records import record
from tests.secrets.shapes import make_text

DATA: Final = Path(__file__).parent / "data"
SETS: Final = ("gitleaks", "detect-secrets")
SEED: Final = 12
_SHAPE: Final = re.compile("⟦(.*?)⟧", re.DOTALL)
_NAMED: Final = re.compile("⟪(.*?)⟫(.*)", re.DOTALL)

PLACES: Final = (
    '{i}Token="{s}"',
    '{i}Token = "{s}"',
    "{i}Token={s}",
    "{i}Token = {s}",
    '{\n    "{i}_token": "{s}"\n}',
    '{"config.ini": "{I}_TOKEN={s}\\nBACKUP_ENABLED=true"}',
    "<{i}Token>\n    {s}\n</{i}Token>",
    "{i}_token: {s}",
    "{i}_token: '{s}'",
    '{i}_token: "{s}"',
    'string {i}Token = "{s}";',
    'var {i}Token string = "{s}"',
    '{i}Token := "{s}"',
    "{i}Token := `{s}`",
    '${i}Token .= "{s}"',
    'System.setProperty("{I}_TOKEN", "{s}")',
    '  "{i}Token" => "{s}"',
    '{i}_TOKEN ?= "{s}"',
    "export {I}_TOKEN={s}",
    "the {i} token is in the log: {i}_token={s}, remove it.",
    "https://example.com/?{i}_token={s}&page=2",
    "<{i}Token>{s}</{i}Token>",
    "deploy --{i}-token={s} --verbose",
)
"""How a named value is written: in settings, code, commands, addresses and prose."""


@record
class Example:
    """A text that a rule set calls a secret, or does not."""

    rule_set: str
    rule: str
    is_secret: bool
    text: str
    value: Annotated[str, "The secret in it; empty if only the rule set knows."] = ""

    @property
    def is_found(self) -> bool:
        """Whether we redact it: all of the value, where that is known."""
        clean = redact(self.text)
        return bool(clean.found) and not (self.value and self.value in clean.text)


@cache
def read_examples(rule_set: str) -> tuple[Example, ...]:
    """Read the examples of a rule set; what is random in them is the same each time."""
    return tuple(_read(rule_set))


def _read(rule_set: str) -> Iterator[Example]:
    _, *lines = (DATA / f"{rule_set}.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        rule, sign, backwards = json.loads(line)
        text = _fill(backwards[::-1], Random(f"{SEED} {number}"))
        named = _NAMED.fullmatch(text)
        if named is None:
            yield Example(rule_set=rule_set, rule=rule, is_secret=sign == "+", text=text)
            continue
        name, value = named.groups()
        for place in PLACES:
            shown = place.replace("{i}", name).replace("{I}", name.upper()).replace("{s}", value)
            yield Example(rule_set=rule_set, rule=rule, is_secret=sign == "+", text=shown, value=value)


def _fill(text: str, random: Random) -> str:
    """Replace the shapes in a text by texts of that shape."""
    return _SHAPE.sub(lambda shape: make_text(shape[1], random), text)
