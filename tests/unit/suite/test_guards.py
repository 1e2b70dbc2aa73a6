"""The guards of conftest.py hold, and proofs have the size they were asked for."""

import getpass
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests import proof
from tests.conftest import NetworkError


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.invalid", 80)])
@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_connecting_elsewhere_is_refused(method: str, address: tuple[str, int]) -> None:
    with socket.socket() as plug, pytest.raises(NetworkError, match=address[0]):
        getattr(plug, method)(address)


def test_connecting_elsewhere_over_version_six_is_refused() -> None:
    with socket.socket(socket.AF_INET6) as plug, pytest.raises(NetworkError):
        plug.connect(("2001:db8::1", 80, 0, 0))


def test_looking_up_a_name_elsewhere_is_refused() -> None:
    with pytest.raises(NetworkError):
        socket.create_connection(("example.invalid", 80))


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as plug:
        plug.connect(server.getsockname())

        assert plug.getpeername() == server.getsockname()


@pytest.mark.skipif(sys.platform == "win32", reason="no such sockets on Windows")
def test_a_socket_in_the_file_system_can_be_reached(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as plug:
        server.bind(str(home / "s"))
        server.listen()
        plug.connect(str(home / "s"))

        assert plug.getpeername() == str(home / "s")


def test_home_is_an_empty_folder_of_this_test(home: Path) -> None:
    assert Path.home() == home
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["~", "~root", "~somebody"])
@pytest.mark.skipif(sys.platform == "win32", reason="accounts are a list only on POSIX")
def test_no_spelling_of_home_leads_to_the_real_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("HOME")

    assert Path(name).expanduser() == home


@pytest.mark.skipif(sys.platform == "win32", reason="accounts are a list only on POSIX")
def test_account_is_nobody_real(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    assert getpass.getuser() == "tester"


@pytest.mark.parametrize("name", ["CONFIG", "CACHE", "DATA", "STATE"])
def test_base_folders_lie_in_the_home(home: Path, name: str) -> None:
    assert Path(os.environ[f"XDG_{name}_HOME"]).is_relative_to(home)


def test_our_variables_do_not_reach_a_test() -> None:
    assert [name for name in os.environ if name.startswith("PASSDOWN_")] == []


def test_git_has_one_identity_and_no_settings() -> None:
    shown = subprocess.run(["git", "var", "GIT_AUTHOR_IDENT"], capture_output=True, text=True, check=True)
    listed = subprocess.run(
        ["git", "config", "--global", "--list"], capture_output=True, text=True, check=True
    )

    assert shown.stdout.startswith("Ada Author <ada@example.invalid> ")
    assert listed.stdout == ""


def test_proof_has_the_size_of_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    for level in proof.Level:
        monkeypatch.setattr(proof, "LEVEL", level)
        sizes.append(proof.proof_count(fast=1, ci=2, long=3))

    assert sizes == [1, 2, 3]


@pytest.mark.parametrize(("value", "level"), [("", "fast"), ("ci", "ci"), ("long", "long")])
def test_level_comes_from_the_environment(value: str, level: str) -> None:
    assert proof.parse_level({"PASSDOWN_PROOF": value}) == level


def test_level_is_fast_when_nothing_is_said() -> None:
    assert proof.parse_level({}) == "fast"


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="PASSDOWN_PROOF is 'huge'"):
        proof.parse_level({"PASSDOWN_PROOF": "huge"})


def test_hypothesis_has_no_deadline_and_repeats_itself_unless_long() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert settings.default.derandomize is (proof.LEVEL is not proof.Level.LONG)
