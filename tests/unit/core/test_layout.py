"""The names of files, and the runtime folder as hooks read it: the same as the settings say."""

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown import layout
from passdown.errors import UsageError
from passdown.settings import Paths, SettingsSource, parse_environment, parse_settings

KEYS = st.sampled_from(
    ["runtime", "paths", '"runtime"', "'paths'", "paths.runtime", '"run\\u0074ime"', "events", "layout", "x"]
)
TEXTS = st.sampled_from(["state", "a/b", "./a//b/", "", "..", "a/.GIT", "/a", "~", "é", "a b", "#", "]", "="])
QUOTES = st.sampled_from(
    ['"{}"', "'{}'", '"""{}"""', "'''{}'''", '"""\n{}\n"""', "[\n'{}',\n]", "{{ runtime = '{}' }}"]
)
VALUES = st.builds(str.format, QUOTES, TEXTS) | st.sampled_from(
    ["1", "true", "1.5", "2026-01-11", "[]", "{}", '"\\u0061"']
)
ENDS = st.sampled_from(["", " ", "# runtime = 'c'", '\t# "x"', "\r"])
LINES = (
    st.builds("{} = {} {}".format, KEYS, VALUES, ENDS)
    | st.builds("[{}]{}".format, KEYS, ENDS)
    | st.builds("[[{}]]".format, KEYS)
    | st.sampled_from(
        ["", "# [paths]", "  ", "[ paths ] # here", "[paths]", "runtime='a/b'", 'runtime = "x"']
    )
)


@given(st.lists(LINES, max_size=6).map("\n".join))
@example("[paths]\nruntime = 'a/b' # c\n[events]\nlayout = \"day\"")
@example('a = """\n[paths]\nruntime = "x"\n"""\n')
@example('"paths" = { "run\\u0074ime" = "x" }')
def test_what_hooks_read_of_the_settings_is_what_the_settings_say(text: str) -> None:
    try:
        tables = tomllib.loads(text)
        settings, _ = parse_settings([SettingsSource("passdown.toml", tables)])
    except (tomllib.TOMLDecodeError, UsageError):
        return
    named = settings.paths.runtime if settings.paths.runtime != Paths().runtime else ""

    assert layout.read_runtime(text) in {named, None}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("[commit]\nsession_end = false\n", ""),
        ("# [paths]\n# runtime = '.conductor'\n\n[events]\nlayout = 'day'\n", ""),
        ('[paths]\nruntime = "state"\n', "state"),
        ("[paths] # where\r\n  runtime='./a//b/'\t# local\r\n", "a/b"),
        ("[other]\nruntime = 'x'\nnumber = 5\n", ""),
        ("[paths]\nruntime = 5\n", None),
        ("[paths]\nruntime = ''\n", None),
        ("[paths]\nruntime = '../x'\n", None),
        ("[paths]\nruntime = '/x'\n", None),
        ("paths.runtime = 'x'\n", None),
        ("runtime = [\n", None),
        ("[[runtime]]\n", None),
        ("runtime\n", None),
    ],
)
def test_a_plain_file_is_read_and_the_rest_is_left_to_the_settings(text: str, found: str | None) -> None:
    assert layout.read_runtime(text) == found


@given(st.text(max_size=12) | st.text("ab./~C:G\\\n gitGIT", max_size=12))
def test_a_plain_path_is_what_the_settings_make_of_it(text: str) -> None:
    plain = layout.plain_path(text)
    if plain is not None:
        source = parse_environment({layout.RUNTIME_VARIABLE: text})
        assert parse_settings([source])[0].paths.runtime == plain
