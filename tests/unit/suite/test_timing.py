"""Limits of time: what costs what it usually does passes on any machine, three times as much does not."""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import passdown
from tests import pace, timing
from tests.faults.hooked import MOMENTS, Stage, make_stage
from tests.house import loading
from tests.timing import Cost, Took

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="breaks things as Linux lets it")


# --- the rule -------------------------------------------------------------------------------------


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cost]:
    """Give what is measured of a call, with made-up times; a start of Python takes 0.01 seconds."""

    def give(calls: Sequence[float], starts: Sequence[float] = (0.01,), waits: float = 0.0) -> Cost:
        left, each = iter(calls), iter([*starts, *[starts[-1]] * 100])

        def start(count: int) -> Took:
            seconds = next(each) * count
            return Took(seconds, seconds)

        monkeypatch.setattr(timing, "start_python", start)
        monkeypatch.setattr(timing, "has_memory", lambda: True)
        return timing.measure(lambda: Took(next(left), 0.01), 10.0, waits=waits, tries=len(calls))

    return give


@pytest.mark.parametrize(
    ("calls", "tries", "p"),
    [
        ((0.1, 9.9), 1, 10),
        ((0.125, 9.9), 1, 12.5),
        ((0.13, 9.9), 2, 13),
        ((0.16, 0.2, 9.9), 3, 16),
        ((0.21, 0.21, 0.21, 0.19, 9.9), 4, 19),
        ((0.3, 0.31, 0.3, 0.32), 4, 30),
    ],
)
def test_a_call_is_tried_until_it_is_quick_enough_and_the_first_tries_count_less(
    costs: Callable[..., Cost], calls: Sequence[float], tries: int, p: float
) -> None:
    cost = costs(calls)

    assert (cost.tries, round(cost.p, 6)) == (tries, p)


def test_a_slow_machine_makes_no_call_slow(costs: Callable[..., Cost]) -> None:
    assert costs((1.0,), (0.1,)).p == pytest.approx(10)


def test_a_moment_in_which_python_starts_slowly_does_not_hide_a_slow_call(
    costs: Callable[..., Cost],
) -> None:
    assert costs((0.3,) * 4, (0.02, 0.01)).p > timing.ROOM * 10


def test_what_a_call_waits_for_on_purpose_is_left_out(costs: Callable[..., Cost]) -> None:
    assert costs((0.9,), waits=0.8).p == pytest.approx(10)


def test_the_worse_clock_counts_and_without_memory_the_processor_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = Cost(Took(0.3, 0.1), Took(0.01, 0.01), 0.0, 1)
    working = Cost(Took(0.2, 0.4), Took(0.01, 0.01), 0.0, 1)

    monkeypatch.setattr(timing, "has_memory", lambda: True)
    assert (waiting.p, working.p) == pytest.approx((30, 40))
    monkeypatch.setattr(timing, "has_memory", lambda: False)
    assert (waiting.p, working.p) == pytest.approx((10, 40))


def test_a_call_that_is_too_slow_fails_and_says_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "start_python", lambda count: Took(0.01 * count, 0.01 * count))

    with pytest.raises(
        timing.TooSlowError, match=r"^call, version: 30\.0 P, usually .* \(300 ms, 300 ms of processor"
    ):
        timing.judge("call, version", lambda: Took(0.3, 0.3))


def test_a_call_of_which_nobody_knows_the_cost_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="does not say what 'nothing' costs"):
        timing.judge("nothing", lambda: Took(0.0, 0.0))


def test_work_in_this_process_has_more_time_where_the_machine_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(float(number) for number in range(100))
    monkeypatch.setattr(time, "process_time", lambda: next(clock))

    monkeypatch.setattr(pace, "pace", lambda: 1.0)
    assert not pace.works_within(0.9, lambda: None)
    monkeypatch.setattr(pace, "pace", lambda: 1.2)
    assert pace.works_within(0.9, lambda: None)


def test_no_test_has_a_limit_in_milliseconds() -> None:
    """What reads a clock and compares is `timing` or `pace`; the rest waits for others, or tells figures."""
    compares = re.compile(r"assert .*(perf_counter|process_time|monotonic)\(\).*[<>]|\.(ms|wall) *<=? *\d")
    tests = Path(__file__).resolve().parents[2]
    found = [path.name for path in sorted(tests.rglob("*.py")) if compares.search(path.read_text("utf-8"))]

    # It gives up after 0.1 seconds and would wait for half a minute; 5 seconds tell one from the other.
    assert found == ["test_postgres_reachability.py"]


# --- real calls -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hooked() -> Iterator[Stage]:
    """Give a project whose hooks are called."""
    with timing.open_folder() as folder:
        yield make_stage(folder)


@pytest.fixture(scope="module")
def called() -> Iterator[loading.Stage]:
    """Give a project in which the command is called."""
    with loading.open_stage(Path(passdown.__file__).parents[1]) as stage:
        yield stage


@pytest.mark.timed
@LINUX
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_hook_that_is_three_times_as_slow_is_noticed(hooked: Stage, moment: str) -> None:
    """By work, which a busy machine slows as it slows Python; `scripts/timed --slow` tries waiting, too."""

    def act() -> Took:
        hooked.restore()
        return hooked.call(hooked.payload(moment)).took

    usual = timing.read_usual()[f"{moment}, nothing"]
    cost = timing.measure_slower(act, usual, "work")

    assert cost.p > timing.ROOM * usual, cost.tell(moment, usual)


@pytest.mark.timed
@LINUX
@pytest.mark.parametrize("name", loading.CALLS)
def test_a_call_that_is_three_times_as_slow_is_noticed(called: loading.Stage, name: str) -> None:
    arguments, event = loading.CALLS[name]
    usual = timing.read_usual()[f"call, {name}"]

    cost = timing.measure_slower(lambda: called.time(*arguments, event=event), usual, "work")

    assert cost.p > timing.ROOM * usual, cost.tell(name, usual)
