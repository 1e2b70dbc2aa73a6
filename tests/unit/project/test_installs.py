"""What an install consists of: a line that shells read, the plugin with it, what hosts noted, a receipt."""

import json
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.installs import (
    INSTRUCTIONS,
    PLUGIN_ID,
    InstallReceipt,
    PluginRegistration,
    command_line,
    fill,
    hook_line,
    is_temporary,
    parse_receipt,
    render_receipt,
)
from passdown.core.project.git_rules import put_block
from passdown.engines.user_folders import read_plugin
from passdown.hosts import HOSTS

INSTALLS = {host.name: host.load_install() for host in HOSTS.load() if host.load_install}
NAMES = list(INSTALLS)

# Python's reader of shell words keeps a backslash before these two, which a real shell takes away.
WORD = st.text(st.characters(exclude_characters="\0$`", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(WORD, min_size=1, max_size=3))
def test_a_shell_finds_the_words_again(words: list[str]) -> None:
    assert shlex.split(command_line(words, "linux")) == words


@pytest.mark.parametrize(
    "path", ["/a b/passdown", "/it's/$HOME/`x`/passdown", '/a"b\\c/passdown', "/ä/passdown"]
)
def test_a_real_shell_does_too(path: str) -> None:
    line = command_line(["printf", "%s", path], "linux")

    assert subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True).stdout.decode() == path


def test_a_plain_path_has_no_quotes_so_that_every_shell_reads_it_the_same() -> None:
    assert command_line(["/usr/bin/passdown"], "linux") == "/usr/bin/passdown"
    assert command_line([r"C:\Tools\passdown.exe"], "win32") == "C:/Tools/passdown.exe"
    assert command_line([r"C:\My Tools\passdown.exe"], "win32") == '"C:/My Tools/passdown.exe"'


@pytest.mark.parametrize(
    ("path", "fleeting"),
    [
        ("/home/ada/.local/bin/passdown", False),
        ("/home/ada/.cache/uv/archive-v0/x1/bin/passdown", True),
        ("/home/ada/.local/pipx/.cache/1a2b/bin/passdown", True),
    ],
)
def test_a_program_that_was_put_there_for_once_is_known(path: str, *, fleeting: bool) -> None:
    assert is_temporary([path]) is fleeting


@pytest.mark.parametrize("name", NAMES)
def test_every_hook_of_the_plugin_calls_the_same_line_and_names_the_host(name: str) -> None:
    files = INSTALLS[name].render(read_plugin(), hook_line('"/a b/passdown"', name))

    hooks = json.loads(files["passdown/hooks/hooks.json"])["hooks"]
    lines = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
    assert lines == {f'"/a b/passdown" hook --host {name}'}
    assert json.loads(files[".claude-plugin/marketplace.json"])["plugins"][0]["source"] == "./passdown"


@pytest.mark.parametrize("name", ["claude", "copilot"])
def test_a_host_that_reads_the_plugin_in_place_is_given_all_of_it(name: str) -> None:
    files = INSTALLS[name].render(read_plugin(), "passdown hook")

    assert {path for path in files if path.startswith("passdown/")} == {
        f"passdown/{one}" for one in read_plugin()
    }


@pytest.mark.requirement("C71")
def test_a_host_that_trusts_a_hash_is_given_nothing_that_every_release_changes() -> None:
    plugin = read_plugin()
    about = plugin[".claude-plugin/plugin.json"]
    newer = {**plugin, "README.md": b"newer", ".claude-plugin/plugin.json": about.replace(b"0.1.0", b"9.9.9")}

    rendered = INSTALLS["codex"].render(plugin, "passdown hook")

    assert newer != plugin
    assert INSTALLS["codex"].render(newer, "passdown hook") == rendered
    assert "version" not in json.loads(rendered["passdown/.claude-plugin/plugin.json"])
    skills = {f"passdown/{path}" for path in plugin if path.startswith("skills/")}
    assert set(rendered) == {
        ".claude-plugin/marketplace.json",
        "passdown/.claude-plugin/plugin.json",
        "passdown/hooks/hooks.json",
        *skills,
    }


def test_the_folder_is_put_into_a_command() -> None:
    assert fill(INSTALLS["codex"].add[0], "/x y") == ("plugin", "marketplace", "add", "/x y")


@pytest.mark.parametrize(
    ("name", "settings", "found"),
    [
        ("claude", {}, PluginRegistration()),
        ("claude", [], PluginRegistration()),
        ("claude", {"enabledPlugins": {PLUGIN_ID: True}}, PluginRegistration("", True, True)),
        ("copilot", {"enabledPlugins": {PLUGIN_ID: False}}, PluginRegistration("", True, False)),
        (
            "claude",
            {"extraKnownMarketplaces": {"passdown": {"source": {"source": "directory", "path": "/x"}}}},
            PluginRegistration("/x"),
        ),
        (
            "claude",
            {"extraKnownMarketplaces": {"passdown": {"source": {"repo": "a/b"}}}},
            PluginRegistration("a/b"),
        ),
        ("codex", {"marketplaces": {"passdown": {"source": "/x"}}}, PluginRegistration("/x")),
        ("codex", {"plugins": {PLUGIN_ID: {"enabled": True}}}, PluginRegistration("", True, True)),
        ("codex", {"plugins": {PLUGIN_ID: {}}, "marketplaces": 1}, PluginRegistration("", is_noted=True)),
    ],
)
def test_what_a_host_noted_is_read(name: str, settings: object, found: PluginRegistration) -> None:
    assert INSTALLS[name].read_registration(settings) == found


@given(st.none() | st.binary(), st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_receipt_is_read_as_it_was_written(before: bytes | None, paths: list[str]) -> None:
    receipt = InstallReceipt(
        host="claude", settings="/x", before=before, instructions=tuple(paths), made=tuple(paths[:1])
    )

    assert parse_receipt(render_receipt(receipt)) == receipt


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[]", b'{"host": "claude"}', b'{"host": 1, "settings": "x"}']
)
def test_what_is_no_receipt_is_none(data: bytes) -> None:
    assert parse_receipt(data) is None


def test_what_is_no_list_in_a_receipt_is_empty() -> None:
    read = parse_receipt(b'{"host": "claude", "settings": "x", "instructions": 1, "made": [1, "a"]}')

    assert read is not None
    assert (read.before, read.instructions, read.made) == (None, (), ("a",))


@pytest.mark.requirement("C71")
def test_the_block_of_instructions_has_at_most_twelve_lines() -> None:
    block = put_block(b"", INSTRUCTIONS, in_markdown=True).decode()

    assert block.count("\n") <= 12
    assert block.startswith("<!-- >>> passdown >>> -->\n")
    assert block.endswith("\n<!-- <<< passdown <<< -->\n")
