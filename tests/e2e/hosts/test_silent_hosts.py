"""Sessions of real hosts that edit, test, commit and record nothing leave a useful brief (C60, C135).

`PASSDOWN_HOSTS` names the folder with the hosts' programs, `PASSDOWN_OLDER_HOSTS` one with older versions of
them; without the folder a test is skipped.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.settings import FILE_NAME
from tests.hosts.drivers import ClaudeCode, Codex, Driver, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import PASSDOWN, briefs, hooks, need, need_older
from tests.support.gits import Project

pytestmark = pytest.mark.timeout(180)

TEST = "bash run_tests.sh"
WORDS = "The totals are right. One test fails, because the header is still missing."
SUBJECTS = ("Add totals", "Read the header", "Write the totals")


def make_claude(place: Ground, find: Callable[[str], str]) -> tuple[Driver, str, list[str]]:
    """Give Claude Code with our hooks."""
    (place.home / ".claude").mkdir(exist_ok=True)
    (place.home / ".claude" / "settings.json").write_text(hooks(), encoding="utf-8")
    return ClaudeCode(find("claude"), place), "Bash", []


def make_codex(place: Ground, find: Callable[[str], str]) -> tuple[Driver, str, list[str]]:
    """Give Codex with our hooks."""
    driver = Codex(find("codex"), place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    return driver, "exec_command", ["--dangerously-bypass-hook-trust"]


PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "brief.md"


def list_lines(text: str) -> list[str]:
    """Give the lines of a brief without what differs each time: ids, ages and the host."""
    return re.sub(r"\b(claude|codex)-|[0-9a-f]{8,}|\d+ (s|min)\b", "…", text).splitlines()


def read_printed() -> str:
    """Give the brief that the documentation shows."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("The fourth got this brief:\n\n```text\n")
    return rest.partition("```")[0]


def work(tool: str, number: int) -> list[Step]:
    """Give what the model does in one session: it edits, tests, commits, and says what it did."""
    commit = f"git add --all && git commit --quiet -m '{SUBJECTS[number]}' && git log -1 --oneline"
    commands = (
        f"echo more >> totals.py && echo more > part_{number}.py",
        TEST,
        f"{commit}",
    )
    steps = [Step(calls=(_run(tool, command),)) for command in commands]
    return [*steps, Step(text=WORDS if number == len(SUBJECTS) - 1 else f"Part {number} is done.")]


def _run(tool: str, command: str) -> Call:
    name = "cmd" if tool == "exec_command" else "command"
    more = {} if tool == "exec_command" else {"description": "work"}
    return Call(tool=tool, input={name: command, **more})


@pytest.mark.requirement("C60", "C121", "C135", "C152")
@pytest.mark.parametrize(
    ("make", "find"),
    [(make_claude, need), (make_claude, need_older), (make_codex, need)],
    ids=["claude", "older-claude", "codex"],
)
def test_what_silent_sessions_did_is_in_the_next_brief_and_in_another_clone(
    ground: tuple[Ground, Model],
    tmp_path: Path,
    make: Callable[[Ground, Callable[[str], str]], tuple[Driver, str, list[str]]],
    find: Callable[[str], str],
) -> None:
    place, model = ground
    project = Project(folder=place.root)
    project.write("run_tests.sh", "test -e header\n")
    project.git("config", "user.name", "Somebody")
    project.git("config", "user.email", "somebody@example.org")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=Set up")
    assert project.tree().count(FILE_NAME) == 1

    for number in range(len(SUBJECTS)):
        driver, tool, options = make(place, find)
        model.prepare(work(tool, number), str(place.root))
        assert driver.turn(f"please do part {number}", options).code == 0
    driver, tool, options = make(place, find)
    before = len(model.requests)
    model.prepare([Step(text="ok")], str(place.root))
    assert driver.turn("what is left?", options).code == 0

    fourth = briefs(model.requests[before:])[0]
    for text in (*SUBJECTS, "> totals.py", "> part_0.py", "> part_1.py", "> part_2.py", WORDS):
        assert text in fourth, text
    assert f"failed: {TEST}: exit 1 at commit " in fourth
    assert "please do part 2" in fourth
    assert "do not repeat" not in fourth
    assert list_lines(fourth) == list_lines(read_printed())

    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=All events")
    clone = tmp_path / "clone"
    project.git("clone", "--quiet", ".", str(clone))
    there = subprocess.run(
        [str(PASSDOWN), "brief"], cwd=clone, check=True, capture_output=True, text=True
    ).stdout
    for text in (*SUBJECTS, "> totals.py", "> part_0.py", "> part_1.py", "> part_2.py"):
        assert text in there, text
    assert f"failed: {TEST}: exit 1 at commit " in there
    assert WORDS not in there
    assert "please do part" not in there
