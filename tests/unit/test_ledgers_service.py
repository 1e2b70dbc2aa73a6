"""Ledgers are kept: edits are taken in, what cannot be read is left alone, nothing that was said is lost."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passdown.core.accounts import Account
from passdown.core.bookkeeping import MAX_CHARS, Said
from passdown.core.facts import FactKind
from passdown.core.ledgers import Ledger, parse_ledger
from passdown.engines.memory.documents import MemoryDocuments
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.journals import read_account, say
from passdown.services.ledgers import is_free, keep_ledger, read_ledger
from passdown.services.sessions import end_session
from tests.formats.strategies import NASTY_BLOCKS, NASTY_LINES
from tests.proof import proof_count
from tests.sessions import LEDGER, Place, make_place, with_checkout

STATE = ".conductor/session-state_generic-00000001.json"


@pytest.fixture
def place() -> Place:
    """Give an empty project."""
    return make_place()


def done(place: Place, account: Account) -> list[str]:
    return [entry.text for entry in read_account(place.project, account.session).of(FactKind.DONE)]


@pytest.mark.requirement("R2", "R3", "R4", "R6", "R7", "R17", "R217", "R218", "R219")
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

    kept = keep_ledger(place.project, account)

    assert (kept.edits, kept.account.goal and kept.account.goal.text) == (1, "h")
    assert keep_ledger(place.project, kept.account).edits == 0


@pytest.mark.requirement("R1")
def test_a_ledger_that_was_deleted_comes_back(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    bare = with_checkout(place, documents=MemoryDocuments())

    kept = keep_ledger(bare, account)

    assert (kept.edits, kept.problems) == (0, ())
    assert parse_ledger(bare.checkout.documents.read(LEDGER).decode()).done == ("a",)


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
    say(place.project, account, Said(FactKind.DONE, "cut off after its journal line"))
    place.edit("- a\n", "- a\n- by hand\n")

    kept = keep_ledger(place.project, account)

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

    kept = keep_ledger(place.project, account)

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

    def read(self, path: str) -> bytes:
        """Give the content, then change it."""
        data = super().read(path)
        if path == LEDGER and self.count < self.times:
            self.count += 1
            text = data.decode().replace("### Done\n", f"### Done\n- edit {self.count}\n")
            self.replace(path, text.encode())
        return data


def test_an_edit_between_reading_and_writing_is_taken_in(place: Place) -> None:
    documents = Edited(0)
    project = with_checkout(place, documents=documents)
    account = replace(place, project=project).start()
    documents.times = 1

    kept = keep_ledger(project, account, [Said(FactKind.DONE, "said")])

    assert (kept.problems, kept.edits, done(place, account)) == ((), 1, ["said", "edit 1"])
    assert "- edit 1\n" in documents.read(LEDGER).decode()


def test_a_ledger_that_changes_all_the_time_is_left_alone(place: Place) -> None:
    documents = Edited(0)
    project = with_checkout(place, documents=documents)
    account = replace(place, project=project).start()
    documents.times = 99

    kept = keep_ledger(project, account, [Said(FactKind.DONE, "said")])

    assert [problem.problem for problem in kept.problems] == ["changes all the time"]
    assert "said" in done(place, account)


def test_a_ledger_that_breaks_between_reading_and_writing_is_left_alone(place: Place) -> None:
    class Breaking(MemoryDocuments):
        broken = False

        def read(self, path: str) -> bytes:
            data = super().read(path)
            if path == LEDGER and self.broken:
                self.replace(path, b"\xff")
            return data

    documents = Breaking()
    project = with_checkout(place, documents=documents)
    account = replace(place, project=project).start()
    documents.broken = True

    kept = keep_ledger(project, account, [Said(FactKind.DONE, "said")])

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
    assert keep_ledger(here.project, kept.account).edits == 0
    assert "- said elsewhere\n" in here.read()
    assert done(there, theirs) == []


def test_the_ledger_of_another_session_is_not_overwritten_while_that_has_not_ended(place: Place) -> None:
    first = place.say(place.start(), FactKind.DONE, "mine").account
    before = place.read()
    second = place.start(is_new=True)
    stray = replace(second, start=replace(second.start, ledger=LEDGER))

    kept = keep_ledger(place.project, stray, [Said(FactKind.DONE, "theirs")])

    assert [problem.field for problem in kept.problems] == ["session_id"]
    assert (place.read(), done(place, second), done(place, first)) == (before, ["theirs"], ["mine"])


def test_a_session_that_is_none_of_ours_owns_its_ledger(place: Place) -> None:
    account = place.start()
    place.edit(f"session_id: {account.session}\n", "session_id: T-Other/../x\n")

    kept = place.say(account, FactKind.DONE, "a")

    assert [problem.problem for problem in kept.problems] == ["is that of another session, T-Other/../x"]


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


def test_a_ledger_that_cannot_be_written_is_reported_and_the_fact_is_safe(place: Place) -> None:
    class Full(MemoryDocuments):
        full = False

        def replace(self, path: str, data: bytes, *, local: bool = False) -> None:
            if self.full:
                raise StorageError("could not write: no space", hint="Free some.")
            super().replace(path, data, local=local)

    documents = Full()
    project = with_checkout(place, documents=documents)
    account = replace(place, project=project).start()
    documents.full = True

    kept = keep_ledger(project, account, [Said(FactKind.DONE, "a")])

    assert [(one.problem, one.hint) for one in kept.problems] == [("could not write: no space", "Free some.")]
    assert done(place, account) == ["a"]


def test_a_ledger_that_is_a_folder_is_reported(place: Place) -> None:
    account = place.start()
    bare = with_checkout(place, documents=MemoryDocuments({f"{LEDGER}/x": b""}))

    assert keep_ledger(bare, account).problems
    assert read_ledger(bare, account).problems


def test_what_else_stands_in_the_state_file_stays(place: Place) -> None:
    account = place.start()
    place.edit('"tddPhase": null', '"tddPhase": "RED", "owner": "me"', STATE)

    place.pass_time(seconds=9)
    place.say(account, FactKind.DONE, "a")

    state = json.loads(place.read(STATE))
    assert (state["tddPhase"], state["owner"], state["lastUpdated"]) == ("RED", "me", "2026-01-11T12:00:09Z")


def test_a_state_file_that_is_none_is_written_anew(place: Place) -> None:
    account = place.start()
    place.write("{ torn", STATE)

    place.say(account, FactKind.DONE, "a")

    assert json.loads(place.read(STATE))["agentId"] == account.agent


def test_nothing_is_written_where_nothing_changed(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    sealed = MemoryDocuments({path: place.documents.read(path) for path in place.documents.list("")})

    def refuse(path: str, data: bytes, *, local: bool = False) -> None:
        raise AssertionError(path, data, local)

    sealed.replace = refuse  # type: ignore[method-assign]

    assert keep_ledger(with_checkout(place, documents=sealed), account).problems == ()


_VERBS = (FactKind.GOAL, FactKind.NOW, FactKind.DONE, FactKind.QUESTION, FactKind.CONSTRAINT, FactKind.NOTE)


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
