"""What is printed cannot harm a terminal, and a stream that fails is no surprise."""

import errno
import io
import json
import sys

import pytest

from passdown.errors import PassdownError, StorageError, UsageError
from passdown.faces.cli import output


class Failing(io.TextIOWrapper):
    """A stream that cannot be written to."""

    def __init__(self, code: int) -> None:
        """Keep why."""
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._code = code

    def write(self, text: str) -> int:
        """Fail."""
        raise OSError(self._code, f"failed on {len(text)} characters")


def stream(encoding: str) -> io.TextIOWrapper:
    """Make a stream of this encoding."""
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def written(file: io.TextIOWrapper) -> bytes:
    """Give what was written to a stream."""
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def test_control_characters_are_shown_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("a\x1b[2Jb\n\tc\u202e")
    output.note("a\x1bb\nc")
    output.note_hint("a\x07b\nc")

    assert capsys.readouterr() == (
        "a\\u001b[2Jb\n\tc\\u202e\n",
        "passdown: a\\u001bb\\u000ac\n  hint: a\\u0007b\\u000ac\n",
    )


def test_what_an_encoding_cannot_hold_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stream("ascii"))

    output.say("é 日")

    assert written(stdout()) == b"\\xe9 \\u65e5\n"


def stdout() -> io.TextIOWrapper:
    """Give the stream that stands for stdout now."""
    assert isinstance(sys.stdout, io.TextIOWrapper)
    return sys.stdout


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "latin-1", "cp1252", "utf-16"])
def test_json_is_json_in_every_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(sys, "stdout", stream(encoding))

    output.say_json({"a": "é 日 😀 \ud800 \x1b"})

    assert json.loads(written(stdout()).decode(encoding)) == {"version": 1, "a": "é 日 😀 \ud800 \x1b"}


@pytest.mark.parametrize("items", [[], ['{\n  "a": 1\n}'], ['{\n  "a": 1\n}', "{}", '{\n  "b": "é\\n"\n}']])
def test_a_list_that_is_printed_in_pieces_is_laid_out_like_any_object(
    capsys: pytest.CaptureFixture[str], items: list[str]
) -> None:
    output.say_json_list("items", items, {"rest": {"x": 1}})
    pieces = capsys.readouterr().out
    output.say_json({"items": [json.loads(item) for item in items], "rest": {"x": 1}})

    assert pieces == capsys.readouterr().out


@pytest.mark.parametrize(("columns", "most"), [("20", 40), ("60", 60), ("80", 80), ("500", 100)])
def test_hints_are_laid_out_for_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = "write it " * 30 + "/a/path/that/is/longer/than/a/narrow/terminal"

    lines = output.hint(text).split("\n")

    assert lines[0].startswith("  hint: write it")
    assert all(line.startswith("        ") for line in lines[1:])
    assert max(len(line) for line in lines[:-1]) <= most
    assert max(len(line) for line in lines[:-1]) > most - 10


@pytest.mark.parametrize("code", [errno.EPIPE, errno.EINVAL])
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_reader_that_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch, name: str, code: int) -> None:
    monkeypatch.setattr(sys, name, Failing(code))

    for _ in range(2):
        output.say("a")
        output.note("b")

    assert isinstance(getattr(sys, name), output.NullOutput)


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_closed_stream_is_no_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, name, None)

    output.say("a")
    output.note("b")
    output.say_json({})

    assert not output.has_person()


def test_a_full_disk_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(errno.ENOSPC))

    with pytest.raises(StorageError) as found:
        output.say("a")
    code = output.report(found.value, as_json=True)

    assert code == 5
    assert capsys.readouterr().err == (
        "passdown: could not write the output: failed on 2 characters\n  hint: the output is incomplete\n"
    )


def test_an_error_that_stdout_cannot_hold_is_told_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(errno.ENOSPC))

    assert output.report(UsageError("wrong", hint="do it right"), as_json=True) == 2
    assert capsys.readouterr().err == "passdown: wrong\n  hint: do it right\n"


def test_a_full_stderr_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Failing(errno.ENOSPC))

    assert output.report(PassdownError("refused"), as_json=False) == 1


def test_an_error_without_a_hint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.report(PassdownError("refused"), as_json=False) == 1
    assert capsys.readouterr() == ("", "passdown: refused\n")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], False),
        (["check", "--json"], True),
        (["check", "--json", "--", "x"], True),
        (["check", "--", "--json"], False),
        (["check", "--jsonn"], False),
    ],
)
def test_json_is_wanted_when_the_option_is_given(arguments: list[str], *, wanted: bool) -> None:
    assert output.wants_json(arguments) is wanted
