"""Settings come from several sources, the later wins, and no path leads out of the project."""

from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

from passdown.core.formats.view_location import ViewPolicy
from passdown.errors import UsageError
from passdown.records import as_dict, replace
from passdown.settings import (
    AnyKey,
    Bounds,
    CommitSettings,
    CoordinationSettings,
    EngineChoice,
    EventLayout,
    EventSettings,
    Paths,
    PlainName,
    ProjectKey,
    ProjectPath,
    ServerUrl,
    Settings,
    SettingsSource,
    TeamSettings,
    UserOnly,
    ViewSettings,
    parse_environment,
    parse_settings,
)


def paths(**values: object) -> SettingsSource:
    """Make a project file with these paths."""
    return SettingsSource("passdown.toml", {"paths": values})


def test_without_sources_the_defaults_hold() -> None:
    assert parse_settings([]) == (Settings(), ())


def test_a_later_source_wins_and_the_rest_stays() -> None:
    user = SettingsSource("user", {"paths": {"ledgers": "u", "archive": "u", "events": "u"}})
    project = SettingsSource("project", {"paths": {"archive": "p", "events": "p"}})
    environment = parse_environment({"PASSDOWN_PATHS_EVENTS": "e", "PATH": "/bin", "PASSDOWN_OFF": "1"})

    settings, warnings = parse_settings([user, project, environment])

    assert settings.paths == replace(Paths(), ledgers="u", archive="p", events="e")
    assert warnings == ()


def test_an_unknown_key_or_section_is_a_warning_that_names_what_may_be_meant() -> None:
    environment = parse_environment({"PASSDOWN_PATHS_VEIW": "x", "PASSDOWN_PATHS_ZZZZ": "x"})
    file = SettingsSource("passdown.toml", {"path": {}, "qqqq": 1, "paths": {"ledger": "x", "view": "v.md"}})

    settings, warnings = parse_settings([file, environment])

    assert settings.paths == replace(Paths(), view="v.md")
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
    assert refused.value.hint == "write it from the project root with / between folders, like docs/log"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("a", "a"), ("./a//b/", "a/b"), ("..a/b..", "..a/b.."), ("a b/ü", "a b/ü"), (".github/x", ".github/x")],
)
def test_a_path_is_kept_in_one_way_of_writing(written: str, meant: str) -> None:
    settings, _ = parse_settings([paths(runtime=written)])

    assert settings.paths.runtime == meant


def test_a_section_that_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([SettingsSource("passdown.toml", {"paths": "docs"})])

    assert (refused.value.message, refused.value.hint) == (
        "passdown.toml: paths is not a section",
        "write [paths] above its keys",
    )


@pytest.mark.parametrize("section", [Settings, *(type(one) for one in as_dict(Settings()).values())])
def test_every_field_has_a_doc(section: type) -> None:
    for name, hint in get_type_hints(section, include_extras=True).items():
        assert get_origin(hint) is Annotated, name
        doc = get_args(hint)[1]
        assert isinstance(doc, str), name
        assert doc.endswith("."), name


def test_every_number_has_bounds_and_every_path_is_checked_as_one() -> None:
    for default in as_dict(Settings()).values():
        for name, hint in get_type_hints(type(default), include_extras=True).items():
            kind, _, *marks = get_args(hint)
            checks = [type(one) for one in marks if not isinstance(one, UserOnly)]
            allowed: dict[object, list[list[type]]] = {
                int: [[Bounds]],
                str: [[], [ProjectPath], [ServerUrl], [PlainName], [ProjectKey]],
                tuple[tuple[str, str], ...]: [[AnyKey]],
            }
            assert checks in allowed.get(kind, [[]]), name


def default_tables() -> dict[str, dict[str, object]]:
    """Give the default of every setting that has a key of its own."""
    tables = {name: as_dict(section) for name, section in as_dict(Settings()).items()}
    del tables["teams"]
    return tables


def test_the_defaults_pass_the_checks_themselves() -> None:
    assert parse_settings([SettingsSource("all", default_tables())]) == (Settings(), ())


def test_the_defaults_pass_the_checks_of_the_environment() -> None:
    tables = default_tables()
    variables = {
        f"PASSDOWN_{section}_{key}".upper(): str(value)
        for section, table in tables.items()
        for key, value in table.items()
    }

    assert parse_settings([parse_environment(variables)]) == (Settings(), ())


@pytest.mark.requirement("C42")
def test_the_defaults_are_the_trigger_table_of_the_seed() -> None:
    commit = Settings().commit

    assert (commit.session_end, commit.handoff, commit.checkpoint) == (True, True, True)
    assert (commit.start, commit.event, commit.checkpoint_minutes) == (False, False, 30)


def test_every_section_is_read_from_a_file() -> None:
    file = SettingsSource(
        "passdown.toml",
        {
            "events": {"layout": "day", "retention_days": 0, "archive": False},
            "view": {"commit": "always", "branch": " trunk "},
            "commit": {"event": True, "checkpoint_minutes": 10_080},
        },
    )

    settings, warnings = parse_settings([file])

    assert settings == Settings(
        events=EventSettings(layout=EventLayout.DAY, retention_days=0, archive=False),
        view=ViewSettings(commit=ViewPolicy.ALWAYS, branch="trunk"),
        commit=CommitSettings(event=True, checkpoint_minutes=10_080),
    )
    assert warnings == ()


def test_a_later_source_wins_in_every_section() -> None:
    file = SettingsSource(
        "passdown.toml", {"commit": {"start": True, "event": True}, "events": {"layout": "day"}}
    )
    environment = parse_environment(
        {"PASSDOWN_COMMIT_START": "false", "PASSDOWN_EVENTS_RETENTION_DAYS": "30"}
    )

    settings, _ = parse_settings([file, environment])

    assert settings.commit == CommitSettings(event=True)
    assert settings.events == EventSettings(layout=EventLayout.DAY, retention_days=30)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("true", True), ("True", True), ("1", True), ("false", False), ("FALSE", False), ("0", False)],
)
def test_the_environment_says_true_and_false_in_words_or_digits(text: str, *, meant: bool) -> None:
    settings, _ = parse_settings([parse_environment({"PASSDOWN_COMMIT_EVENT": text})])

    assert settings.commit.event is meant


@pytest.mark.parametrize("text", ["", "yes", "on", "2", " true", "truefalse"])
def test_no_other_word_of_the_environment_is_a_truth(text: str) -> None:
    with pytest.raises(UsageError, match=r"^environment: commit\.event is neither true nor false$"):
        parse_settings([parse_environment({"PASSDOWN_COMMIT_EVENT": text})])


@pytest.mark.parametrize("value", ["true", "1", 1, 0, None, [], {}, 1.0])
def test_a_file_says_true_and_false_without_quotes(value: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([SettingsSource("passdown.toml", {"events": {"archive": value}})])

    assert refused.value.message == "passdown.toml: events.archive is neither true nor false"
    assert refused.value.hint == "write true or false, without quotes"


@pytest.mark.parametrize("value", [-1, 3651, True, "7", 7.0, None, [7]])
def test_a_number_out_of_its_bounds_is_refused(value: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([SettingsSource("passdown.toml", {"events": {"retention_days": value}})])

    assert (
        refused.value.message == "passdown.toml: events.retention_days is not a number in the allowed range"
    )
    assert refused.value.hint == "write a whole number from 0 to 3650, without quotes"


@pytest.mark.parametrize("text", ["", "-1", "3651", "7.0", "seven", "\u0667", " 7", "9" * 5000])
def test_a_text_of_the_environment_that_is_no_number_in_bounds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^environment: events\.retention_days is not a number"):
        parse_settings([parse_environment({"PASSDOWN_EVENTS_RETENTION_DAYS": text})])


@pytest.mark.parametrize("value", ["sometimes", "", "ALWAYS", True, None, ["always"]])
def test_what_is_no_choice_is_refused_and_the_choices_are_named(value: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([SettingsSource("passdown.toml", {"view": {"commit": value}})])

    assert refused.value.message == "passdown.toml: view.commit is not a valid choice"
    assert refused.value.hint == 'write "integration", "always" or "never"'


@pytest.mark.parametrize("value", ["a\nb", "a\0b", 1, None, True, ["main"]])
def test_a_text_has_one_line(value: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([SettingsSource("passdown.toml", {"view": {"branch": value}})])

    assert refused.value.message == "passdown.toml: view.branch is not a single line of text"
    assert refused.value.hint == "write it in quotes, on one line"


def test_an_unknown_key_of_any_section_is_a_warning() -> None:
    file = SettingsSource("passdown.toml", {"commit": {"sesion_end": 1}, "view": {"comit": 1}, "event": {}})

    assert parse_settings([file]) == (
        Settings(),
        (
            "passdown.toml: unknown setting commit.sesion_end; did you mean session_end?",
            "passdown.toml: unknown setting view.comit; did you mean commit?",
            "passdown.toml: unknown section [event]; did you mean events?",
        ),
    )


URL = "postgresql://db.example.com/passdown"


def project(**tables: dict[str, object]) -> SettingsSource:
    """Make a project's file."""
    return SettingsSource("passdown.toml", tables, is_project=True)


@pytest.mark.requirement("C76")
def test_a_project_does_not_choose_the_server() -> None:
    user = SettingsSource("user", {"coordination": {"url": URL, "team": "mine"}})
    cloned = project(
        coordination={"url": "https://evil.example.com", "team": "platform", "engine": "off"},
        teams={"platform": "https://evil.example.com", "Other": 1},
    )

    settings, warnings = parse_settings([user, cloned], "/home/ada/settings.toml")

    assert settings.coordination == CoordinationSettings(engine=EngineChoice.OFF, team="platform", url=URL)
    assert settings.teams == TeamSettings()
    rest = "is ignored, because a repository may not set it; set it in /home/ada/settings.toml or as"
    assert warnings == (
        f"passdown.toml: coordination.url {rest} PASSDOWN_COORDINATION_URL",
        f"passdown.toml: teams.platform {rest} PASSDOWN_TEAMS_PLATFORM",
        f"passdown.toml: teams.Other {rest} PASSDOWN_TEAMS_OTHER",
    )


@pytest.mark.requirement("C76")
def test_the_environment_overrides_the_servers_of_the_user() -> None:
    user = SettingsSource(
        "user", {"coordination": {"url": URL}, "teams": {"a": URL, "b": "unix:/run/b c.sock", "c": URL}}
    )
    environment = parse_environment(
        {"PASSDOWN_COORDINATION_URL": "", "PASSDOWN_TEAMS_A": "https://a.example.com", "PASSDOWN_TEAMS_D": ""}
    )

    settings, warnings = parse_settings([user, environment])

    assert settings.coordination.url == ""
    assert dict(settings.teams.urls) == {
        "a": "https://a.example.com",
        "b": "unix:/run/b c.sock",
        "c": URL,
        "d": "",
    }
    assert warnings == ()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///passdown?host=/run/postgresql",
        "postgresql://ada@db.example.com:5432,other:5433/passdown?passfile=/home/ada/pass&user=a@b:c",
        "postgresql://?service=passdown",
        "https://passdown.example.com:8443/team",
        "unix:/run/passdown.sock",
    ],
)
def test_a_server_has_a_url(url: str) -> None:
    settings, _ = parse_settings([SettingsSource("user", {"coordination": {"url": f" {url} "}})])

    assert settings.coordination.url == url


@pytest.mark.parametrize("value", ["x", "http://a", "postgresql://", "https:///a", "unix:", "mysql://a/b"])
def test_what_is_no_url_of_a_server_is_refused(value: str) -> None:
    for source in ({"coordination": {"url": value}}, {"teams": {"url": value}}):
        with pytest.raises(UsageError, match=r"^user: \w+\.url is not a server URL$"):
            parse_settings([SettingsSource("user", source)])


@pytest.mark.parametrize("value", [1, None, True, ["a"], "a\nb", {}])
def test_a_url_is_one_line_of_text(value: object) -> None:
    with pytest.raises(UsageError, match=r"^user: teams\.a is not a single line of text$"):
        parse_settings([SettingsSource("user", {"teams": {"a": value}})])


@pytest.mark.requirement("C76")
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@db/passdown",
        "postgresql://:hunter2@db/passdown",
        "postgresql://ada:hunt/er2@db/passdown",
        "postgresql://db/passdown?user=ada&PassWord=hunter2",
        "postgresql://db/passdown?sslpassword=hunter2",
        "https://hunter2@passdown.example.com",
        "https://ada:hunter2@passdown.example.com",
        "https://passdown.example.com/?access_token=hunter2",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([parse_environment({"PASSDOWN_COORDINATION_URL": url})])

    assert refused.value.message == "environment: coordination.url contains a password or token"
    assert "PGPASSFILE" in refused.value.hint
    assert "hunter" not in f"{refused.value.message}{refused.value.hint}"


@pytest.mark.parametrize("value", ["a b", "a.b", "x = 1 #", "ü", "a" * 65, " a", 1, None])
def test_a_team_has_a_name_that_can_be_a_key(value: object) -> None:
    with pytest.raises(UsageError) as refused:
        parse_settings([project(coordination={"team": value})])

    assert refused.value.message == "passdown.toml: coordination.team is not a name"
    assert refused.value.hint == "use only letters, digits, - and _, in quotes"
