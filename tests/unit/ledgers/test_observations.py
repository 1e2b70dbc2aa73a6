"""What was seen becomes facts that are new, each told once."""

import pytest

from passdown.core.briefs.budgets import Budget
from passdown.core.facts import (
    AIM_CHARS,
    PROMPTED,
    Provenance,
    command_of,
    has_failed,
    is_inside,
    may_leave,
    show_test,
)
from passdown.core.formats.journal import NOT_PUBLISHED
from passdown.core.hosts.observations import (
    NewObservation,
    ObservationContext,
    find_new_facts,
    from_root,
    refs_of,
)
from passdown.core.hosts.transcripts import Observation
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import MOST_READS, NewFact, find_edits, show_ledger
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import Account, fold_journal, only_shared
from passdown.ports.index import EVERY
from passdown.records import replace
from passdown.services.handover.briefs import make_brief
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.publications import publish
from tests.support.sessions import in_order, make_line, make_place, show_time

ON = ObservationContext(roots=("/p", "/private/p"), own=("conductor/active", ".conductor"))
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def account_of(*facts: tuple[str, ...]) -> Account:
    return fold_journal("s-1", in_order(("start",), *facts))


def said(told: object) -> list[tuple[str, ...]]:
    return [
        tuple(part for part in (one.said.kind, one.said.text, one.said.key, one.said.because) if part)
        for one in told  # type: ignore[attr-defined]
    ]


def see(kind: FactKind, text: str, ref: str = "", **more: object) -> Observation:
    return Observation(kind, text, ref, **more)  # type: ignore[arg-type]  # a test knows what it sees


def test_nothing_seen_is_nothing_told() -> None:
    assert find_new_facts(Account(), (), (), ON) == []


def test_what_a_line_names_is_not_told_again() -> None:
    lines = [
        make_line(1, "test", "pytest", others=(("ref", '"a"'), ("other", "3"))),
        make_line(2, "file", others=(("ref", "4"),)),
    ]
    seen = [see(FactKind.TEST, "pytest", name, exit=code) for name, code in (("a", 0), ("b", 1), ("b", 1))]

    assert refs_of(lines) == {"a"}
    assert find_new_facts(Account(), refs_of(lines), seen, ON) == [
        NewObservation(NewFact(FactKind.TEST, "pytest", "1"), "b")
    ]


@pytest.mark.requirement("C121")
def test_files_are_told_each_time_by_their_paths_from_the_root() -> None:
    known = account_of(("file", "known.py"))
    paths = ("/p/a.py", "/p/./x/../a.py", "/private/p/b/c.py", "/p/known.py", "/p", "/etc/passwd", "/p/../q")
    own = ("/p/.git/config", "/p/conductor/active/LEDGER.md", "/p/.conductor/x", "/p/.conductors")
    seen = [see(FactKind.FILE, path) for path in (*paths, *own)] + [see(FactKind.READ, "C:\\p\\a.py")]

    told = find_new_facts(known, (), seen, ON)

    assert said(told) == [
        ("file", "a.py"),
        ("file", "a.py"),
        ("file", "b/c.py"),
        ("file", "known.py"),
        ("file", ".conductors"),
    ]
    assert [one.said.others for one in told] == [(), (("edits", "2"),), (), (("edits", "2"),), ()]
    assert from_root("C:\\p\\a.py", ["C:/p"]) == "a.py"
    assert from_root("/p/a", ["", "/"]) is None


def test_a_command_is_told_once_for_each_exit_code_and_a_test_each_time() -> None:
    known = account_of(("command", "ls", "0"))
    seen = [
        see(FactKind.COMMAND, "ls", exit=0),
        see(FactKind.COMMAND, "ls", exit=2),
        see(FactKind.COMMAND, "ls", exit=2),
        see(FactKind.COMMAND, "ls"),
        see(FactKind.COMMAND, "ls"),
        see(FactKind.TEST, "pytest", exit=1),
        see(FactKind.TEST, "pytest", exit=1),
    ]

    assert said(find_new_facts(known, (), seen, ON)) == [
        ("command", "ls", "2"),
        ("command", "ls"),
        ("test", "pytest", "1"),
        ("test", "pytest", "1"),
    ]


def test_an_item_of_a_plan_is_told_as_it_gets_on() -> None:
    known = account_of(("plan", "a", "", "pending"))
    seen = [
        see(FactKind.PLAN, "a", status="pending"),
        see(FactKind.PLAN, "a", status="completed"),
        see(FactKind.PLAN, "a", status="completed"),
        see(FactKind.PLAN, "b", status="pending"),
    ]

    assert said(find_new_facts(known, (), seen, ON)) == [("plan", "a", "completed"), ("plan", "b", "pending")]


def test_a_commit_that_git_has_too_is_verified_and_told_by_its_whole_id() -> None:
    on = ObservationContext(roots=("/p",), commits=("f" * 40, COMMIT), files=("z.py", ".git/x"))
    seen = [see(FactKind.COMMIT, COMMIT[:7]), see(FactKind.COMMIT, "aaaaaaa"), see(FactKind.COMMIT, "abc")]

    told = find_new_facts(account_of(("commit", "f" * 12)), (), seen, on)

    assert [(one.said.text, one.provenance.value) for one in told] == [
        ("z.py", "observed"),
        (COMMIT, "verified"),
        ("aaaaaaa", "observed"),
        ("abc", "observed"),
    ]


def test_a_commit_that_only_git_tells_of_is_observed() -> None:
    on = ObservationContext(roots=("/p",), commits=(COMMIT,))

    assert find_new_facts(Account(), (), (), on) == [
        NewObservation(NewFact(FactKind.COMMIT, COMMIT), f"git {COMMIT}")
    ]


@pytest.mark.requirement("C60")
def test_where_nobody_says_them_goal_and_now_are_prompts() -> None:
    long = "Do this. " * 100
    first = find_new_facts(
        Account(), (), [see(FactKind.PROMPT, long), see(FactKind.PROMPT, "b"), see(FactKind.PROMPT, "b")], ON
    )

    assert said(first)[2:] == [("prompt", long), ("prompt", "b")]
    goal, now = first[:2]
    assert (goal.said.kind, now.said) == (FactKind.GOAL, NewFact(FactKind.NOW, "b", PROMPTED))
    assert (len(goal.said.text), goal.said.text[-1], goal.said.key) == (AIM_CHARS, "…", PROMPTED)


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ([("goal", "g")], ["now"]),
        ([("goal", "g"), ("now", "n")], []),
        ([("prompt", "a")], ["now"]),
        ([("prompt", "b")], []),
    ],
)
def test_what_was_stated_stays_and_a_goal_is_made_once(
    facts: list[tuple[str, ...]], wanted: list[str]
) -> None:
    told = find_new_facts(account_of(*facts), (), [see(FactKind.PROMPT, "b")], ON)

    assert [one.said.kind.value for one in told if one.said.kind is not FactKind.PROMPT] == wanted


def test_a_last_prompt_takes_the_place_of_the_one_before() -> None:
    line = make_line(1, "now", "a", PROMPTED, provenance=Provenance.OBSERVED)
    told = find_new_facts(fold_journal("s-1", [line]), (), [see(FactKind.PROMPT, "b")], ON)

    assert ("now", "b", PROMPTED) in said(told)


def test_the_command_of_a_test_does_not_tell_where_the_project_lies() -> None:
    on = ObservationContext(roots=("/p", "/"))
    seen = [see(FactKind.TEST, "/p/.venv/bin/pytest /p/tests /usr/p", exit=0)]

    assert said(find_new_facts(Account(), (), seen, on)) == [("test", ".venv/bin/pytest tests /usr/p", "0")]


def test_what_moves_the_cursor_is_told_as_an_escape() -> None:
    seen = [see(FactKind.FILE, "/p/a\nb.py"), see(FactKind.TEST, "pytest \x1b[31m", exit=0)]

    assert said(find_new_facts(Account(), (), seen, ON)) == [
        ("file", "a\\u000ab.py"),
        ("test", "pytest \\u001b[31m", "0"),
    ]


# --- what leaves the machine ----------------------------------------------------------------------


PRIVATE = [
    make_line(2, "prompt", "SECRET-prompt", provenance=Provenance.OBSERVED),
    make_line(3, "goal", "SECRET-goal", PROMPTED, provenance=Provenance.OBSERVED),
    make_line(4, "now", "SECRET-now", PROMPTED, provenance=Provenance.OBSERVED),
    make_line(5, "command", "SECRET-command", "0", provenance=Provenance.OBSERVED),
    make_line(6, "plan", "SECRET-plan", provenance=Provenance.OBSERVED),
    make_line(7, "read", "SECRET-read", provenance=Provenance.OBSERVED),
    make_line(8, "note", "SECRET-note"),
    make_line(9, "bookmark", "SECRET-bookmark", others=(("mark", '{"offset":7}'),)),
    make_line(10, "file", "/SECRET-outside", provenance=Provenance.OBSERVED),
]
PUBLIC = [
    make_line(11, "file", "a.py", provenance=Provenance.OBSERVED),
    make_line(12, "test", "pytest", "1", provenance=Provenance.OBSERVED),
    make_line(13, "test", "make test", provenance=Provenance.OBSERVED),  # nobody knows its result
    make_line(14, "commit", COMMIT, provenance=Provenance.VERIFIED),
]
START = make_line(1, "start")


@pytest.mark.requirement("C61")
def test_an_event_says_what_may_leave_the_machine_and_nothing_else() -> None:
    lines = [START, *PRIVATE, *PUBLIC]
    event = make_event(fold_journal("s-1", lines), lines, NOT_PUBLISHED, kind="checkpoint", reason="turn")

    assert event is not None
    assert "SECRET" not in repr(event)
    assert event.files_modified == ("a.py",)
    assert event.receipts == ("pytest: exit 1", COMMIT)
    told = " ".join(pair.value for pair in event.origins)
    assert (told.count("observed"), told.count("verified")) == (2, 1)


def test_what_stays_on_the_machine_is_not_worth_an_event() -> None:
    account = fold_journal("s-1", PRIVATE)
    assert make_event(account, PRIVATE, NOT_PUBLISHED, kind="checkpoint", reason="turn") is None


def test_an_account_for_others_holds_nothing_that_stays() -> None:
    account = fold_journal("s-1", [START, *PRIVATE, *PUBLIC])
    shared = only_shared(account)

    assert account.bookmarks == {"SECRET-bookmark": '{"offset":7}'}
    assert "SECRET" in repr(account)
    assert "SECRET" not in repr(shared)
    assert [entry.text for entry in shared.of(FactKind.FILE)] == ["a.py"]
    stated = fold_journal("s-1", in_order(("goal", "g"), ("now", "n"), ("file", "/etc/hosts")))
    assert only_shared(stated) == stated


def test_a_stated_goal_and_a_carried_one_leave() -> None:
    carried = make_line(1, "goal", "g", provenance=Provenance.OBSERVED)

    assert may_leave(carried.fact)
    assert not may_leave(PRIVATE[1].fact)


@pytest.mark.parametrize("path", ["/a", "\\a", "../a", "..", "~/a", "C:/a"])
def test_a_path_that_leads_out_is_not_inside(path: str) -> None:
    assert not is_inside(path)
    assert is_inside("..a/b")


@pytest.mark.parametrize("code", ["", "0", "137", "?"])
def test_a_test_is_known_by_its_command_whatever_its_exit_code(code: str) -> None:
    assert command_of(show_test("make: exit test", code)) == "make: exit test"
    assert command_of("pushed to main") == "pushed to main"
    assert command_of(": exit 3") == ": exit 3"


def test_a_test_has_failed_when_it_did_not_end_with_nought() -> None:
    receipts = ("pytest: exit 1", "pytest: exit 0", "pytest: exit 00", "pytest", "exit 1", ": exit 3")

    assert [text for text in receipts if has_failed(text)] == ["pytest: exit 1"]


def test_of_one_test_only_the_last_exit_code_is_in_the_view() -> None:
    place = make_place()
    account = place.start()
    for code in ("1", "0"):
        place.pass_time(seconds=1)
        place.say(account, FactKind.TEST, "pytest", code)
        publish(place.project, account.session, kind="checkpoint", reason="asked")

    receipts = place.project.index.digest(EVERY).kinds[FactKind.RECEIPT].facts

    assert [fact.text for fact in receipts] == ["pytest: exit 0"]


def test_a_test_that_was_seen_is_told_as_observed_from_its_event() -> None:
    place = make_place()
    account = place.start()
    update_ledger(
        place.project, account, [NewFact(FactKind.TEST, "pytest", "1")], provenance=Provenance.OBSERVED
    )
    open_ = make_brief(place.project, account, Budget(), "0123abcd").text
    publish(place.project, account.session, kind="checkpoint", reason="asked")
    published = make_brief(place.project, None, Budget(), "0123abcd").text

    for text in (open_, published):
        assert "observed) > failed: pytest: exit 1\n" in text


# --- the ledger -----------------------------------------------------------------------------------


def test_a_ledger_shows_all_files_that_were_named_and_the_last_that_were_seen_to_be_read() -> None:
    named = make_line(1, "read", "named.md", because="why")
    seen = [make_line(seq, "read", f"{seq}.md", provenance=Provenance.OBSERVED) for seq in range(2, 40)]
    account = fold_journal("s-1", [named, *seen])

    ledger = show_ledger(account, show_time)

    assert [one.path for one in ledger.read] == ["named.md", *(f"{seq}.md" for seq in range(20, 40))]
    assert MOST_READS == 20
    assert find_edits(ledger, account, show_time) == []
    fewer = replace(ledger, read=ledger.read[1:])
    assert find_edits(fewer, account, show_time) == [NewFact(FactKind.RETRACTION, "named.md", "read")]


def test_as_long_as_nobody_names_next_steps_the_plan_does() -> None:
    plan = [("plan", "a", "", "completed"), ("plan", "b", "", "pending"), ("plan", "c", "", "deleted")]
    planned, named = account_of(*plan), account_of(*plan, ("next", "x"))

    assert show_ledger(planned, show_time).next == ("b",)
    assert show_ledger(named, show_time).next == ("x",)
    assert find_edits(show_ledger(planned, show_time), planned, show_time) == []
