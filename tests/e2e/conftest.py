"""Where real hosts run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.drivers import Ground
from tests.hosts.model import Model
from tests.hosts.stages import make_ground


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[tuple[Ground, Model]]:
    """Give a project whose owner agreed, an empty home, and a model that does as it is told."""
    with Model() as model:
        yield make_ground(tmp_path, model.address), model
