"""Ledgers are kept: edits are taken in, what cannot be read is left alone, nothing that was said is lost."""

import json
from fnmatch import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passdown.core.formats.ledgers import Ledger, parse_ledger
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import MAX_CHARS, NewFact
from passdown.core.sessions.session_facts import Account, SessionStart, make_start
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.sessions.journals import append_fact, read_account, write_fact
from passdown.services.sessions.ledgers import is_free, read_ledger, record_displaced, update_ledger
from passdown.testing.memory.documents import MemoryDocuments
from tests.formats.strategies import NASTY_BLOCKS, NASTY_LINES
from tests.proof import proof_count
from tests.support.sessions import LEDGER, Place, end_session, make_place, with_parts

STATE = ".conductor/session-state_generic-00000001.json"


@pytest.fixture
def place() -> Place:
    """Give an empty project."""
    return make_place()


def done(place: Place, account: Account) -> list[str]:
    return [entry.text for entry in read_account(place.project, account.session).of(FactKind.DONE)]


@pytest.mark.requirement("R2", "R3", "R4", "R6", "R7", "R17", "R217", "R218", "R219", "C5", "C28")
def test_a_fact_is_in_journal_ledger_and_state_file(place: Place) -> None:
    account = place.start(track="t-1", mode="MA")
    place.pass_time(seconds=5)

    kept = place.say(account, FactKind.DONE, "wrote the parser")

    assert (kept.problems, kept.edits, kept.is_elsewhere) == ((), 0, False)
    ledger = parse_ledger(place.read())
    assert (ledger.done, ledger.session_id, ledger.platform, ledger.problems) == (
        ("wrote the parser",),
        account.session,
        "generic",
        (),
    )
    assert "updated: 2026-01-11T12:00:05Z\n" in place.read()
    assert "tdd_phase: null\n" in place.read()
    assert json.loads(place.read(STATE)) == {
        "agentId": "generic-00000001",
        "mode": "MA",
        "modeLockedAt": "2026-01-11T12:00:00Z",
        "trackId": "t-1",
        "currentTask": None,
        "currentTasks": None,
        "tddPhase": None,
        "lastUpdated": "2026-01-11T12:00:05Z",
    }
    assert place.read("conductor/sessions/active/.gitignore").endswith("*\n")
    assert place.read(".conductor/.gitignore").endswith("*\n")


@pytest.mark.requirement("C3")
def test_edits_are_journalled_before_what_is_said(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    place.edit("- a\n", "- b\n- c\n")

    kept = place.say(account, FactKind.DONE, "d")

    kinds = [(line.fact.kind, line.fact.text) for line in place.project.journals.read(account.session)][-4:]
    assert kinds == [("retraction", "a"), ("done", "b"), ("done", "c"), ("done", "d")]
    assert (kept.edits, done(place, account)) == (3, ["b", "c", "d"])


def test_edits_are_taken_in_though_nothing_is_said(place: Place) -> None:
    account = place.say(place.start(), FactKind.GOAL, "g").account
    place.edit("\ng\n", "\nh\n")

    kept = update_ledger(place.project, account)

    assert (kept.edits, kept.account.goal and kept.account.goal.text) == (1, "h")
    assert update_ledger(place.project, kept.account).edits == 0


@pytest.mark.requirement("R1")
def test_a_ledger_that_was_deleted_comes_back(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    bare = with_parts(place, documents=MemoryDocuments())

    kept = update_ledger(bare, account)

    assert (kept.edits, kept.problems) == (0, ())
    assert parse_ledger(bare.documents.read(LEDGER).decode()).done == ("a",)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe not text",
        b"---\nformat: 99\n---\n# Session Ledger\n",
        b"all was overwritten by mistake\n",
        b"---\nupdated: yesterday\nsession_id: s-000000000002\nplatform: x\n---\n",
    ],
    ids=["no-text", "newer", "no-front-matter", "broken-time"],
)
def test_a_broken_ledger_is_kept_to_the_byte_and_reported_and_the_fact_is_safe(
    place: Place, data: bytes
) -> None:
    account = place.start()
    place.documents.replace(LEDGER, data)

    for number in range(3):
        kept = place.say(account, FactKind.DONE, f"fact {number}")
        assert kept.problems
        assert place.documents.read(LEDGER) == data
    assert done(place, account) == ["fact 0", "fact 1", "fact 2"]


def test_a_mended_ledger_is_taken_in_and_shows_what_was_said_meanwhile(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    whole = place.read()
    place.write(whole.replace("updated: 2026", "updated: soon"))
    place.say(account, FactKind.DONE, "b")

    place.write(whole.replace("- a\n", "- a\n- by hand\n"))
    kept = place.say(account, FactKind.DONE, "c")

    assert (kept.problems, kept.edits) == ((), 1)
    assert parse_ledger(place.read()).done == ("a", "b", "by hand", "c")


def test_a_ledger_that_lacks_the_newest_facts_takes_none_of_them_back(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    append_fact(place.project, account, NewFact(FactKind.DONE, "cut off after its journal line"))
    place.edit("- a\n", "- a\n- by hand\n")

    kept = update_ledger(place.project, account)

    assert kept.edits == 1
    assert done(place, account) == ["a", "cut off after its journal line", "by hand"]


@pytest.mark.parametrize("number", ["", "journal_seq: 999\n"], ids=["missing", "of-no-line"])
def test_a_ledger_that_was_written_anew_adds_facts_and_takes_none_back(place: Place, number: str) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    place.say(account, FactKind.NEXT, "b")
    place.say(account, FactKind.GOAL, "old")
    fresh = (
        f"---\nupdated: 2026-01-11T12:00:00Z\nsession_id: {account.session}\nplatform: claude\n{number}---\n"
    )
    place.write(f"{fresh}\n# Session Ledger\n\n## Goal\n\nnew\n\n## State\n\n### Done\n- c\n")

    kept = update_ledger(place.project, account)

    assert kept.problems == ()
    assert (done(place, account), kept.account.goal and kept.account.goal.text) == (["a", "c"], "new")
    assert [entry.text for entry in kept.account.of(FactKind.NEXT)] == ["b"]


def test_an_edit_too_long_for_a_journal_is_left_in_the_ledger_and_reported(place: Place) -> None:
    account = place.say(place.start(), FactKind.GOAL, "g").account
    place.edit("\ng\n", f"\n{'x' * (MAX_CHARS + 1)}\n")
    before = place.read()

    kept = place.say(account, FactKind.DONE, "a")

    assert [problem.field for problem in kept.problems] == ["goal"]
    assert (place.read(), done(place, account)) == (before, ["a"])


class Edited(MemoryDocuments):
    """Documents into which a person writes at the worst moment: right after they were read."""

    def __init__(self, times: int) -> None:
        """Write so often."""
        super().__init__()
        self.times = times
        self.count = 0

    def read(self, path: str, *, settled: bool = False) -> bytes:
        """Give the content, then change it."""
        data = super().read(path, settled=settled)
        if path == LEDGER and self.count < self.times:
            self.count += 1
            text = data.decode().replace("### Done\n", f"### Done\n- edit {self.count}\n")
            self.replace(path, text.encode())
        return data


def test_an_edit_between_reading_and_writing_is_taken_in(place: Place) -> None:
    documents = Edited(0)
    project = with_parts(place, documents=documents)
    account = replace(place, project=project).start()
    documents.times = 1

    kept = update_ledger(project, account, [NewFact(FactKind.DONE, "said")])

    assert (kept.problems, kept.edits, done(place, account)) == ((), 1, ["said", "edit 1"])
    assert "- edit 1\n" in documents.read(LEDGER).decode()


def test_a_ledger_that_changes_all_the_time_is_left_alone(place: Place) -> None:
    documents = Edited(0)
    project = with_parts(place, documents=documents)
    account = replace(place, project=project).start()
    documents.times = 99

    kept = update_ledger(project, account, [NewFact(FactKind.DONE, "said")])

    assert [problem.problem for problem in kept.problems] == ["keeps changing"]
    assert "said" in done(place, account)


def test_a_ledger_that_breaks_between_reading_and_writing_is_left_alone(place: Place) -> None:
    class Breaking(MemoryDocuments):
        broken = False

        def read(self, path: str, *, settled: bool = False) -> bytes:
            data = super().read(path, settled=settled)
            if path == LEDGER and self.broken:
                self.replace(path, b"\xff")
            return data

    documents = Breaking()
    project = with_parts(place, documents=documents)
    account = replace(place, project=project).start()
    documents.broken = True

    kept = update_ledger(project, account, [NewFact(FactKind.DONE, "said")])

    assert [problem.problem for problem in kept.problems] == ["is not UTF-8 text"]
    assert (documents.read(LEDGER), done(place, account)) == (b"\xff", ["said"])


def test_a_session_of_another_checkout_leaves_the_ledger_here_alone() -> None:
    here = make_place()
    account = here.say(here.start(), FactKind.DONE, "mine").account
    there = make_place(here.project.journals, root="/other", entropy=10)  # type: ignore[arg-type]  # in memory
    theirs = there.start()
    before = there.read()

    kept = there.say(account, FactKind.DONE, "said elsewhere")

    assert (kept.is_elsewhere, kept.problems, there.read()) == (True, (), before)
    assert update_ledger(here.project, kept.account).edits == 0
    assert "- said elsewhere\n" in here.read()
    assert done(there, theirs) == []


@pytest.mark.requirement("C4")
def test_the_ledger_of_another_session_is_not_overwritten_while_that_has_not_ended(place: Place) -> None:
    first = place.say(place.start(), FactKind.DONE, "mine").account
    before = place.read()
    second = place.start(is_new=True)
    stray = replace(second, start=replace(second.start, ledger=LEDGER))

    kept = update_ledger(place.project, stray, [NewFact(FactKind.DONE, "theirs")])

    assert [problem.field for problem in kept.problems] == ["session_id"]
    assert (place.read(), done(place, second), done(place, first)) == (before, ["theirs"], ["mine"])


def test_a_session_that_is_none_of_ours_owns_its_ledger(place: Place) -> None:
    account = place.start()
    place.edit(f"session_id: {account.session}\n", "session_id: T-Other/../x\n")

    kept = place.say(account, FactKind.DONE, "a")

    assert [problem.problem for problem in kept.problems] == ["belongs to another session, T-Other/../x"]


@pytest.mark.requirement("C4")
def test_the_ledger_of_a_session_that_ended_makes_room(place: Place) -> None:
    first = place.say(place.start(), FactKind.DONE, "mine").account
    end_session(place.project, first)
    second = place.start(is_new=True)

    assert second.start.ledger == LEDGER
    assert parse_ledger(place.read()).session_id == second.session
    assert "mine" not in place.read()


def test_the_ledger_of_another_session_that_ended_counts_as_empty(place: Place) -> None:
    first = place.say(place.start(), FactKind.DONE, "mine").account
    second = place.start(is_new=True)
    stray = replace(second, start=replace(second.start, ledger=LEDGER))
    assert read_ledger(place.project, stray).problems
    end_session(place.project, first)

    reading = read_ledger(place.project, stray)

    assert (reading.ledger, reading.text, reading.problems) == (Ledger(), place.read(), ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- mine\n", "- mine\n- by hand\n"),
        ("## Open Questions\n", "## My Own Section\n\nwords\n\n## Open Questions\n"),
        ("tdd_phase: null", "tdd_phase: RED"),
        ("platform: generic", "platform: generic\nx-owner: me"),
        ("journal_seq:", "x-seq:"),
    ],
)
def test_a_ledger_that_says_more_than_its_journal_is_not_free_but_archived_whole(
    place: Place, old: str, new: str
) -> None:
    first = place.say(place.start(), FactKind.DONE, "mine").account
    end_session(place.project, first)
    assert is_free(place.project, LEDGER)
    place.edit(old, new)
    before = place.read()
    assert not is_free(place.project, LEDGER)

    second = place.started(is_new=True)

    assert [one.is_removed for one in second.archived] == [True]
    assert before.rstrip() in place.read(second.archived[0].path)
    assert second.account.start.ledger == LEDGER


def test_a_broken_ledger_of_a_session_that_ended_is_left_where_it_is(place: Place) -> None:
    end_session(place.project, place.say(place.start(), FactKind.DONE, "mine").account)
    place.edit("updated: 2026", "updated: soon")
    before = place.read()

    second = place.start(is_new=True)

    assert not is_free(place.project, LEDGER)
    assert second.start.ledger == f"conductor/sessions/active/{second.agent}/LEDGER.md"
    assert place.read() == before


def test_an_empty_file_is_free_and_a_foreign_ledger_is_not(place: Place) -> None:
    assert is_free(place.project, LEDGER)
    place.write(" \n")
    assert is_free(place.project, LEDGER)
    place.write(
        "---\nupdated: 2026-01-11T12:00:00Z\nsession_id: T-abc\nplatform: amp\n---\n# Session Ledger\n"
    )
    assert not is_free(place.project, LEDGER)


@pytest.mark.requirement("C119")
@pytest.mark.parametrize("text", ["", "---\nplatform: claude\n---\n# Session Ledger\n"])
def test_a_ledger_that_git_tracks_is_not_free_and_not_archived(place: Place, text: str) -> None:
    place.write(text)
    place.repository.commit([LEDGER], "theirs")

    account = place.say(place.start(), FactKind.DONE, "mine").account

    assert account.start.ledger == f"conductor/sessions/active/{account.agent}/LEDGER.md"
    assert place.read() == text


@pytest.mark.requirement("C119")
def test_members_of_a_state_file_that_git_tracks_are_not_kept(place: Place) -> None:
    account = place.start()
    place.edit('"tddPhase": null', '"tddPhase": null, "owner": "them"', STATE)
    place.say(account, FactKind.DONE, "a")
    assert '"owner": "them"' in place.read(STATE)
    place.repository.commit([STATE], "theirs")

    place.say(account, FactKind.DONE, "b")

    state = json.loads(place.read(STATE))
    assert ("owner" in state, state["agentId"]) == (False, account.agent)


@pytest.mark.requirement("C119")
@pytest.mark.parametrize("ledger", ["../out.md", ".git/config", "README.md", f"{LEDGER}/../../x/LEDGER.md"])
def test_a_ledger_that_a_journal_names_elsewhere_is_kept_in_its_folder(place: Place, ledger: str) -> None:
    start = SessionStart(checkout=place.project.root, ledger=ledger)
    write_fact(place.project, "s-1", make_start(start, place.project.now(), "../../.git/x"))
    account = read_account(place.project, "s-1")

    place.say(account, FactKind.DONE, "mine")

    written = [path for path in place.documents.list("") if not path.endswith(".gitignore")]
    assert len(written) == 2
    assert account.start.ledger in written
    assert fnmatch(account.start.ledger, "conductor/sessions/active/git-x-*/LEDGER.md")
    assert any(fnmatch(path, ".conductor/session-state_git-x-*.json") for path in written)


def test_a_ledger_that_cannot_be_written_is_reported_and_the_fact_is_safe(place: Place) -> None:
    class Full(MemoryDocuments):
        full = False

        def replace(
            self,
            path: str,
            data: bytes,
            *,
            local: bool = False,
            expected: bytes | None = None,
            durable: bool = True,
        ) -> None:
            if self.full:
                raise StorageError("could not write: no space", hint="Free some.")
            super().replace(path, data, local=local, expected=expected, durable=durable)

    documents = Full()
    project = with_parts(place, documents=documents)
    account = replace(place, project=project).start()
    documents.full = True

    kept = update_ledger(project, account, [NewFact(FactKind.DONE, "a")])

    assert [(one.problem, one.hint) for one in kept.problems] == [("could not write: no space", "Free some.")]
    assert done(place, account) == ["a"]


def test_a_ledger_that_is_a_folder_is_reported(place: Place) -> None:
    account = place.start()
    bare = with_parts(place, documents=MemoryDocuments({f"{LEDGER}/x": b""}))

    assert update_ledger(bare, account).problems
    assert read_ledger(bare, account).problems


def test_what_else_stands_in_the_state_file_stays(place: Place) -> None:
    account = place.start()
    place.edit('"tddPhase": null', '"tddPhase": null, "owner": "me"', STATE)

    place.pass_time(seconds=9)
    place.say(account, FactKind.DONE, "a")

    state = json.loads(place.read(STATE))
    assert (state["owner"], state["lastUpdated"]) == ("me", "2026-01-11T12:00:09Z")


def test_a_state_file_that_is_none_is_written_anew(place: Place) -> None:
    account = place.start()
    place.write("{ torn", STATE)

    place.say(account, FactKind.DONE, "a")

    assert json.loads(place.read(STATE))["agentId"] == account.agent


def test_nothing_is_written_where_nothing_changed(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    sealed = MemoryDocuments({path: place.documents.read(path) for path in place.documents.list("")})

    def refuse(
        path: str, data: bytes, *, local: bool = False, expected: bytes | None = None, durable: bool = True
    ) -> None:
        raise AssertionError(path, data, local, expected, durable)

    sealed.replace = refuse  # type: ignore[method-assign]

    assert update_ledger(with_parts(place, documents=sealed), account).problems == ()


_VERBS = (FactKind.GOAL, FactKind.NOW, FactKind.DONE, FactKind.QUESTION, FactKind.CONSTRAINT, FactKind.NOTE)


@pytest.mark.requirement("C6")
def test_unknown_sections_and_keys_survive_a_thousand_verbs(place: Place) -> None:
    account = place.start()
    place.edit("platform: generic\n", "platform: generic\nx-owner: someone # who\ndeep:\n  inner: 1\n")
    place.edit("## Open Questions\n", "## Wild Ideas\n\n- one\n  - deeper\n\n> quoted\n\n## Open Questions\n")
    place.edit("### Next\n", "### Blocked\n- by the weather\n\n### Next\n")
    count = proof_count(fast=60, ci=1_000, long=1_000)
    texts = (*NASTY_LINES, *NASTY_BLOCKS)

    for number in range(count):
        kind, text = _VERBS[number % len(_VERBS)], texts[number % len(texts)]
        kept = place.say(account, kind, text)
        assert (kept.problems, kept.edits) == ((), 0), text

    text = place.read()
    assert "x-owner: someone # who\ndeep:\n  inner: 1\n" in text
    assert "## Wild Ideas\n\n- one\n  - deeper\n\n> quoted\n" in text
    assert "### Blocked\n- by the weather\n" in text
    assert parse_ledger(text).journal_seq == count + 1


@settings(max_examples=proof_count(fast=15, ci=100, long=2_000))
@given(data=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_a_person_leaves_in_the_ledger_no_fact_is_lost(data: bytes) -> None:
    place = make_place()
    account = place.say(place.start(), FactKind.DONE, "before").account
    text = place.documents.read(LEDGER)
    middle = len(text) // 2
    damaged = text[:middle] + data + text[middle:]
    place.documents.replace(LEDGER, damaged)

    kept = place.say(account, FactKind.DONE, "after")

    assert "after" in done(place, account)
    if kept.problems:
        assert place.documents.read(LEDGER) == damaged


def displace(place: Place, data: bytes, path: str = LEDGER) -> None:
    """Let the ledger be replaced while somebody saves this text."""
    shown = place.documents.read(path)
    place.documents.replace(path, data)
    place.documents.replace(path, shown, expected=shown)


@pytest.mark.requirement("R1")
def test_what_was_displaced_is_taken_in_once_and_its_notes_stay(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    edited = place.read().replace("### Done\n", "### Done\n- by hand\n") + "\nA note.\n"
    displace(place, edited.encode())

    kept = place.say(account, FactKind.DONE, "b")

    assert (kept.problems, kept.edits, done(place, account)) == ((), 1, ["a", "by hand", "b"])
    assert place.read().endswith("\nA note.\n")
    assert place.say(account, FactKind.RETRACTION, "by hand", "done").edits == 0
    displace(place, edited.encode())  # an editor saves what it has once more
    assert place.say(account, FactKind.DONE, "c").edits == 0
    assert done(place, account) == ["a", "b", "c"]


@pytest.mark.requirement("R1")
def test_what_an_editor_saves_just_before_the_exchange_is_taken_in_at_once(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    texts = {path: place.documents.read(path) for path in place.documents.list("")}

    class Saved(MemoryDocuments):
        """Documents into which an editor saves once, between our last look and the exchange."""

        waiting = True

        def replace(
            self,
            path: str,
            data: bytes,
            *,
            local: bool = False,
            expected: bytes | None = None,
            durable: bool = True,
        ) -> None:
            if self.waiting and path == LEDGER and expected is not None:
                self.waiting = False
                super().replace(path, expected.replace(b"### Done\n", b"### Done\n- by hand\n"))
            super().replace(path, data, local=local, expected=expected, durable=durable)

    saved = with_parts(place, documents=Saved(texts))

    kept = update_ledger(saved, account, [NewFact(FactKind.DONE, "b")])

    assert (kept.problems, kept.edits) == ((), 1)
    assert sorted(done(place, account)) == ["a", "b", "by hand"]
    assert b"- by hand\n" in saved.documents.read(LEDGER)


@pytest.mark.requirement("R1")
def test_what_was_displaced_and_cannot_be_read_is_put_back(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    place.edit("### Done\n", "### Done\n- by hand\n")
    displace(place, b"\xff")

    kept = place.say(account, FactKind.DONE, "b")

    assert [problem.problem for problem in kept.problems] == ["is not UTF-8 text"]
    assert (place.documents.read(LEDGER), done(place, account)) == (b"\xff", ["a", "by hand", "b"])
    place.write("")
    kept = place.say(account, FactKind.DONE, "c")
    assert (kept.problems, place.documents.displaced(LEDGER)) == ((), [])
    assert all(f"- {text}\n" in place.read() for text in ("a", "by hand", "b", "c"))


def test_what_was_displaced_waits_while_the_ledger_cannot_be_read(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    displace(place, place.read().replace("### Done\n", "### Done\n- by hand\n").encode())
    place.documents.replace(LEDGER, b"\xff")

    assert place.say(account, FactKind.DONE, "b").problems
    assert done(place, account) == ["a", "by hand", "b"]
    assert len(place.documents.displaced(LEDGER)) == 1


@pytest.mark.requirement("R1")
def test_a_late_edit_of_a_session_that_ended_goes_into_its_own_journal(place: Place) -> None:
    first = place.say(place.start(), FactKind.DONE, "a").account
    end_session(place.project, first)
    edited = place.read().replace("### Done\n", "### Done\n- by hand\n").encode()
    second = place.start(is_new=True, is_fresh=True)
    place.documents.replace(LEDGER, edited)
    mine = replace(second, start=replace(second.start, ledger=LEDGER))
    place.documents.replace(LEDGER, b"", expected=b"")

    update_ledger(place.project, mine, [NewFact(FactKind.DONE, "b")])

    assert (done(place, first), done(place, second)) == (["a", "by hand"], ["b"])
    assert "by hand" not in place.read()
    assert place.documents.displaced(LEDGER) == []


@pytest.mark.requirement("R1")
def test_a_start_takes_in_what_nobody_opens_again(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    edited = place.read().replace("### Done\n", "### Done\n- by hand\n").encode()
    displace(place, edited)

    record_displaced(place.project)

    assert done(place, account) == ["a", "by hand"]
    assert place.documents.displaced(LEDGER) == [edited]  # the next rendering adds its notes
    place.write("---\nsession_id: s-000000000099\n---\n# Session Ledger\n")
    record_displaced(place.project)
    assert place.documents.displaced(LEDGER) == []
    place.documents.replace(LEDGER, edited)
    place.documents.replace(LEDGER, b"", expected=b"")
    assert place.documents.remove(LEDGER, b"")
    record_displaced(place.project)
    assert (place.documents.read(LEDGER), place.documents.displaced(LEDGER)) == (edited, [])


def test_what_belongs_to_no_session_waits_while_there_is_a_ledger(place: Place) -> None:
    place.start()
    displace(place, b"\xff")

    record_displaced(place.project)

    assert place.documents.displaced(LEDGER) == [b"\xff"]
