"""What a new user sees first: a trial that leaves nothing behind, and a shell that completes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.commands import Done
from tests.support.terminals import PROMPT, Terminal

PROGRAM: Final = [sys.executable, "-m", "passdown"]
COMPLETE: Final = """
passdown() { command "$PYTHON" -m passdown "$@"; }
eval "$(passdown completion bash | sed 's/ \\$1)/ "$PYTHON" -m passdown)/')"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_passdown_completion passdown
printf '%s\\n' "${COMPREPLY[@]}"
"""


def call(words: list[str], folder: Path, variables: Mapping[str, str]) -> Done:
    """Run a program to its end."""
    done = subprocess.run(words, cwd=folder, env=dict(variables), capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Give an environment with a home and a temporary folder of its own."""
    for name in ("home", "temporary", "here"):
        (tmp_path / name).mkdir()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHON": sys.executable,
    }


def test_a_trial_shows_the_life_of_two_sessions_and_leaves_nothing(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    done = call([*PROGRAM, "try"], tmp_path / "here", variables)

    assert done.code == 0, done.err
    shown = done.out.split("\n$ ")
    brief = next(one for one in shown if one.startswith("passdown brief\n"))
    assert "> store: Keep sessions in Redis (it expires them)" in brief
    assert "> Never put the token into a URL (it ends up in logs)" in brief
    assert "Last worked on:" in brief
    assert any("recovered amber-" in one for one in shown if one.startswith("passdown start"))
    assert any(one.startswith("passdown certify\nAll ") for one in shown)
    assert "the temporary repository is gone; nothing was left behind" in done.err
    assert sorted(tmp_path.rglob("*")) == [tmp_path / name for name in ("here", "home", "temporary")]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_trial_breaks_lines_between_words_at_a_terminal(tmp_path: Path) -> None:
    with Terminal(tmp_path, rows=100) as terminal:
        shown = terminal.run("passdown try", PROMPT)

    assert "last seen just now); you\n  continue its work\n" in shown
    assert "$ passdown rule-out 'Never put the token into a URL' --because 'it ends up in\n  logs'\n" in shown
    assert "(amber-" in shown
    assert re.search(r"\n# [^\n]+\n# [^\n]+\n\n\$ passdown start", shown)


def test_a_trial_without_git_says_what_failed_and_leaves_nothing(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    done = call([*PROGRAM, "try"], tmp_path / "here", {**variables, "PATH": str(tmp_path / "here")})

    assert (done.code, done.out) == (1, "")
    assert "passdown: git was not found\n" in done.err
    assert [*(tmp_path / "temporary").iterdir()] == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["passdown", "comp"], ["completion"]),
        (["passdown", "install", ""], ["claude", "codex", "copilot"]),
        (["passdown", "task", "no"], ["note"]),
        (["passdown", "retract", "--kind", "deci"], ["decision"]),
        (["passdown", "end", "--re"], ["--reason"]),
    ],
)
def test_bash_completes_commands_options_and_their_values(
    tmp_path: Path, variables: dict[str, str], words: list[str], found: list[str]
) -> None:
    done = call(["bash", "-c", COMPLETE, "bash", *words], tmp_path / "here", variables)

    assert done.out.split() == found, done.err


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_command_with_its_sentence(
    tmp_path: Path, variables: dict[str, str], shell: str
) -> None:
    script = call([*PROGRAM, "completion", shell], tmp_path / "here", variables)
    typed = ("passdown cer", "1") if shell == "zsh" else ("passdown ", "cer")
    asked = dict(zip(("COMP_WORDS", "COMP_CWORD"), typed, strict=True))
    asked["_PASSDOWN_COMPLETE"] = f"{shell}_complete"
    done = call(PROGRAM, tmp_path / "here", {**variables, **asked})

    assert f"_PASSDOWN_COMPLETE={shell}_complete" in script.out
    assert "certify" in done.out
    assert "Prove that no fact was lost." in done.out
    assert "claim" not in done.out


def test_completion_without_a_shell_names_the_shells(tmp_path: Path, variables: dict[str, str]) -> None:
    done = call([*PROGRAM, "completion"], tmp_path / "here", variables)

    assert done.code == 2
    assert "bash, zsh, fish" in done.err
