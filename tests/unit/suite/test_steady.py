"""What differs from run to run is made up, the same way each time."""

import pytest

from tests.steady import steady


def test_the_same_value_is_made_up_once_through_all_texts() -> None:
    first = ["codex-0a1b2c3d s-0123456789ab", "s-ba9876543210", "ev-0123456789abcdef by codex-0a1b2c3d"]
    second = ["codex-d3c2b1a0 s-ba9876543210", "s-000000000000", "ev-fedcba9876543210 by codex-d3c2b1a0"]

    made = steady(first)

    assert made == steady(second)
    assert made != first
    assert made[0].split()[0] == made[2].split()[-1]
    assert made[0].split()[1] != made[1]


def test_an_id_that_is_cut_short_is_the_start_of_the_whole_one() -> None:
    whole, short = steady(["ev-0123456789abcdef", "ev-01234567"])

    assert whole.startswith(short)
    assert [len(whole), len(short)] == [19, 11]


def test_a_made_up_value_is_as_long_as_the_real_one() -> None:
    texts = [
        "root " + "0a" * 32,
        "committed as 0123456789ab",
        "key p-" + "0a" * 16,
        "0123abc passdown: 2 events",
    ]

    made = steady(texts)

    assert [len(one) for one in made] == [len(one) for one in texts]
    assert all(one != text for one, text in zip(made, texts, strict=True))


@pytest.mark.parametrize(
    ("real", "shown"),
    [
        ("updated: 2027-11-15T12:27:40Z", "updated: 2026-03-02T09:30:00Z"),
        ("(expires in 9 min if it stays silent)", "(expires in 10 min if it stays silent)"),
        ("file src/, 9 min left", "file src/, 10 min left"),
        ("ts: 2027-11-15T12:29:38.607Z", "ts: 2026-03-02T09:30:00.000Z"),
        ("2027-11-15T12-29-38.607Z_toast.md", "2026-03-02T09-30-00.000Z_toast.md"),
        ("2027-11-15 12:29Z  handoff", "2026-03-02 09:30Z  handoff"),
        ("archive/2027-11-15-12-29-stale.md", "archive/2026-03-02-09-30-stale.md"),
        ("| it expires them | 12:27 |", "| it expires them | 09:30 |"),
        ("live, 0 s ago, on main", "live, 2 min ago, on main"),
        ("(toast, 3 h) > Text", "(toast, 2 min) > Text"),
        ("age: 14 min", "age: 2 min"),
        ("It is asked again in 7 s.", "It is asked again in 30 s."),
        ("1 event, the newest 9 s old; goal", "1 event, the newest 2 min old; goal"),
    ],
)
def test_times_are_one_moment_and_ages_one_age(real: str, shown: str) -> None:
    assert steady([real]) == [shown]


def test_the_home_of_whoever_runs_it_is_not_shown() -> None:
    assert steady(["in /tmp/x7/shop:"], "/tmp/x7") == ["in /home/ann/shop:"]  # noqa: S108 - only a text


@pytest.mark.parametrize(
    "text", ["14 facts, 1 missing", "in 10 s or so", "next: defaced", "line 12:27:", "passdown 0.1.0"]
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert steady([text]) == [text]
