"""What real hosts wrote before Passdown was there becomes history by one command (C134)."""

import pytest

from tests.hosts.drivers import DRIVERS, Driver, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import PASSDOWN, need

pytestmark = pytest.mark.timeout(300)

SAID = {
    "claude-code": ("Why does the cache take a lock?", "Two workers wrote it at once, so it takes a lock."),
    "codex": ("Which port does the preview use?", "The preview listens on 8412, which no proxy blocks."),
    "copilot": ("Who reads the nightly dump?", "Only the ledger importer reads the nightly dump."),
}


def work(place: Ground, model: Model, name: str) -> Driver:
    """Let a person ask a host of this name something, and its model answer; no hook of ours is there."""
    made = DRIVERS[name](need(DRIVERS[name].program), place)
    asked, answered = SAID[name]
    model.prepare([Step(text=answered)], str(place.root))
    ended = made.turn(asked, [])
    assert ended.code == 0, ended
    return made


@pytest.mark.requirement("C134")
def test_what_three_hosts_wrote_is_imported_found_and_imported_once(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    sessions = [work(place, model, name).session for name in SAID]
    status = place.run([str(PASSDOWN), "status", "--json"]).out

    done = place.run([str(PASSDOWN), "import", "--yes"])

    assert done.code == 0, done
    listed = place.run([str(PASSDOWN), "log", "--history"]).out
    for session, (asked, answered) in zip(sessions, SAID.values(), strict=True):
        assert asked in listed
        shown = place.run([str(PASSDOWN), "history", "show", session]).out
        assert f"user: {asked}" in shown
        assert f"agent: {answered}" in shown
        assert session in place.run([str(PASSDOWN), "search", "--json", answered]).out
    assert place.run([str(PASSDOWN), "status", "--json"]).out == status
    history = {path: path.read_bytes() for path in place.root.glob(".git/passdown/history/*/*.jsonl")}
    assert len(history) == len(SAID)
    assert place.run([str(PASSDOWN), "import", "--yes"]).code == 0
    assert {path: path.read_bytes() for path in history} == history
