"""What runs proved is told as it was: by outcome, and by what the tests went through."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import requirements, specification
from tests.outcomes import Outcome, find_kind, read_outcomes
from tests.requirements import Proof, Reasons, find_faults, judge, render_known, render_outcomes
from tests.skips import NO_TIME

_HOSTS = ("/opt/hosts",)
_PLANTED = """
import subprocess, sys
from pathlib import Path
import pytest
from passdown.faces.cli.main import main
from passdown.faces.hooks import quick
from tests import requirements
from tests.support.commands import Caller, run
from tests.looks import hands_on

VERSION = [sys.executable, "-m", "passdown", "--version"]

@pytest.fixture
def helped(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["passdown", "--version"])
    main()
    assert capsys.readouterr().out

@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    return Caller(monkeypatch, capsys, tmp_path)

@pytest.mark.requirement("R1")
def test_inside(helped): ...

@pytest.mark.requirement("R2")
def test_called(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["passdown", "--version"])
    main()
    assert capsys.readouterr().out

@pytest.mark.requirement("R3")
def test_hooked(capsys):
    quick.main(["--help"], None)
    assert capsys.readouterr().err == ""

@pytest.mark.requirement("R4")
def test_started():
    assert subprocess.run(VERSION, capture_output=True).stdout

@pytest.mark.requirement("R5", through="host")
@pytest.mark.parametrize("fails", [False, True])
def test_said(fails, tmp_path):
    assert tmp_path.exists()
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

@pytest.mark.requirement("R9")
@pytest.mark.slow
def test_left_out(): ...

@pytest.mark.slow
def test_unmarked(): ...
"""
_LOOKING = """

def test_idle(command):
    command("--version")
    assert max(1, 2) == 2

def test_idle_process(tmp_path):
    run("--version", cwd=tmp_path)
    subprocess.run(VERSION, check=True)
    assert max(1, 2) == 2

def test_early(command, tmp_path):
    assert not (tmp_path / "passdown.toml").exists()
    command("--version")

def test_no_refusal(command):
    assert command("--version").code == 0

def test_given(command):
    command("--version")
    assert Path(sys.prefix, "pyvenv.cfg").exists() and Path(requirements.__file__).read_text()

def test_refusal(command):
    assert command("nonsense").code == 2

def test_output(command):
    assert command("--version").out

def test_all(command):
    assert command("--version") != (0, "", "")

def test_process(tmp_path):
    assert run("--version", cwd=tmp_path).out

def test_pipe():
    process = subprocess.Popen(VERSION, stdout=subprocess.PIPE)
    assert process.communicate()[0]

def test_file(command, tmp_path):
    command("--version")
    assert not (tmp_path / "passdown.toml").exists()

def test_opened(command, tmp_path):
    (tmp_path / "a").write_text("a")
    command("--version")
    with open("a") as file:
        assert file.read() == "a"

def test_written(command, tmp_path):
    command("--version")
    with open("a", "w") as file:
        file.write("a")

def test_helper(command):
    hands_on(lambda: command("--version").out)()

def test_said_idle():
    assert max(1, 2) == 2

def test_said_called(command, tmp_path):
    assert tmp_path.exists()
    command("--version")

def test_said_looked(tmp_path):
    assert tmp_path.exists()

def test_first_of_two(command, tmp_path):
    command("--version")
    assert run("--version", cwd=tmp_path).out
    quick.main(["--help"], None)
"""


def _run_planted(folder: Path, source: str, *options: str) -> dict[str, Outcome]:
    (folder / "test_planted.py").write_text(source, encoding="utf-8")
    markers = "[pytest]\nmarkers =\n    requirement\n    slow\n"
    (folder / "pytest.ini").write_text(markers, encoding="utf-8")
    written = folder / "made" / "outcomes.json"
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.outcomes")
    root = Path(requirements.__file__).parent.parent

    subprocess.run(
        [*command, *options, f"--outcomes={written}", f"--rootdir={folder}", str(folder)],
        cwd=root,
        capture_output=True,
        check=False,
    )
    return {one.test.partition("::")[2]: one for one in read_outcomes([written])}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_writes_the_outcome_and_the_kind_of_each_marked_test(tmp_path: Path, workers: str) -> None:
    found = _run_planted(tmp_path, _PLANTED, "-n", workers, "-m", "not slow")

    assert {test: (*one.ids, *one.through, one.outcome) for test, one in found.items()} == {
        "test_inside": ("R1", "inside", "passed"),
        "test_called": ("R2", "command", "passed"),
        "test_hooked": ("R3", "hook", "passed"),
        "test_started": ("R4", "command", "passed"),
        "test_said[False]": ("R5", "host", "passed"),
        "test_said[True]": ("R5", "host", "failed"),
        "test_skipped": ("R6", "inside", "skipped"),
        "test_broken": ("R7", "inside", "failed"),
        "test_messy": ("R8", "inside", "failed"),
        "test_left_out": ("R9", "left out"),
    }
    assert {test: one.why for test, one in found.items() if one.why} == {"test_skipped": "Skipped: not here"}
    assert not any(one.unseen for one in found.values())


def test_a_call_counts_only_if_the_test_then_looked_at_the_answer_or_at_a_file(tmp_path: Path) -> None:
    planted = _PLANTED.partition("@pytest.mark.requirement")[0]
    marked = _LOOKING.replace("\ndef test_", '\n@pytest.mark.requirement("R1")\ndef test_')
    marked = marked.replace('"R1")\ndef test_said', '"R1", through="command")\ndef test_said')

    found = _run_planted(tmp_path, planted + marked, "-n", "0")

    assert {one.outcome for one in found.values()} == {"passed"}
    assert {test: (one.through, one.unseen) for test, one in found.items()} == {
        "test_idle": (("inside",), ("command",)),
        "test_idle_process": (("inside",), ("command",)),
        "test_early": (("inside",), ("command",)),
        "test_no_refusal": (("inside",), ("command",)),
        "test_given": (("inside",), ("command",)),
        "test_written": (("inside",), ("command",)),
        "test_helper": (("inside",), ("command",)),
        "test_refusal": (("command",), ()),
        "test_output": (("command",), ()),
        "test_all": (("command",), ()),
        "test_process": (("command",), ()),
        "test_pipe": (("command",), ()),
        "test_file": (("command",), ()),
        "test_opened": (("command",), ()),
        "test_said_idle": (("inside",), ("command",)),
        "test_said_called": (("inside",), ("command",)),
        "test_said_looked": (("command",), ()),
        "test_first_of_two": (("command",), ("hook",)),
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


def _case(test: str, outcome: str = "passed", *through: str, unseen: str = "") -> Outcome:
    why = "no Windows" if outcome == "skipped" else ""
    return Outcome(test, ("R1",), through or ("inside",), outcome, (unseen,) if unseen else (), why)


@pytest.mark.parametrize(
    ("outcomes", "tests", "through", "wrong"),
    [
        ([_case("t")], ["t"], ("inside",), {}),
        ([_case("t", "passed", "hook", "host"), _case("u")], ["t", "u"], ("inside", "hook", "host"), {}),
        ([_case("t"), _case("u", "failed")], ["t", "u"], (), {"u": "failed"}),
        ([_case("t[1]"), _case("t[2]", "failed")], ["t"], (), {"t": "failed"}),
        ([_case("t[1]"), _case("t[2]", "skipped")], ["t"], (), {"t": "[2] skipped (no Windows)"}),
        ([_case("t[1]"), _case("t[2]", "left out")], ["t"], (), {"t": "[2] left out"}),
        (
            [_case("t"), _case("u", "skipped", "host")],
            ["t", "u"],
            ("inside",),
            {"u": "skipped (no Windows)"},
        ),
        ([_case("t", "skipped")], ["t"], (), {"t": "skipped (no Windows)"}),
        ([], ["t"], (), {"t": "not run"}),
    ],
)
def test_what_is_skipped_left_out_or_failed_is_not_proven(
    outcomes: list[Outcome], tests: list[str], through: tuple[str, ...], wrong: dict[str, str]
) -> None:
    proof = judge(outcomes, {"R1": tests})["R1"]

    assert (proof.through, proof.wrong) == (through, wrong)


@pytest.mark.parametrize(
    ("outcomes", "through", "unseen"),
    [
        ([_case("t", unseen="command")], ("inside",), {"t": "command"}),
        ([_case("t[1]", "passed", "command"), _case("t[2]", unseen="command")], ("inside", "command"), {}),
        (
            [_case("t[1]", unseen="command"), _case("t[2]", unseen="hook")],
            ("inside",),
            {"t": "command, hook"},
        ),
        ([_case("t", "failed", unseen="command")], (), {}),
    ],
)
def test_a_call_without_a_look_is_named_and_proves_nothing_through_a_face(
    outcomes: list[Outcome], through: tuple[str, ...], unseen: dict[str, str]
) -> None:
    proof = judge(outcomes, {"R1": ["t"]})["R1"]

    assert (proof.through, proof.unseen) == (through, unseen)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("left out", "passed", "passed"),
        ("skipped", "left out", "skipped"),
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


def test_of_two_runs_that_passed_the_looks_of_both_count(tmp_path: Path) -> None:
    cases = (_case("t", "passed", "hook", unseen="command"), _case("t", "passed", "command", unseen="host"))
    for number, case in enumerate(cases):
        (tmp_path / f"{number}").write_text(json.dumps([case._asdict()]), encoding="utf-8")

    (joined,) = read_outcomes([tmp_path / "0", tmp_path / "1"])

    assert (joined.through, joined.unseen) == (("command", "hook"), ("host",))


_UNSEEN = "v called command, but the test did not look at the answer or at a file"
_JUDGED = {
    "R1": Proof(("inside", "hook"), ("t",), {}),
    "R2": Proof(("inside",), ("t",), {}),
    "R3": Proof((), (), {"u": "skipped"}),
    "R4": Proof(("inside",), ("v",), {}, {"v": "command"}),
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
            {"R4": "command"},
            Reasons((), {}),
            [f"R4 was proven through command, now proven through inside alone: {_UNSEEN}"],
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


def test_what_there_was_no_time_for_is_no_fault_and_is_named() -> None:
    late = {"u": f"skipped (Skipped: {NO_TIME})"}
    judged = {
        "R1": Proof((), (), late),
        "R2": Proof(("inside",), ("t",), late),
        "R3": Proof((), (), {"u": "skipped"}),
    }
    failed = {"R1": Proof((), (), {**late, "v": "failed"})}
    known = {"R1": "hook", "R2": "command", "R3": "inside"}

    faults = find_faults(judged, known, Reasons(("R1", "R2"), {}))

    assert faults == ["R3 was proven through inside, now not proven: u skipped"]
    assert "with a test for which there was no time: R1-R2\n" in render_outcomes(judged, Reasons((), {}))
    assert find_faults(failed, {"R1": "hook"}, Reasons((), {}))


def test_the_report_counts_by_the_outermost_kind_and_names_what_is_proven_through_no_face() -> None:
    report = render_outcomes(_JUDGED, Reasons(("R1", "R2", "R3"), {"R2": "a law"}))

    assert report.splitlines() == [
        "R1 proven through inside, hook: t",
        "R2 proven through inside: t",
        "R3 not proven: u skipped: ",
        f"R4 proven through inside alone: {_UNSEEN}: v",
        "proven: 3 of 255 requirements (R1-R2, R4)",
        "  by the outermost: inside 2, command 0, hook 1, host 0",
        "proven: 0 of 163 decisions (none)",
        "  by the outermost: inside 0, command 0, hook 0, host 0",
        "with a test for which there was no time: none",
        "tests that called a face and did not look at the answer or at a file: 1",
        "  v: command",
        "tests of which not all cases ran and passed: 1",
        "  u: skipped",
        "built: 3, of these not proven through a face: 2",
        "  R2 Path of the ledger (inside): a law",
        "  R3 The ledger is ignored by git (not proven): NO REASON",
    ]


def test_what_is_proven_is_written_down_with_its_kind() -> None:
    assert render_known(_JUDGED).splitlines()[1:] == ['R1 = "hook"', 'R2 = "inside"', 'R4 = "inside"']


@pytest.mark.parametrize(
    ("proofs", "crowded"),
    [
        ({"R1": ["t"], **{f"R{number}": ["t", "u"] for number in range(2, 8)}}, {}),
        ({"R1": ["t"], **{f"R{number}": ["t", f"u{number}"] for number in range(2, 9)}}, {"R1": 7}),
        ({"R1": ["t", "u"], **{f"R{number}": ["t"] for number in range(2, 4)}}, {}),
    ],
)
def test_an_id_whose_tests_all_carry_many_others_is_found(
    proofs: dict[str, list[str]], crowded: dict[str, int]
) -> None:
    assert requirements.find_crowded(proofs) == crowded


def test_every_requirement_and_decision_has_a_test_that_carries_few_others() -> None:
    assert requirements.find_crowded(specification.find_proofs()) == {}


def test_every_reason_is_said_and_is_about_something_built() -> None:
    reasons = requirements.load_reasons()

    assert len(reasons.built) == 255
    assert [name for name in reasons.reasons if name not in reasons.built] == []
    assert all(reason.strip() for reason in reasons.reasons.values())
