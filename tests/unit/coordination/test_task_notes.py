"""The notes of a closed task are about this task (C149)."""

import pytest

from passdown.core.coordination.notes import find_stated, make_note, needs_task
from passdown.core.coordination.tasks import BLOCKED, COMPLETED, SKIPPED
from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import fold_journal
from tests.support.sessions import NOON

pytestmark = pytest.mark.requirement("C149")


def fact(kind: FactKind, text: str, key: str = "") -> Fact:
    """Make a fact."""
    return Fact(kind=kind.value, text=text, at=NOON, agent="amber", key=key)


STATED = (
    fact(FactKind.DECISION, "RS256", "signing"),
    fact(FactKind.DECISION, "one  table", "storage"),
    fact(FactKind.CONSTRAINT, "Ruled out: HS256: the key is shared"),
    fact(FactKind.CONSTRAINT, "Ruled out: cookies"),
    fact(FactKind.CONSTRAINT, "no new service"),
    fact(FactKind.NEXT, "refresh tokens"),
    fact(FactKind.NEXT, "docs"),
)
KnownTask = tuple[str, tuple[str, ...], tuple[Fact, ...]]
TASK: KnownTask = ("JWT model", ("tp-2", "tp-3"), STATED)
BARE: KnownTask = ("JWT model", (), ())


@pytest.mark.requirement("R182", "R183", "R184")
@pytest.mark.parametrize(
    ("reason", "text", "task", "note"),
    [
        (
            COMPLETED,
            "JWT auth",
            TASK,
            "COMPLETED: JWT auth\nKEY DECISION: signing: RS256; storage: one table\nNEXT: refresh tokens",
        ),
        (COMPLETED, "JWT auth", BARE, "COMPLETED: JWT auth"),
        (COMPLETED, "", BARE, "COMPLETED: JWT model"),
        (COMPLETED, " COMPLETED:  JWT\n auth", BARE, "COMPLETED: JWT auth"),
        (COMPLETED, "Completed the model", BARE, "COMPLETED: the model"),
        (COMPLETED, "completed", BARE, "COMPLETED: completed"),
        (COMPLETED, "COMPLETED: a\nKEY DECISION: b\nNEXT: c", TASK, "COMPLETED: a\nKEY DECISION: b\nNEXT: c"),
        (COMPLETED, "NEXT: c", BARE, "COMPLETED: JWT model\nNEXT: c"),
        (COMPLETED, "REASON: it works", BARE, "COMPLETED: REASON: it works"),
        (SKIPPED, "superseded", TASK, "SKIPPED: JWT model\nREASON: superseded"),
        (SKIPPED, "", BARE, "SKIPPED: JWT model"),
        (
            BLOCKED,
            "no key yet",
            TASK,
            "BLOCKED: no key yet\nWAITING ON: tp-2; tp-3\nTRIED: HS256: the key is shared; cookies",
        ),
        (
            BLOCKED,
            "blocked: no key\nwaiting on: ops",
            (*TASK[:2], ()),
            "BLOCKED: no key\nWAITING ON: ops",
        ),
        (BLOCKED, "", BARE, ""),
    ],
)
def test_a_note_has_what_was_said_and_what_is_known(
    reason: str, text: str, task: KnownTask, note: str
) -> None:
    assert make_note(reason, text, *task) == note


def test_only_a_completed_task_of_which_something_was_said_needs_nothing_of_the_tracker() -> None:
    assert [
        needs_task(*one) for one in ((COMPLETED, "x"), (COMPLETED, " "), (SKIPPED, "x"), (BLOCKED, "x"))
    ] == [
        False,
        True,
        True,
        True,
    ]


def test_only_what_was_stated_while_the_task_was_held_counts() -> None:
    facts = [
        fact(FactKind.DECISION, "before", "early"),
        fact(FactKind.CLAIM, "fence 1", "tp-1"),
        fact(FactKind.DECISION, "first time", "first"),
        fact(FactKind.CLAIM, "released", "tp-1"),
        fact(FactKind.DECISION, "in between", "between"),
        fact(FactKind.CLAIM, "fence 2", "tp-2"),
        fact(FactKind.CLAIM, "unfenced", "tp-1"),
        fact(FactKind.CONSTRAINT, "HS256"),
        fact(FactKind.DECISION, "replaced", "signing"),
        fact(FactKind.CLAIM, "fence 3", "tp-1"),
        fact(FactKind.DECISION, "RS256", "signing"),
        fact(FactKind.NEXT, "docs"),
    ]
    lines = [JournalLine(seq=seq, fact=one) for seq, one in enumerate(facts, 1)]
    account = fold_journal("s-1", lines)

    assert [one.text for one in find_stated("tp-1", lines, account)] == ["RS256", "HS256", "docs"]
    assert [one.key or one.text for one in find_stated("tp-2", lines, account)] == [
        "signing",
        "HS256",
        "docs",
    ]
    assert find_stated("tp-9", lines, account) == []
