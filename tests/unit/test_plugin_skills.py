"""The skills that come with the package follow the Agent Skills standard, and their commands exist."""

import re
from importlib.resources import files
from typing import cast

import click
import pytest
import yaml

from passdown.core.frontmatter import split_front_matter
from passdown.faces.cli import tree

SKILL = files("passdown") / "plugin" / "skills" / "synthesize-ledgers" / "SKILL.md"


@pytest.mark.requirement("R106", "R122", "R123")
def test_the_skill_names_its_triggers_and_the_steps_in_order() -> None:
    text = SKILL.read_text(encoding="utf-8")
    matter = cast("dict[str, str]", yaml.safe_load(split_front_matter(text).matter))

    assert matter["name"] == "synthesize-ledgers"
    assert set(matter) == {"name", "description"}
    assert len(matter["description"]) <= 1024
    for trigger in ("/synthesize-ledgers", "synthesize ledgers", "merge ledgers"):
        assert trigger in matter["description"]
    steps = re.findall(r"^\d\. \*\*(\w+)\.\*\*", text, re.MULTILINE)
    assert steps == ["Discover", "Preview", "Confirm", "Run", "Archive", "Commit"]
    assert text.count("\n") <= 40


def test_every_command_of_the_skill_exists_with_its_options() -> None:
    text = SKILL.read_text(encoding="utf-8")
    context = click.Context(tree.cli)

    for called in re.findall(r"`passdown ([^`]+)`", text):
        words = called.split()
        command = tree.cli.get_command(context, words[0])
        assert command is not None, called
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.get_command(context, words[1])
            assert command is not None, called
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, called
