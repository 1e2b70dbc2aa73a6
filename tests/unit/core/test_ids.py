"""Ids: our grammar, foreign ids kept and folded, names made from content."""

import re
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from passdown.core.ids import (
    EventName,
    clean_foreign,
    event_file_name,
    fact_id,
    fold_id,
    is_id,
    is_stream_name,
    kebab,
    make_agent,
    parse_event_file_name,
    slug,
)
from passdown.core.times import to_millis
from passdown.errors import FormatError

texts = st.text(max_size=100) | st.text("aAb-_.:/ 1é", max_size=80)
DEVICES = ["con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9"]
AT = datetime(2026, 1, 10, 13, 3, 52, 444_000, tzinfo=UTC)


@pytest.mark.parametrize("text", ["a", "0", "amber-4f2a9c1d", "a" * 64, "a-"])
def test_an_id_of_ours_is_known(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", "-a", "A", "a_b", "a.b", "../../a", "a\n", "a" * 65, "é", "\u0660"])
def test_anything_else_is_no_id(text: str) -> None:
    assert not is_id(text)


@pytest.mark.requirement("R13", "C55")
@pytest.mark.parametrize("text", ["T-abc", "auth_20251227", "my:3-xyz", "bd-12", "日本-1", "a\u200db"])
def test_foreign_ids_are_kept_verbatim(text: str) -> None:
    assert clean_foreign(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "  ", "a\nb", "a\rb", "a\x00", "\x1b[2J", "a\x85b", "a\u2028b", "a\u2029b", "\ud800", "x" * 257],
)
def test_foreign_ids_that_break_a_line_are_refused(text: str) -> None:
    with pytest.raises(FormatError) as refused:
        clean_foreign(text, "track")

    assert refused.value.field == "track"
    assert refused.value.hint
    assert refused.value.message.isprintable()


@pytest.mark.requirement("R13")
@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("T-abc", "t-abc"),
        ("auth_20251227", "auth-20251227"),
        ("my:3-xyz", "my-3-xyz"),
        ("../../etc/passwd", "etc-passwd"),
        ("日本", "id"),
        ("", "id"),
        ("con", "con"),
        ("x" * 65, "x" * 57),
    ],
)
def test_a_changed_name_carries_six_hex_of_the_original(text: str, stem: str) -> None:
    assert re.fullmatch(re.escape(stem) + "-[0-9a-f]{6}", fold_id(text))


@pytest.mark.requirement("R13")
@pytest.mark.parametrize("text", ["bd-12", "amber-4f2a9c1d", "a" * 64])
def test_a_safe_name_stays(text: str) -> None:
    assert fold_id(text) == text


@pytest.mark.requirement("C55")
@given(texts | st.sampled_from(DEVICES))
def test_folding_gives_a_safe_name_once_and_for_all(text: str) -> None:
    folded = fold_id(text)

    assert is_id(folded)
    assert folded not in DEVICES
    assert fold_id(folded) == folded


@given(texts, texts)
@example("T-abc", "t-abc")
@example("a_b", "a-b")
@example("é", "e\u0301")
def test_different_ids_fold_to_different_names(one: str, other: str) -> None:
    assume(one != other)

    assert fold_id(one) != fold_id(other)


@pytest.mark.requirement("C55")
@given(texts, st.binary(min_size=4, max_size=16))
def test_an_agent_is_a_nickname_and_eight_hex(nickname: str, random: bytes) -> None:
    agent = make_agent(nickname, random)

    assert is_id(agent)
    assert fold_id(agent) == agent
    assert agent.endswith("-" + random[:4].hex())


def test_a_nickname_is_folded_and_never_empty() -> None:
    assert make_agent("Änne's Host", b"\x01\x02\x03\x04") == "anne-s-host-01020304"
    assert make_agent("", b"\xff\x00\x00\x00") == "agent-ff000000"


def test_an_agent_needs_four_random_bytes() -> None:
    with pytest.raises(ValueError, match="4 random bytes"):
        make_agent("amber", b"abc")


@pytest.mark.requirement("R101", "G15", "C55")
def test_an_event_file_is_named_by_milliseconds_and_agent() -> None:
    assert event_file_name(AT, "amber-4f2a9c1d") == "2026-01-10T13-03-52.444Z_amber-4f2a9c1d.md"


@pytest.mark.requirement("R101")
@given(st.datetimes(timezones=st.just(UTC)), texts)
def test_an_event_file_name_is_read_back(at: datetime, agent: str) -> None:
    name = event_file_name(at, agent)

    assert ":" not in name
    assert parse_event_file_name(name) == EventName(at=to_millis(at), agent=fold_id(agent))


@pytest.mark.requirement("R101", "C55")
def test_the_shorter_event_names_of_the_seed_are_read() -> None:
    at = AT.replace(microsecond=0)

    assert parse_event_file_name("2026-01-10T13-03-52Z_toast.md") == EventName(at=at, agent="toast")
    assert parse_event_file_name("2026-01-10T13-03-52Z_a_b_C.md") == EventName(at=at, agent="a_b_C")


@pytest.mark.parametrize(
    "name",
    [
        "current.md",
        "2026-01-10T13-03-52Z_.md",
        "2026-01-10T13-03-52Z_toast.txt",
        "2026-01-10T13-03-52_toast.md",
        "2026-02-30T13-03-52Z_toast.md",
        "2026-01-10T13-03-52Z_a/b.md",
        "2026-01-10T13-03-52Z_a\nb.md",
        "2026-01-10T13-03-52Z_\udcff.md",
        "2026-01-10T13-03-52Z_toast.md\n",
    ],
)
def test_other_files_are_no_events(name: str) -> None:
    assert parse_event_file_name(name) is None


@given(st.sampled_from(["goal", "done"]), st.text())
def test_a_fact_is_named_by_its_normal_form(kind: str, text: str) -> None:
    name = fact_id(kind, text)

    assert re.fullmatch("[0-9a-f]{12}", name)
    assert fact_id(kind, unicodedata.normalize("NFD", text)) == name
    assert fact_id(kind, text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")) == name


def test_kind_and_text_both_name_a_fact() -> None:
    # The first twelve digits of: printf 'goal\nship it' | sha256sum
    assert fact_id("goal", "ship it") == "bca014bd9c63"
    assert fact_id("done", "ship it") != fact_id("goal", "ship it")


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("text", ["auth", "auth-refactor", "3-d", "a" * 64])
def test_stream_names_are_kebab_case(text: str) -> None:
    assert is_stream_name(text)
    assert kebab(text) == text


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("text", ["", "Auth", "a--b", "-a", "a-", "a_b", "a b", "a" * 65, "con", "a\n"])
def test_other_texts_are_no_stream_names(text: str) -> None:
    assert not is_stream_name(text)


@pytest.mark.requirement("R59")
@given(texts | st.sampled_from(DEVICES))
def test_any_text_can_be_made_a_stream_name(text: str) -> None:
    assert is_stream_name(kebab(text))


@pytest.mark.requirement("R59")
def test_words_are_joined_by_hyphens() -> None:
    assert kebab("Auth Refactor: résumé (v2)!") == "auth-refactor-resume-v2"
    assert re.fullmatch("stream-[0-9a-f]{6}", kebab("日本"))


@given(texts)
def test_a_key_is_short_snake_case(text: str) -> None:
    key = slug(text)

    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", key)
    assert len(key) <= 48


def test_a_key_ignores_case_accents_and_punctuation() -> None:
    assert slug("Use PostgreSQL, not MySQL.") == "use_postgresql_not_mysql"
    assert slug("USE  PostgreSQL: not mysql") == "use_postgresql_not_mysql"


@pytest.mark.requirement("C31")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use C++", "Use C"),
        ("Use C#", "Use C"),
        ("使用 Postgres", "放弃 Postgres"),
        (
            "keep the old endpoint for all of the clients of one",
            "keep the old endpoint for all of the clients of two",
        ),
        ("", "!"),
    ],
)
def test_different_decisions_keep_different_keys(one: str, other: str) -> None:
    assert slug(one) != slug(other)
