"""`passdown import` makes history of old transcripts: listed, shown, found, and forgotten."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller, Terminal
from tests.support.gits import Project, make_started

SESSION = "37dd1487-cbb5-445b-ae8e-cc72aca90d02"
OTHER = "5f0c1e0a-0000-4000-8000-000000000001"


@pytest.fixture
def transcripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the folder where Claude Code keeps the transcripts of a user, in a home of its own."""
    home = tmp_path / "home"
    folder = home / ".claude" / "projects"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return folder


def write_transcript(folder: Path, root: Path, session: str) -> ClaudeTranscript:
    """Let a person and an agent work there."""
    place = folder / str(root).replace("/", "-")
    place.mkdir(exist_ok=True)
    made = ClaudeTranscript(path=place / f"{session}.jsonl", root=root, session=session)
    made.ask("Where should sessions live?")
    made.say("I chose Redis for the sessions, because the workers share nothing else.")
    made.edit("src/sessions.py")
    made.run("make test", 2, "SECRETLESS OUTPUT OF THE TOOL")
    return made


def history(project: Project) -> list[str]:
    """Give the files of history in git's folder."""
    top = project.folder / ".git" / "passdown" / "history"
    return sorted(path.relative_to(top).as_posix() for path in top.rglob("*.jsonl"))


@pytest.mark.requirement("C134")
def test_a_user_imports_lists_shows_searches_and_forgets(
    command: Caller, project: Project, transcripts: Path, tmp_path: Path
) -> None:
    write_transcript(transcripts, project.folder, SESSION)
    write_transcript(transcripts, tmp_path / "elsewhere", OTHER)

    dry = command("import", "--dry-run")
    assert dry.code == 0, dry
    assert "1 transcript" in dry.out
    assert "1 of other projects" in dry.out
    assert history(project) == []

    unasked = command("import")
    assert unasked.code == 1
    assert "--yes" in unasked.err
    assert history(project) == []

    done = command("import", "--yes")
    assert done.code == 0, done
    assert history(project) == [f"claude/{SESSION}.jsonl"]
    file = project.folder / ".git/passdown/history/claude" / f"{SESSION}.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert "SECRETLESS" not in file.read_text()

    listed = command("log", "--history")
    assert listed.code == 0
    assert SESSION[:8] in listed.out
    assert "Where should sessions live?" in listed.out

    shown = command("history", "show", SESSION[:8])
    assert shown.code == 0, shown
    assert "user: Where should sessions live?" in shown.out
    assert "agent: I chose Redis for the sessions" in shown.out
    assert "file: src/sessions.py" in shown.out
    assert "command: make test (exit 2)" in shown.out

    found = json.loads(command("search", "redis", "--kind", "history", "--json").out)
    assert [match["kind"] for match in found["matches"]] == ["history"]
    assert found["matches"][0]["is_local"] is True
    asked = found["matches"][0]["command"].split()[1:]
    told = command(*asked)
    assert "Redis" in told.out.splitlines()[found["matches"][0]["line"] - 1]
    assert "(local)" in command("search", "redis").out

    again = command("import", "--yes")
    assert again.code == 0
    assert "nothing new" in again.out + again.err

    gone = command("import", "--forget", "--yes")
    assert gone.code == 0, gone
    assert not (project.folder / ".git" / "passdown" / "history").exists()
    assert not list(project.folder.rglob("search-*.sqlite*"))
    assert json.loads(command("search", "redis", "--json").out)["total"] == 0


@pytest.mark.requirement("C134")
def test_a_transcript_that_grows_is_replaced_and_a_cut_one_keeps_its_history(
    command: Caller, project: Project, transcripts: Path
) -> None:
    made = write_transcript(transcripts, project.folder, SESSION)
    assert command("import", "--yes").code == 0
    before = command("history", "show", SESSION).out

    made.ask("And the tokens?")
    with made.path.open("a") as file:
        file.write('{"type":"user","message":{"role":"user","content":"half a li')
    assert command("import", "--yes").code == 0
    after = command("history", "show", SESSION).out
    assert after != before
    assert "user: And the tokens?" in after
    assert "half a li" not in after

    os.truncate(made.path, 300)
    assert command("import", "--yes").code == 0
    assert command("history", "show", SESSION).out == after
    made.path.unlink()
    assert command("import", "--yes").code == 0
    assert command("history", "show", SESSION).out == after


@pytest.mark.requirement("C134")
def test_init_offers_to_import_and_shows_results(transcripts: Path, tmp_path: Path) -> None:
    project = make_started(tmp_path / "new")
    for number in range(4):
        write_transcript(transcripts, project.folder, f"{SESSION[:-1]}{number}")
    with Terminal("init", cwd=project.folder) as person:
        for question in ("through git?", "checkpoints?", "Write this?", "They stay here."):
            person.read_until(question)
            person.type("y\n")
        done = person.close()

    assert done.code == 0, done
    assert "Claude Code: 4 transcripts" in done.out
    assert "$ passdown search sessions.py" in done.out
    assert done.out.count("passdown history show ") == 3
    assert len(history(project)) == 4


@pytest.mark.requirement("C134")
def test_doctor_says_when_a_host_deletes_what_was_not_imported(
    command: Caller, project: Project, transcripts: Path
) -> None:
    made = write_transcript(transcripts, project.folder, SESSION)
    written = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    os.utime(made.path, (written, written))

    assert "Claude Code will delete 1 transcript of this project, the first in 20 days" in doctor(command)
    (transcripts.parent / "settings.json").write_text('{"cleanupPeriodDays": 12}')
    assert "the first in 2 days" in doctor(command)
    (transcripts.parent / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    assert "the first at its next start" in doctor(command)

    assert command("import", "--yes").code == 0
    assert "transcript" not in doctor(command)


def doctor(command: Caller) -> str:
    """Give what `doctor` says, in one line."""
    done = command("doctor")
    return " ".join((done.out + done.err).split())
