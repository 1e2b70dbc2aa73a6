"""What is kept of a transcript, and whose it is."""

import json
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from passdown.core.formats.history import HistoryEntry, HistoryHead
from passdown.core.hosts import past_sessions
from passdown.core.hosts.past_sessions import (
    TEXT_CHARS,
    PastEntries,
    TranscriptOrigin,
    days_left,
    file_name,
    find_own_root,
    is_same_remote,
    make_entries,
    make_head,
    read_origin,
)
from passdown.core.hosts.transcripts import Observation, read_piece
from passdown.core.kinds import FactKind
from passdown.hosts import HOSTS
from passdown.hosts.claude import history as claude
from passdown.hosts.codex import history as codex
from passdown.hosts.copilot import history as copilot

pytestmark = pytest.mark.requirement("C134")

AT: Final = "2026-01-11T12:00:00.000Z"
TOKEN: Final = "ghp_" + "0123456789abcdefghijABCDEFGHIJ0123Zx"


def see(kind: FactKind, text: str, code: int | None = None, status: str = "", time: str = AT) -> Observation:
    """Observe something."""
    return Observation(kind, text, "", code, status, time)


def texts(*seen: Observation, roots: tuple[str, ...] = ("/p",)) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in make_entries(seen, roots).entries]


def test_only_what_was_said_and_done_is_kept() -> None:
    seen = [see(kind, f"text of {kind}") for kind in FactKind]

    assert {kind for kind, _ in texts(*seen)} == {"prompt", "words", "plan", "file", "command", "commit"}


def test_what_a_transcript_repeats_is_kept_once() -> None:
    prompt, words = see(FactKind.PROMPT, "go"), see(FactKind.WORDS, "done")
    file, run = see(FactKind.FILE, "/p/a.py"), see(FactKind.COMMAND, "make", 1)

    assert texts(prompt, prompt, words, run, words, run, file, file, prompt) == [
        ("prompt", "go"),
        ("words", "done"),
        ("command", "make"),
        ("command", "make"),
        ("file", "a.py"),
    ]
    assert texts(prompt, see(FactKind.PROMPT, "else"), prompt) == [
        ("prompt", "go"),
        ("prompt", "else"),
        ("prompt", "go"),
    ]
    plan = [see(FactKind.PLAN, "x", status=one) for one in ("pending", "pending", "completed", "<odd>")]
    assert [one.status for one in make_entries(plan, ()).entries] == ["pending", "completed", ""]


def test_files_are_named_from_the_root_and_others_in_full() -> None:
    assert texts(see(FactKind.FILE, "/p/src/a.py"), see(FactKind.FILE, "/else/b\n.py")) == [
        ("file", "src/a.py"),
        ("file", "/else/b\\u000a.py"),
    ]


def test_secrets_are_gone_before_a_text_is_cut() -> None:
    filler = "x" * (TEXT_CHARS - 20) + " "

    found = make_entries([see(FactKind.PROMPT, f"{filler}{TOKEN}"), see(FactKind.WORDS, "no secret")], ())

    assert found.redacted == ("github-pat",)
    assert len(found.entries[0].text) == TEXT_CHARS
    assert TOKEN[:8] not in found.entries[0].text
    assert found.entries[1].text == "no secret"


def test_a_session_that_says_too_much_is_cut_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_sessions, "MAX_CHARS", 250)

    found = make_entries([see(FactKind.PROMPT, f"number {one}") for one in range(5)], ())

    assert [one.text for one in found.entries] == ["number 0", "number 1"]
    assert found.left_out == 3


def test_the_head_says_what_a_session_is_about() -> None:
    base = HistoryHead(host="h", session="s", folder=f"/p/{TOKEN}")
    found = make_entries(
        [
            see(FactKind.WORDS, "hello"),
            see(FactKind.PROMPT, "fix\n the  login"),
            see(FactKind.PLAN, "a", time=""),
        ],
        (),
    )

    head = make_head(base, found)

    assert head.about == "fix the login"
    assert head.counts == (("words", 1), ("prompt", 1), ("plan", 1))
    assert head.started == head.ended == datetime(2026, 1, 11, 12, tzinfo=UTC)
    assert TOKEN not in head.folder
    assert make_head(base, PastEntries(entries=())).about == ""
    late = HistoryEntry(kind="words", text="x", at=datetime(2026, 2, 1, tzinfo=UTC))
    assert make_head(base, PastEntries(entries=(*found.entries, late))).ended == late.at


def test_the_head_names_the_files_of_the_project_only() -> None:
    names = ("/p/src/a.py", "/else/b.py", "C:\\else\\c.py", "\\\\server\\d.py", "docs/e.md")
    found = make_entries([see(FactKind.FILE, one) for one in names], ("/p",))

    head = make_head(HistoryHead(host="h", session="s"), found)

    assert head.files == ("src/a.py", "docs/e.md")
    assert head.counts == (("file", 5),)


@pytest.mark.parametrize("session", ["s-1", "37dd1487-cbb5-445b-ae8e-cc72aca90d02", "0"])
def test_a_plain_id_is_the_name_of_its_file(session: str) -> None:
    assert file_name(session) == session


def test_any_other_id_has_a_safe_name_of_its_own() -> None:
    odd = [
        "../../x",
        "A",
        "a/b",
        "a\\b",
        ".",
        "..",
        "",
        "con:1",
        "-rf",
        "a" * 101,
        "…",
        "\ud800",
        "a b",
        "a_b",
    ]
    names = [file_name(one) for one in odd]

    assert len({name.lower() for name in names} | {"a"}) == len(odd) + 1
    for name in names:
        assert name.isascii()
        assert name[0].isalnum()
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
        assert len(name) < 100


def test_a_folder_belongs_to_the_innermost_root() -> None:
    roots = ["/p", "/p/wt", "/"]
    assert find_own_root("/p/src", roots) == "/p"
    assert find_own_root("/p/wt/src", roots) == "/p/wt"
    assert find_own_root("/p", roots) == "/p"
    assert find_own_root("/pp", ["/p"]) == ""
    assert find_own_root("/other", roots) == "/"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/team/shop",
        "https://user:word@Example.com:8443/team/shop.git/",
        "ssh://git@example.com/team/shop.git",
        "git@example.com:team/shop.git",
    ],
)
def test_a_remote_is_the_same_however_it_is_reached(url: str) -> None:
    assert is_same_remote(url, "git@example.com:team/shop")
    assert not is_same_remote(url, "git@example.com:team/shop2")
    assert not is_same_remote(url, "git@example.org:team/shop")
    assert not is_same_remote("", "")


def test_hosts_name_the_session_of_a_file() -> None:
    named = claude.STORE.identify
    assert named("-p/s-1.jsonl") == ("s-1", "")
    assert named("-p/s-1/subagents/agent-a.jsonl") == ("s-1-agent-a", "s-1")
    assert named("-p/s-1/subagents/deep/agent-a.jsonl") == ("s-1-agent-a", "s-1")
    assert [
        named(one)
        for one in ("s.jsonl", "-p/s.txt", "-p/.jsonl", "-p/s/else/a.jsonl", "-p/s/subagents/.jsonl")
    ] == [None] * 5
    named = codex.STORE.identify
    assert named("2026/11/15/rollout-2026-11-15T12-17-32-01a1.jsonl") == ("01a1", "")
    assert named("2026/11/15/rollout-odd.jsonl") == ("odd", "")
    assert named("2026/11/rollout-2026-11-15T12-17-32-01a1.jsonl") is None
    named = copilot.STORE.identify
    assert named("s-1/events.jsonl") == ("s-1", "")
    assert [named(one) for one in ("events.jsonl", "s-1/other.jsonl", "s/t/events.jsonl")] == [None] * 3


def test_a_transcript_says_where_its_session_worked() -> None:
    told = {"cwd": "/p", "git": {"repository_url": "u"}, "parent_thread_id": "x"}
    line = json.dumps({"type": "session_meta", "payload": told}).encode() + b"\n"
    assert read_origin(codex.STORE, b"\n{}\n" + line) == TranscriptOrigin("/p", "u", "x")
    assert read_origin(codex.STORE, line.removesuffix(b"\n")) is None
    assert read_origin(codex.STORE, b'{"type":"turn_context","payload":{"cwd":"/p"}}\n') is None
    assert read_origin(codex.STORE, b'{"type":"session_meta","payload":{"cwd":""}}\n') is None
    assert read_origin(claude.STORE, b'{"cwd":1}\n"cwd"\n{"cwd":"/c"}\n') == TranscriptOrigin("/c")
    start = b'{"type":"session.start","data":{"context":{"cwd":"/d"}}}\n'
    assert read_origin(copilot.STORE, start) == TranscriptOrigin("/d")
    assert read_origin(copilot.STORE, start.replace(b"start", b"else")) is None


def test_only_the_agent_s_own_words_are_read() -> None:
    store, reader = claude.STORE, HOSTS.find("claude").load_transcripts
    assert reader is not None
    lines = [
        b'{"type":"assistant","message":{"model":"m","content":[{"type":"thinking"},{"type":"text","text":"said"}]}}',
        b'{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"host"}]}}',
        b'{"type":"user","x":"\\"type\\":\\"assistant\\"","message":{"content":[{"type":"text","text":"mine"}]}}',
    ]
    seen = read_piece(reader(), b"\n".join(lines) + b"\n", messages=store.messages).seen
    assert [(one.kind, one.text) for one in seen] == [("words", "said"), ("prompt", "mine")]


def test_a_host_deletes_what_is_older_than_its_settings_say() -> None:
    kept = claude.STORE.kept_days
    assert kept is not None
    assert [kept(one) for one in ({}, {"cleanupPeriodDays": 7}, {"cleanupPeriodDays": 0}, None)] == [
        30,
        7,
        30,
        30,
    ]
    assert kept({"cleanupPeriodDays": "7"}) == 30
    now = datetime(2026, 1, 31, tzinfo=UTC)
    assert days_left(now - timedelta(days=20), now, 30) == 10
    assert days_left(now - timedelta(days=40), now, 30) == 0
