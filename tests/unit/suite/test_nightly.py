"""Tests of the parts of `.ci/nightly`: which there are, whose turn it is, and what is kept of a run."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from tests import nightly
from tests.nightly import (
    PARTS,
    SHORT,
    Part,
    Result,
    choose_in_turn,
    count_commits,
    keep_result,
    read_results,
    run_part,
)

ROOT: Final = Path(__file__).resolve().parents[3]
DONE: Final = Result("2026-11-18", "abc1234", "passed", 64, "all well")


def test_every_part_runs_something_that_is_there() -> None:
    paths = [
        word
        for part in PARTS.values()
        for word in part.command
        if re.match(r"(tests|bench|fuzz|scripts)/", word)
    ]

    assert len(paths) > len(PARTS) // 2
    assert [path for path in paths if not (ROOT / path.split("::", maxsplit=1)[0]).exists()] == []


def test_every_proof_has_a_part_that_runs_it_at_its_full_size() -> None:
    full = {
        word
        for part in PARTS.values()
        if part.environment.get("PASSDOWN_PROOF") == "long"
        for word in part.command
    }
    proofs = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"proof_count\(|\bLEVEL\b", path.read_text(encoding="utf-8"))
    }

    assert [path for path in sorted(proofs) if not any(path.startswith(word) for word in full)] == []


def test_each_short_part_has_its_turn() -> None:
    turns = [choose_in_turn(number) for number in range(len(PARTS))]

    assert {part.name for part in turns} == {
        name for name, part in PARTS.items() if part.is_short and part.is_in_turn
    }
    assert max(part.minutes for part in turns) <= SHORT


def test_turns_are_counted_by_commits_and_by_days_in_a_shallow_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, shallow = tmp_path / "project", tmp_path / "shallow"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for number in range(3):
        subprocess.run(
            ["git", "-C", str(project), "commit", "-q", "--allow-empty", "-m", str(number)], check=True
        )
    subprocess.run(["git", "clone", "-q", "--depth", "1", project.as_uri(), str(shallow)], check=True)

    monkeypatch.setattr(nightly, "ROOT", project)
    assert count_commits(date(2026, 11, 18)) == 3

    monkeypatch.setattr(nightly, "ROOT", shallow)
    assert count_commits(date(2026, 11, 18)) + 1 == count_commits(date(2026, 11, 19))


@pytest.mark.parametrize(("code", "outcome"), [(0, "passed"), (3, "failed")])
def test_a_result_says_how_a_part_ended_without_paths_of_the_machine(code: int, outcome: str) -> None:
    script = f"print('begun'); print({str(ROOT)!r} + '/bench: 7 passed'); print(); raise SystemExit({code})"
    result = run_part(Part("planted", "a test", (sys.executable, "-c", script), 1))

    assert (result.outcome, result.said) == (outcome, "./bench: 7 passed")
    assert re.fullmatch(r"[0-9a-f]{7,}( with changes)?", result.commit)


def test_a_result_is_kept_beside_those_of_other_parts(tmp_path: Path) -> None:
    kept = tmp_path / "nightly.json"
    first, second = list(PARTS.values())[:2]

    keep_result(second, DONE, kept)
    keep_result(first, DONE, kept)
    keep_result(first, replace(DONE, outcome="failed"), kept)

    assert read_results(kept) == {first.name: replace(DONE, outcome="failed"), second.name: DONE}
    assert list(json.loads(kept.read_text())) == [first.name, second.name]


def test_the_list_says_when_each_part_last_ran() -> None:
    first, second = list(PARTS)[:2]
    listed = nightly.list_parts({second: DONE})

    assert re.search(rf"^{first} +\d+  never$", listed, re.MULTILINE)
    assert re.search(rf"^{second} +\d+  2026-11-18 at abc1234: passed, 64 s$", listed, re.MULTILINE)


def test_a_part_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        nightly.main(["nonsense"])

    assert stopped.value.code == 2
    assert "no such part: nonsense (see --list)" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_script_lists_the_parts_without_installing_anything() -> None:
    assert os.access(ROOT / ".ci" / "nightly", os.X_OK)
    done = subprocess.run([ROOT / ".ci" / "nightly", "--list"], stdout=subprocess.PIPE, text=True, check=True)

    assert [line.split()[0] for line in done.stdout.splitlines()] == ["part", *PARTS]


def test_a_part_that_could_not_run_neither_passed_nor_failed_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "print('not run: there is no Python 9.9 on this machine')"
    missing = Part("python-9.9", "a test", (sys.executable, "-c", script), 1)
    kept = tmp_path / "nightly.json"
    monkeypatch.setattr(nightly, "PARTS", {missing.name: missing})
    keep_result(missing, DONE, kept)
    monkeypatch.setattr(nightly, "keep_result", lambda part, result: keep_result(part, result, kept))

    assert nightly.main([missing.name]) == 0

    assert "nightly: 0 of 1 parts passed" in capsys.readouterr().out
    assert read_results(kept) == {missing.name: DONE}
