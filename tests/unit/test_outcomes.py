"""What runs proved is told as it was: by outcome, and by what the tests went through."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import requirements
from tests.outcomes import Outcome, find_kind, read_outcomes
from tests.requirements import Proof, Reasons, find_faults, judge, render_known, render_outcomes

_HOSTS = ("/opt/hosts",)
_PLANTED = """
import subprocess, sys
import pytest
from passdown.faces.cli.main import main
from passdown.faces.hooks import quick

@pytest.fixture
def helped(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["passdown", "--version"])
    main()

@pytest.mark.requirement("R1")
def test_inside(helped): ...

@pytest.mark.requirement("R2")
def test_called(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["passdown", "--version"])
    assert main() == 0

@pytest.mark.requirement("R3")
def test_hooked(monkeypatch):
    quick.main(["--help"], None)

@pytest.mark.requirement("R4")
def test_started():
    assert subprocess.run([sys.executable, "-m", "passdown", "--version"]).returncode == 0

@pytest.mark.requirement("R5", through="host")
@pytest.mark.parametrize("fails", [False, True])
def test_said(fails):
    assert not fails

@pytest.mark.requirement("R6")
def test_skipped():
    pytest.skip("not here")

@pytest.mark.requirement("R7")
def test_broken(unknown): ...

@pytest.fixture
def messy():
    yield
    raise ValueError

@pytest.mark.requirement("R8")
def test_messy(messy): ...

def test_unmarked(): ...
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_writes_the_outcome_and_the_kind_of_each_marked_test(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_planted.py").write_text(_PLANTED, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    requirement\n", encoding="utf-8")
    written = tmp_path / "made" / "outcomes.json"
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.outcomes")
    root = Path(requirements.__file__).parent.parent

    subprocess.run(
        [*command, "-n", workers, f"--outcomes={written}", f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=root,
        capture_output=True,
        check=False,
    )

    told = {
        test.partition("::")[2]: (*ids, *through, outcome)
        for test, ids, through, outcome in read_outcomes([written])
    }
    assert told == {
        "test_inside": ("R1", "inside", "passed"),
        "test_called": ("R2", "command", "passed"),
        "test_hooked": ("R3", "hook", "passed"),
        "test_started": ("R4", "command", "passed"),
        "test_said[False]": ("R5", "host", "passed"),
        "test_said[True]": ("R5", "host", "failed"),
        "test_skipped": ("R6", "inside", "skipped"),
        "test_broken": ("R7", "inside", "failed"),
        "test_messy": ("R8", "inside", "failed"),
    }


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["/usr/bin/git", "add", "passdown.toml"], "inside"),
        (["git", "commit", "--message=passdown.view"], "inside"),
        (["/venv/bin/passdown", "status"], "command"),
        (["python", "-m", "passdown", "say", "the hook-like thing"], "command"),
        (["sh", "-c", "'/venv/bin/cc-synthesize' --check"], "command"),
        (["python", "-c", "from passdown.faces.cli.main import main; main()", "status"], "command"),
        (["python", "-m", "passdown", "hook", "--host", "claude"], "hook"),
        (["sh", "-c", "'/venv/bin/passdown' hook --host claude"], "hook"),
        (["/opt/hosts/claude", "-p", "hello"], "host"),
        (["/opt/other/claude", "-p", "hello"], "inside"),
        ([], "inside"),
    ],
)
def test_a_process_goes_through_what_it_is(command: list[str], kind: str) -> None:
    assert find_kind(command, _HOSTS) == kind


def _case(test: str, outcome: str = "passed", *through: str) -> Outcome:
    return Outcome(test, ("R1",), through or ("inside",), outcome)


@pytest.mark.parametrize(
    ("outcomes", "tests", "through", "wrong"),
    [
        ([_case("t")], ["t"], ("inside",), {}),
        ([_case("t", "passed", "hook", "host"), _case("u")], ["t", "u"], ("inside", "hook", "host"), {}),
        ([_case("t"), _case("u", "failed")], ["t", "u"], (), {"u": "failed"}),
        ([_case("t[1]"), _case("t[2]", "failed")], ["t"], (), {"t": "failed"}),
        ([_case("t[1]"), _case("t[2]", "skipped")], ["t"], ("inside",), {}),
        ([_case("t"), _case("u", "skipped", "host")], ["t", "u"], ("inside",), {"u": "skipped"}),
        ([_case("t", "skipped")], ["t"], (), {"t": "skipped"}),
        ([], ["t"], (), {"t": "not run"}),
    ],
)
def test_what_is_skipped_left_out_or_failed_is_not_proven(
    outcomes: list[Outcome], tests: list[str], through: tuple[str, ...], wrong: dict[str, str]
) -> None:
    proof = judge(outcomes, {"R1": tests})["R1"]

    assert (proof.through, proof.wrong) == (through, wrong)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("passed", "failed", "failed"),
        ("failed", "passed", "failed"),
        ("skipped", "passed", "passed"),
        ("passed", "skipped", "passed"),
        ("skipped", "failed", "failed"),
    ],
)
def test_of_two_runs_a_failure_counts_and_else_a_pass(
    tmp_path: Path, first: str, second: str, together: str
) -> None:
    for name, outcome in (("a", first), ("b", second)):
        (tmp_path / name).write_text(json.dumps([_case("t", outcome)._asdict()]), encoding="utf-8")

    assert [one.outcome for one in read_outcomes([tmp_path / "a", tmp_path / "b"])] == [together]


_JUDGED = {
    "R1": Proof(("inside", "hook"), ("t",), {}),
    "R2": Proof(("inside",), ("t",), {}),
    "R3": Proof((), (), {"u": "skipped"}),
}


@pytest.mark.parametrize(
    ("known", "reasons", "faults"),
    [
        ({"R1": "hook", "R2": "inside"}, Reasons(("R1", "R2"), {"R2": "a law"}), []),
        ({"R1": "command"}, Reasons((), {}), []),
        ({"R1": "host"}, Reasons((), {}), ["R1 was proven through host, now proven through inside, hook"]),
        ({"R3": "inside"}, Reasons((), {}), ["R3 was proven through inside, now not proven: u skipped"]),
        ({"R9": "hook"}, Reasons((), {}), ["R9 was proven through hook, now not proven: it has no test"]),
        (
            {},
            Reasons(("R2", "R3"), {"R3": "comes later"}),
            ["R2 (Path of the ledger) has no reason and is proven through inside"],
        ),
        (
            {},
            Reasons(("R1",), {"R1": "a law", "R9": "a law"}),
            [
                "R1 is proven through inside, hook: take its reason out of inside.toml",
                "R9 has a reason in inside.toml but is not built",
            ],
        ),
    ],
)
def test_what_is_lost_or_has_no_reason_or_needs_none_is_a_fault(
    known: dict[str, str], reasons: Reasons, faults: list[str]
) -> None:
    assert find_faults(_JUDGED, known, reasons) == faults


def test_the_report_counts_by_the_outermost_kind_and_names_what_is_proven_through_no_face() -> None:
    report = render_outcomes(_JUDGED, Reasons(("R1", "R2", "R3"), {"R2": "a law"}))

    assert report.splitlines() == [
        "R1 proven through inside, hook: t",
        "R2 proven through inside: t",
        "R3 not proven: u skipped: ",
        "proven: 2 of 255 requirements (R1-R2)",
        "  by the outermost: inside 1, command 0, hook 1, host 0",
        "proven: 0 of 163 decisions (none)",
        "  by the outermost: inside 0, command 0, hook 0, host 0",
        "built: 3, of these not proven through a face: 2",
        "  R2 Path of the ledger (inside): a law",
        "  R3 The ledger is ignored by git (not proven): NO REASON",
    ]


def test_what_is_proven_is_written_down_with_its_kind() -> None:
    assert render_known(_JUDGED).splitlines()[1:] == ['R1 = "hook"', 'R2 = "inside"']


def test_every_reason_is_said_and_is_about_something_built() -> None:
    reasons = requirements.load_reasons()

    assert len(reasons.built) == 255
    assert [name for name in reasons.reasons if name not in reasons.built] == []
    assert all(reason.strip() for reason in reasons.reasons.values())
