"""The plugin that comes with the package: valid skills, commands that exist, hooks that do something."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import cast

import click
import pytest
import yaml

import passdown
from passdown.core.documents.frontmatter import split_front_matter
from passdown.core.hosts.installs import EDIT_EVENT, find_called
from passdown.faces.cli import tree
from passdown.hosts.hooks import EVENTS

PLUGIN = files("passdown") / "plugin"
SKILLS = ("coordinate", "finish", "handoff", "implement", "ledger", "loop", "resume", "synthesize-ledgers")
SKILL = PLUGIN / "skills" / "synthesize-ledgers" / "SKILL.md"
TEXTS = (
    *(f"skills/{name}/SKILL.md" for name in SKILLS),
    "commands/create_handoff.md",
    "commands/resume_handoff.md",
    "README.md",
)


def read(path: str) -> str:
    return PLUGIN.joinpath(path).read_text(encoding="utf-8")


def matter_of(path: str) -> dict[str, str]:
    return cast("dict[str, str]", yaml.safe_load(split_front_matter(read(path)).matter))


@pytest.mark.requirement("R122", "R123")
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


@pytest.mark.requirement("R56", "R78", "R79")
def test_the_skill_says_what_a_handoff_is_worth_and_what_not() -> None:
    text = " ".join(read("skills/handoff/SKILL.md").split())

    for said in (
        "before a clear",
        "70 %",
        "will probably reach 85 %",
        "several days",
        "refactoring",
        "less than half an hour",
        "simple fix",
        "one file",
        "Prefer clearing and continuing from the ledger over compacting",
    ):
        assert said in text


@pytest.mark.requirement("R21")
@pytest.mark.parametrize("name", ["handoff", "ledger", "resume"])
def test_the_skills_let_no_failure_stop_the_work(name: str) -> None:
    text = " ".join(read(f"skills/{name}/SKILL.md").split())

    assert "If a `passdown` command fails, tell the user in one line and go on with the work" in text


@pytest.mark.requirement("R76")
def test_the_skill_says_when_the_ledger_is_brought_up_to_date() -> None:
    text = " ".join(read("skills/ledger/SKILL.md").split())

    for said in (
        "at the start (read the brief, then set goal and now)",
        "after each major decision",
        "before a clear",
        "at natural breakpoints",
        "when more than 70 % of the context is used",
    ):
        assert said in text


@pytest.mark.parametrize("path", TEXTS)
def test_every_command_exists_with_its_options(path: str) -> None:
    text = read(path)
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


def test_there_are_these_skills_and_no_others() -> None:
    assert sorted(one.name for one in PLUGIN.joinpath("skills").iterdir()) == list(SKILLS)


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_follows_the_standard_and_is_short(name: str) -> None:
    matter = matter_of(f"skills/{name}/SKILL.md")

    assert set(matter) == {"name", "description"}
    assert matter["name"] == name
    assert 100 < len(matter["description"]) <= 1024
    assert "Use " in matter["description"]
    assert read(f"skills/{name}/SKILL.md").count("\n") <= 40


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("name", ["ledger", "resume"])
def test_after_a_clear_one_to_three_questions_are_asked(name: str) -> None:
    text = " ".join(read(f"skills/{name}/SKILL.md").split())

    assert re.search("one to three short questions about what is open or unconfirmed", text, re.IGNORECASE)


@pytest.mark.parametrize("name", ["coordinate", "handoff", "ledger", "loop", "resume"])
def test_the_skills_teach_the_verbs(name: str) -> None:
    wanted = {
        "coordinate": "inbox msg claim task reserve status close release takeover",
        "ledger": "goal now done next decide rule-out ask answer retract status brief search",
        "loop": "loop answer tell",
        "handoff": "goal now done next decide rule-out ask brief handoff",
        "resume": "handoff brief search goal answer now",
    }

    assert set(wanted[name].split()) <= set(
        re.findall(r"`passdown ([a-z-]+)", read(f"skills/{name}/SKILL.md"))
    )


@pytest.mark.requirement("R142", "R151", "R152", "R155")
def test_the_skill_about_loops_teaches_turns_caps_and_whose_the_ledger_is() -> None:
    text = " ".join(read("skills/loop/SKILL.md").split())

    for said in (
        "append-only log of turns",
        "two or three times in manual mode, at most three times in auto mode",
        "Only a person approves a proposal",
        "earlier turns are the person's",
        "stop before `reconcile`",
    ):
        assert said in text


@pytest.mark.parametrize(("name", "skill"), [("create_handoff", "handoff"), ("resume_handoff", "resume")])
def test_the_commands_of_old_lead_to_the_skills(name: str, skill: str) -> None:
    text = read(f"commands/{name}.md")

    assert f"`passdown:{skill}`" in text
    assert "$ARGUMENTS" in text
    assert f"/{name}" in matter_of(f"skills/{skill}/SKILL.md")["description"]


@pytest.mark.requirement("G17", "C72")
def test_only_moments_at_which_something_is_done_have_a_hook_and_all_call_one_line() -> None:
    hooks = json.loads(read("hooks/hooks.json"))["hooks"]

    events = set(EVENTS) - {EDIT_EVENT}  # which only `install --edits` registers
    assert set(hooks) == events
    handlers = [handler for groups in hooks.values() for group in groups for handler in group["hooks"]]
    assert len(handlers) == len(events)
    called = {(one["type"], find_called(one["command"])) for one in handlers}
    assert called == {("command", "passdown hook")}
    assert len({one["command"] for one in handlers}) == 1
    assert all(1 <= one["timeout"] <= 30 for one in handlers)
    # One host gives the end of a session three seconds at most.
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3


def test_the_plugin_has_the_version_and_licence_of_the_package() -> None:
    about = json.loads(read(".claude-plugin/plugin.json"))

    assert (about["name"], about["version"]) == ("passdown", passdown.__version__)
    top = Path(__file__).parents[3]
    assert read("LICENSE") == (top / "LICENSE").read_text(encoding="utf-8")


def test_the_repository_is_a_marketplace_with_the_plugin() -> None:
    top = Path(__file__).parents[3]
    about = json.loads((top / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))

    assert about["name"] == "passdown"
    assert [one["source"] for one in about["plugins"]] == ["./src/passdown/plugin"]
    assert PLUGIN.joinpath(".claude-plugin/plugin.json").is_file()
