"""Above 1,000 session records, new ones go to folders by month, and everything finds both."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.core.formats.archives import render_archive
from passdown.core.formats.examples import ARCHIVE
from passdown.records import replace
from passdown.services.sessions import archives
from passdown.wiring.workspaces import open_documents
from tests.support.commands import Caller, say_all
from tests.support.gits import Project
from tests.support.projects import put

FOLDER = "conductor/sessions/archive"
MONTH = f"{FOLDER}/2026-01"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with 999 records and a session that knows something."""
    call = Caller(monkeypatch, capsys, project.folder)
    text = render_archive(replace(ARCHIVE, date=datetime(2025, 1, 1, tzinfo=UTC)))
    for number in range(999):
        name = f"2025-{number // 100 + 1:02}-01-00-{number % 60:02}-clear-a{number}.md"
        put(project.folder, f"{FOLDER}/{name}", text)
    say_all(call)
    return call


def find_records(folder: Path, place: str) -> list[str]:
    return sorted(path.name for path in (folder / place).glob("2026-01-11*.md"))


@pytest.mark.requirement("C130")
def test_the_1001st_record_goes_to_the_folder_of_its_month(command: Caller, project: Project) -> None:
    assert command("handoff", "create").code == 0
    flat = find_records(project.folder, FOLDER)
    assert command("handoff", "create").code == 0
    by_month = find_records(project.folder, MONTH)

    assert (len(flat), len(by_month)) == (1, 1)
    assert flat[0] != by_month[0]  # a name stands for one record, wherever that is
    assert find_records(project.folder, FOLDER) == flat
    assert f"{MONTH}/{by_month[0]}" in project.tree()


@pytest.mark.requirement("C130")
def test_whoever_reads_records_finds_those_of_a_month(command: Caller, project: Project) -> None:
    command("handoff", "create")
    command("handoff", "create")
    assert command("end").code == 0
    name, ended = find_records(project.folder, MONTH)
    path = f"{MONTH}/{name}"

    handoffs = json.loads(command("handoff", "list", "--json").out)["handoffs"]
    shown = [command("handoff", "show", one).out for one in (name.removesuffix(".md"), path)]
    listed = command("log", "--sessions").out
    found = command("search", "sign", "in", "--kind", "archive").out
    verified = json.loads(command("archive", "verify", "--json").out)

    assert path in [one["path"] for one in handoffs]
    assert "Let people sign in" in shown[0] == shown[1]
    assert ended.removesuffix(".md") in listed
    assert path in found or name.removesuffix(".md") in found
    assert (verified["records"], verified["problems"]) == (1_002, [])
    assert command("check", path).code == 0
    assert "handoffs: 1002, the last 2026-01-11" in command("status").out


@pytest.mark.requirement("C130")
def test_a_record_that_is_there_already_is_not_written_again(command: Caller, project: Project) -> None:
    command("handoff", "create")
    (flat,) = find_records(project.folder, FOLDER)
    text = (project.folder / FOLDER / flat).read_bytes()

    names: list[str] = []
    for data in (text, b"another\n"):
        documents = open_documents(project.folder, is_checkout=True)
        names.append(archives._create_record(documents, (FOLDER, MONTH), flat, data))

    assert names == [f"{FOLDER}/{flat}", ""]
