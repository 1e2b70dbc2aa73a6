"""The formats are listed, and each has a schema and an example."""

import json
from pathlib import Path

import jsonschema
import pytest

from passdown.core.formats.registry import FORMATS, LEDGER, Format
from tests.answers.check_answers import FORMAT_EXAMPLE, FORMAT_LIST, FORMAT_SCHEMA
from tests.support.commands import Caller, Done

LIST = """\
ledger           The running record of one session: goal, done, now, next.
                 Local, ignored by git.
                 conductor/sessions/active/LEDGER.md
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command."""
    return Caller(monkeypatch, capsys, tmp_path)


def test_the_list_fits_80_columns_and_names_every_format(command: Caller) -> None:
    done = command("format")

    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(LIST)
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [one.name for one in FORMATS]


def test_the_list_is_json_when_asked_for(command: Caller) -> None:
    done = command("format", "--json")

    answer = json.loads(done.out)
    jsonschema.validate(answer, FORMAT_LIST)
    assert [one["name"] for one in answer["formats"]] == [one.name for one in FORMATS]


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_an_example_is_printed_to_the_byte(command: Caller, known: Format) -> None:
    assert command("format", "example", known.name) == Done(0, known.example(), "")


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_a_schema_is_a_schema(command: Caller, known: Format) -> None:
    done = command("format", "schema", known.name)

    schema = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == known.schema()
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("arguments", [["--json", "schema", "ledger"], ["schema", "--json", "ledger"]])
def test_a_schema_is_a_member_of_the_answer_when_json_is_asked_for(
    command: Caller, arguments: list[str]
) -> None:
    answer = json.loads(command("format", *arguments).out)

    jsonschema.Draft202012Validator(FORMAT_SCHEMA).validate(answer)
    assert (answer["name"], answer["schema"]) == ("ledger", LEDGER.schema())


@pytest.mark.parametrize("arguments", [["--json", "example", "ledger"], ["example", "ledger", "--json"]])
def test_an_example_is_a_member_of_the_answer_when_json_is_asked_for(
    command: Caller, arguments: list[str]
) -> None:
    answer = json.loads(command("format", *arguments).out)

    jsonschema.validate(answer, FORMAT_EXAMPLE)
    assert (answer["name"], answer["text"]) == ("ledger", LEDGER.example())


@pytest.mark.parametrize("verb", ["schema", "example"])
def test_an_unknown_format_is_answered_with_those_there_are(command: Caller, verb: str) -> None:
    assert command("format", verb, "lodger") == Done(
        2,
        "",
        "passdown: there is no format lodger\n"
        "  hint: use one of ledger, stream, event, view, session-state, archive, journal,\n"
        "        history, handoff, loop, change-state, session-context\n",
    )
