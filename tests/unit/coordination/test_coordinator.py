"""What only the coordinator over a store of rows decides: case, and how often signs of life are written."""

from collections.abc import Sequence

import pytest

from passdown.core.coordination.leases import GRACE, Granted, Held, Lifetimes
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import Store
from passdown.ports.coordination import Coordination
from passdown.testing.conformance.coordination.bench import DEATH, LIFETIMES, MARGIN, SharedProject
from passdown.testing.memory.coordination import MemoryStore
from tests.stores.coordination_benches import MemoryBench


def make_project(*, ignores_case: bool) -> SharedProject:
    def coordinate(store: Store) -> Coordination:
        return Coordinator(store, "memory", LIFETIMES, ignores_case=ignores_case)

    return SharedProject(MemoryBench(coordinate=coordinate))


@pytest.mark.requirement("C85")
@pytest.mark.parametrize("ignores_case", [False, True])
def test_patterns_are_compared_without_case_where_the_checkout_ignores_case(ignores_case: bool) -> None:
    project = make_project(ignores_case=ignores_case)
    project.join("a", "b")
    project.acquired("a", "Src/")

    assert isinstance(project.acquire("b", "src/a.py"), Held if ignores_case else Granted)


@pytest.mark.requirement("C85")
@pytest.mark.parametrize("ignores_case", [False, True])
def test_the_guard_compares_without_case_where_the_checkout_ignores_case(ignores_case: bool) -> None:
    project = make_project(ignores_case=ignores_case)
    project.join("a", "b")
    project.acquired("a", "Src/")

    assert project.verdicts("b", "src/a.py") == ["held" if ignores_case else "free"]
    assert project.verdicts("a", "src/a.py") == ["mine" if ignores_case else "free"]
    project.bench.advance(DEATH)
    project.take("b", "SRC/A.py", force=True)
    project.leave("b")
    assert project.verdicts("a", "src/a.py") == ["lost" if ignores_case else "free"]


class CountingStore(MemoryStore):
    """Counts how often signs of life are written."""

    beats = 0

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Count."""
        self.beats += 1
        super().beat(sessions, lifetimes)


@pytest.mark.requirement("C80")
def test_a_session_that_joins_at_every_verb_writes_a_sign_of_life_once_a_minute() -> None:
    bench = MemoryBench(CountingStore)
    project = SharedProject(bench)
    store = bench.store
    assert isinstance(store, CountingStore)
    project.join("a")

    for _ in range(10):
        project.bench.advance(MARGIN)
        project.join("a")

    assert store.beats == 1
    project.bench.advance(DEATH - GRACE - MARGIN)
    assert project.live() == ["a"]
