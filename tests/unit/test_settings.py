"""Settings come from several sources, the later wins, and no path leads out of the project."""

import dataclasses
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

from passdown.errors import UsageError
from passdown.settings import Paths, Settings, Source, parse_environment, parse_settings


def paths(**values: object) -> Source:
    """Make a project file with these paths."""
    return Source("passdown.toml", {"paths": values})


def test_without_sources_the_defaults_hold() -> None:
    assert parse_settings([]) == (Settings(), ())


def test_a_later_source_wins_and_the_rest_stays() -> None:
    user = Source("user", {"paths": {"ledgers": "u", "archive": "u", "events": "u"}})
    project = Source("project", {"paths": {"archive": "p", "events": "p"}})
    environment = parse_environment({"PASSDOWN_PATHS_EVENTS": "e", "PATH": "/bin", "PASSDOWN_OFF": "1"})

    settings, warnings = parse_settings([user, project, environment])

    assert settings.paths == dataclasses.replace(Paths(), ledgers="u", archive="p", events="e")
    assert warnings == ()


def test_an_unknown_key_or_section_is_a_warning_that_names_what_may_be_meant() -> None:
    environment = parse_environment({"PASSDOWN_PATHS_VEIW": "x", "PASSDOWN_PATHS_ZZZZ": "x"})
    file = Source("passdown.toml", {"path": {}, "qqqq": 1, "paths": {"ledger": "x", "view": "v.md"}})

    settings, warnings = parse_settings([file, environment])

    assert settings.paths == dataclasses.replace(Paths(), view="v.md")
    assert warnings == (
        "passdown.toml: unknown section [path]; did you mean paths?",
        "passdown.toml: unknown section [qqqq]",
        "passdown.toml: unknown setting paths.ledger; did you mean ledgers?",
        "environment: unknown setting paths.veiw; did you mean view?",
        "environment: unknown setting paths.zzzz",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/etc",
        "/",
        "//x",
        "\\x",
        "a\\b",
        "C:/x",
        "c:x",
        "..",
        "../x",
        "a/../b",
        "a/..",
        "~",
        "~/x",
        "",
        " ",
        ".",
        "./",
        "a\0b",
        "a\nb",
        "a\x1b[m",
        ".git",
        "a/.GIT/b",
        1,
        None,
        ["a"],
        True,
    ],
)
def test_what_is_not_a_path_within_the_project_is_refused(path: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([paths(view=path)])

    assert refused.value.message == "passdown.toml: paths.view is not a path within the project"
    assert refused.value.hint == "write it from the root with / between folders, like docs/log"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("a", "a"), ("./a//b/", "a/b"), ("..a/b..", "..a/b.."), ("a b/ü", "a b/ü"), (".github/x", ".github/x")],
)
def test_a_path_is_kept_in_one_way_of_writing(written: str, meant: str) -> None:
    settings, _ = parse_settings([paths(runtime=written)])

    assert settings.paths.runtime == meant


def test_a_section_that_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([Source("passdown.toml", {"paths": "docs"})])

    assert (refused.value.message, refused.value.hint) == (
        "passdown.toml: paths is not a section",
        "write [paths] above its keys",
    )


@pytest.mark.parametrize("section", [Settings, Paths])
def test_every_field_has_a_doc(section: type) -> None:
    for name, hint in get_type_hints(section, include_extras=True).items():
        assert get_origin(hint) is Annotated, name
        doc = get_args(hint)[1]
        assert isinstance(doc, str), name
        assert doc.endswith("."), name


def test_the_defaults_pass_the_checks_themselves() -> None:
    defaults = dataclasses.asdict(Paths())

    assert parse_settings([Source("all", {"paths": defaults})]) == (Settings(), ())
