"""`passdown tell --list` and `passdown answer --dismiss` do what `passdown feedback` does."""

import json

import pytest

from tests.support.commands import Caller, Done


def test_feedback_is_listed_as_the_old_command_lists_it(command: Caller) -> None:
    assert command("tell", "--list").out == "No open feedback.\n"
    command("start", "--nickname", "amber")
    command("tell", "The footer is wrong")

    done = command("tell", "--list")

    assert "\n  The footer is wrong\n" in done.out
    assert done == command("feedback")
    answer = command("tell", "--list", "--json")
    assert [one["text"] for one in json.loads(answer.out)["feedback"]] == ["The footer is wrong"]
    assert answer == command("feedback", "--json")


@pytest.mark.parametrize("words", [["answer", "--dismiss"], ["feedback", "dismiss"]])
def test_feedback_is_dismissed_by_its_beginning(command: Caller, words: list[str]) -> None:
    command("tell", "The footer is wrong")

    assert command(*words, "The footer").out == "dismissed: The footer is wrong\n"
    assert command("tell", "--list").out == "No open feedback.\n"


def test_what_is_dismissed_is_data_too(command: Caller) -> None:
    command("tell", "The footer is wrong")

    done = command("answer", "The footer", "--dismiss", "--json")

    assert json.loads(done.out)["text"] == "The footer is wrong"


def test_feedback_that_is_not_there_is_not_dismissed(command: Caller) -> None:
    command("start")

    assert command("answer", "--dismiss", "nothing") == command("feedback", "dismiss", "nothing")
    assert command("answer", "--dismiss", "nothing").code == 2


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["tell"], "feedback needs a text", "write a short sentence in quotes"),
        (["tell", "x", "--list"], "give either a text or --list", 'say it like `passdown tell "TEXT"`'),
        (["answer", "x"], "answer needs a text", "write a short sentence in quotes"),
        (
            ["answer", "x", "y", "--dismiss"],
            "--dismiss takes no TEXT",
            "leave out the text, or leave out --dismiss",
        ),
    ],
)
def test_what_contradicts_itself_starts_no_session(
    command: Caller, words: list[str], message: str, hint: str
) -> None:
    assert command(*words) == Done(2, "", f"passdown: {message}\n  hint: {hint}\n")
    assert json.loads(command("status", "--all", "--json").out)["sessions"] == []
