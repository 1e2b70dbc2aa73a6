"""The attacks find a check that is missing: each is switched off, and something must come through."""

import os
import sys
from pathlib import Path

import pytest

from tests.attacks.driver import HOLES
from tests.attacks.stage import Call, Stage, attack, clear, hook, judge, plant, snapshot
from tests.support.projects import EVENTS, put

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights there"),
    pytest.mark.timeout(300),
    pytest.mark.requirement("C118"),
]

START = hook("SessionStart", source="startup")
CALLS = (START, Call(("status",)), Call(("brief",)))
PLANTED = {
    "follows a link at the end": (EVENTS, "link to the other project"),
    "follows links above": ("thoughts", "link to the other project"),
    "reads devices and FIFOs": (".git/passdown/journal/s-1.jsonl", "device"),
    "waits for FIFOs": (".conductor/journal/s-1.jsonl", "FIFO"),
    "reads without a limit": ("passdown.toml", "8 GiB"),
    "opens any database": (".git/passdown/cache/events-*.sqlite", "link to the other project"),
    "writes through links": (".git/passdown/metrics.jsonl", "link to the other project"),
}
BACKED = {"reads devices and FIFOs": ["reads without a limit"]}
"""A second check that stops the same attack, and has to be switched off, too."""
QUICK = {"follows links in the quick path", "waits in the quick path"}


@pytest.fixture(scope="module")
def small(identity: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Make both projects, and see how long a few calls take."""
    del identity
    return Stage(Path(tmp_path_factory.mktemp("holes")).resolve(), CALLS)


def test_every_hole_is_planted() -> None:
    assert set(PLANTED) | QUICK == set(HOLES)


@pytest.mark.parametrize("hole", PLANTED)
def test_a_check_that_is_switched_off_is_found(small: Stage, hole: str) -> None:
    path, kind = PLANTED[hole]
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root makes devices")

    backing = BACKED.get(hole, [])
    assert attack(small, [path], kind, CALLS, holes=backing) == []
    assert attack(small, [path], kind, CALLS, holes=[hole, *backing]) != []


def test_a_quick_path_that_follows_links_is_found(small: Stage) -> None:
    small.restore()
    put(small.outside, ".conductor/paused", "2026-01-01T00:00:00Z\n")
    plant(small, [".conductor"], "link to the other project")

    assert small.run([START])[0].out != ""
    assert small.run([START], holes=["follows links in the quick path"])[0].out == ""


def test_a_quick_path_that_waits_is_found(small: Stage) -> None:
    small.restore()
    before = snapshot(small.outside)
    settings = small.home / ".config" / "passdown" / "settings.toml"
    settings.parent.mkdir(parents=True)
    os.mkfifo(settings)
    try:
        usual = small.run([START])
        (waited,) = small.run([START], holes=["waits in the quick path"])
        assert judge(small, usual, before) == []
        assert usual[0].out != ""
        assert waited.out == "", "a hook that waits gives up, however fast the machine is"
    finally:
        clear(small.home)
