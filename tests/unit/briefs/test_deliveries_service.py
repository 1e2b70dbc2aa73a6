"""Briefs on their way: what is remembered of each, and how its arrival is judged."""

import json

import pytest

from passdown.core.briefs.budgets import Budget
from passdown.core.hosts.transcripts import TranscriptMark, TranscriptReader, render_mark
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError
from passdown.hosts.claude.transcripts import READER
from passdown.hosts.copilot.transcripts import READER as COPILOT
from passdown.records import replace
from passdown.services.handover.deliveries import (
    await_turn_end,
    confirm,
    leave_notice,
    send_brief,
    take_notice,
)
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.observations import TranscriptSource
from passdown.services.workspace.workspaces import Workspace
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.transcripts import MemoryTranscripts
from tests.support.sessions import MemoryWorkspace, Place, make_place

PATH = "/host/transcript.jsonl"


@pytest.fixture
def place() -> Place:
    """Give a project with nothing in it."""
    return make_place()


def sent(place: Place) -> tuple[Account, str]:
    """Let a session be told its goal."""
    account = place.say(place.start(), FactKind.GOAL, "sign in").account
    told = send_brief(place.project, account, Budget())
    return told.account, told.text


def source(*lines: object) -> TranscriptSource:
    transcripts = MemoryTranscripts()
    transcripts.files[PATH] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return TranscriptSource(path=PATH, reader=READER, transcripts=transcripts)


@pytest.mark.requirement("C67")
def test_a_brief_is_remembered_by_its_nonce_and_hash(place: Place) -> None:
    account, text = sent(place)

    (delivery,) = account.deliveries
    assert text.startswith(f"===== passdown brief {delivery.nonce} begins\n")
    assert (len(delivery.hash), delivery.state) == (64, "sent")


@pytest.mark.parametrize(
    ("shape", "state"),
    [
        ("{}", "whole"),
        ("before {} after", "whole"),
        ("{}\r\n", "whole"),
        ("{.100}", "cut"),
        ("", "sent"),
    ],
)
def test_what_the_transcript_shows_tells_how_it_arrived(place: Place, shape: str, state: str) -> None:
    account, text = sent(place)
    shown = shape.replace("{.100}", text[:100]).replace("{}", text)

    judged = confirm(place.project, account, source({"deep": [{"text": shown}]}, {"other": 1}))

    assert [one.state for one in judged] == ([] if state == "sent" else [state])
    known = read_account(place.project, account.session)
    assert [one.state for one in known.deliveries] == [state]
    assert known.deliveries[0].hash == account.deliveries[0].hash


def test_what_our_hook_printed_does_not_count(place: Place) -> None:
    account, text = sent(place)

    assert confirm(place.project, account, source({"stdout": text})) == []
    assert confirm(place.project, account, source({"data": {"output": {"additionalContext": text}}})) == []
    judged = confirm(place.project, account, source({"stdout": text, "content": text[:50]}))
    assert [one.state for one in judged] == ["cut"]


def test_a_line_that_cannot_be_read_tells_nothing(place: Place) -> None:
    account, _ = sent(place)
    found = source()
    nonce = account.deliveries[0].nonce.encode()
    found.transcripts.files[PATH] = b'{"a": "' + nonce + b"\n" + b"[" * 100_000 + nonce  # type: ignore[attr-defined]  # in memory

    assert confirm(place.project, account, found) == []


def test_only_what_is_new_is_looked_at(place: Place) -> None:
    account, text = sent(place)
    found = source({"text": text})
    size = found.transcripts.size(PATH)
    name = PATH.rpartition("/")[2]

    def at(offset: int) -> Account:
        mark = render_mark(TranscriptMark(offset=offset))
        return Account(session=account.session, deliveries=account.deliveries, bookmarks={name: mark})

    assert confirm(place.project, at(size), found) == []
    # A mark behind the end is that of another file, which this one has taken the place of.
    assert [one.state for one in confirm(place.project, at(size + 1), found)] == ["whole"]


def test_what_was_judged_is_not_judged_again(place: Place) -> None:
    account, text = sent(place)
    confirm(place.project, account, source({"text": text}))
    known = read_account(place.project, account.session)

    assert confirm(place.project, known, source({"text": text[:80]})) == []


@pytest.mark.requirement("C67")
def test_what_arrived_whole_is_not_told_again_to_whoever_has_it_before_them(place: Place) -> None:
    account, text = sent(place)
    again = send_brief(place.project, account, Budget(), is_known=True)
    assert again.text  # nobody knows yet whether it arrived
    confirm(place.project, again.account, source({"text": text}, {"text": again.text}))
    known = read_account(place.project, account.session)

    assert send_brief(place.project, known, Budget(), is_known=True).text == ""
    assert send_brief(place.project, known, Budget()).text
    changed = place.say(known, FactKind.GOAL, "sign out").account
    assert "sign out" in send_brief(place.project, changed, Budget(), is_known=True).text


def test_a_host_that_writes_late_is_waited_for_from_where_its_transcript_was_read(place: Place) -> None:
    over = json.dumps({"type": "hook.start", "data": {"hookType": "agentStop"}}, separators=(",", ":"))
    line = over.encode() + b"\n"
    path = "/host/one/events.jsonl"
    transcripts = MemoryTranscripts()
    transcripts.files[path] = line
    transcripts.late[path] = line
    account = place.start()

    def wait(reader: TranscriptReader, offset: int) -> bytes:
        read = replace(account, bookmarks={"one/events.jsonl": render_mark(TranscriptMark(offset=offset))})
        await_turn_end(read, TranscriptSource(path=path, reader=reader, transcripts=transcripts))
        return transcripts.files[path]

    assert wait(READER, len(line)) == line  # Claude Code has written all by then
    assert wait(COPILOT, 0) == line
    assert wait(COPILOT, len(line)) == line * 2


def test_every_brief_that_is_cut_makes_the_next_one_smaller(place: Place) -> None:
    account = place.start()
    for number in range(40):
        account = place.say(account, FactKind.DECISION, "oak " * 50, f"box-{number}").account
    sizes: list[int] = []
    for _ in range(4):
        told = send_brief(place.project, account, Budget())
        sizes.append(len(told.text))
        confirm(place.project, told.account, source({"text": told.text[:100]}))
        account = read_account(place.project, account.session)

    assert sizes[0] > 2_000
    for size, most in zip(sizes[1:], (2_000, 1_000, 600), strict=True):
        assert most // 2 < size <= most


class Locked(MemoryDocuments):
    """Documents that nobody may change."""

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        """Refuse."""
        raise StorageError(
            f"could not write {path} ({len(data)}, {local}, {expected!r}, {durable})", hint="ask"
        )

    def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
        """Refuse."""
        raise StorageError(f"could not remove {path} ({len(data)}, {kept}, {durable})", hint="ask")


def site(git: MemoryDocuments | None, documents: MemoryDocuments | None = None) -> Workspace:
    own = MemoryDocuments() if documents is None else documents
    return MemoryWorkspace(documents=own, git_documents=git)


def test_a_word_is_left_and_taken_away() -> None:
    git = MemoryDocuments()
    there = site(git)
    leave_notice(there, "abc")
    assert git.exists("passdown/waiting/abc")
    take_notice(there, "abc")
    assert not git.exists("passdown/waiting/abc")


@pytest.mark.parametrize("git", [None, Locked()])
def test_a_word_lies_in_the_checkout_where_it_must(git: MemoryDocuments | None) -> None:
    there = site(git)
    leave_notice(there, "abc")
    assert there.documents.exists(".conductor/waiting/abc")
    assert there.documents.exists(".conductor/.gitignore")
    take_notice(site(None, there.documents), "abc")  # type: ignore[arg-type]  # in memory
    assert not there.documents.exists(".conductor/waiting/abc")


def test_a_word_that_cannot_be_taken_away_does_no_harm() -> None:
    take_notice(site(Locked()), "abc")
