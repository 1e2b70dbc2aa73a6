"""However a command ends, its exit code says so, and so does what it prints."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click
import jsonschema
import pytest

import passdown
from passdown.core.formats.registry import LEDGER
from passdown.core.kinds import FactKind
from passdown.faces.cli import fact_verbs, lifecycle, task_verbs, tree, verbs
from passdown.services.workspace import documents
from tests.answers.check_answers import ERROR
from tests.support.commands import Caller, Done

HELP = """\
Usage: passdown [OPTIONS] COMMAND [ARGS]...

  The pass-down log for coding agents: what one session knew, the next one
  knows.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Everyday       status  brief  search  log  handoff  tell
Record         goal  now  done  next  decide  rule-out  ask  answer  note
               retract
Sessions       start  end
Set up         init  import  install  uninstall  try  completion  doctor
               pause  unpause
Work together  task  claim  close  reserve  release  takeover  msg  inbox
               guard  team
Workflow       track  gate  tdd  loop  checkpoint  preflight
Documents      synthesize  view  check  format  certify  migrate

  One command: `passdown COMMAND --help`. All of them: `passdown help --all`.
"""
FURTHER = (
    "help heartbeat observe publish renew result sync context metrics archive history event ready blocked "
    "feedback"
)
"""What stands behind `--all` alone."""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command."""
    return Caller(monkeypatch, capsys, tmp_path)


class Breaker:
    """Lets the command meet what nobody foresaw."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep what undoes it."""
        self._monkeypatch = monkeypatch

    def __call__(self, found: BaseException) -> None:
        """Let every check of a document, and there is one, end with this."""

        def fail(*_: object) -> None:
            raise found

        Path("LEDGER.md").write_text(LEDGER.example(), encoding="utf-8")
        self._monkeypatch.setattr(documents, "recognise", fail)


@pytest.fixture
def break_check(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    """Give a way to break every check."""
    return Breaker(monkeypatch)


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "check"]])
def test_the_version_is_printed(command: Caller, arguments: list[str]) -> None:
    assert command(*arguments) == Done(0, f"passdown {passdown.__version__}\n", "")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_data(command: Caller, option: str) -> None:
    assert command(option) == Done(0, HELP, "")


def test_the_first_page_fits_a_small_terminal() -> None:
    lines = HELP.splitlines()

    assert len(lines) <= 38  # with a line about the project above it, 40
    assert max(map(len, lines)) <= 80


def test_every_command_stands_once_in_a_group_or_behind_all() -> None:
    page = HELP[HELP.index("Everyday") : HELP.index("\n  One command")]
    names = " ".join(line[15:] for line in page.splitlines()).split()

    assert [*names, *FURTHER.split()] == list(verbs.VERBS)
    assert len(set(verbs.VERBS)) == len(names) + len(FURTHER.split())


def test_help_all_lists_every_command_with_its_sentence_by_group(command: Caller) -> None:
    done = command("help", "--all")

    found: dict[str, list[str]] = {}
    for line in done.out.splitlines():
        if line and not line.startswith(" "):
            found[line.removesuffix(":")] = []
        elif line and not line.startswith("   "):
            found[list(found)[-1]].append(line.split()[0])
    wanted: dict[str, list[str]] = {}
    for verb in verbs.VERBS.values():
        wanted.setdefault(verb.group.value, []).append(verb.name)
    words = " ".join(done.out.split())
    assert (done.code, done.err, found) == (0, "", wanted)
    assert all(" ".join(f"{verb.name} {verb.help}".split()) in words for verb in verbs.VERBS.values())
    assert list(wanted)[-1] == "Further"


@pytest.mark.parametrize("words", [["decide"], ["task", "add"], ["view"]])
def test_help_of_a_command_is_what_its_own_option_prints(command: Caller, words: list[str]) -> None:
    assert command("help", *words) == command(*words, "--help")


def test_help_alone_is_the_first_page(command: Caller) -> None:
    assert command("help") == Done(0, HELP, "")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["chek"], "there is no command chek; did you mean check?", "`passdown --help` lists the commands"),
        (["task", "ad"], "there is no command task ad", "`passdown task --help` lists the commands"),
        (["goal", "x"], "there is no command goal x", "`passdown goal --help` shows the usage"),
        (["goal", "--all"], "give either a command or --all", "`passdown help --all` lists every command"),
    ],
)
def test_help_of_what_is_no_command_says_so(
    command: Caller, words: list[str], message: str, hint: str
) -> None:
    assert command("help", *words) == Done(2, "", f"passdown: {message}\n  hint: {hint}\n")


def test_without_a_command_there_is_help_on_stderr(command: Caller) -> None:
    assert command() == Done(2, "", f"Not set up here. Run `passdown init`.\n\n{HELP}")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["chek"], "there is no command chek; did you mean check?", "`passdown --help` lists the commands"),
        (["zzz"], "there is no command zzz", "`passdown --help` lists the commands"),
        (["--bad"], "no such option '--bad'", "`passdown --help` lists the commands"),
        (["check", "--bad"], "no such option '--bad'", "`passdown check --help` shows the usage"),
        (
            ["format", "schema"],
            "missing argument 'NAME'",
            "`passdown format schema --help` shows the usage",
        ),
        (["check", "--yes"], "--yes does nothing without --fix", "add --fix, or remove --yes"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_how_it_is_right(
    command: Caller, arguments: list[str], message: str, hint: str
) -> None:
    assert command(*arguments) == Done(2, "", f"passdown: {message}\n  hint: {hint}\n")


def test_the_choices_of_a_missing_argument_are_on_one_line(command: Caller) -> None:
    done = command("view", "list")

    first, hint = done.err.splitlines()
    assert first.startswith("passdown: missing argument 'SECTION'. Choose from: goal, now, next, done, ")
    assert (done.code, hint) == (2, "  hint: `passdown view list --help` shows the usage")


@pytest.mark.requirement("C69")
@pytest.mark.parametrize("arguments", [["chek", "--json"], ["check", "--json", "--bad"], ["--json"]])
def test_wrong_usage_is_json_when_json_was_asked_for(command: Caller, arguments: list[str]) -> None:
    done = command(*arguments)

    answer = json.loads(done.out)
    jsonschema.validate(answer, ERROR)
    assert (done.code, answer["error"]["code"], done.err) == (2, "usage", "")


def test_a_bug_ends_with_70_and_a_report_that_can_be_sent(command: Caller, break_check: Breaker) -> None:
    break_check(ValueError("a\x1b[2Jb"))

    done = command("check", "LEDGER.md")

    lines = done.err.splitlines()
    assert (done.code, done.out) == (70, "")
    assert lines[0] == "passdown: this is a bug in passdown; please report it with the lines below"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-2] == "ValueError: a\\u001b[2Jb"
    assert lines[-1] == f"passdown {passdown.__version__}, Python {sys.version.split()[0]}, {sys.platform}"


def test_a_bug_is_told_in_json_too(command: Caller, break_check: Breaker) -> None:
    break_check(ValueError("oh"))

    done = command("check", "--json", "LEDGER.md")

    answer = json.loads(done.out)
    jsonschema.validate(answer, ERROR)
    assert done.code == 70
    assert answer["error"] == {
        "code": "bug",
        "message": "this is a bug in passdown: ValueError: oh",
        "hint": "report it with the output on stderr",
    }
    assert "ValueError: oh" in done.err


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupt_ends_with_130(command: Caller, break_check: Breaker, *, as_json: bool) -> None:
    break_check(KeyboardInterrupt())

    done = command("check", "LEDGER.md", *(["--json"] if as_json else []))

    assert (done.code, done.err.strip()) == (130, "passdown: interrupted")
    if as_json:
        jsonschema.validate(json.loads(done.out), ERROR)
    else:
        assert done.out == ""


def test_an_interrupt_before_the_command_runs_ends_with_130(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tree, "run", interrupt)

    assert command("check") == Done(130, "", "passdown: interrupted\n")


def test_the_table_of_commands_says_what_each_command_says_of_itself() -> None:
    context = click.Context(tree.cli)

    for name, verb in verbs.VERBS.items():
        command = tree.cli.get_command(context, name)
        assert command is not None
        assert (command.help or "").splitlines()[0] == verb.help
    assert tree.cli.list_commands(context) == list(verbs.VERBS)
    assert tree.cli.get_command(context, "nosuch") is None


def test_a_row_names_a_function_that_takes_what_its_call_gives() -> None:
    for verb in verbs.VERBS.values():
        if not verb.does:
            continue
        of_team = verb.group is verbs.Group.TOGETHER
        module = fact_verbs if verb.kind else task_verbs if of_team else lifecycle
        function = getattr(module, verb.does)
        given = {one.name for one in verb.arguments} | {one.parameter for one in verb.options}
        first = (FactKind(verb.kind),) if verb.kind else ([verb.name],) if of_team else ()
        inspect.signature(function).bind(*first, **dict.fromkeys(given))


def words_of(verb: verbs.Verb) -> Iterator[list[str]]:
    """Give calls of a verb: each argument, then each option, then all of them."""
    texts = [f"a {one.name}" for one in verb.arguments]
    options = [[one.flag] if one.is_flag else [one.flag, "x y"] for one in verb.options if not one.choices]
    yield texts
    for option in options:
        yield [*texts, *option]
        yield [*option, *texts]
    yield [*chain.from_iterable(options), *texts]


@pytest.mark.parametrize("verb", [one for one in verbs.VERBS.values() if one.does], ids=lambda one: one.name)
def test_the_parser_and_the_plain_call_read_the_same(
    monkeypatch: pytest.MonkeyPatch, verb: verbs.Verb
) -> None:
    parsed: list[verbs.Values] = []
    typed: list[Sequence[str]] = []

    def carry_out(_: verbs.Verb, values: verbs.Values, words: Sequence[str]) -> None:
        parsed.append(values)
        typed.append(words)

    monkeypatch.setattr(verbs, "carry_out", carry_out)

    for words in words_of(verb):
        plain = verbs.parse_plainly(verb, words)
        tree.run([verb.name, *words])
        assert plain is not None
        assert list(typed[-1]) == [verb.name, *words]
        assert {name: value or None for name, value in parsed[-1].items()} == {
            name: value or None for name, value in plain.items()
        }


@pytest.mark.parametrize(
    "call",
    [
        ["goal"],
        ["goal", "a", "b"],
        ["goal", "--help"],
        ["goal", "-x"],
        ["decide"],
        ["decide", "a", "b", "c"],
        ["decide", "a", "b", "--because"],
        ["decide", "a", "b", "--because", "-c"],
        ["decide", "a", "b", "--because=c"],
        ["next"],
        ["retract", "a", "--kind", "done"],
        ["end", "now"],
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser(call: list[str]) -> None:
    assert verbs.parse_plainly(verbs.VERBS[call[0]], call[1:]) is None


def test_a_new_verb_that_states_a_fact_is_one_row(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    row = verbs.VERBS["note"]._replace(name="learn", kind="feedback", help="Write down what was learned.")
    monkeypatch.setattr(verbs, "VERBS", {**verbs.VERBS, "learn": row})
    command("start")

    assert command("learn", "it rains") == Done(0, "feedback: it rains\n", "")
    assert json.loads(command("learn", "it rains", "--json").out)["kind"] == "feedback"
    assert command("learn", "--", "-5 °C") == Done(0, "feedback: -5 °C\n", "")
    assert "  learn       Write down what was learned.\n" in command("help", "--all").out
    assert "retract  learn\n" in command("--help").out
    assert command("learn", "--help").out.startswith("Usage: passdown learn [OPTIONS] TEXT\n")
    assert command("lern").err.startswith("passdown: there is no command lern; did you mean learn?\n")


def test_a_shell_completes_verbs_and_their_options(tmp_path: Path) -> None:
    for words, wanted in (("passdown dec", "plain,decide"), ("passdown decide --be", "plain,--because")):
        asked = {
            "_PASSDOWN_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        done = subprocess.run(
            [sys.executable, "-c", "from passdown.faces.cli.main import main; main()"],
            cwd=tmp_path,
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == [wanted]


def _list_calls() -> list[tuple[str, ...]]:
    """List every verb, every command below a verb, and the call without a verb."""
    context = click.Context(tree.cli)
    found: list[tuple[str, ...]] = [()]
    for name in verbs.VERBS:
        found.append((name,))
        known = tree.cli.get_command(context, name)
        if isinstance(known, click.Group):
            found += [(name, below) for below in known.list_commands(context)]
    return found


@pytest.mark.parametrize("words", _list_calls(), ids=" ".join)
def test_an_argument_that_is_not_utf_8_is_refused_in_one_line(
    command: Caller, words: tuple[str, ...]
) -> None:
    command("start")
    before = {path: path.read_bytes() for path in command.folder.rglob("*") if path.is_file()}
    for call in ((*words, "x\udcffy"), (*words, "--session", "\udcff"), (*words, "--", "é", "x\udce9")):
        said = f"passdown: argument {len(call)} is not valid UTF-8: {ascii(call[-1])[1:-1]}\n"
        assert command(*call) == Done(2, "", said)
    assert before == {path: path.read_bytes() for path in command.folder.rglob("*") if path.is_file()}

    refused = json.loads(command(*words, "--json", "\udcff").out)
    assert refused["error"]["code"] == "usage"


def test_bytes_that_are_not_utf_8_are_refused_as_an_argument_of_a_process(tmp_path: Path) -> None:
    for entry in ("main", "synthesize"):
        code = f"import sys; from passdown.faces.cli.main import {entry} as run; sys.exit(run())"
        done = subprocess.run(
            [sys.executable, "-c", code, b"goal", b"caf\xe9"], cwd=tmp_path, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1
        assert b"is not valid UTF-8: caf\\udce9" in done.stderr
    assert not list(tmp_path.iterdir())
