"""Every engine keeps the promises of `Coordination`."""

from pathlib import Path

import pytest

from passdown.testing.conformance.coordination.bench import CoordinationBench
from passdown.testing.conformance.coordination.suite import CoordinationConformance
from tests.coordination_benches import MemoryBench

pytestmark = pytest.mark.requirement("C78", "C79", "C80", "C82", "C83", "C85", "C90", "C92")


class TestMemoryCoordination(CoordinationConformance):
    """The plainest form of what a store promises."""

    def make(self, folder: Path) -> CoordinationBench:
        """Make a project that lies nowhere."""
        del folder
        return MemoryBench()
