"""What a session is told that may not change a path, and what a push is told where nobody coordinates."""

from pathlib import Path

from passdown.core.coordination.leases import HELD, LOST, PathVerdict
from passdown.core.coordination.refusals import list_verdict_choices, tell_verdict
from passdown.services.coordination.guard import Committer, PushedRefs, PushResult, check_push
from passdown.settings import Settings
from tests.support.gits import make_started
from tests.support.projects import open_checkout

TAKEN = PathVerdict(path="src/a.py", verdict=HELD, agent="birch", left=120.0, held="src/**")
GONE = PathVerdict(path="src/b.py", verdict=LOST, agent="cedar")


def test_what_another_holds_is_told_apart_from_what_expired() -> None:
    assert (
        tell_verdict(TAKEN)
        == "src/a.py is held by birch (reserved as src/**, expires in 2 min if it stays silent)"
    )
    assert tell_verdict(GONE) == (
        "src/b.py is no longer yours: your reservation expired and cedar reserved it"
    )


def test_the_choices_are_those_of_what_is_held_and_of_what_was_lost() -> None:
    asked = list_verdict_choices((TAKEN,))
    compared = list_verdict_choices((GONE,))

    assert asked[0] == 'ask for it: `passdown msg "May I have src/a.py?" --to birch`'
    assert compared == (
        "compare your version with the last commit, then run `passdown reserve src/b.py` and try again",
    )
    assert list_verdict_choices((TAKEN, GONE)) == (*asked, *compared)


def test_a_push_passes_where_nobody_coordinates(tmp_path: Path) -> None:
    workspace = open_checkout(make_started(tmp_path / "project").folder, Settings())

    assert check_push(workspace, Committer(), PushedRefs(("HEAD",))) == PushResult()
