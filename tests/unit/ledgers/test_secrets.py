"""Secrets are found, a visible mark takes their place, and no text can make that slow."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.kinds import FactKind
from passdown.core.sessions.secret_rules import OWN_RULES, RULES
from passdown.core.sessions.secrets import (
    RedactedText,
    entropy_of,
    read_rules,
    redact,
    redact_account,
    redact_all,
    redact_lines,
)
from passdown.core.sessions.session_facts import Account, fold_journal
from tests.pace import works_within
from tests.support.sessions import in_order

# Put together here, so that no scanner takes this file for a leak.
GITHUB = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
AWS = "AKIA" + "QYLPMN5HHHFPZAM2"
RANDOM = "k9xQ2mZ7" + "vB4nR8wL1cT6"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I"
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA" * 8
SIZE = 65_536


@pytest.mark.requirement("G18")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GITHUB, "[redacted: github-pat]"),
        (f"push with {GITHUB}, then", "push with [redacted: github-pat], then"),
        (f"push with {GITHUB} then", "push with [redacted: github-pat] then"),
        (f"AWS {AWS} is used", "AWS [redacted: aws-access-token] is used"),
        (f'api_key = "{RANDOM}"', 'api_key = "[redacted: generic-api-key]"'),
        (f"İ api_key={RANDOM}", "İ api_key=[redacted: generic-api-key]"),
        (f"(the key: {RANDOM}).", "(the key: [redacted: generic-api-key])."),
        (f"token: {JWT}", "token: [redacted: jwt]"),
        (f"{KEY}\n-----END RSA PRIVATE KEY-----\nrest", "[redacted: private-key]\nrest"),
        (f"{KEY}\ncut off", "[redacted: private-key]\ncut off"),
        ("https://me:s3cretPw@host/x.git", "https://me:[redacted: url-password]@host/x.git"),
        ("Authorization: Bearer abcdefgh123", "Authorization: Bearer [redacted: authorization-header]"),
        ("curl -u bob:hunter2x https://x", "curl -u [redacted: curl-auth-user] https://x"),
        (f"a {AWS} b {AWS} c", "a [redacted: aws-access-token] b [redacted: aws-access-token] c"),
    ],
)
def test_a_mark_takes_the_place_of_a_secret(text: str, expected: str) -> None:
    found = redact(text)

    assert found.text == expected
    assert bool(found.found) == (text != expected)
    assert redact(found.text) == RedactedText(found.text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIAIOSFODNN7EXAMPLE",
        "api_key = ${API_KEY}",
        "password: {{ vault_password }}",
        "key: test_merge_2_events",
        f"primary_key: {RANDOM}",
        "token=aaaaaaaaaaaaaaaaaaaaaa",
        "secret: only_letters_and_no_digits_here",
        "commit 8648b2c5d1f2a3b4c5d6e7f8091a2b3c4d5e6f70",
        "the event ev-1a2b3c4d5e6f is retracted",
        "conductor/sessions/archive/2026-01-10-13-03-stale.md",
        "curl -u bob:$PASSWORD https://x",
        "a | b | c %",
        "the key is under the mat, and the token ring is gone",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == RedactedText(text)


def test_the_name_before_a_value_counts_only_as_far_as_it_reaches() -> None:
    assert redact(f"author, key={RANDOM}").found == ("generic-api-key",)
    assert redact(f"{'x' * 60}key={RANDOM}").found == ("generic-api-key",)


def test_a_rule_that_knows_the_service_names_a_secret_that_several_find() -> None:
    assert redact(f"api_key={GITHUB} ").text == "api_key=[redacted: github-pat] "
    assert redact(f"https://me:{AWS}@host").text == "https://me:[redacted: aws-access-token]@host"


def test_secrets_right_beside_each_other_are_found() -> None:
    assert redact(f"{AWS}{GITHUB}").text == "[redacted: aws-access-token][redacted: github-pat]"


def test_a_value_that_was_no_secret_may_hold_one() -> None:
    assert redact(f"token=my_test_api_key={RANDOM}").found == ("generic-api-key",)


def test_every_rule_can_be_compiled_and_its_anchors_are_where_it_begins() -> None:
    rules = read_rules()

    rows = [*RULES.strip().split("\n"), *OWN_RULES.strip().split("\n")]
    assert len(rules) == len(rows) == len({rule.name for rule in rules}) > 200
    for rule in rules:
        assert re.compile(rule.pattern, re.ASCII).pattern
        assert rule.anchors == tuple(anchor.lower() for anchor in rule.anchors)
        assert rule.entropy < 6
        assert all(rule.anchors)


def test_entropy_is_that_of_the_characters() -> None:
    assert entropy_of("aaaa") == 0
    assert entropy_of("abab") == 1
    assert entropy_of("abcd") == 2


def test_many_texts_are_redacted_together() -> None:
    clean = ["one", "two"]

    assert redact_all(clean) == (clean, ())
    assert redact_all(["one", AWS, f"key={RANDOM}", AWS]) == (
        [
            "one",
            "[redacted: aws-access-token]",
            "key=[redacted: generic-api-key]",
            "[redacted: aws-access-token]",
        ],
        ("aws-access-token", "generic-api-key"),
    )


def test_texts_that_are_searched_together_do_not_run_into_each_other() -> None:
    assert redact_all(["the key:", RANDOM]) == (["the key:", RANDOM], ())


def test_lines_of_a_journal_are_redacted_in_all_they_say() -> None:
    lines = in_order(
        ("done", f"rotated {AWS}"),
        ("decision", "text", "auth", f"it was {AWS}"),
        ("done", "x"),
        ("prompt", f"use {AWS}"),
    )

    clean, found = redact_lines(lines)

    assert found == ("aws-access-token",)
    assert [line.fact.text for line in clean] == [
        "rotated [redacted: aws-access-token]",
        "text",
        "x",
        f"use {AWS}",
    ]
    assert clean[1].fact.because == "it was [redacted: aws-access-token]"
    assert clean[1].fact.key == "auth"
    assert clean[2:] == lines[2:]
    assert redact_lines(lines[2:]) == (lines[2:], ())


def test_an_account_is_redacted_in_all_it_may_tell() -> None:
    account = fold_journal(
        "s-1",
        in_order(
            ("goal", f"rotate {AWS}"), ("now", "plan"), ("done", f"{AWS} is out"), ("next", f"a\nb {AWS}\nc")
        ),
    )
    mark = "[redacted: aws-access-token]"

    clean, found = redact_account(account)

    assert found == ("aws-access-token",)
    assert clean.goal is not None
    assert clean.now == account.now
    assert clean.goal.text == f"rotate {mark}"
    assert [entry.text for entry in clean.of(FactKind.DONE)] == [f"{mark} is out"]
    assert [entry.text for entry in clean.of(FactKind.NEXT)] == ["a", f"b {mark}", "c"]
    assert redact_account(clean) == (clean, ())
    assert redact_account(Account(track=f"t {AWS}")) == (Account(track=f"t {mark}"), ("aws-access-token",))


PIECES = (
    *(
        "password",
        "PASSWORD",
        "DB_",
        "pwd",
        "token",
        "secret",
        "api_key",
        "=",
        ":",
        ": ",
        " = ",
        "--",
        "?",
        "&",
    ),
    *("'", '"', "`", "@", "$", "{", "[", "]", "<", " ", "\n", "/", ".", ",", "a1", "hunter2", "x" * 8, "İ"),
    *(
        AWS,
        GITHUB,
        RANDOM,
        "sk-proj-",
        "sk-ant-oat01-",
        "12345678:AA",
        "a" * 24,
        "cGFzc3dvcmQ6IGh1bnRlcjI0Mg==",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_redacting_pieces_of_secrets_twice_is_redacting_once(text: str) -> None:
    once = redact(text)

    assert redact(once.text).text == once.text


@given(st.text(alphabet="aAkKeEyY=: \n'\"._-/|%1İ~;[]", max_size=200))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)

    assert redact(once.text).text == once.text
    assert (once.text == text) == (not once.found)


HOSTILE = (
    *("key", "key=", "key = ", "token: ", "s.", "ey", "sk-", "|", "%", "://a:", "://", "curl ", "curl -u a:"),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "xoxb-1234567890-1234567890-", "xapp-1-", "ops_eyJ"),
    *("xoxb-1111111111-1111111111-", "key=akey=b1key=cw3 ", "EAAA-", "eyaaaaaaaaaaaaaaaaaaaa.ey", "ZXlK"),
    *(
        "authorization: bearer ",
        "sk_live_aaaaaaaaaaaaaa-",
        '-H "Authorization: ',
        "111111111111111|",
        "İ key=",
    ),
    *(
        "password=",
        "password: ",
        "PASSWORD=",
        'password = "',
        "--token=",
        "--token ",
        "--a-",
        "?a",
        "?token=",
        "&",
    ),
    *(
        "password='a1",
        "pwd: a1b2c3",
        "secret = '!a",
        "12345:A",
        "sk-proj-1",
        "sk-ant-oat01-",
        "xoxb-1",
        "a-us1",
    ),
    *(
        "_authToken=",
        "api_key=0",
        "MAAAAAAAAAAAAAAAAAAAAAAA.aaaaaa.",
        "secret_key=a/",
        "curl \\\n -u ",
        "-us",
    ),
    *("a" * 23 + " ", "YWFh", "YWFh" * 8 + " ", base64.b64encode(b"key=a1 " * 999).decode() + " "),
    base64.b64encode(base64.b64encode(b"password: a1" * 999)).decode(),
    *("sntrys_eyJpYXQiO", "key                              ", "access_api_auth_key_token_secret_"),
    " ".join(anchor for rule in read_rules() for anchor in rule.anchors),
    "=".join(anchor for rule in read_rules() for anchor in rule.anchors),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: unit[:24].strip())
def test_hostile_texts_take_time_in_proportion_to_their_size(unit: str) -> None:
    """What takes the square of the size takes many seconds here; a slow machine is no failure."""
    text = (unit * (2 * SIZE // len(unit) + 1))[: 2 * SIZE]
    redact(text[:1000])

    assert works_within(1, lambda: redact(text))


def test_a_clean_event_costs_next_to_nothing() -> None:
    text = "now: Make logout end the session\nthis_session:\n- Session model and its table\n" * 12
    redact(text)

    assert works_within(0.5, lambda: [redact(text) for _ in range(100)])  # measured: 0.02
