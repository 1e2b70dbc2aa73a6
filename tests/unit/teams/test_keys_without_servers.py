"""A project with a team's key whose settings name no server grants nothing: other clones may, too."""

import json
import sys
from pathlib import Path

import pytest

from passdown import layout
from tests.support.commands import Done
from tests.support.teams import Team
from tests.unit.trackers.test_beads_commands import BeadsTeam

SQLITE = '[coordination]\nengine = "sqlite"\n'
SERVER = '[coordination]\nurl = "postgresql://db.example.com/passdown"\n'


def user_file(
    monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, name: str = layout.USER_SETTINGS
) -> Path:
    """Write a settings file of the user; give the path of the one that is read."""
    home = folder / "settings"
    (home / layout.OURS).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", str(home))
    (home / layout.OURS / name).write_text(text)
    return home / layout.OURS / layout.USER_SETTINGS


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project that has a key, and a user without settings."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    assert made.command("team", "init", "--yes").code == 0
    made.project.git("add", "--all")
    made.project.git("commit", "--quiet", "--message", "a team")
    return made


@pytest.mark.requirement("C159")
@pytest.mark.parametrize(
    "words",
    [
        ("claim",),
        ("close", "t-1"),
        ("reserve", "src/"),
        ("renew",),
        ("release",),
        ("takeover", "amber"),
        ("task", "add", "x"),
        ("task", "list"),
        ("ready",),
        ("blocked",),
        ("msg", "hello"),
        ("inbox",),
        ("guard", "--ci", "HEAD~1..HEAD"),
    ],
    ids=" ".join,
)
def test_a_key_without_a_server_grants_nothing(team: Team, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = user_file(team.monkeypatch, tmp_path, "")
    team.command("start")

    done = team.command(*words)

    assert (done.code, done.out) == (5, "")
    assert done.err.startswith(f"passdown: this project has a team key, but {file} names no server\n")
    assert 'engine = "sqlite"' in done.err
    assert not (team.project.folder / ".git/passdown/coordination.sqlite").exists()


@pytest.mark.requirement("C159")
def test_a_commit_passes_the_guard_with_a_warning(team: Team) -> None:
    (team.project.folder / "a.py").touch()
    team.project.git("add", "a.py")

    done = team.command("guard")

    assert done.code == 0
    assert done.err.startswith("passdown: the commit was not checked: this project has a team key, but ")


@pytest.mark.requirement("C159")
@pytest.mark.parametrize("place", ["project", "user", "environment"])
def test_a_setting_says_that_one_clone_is_meant(team: Team, tmp_path: Path, place: str) -> None:
    if place == "project":
        with (team.project.folder / layout.SETTINGS).open("a") as file:
            file.write(SQLITE)
    elif place == "user":
        user_file(team.monkeypatch, tmp_path, f"{SERVER}engine = 'sqlite'\n")
    else:
        team.monkeypatch.setenv("PASSDOWN_COORDINATION_ENGINE", "sqlite")
    team.join("amber", "birch")

    assert team.run("amber", "reserve", "src/").code == 0
    assert team.run("birch", "reserve", "src/").code == 3
    assert team.command("doctor").err == "passdown: no problems found\n"


@pytest.mark.requirement("C159")
def test_two_clones_with_a_mistyped_settings_file_hold_nothing_and_the_doctor_names_the_file(
    team: Team, tmp_path: Path
) -> None:
    file = user_file(team.monkeypatch, tmp_path, SERVER, name="setings.toml")
    other = tmp_path / "other"
    team.project.git("clone", "--quiet", ".", str(other))

    def reserve(folder: Path) -> Done:
        team.monkeypatch.chdir(folder)
        assert team.command("start").code == 0
        return team.command("reserve", "src/")

    assert [reserve(folder).code for folder in (team.project.folder, other)] == [5, 5]

    found = json.loads(team.command("doctor", "--json").out)
    (finding,) = found["findings"]
    assert finding["code"] == "server"
    assert finding["what"] == f"this project has a team key, but no server is named: there is no {file}"
    assert (finding["where"], finding["severity"]) == (str(file), "error")
    assert not found["is_healthy"]


@pytest.mark.requirement("C159")
@pytest.mark.parametrize(
    "text",
    [
        SERVER,
        '[coordination]\nteam = "platform"\n[teams]\nplatform = "postgresql://db.example.com/passdown"\n',
    ],
)
def test_a_server_of_the_user_does_not_concern_a_project_without_a_key(
    team: Team, tmp_path: Path, text: str
) -> None:
    user_file(team.monkeypatch, tmp_path, text)
    team.project.git("checkout", "--quiet", "HEAD~1", "--", layout.SETTINGS)
    team.join("amber", "birch")

    assert team.run("amber", "reserve", "src/").code == 0
    assert team.run("birch", "reserve", "src/").code == 3
    assert "SQLite" in team.command("status").out


@pytest.mark.requirement("C159")
def test_the_doctor_says_which_line_a_team_needs(team: Team, tmp_path: Path) -> None:
    file = user_file(team.monkeypatch, tmp_path, "")
    with (team.project.folder / layout.SETTINGS).open("a") as settings:
        settings.write('[coordination]\nteam = "platform"\n')
    team.command("start")

    done = team.command("doctor")

    assert (done.code, team.command("claim").code) == (1, 5)
    assert "server: no server is known for the team platform\n" in done.out
    assert str(file) in "".join(line.strip() for line in done.out.splitlines())


@pytest.mark.requirement("C159")
@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for `bd` is a script for a shell")
def test_beads_does_not_decide_alone_for_a_team_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = BeadsTeam(tmp_path / "project", monkeypatch, capsys).install()
    team.join("amber")
    task = team.add("Sign in")
    monkeypatch.setenv("PASSDOWN_PROJECT_KEY", "p-" + "0" * 32)

    calls: list[tuple[str, ...]] = [("claim",), ("claim", task), ("close", task), ("task", "list")]
    for words in calls:
        done = team.run("amber", *words) if words[0] != "task" else team.command(*words)
        assert (done.code, "no server is named" in done.err) == (5, True), words

    assert team.rows()[task]["status"] == "open"
