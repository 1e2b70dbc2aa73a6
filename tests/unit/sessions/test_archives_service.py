"""A ledger that nobody keeps is archived at the next start, and its record is there before it is gone."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from passdown.core.facts import PROMPTED
from passdown.core.formats.archives import LEDGER as WHOLE
from passdown.core.formats.archives import Archive, ArchiveStatus, parse_archive
from passdown.core.formats.journal import NOT_PUBLISHED
from passdown.core.kinds import FactKind
from passdown.core.sessions.handoffs import FileHash
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.engines.files import archive as archiver
from passdown.engines.files.archive import remove_file
from passdown.errors import CacheError, StorageError
from passdown.ports.commit_contents import ChangedLines
from passdown.records import replace
from passdown.services.sessions import archives
from passdown.services.sessions.archives import archive_ledger, archive_stale, hash_files, read_checkout_state
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.publications import publish
from passdown.services.sessions.sessions import recover
from passdown.settings import ArchiveSettings, KeptRecords, Settings
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.git_history import MemoryHistory
from passdown.testing.memory.repository import MemoryRepository
from tests.support.sessions import LEDGER, Place, end_session, make_place, with_parts

FOLDER = "conductor/sessions/archive"
AWS = "AKIA" + "QYLPMN5HHHFPZAM2"


class ToldHistory(MemoryHistory):
    """A history with commits."""

    def head(self) -> str:
        """Give the last commit."""
        return "abc1234"

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        """Count the commits since."""
        assert "conductor/sessions/archive" in apart_from
        return 2 if commit == "abc1234" else None


def records(place: Place) -> dict[str, Archive]:
    """Read every record of the archive."""
    return {
        path.removeprefix(f"{FOLDER}/"): parse_archive(place.read(path))
        for path in place.documents.list(FOLDER)
    }


def work(place: Place) -> Account:
    """Start a session that has a goal, a track and a task."""
    account = place.start(track="auth")
    place.say(account, FactKind.BINDING, "t-1", "task")
    return place.say(account, FactKind.GOAL, "sign in").account


@pytest.mark.requirement("R20", "R38", "G2", "C37")
def test_an_archived_ledger_is_gone_and_its_record_is_there() -> None:
    place = make_place()
    account = work(place)

    archived = archive_ledger(place.project, account, "manual")

    assert archived.path == f"{FOLDER}/2026-01-11-12-00-manual-generic-00000001.md"
    assert archived.is_removed
    assert not place.documents.exists(LEDGER)
    record = records(place)["2026-01-11-12-00-manual-generic-00000001.md"]
    assert (record.summary, record.track, record.status) == ("sign in", "auth", ArchiveStatus.COMPLETE)
    assert record.problems == ()
    assert all(one.place != WHOLE for one in record.unknown)
    after = read_account(place.project, account.session)
    assert (after.track, after.task) == ("", "")


@pytest.mark.requirement("C21")
def test_records_of_one_minute_get_numbers() -> None:
    place = make_place()
    account = work(place)

    paths: list[str] = []
    for seconds in (0, 1, 1, 0):
        place.pass_time(seconds=seconds)
        paths.append(archive_ledger(place.project, account, "manual", keep=True).path)

    names = [path.removeprefix(f"{FOLDER}/2026-01-11-12-00-manual-generic-00000001") for path in paths]
    assert names == [".md", "-2.md", "-3.md", "-3.md"]


@pytest.mark.requirement("C21")
def test_a_record_that_another_process_writes_first_is_not_replaced() -> None:
    place = make_place()
    account = work(place)
    taken = f"{FOLDER}/2026-01-11-12-00-manual-generic-00000001.md"

    class Overtaken(MemoryDocuments):
        def create(self, path: str, data: bytes) -> bool:
            if path == taken:
                self.replace(path, b"theirs")
            return super().create(path, data)

    documents = Overtaken({LEDGER: place.documents.read(LEDGER)})

    archived = archive_ledger(with_parts(place, documents=documents), account, "manual")

    assert archived.path == f"{taken[:-3]}-2.md"
    assert documents.read(taken) == b"theirs"
    assert parse_archive(documents.read(archived.path).decode()).summary == "sign in"


@pytest.mark.requirement("R42")
def test_a_ledger_that_is_kept_lets_go_of_track_and_task() -> None:
    place = make_place()
    account = work(place)

    archived = archive_ledger(place.project, account, "track-complete", keep=True)

    assert not archived.is_removed
    assert "bound_track: null" in place.read()
    assert "bound_bead: null" in place.read()


def test_what_only_the_ledger_says_stands_whole_in_the_record() -> None:
    place = make_place()
    account = work(place)
    place.edit("## Open Questions\n", f"## Open Questions\n\n## My notes\n\nthe key is {AWS}\n")

    archive_ledger(place.project, account, "manual")

    text = place.read(f"{FOLDER}/2026-01-11-12-00-manual-generic-00000001.md")
    assert "## My notes\n\nthe key is [redacted: aws-access-token]\n" in text
    assert AWS not in text


def test_edits_by_hand_are_in_the_record() -> None:
    place = make_place()
    account = work(place)
    place.edit("sign in", "sign in and out")

    archive_ledger(place.project, account, "manual")

    assert records(place)["2026-01-11-12-00-manual-generic-00000001.md"].summary == "sign in and out"


def test_the_ledger_of_another_session_or_checkout_is_not_touched() -> None:
    place = make_place()
    account = work(place)
    elsewhere = replace(place.project, root="/other")
    place.write("---\nsession_id: someone\nupdated: 2026-01-11T12:00:00Z\nplatform: claude\n---\n")

    assert not archive_ledger(place.project, account, "manual").is_removed
    assert not archive_ledger(elsewhere, account, "manual").is_removed
    assert "someone" in place.read()


def test_a_ledger_that_changes_or_cannot_be_removed_stays() -> None:
    place = make_place()
    account = work(place)

    class Stubborn(MemoryDocuments):
        def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
            raise StorageError(f"no {path} {len(data)} {kept} {durable}", hint="wait")

    documents = Stubborn({LEDGER: place.documents.read(LEDGER)})
    project = with_parts(place, documents=documents)

    assert not archive_ledger(project, account, "manual").is_removed
    assert documents.exists(LEDGER)


@pytest.mark.requirement("R18", "R19", "G1", "C10")
def test_a_ledger_is_stale_after_more_than_24_hours_without_update() -> None:
    place = make_place()
    account = work(place)
    place.pass_time(hours=24)
    assert archive_stale(place.project) == []
    place.pass_time(seconds=1)

    archived = archive_stale(place.project)

    assert [(one.trigger, one.session) for one in archived] == [("stale", account.session)]
    record = records(place)["2026-01-12-12-00-stale-generic-00000001.md"]
    assert record.status is ArchiveStatus.INTERRUPTED
    assert not place.documents.exists(LEDGER)
    assert read_account(place.project, account.session).track == ""
    assert archive_stale(place.project) == []


@pytest.mark.requirement("C9")
def test_a_sign_of_life_is_no_update() -> None:
    place = make_place()
    account = work(place)
    place.pass_time(hours=23)
    update_ledger(place.project, place.say(account, FactKind.HEARTBEAT, "alive").account)
    place.pass_time(hours=2)

    assert [one.trigger for one in archive_stale(place.project)] == ["stale"]


@pytest.mark.requirement("R19", "R37")
@pytest.mark.parametrize(("is_graceful", "trigger"), [(True, "session-end"), (False, "stale")])
def test_a_ledger_that_an_ended_session_left_is_archived(*, is_graceful: bool, trigger: str) -> None:
    place = make_place()
    account = work(place)
    recovered = []
    if is_graceful:
        end_session(place.project, account)
    else:
        place.pass_time(hours=25)
        recovered = [one.archived for one in recover(place.project) if one.archived]

    archived = [*recovered, *archive_stale(place.project)]

    assert [one.trigger for one in archived] == [trigger]
    assert archived[0].is_removed


@pytest.mark.requirement("R19")
def test_a_ledger_that_cannot_be_archived_with_its_recovery_is_archived_by_the_next_start() -> None:
    place = make_place()
    account = work(place)
    place.pass_time(hours=25)

    class Full(MemoryDocuments):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError(f"no room for {path} ({len(data)})", hint="make room")

    full = Full({LEDGER: place.documents.read(LEDGER)})

    (recovered,) = recover(with_parts(place, documents=full))

    assert (recovered.account.session, recovered.archived) == (account.session, None)
    assert recovered.written is not None
    assert full.exists(LEDGER)
    assert [one.trigger for one in archive_stale(place.project)] == ["stale"]


def test_what_stays_on_the_machine_is_in_no_record() -> None:
    place = make_place()
    account = place.start()
    prompts = [NewFact(FactKind.GOAL, "a secret plan", PROMPTED), NewFact(FactKind.NOW, "go on", PROMPTED)]
    update_ledger(place.project, account, [*prompts, NewFact(FactKind.READ, "notes.txt")])
    place.edit("## Open Questions\n", "## My Own Section\n\nwords\n\n## Open Questions\n")
    assert "a secret plan" in place.read()

    archived = archive_ledger(place.project, read_account(place.project, account.session), "manual")

    record = place.read(archived.path)
    assert "My Own Section" in record
    assert not [text for text in ("a secret plan", "go on", "notes.txt") if text in record]


@pytest.mark.requirement("R18", "R19")
def test_a_stale_ledger_of_another_tool_is_archived_whole() -> None:
    place = make_place()
    text = (
        "---\nupdated: 2026-01-10T11:00:00Z\nsession_id: T-abc\nplatform: claude\n---\n\n# Session Ledger\n\n"
        "## Goal\n\nsign in\n\n## Extra\n\nmine\n"
    )
    place.write(text)
    place.write(text.replace("T-abc", "T-new").replace("10T11", "11T11"), f"{LEDGER[:-9]}new/LEDGER.md")
    place.write("text", f"{LEDGER[:-9]}notes.md")

    archived = archive_stale(place.project)

    assert [(one.session, one.is_removed) for one in archived] == [("T-abc", True)]
    record = place.read(archived[0].path)
    assert parse_archive(record).summary == "sign in"
    assert "## Extra\n\nmine" in record
    assert len(list(place.documents.list(LEDGER[:-10]))) == 2


@pytest.mark.requirement("C119")
def test_a_stale_ledger_that_git_tracks_stays() -> None:
    place = make_place()
    place.write("---\nupdated: 2026-01-10T11:00:00Z\nsession_id: T-abc\nplatform: claude\n---\n\n# Ledger\n")
    place.repository.commit([LEDGER], "theirs")

    assert archive_stale(place.project) == []
    assert place.documents.exists(LEDGER)


def test_a_ledger_that_cannot_be_read_or_archived_stays() -> None:
    place = make_place()
    account = work(place)
    place.pass_time(hours=25)

    class Full(MemoryDocuments):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError(f"no room for {path} ({len(data)})", hint="make room")

    full = Full({LEDGER: place.documents.read(LEDGER)})
    assert archive_stale(with_parts(place, documents=full)) == []
    assert full.exists(LEDGER)
    broken = MemoryDocuments({LEDGER: b"\xff\xfe"})
    assert archive_stale(with_parts(place, documents=broken)) == []
    bad = MemoryDocuments({LEDGER: b"---\nsession_id: x\n"})
    assert archive_stale(with_parts(place, documents=bad)) == []
    moved = MemoryDocuments({f"{LEDGER[:-9]}copy/LEDGER.md": place.documents.read(LEDGER)})
    found = archive_stale(with_parts(place, documents=moved))
    assert [one.session for one in found] == [account.session]
    assert read_account(place.project, account.session).track == "auth"


def test_the_surroundings_are_branch_commit_and_files() -> None:
    place = make_place()
    account = work(place)
    place.write("text", "src/a.py")
    place.write("text", ".git/config")
    for path in ("src/a.py", "gone.py", "../out.py", ".git/config"):
        account = place.say(account, FactKind.FILE, path).account
    project = with_parts(
        place, repository=MemoryRepository(place.documents, branch="feat"), history=ToldHistory()
    )

    around = read_checkout_state(project, account)

    assert (around.branch, around.commit) == ("feat", "abc1234")
    assert [(one.path, len(one.hash)) for one in around.file_hashes] == [
        ("src/a.py", 16),
        ("gone.py", 0),
        ("../out.py", 0),
        (".git/config", 0),
    ]
    assert read_checkout_state(place.project, account).commit == ""
    ended = replace(account, ended_at=place.clock.at)
    assert (read_checkout_state(project, ended).branch, read_checkout_state(project, ended).commit) == (
        "main",
        "",
    )


def test_a_record_says_how_many_lines_changed() -> None:
    place = make_place()
    account = place.start()
    for path in ("a.py", "b.png", "c.py"):
        account = place.say(account, FactKind.FILE, path).account
    contents = MemoryHistory()
    lines = {"a.py": ChangedLines(12, 3), "b.png": ChangedLines(None, None)}
    contents.counted[account.start.commit] = lines
    project = with_parts(place, commit_contents=contents)

    around = read_checkout_state(project, account, for_record=True)

    assert around.changes == (("a.py", "+12 -3"), ("b.png", "binary"))


def only_record(place: Place) -> Archive:
    """Read the one record of the archive."""
    (record,) = records(place).values()
    return record


def test_the_record_of_an_ended_session_names_its_events_and_does_not_repeat_them() -> None:
    place = make_place()
    account = work(place)
    publish(place.project, account.session, kind="checkpoint", reason="turn")
    place.say(account, FactKind.DONE, "the form")
    end_session(place.project, account)

    archive_stale(place.project)

    record = only_record(place)
    events = [one.rank.id for one in place.project.index.places()]
    assert list(record.events) == events[::-1]
    assert len(events) == 2
    assert (record.summary, record.completed) == ("sign in", ())


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_record_repeats_what_is_in_no_event_that_can_be_found(
    monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    place = make_place()
    account = place.say(work(place), FactKind.DONE, "the form").account
    end_session(place.project, account)

    def fail(*_: object) -> NoReturn:
        raise CacheError("in use", hint="wait")

    if is_lost:
        monkeypatch.setattr(place.project.index, "published", lambda _: NOT_PUBLISHED)
    else:
        monkeypatch.setattr(archives, "catch_up_session", fail)
    archive_stale(place.project)

    assert (only_record(place).events, only_record(place).completed) == ((), ("the form",))


HANDOFF = Settings(archive=ArchiveSettings(sessions=KeptRecords.HANDOFF))


def test_only_an_ordinary_session_leaves_no_record_if_the_settings_say_so() -> None:
    place = make_place(settings=HANDOFF)
    account = place.say(work(place), FactKind.DONE, "the form").account
    end_session(place.project, account)

    (archived,) = archive_stale(place.project)

    assert (archived.path, archived.is_removed) == ("", True)
    assert records(place) == {}


@pytest.mark.parametrize("trigger", ["manual", "pre-compact", "stale", "track-switch", "track-complete"])
def test_any_other_archive_stays_whatever_the_settings_say(trigger: str) -> None:
    place = make_place(settings=HANDOFF)
    account = work(place)

    assert archive_ledger(place.project, account, trigger).path

    assert only_record(place).trigger == trigger


def test_a_crashed_session_and_a_ledger_that_says_more_leave_a_record_in_any_case() -> None:
    place = make_place(settings=HANDOFF)
    account = work(place)
    place.edit("## Open Questions\n", "## Open Questions\n\n## My notes\n\nAsk Ann\n")
    end_session(place.project, account)
    archive_stale(place.project)
    assert "Ask Ann" in place.read(f"{FOLDER}/{next(iter(records(place)))}")

    place = make_place(settings=HANDOFF)
    work(place)
    place.pass_time(hours=30)
    recover(place.project)
    archive_stale(place.project)
    assert only_record(place).trigger == "stale"


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_place()
    place.write("text", "a.py")
    monkeypatch.setattr(archives, "_MOST_BYTES", 3)

    assert hash_files(place.project, ["a.py"]) == (FileHash("a.py", ""),)


def test_a_link_or_a_file_that_goes_away_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"x")
    (tmp_path / "link").symlink_to(real)

    def gone(_: object, name: str) -> None:
        raise FileNotFoundError(name)

    assert not remove_file(str(tmp_path / "link"), b"x")
    monkeypatch.setattr(archiver, "_remove", gone)
    assert not remove_file(str(real), b"x")
    assert real.read_bytes() == b"x"
