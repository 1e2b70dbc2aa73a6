"""`passdown team init`: a project gets a key, which is shown first and written once."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from passdown.errors import UsageError
from passdown.settings import SettingsSource, parse_settings
from tests.support.teams import Team

KEY = re.compile(r"p-[0-9a-f]{32}")


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project that is set up."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    return made


def settings_file(team: Team) -> Path:
    return team.project.folder / "passdown.toml"


def key_of(team: Team) -> str:
    """Give the key that the file of the project has."""
    return str(tomllib.loads(settings_file(team).read_text())["project"]["key"])


@pytest.mark.requirement("C74")
def test_a_key_is_shown_and_added_to_the_end_of_the_file(team: Team) -> None:
    before = settings_file(team).read_text()

    done = team.command("team", "init", "--yes")

    assert done.code == 0
    key = key_of(team)
    assert KEY.fullmatch(key)
    assert f'+key = "{key}"' in done.out.splitlines()
    added = settings_file(team).read_text().removeprefix(before)
    assert added.startswith("# >>> passdown project >>>\n")
    assert added.endswith(f'[project]\nkey = "{key}"\n# <<< passdown project <<<\n')
    assert "commit passdown.toml" in done.err
    assert "passdown install HOST --edits" in done.err
    assert "sessions cannot coordinate yet: this project has a team key" in done.err
    team.monkeypatch.setenv("PASSDOWN_COORDINATION_ENGINE", "sqlite")
    assert team.command("status").err == ""


def test_without_a_yes_nothing_is_written(team: Team) -> None:
    before = settings_file(team).read_text()

    done = team.command("team", "init")
    answer = team.command("team", "init", "--json")

    assert (done.code, answer.code) == (1, 1)
    assert "nothing was written" in done.err
    assert "--yes" in done.err
    assert "[project]" in json.loads(answer.out)["difference"]
    assert settings_file(team).read_text() == before


def test_the_key_is_drawn_once_and_another_only_by_name(team: Team) -> None:
    team.command("team", "init", "--yes")
    first = key_of(team)

    again = team.command("team", "init", "--yes")
    asked = json.loads(team.command("team", "init", "--yes", "--json").out)

    assert again.code == 0
    assert f"the project already has a team key ({first})" in again.err
    assert asked["written"] is False
    assert key_of(team) == first
    answer = json.loads(team.command("team", "init", "--new-key", "--yes", "--json").out)
    assert answer["written"] is True
    assert KEY.fullmatch(key_of(team))
    assert key_of(team) != first
    assert settings_file(team).read_text().count("[project]") == 1


def test_a_section_of_the_user_is_not_changed(team: Team) -> None:
    settings_file(team).write_text("[project]\n# ours\n")

    done = team.command("team", "init", "--yes")

    assert done.code == 2
    assert "has a [project] section of your own" in done.err
    assert 'add key = "p-' in done.err
    assert settings_file(team).read_text() == "[project]\n# ours\n"


def test_a_project_that_is_not_set_up_gets_no_key(team: Team) -> None:
    settings_file(team).unlink()

    done = team.command("team", "init", "--yes")

    assert done.code == 2
    assert "run `passdown init` first" in done.err


def test_the_key_of_a_private_project_does_not_travel_by_git(team: Team) -> None:
    assert team.command("init", "--private", "--yes").code == 0

    done = team.command("team", "init", "--yes")

    assert "set PASSDOWN_PROJECT_KEY" in done.err
    assert "commit passdown.toml" not in done.err


def test_a_key_that_is_none_is_refused_and_the_user_file_does_not_set_one() -> None:
    key = "p-" + "0123456789abcdef" * 2
    tables = {"project": {"key": key}}

    own, _ = parse_settings([SettingsSource("passdown.toml", tables, is_project=True)])
    told, _ = parse_settings([SettingsSource("environment", tables, is_text=True)])
    user, warnings = parse_settings([SettingsSource("settings.toml", tables)])

    assert (own.project.key, told.project.key, user.project.key) == (key, key, "")
    (warning,) = warnings
    assert warning.startswith("settings.toml: project.key is ignored, because it belongs to one project; ")
    assert warning.endswith("set it in passdown.toml or as PASSDOWN_PROJECT_KEY")
    for wrong in ("p-12", "local", 7, f"{key}0", key.upper()):
        source = SettingsSource("passdown.toml", {"project": {"key": wrong}}, is_project=True)
        with pytest.raises(UsageError, match="is not a project key"):
            parse_settings([source])


@pytest.mark.requirement("C74")
def test_a_server_wants_a_key(team: Team) -> None:
    with settings_file(team).open("a") as file:
        file.write('[coordination]\nteam = "platform"\n')
    team.monkeypatch.setenv("PASSDOWN_TEAMS_PLATFORM", "https://passdown.example.com")

    done = team.command("task", "list")

    assert done.code == 2
    assert "this project has no team key" in done.err


@pytest.mark.requirement("C75")
def test_worktrees_with_the_key_and_without_it_never_grant_a_file_twice(team: Team, tmp_path: Path) -> None:
    other = tmp_path / "other"
    team.project.git("worktree", "add", "--quiet", str(other))
    team.join("amber")
    assert team.run("amber", "reserve", "src/").code == 0
    assert team.command("team", "init", "--yes").code == 0
    team.monkeypatch.chdir(other)
    team.join("birch")

    refused = team.run("birch", "reserve", "src/app.py")

    assert "[project]" not in (other / "passdown.toml").read_text()
    assert (refused.code, team.run("birch", "reserve", "docs/").code) == (3, 0)


@pytest.mark.requirement("C74")
def test_project_roots_of_one_repository_have_boards_of_their_own(team: Team) -> None:
    below = team.project.folder / "services" / "api"
    below.mkdir(parents=True)
    (below / "passdown.toml").touch()
    team.add("of the whole")

    team.monkeypatch.chdir(below)

    assert "No tasks." in team.command("task", "list").out
    team.add("of the API")
    team.monkeypatch.chdir(team.project.folder)
    assert "of the API" not in team.command("task", "list").out
    assert "of the whole" in team.command("task", "list").out
