"""However a command ends, its exit code says so, and so does what it prints."""

import json
import sys
from pathlib import Path

import click
import jsonschema
import pytest

import passdown
from passdown.core.formats import LEDGER
from passdown.faces.cli import living, saying, tree
from passdown.faces.cli import main as main_module
from passdown.services import documents
from tests.answers import ERROR
from tests.commands import Caller, Done

HELP = """\
Usage: passdown [OPTIONS] COMMAND [ARGS]...

  The pass-down log for coding agents: what one session knew, the next one
  knows.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
  init        Set Passdown up in this project: settings, and rules for git.
  install     Install the plugin into Claude Code, Codex or Copilot; show what
              changes first.
  uninstall   Take the plugin out of a host again; what you changed meanwhile
              stays.
  start       Start a session, or show the one that runs; what never ended is
              recovered first.
  status      List the sessions of the project, what each does, and which are
              stale.
  goal        Say what the session is to achieve, in one or two sentences.
  now         Say what you are doing; one thing at a time.
  done        Say what is finished; without a text, what you were doing is.
  next        Say what comes after, one argument for each step, in order.
  decide      Record a choice under a key; a later one of the same key takes
              its place.
  rule-out    Say what must not be done, and why, so that nobody tries it
              again.
  ask         Write down a question that somebody must answer.
  answer      Answer a question; QUESTION is its text, or the start of it.
  note        Write a note to yourself; it stays on this machine.
  retract     Take back what was said; TEXT is its text, the start of it, or a
              decision's key.
  observe     Take in what a host's transcript and git tell of a session.
  publish     Publish what is open as an event that every checkout can merge.
  heartbeat   Give a sign of life, and bring the ledger up to date.
  end         End a session: publish what is open, archive its ledger, commit
              where agreed.
  handoff     Hand work over: write what a session passes on, list it, go on
              from it.
  track       Bind a session to a track, let go of it, or finish it.
  synthesize  Merge all events into the view; archive and commit when asked.
  brief       Say what a starting session must know, within a budget.
  certify     Prove that no fact was lost.
  log         List what was published, the newest first.
  search      Find words in ledgers, archives, events and streams.
  check       Say what is wrong with ledgers, events and other documents.
  event       Show an event, or take one back.
  view        Show the view, list what it leaves out, or verify it.
  format      List the document formats; show a schema or an example.
  migrate     Take over a `current.md` that Passdown did not make.
  pause       Hold Passdown off in this project: what runs by itself does
              nothing until `unpause`.
  unpause     Let Passdown work again in this project.
  doctor      Say what is wrong with the project as a whole, and mend what is
              safe to mend.

  `passdown COMMAND --help` tells more about a command.
"""


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


def test_without_a_command_there_is_help_on_stderr(command: Caller) -> None:
    assert command() == Done(2, "", HELP)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["chek"], "there is no command chek; did you mean check?", "`passdown --help` lists the commands"),
        (["zzz"], "there is no command zzz", "`passdown --help` lists the commands"),
        (["--bad"], "no such option '--bad'", "`passdown --help` lists the commands"),
        (["check", "--bad"], "no such option '--bad'", "`passdown check --help` shows how it is called"),
        (
            ["format", "schema"],
            "missing argument 'NAME'",
            "`passdown format schema --help` shows how it is called",
        ),
        (["check", "--yes"], "--yes does nothing without --fix", "add --fix, or leave --yes out"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_how_it_is_right(
    command: Caller, arguments: list[str], message: str, hint: str
) -> None:
    assert command(*arguments) == Done(2, "", f"passdown: {message}\n  hint: {hint}\n")


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
        "hint": "report it, with what stderr shows",
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

    for name, said in tree.COMMANDS.items():
        command = tree.cli.get_command(context, name)
        assert command is not None
        assert (command.help or "").splitlines()[0] == said
    assert tree.cli.list_commands(context) == list(tree.COMMANDS)
    assert tree.cli.get_command(context, "nosuch") is None


def test_what_is_done_without_the_parser_is_in_the_tree_under_the_same_name() -> None:
    commands = tree.cli.list_commands(click.Context(tree.cli))

    assert set(main_module._VERBS) == set(saying._SHAPES)  # noqa: SLF001 - two lists, so that little is loaded
    assert set(main_module._OF_LIFE) == set(living.PLAIN)  # noqa: SLF001
    assert {*saying._SHAPES, *living.PLAIN} <= set(commands)  # noqa: SLF001
