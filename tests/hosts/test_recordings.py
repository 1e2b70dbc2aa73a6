"""What is read from the transcripts of real hosts is what the scripts that drove them did."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passdown.core.facts import Provenance
from passdown.core.hosts.observations import from_root
from passdown.core.hosts.transcripts import (
    START,
    Observation,
    TranscriptMark,
    TranscriptReader,
    parse_mark,
    read_piece,
    render_mark,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.engines.files.transcripts import FileTranscripts
from passdown.hosts.claude.transcripts import READER as CLAUDE_CODE
from passdown.hosts.codex.transcripts import READER as CODEX
from passdown.hosts.copilot.transcripts import READER as COPILOT
from passdown.services.sessions.observations import TranscriptSource, observe
from tests.hosts.scripts import ROOT, Recording, list_scripts, read_recording
from tests.proof import proof_count
from tests.support.sessions import NOON, Place, make_place

TONGUES = {reader.name: reader for reader in (CLAUDE_CODE, CODEX, COPILOT)}
SCRIPTS = list_scripts()


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.name.removesuffix(".script.json"))
def recording(request: pytest.FixtureRequest) -> Recording:
    return read_recording(request.param)


def seen_in(recording: Recording) -> list[Observation]:
    """Read all transcripts of a recording, each in one piece."""
    reader = TONGUES[recording.script.host]
    paths = (recording.transcript, *recording.others)
    return [one for path in paths for one in read_piece(reader, path.read_bytes()).seen]


def files_of(seen: list[Observation], kind: FactKind) -> Counter[str]:
    paths = [from_root(one.text, [ROOT]) for one in seen if one.kind is kind]
    return Counter(path for path in paths if path is not None)


def test_every_host_was_recorded() -> None:
    assert {read_recording(path).script.host for path in SCRIPTS} == set(TONGUES)


def test_every_edit_is_found_and_nothing_else(recording: Recording) -> None:
    wanted = Counter(path for one in recording.script.leaves() for path in one.edited)

    assert wanted
    assert files_of(seen_in(recording), FactKind.FILE) == wanted


def test_every_file_that_was_read_is_found(recording: Recording) -> None:
    wanted = Counter(path for one in recording.script.leaves() for path in one.read)

    assert files_of(seen_in(recording), FactKind.READ) == wanted


def test_every_command_is_found_with_its_exit_code(recording: Recording) -> None:
    wanted = Counter((one.ran, one.exit) for one in recording.script.leaves() if one.ran)
    found = Counter((one.text, one.exit) for one in seen_in(recording) if one.kind is FactKind.COMMAND)

    assert wanted
    assert found == wanted


def test_every_test_is_found_with_its_exit_code(recording: Recording) -> None:
    wanted = Counter((one.test, one.test_exit) for one in recording.script.leaves() if one.test)
    found = Counter((one.text, one.exit) for one in seen_in(recording) if one.kind is FactKind.TEST)

    assert wanted
    assert found == wanted


def test_prompts_are_what_the_person_said(recording: Recording) -> None:
    found = [one.text for one in seen_in(recording) if one.kind is FactKind.PROMPT]

    assert found == list(recording.script.prompts())


def test_every_item_of_the_plan_is_found(recording: Recording) -> None:
    wanted = {item for one in recording.script.leaves() for item in one.plan}
    found = {one.text: one.status for one in seen_in(recording) if one.kind is FactKind.PLAN}

    assert set(found) == wanted
    assert set(found.values()) <= {"completed"}


def observe_recording(recording: Recording) -> tuple[Place, Account]:
    """Observe a recorded session that nobody said a word about."""
    place = make_place()
    account = place.start(host=recording.script.host)
    place.history.works = [(NOON, name, ()) for name in recording.commits]
    source = TranscriptSource(
        path=str(recording.transcript),
        reader=TONGUES[recording.script.host],
        transcripts=FileTranscripts(),
    )
    return place, observe(place.project, account, source).kept.account


def test_every_commit_is_known_in_the_end_and_those_that_were_printed_are_verified(
    recording: Recording,
) -> None:
    _, account = observe_recording(recording)
    entries = account.of(FactKind.COMMIT)
    printed = [one.text for one in seen_in(recording) if one.kind is FactKind.COMMIT]

    assert sum(one.commits for one in recording.script.leaves()) == len(recording.commits)
    assert sorted(entry.text for entry in entries) == sorted(recording.commits)
    for entry in entries:
        is_printed = any(entry.text.startswith(name) for name in printed)
        assert (entry.provenance is Provenance.VERIFIED) == is_printed


def test_a_session_tells_of_its_subagents_and_its_ledger_is_not_empty(recording: Recording) -> None:
    place, account = observe_recording(recording)
    prompts = recording.script.prompts()

    assert account.goal is not None
    assert account.goal.text == prompts[0]
    assert [fact.text for fact in account.of(FactKind.NOW)] == prompts[1:][-1:]  # one prompt is not both
    wanted = {path for one in recording.script.leaves() for path in one.edited}
    assert {entry.text for entry in account.of(FactKind.FILE)} == wanted
    for text in (*wanted, prompts[0], prompts[-1]):
        assert text in place.read()


def pieces(data: bytes, cuts: list[float]) -> Iterator[int]:
    """Give where a file ends each time that it is looked at."""
    yield from sorted({round(cut * len(data)) for cut in cuts})
    yield len(data)


def read_growing(
    reader: TranscriptReader, data: bytes, ends: Iterator[int]
) -> tuple[list[Observation], TranscriptMark]:
    """Read a file that grows, each time from where the last one ended; marks are written down in between."""
    seen: list[Observation] = []
    mark = START
    for end in ends:
        reading = read_piece(reader, data[mark.offset : end], parse_mark(render_mark(mark)))
        seen += reading.seen
        mark = reading.mark
    return seen, mark


@given(st.data())
@settings(max_examples=proof_count(fast=40, ci=200, long=2000), deadline=None)
def test_a_transcript_tells_the_same_however_it_is_cut(data: st.DataObject) -> None:
    recording = read_recording(data.draw(st.sampled_from(SCRIPTS)))
    path: Path = data.draw(st.sampled_from([recording.transcript, *recording.others]))
    content = path.read_bytes()
    whole = read_piece(TONGUES[recording.script.host], content)

    cuts = data.draw(st.lists(st.floats(0, 1), max_size=12))
    seen, mark = read_growing(TONGUES[recording.script.host], content, pieces(content, cuts))

    assert (tuple(seen), mark) == (whole.seen, whole.mark)


def test_no_recording_names_the_machine_it_was_made_on() -> None:
    for script in SCRIPTS:
        recording = read_recording(script)
        for path in (recording.transcript, *recording.others):
            text = path.read_text(encoding="utf-8")
            assert '"cwd":"/project"' in text
            assert "/recorded-" not in text
