"""Hostile texts, names and files give a value or an error of ours, soon; nothing gets out of its place."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, suppress
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import pytest

from passdown.core.documents.documents import AnyDocument
from passdown.core.facts import Fact
from passdown.core.formats import examples
from passdown.core.formats.registry import FORMATS, Format
from passdown.core.ids import (
    clean_foreign,
    event_file_name,
    fold_id,
    is_id,
    kebab,
    parse_event_file_name,
)
from passdown.engines.files.documents import FileDocuments
from passdown.errors import FormatError, StorageError, UsageError
from passdown.faces.cli.main import main
from passdown.records import compared_names_of, is_record, names_of, replace
from passdown.settings import SettingsSource, parse_settings
from tests import proof
from tests.hostile.hostile_runs import PARSERS, Outcome
from tests.hostile.texts import CONTROL, STRUCTURE, TRAPS, WAYS_OUT

ROOT: Final = Path(__file__).resolve().parents[3]
POSIX: Final = pytest.mark.skipif(sys.platform == "win32", reason="needs limits, signals and FIFOs of POSIX")

UNSEEN: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
EXAMPLES: Final[Mapping[str, AnyDocument]] = MappingProxyType(
    {
        "ledger": examples.LEDGER,
        "stream": examples.STREAM,
        "event": examples.EVENT,
        "view": examples.VIEW,
        "session-state": examples.SESSION_STATE,
        "handoff": examples.ADDRESSED_HANDOFF,
        "archive": examples.ARCHIVE,
        "journal": examples.JOURNAL,
        "history": examples.HISTORY,
        "loop": examples.LOOP,
        "change-state": examples.CHANGE_STATE,
        "session-context": examples.SESSION_CONTEXT,
    }
)
Where = tuple[str | int, ...]


# Texts against parsers.


def outcomes(size: float, *parsers: str) -> tuple[list[Outcome], int]:
    """Measure the corpus in a process of its own, which nothing slows down by watching it."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, "-m", "tests.hostile.hostile_runs", str(size), *parsers]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()], done.returncode


def faults(size: float, *parsers: str) -> list[str]:
    """What was not allowed; the process itself must come to its end."""
    measured, code = outcomes(size, *parsers)
    found = [f"{one.parser}: {one.name}: {one.fault}" for one in measured if one.fault]
    if code:
        last = measured[-1].name if measured else "nothing"
        found.append(f"the process ended with {code} after {last}")
    return found


@POSIX
def test_hostile_texts_give_a_value_or_an_error_of_ours() -> None:
    assert faults(0.002, *PARSERS) == []


@POSIX
@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize("parser", PARSERS)
def test_hostile_texts_take_under_a_second_and_256_megabytes(parser: str) -> None:
    # Texts of the whole size take minutes.
    percent = proof.proof_count(fast=1, ci=30, long=100)
    assert faults(percent / 100, parser) == []


# Ids and paths.


@pytest.mark.parametrize("text", [*WAYS_OUT, *CONTROL], ids=ascii)
def test_hostile_id_is_refused_or_becomes_a_safe_name(text: str) -> None:
    for name in (fold_id(text), kebab(text)):
        assert is_id(name)


@pytest.mark.parametrize("text", [*CONTROL, "a\0b", "a\nb", "", " ", "\ud800", "a" * 10_000], ids=ascii)
def test_foreign_id_that_could_break_a_line_is_refused(text: str) -> None:
    with suppress(FormatError):
        # Format characters are kept verbatim, and escaped when they are shown.
        assert len(clean_foreign(text).splitlines()) == 1
    with pytest.raises(FormatError) as found:
        clean_foreign(f"{text}\n")
    assert not UNSEEN.search(found.value.message + found.value.hint)


@pytest.mark.parametrize("text", [*WAYS_OUT, *CONTROL], ids=ascii)
def test_event_file_name_stays_one_name_in_its_folder(text: str) -> None:
    at = examples.EVENT.ts
    assert at is not None

    name = event_file_name(at, text)

    assert re.fullmatch(r"[0-9T.-]+Z_[a-z0-9-]+\.md", name)
    assert parse_event_file_name(name) is not None
    for foreign in (f"2026-01-10T13-03-52Z_{text}.md", text):
        found = parse_event_file_name(foreign)
        assert found is None or "/" not in found.agent


@pytest.mark.parametrize(
    "text", ["../x", "/x", "\\x", "a/../../x", "C:\\x", "c:x", "a\0b", "a\nb", "", " ", "/"]
)
def test_path_of_the_settings_stays_within_the_project(text: str) -> None:
    with pytest.raises(UsageError):
        parse_settings([SettingsSource("test", {"paths": {"events": text}})])


@pytest.mark.parametrize(
    "text", ["../x", "/etc/passwd", "a/../../x", "a\0b", "x" * 10_000, "\ud800"], ids=ascii
)
def test_documents_are_never_read_or_written_outside_the_root(text: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    documents = FileDocuments(root)

    with pytest.raises(StorageError):
        documents.read(text)
    with pytest.raises(StorageError):
        documents.replace(text, b"owned")

    assert [path.name for path in tmp_path.iterdir()] == ["root"]


# Values that look like structure, in every field that we write.


def leaves(value: object, where: Where = ()) -> Iterator[Where]:
    """Where a value holds free text."""
    if isinstance(value, str) and not isinstance(value, StrEnum):
        yield where
    elif isinstance(value, Fact):
        for name in ("kind", "text", "agent", "key", "because", "commit", "session"):
            yield (*where, name)
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from leaves(one, (*where, number))
    elif is_record(value):
        for name in names_of(value):
            if name not in {"source", "problems", "unknown", "others"}:
                yield from leaves(getattr(value, name), (*where, name))


def put(value: object, where: Where, text: str) -> object:
    """The same value with another text in one place."""
    if not where:
        return text
    first, rest = where[0], where[1:]
    if isinstance(first, int):
        items = cast("tuple[object, ...]", value)
        return (*items[:first], put(items[first], rest, text), *items[first + 1 :])
    changed = put(getattr(value, first), rest, text)
    if isinstance(value, Fact):
        return value._replace(**{first: changed})  # type: ignore[arg-type]  # a name of a text
    return cast("Callable[..., object]", replace)(value, **{first: changed})


def letters(value: object) -> str:
    """All that a field says, but for white space and the colon between a key and its value."""
    if isinstance(value, str):
        return re.sub(r"[\s:\x1c-\x1f\x85]", "", value.encode("utf-8", "replace").decode())
    if isinstance(value, tuple):
        return "".join(map(letters, value))
    if is_record(value):
        return "".join(letters(getattr(value, name)) for name in names_of(value))
    return str(value)


def chosen(texts: Sequence[str], where: Where) -> Sequence[str]:
    """All texts in a proof; at the desk a few for each place, others for the next one."""
    step = proof.proof_count(fast=12, ci=1, long=1)
    return texts[len(str(where)) % step :: step]


# What these fields say of themselves, not structure: an arrow before Now, and the kind of an open question.
MARKS: Final = frozenset({("now", "[->] a"), ("questions", "[ ] a"), ("questions", "UNKNOWN: a")})


def injections(found: Format, where: Where, text: str) -> Iterator[str]:
    """What else changed when a text was put somewhere, written, and read again."""
    value = put(EXAMPLES[found.name], where, text)
    again = found.parse(found.render(cast("AnyDocument", value)))
    shown = f"{'/'.join(map(str, where))} = {text!a}"
    if again.unknown:
        yield f"{shown}: {again.unknown[0].text!a} was read as unknown"
    for name in compared_names_of(value):
        before, after = getattr(value, name), getattr(again, name)
        if before == after or name in {"unknown", "footer"}:
            continue
        if name != where[0]:
            yield f"{shown}: {name} changed to {after!a:.80}"
        elif letters(before) != letters(after):
            yield f"{shown}: reads {letters(after)!a:.80}"


@pytest.mark.parametrize("found", FORMATS, ids=[found.name for found in FORMATS])
def test_value_that_looks_like_structure_stays_a_value(found: Format) -> None:
    wrong = [
        fault
        for where in leaves(EXAMPLES[found.name])
        if (found.name, where[-1]) != ("loop", "agent")  # an id, which is written in the letters of ids
        for text in chosen((*STRUCTURE, *(f"a{one}b" for one in CONTROL)), where)
        if (where[0], text) not in MARKS
        for fault in injections(found, where, text)
    ]

    assert wrong == []


@pytest.mark.parametrize("name", ["event", "session-state", "handoff", "journal", "history"])
def test_value_of_a_format_without_prose_reads_back_to_the_character(name: str) -> None:
    found = next(one for one in FORMATS if one.name == name)
    for where in leaves(EXAMPLES[name]):
        for text in (*STRUCTURE, *CONTROL):
            value = put(EXAMPLES[name], where, text)

            again = found.parse(found.render(cast("AnyDocument", value)))

            assert cast("Callable[..., object]", replace)(again, source=None) == value, (where, text)


# What a terminal sees.


class Ran(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    text: str

    @property
    def unseen(self) -> list[str]:
        """The characters that could move a cursor or hide text."""
        return [ascii(char) for char in UNSEEN.findall(self.text)]


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run our command in a folder, as the entry point would, and give all that it printed."""

    def start(*arguments: str, folder: Path) -> Ran:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["passdown", *arguments])
        code = main()
        printed = capfdbinary.readouterr()
        return Ran(code, (printed.out + printed.err).decode("utf-8"))

    return start


def write_traps(folder: Path) -> None:
    """Write a document of every format for each hostile text."""
    for number, text in enumerate(CONTROL):
        for name, content in TRAPS.items():
            path = folder / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            hostile = json.dumps(text)[1:-1] if name.endswith("_a.json") else text
            path.write_text(content.replace("@", hostile), encoding="utf-8", newline="")


@pytest.mark.parametrize(
    "options", [(), ("--strict",), ("--fix",), ("--fix", "--yes"), ("--json",)], ids=" ".join
)
def test_check_shows_no_character_that_a_terminal_obeys(
    options: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    write_traps(tmp_path)

    ran = run("check", ".", *options, folder=tmp_path)

    assert ran.unseen == []
    assert ran.code == 1
    assert len(ran.text) > 1000


@POSIX
@pytest.mark.parametrize("text", [one for one in CONTROL if "\0" not in one], ids=ascii)
def test_name_with_control_characters_is_shown_escaped(text: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / f"{text}.md").write_text("---\nts: x\nagent: a\n---\n", encoding="utf-8")
    (tmp_path / "passdown.toml").write_text(f"[{json.dumps(text)}]\na = 1\n", encoding="utf-8")
    operations = (
        ("check", "."),
        ("check", f"{text}.md"),
        ("check", f"{text}/missing"),
        ("check", f"--{text}"),
        ("check",),
        (f"x{text}",),
        (f"--{text}",),
        ("format", "schema", text),
        ("format", text),
    )
    for arguments in operations:
        ran = run(*arguments, folder=tmp_path)

        assert ran.unseen == [], arguments
        assert ran.code in {0, 1, 2, 5}, (arguments, ran.text)


# Files that are none.


def make_odd_files(folder: Path) -> dict[str, int]:
    """Names of what can stand where a file should, each with the exit code it deserves."""
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "dangling.md").symlink_to("nowhere")
    (folder / "device.md").symlink_to("/dev/zero")
    (folder / "null.md").symlink_to(os.devnull)
    with socket.socket(socket.AF_UNIX) as listener, chdir(folder):  # the path of a socket must be short
        listener.bind("socket.md")
    names = dict.fromkeys(["fifo.md", "socket.md"], 1)
    names |= dict.fromkeys(["device.md", "null.md", "loop.md", "dangling.md"], 2)
    return names | {"folder.md": 0}


@POSIX
def test_what_is_no_regular_file_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    for name, code in make_odd_files(tmp_path).items():
        ran = run("check", name, folder=tmp_path)

        assert ran.code == code, (name, ran.text)
        assert "Traceback" not in ran.text


@POSIX
def test_odd_files_in_a_folder_do_not_stop_its_check(run: Run, tmp_path: Path) -> None:
    make_odd_files(tmp_path)
    (tmp_path / "LEDGER.md").write_text(FORMATS[0].example(), encoding="utf-8")

    ran = run("check", ".", folder=tmp_path)

    assert ran.code == 0, ran.text
    assert "1 document checked" in ran.text


@POSIX
def test_link_is_neither_read_nor_written_through(run: Run, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").mkdir()
    original = tmp_path / "outside" / "LEDGER.md"
    original.write_text(FORMATS[0].example().replace("## Open Questions", "## Odd"), encoding="utf-8")
    before = original.read_bytes()
    (tmp_path / "inside" / "LEDGER.md").symlink_to(original)

    ran = run("check", "--fix", "--yes", "LEDGER.md", folder=tmp_path / "inside")

    assert ran.code == 2, ran.text
    assert "links are not followed" in ran.text
    assert original.read_bytes() == before
