"""Secrets as two public rule sets show them are found, and 500 innocent texts stay as they are."""

import base64
from collections.abc import Iterator
from random import Random
from typing import Final

import pytest

from passdown.core.sessions import secret_rules, secrets
from passdown.core.sessions.secrets import redact
from tests.secrets.examples import PLACES, SETS
from tests.secrets.innocent import COUNT, make_innocent
from tests.secrets.report import find_false, judge, render_report
from tests.secrets.shapes import make_text

MISSED: Final = {"gitleaks": 9, "detect-secrets": 80}
"""How many secrets of a rule set we may miss at most; lower a number when a rule finds more."""

FLAGGED: Final = {"gitleaks": 67, "detect-secrets": 25}
"""How many texts may be redacted that a rule of the set leaves alone: most are a secret of another kind."""

_RANDOM: Final = Random(8)
WORD: Final = "correct-horse-battery"
KEYS: Final = {
    "anthropic": make_text(r"sk-ant-oat01-[\w-]{80}AA", _RANDOM),
    "anthropic, short": make_text(r"sk-ant-oat01-[\w-]{24}", _RANDOM),
    "openai, short": make_text("sk-proj-[A-Za-z0-9]{20}", _RANDOM),
    "openai": make_text(r"sk-proj-[\w-]{120}", _RANDOM),
    "telegram": make_text("[1-9][0-9]{8}:AA[A-Za-z0-9_-]{33}", _RANDOM),
    "github": make_text("ghp_[A-Za-z0-9]{36}", _RANDOM),
}
NAMED: Final = {
    "value before an ampersand": ("https://x.example/?token={s}&x=1", "abc"),
    "generic value before an ampersand": ("api_key={s}&user=me", "k9xQ2mZ7vB4nR8wL1cT6"),
    "variable": ("DB_PASSWORD={s} pytest", "hunter2"),
    "variable of letters": ("DB_PASSWORD={s} pytest", "swordfish"),
    "variable in quotes": ("export ADMIN_PASSWORD='{s}'", "two words"),
    "PGPASSWORD": ("PGPASSWORD={s} psql -h db", "hunter2"),
    "PGPASSWORD of letters": ("PGPASSWORD={s} psql", "swordfish"),
    "YAML": ("password: {s}", "hunter2"),
    "YAML in quotes": ("password: '{s}'", "s3cret!"),
    "JSON": ('{"password": "{s}"}', "s3cretpw"),
    "code": ('connect(user="me", password="{s}")', "swordfish"),
    "words": ("the password: {s}, as always", f"{WORD}-7"),
    "option": ("pytest --token={s} tests", "8w3k1q"),
    "option and value": ("deploy --api-key {s} now", "8w3k1qzz"),
    "query": ("GET /v1/items?limit=5&access_token={s}", "8w3k1q"),
}


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("name", NAMED)
def test_a_value_is_known_by_its_name(name: str) -> None:
    place, value = NAMED[name]

    clean = redact(place.replace("{s}", value))

    assert clean.found
    assert clean.text == place.replace("{s}", f"[redacted: {clean.found[0]}]")


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("place", [*PLACES, "{s}", "see {s}.", "({s})", "https://x.example/?t={s}&x=1"])
@pytest.mark.parametrize("key", KEYS)
def test_a_token_is_known_by_its_shape(key: str, place: str) -> None:
    value = KEYS[key]
    text = place.replace("{i}", "my").replace("{I}", "MY").replace("{s}", value)

    clean = redact(text)

    assert value not in clean.text
    assert value[-16:] not in clean.text


def test_a_bot_is_known_in_its_address() -> None:
    number, _, key = KEYS["telegram"].partition(":")

    clean = redact(f"https://api.telegram.org/bot{number}:{key}/getMe")

    assert clean.text == f"https://api.telegram.org/bot{number}:[redacted: telegram-bot-token]/getMe"


def wrapped(text: str) -> Iterator[str]:
    """Yield a text in base64, in either alphabet, with and without padding, and twice."""
    once = base64.b64encode(text.encode())
    yield once.decode()
    yield base64.urlsafe_b64encode(text.encode()).decode()
    yield once.decode().rstrip("=")
    yield base64.b64encode(once).decode()


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("key", KEYS)
def test_a_token_in_base64_is_found(key: str) -> None:
    for text in (KEYS[key], f"me:{KEYS[key]}", f"user=me\ntoken={KEYS[key]}\n"):
        for coded in wrapped(text):
            clean = redact(f"auth {coded} end")
            assert clean.found, (text, coded)
            assert clean.text == f"auth [redacted: {clean.found[0]}] end"


@pytest.mark.slow
@pytest.mark.requirement("G18")
@pytest.mark.parametrize("name", SETS)
def test_hardly_any_secret_of_a_public_rule_set_is_missed(name: str) -> None:
    result = judge(name)

    assert len(result.missed) <= MISSED[name], [one.text for one in result.missed]
    assert len(result.flagged) <= FLAGGED[name], [one.text for one in result.flagged]
    assert len(result.secrets) >= {"gitleaks": 5500, "detect-secrets": 250}[name]


@pytest.mark.requirement("G18")
def test_innocent_texts_stay_as_they_are() -> None:
    assert len(set(make_innocent())) == COUNT
    assert find_false() == []


@pytest.mark.slow
def test_the_table_names_every_rule_and_what_it_misses() -> None:
    lines = list(render_report())

    for name in SETS:
        result = judge(name)
        assert f"  {len(result.missed)} of {len(result.secrets)} secrets missed" in lines
        assert all(any(line.startswith(f"    {one.rule} ") for line in lines) for one in result.secrets)
    assert f"innocent: 0 of {COUNT} redacted" in lines


@pytest.fixture
def without_own_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave our own rules out, as if they had been lost."""
    monkeypatch.setattr(secret_rules, "OWN_RULES", "")
    caches = (secrets.read_rules, secrets._anchors, judge)
    for cached in caches:
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("without_own_rules")
def test_a_lost_rule_is_noticed() -> None:
    assert len(judge("detect-secrets").missed) > MISSED["detect-secrets"]


def test_a_shape_gives_texts_of_that_shape() -> None:
    random = Random(1)

    assert make_text("a{3}", random) == "aaa"
    assert make_text(r"\.\w{2}", random)[0] == "."
    assert make_text("(?:x|y)-([0-9]{2}-){2}", random)[1:].replace("-", "").isdigit()
    assert make_text("[a]{1,}b?c+", random).startswith("a")
