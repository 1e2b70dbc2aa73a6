"""A step of `.ci/run` fails when what it is to run is not there: each hole is made on purpose, and seen."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.commands import environment

ROOT: Final = Path(__file__).resolve().parents[3]
RUN: Final = ROOT / ".ci" / "run"
STEPS: Final = dict(
    re.findall(r'^step(?:_until "\$\w+")? "([^"]+)" (.+)$', RUN.read_text(encoding="utf-8"), re.MULTILINE)
)
MEMORY: Final = re.findall(r'^memory="([^$"]+)', RUN.read_text(encoding="utf-8"), re.MULTILINE)[0]
"""How the names of folders in memory begin."""
SCRIPTS: Final = {name: command for name, command in STEPS.items() if "/" in command.split()[0]}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script")


class Ended(NamedTuple):
    """How a part of the run ended."""

    code: int
    out: str


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Give a folder with `.ci/run`, a repository, and programs that succeed at whatever they are asked."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(RUN, tmp_path / ".ci" / "run")
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    for name in ("python", "mypy", "towncrier", "pytest", "uv", "npm", "apt-get"):
        make_program(tmp_path / "bin" / name, "exit 0")
    # These look for their file as the real ones do.
    make_program(tmp_path / "bin" / "mkdocs", "test -f mkdocs.yml")
    return tmp_path


def make_program(path: Path, text: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)


def run_part(folder: Path, text: str) -> Ended:
    """Run some lines with the functions of `.ci/run`."""
    done = subprocess.run(
        ["bash", "-c", f". .ci/run\n{text}\nfinished=yes"],
        cwd=folder,
        env=environment(PATH=f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout)


def run_step(folder: Path, name: str) -> Ended:
    return run_part(folder, f'step "{name}" {STEPS[name]}')


def test_every_script_is_there_and_executable() -> None:
    assert {command.split()[0] for command in SCRIPTS.values()} >= {
        "bench/run",
        "scripts/house",
        "scripts/spec",
    }
    for command in SCRIPTS.values():
        assert os.access(ROOT / command.split()[0], os.X_OK), command


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_step_whose_script_is_missing_fails(copy: Path, name: str) -> None:
    ended = run_step(copy, name)

    assert ended.code == 127
    assert f'ci: FAILED in step "{name}"' in ended.out


def test_a_slow_machine_leaves_what_the_nightly_run_has_too(copy: Path) -> None:
    """`SECONDS` is what bash counts up."""
    quick = run_part(copy, 'SECONDS=60; step_until "$LATE" "extra" echo done-it')
    slow = run_part(copy, 'SECONDS=$((LATE + 1)); step_until "$LATE" "extra" echo done-it')

    assert "\n== extra\ndone-it\n" in quick.out
    assert "done-it" not in slow.out
    assert re.search(r"\n== extra\nleft to .ci/nightly: \d+ s have passed\n", slow.out)
    assert quick.code == slow.code == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_step_whose_script_is_not_executable_fails(copy: Path, name: str) -> None:
    script = copy / SCRIPTS[name].split()[0]
    make_program(script, "exit 0", mode=0o644)

    assert run_step(copy, name).code == 126

    script.chmod(0o755)
    assert run_step(copy, name).code == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_step_whose_script_fails_fails(copy: Path, name: str) -> None:
    make_program(copy / SCRIPTS[name].split()[0], "exit 3")

    assert run_step(copy, name).code == 3


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("docs", ["mkdocs.yml"]),
        ("lengths", ["README.md", "ARCHITECTURE.md", "AGENTS.md"]),
    ],
)
def test_a_step_whose_file_is_missing_fails(copy: Path, name: str, there: list[str]) -> None:
    for path in there:
        (copy / path).write_text("a line\n")
    assert run_step(copy, name).code == 0

    for path in there:
        (copy / path).rename(copy / "kept")
        assert run_step(copy, name).code != 0, path
        (copy / "kept").rename(copy / path)


def test_types_of_folders_that_are_gone_are_not_passed_over(copy: Path) -> None:
    make_program(copy / "bin" / "mypy", 'for path; do test "${path#-}" != "$path" || test -e "$path"; done')

    assert run_step(copy, "types (mypy)").code != 0


def test_a_later_command_does_not_hide_that_an_earlier_failed(copy: Path) -> None:
    make_program(copy / "bin" / "mypy", 'test "$1" != src')

    assert run_step(copy, "types (mypy)").code == 1


def test_a_run_that_ends_early_without_an_error_has_failed(copy: Path) -> None:
    ended = run_part(copy, "exit 0")

    assert ended.code == 1
    assert "ci: FAILED" in ended.out


def test_a_change_that_cannot_be_compared_fails(copy: Path) -> None:
    (copy / "changelog.d").mkdir()
    assert "not compared: there is no origin/main" in run_step(copy, "changelog").out

    git = ["git", "-C", str(copy)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    assert run_step(copy, "changelog").code == 0

    subprocess.run([*git, "update-ref", "-d", "HEAD"], check=True)
    assert run_step(copy, "changelog").code != 0


# --- what is installed in the background ----------------------------------------------------------

PARTS: Final = """
good() { echo "good is here"; }
bad() { echo "bad is not"; return 3; }
"""


def test_what_is_installed_in_the_background_is_there_when_it_was_waited_for(copy: Path) -> None:
    ended = run_part(copy, f'{PARTS}begin hosts good\nstep "hosts" finish hosts')

    assert ended.code == 0
    assert "good is here\n-- hosts: " in ended.out


def test_what_cannot_be_installed_in_the_background_fails_the_run_and_says_why(copy: Path) -> None:
    ended = run_part(copy, f'{PARTS}begin hosts bad good\nstep "hosts" finish hosts')

    assert ended.code == 1
    assert "bad is not\nci: what runs in the background (hosts) ended with 3\n" in ended.out
    assert "good is here" not in ended.out
    assert 'ci: FAILED in step "hosts"' in ended.out


def test_packages_and_hosts_are_waited_for_before_anything_needs_them() -> None:
    names = list(STEPS)

    assert "\nbegin hosts install_packages install_hosts\n" in RUN.read_text(encoding="utf-8")
    assert names.index("system packages and hosts") < names.index("screens")


# --- builds of Beads ------------------------------------------------------------------------------

DOWNLOADS: Final = """
case $1 in
  mod) mkdir -p module && echo '{"Dir": "module"}' ;;
  build) shift 4; printf '#!/bin/sh\\necho bd is here\\n' >"$1" && chmod +x "$1" ;;
esac
"""


def test_builds_of_beads_are_kept_and_not_made_again(copy: Path) -> None:
    make_program(copy / "bin" / "go", DOWNLOADS)

    first = run_part(copy, 'begin beads build_bd\nstep "beads" finish beads')
    make_program(copy / "bin" / "go", "exit 9")
    again = run_part(copy, 'begin beads build_bd\nstep "beads" finish beads')

    assert (first.code, again.code) == (0, 0), first.out
    assert again.out.count("bd is here") == 2
    builds = sorted(path.name for path in (copy / ".ci-cache" / "bd").iterdir())
    assert builds == ["bd-0.44.0", "bd-1.3.0"]


def test_a_build_of_beads_that_fails_fails_the_run(copy: Path) -> None:
    make_program(copy / "bin" / "go", f'[ "$1" = build ] && exit 3{DOWNLOADS}')

    ended = run_part(copy, 'begin beads build_bd\nstep "beads" finish beads')

    assert ended.code == 1
    assert "ci: what runs in the background (beads) ended with 3" in ended.out
    assert not list((copy / ".ci-cache" / "bd").iterdir())


def test_beads_is_built_from_the_first_step_on_and_there_when_the_wheel_is_tested() -> None:
    text, names = RUN.read_text(encoding="utf-8"), list(STEPS)

    assert text.index("\nbegin beads wait_for_packages build_bd\n") < text.index(f'\nstep "{names[0]}"')
    assert names.index("oldest Beads") < names.index("tests of the wheel")


def test_the_wheel_waits_for_the_oldest_build_of_beads_alone(copy: Path) -> None:
    built = copy / ".ci-cache" / "bd" / "bd-0.44.0"
    builds = f'builds() {{ mkdir -p "{built.parent}"; install /dev/null "{built}"; sleep 600; }}'

    ended = run_part(copy, f"{builds}\nbegin beads builds\nwait_for_oldest_bd\nstop beads\necho went on")
    failed = run_part(copy, f'{PARTS}rm "{built}"\nbegin beads bad\nwait_for_oldest_bd\necho went on')

    assert (ended.code, ended.out) == (0, "in the background: beads was stopped\nwent on\n")
    assert "went on" not in failed.out
    assert "ci: what runs in the background (beads) ended with 3\n" in failed.out


def test_a_slow_machine_runs_the_small_proofs_and_builds_no_newer_beads(copy: Path) -> None:
    builds = 'builds() { sh -c "sleep 601; echo never"; }\nbegin beads builds\nall=-$(cat $scratch/*.pid)\n'
    stopped = 'while kill -0 -- "$all" 2>/dev/null; do sleep 0.1; done; echo stopped'

    quick = run_part(copy, f'{PARTS}begin beads good\nSECONDS=60; choose_size; echo "size $size"')
    slow = run_part(copy, f'{builds}SECONDS=$((SLOW + 1)); choose_size; echo "size $size"; {stopped}')

    assert (quick.code, quick.out) == (0, "good is here\nsize ci\n")
    assert slow.code == 0
    assert re.fullmatch(
        r"small, and larger in .ci/nightly: \d+ s have passed\n"
        r"in the background: beads was stopped\nsize fast\nstopped\n",
        slow.out,
    )


def test_limits_of_time_are_those_of_one_size(copy: Path) -> None:
    ended = run_part(copy, 'test_on_wheel() { echo "$1 $size"; }\nsize=fast; test_timed; echo "size $size"')

    assert ended.out == "timed ci\nsize fast\n"


def test_what_has_limits_of_time_runs_when_nothing_is_built_any_more() -> None:
    names = list(STEPS)

    assert names.index("size of the proofs") < names.index("timed tests")


def test_the_tests_of_the_wheel_begin_no_later_than_the_run_has_time_for(copy: Path) -> None:
    shown = 'test_on_wheel() { echo "$1 until $((PASSDOWN_UNTIL - $(date +%s)))"; }'

    ended = run_part(copy, f'{shown}\nSECONDS=1000; test_wheel; echo "then ${{PASSDOWN_UNTIL-}}."')

    assert ended.out in {
        f"wheel-units until {left}\nwheel until {right}\nthen .\n"
        for left in (2199, 2200)
        for right in (2199, 2200)
    }


# --- other Pythons --------------------------------------------------------------------------------

MAKES_ENVIRONMENT: Final = """
if [ "$1 $2" = "venv --quiet" ]; then
  for home; do :; done
  mkdir -p "$home/bin" && cp "$5" "$home/bin/python"
fi
"""


@pytest.fixture
def pythons(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder in which 3.11 runs CI, and where pyenv would keep other versions."""
    make_program(copy / ".ci-cache" / "venv" / "bin" / "python", "echo 3.11")
    make_program(copy / "bin" / "uv", MAKES_ENVIRONMENT)
    monkeypatch.setenv("PYENV_ROOT", str(copy / ".pyenv"))
    return copy / ".pyenv" / "versions"


def test_the_newest_python_runs_the_unit_tests_and_newer_ones_that_are_missing_are_named(
    copy: Path, pythons: Path
) -> None:
    for version in ("3.12.1", "3.12.10", "3.13.0"):
        make_program(pythons / version / "bin" / "python", f'echo "{version} $*"')
    ended = run_step(copy, "tests on the newest Python")

    assert ended.code == 0
    assert re.findall(r"^3\.\d+\.\d+ -m pytest .* tests/unit$", ended.out, re.MULTILINE) == [
        (
            "3.13.0 -m pytest -p no:cacheprovider "
            "-m not process and not timed and not slow and not long and not hypothesis and not beads "
            "tests/unit"
        )
    ]
    assert "not on this machine: 3.15\nnot on this machine: 3.14\n3.13.0 " in ended.out


def test_a_test_that_fails_on_another_python_fails_the_step(copy: Path, pythons: Path) -> None:
    make_program(pythons / "3.12.1" / "bin" / "python", 'test "$2" != pytest')

    assert run_step(copy, "tests on the newest Python").code == 1


@pytest.mark.usefixtures("pythons")
def test_a_machine_with_one_python_says_so_and_goes_on(copy: Path) -> None:
    ended = run_step(copy, "tests on the newest Python")

    assert ended.code == 0
    assert "not on this machine: 3.13\nnot on this machine: 3.12\n-- " in ended.out


@pytest.mark.usefixtures("pythons")
def test_a_part_that_needs_a_python_says_that_it_is_missing(copy: Path) -> None:
    ended = run_part(copy, "find_tools && test_python 3.12")

    assert ended.code == 0
    assert ended.out.endswith("not run: there is no Python 3.12 on this machine\n")


@pytest.mark.parametrize("free", ["", "7000000", "9000000"])
def test_a_command_writes_to_memory_where_there_is_enough_and_leaves_nothing(copy: Path, free: str) -> None:
    make_program(copy / "bin" / "df", f"echo Filesystem\necho tmpfs 1 0 {free}")
    call = 'in_memory sh -c "echo in \\$TMPDIR; exit 3"'

    ended = run_part(copy, f'export TMPDIR={copy}\ncode=0\n{call} || code=$?\necho "ended with $code"')

    assert ended.code == 0
    assert ended.out.endswith("ended with 3\n")
    named = ended.out.split("\n")[0].removeprefix("in ")
    is_memory = free == "9000000" and Path(MEMORY).parent.is_dir()
    assert named.startswith(MEMORY) if is_memory else named == str(copy)
    assert not is_memory or not Path(named).exists()


def test_no_step_passes_over_what_is_not_there() -> None:
    text = RUN.read_text(encoding="utf-8")

    assert not re.findall(r"run_if_there|no \S+ yet|\|\| true|\|\| continue|\|\| :", text)
