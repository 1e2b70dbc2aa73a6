"""Hooks where something is wrong: they exit with 0 in time, and do their work or note why not.

In time is within twice what each usually costs, in starts of Python (`tests/timing.py`).
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from passdown.faces.hooks import quick
from passdown.faces.hooks.starts import UNRECORDED
from passdown.settings import FILE_NAME
from tests.faults.hooked import CALL, HOST, MOMENTS, Ended, Stage, give_up_rights, make_stage
from tests.timing import Took, judge, open_folder

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="breaks things as Linux lets it"),
    pytest.mark.timed,
]

Prepare = Callable[[], None]
GARBAGE: Final = bytes(range(256)) * 64


@pytest.fixture(scope="module")
def made() -> Iterator[Stage]:
    """Make the project once."""
    with pytest.MonkeyPatch.context() as patch, open_folder() as folder:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Ada Author")
            patch.setenv(f"GIT_{role}_EMAIL", "ada@example.invalid")
        yield make_stage(folder)


@pytest.fixture
def stage(made: Stage) -> Iterator[Stage]:
    """Give the project, whole."""
    made.restore()
    yield made
    made.restore()


# --- what is broken -------------------------------------------------------------------------------


def no_harm(_: Stage) -> Prepare | None:
    return None


def garble_head(stage: Stage) -> Prepare | None:
    (stage.root / ".git/HEAD").write_bytes(GARBAGE)
    return None


def lose_objects(stage: Stage) -> Prepare | None:
    shutil.rmtree(stage.root / ".git/objects")
    return None


def lose_git(stage: Stage) -> Prepare | None:
    shutil.rmtree(stage.root / ".git")
    (stage.root / ".git").write_text("gitdir: nowhere/at/all\n", encoding="utf-8")
    return None


def fill_disk(_: Stage) -> Prepare | None:
    import resource  # there is none on Windows

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def forbid_writing(stage: Stage) -> Prepare | None:
    subprocess.run(["chmod", "-R", "a-w", str(stage.root)], check=True)
    return give_up_rights


def forbid_ledgers(stage: Stage) -> Prepare | None:
    folder = stage.root / "conductor/sessions/active"
    shutil.rmtree(folder)
    folder.mkdir()
    folder.chmod(0o555)
    return give_up_rights


def garble_settings(stage: Stage) -> Prepare | None:
    (stage.root / FILE_NAME).write_bytes(GARBAGE)
    return None


def garble_cache(stage: Stage) -> Prepare | None:
    for path in (stage.root / ".git/passdown/cache").iterdir():
        path.write_bytes(GARBAGE)
    return None


FAULTS: Final[dict[str, Callable[[Stage], Prepare | None]]] = {
    "nothing": no_harm,
    "HEAD is garbage": garble_head,
    "no objects": lose_objects,
    ".git leads nowhere": lose_git,
    "disk is full": fill_disk,
    "read-only": forbid_writing,
    "no ledgers": forbid_ledgers,
    "settings are garbage": garble_settings,
    "cache is garbage": garble_cache,
}
WORKS: Final = frozenset({"nothing", "HEAD is garbage", "cache is garbage"})
"""What a hook can do its work with all the same."""
UNWRITABLE: Final = frozenset({"disk is full", "read-only", "no ledgers"})
"""What keeps a session from being recorded; it is briefed nevertheless, as whoever starts must be."""
BRIEFED: Final = frozenset({"start", "subagent start"})


END_LIMIT: Final = 0.8
"""Seconds after which the shortest hook gives up."""
HELD_UP: Final = 5
"""How often a hook may be held up."""


def call_in_time(name: str, act: Callable[[], Ended], waits: float = 0.0) -> Ended:
    """Call a hook as often as it takes to judge its time; give how it ended the last time.

    One that was held up until its own limit of time, while others had the processor, is called again.
    """
    ended: list[Ended] = []

    def once() -> Took:
        ended.append(act())
        return ended[-1].took

    judge(name, once, waits=waits)
    for _ in range(HELD_UP):
        if waits or ended[-1].took.wall < END_LIMIT or ended[-1].took.work > END_LIMIT / 2:
            break
        once()
    return ended[-1]


@pytest.mark.requirement("R21", "G17", "C18")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_hook_does_its_work_or_notes_why_not(stage: Stage, fault: str) -> None:
    for moment in MOMENTS:

        def act(moment: str = moment) -> Ended:
            stage.restore()
            prepare = FAULTS[fault](stage)
            return stage.call(stage.payload(moment), prepare=prepare)

        stage.restore()
        known = stage.known()
        ended = call_in_time(f"{moment}, {fault}", act)

        log = stage.log()
        works = bool(ended.out) or not stage.known() <= known
        where = (fault, moment, ended, log)
        assert ended.code == 0, where
        assert not ended.out or isinstance(json.loads(ended.out), dict), where
        assert all(MOMENTS[moment][0] in line and "Traceback" not in line for line in log), where
        if fault in UNWRITABLE and moment in BRIEFED:
            said = json.loads(ended.out)["hookSpecificOutput"]["additionalContext"]
            assert "understood the code" in said, where
            assert (UNRECORDED in said) == (moment == "start" and fault != "no ledgers"), where
        if fault == "no ledgers":  # the journal can be written all the same
            assert ended.err == "", where
            assert works, where
        elif fault == "disk is full":  # then there is no log; what a host does not show it may be told
            assert ended.err.count("\n") == 1, where
            assert "could not write" in ended.err, where
        else:
            assert ended.err == "", where
            assert works if fault in WORKS else len(log) == 1, where


def block_ledgers(stage: Stage) -> Prepare | None:
    shutil.rmtree(stage.root / "conductor/sessions")
    (stage.root / "conductor/sessions").touch()
    return None


def lose_journals(stage: Stage) -> Prepare | None:
    subprocess.run(
        ["chmod", "-R", "a-w", str(stage.root / ".git"), str(stage.root / ".conductor")], check=True
    )
    return give_up_rights


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("spoil", [fill_disk, forbid_writing, forbid_ledgers, block_ledgers, lose_journals])
def test_a_new_session_that_cannot_be_recorded_is_briefed(
    stage: Stage, spoil: Callable[[Stage], Prepare | None]
) -> None:
    prepare = spoil(stage)

    ended = stage.call(stage.payload("start", session_id="another-session"), prepare=prepare)

    told = json.loads(ended.out)
    assert ended.code == 0
    assert "read the code" in told["hookSpecificOutput"]["additionalContext"]
    if spoil is not forbid_ledgers:  # then only the ledger is missing; the journal has all of it
        assert UNRECORDED in told["systemMessage"]
        assert "could not" in told["systemMessage"]


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_hook_does_its_work_without_git(stage: Stage, moment: str) -> None:
    known = stage.known()

    def act() -> Ended:
        stage.restore()
        return stage.call(stage.payload(moment), PATH=os.devnull)

    ended = call_in_time(f"{moment}, no git on PATH", act)

    assert (ended.code, ended.err, stage.log()) == (0, "", [])
    assert ended.out or not stage.known() <= known


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_locked_cache_is_done_without(stage: Stage, mode: str) -> None:
    for moment in MOMENTS:

        def act(moment: str = moment) -> Ended:
            stage.restore()
            (path,) = (stage.root / ".git/passdown/cache").glob("events-*.sqlite")
            holder = sqlite3.connect(path, isolation_level=None)
            try:
                holder.execute(f"PRAGMA journal_mode = {mode}")
                holder.execute("BEGIN EXCLUSIVE")
                return stage.call(stage.payload(moment))
            finally:
                holder.close()

        stage.restore()
        known = stage.known()
        ended = call_in_time(f"{moment}, locked cache, {mode}", act)

        assert (ended.code, ended.err) == (0, ""), moment
        assert ended.out or not stage.known() <= known, moment
        assert all("database is locked" in line for line in stage.log()), moment


def test_a_full_disk_is_noted_where_there_is_space(stage: Stage, tmp_path: Path) -> None:
    """A real one, where mounting is allowed."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("may not mount")
    try:
        root = small / "project"
        shutil.copytree(stage.root, root)
        filler = os.open(small / "filler", os.O_WRONLY | os.O_CREAT)
        with suppress(OSError):  # until nothing more fits
            while os.write(filler, bytes(4096)):
                pass
        os.close(filler)
        ended = call_in_time(
            "start, no space left", lambda: stage.call(stage.payload("start", cwd=str(root)))
        )
    finally:
        subprocess.run(["umount", str(small)], check=True)

    assert (ended.code, ended.err) == (0, "")
    assert UNRECORDED in json.loads(ended.out)["systemMessage"]
    (line,) = stage.log()[-1:]
    assert "No space left on device" in line


# --- what comes in and goes out -------------------------------------------------------------------


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"hook_event_name": "Stop", ', "the input is not valid JSON"),
        (GARBAGE, "the input is not valid JSON"),
        (b"[1, 2]", "the input is empty or not a JSON object"),
        (b"[" * 1_000_000, "the input is not valid JSON"),
        (b" " * (quick.MOST_BYTES + 1), "the input is longer than 16777216 bytes"),
        (b"", ""),
    ],
    ids=["broken", "binary", "list", "deep", "long", "empty"],
)
def test_what_is_no_payload_is_noted(
    stage: Stage, data: bytes, reason: str, request: pytest.FixtureRequest
) -> None:
    def act() -> Ended:
        stage.restore()
        return stage.call(data)

    ended = call_in_time(f"input, {request.node.callspec.id}", act)

    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert [line.partition(" hook: ")[2] for line in stage.log()] == ([reason] if reason else [])


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_payload_of_10_megabytes_is_read(stage: Stage, moment: str) -> None:
    data = stage.payload(moment, prompt="long " * 2_000_000)

    def act() -> Ended:
        stage.restore()
        return stage.call(data)

    ended = call_in_time(f"{moment}, 10 MB", act)

    assert (ended.code, ended.err, stage.log()) == (0, "", [])
    assert bool(ended.out) == (moment in {"start", "prompt", "subagent start"})


@pytest.mark.requirement("G17")
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("0<&-", "hook: there is no input"),
        (">&-", "SessionStart: stdout is closed"),
        (">/dev/full", "SessionStart: could not answer: No space left on device"),
        ("2>&-", ""),
    ],
)
def test_a_closed_input_or_output_does_no_harm(stage: Stage, how: str, reason: str) -> None:
    line = f'exec "$0" -c "$1" hook --host claude {how}'

    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, CALL],
        input=stage.payload("start"),
        cwd=stage.root,
        env=stage.variables(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert [entry.partition(" ")[2] for entry in stage.log()] == ([reason] if reason else [])


# --- time -----------------------------------------------------------------------------------------

SOON: Final = "from passdown.faces.hooks import quick; quick._READING = 0.3; "
NO_SIGNALS: Final = "import _signal; del _signal.setitimer; "
WAIT: Final = quick.limit_of("SessionEnd")
"""The seconds after which a hook at the end of a session gives up, whatever the machine."""


def hold_journal(stage: Stage) -> int:
    """Hold the journal of the session, as a process that hangs would."""
    import fcntl  # there is none on Windows

    (path,) = (stage.root / ".git/passdown/journal").iterdir()
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("by", ["signal", "thread"])
def test_a_hook_that_waits_for_somebody_leaves_in_time_and_notes_it(stage: Stage, by: str) -> None:
    known = stage.known()

    def act() -> Ended:
        stage.restore()
        handle = hold_journal(stage)
        try:
            return stage.call(stage.payload("end"), CALL if by == "signal" else NO_SIGNALS + CALL)
        finally:
            os.close(handle)

    ended = call_in_time(f"end, waits until a {by} ends it", act, WAIT)

    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert ended.took.wall >= WAIT
    (line,) = stage.log()
    assert line.endswith("SessionEnd: not finished after 0.8 seconds")
    assert stage.known() == known


@pytest.mark.requirement("G17")
@pytest.mark.parametrize("git", ["obeys", "is stubborn"])
def test_a_git_that_hangs_is_left_in_time(stage: Stage, tmp_path: Path, git: str) -> None:
    trap = 'trap "" TERM\n' if git == "is stubborn" else ""
    program = tmp_path / "git"
    program.write_text(
        f'#!/bin/sh\n{trap}echo $$ >> "{tmp_path}/pids"\nexec {shutil.which("sleep")} 60\n', encoding="utf-8"
    )
    program.chmod(0o755)
    left: list[int] = []

    def act() -> Ended:
        stage.restore()
        garble_head(stage)
        ended = stage.call(stage.payload("end"), PATH=str(tmp_path))
        pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        left[:] = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return ended

    # One that is stubborn is waited for once more.
    ended = call_in_time(
        f"end, a git that hangs {git}", act, WAIT + (quick.GRACE if git == "is stubborn" else 0)
    )

    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert stage.log()[0].endswith("SessionEnd: not finished after 0.8 seconds")
    assert bool(left) is (git == "is stubborn")


def test_a_host_that_says_nothing_is_left(stage: Stage) -> None:
    with stage.start(SOON + CALL) as process:
        code = process.wait(timeout=30)

    assert code == 0
    assert stage.log() == []


@pytest.mark.requirement("G17")
def test_a_hook_leaves_before_its_host_ends_it() -> None:
    plugin = Path(quick.__file__).parents[2] / "plugin/hooks/hooks.json"
    hooks = json.loads(plugin.read_text(encoding="utf-8"))["hooks"]
    told = {event: one["timeout"] for event, groups in hooks.items() for one in groups[0]["hooks"]}

    assert set(told) == {event for event, _ in MOMENTS.values()}
    for event, seconds in told.items():
        assert quick.limit_of(event) + quick.GRACE <= (1.0 if event == "SessionEnd" else seconds - 1)


def test_a_session_goes_on_after_it_was_out_of_time(stage: Stage) -> None:
    handle = hold_journal(stage)
    stage.call(stage.payload("end"))
    os.close(handle)

    ended = stage.call(stage.payload("start", source="resume"))

    assert "understood the code" in ended.out
    assert HOST in next((stage.root / ".git/passdown/journal").iterdir()).read_text(encoding="utf-8")


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.requirement("G13")
def test_the_doctor_says_what_each_hook_cost(stage: Stage) -> None:
    (stage.root / ".git/passdown/metrics.jsonl").unlink()
    outs = {moment: stage.call(stage.payload(moment)).out for moment in MOMENTS}
    assert stage.call(stage.payload("prompt")).out == ""  # nothing waits any more, and nothing is written

    words = [sys.executable, "-m", "passdown", "doctor", "--cost", "--json"]
    told = subprocess.run(words, cwd=stage.root, env=stage.variables(), check=True, capture_output=True)

    costs = {one["what"]: one for one in json.loads(told.stdout)["costs"]}
    assert sorted(costs) == sorted(moment.replace(" ", "-") for moment in MOMENTS)
    for moment, out in outs.items():
        one = costs[moment.replace(" ", "-")]
        context = json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""
        assert (one["count"], one["p50_chars"]) == (1, len(context)), moment
        assert 0 < one["p50_ms"] <= one["p95_ms"], moment
