"""The stage of the attacks, made once for each process that runs tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.stage import CALLS, Stage


@pytest.fixture(scope="session")
def identity() -> Iterator[None]:
    """Let git know who commits, before the fixtures of a single test do."""
    with pytest.MonkeyPatch.context() as patched:
        for role in ("AUTHOR", "COMMITTER"):
            patched.setenv(f"GIT_{role}_NAME", "Ada Author")
            patched.setenv(f"GIT_{role}_EMAIL", "ada@example.invalid")
        patched.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        patched.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield


@pytest.fixture(scope="session")
def stage(identity: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Make both projects."""
    del identity
    return Stage(Path(tmp_path_factory.mktemp("attacks")).resolve(), CALLS)
