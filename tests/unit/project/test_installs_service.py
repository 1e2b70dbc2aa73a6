"""The plugin is installed into a host and taken out again; what was there is there again to the byte."""

import json
import os
from pathlib import Path

import pytest

from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.records import replace
from passdown.services.project.installs import (
    FileEdit,
    InstallPlan,
    InstallTarget,
    install,
    plan_install,
    plan_uninstall,
    uninstall,
)
from passdown.wiring import installs
from tests.hosts.fake_hosts import FakeHosts

SETTINGS = b'{"model":  "opus",\r\n"statusLine": {"type": "command", "command": "mine"}}'
DATA = ".local/share/passdown"
EMPTY = InstallPlan()


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHosts:
    """Give a home with hosts."""
    return FakeHosts(tmp_path, monkeypatch)


def open_home(name: str, instructions: Path | None = None) -> InstallTarget:
    return installs.open_install_target(name, installs.OwnProgram("passdown", "/", os.environ), instructions)


def put(hosts: FakeHosts, path: str, data: bytes) -> Path:
    file = hosts.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def do_install(name: str, instructions: Path | None = None) -> InstallPlan:
    target = open_home(name, instructions)
    plan = plan_install(target)
    install(target, plan)
    return plan


def do_uninstall(name: str) -> tuple[str, ...]:
    target = open_home(name)
    plan = plan_uninstall(target)
    return (*plan.notes, *uninstall(target, plan))


def is_done(name: str) -> bool:
    return plan_install(open_home(name)).is_empty


@pytest.mark.parametrize(
    ("name", "file", "before"),
    [
        ("claude", ".claude/settings.json", SETTINGS),
        ("claude", ".claude/settings.json", b""),
        ("claude", "", b""),
        ("codex", ".codex/config.toml", b"# mine\nmodel = 'x'  # best"),
        ("codex", ".codex/config.toml", b"model = 'x'\n"),
        ("codex", "", b""),
        ("copilot", ".copilot/settings.json", b'{"banner":"never"}'),
        ("copilot", "", b""),
    ],
)
def test_everything_is_as_it_was_after_the_uninstall(
    hosts: FakeHosts, name: str, file: str, before: bytes
) -> None:
    if file:
        put(hosts, file, before)
    there = hosts.files()

    do_install(name)

    assert is_done(name)
    after = hosts.files()
    assert do_install(name).is_empty
    assert hosts.files() == after
    assert do_uninstall(name) == ()
    assert hosts.files() == there
    assert not (hosts.home / DATA).exists()
    assert plan_uninstall(open_home(name)).is_empty


@pytest.mark.requirement("C71")
def test_the_hosts_own_commands_are_used(hosts: FakeHosts) -> None:
    folder = f"~/{DATA}/plugins"
    for name in ("claude", "codex", "copilot"):
        do_install(name)
        do_uninstall(name)

    assert hosts.asked() == [
        f"claude plugin marketplace add {folder}/claude",
        "claude plugin install passdown@passdown",
        "claude plugin uninstall passdown@passdown",
        "claude plugin marketplace remove passdown",
        f"codex plugin marketplace add {folder}/codex",
        "codex plugin add passdown@passdown",
        "codex plugin remove passdown@passdown",
        "codex plugin marketplace remove passdown",
        f"copilot plugin marketplace add {folder}/copilot",
        "copilot plugin install passdown@passdown",
        "copilot plugin uninstall passdown@passdown",
        "copilot plugin marketplace remove passdown",
    ]


def test_planning_touches_nothing(hosts: FakeHosts) -> None:
    before = hosts.files()

    plan = plan_install(open_home("claude"))

    assert (len(plan.commands), len(plan.edits)) == (2, 1)
    assert hosts.files() == before
    assert hosts.asked() == []


@pytest.mark.requirement("C71")
def test_an_upgrade_leaves_the_line_to_the_byte_and_brings_what_is_new(hosts: FakeHosts) -> None:
    do_install("claude")
    do_install("codex")
    hooks = (hosts.home / DATA / "plugins/codex/passdown/hooks/hooks.json").read_bytes()
    hosts.asked()
    for name in ("claude", "codex"):
        put(hosts, f"{DATA}/plugins/{name}/passdown/skills/gone/SKILL.md", b"of an older version")
        target = open_home(name)
        newer = replace(target, plugin={**target.plugin, "skills/new/SKILL.md": b"newer"})

        install(newer, plan_install(newer))

        folder = hosts.home / DATA / "plugins" / name / "passdown"
        assert (folder / "skills/new/SKILL.md").read_bytes() == b"newer"
        assert not (folder / "skills/gone/SKILL.md").exists()
    assert (hosts.home / DATA / "plugins/codex/passdown/hooks/hooks.json").read_bytes() == hooks
    # Only Codex works with a copy.
    assert hosts.asked() == ["codex plugin add passdown@passdown"]


def test_a_plugin_that_was_turned_off_is_turned_on(hosts: FakeHosts) -> None:
    do_install("copilot")
    path = hosts.home / ".copilot/settings.json"
    path.write_text(path.read_text().replace("true", "false"))
    hosts.asked()

    do_install("copilot")

    assert hosts.asked() == ["copilot plugin install passdown@passdown"]


def test_a_plugin_from_elsewhere_is_not_doubled(hosts: FakeHosts) -> None:
    noted = {"extraKnownMarketplaces": {"passdown": {"source": {"repo": "some/where"}}}}
    put(hosts, ".claude/settings.json", json.dumps(noted).encode())

    with pytest.raises(UsageError, match="already has the plugin, from some/where"):
        plan_install(open_home("claude"))

    assert do_uninstall("claude") == ("the plugin that Claude Code has from some/where was not changed",)
    assert hosts.asked() == []
    assert json.loads(hosts.files()[".claude/settings.json"]) == noted


def test_without_the_host_there_is_no_install(hosts: FakeHosts) -> None:
    (hosts.programs / "codex").unlink()

    with pytest.raises(UsageError, match="codex is not on your PATH"):
        plan_install(open_home("codex"))


def test_without_the_host_what_is_ours_is_taken_out_all_the_same(hosts: FakeHosts) -> None:
    put(hosts, ".claude/settings.json", SETTINGS)
    before = hosts.files()
    do_install("claude")
    (hosts.programs / "claude").unlink()

    assert do_uninstall("claude") == ("claude is not on your PATH, so it was not called",)
    assert hosts.files() == before


@pytest.mark.parametrize(
    ("name", "file", "data"),
    [
        ("claude", ".claude/settings.json", b'{\n// mine\n"a": 1}'),
        ("claude", ".claude/settings.json", b"\xff"),
        ("codex", ".codex/config.toml", b"= 1"),
    ],
)
def test_settings_that_cannot_be_read_are_named_and_left(
    hosts: FakeHosts, name: str, file: str, data: bytes
) -> None:
    put(hosts, file, data)
    before = hosts.files()

    for plan in (plan_install, plan_uninstall):
        with pytest.raises(FormatError) as found:
            plan(open_home(name))
        assert file in found.value.message
        assert found.value.hint == "fix it and run the command again"
    assert hosts.files() == before


def test_a_host_that_refuses_is_quoted_and_the_rest_can_be_undone(hosts: FakeHosts) -> None:
    put(hosts, ".claude/settings.json", SETTINGS)
    hosts.refuse()
    before = hosts.files()

    with pytest.raises(PassdownError, match="Claude Code refused: no such luck") as found:
        do_install("claude")

    assert found.value.hint == "run `passdown uninstall claude` to undo what was written"
    assert do_uninstall("claude") == ()
    assert hosts.files() == before


def test_a_host_that_refuses_to_take_it_out_does_not_stop_us(hosts: FakeHosts) -> None:
    put(hosts, ".claude/settings.json", SETTINGS)
    do_install("claude")
    hosts.refuse()

    assert do_uninstall("claude") == ("Claude Code refused: no such luck",) * 2
    assert hosts.files()[".claude/settings.json"] == SETTINGS


def test_a_program_that_says_nothing_is_quoted_as_such(hosts: FakeHosts) -> None:
    (hosts.programs / "claude").write_text("#!/bin/sh\nexit 3\n")

    with pytest.raises(PassdownError, match="Claude Code refused: no output"):
        do_install("claude")


def test_a_status_line_of_another_kind_is_left_and_told(hosts: FakeHosts) -> None:
    data = b'{"statusLine": {"type": "other"}}'
    put(hosts, ".claude/settings.json", data)

    plan = do_install("claude")

    assert plan.notes == ("the settings have another kind of status line; it was not changed",)
    written = json.loads((hosts.home / ".claude/settings.json").read_bytes())
    assert written["statusLine"] == {"type": "other"}
    assert "Bash(passdown now:*)" in written["permissions"]["allow"]
    do_uninstall("claude")
    assert (hosts.home / ".claude/settings.json").read_bytes() == data


def test_a_lost_receipt_costs_the_layout_only(hosts: FakeHosts) -> None:
    for name, file, data in (
        ("claude", ".claude/settings.json", SETTINGS),
        ("codex", ".codex/config.toml", b"model = 'x'\n"),
    ):
        put(hosts, file, data)
        do_install(name)
        put(hosts, f"{DATA}/installs/{name}.json", b"damaged")

        do_uninstall(name)

    assert json.loads((hosts.home / ".claude/settings.json").read_bytes()) == json.loads(SETTINGS)
    assert (hosts.home / ".codex/config.toml").read_bytes() == b"model = 'x'\n"
    assert not (hosts.home / DATA).exists()


def test_a_receipt_of_an_install_that_somebody_undid_by_hand_is_not_believed(hosts: FakeHosts) -> None:
    put(hosts, ".claude/settings.json", SETTINGS)
    do_install("claude")
    put(hosts, ".claude/settings.json", b'{"model": "other"}')

    do_install("claude")
    do_uninstall("claude")

    assert (hosts.home / ".claude/settings.json").read_bytes() == b'{"model": "other"}'
    do_install("codex")
    put(hosts, ".codex/config.toml", b"model = 'other'")
    do_install("codex")
    do_uninstall("codex")
    assert (hosts.home / ".codex/config.toml").read_bytes() == b"model = 'other'"


def test_a_receipt_is_kept_while_the_status_line_alone_is_ours(hosts: FakeHosts) -> None:
    put(hosts, ".claude/settings.json", SETTINGS)
    do_install("claude")
    path = hosts.home / ".claude/settings.json"
    settings = json.loads(path.read_bytes())
    path.write_text(json.dumps({name: settings[name] for name in ("model", "statusLine")}))

    do_install("claude")
    do_uninstall("claude")

    assert path.read_bytes() == SETTINGS


def test_settings_behind_a_link_are_edited_there(hosts: FakeHosts, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_bytes(SETTINGS)
    (hosts.home / ".claude").mkdir()
    link = hosts.home / ".claude/settings.json"
    link.symlink_to(real)

    do_install("claude")

    assert link.is_symlink()
    assert b"status-line" in real.read_bytes()
    do_uninstall("claude")
    assert (link.is_symlink(), real.read_bytes()) == (True, SETTINGS)


def test_a_file_that_changes_in_between_is_not_written(hosts: FakeHosts) -> None:
    file = open_home("claude").open_file(str(put(hosts, "notes.md", b"newer")))
    plan = InstallPlan(edits=(FileEdit(file, b"older", b"ours"),))

    with pytest.raises(StorageError, match="has changed since; it was not written"):
        install(open_home("claude"), plan)

    assert file.read() == b"newer"


def test_a_status_line_that_is_there_by_then_is_not_put_in_twice(hosts: FakeHosts) -> None:
    target = open_home("claude")
    plan = plan_install(target)
    install(target, plan)

    before = hosts.files()

    install(target, InstallPlan(edits=plan.edits))

    assert hosts.files() == before


def test_nothing_to_do_does_nothing(hosts: FakeHosts) -> None:
    before = hosts.files()

    install(open_home("claude"), EMPTY)

    assert hosts.files() == before


@pytest.mark.usefixtures("hosts")
def test_instructions_are_a_block_that_goes_again_and_links_stay(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_bytes(b"# Mine\r\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")

    do_install("claude", project)

    text = (project / "AGENTS.md").read_text()
    assert text.startswith("# Mine\n<!-- >>> passdown >>> -->\n")
    assert (project / "CLAUDE.md").is_symlink()
    assert plan_install(open_home("claude", project)).is_empty
    (project / "AGENTS.md").write_bytes((project / "AGENTS.md").read_bytes() + b"later\r\n")
    do_uninstall("claude")
    assert (project / "AGENTS.md").read_bytes() == b"# Mine\r\nlater\r\n"


def test_a_file_of_instructions_that_we_made_goes_unless_somebody_used_it(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    places = [tmp_path / name for name in ("one", "two", "gone", "by-hand")]
    for place in places:
        place.mkdir()
        do_install("codex", place)
    one, two, gone, by_hand = (place / "AGENTS.md" for place in places)
    two.write_text(f"mine\n{two.read_text()}")
    gone.unlink()
    by_hand.write_text("mine\n")

    do_uninstall("codex")

    assert not one.exists()
    assert (two.read_text(), by_hand.read_text()) == ("mine\n", "mine\n")
    assert not gone.exists()
    assert hosts.files() == {}
