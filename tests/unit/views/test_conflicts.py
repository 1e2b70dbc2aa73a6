"""Conflict markers of a merge: every reader says so, and none of them becomes a fact."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.documents.conflicts import MARKED, find_conflict, is_marker, refuse_conflict
from passdown.core.formats.ledgers import Ledger, parse_ledger, render_ledger
from passdown.core.formats.registry import ARCHIVE, EVENT, LEDGER, STREAM, VIEW, Format
from passdown.core.kinds import FactKind
from passdown.errors import FormatError, PassdownError
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.handoffs import HandoffRequest, create_handoff, list_handoffs, review_handoff
from passdown.services.sessions.journals import read_account
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import put
from tests.support.sessions import LEDGER as PATH
from tests.support.sessions import make_place

STREAM_PATH = "thoughts/shared/handoffs/auth/current.md"


def with_markers(text: str) -> str:
    """Put a conflict into a text, about its last line but one."""
    lines = text.split("\n")
    return "\n".join(
        [*lines[:-2], "<<<<<<< HEAD", lines[-2], "=======", "- theirs", ">>>>>>> 1a2b3c4", lines[-1]]
    )


@pytest.mark.requirement("C116")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n<<<<<<< HEAD\nb\n", 2),
        ("a\r\n<<<<<<<\r\nb\r\n", 2),
        (">>>>>>> 1a2b3c4 (a subject)", 1),
        ("\n\n||||||| base\n", 3),
        ("Heading\n=======\n", 0),
        ("- <<<<<<< HEAD\n", 0),
        ("<<<<<<<< eight\n", 0),
        ("<<<<<<<HEAD\n", 0),
        ("", 0),
    ],
)
def test_conflict_markers_are_found(text: str, line: int) -> None:
    assert find_conflict(text) == line


def test_the_divider_is_a_marker_only_beside_the_others() -> None:
    assert [
        line for line in ("<<<<<<< a", "||||||| b", "=======", ">>>>>>> c", "a") if not is_marker(line)
    ] == ["a"]
    refuse_conflict("a.md", "Heading\n=======\n")
    with pytest.raises(FormatError, match=r"a\.md:3: has merge conflict markers"):
        refuse_conflict("a.md", "Heading\n=======\n>>>>>>> c\n")


@pytest.mark.requirement("C116")
@pytest.mark.parametrize("known", [LEDGER, STREAM, EVENT, VIEW, ARCHIVE], ids=lambda known: known.name)
def test_check_names_conflict_markers(
    known: Format, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    put(call.folder, "document.md", with_markers(known.example()))

    done = call("check", "document.md")

    assert done.code == 1
    assert f"file: {MARKED}" in done.out


@given(
    st.sampled_from(["<<<<<<<", ">>>>>>>", "|||||||"]), st.sampled_from(["", " HEAD", "\tHEAD"]), st.text()
)
def test_what_we_write_never_looks_like_a_conflict(mark: str, name: str, before: str) -> None:
    said = f"{before}\n{mark}{name}\nafter".strip()
    fence = "```" in said or "~~~" in said

    text = render_ledger(Ledger(session_id="s", goal=said, done=(said,), now=said))

    assert fence or find_conflict(text) == 0
    assert fence or MARKED not in {one.problem for one in parse_ledger(text).problems}


@pytest.mark.requirement("C116")
def test_hand_edits_of_a_ledger_with_markers_are_not_journalled() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.DONE, "wrote the parser")
    place.edit(
        "- wrote the parser\n", "<<<<<<< ours\n- wrote the parser\n=======\n- broke it\n>>>>>>> theirs\n"
    )
    before = place.read()

    kept = place.say(account, FactKind.DONE, "tested it")

    assert [one.problem for one in kept.problems] == [MARKED]
    found = read_account(place.project, account.session)
    assert [one.text for one in found.of(FactKind.DONE)] == ["wrote the parser", "tested it"]
    assert place.read() == before


def test_a_ledger_with_markers_that_nobody_journalled_says_nothing() -> None:
    place = make_place()
    head = "---\nupdated: 2026-01-11T11:00:00Z\nsession_id: T-1\nplatform: amp\n---\n"
    text = f"{head}\n# Session Ledger\n\n## Goal\n\n"

    place.write(f"{text}<<<<<<< ours\nSail\n=======\nRow\n>>>>>>> theirs\n", PATH)
    assert read_brief_input(place.project, None).all() == ()

    place.write(f"{text}Sail\n", PATH)
    assert [fact.text for fact in read_brief_input(place.project, None).all()] == ["Sail"]


@pytest.mark.requirement("C116")
def test_a_handoff_with_markers_is_not_gone_on_from() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.GOAL, "sign in")
    written = create_handoff(place.project, account, HandoffRequest(stream="auth"))
    for path in (written.stream, written.record):
        place.write(with_markers(place.read(path)), path)

    for name in ("auth", written.record):
        with pytest.raises(FormatError, match=MARKED):
            review_handoff(place.project, name)
    assert {one.status for one in list_handoffs(place.project, 9)} == {"unreadable"}
    with pytest.raises(PassdownError, match=f"{STREAM_PATH}:[0-9]+: {MARKED}"):
        create_handoff(place.project, account, HandoffRequest(stream="auth"))


def test_settings_with_markers_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    put(call.folder, "passdown.toml", '[view]\n<<<<<<< HEAD\ncommit = "always"\n=======\n>>>>>>> side\n')

    assert f"passdown.toml:2: {MARKED}\n" in call("synthesize").err
    assert f"passdown.toml:2: {MARKED}" in call("doctor").out
    put(call.folder, "passdown.toml", "[view\n")
    assert "passdown.toml is not valid TOML" in call("synthesize").err
