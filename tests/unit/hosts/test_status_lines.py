"""The status line is put into settings and taken out again; all else stays to the byte."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.status_lines import (
    clean_settings,
    drop_member,
    put_status_line,
    read_settings,
    undo_settings,
    unwrap_command,
    wrap_command,
)
from passdown.core.problems import Malformed

LINE = '"/a b/passdown"'
OURS = f"{LINE} status-line"
COMMAND = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: unwrap_command(text) is None
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=5,
)
LAYOUTS = st.sampled_from([{"indent": 4}, {"indent": None}, {"indent": 1, "separators": (" ,", " :  ")}])
SETTINGS = st.dictionaries(st.sampled_from(["model", "env", "hooks", "x"]), VALUES)


def put(text: str, *, can_wrap: bool = True) -> str:
    done = put_status_line(text, LINE, can_wrap=can_wrap)
    assert done.note == ""
    return done.text


@given(COMMAND)
def test_a_wrapped_command_comes_out_as_it_was(command: str) -> None:
    assert unwrap_command(wrap_command(LINE, command)) == command


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        (OURS, ""),
        ("/usr/bin/passdown status-line", ""),
        ("C:/Tools/passdown.exe status-line", ""),
        ("python -m passdown status-line", ""),
        ("~/.claude/line.sh", None),
        ("passdown status", None),
        ("", None),
    ],
)
def test_a_command_of_ours_is_known(command: str, inner: str | None) -> None:
    assert unwrap_command(command) == inner


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_without_one_ours_is_put_in(text: str) -> None:
    assert json.loads(put(text)) == {"statusLine": {"type": "command", "command": OURS}}


def test_one_that_is_there_is_wrapped_and_keeps_its_other_members() -> None:
    text = '{"a":1 ,  "statusLine": {"type": "command", "command": "mine", "padding": 1}}\n'

    done = put(text)

    line = json.loads(done)["statusLine"]
    assert line == {"type": "command", "command": wrap_command(LINE, "mine"), "padding": 1}
    assert done.startswith('{"a":1 ,  "statusLine": ')
    assert put(done) == done


def test_a_line_of_ours_from_another_place_is_taken_over() -> None:
    text = put_status_line(
        '{"statusLine": {"type": "command", "command": "mine"}}', "/old/passdown", can_wrap=True
    )

    assert json.loads(put(text.text))["statusLine"]["command"] == wrap_command(LINE, "mine")


@pytest.mark.parametrize("value", ['"text"', '{"type": "other", "command": "x"}', '{"type": "command"}'])
def test_what_is_no_command_is_left_as_it_is(value: str) -> None:
    text = f'{{"statusLine": {value}}}'

    assert put_status_line(text, LINE, can_wrap=True) == (
        text,
        "the settings have another kind of status line; it was not changed",
    )


def test_where_nothing_can_be_wrapped_a_line_is_left_as_it_is() -> None:
    text = '{"statusLine": {"type": "command", "command": "mine"}}'

    assert put_status_line(text, LINE, can_wrap=False).text == text
    assert put_status_line(text, LINE, can_wrap=False).note.startswith(
        "the settings already have a status line"
    )
    assert put_status_line(put(""), LINE, can_wrap=False).text == put("")


@pytest.mark.parametrize("text", ["[]", '{"a": 1,}', '{\n// mine\n"a": 1}'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        put_status_line(text, LINE, can_wrap=True)


def as_the_host_writes(text: str, **more: object) -> str:
    """Write settings as the host does: sorted, indented, with the plugin in them."""
    data = {**read_settings(text), **more}
    return json.dumps(dict(sorted(data.items())), indent=2) + "\n"


def with_plugin(text: str) -> str:
    return as_the_host_writes(
        text, enabledPlugins={"passdown@passdown": True}, extraKnownMarketplaces={"passdown": {}}
    )


@given(SETTINGS, LAYOUTS, st.none() | COMMAND)
def test_undone_settings_are_as_they_were_to_the_byte(
    settings: dict[str, object], layout: Mapping[str, object], command: str | None
) -> None:
    if command is not None:
        settings["statusLine"] = {"type": "command", "command": command}
    before = json.dumps(settings, **layout)  # type: ignore[arg-type]

    installed = put(with_plugin(before))

    assert undo_settings(installed, before) == before
    assert undo_settings(as_the_host_writes(installed, enabledPlugins={}), before) == before


@given(SETTINGS, SETTINGS, LAYOUTS)
def test_what_somebody_changed_meanwhile_stays(
    settings: dict[str, object], later: dict[str, object], layout: Mapping[str, object]
) -> None:
    before = json.dumps(settings, **layout)  # type: ignore[arg-type]
    installed = read_settings(put(with_plugin(before)))
    kept = {name: value for name, value in installed.items() if name not in settings}

    undone = undo_settings(json.dumps({**kept, **later}), before)

    assert undone is not None
    assert json.loads(undone) == later


def test_a_file_that_we_made_is_gone_unless_somebody_used_it() -> None:
    assert undo_settings(put(with_plugin("")), None) is None
    undone = undo_settings(as_the_host_writes(put(with_plugin("")), model="opus"), None)
    assert undone is not None
    assert json.loads(undone) == {"model": "opus"}


def test_an_empty_file_is_empty_again() -> None:
    assert undo_settings(put(with_plugin("")), "") == ""
    undone = undo_settings(as_the_host_writes(put(with_plugin("")), model="opus"), "")
    assert undone is not None
    assert json.loads(undone) == {"model": "opus"}


def test_an_empty_list_of_plugins_that_was_there_stays() -> None:
    before = '{"enabledPlugins":{},"a":1}'

    assert undo_settings(put(with_plugin(before)), before) == before


def test_other_plugins_stay() -> None:
    installed = read_settings(with_plugin("{}"))
    plugins = {"enabledPlugins": {"passdown@passdown": True, "x@y": True}}

    assert (
        undo_settings(json.dumps({**installed, **plugins}), "{}") == '{\n  "enabledPlugins": {"x@y": true}\n}'
    )


def test_settings_that_were_broken_before_are_not_brought_back() -> None:
    assert undo_settings('{"a": 1, "enabledPlugins": {}}', "{,") == '{"a": 1}'


def test_without_a_receipt_ours_is_taken_out() -> None:
    text = '{"a" : 1, "statusLine": {"type": "command", "command": "mine"}, "enabledPlugins": 3}'

    assert clean_settings(put(text)) == text
    assert clean_settings(text) == text


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ('{ "a": 1 }', "a", "{}"),
        ('{ "a": 1, "b": 2 }', "a", '{ "b": 2 }'),
        ('{ "a": 1, "b": 2 }', "b", '{ "a": 1 }'),
        ('{"a": 1,\n  "b": 2,\n  "c": 3}', "b", '{"a": 1,\n  "c": 3}'),
    ],
)
def test_a_member_is_dropped_with_its_comma(text: str, name: str, rest: str) -> None:
    assert drop_member(text, name) == rest
