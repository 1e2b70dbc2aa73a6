"""Where a project begins, and where its settings are read from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from passdown.errors import NoServerError, StorageError, UsageError
from passdown.settings import Paths, Settings
from passdown.wiring.projects import find_coordination_url, find_root, find_user_file, read_settings
from passdown.wiring.workspaces import open_documents

KEY = "p-" + "0" * 32

MAC_FOLDER = "Library/Application Support"


def folder(path: Path) -> Path:
    """Make a folder."""
    path.mkdir(parents=True, exist_ok=True)
    return path


def file(path: Path, text: str = "") -> Path:
    """Make a file with its folder."""
    folder(path.parent)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.requirement("C49")
def test_the_root_is_the_top_of_the_repository(tmp_path: Path) -> None:
    file(tmp_path / "repo" / ".git" / "HEAD")
    deep = folder(tmp_path / "repo" / "a" / "b")

    assert find_root(deep) == find_root(tmp_path / "repo") == tmp_path / "repo"


@pytest.mark.requirement("C49")
def test_the_nearest_project_file_within_the_repository_is_the_root(tmp_path: Path) -> None:
    file(tmp_path / ".git" / "HEAD")
    file(tmp_path / "passdown.toml")
    file(tmp_path / "a" / "passdown.toml")
    deep = folder(tmp_path / "a" / "b" / "c")

    assert find_root(deep) == tmp_path / "a"
    assert find_root(folder(tmp_path / "d")) == tmp_path


def test_a_project_file_above_the_repository_is_not_looked_at(tmp_path: Path) -> None:
    file(tmp_path / "passdown.toml")
    file(tmp_path / "repo" / ".git" / "HEAD")
    deep = folder(tmp_path / "repo" / "a")

    assert find_root(deep) == tmp_path / "repo"


@pytest.mark.requirement("C49")
def test_without_a_repository_the_folder_itself_is_the_root(tmp_path: Path) -> None:
    file(tmp_path / "passdown.toml")
    below = folder(tmp_path / "a")

    assert find_root(below) == below
    assert find_root(tmp_path) == tmp_path


def test_an_empty_git_folder_above_is_no_repository(tmp_path: Path) -> None:
    """Codex makes one in `/tmp` while a command runs in its sandbox."""
    folder(tmp_path / ".git")
    below = folder(tmp_path / "a")

    assert find_root(below) == below
    assert find_root(tmp_path) == tmp_path


def test_a_folder_called_like_the_project_file_is_none(tmp_path: Path) -> None:
    file(tmp_path / ".git" / "HEAD")
    below = folder(tmp_path / "a" / "passdown.toml")

    assert find_root(below) == tmp_path


def test_a_worktree_and_a_submodule_are_roots_of_their_own(tmp_path: Path) -> None:
    main = folder(tmp_path / "main")
    git = ["git", "-C", str(main), "-c", "protocol.file.allow=always"]
    for command in (
        ["init", "--quiet"],
        ["commit", "--quiet", "--allow-empty", "--message=one"],
        ["worktree", "add", "--quiet", str(main / "tree")],
        ["submodule", "--quiet", "add", str(main), "sub"],
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)

    assert all((main / name / ".git").is_file() for name in ("tree", "sub"))
    assert find_root(folder(main / "tree" / "a")) == main / "tree"
    assert find_root(folder(main / "sub" / "a")) == main / "sub"


@pytest.mark.parametrize(
    ("platform", "variables", "found"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/passdown/settings.toml"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/passdown/settings.toml"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/passdown/settings.toml"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": ""}, "/h/.config/passdown/settings.toml"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/passdown/settings.toml"),
        ("linux", {}, None),
        ("freebsd14", {"HOME": "/h"}, "/h/.config/passdown/settings.toml"),
        ("darwin", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, f"/h/{MAC_FOLDER}/passdown/settings.toml"),
        ("darwin", {}, None),
        ("win32", {"APPDATA": "/r", "HOME": "/h"}, "/r/passdown/settings.toml"),
        ("win32", {"HOME": "/h"}, None),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are written as others write them")
def test_the_user_file_lies_where_the_platform_keeps_settings(
    platform: str, variables: dict[str, str], found: str | None
) -> None:
    assert find_user_file(variables, platform) == (Path(found) if found else None)


def user_file(text: str) -> Path:
    """Write the user file of this test's home."""
    path = find_user_file(os.environ, sys.platform)
    assert path is not None
    return file(path, text)


@pytest.mark.requirement("C69")
def test_settings_come_from_user_file_project_file_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file('[paths]\nledgers = "user"\narchive = "user"\nevents = "user"\n')
    file(tmp_path / "passdown.toml", '[paths]\narchive = "project"\nevents = "project"\n')
    monkeypatch.setenv("PASSDOWN_PATHS_EVENTS", "environment")

    settings, warnings = read_settings(tmp_path, os.environ)

    assert settings == Settings(paths=Paths(ledgers="user", archive="project", events="environment"))
    assert warnings == ()


def test_without_files_the_defaults_hold(tmp_path: Path) -> None:
    assert read_settings(tmp_path, os.environ) == (Settings(), ())


def test_without_a_home_the_project_file_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name)
    file(tmp_path / "passdown.toml", '[paths]\nview = "v.md"\n')

    assert read_settings(tmp_path, os.environ)[0].paths.view == "v.md"


def test_a_warning_names_the_file_it_is_about(tmp_path: Path) -> None:
    path = user_file("[colour]\n")
    file(tmp_path / "passdown.toml", "[colour]\n")

    assert read_settings(tmp_path, os.environ)[1] == (
        f"{path}: unknown section [colour]",
        "passdown.toml: unknown section [colour]",
    )


@pytest.mark.parametrize("content", [b"[paths", b"\xff", b'[paths]\nview = "a"\nview = "b"\n'])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "passdown.toml").write_bytes(content)

    with pytest.raises(UsageError, match=r"^passdown\.toml is not valid TOML: ") as refused:
        read_settings(tmp_path, os.environ)

    assert refused.value.hint


def test_a_user_file_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    path = find_user_file(os.environ, sys.platform)
    assert path is not None
    folder(path)

    settings, warnings = read_settings(tmp_path, os.environ)

    assert settings == Settings()
    assert [warning.partition(": ")[0] for warning in warnings] == [f"could not read {path}"]
    assert warnings[0].endswith("; its settings are ignored")


def test_a_project_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder(tmp_path / "passdown.toml")

    with pytest.raises(StorageError, match=r"^could not read passdown\.toml: ") as refused:
        read_settings(tmp_path, os.environ)

    assert refused.value.hint


@pytest.mark.requirement("C76")
def test_what_only_the_user_may_set_is_ignored_in_a_project_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = user_file('[teams]\nplatform = "postgresql://db.example.com/passdown"\n')
    file(
        tmp_path / "passdown.toml",
        '[coordination]\nteam = "platform"\nurl = "https://ada:secret@evil.example.com"\n'
        f'[teams]\nplatform = "https://evil.example.com"\n[project]\nkey = "{KEY}"\n',
    )

    settings, warnings = read_settings(tmp_path, os.environ)

    rest = f"is ignored, because a repository may not set it; set it in {path} or as"
    assert warnings == (
        f"passdown.toml: coordination.url {rest} PASSDOWN_COORDINATION_URL",
        f"passdown.toml: teams.platform {rest} PASSDOWN_TEAMS_PLATFORM",
    )
    assert find_coordination_url(settings, os.environ) == "postgresql://db.example.com/passdown"
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "unix:/run/passdown.sock")
    assert (
        find_coordination_url(read_settings(tmp_path, os.environ)[0], os.environ) == "unix:/run/passdown.sock"
    )
    monkeypatch.setenv("PASSDOWN_COORDINATION_ENGINE", "off")
    assert find_coordination_url(read_settings(tmp_path, os.environ)[0], os.environ) is None


@pytest.mark.requirement("C76")
def test_without_a_url_there_is_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_coordination_url(read_settings(tmp_path, os.environ)[0], os.environ) == ""

    monkeypatch.setenv("PASSDOWN_COORDINATION_TEAM", "platform")
    monkeypatch.setenv("PASSDOWN_TEAMS_PLATFORM", "")
    assert find_coordination_url(read_settings(tmp_path, os.environ)[0], os.environ) == ""


def test_a_team_without_a_server_is_refused(tmp_path: Path) -> None:
    file(tmp_path / "passdown.toml", '[coordination]\nteam = "platform"\n')

    with pytest.raises(NoServerError, match=r"^no server is known for the team platform$") as refused:
        find_coordination_url(read_settings(tmp_path, os.environ)[0], os.environ)

    assert 'platform = "postgresql://host/database"' in refused.value.hint


def test_without_a_home_the_warning_still_tells_where_to_set_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name)
    file(tmp_path / "passdown.toml", '[coordination]\nurl = "https://evil.example.com"\n')

    (warning,) = read_settings(tmp_path, os.environ)[1]

    assert warning.endswith("set it in your own settings file or as PASSDOWN_COORDINATION_URL")


def test_a_folder_that_we_may_not_look_into_holds_no_project(tmp_path: Path) -> None:
    file(tmp_path / ".git" / "HEAD")
    closed = folder(tmp_path / "closed" / "deep")
    file(closed / "passdown.toml")
    closed.parent.chmod(0)
    seen = os.access(closed, os.X_OK)

    root = find_root(closed)

    closed.parent.chmod(0o700)
    assert root == (closed if seen else tmp_path)


def test_documents_are_those_of_the_folder(tmp_path: Path) -> None:
    file(tmp_path / "a" / "b.md", "one")

    assert open_documents(tmp_path).read("a/b.md") == b"one"
