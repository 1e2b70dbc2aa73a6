"""How many tests pass is read from what their runners print, and from nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.transcripts import TranscriptCollector
from passdown.core.kinds import FactKind
from passdown.core.test_counts import MAX_CHARS, CountedTests, add_counts, count_tests

GO = """\
=== RUN   TestAdd
=== RUN   TestAdd/small
--- PASS: TestAdd (0.00s)
    --- PASS: TestAdd/small (0.00s)
=== RUN   TestSub
    sub_test.go:9: wrong
--- FAIL: TestSub (0.00s)
=== RUN   TestMul
--- SKIP: TestMul (0.00s)
FAIL
exit status 1
FAIL\texample.com/sums\t0.002s
"""
CARGO = """\
running 3 tests
test tests::adds ... ok
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests sums

running 2 tests
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s
"""
MOCHA = """\
  sums
    ✔ adds
    - multiplies
    1) subtracts

  4 passing (8ms)
  1 pending
  1 failing

  1) sums
       subtracts:
     AssertionError
"""
NODE = "# tests 5\n# suites 1\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 50\n"


@pytest.mark.parametrize(
    ("output", "count", "passing"),
    [
        ("=========== 12 passed in 0.10s ===========\n", 12, 12),
        ("== 1 failed, 9 passed, 2 skipped, 3 deselected, 4 warnings in 61.00s (0:01:01) ==\n", 12, 9),
        ("1 passed, 1 xfailed, 1 xpassed, 2 errors in 0.10s\n", 5, 2),
        ("\x1b[32m\x1b[1m9 passed\x1b[0m\x1b[32m in 0.10s\x1b[0m\r\n", 9, 9),
        ("no tests ran in 0.01s\n", 0, 0),
        ("2 passed in 0.10s\n2 passed, 1 failed in 0.10s\n", 3, 2),
        ("...\nRan 3 tests in 0.001s\n\nOK\n", 3, 3),
        ("Ran 1 test in 0.001s\n\nOK\n", 1, 1),
        ("Ran 9 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1, expected failures=1)\n", 9, 4),
        ("Ran 1 test in 0.001s\n\nFAILED (failures=3)\n", 1, 0),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 0, 0),
        ("Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 9 passed, 12 total\n", 12, 9),
        ("Tests:       3 total\n", 3, 0),
        (" Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 9 passed | 2 skipped (12)\n", 12, 9),
        ("      Tests  4 passed (4)\n   Start at  10:00:00\n", 4, 4),
        (MOCHA, 6, 4),
        ("\n  2 passing (1s)\n\n", 2, 2),
        (NODE, 5, 4),
        ("# tests 2\n# suites 0\n# pass 2\n# fail 0\n".replace("#", "\u2139"), 2, 2),
        (GO, 3, 1),
        (CARGO, 5, 3),
        (f"note: Some details are omitted, run with `RUST_BACKTRACE=full`.\n{CARGO}", 5, 3),
    ],
)
def test_each_runner_is_understood(output: str, count: int, passing: int) -> None:
    assert count_tests(output) == CountedTests(count, passing)
    assert count_tests(f"building\n{output}\nmake: done\n") == CountedTests(count, passing)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "all is well",
        "12 passed",
        "ok  \texample.com/sums\t0.002s\n",
        "--- FAIL: TestSub (0.00s)\nFAIL\n",  # without -v nobody knows of the others
        f"{GO}\n… 12 bytes are left out …\n{GO}",
        f"{GO}\n... [120 lines truncated] ...\n{GO}",
        f"{CARGO}\n[... omitted 12 of 300 lines ...]\n{CARGO}",
        f"{'x' * MAX_CHARS}\n{CARGO}",
        "we had 12 tests passed in 3.0s before\n",
    ],
)
def test_what_is_not_told_is_not_known(output: str) -> None:
    assert count_tests(output) is None


def test_the_last_words_count() -> None:
    assert count_tests(f"3 passed in 0.10s\n{CARGO}") == CountedTests(5, 3)
    assert count_tests(f"{CARGO}3 passed in 0.10s\n") == CountedTests(3, 3)


@pytest.mark.parametrize(
    ("command", "counted"),
    [("pytest -q", [CountedTests(3, 3)]), ("pytest a && pytest b", [None, None]), ("ls", [])],
)
def test_of_several_tests_in_one_command_of_an_agent_none_is_counted(
    command: str, counted: list[CountedTests | None]
) -> None:
    collector = TranscriptCollector()

    collector.see_command(command, 0, "3 passed in 0.10s\n", "call")

    assert [one.counted for one in collector.seen if one.kind is FactKind.TEST] == counted


def test_the_counts_of_several_commands_are_added() -> None:
    assert add_counts([CountedTests(3, 2), None, CountedTests(1, 1)]) == CountedTests(4, 3)
    assert add_counts([None]) is None


@pytest.mark.parametrize(
    ("count", "passing", "text"),
    [
        (12, 12, "12 tests passing"),
        (12, 9, "9 of 12 tests passing"),
        (1, 1, "1 test passing"),
        (1, 0, "0 of 1 test passing"),
        (0, 0, "no tests"),
    ],
)
def test_counts_in_words(count: int, passing: int, text: str) -> None:
    assert CountedTests(count, passing).text == text


words = st.sampled_from(
    [
        "Tests: ",
        "Tests  ",
        "3 passed",
        "1 failed",
        ", ",
        " | ",
        " in 0.10s",
        "\n",
        " total",
        "(3)",
        "=== RUN   T",
    ]
)


@given(st.lists(words | st.text(max_size=5), max_size=30).map("".join))
def test_no_output_is_too_odd(output: str) -> None:
    found = count_tests(output)
    assert found is None or (found.total >= 0 and found.passing >= 0)


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "count", "passing"), [("unittest", 3, 2), ("pytest", 3, 2)])
def test_real_runners_are_understood(tmp_path: Path, runner: str, count: int, passing: int) -> None:
    cases = "".join(f"    def test_{n}(self): self.assertTrue({n})\n" for n in range(3))
    (tmp_path / "test_it.py").write_text(f"import unittest\nclass It(unittest.TestCase):\n{cases}")

    done = subprocess.run(
        [sys.executable, "-m", runner, "test_it.py" if runner == "pytest" else "test_it"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert count_tests(done.stdout + done.stderr) == CountedTests(count, passing)
