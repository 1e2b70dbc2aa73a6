"""Permission rules are put into settings and taken out again; all else stays to the byte."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.permission_rules import VERBS, WHOLE_COMMANDS, put_rules
from passdown.core.hosts.status_lines import clean_settings, put_status_line, undo_settings
from passdown.core.json_text import read_items
from passdown.core.problems import Malformed
from passdown.hosts.claude.install import INSTALL

RULES = ("Bash(passdown now:*)", "Bash(passdown goal:*)")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
PERMISSIONS = st.fixed_dictionaries(
    {},
    optional={
        "allow": st.lists(TEXT | st.sampled_from(RULES), max_size=3),
        "deny": st.lists(TEXT, max_size=1),
    },
)
SETTINGS = st.fixed_dictionaries(
    {}, optional={"permissions": PERMISSIONS, "model": TEXT, "env": st.dictionaries(TEXT, TEXT, max_size=2)}
)
LAYOUTS = st.sampled_from([{"indent": 4}, {"indent": None}, {"indent": 1, "separators": (" ,", " :  ")}])


@given(SETTINGS, LAYOUTS)
def test_settings_are_as_they_were_to_the_byte_after_the_rules_are_taken_out(
    settings: dict[str, object], layout: Mapping[str, object]
) -> None:
    before = json.dumps(settings, **layout)  # type: ignore[arg-type]

    done = put_rules(before, RULES)

    assert done.note == ""
    there = settings.get("permissions", {}).get("allow", [])  # type: ignore[attr-defined]
    allowed = json.loads(done.text)["permissions"]["allow"]
    assert allowed == [*there, *(rule for rule in RULES if rule not in there)]
    assert put_rules(done.text, RULES).text == done.text
    assert undo_settings(done.text, before, RULES) == before
    both = put_status_line(done.text, "/x/passdown", can_wrap=True)
    assert undo_settings(json.dumps(json.loads(both.text), indent=2), before, RULES) == before


def test_each_rule_has_a_line_of_its_own() -> None:
    assert put_rules("", RULES).text == (
        '{\n  "permissions": {\n    "allow": [\n'
        '      "Bash(passdown now:*)",\n      "Bash(passdown goal:*)"\n    ]\n  }\n}\n'
    )
    mine = '{"permissions": {"allow": ["Edit"]}}'
    assert put_rules(mine, RULES[:1]).text == (
        '{"permissions": {"allow": ["Edit",\n      "Bash(passdown now:*)"]}}'
    )
    mine = '{\n  "permissions": {\n    "allow": [\n      "Edit"\n    ]\n  }\n}\n'
    assert put_rules(mine, RULES[:1]).text == mine.replace('"Edit"', '"Edit",\n      "Bash(passdown now:*)"')


def test_what_somebody_changed_meanwhile_stays() -> None:
    installed = json.loads(put_rules("{}", RULES).text)
    installed["permissions"]["allow"] += ["Edit"]
    installed["permissions"]["deny"] = ["Write"]

    for undone in (
        undo_settings(json.dumps(installed), "{}", RULES),
        clean_settings(json.dumps(installed), RULES),
    ):
        assert json.loads(undone or "") == {"permissions": {"allow": ["Edit"], "deny": ["Write"]}}
    installed["permissions"]["allow"].remove("Edit")
    assert json.loads(clean_settings(json.dumps(installed), RULES)) == {"permissions": {"deny": ["Write"]}}
    del installed["permissions"]["deny"]
    assert json.loads(clean_settings(json.dumps(installed), RULES)) == {}


@pytest.mark.parametrize("value", ['"all"', '{"allow": "all"}', "[]"])
def test_rules_of_another_form_are_left_as_they_are(value: str) -> None:
    text = f'{{"permissions": {value}}}'

    assert put_rules(text, RULES) == (
        text,
        "the permission rules have an unknown form; they were not changed",
    )
    assert undo_settings(text, text, RULES) == text


@pytest.mark.parametrize("text", ["{}", "[1 2]", "[1,]", "[1"])
def test_what_is_no_list_has_no_items(text: str) -> None:
    with pytest.raises(Malformed):
        read_items(text)


@pytest.mark.requirement("C71")
def test_no_rule_allows_a_command_that_runs_commands_of_others() -> None:
    assert INSTALL.rules == (
        *(f"Bash(passdown {verb}:*)" for verb in VERBS),
        *(f"Bash(passdown {command})" for command in WHOLE_COMMANDS),
    )
    for verb in ("gate", "checkpoint", "handoff", "hook", "install", "uninstall", "tdd"):
        assert verb not in VERBS
    assert len(VERBS) == 19
