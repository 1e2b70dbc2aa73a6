"""A PostgreSQL server that does not answer is a StorageError, whose text tells no password."""

from pathlib import Path

import pytest

from passdown.engines.postgres.coordination import open_store
from passdown.errors import StorageError, UsageError

SECRET = "correct-horse"  # noqa: S105 - nobody's password


@pytest.mark.parametrize("host", ["127.0.0.1:1", ""])
def test_a_server_that_does_not_answer_is_an_error_without_the_password(host: str, home: Path) -> None:
    store = open_store(f"postgresql://ann:{SECRET}@{host}/x?host={home}", "p-1")
    with pytest.raises(StorageError) as raised, store.changing():
        raise AssertionError

    told = f"{raised.value.message} {raised.value.hint} {raised.value.__cause__}"
    assert "Nothing was changed" in told
    assert str(home) in told
    assert SECRET not in told


def test_a_password_that_the_driver_quotes_is_not_told(home: Path) -> None:
    """The driver names the socket it tried: here the password is a part of that."""
    store = open_store(f"postgresql://ann:{home.name}@/x?host={home}", "p-1")
    with pytest.raises(StorageError) as raised, store.looking():
        raise AssertionError

    assert f"{home.name}/.s.PGSQL" not in raised.value.message


@pytest.mark.requirement("C76")
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}%@h/x",
        f"postgresql://ann:{SECRET}@h:{SECRET}/x?{SECRET}",
        f"{SECRET}",
    ],
)
def test_a_url_that_cannot_be_read_is_not_told(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_store(url, "p-1")

    assert SECRET not in f"{raised.value} {raised.value.hint} {raised.value.__cause__}"
    assert raised.value.__suppress_context__


def test_a_place_is_told_without_user_and_password() -> None:
    urls = (
        f"postgresql://ann:{SECRET}@h:7/x",
        "postgresql:///x",
        "postgresql://a:1,b:2/x",
        "postgresql://a,b/x",
    )

    places = [open_store(url, "p-1").place for url in urls]

    assert places == ["h:7", "default host", "a:1, b:2", "a, b"]
