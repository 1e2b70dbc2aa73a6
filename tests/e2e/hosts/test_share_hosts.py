"""A decision of long ago that names a file reaches the session of a real host that edits the file (C132).

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it the test is skipped.
"""

import subprocess
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.evidence.histories import END, make_history
from passdown.records import replace
from passdown.services.handover.evaluations import write_history
from passdown.settings import Settings
from tests.hosts.drivers import ClaudeCode, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import PASSDOWN, briefs, hooks, need
from tests.hosts.talks import ClaudeTalk
from tests.support.projects import open_checkout

pytestmark = pytest.mark.timeout(180)

SESSIONS: Final = 1_000
FILE: Final = "src/core/store.py"
OLD: Final = "Keep src/core/store.py free of SQL"


def write_long_history(place: Ground) -> None:
    """Let 1,000 sessions have worked here; the first of them decided something about a file."""
    history = make_history(4, SESSIONS)
    later = datetime.now(UTC) - timedelta(hours=1) - END
    events = [replace(event, ts=event.ts and event.ts + later, origins=()) for event in history.events]
    events[0] = replace(events[0], decisions=(Pair(key="store", value=OLD),))
    write_history(open_checkout(place.root, Settings()), replace(history, events=tuple(events)))
    subprocess.run([str(PASSDOWN), "status"], cwd=place.root, check=True, capture_output=True)


@pytest.mark.requirement("C132")
def test_claude_code_is_told_an_old_decision_about_the_file_that_it_edits(
    ground: tuple[Ground, Model],
) -> None:
    place, model = ground
    program = need("claude")
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text(hooks(), encoding="utf-8")
    write_long_history(place)
    edit = Call(tool="Write", input={"file_path": str(place.root / FILE), "content": "text\n"})

    with ClaudeTalk(program, place, model) as talk:
        first = talk.say("please make it faster", Step(calls=(edit,)), Step(text="ok"))
        talk.say("/compact")
        compacted = talk.say("go on", Step(text="ok"))
    driver = ClaudeCode(program, place)
    before = len(model.requests)
    model.prepare([Step(text="ok")], str(place.root))
    assert driver.turn("a session that continues it", []).code == 0

    assert OLD not in briefs(first)[0]
    assert f"store: {OLD}" in briefs(compacted)[-1]
    assert f"store: {OLD}" in briefs(model.requests[before:])[-1]
