"""Observing a session: what its transcript and git tell is in the journal once, and the ledger shows it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passdown.core.facts import Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.hosts.transcripts import parse_mark
from passdown.core.kinds import FactKind
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.engines.files.journals import FileJournals
from passdown.hosts.claude.transcripts import READER as CLAUDE_CODE
from passdown.services.sessions import observations
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.observations import ObservationResult, TranscriptSource, observe
from passdown.services.sessions.publications import publish
from passdown.testing.memory.git_history import MemoryHistory
from passdown.testing.memory.journals import MemoryJournals
from passdown.testing.memory.transcripts import MemoryTranscripts
from tests.support.sessions import NOON, Place, end_session, make_place, with_parts
from tests.unit.hosts.test_transcripts import lines, prompt, result, use

PATH = "/h/session.jsonl"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORK = (
    prompt("Mend it.", uuid="p1"),
    use("a", "Edit", file_path="/project/a.py"),
    result("a", "ok"),
    use("b", "Bash", command="pytest -q"),
    result("b", "Exit code 1\nF", is_error=True),
)


class Watched:
    """A session with a transcript."""

    def __init__(self, place: Place) -> None:
        """Start a session."""
        self.place = place
        self.account = place.start()
        self.transcripts = MemoryTranscripts()
        self.source = TranscriptSource(
            path=PATH, reader=CLAUDE_CODE, transcripts=self.transcripts, roots=("/project",)
        )

    def write(self, *values: object, path: str = PATH) -> None:
        """Let the host write lines."""
        self.transcripts.files[path] = self.transcripts.files.get(path, b"") + lines(*values)

    def observe(self, **more: bool) -> ObservationResult:
        """Observe the session."""
        return observe(self.place.project, self.account, self.source, **more)

    def now(self) -> Account:
        """Give what the session knows."""
        return read_account(self.place.project, self.account.session)

    def lines(self) -> list[JournalLine]:
        """Give the journal."""
        return list(self.place.project.journals.read(self.account.session))


@pytest.fixture
def watched() -> Watched:
    return Watched(make_place())


def test_a_silent_session_has_a_ledger_that_says_what_happened(watched: Watched) -> None:
    watched.write(*WORK)

    observed = watched.observe()

    wanted = {"prompt": 1, "file": 1, "command": 1, "test": 1, "goal": 1}
    assert (dict(observed.counts), observed.failed, observed.passed_over) == (wanted, 1, 0)
    account = watched.now()
    assert account.goal is not None
    assert (account.goal.text, account.goal.provenance) == ("Mend it.", Provenance.OBSERVED)
    assert [(entry.text, entry.key) for entry in account.of(FactKind.TEST)] == [("pytest -q", "1")]
    assert "Mend it." in watched.place.read()
    assert "`a.py`" in watched.place.read()


def test_nothing_is_told_twice(watched: Watched) -> None:
    watched.write(*WORK)
    watched.observe()
    before = watched.lines()

    assert not watched.observe().counts
    assert watched.lines() == before


def test_only_what_is_new_is_read(watched: Watched) -> None:
    watched.write(*WORK, use("c", "Bash", command="make test"))
    watched.observe()
    (mark,) = watched.now().bookmarks.values()
    watched.transcripts.files[PATH] = b"x" * parse_mark(mark).offset
    watched.write(result("c", "ok"))

    observed = watched.observe()

    assert dict(observed.counts) == {"command": 1, "test": 1}
    assert (observed.failed, observed.passed_over) == (0, 0)


def test_a_line_that_cannot_be_read_is_counted(watched: Watched) -> None:
    watched.transcripts.files[PATH] = b'{"type":"user",\n'

    assert watched.observe().passed_over == 1


def test_a_transcript_that_begins_anew_tells_only_what_is_new(watched: Watched) -> None:
    watched.write(*WORK, prompt("And more.", uuid="p2"))
    watched.observe()
    watched.transcripts.files[PATH] = b""
    watched.write(*WORK)

    assert not watched.observe().counts


def test_a_resumed_session_that_repeats_its_past_in_a_new_file_tells_only_what_is_new(
    watched: Watched,
) -> None:
    watched.write(*WORK)
    watched.observe()
    watched.write(*WORK, prompt("And more.", uuid="p2"), path="/h/other.jsonl")
    other = TranscriptSource(path="/h/other.jsonl", reader=CLAUDE_CODE, transcripts=watched.transcripts)

    observed = observe(watched.place.project, watched.account, other)

    assert dict(observed.counts) == {"prompt": 1, "now": 1}
    assert set(watched.now().bookmarks) == {"session.jsonl", "other.jsonl"}


def test_what_is_stated_wins_before_and_after(watched: Watched) -> None:
    watched.write(*WORK)
    watched.observe()
    watched.place.say(watched.account, FactKind.GOAL, "Ship it")
    watched.write(prompt("And more.", uuid="p2"))
    watched.observe()

    account = watched.now()
    assert account.goal is not None
    assert account.now is not None
    assert (account.goal.text, account.now.text) == ("Ship it", "And more.")


def test_subagents_are_read_too(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.write(*WORK)
    for name in "xy":
        path = f"/h/session/subagents/agent-{name}.jsonl"
        watched.write(use(name, "Write", file_path=f"/project/{name}.py"), result(name, "ok"), path=path)

    monkeypatch.setattr(observations, "MOST_PARTS", 2)
    assert watched.observe().counts["file"] == 2
    monkeypatch.setattr(observations, "MOST_PARTS", 1000)
    assert watched.observe().counts["file"] == 1
    assert {entry.text for entry in watched.now().of(FactKind.FILE)} == {"a.py", "x.py", "y.py"}


def test_git_tells_what_no_transcript_does(watched: Watched) -> None:
    watched.place.history.works = [(NOON, COMMIT, ("b.py",))]

    alone = observe(watched.place.project, watched.account, None, with_files=False)
    observed = observe(watched.place.project, watched.account, None)

    assert (dict(alone.counts), dict(observed.counts)) == ({"commit": 1}, {"file": 1})
    assert [entry.text for entry in watched.now().of(FactKind.COMMIT)] == [COMMIT]


def test_what_was_committed_before_the_session_is_not_its_own() -> None:
    place = make_place()
    place.history.works = [(NOON, COMMIT, ())]
    place.pass_time(seconds=1)
    watched = Watched(place)

    assert not watched.observe().counts


def test_a_session_of_another_checkout_is_not_asked_about_here(watched: Watched) -> None:
    watched.write(*WORK)
    here = make_place(watched.place.project.journals, root="/other")  # type: ignore[arg-type]  # in memory
    here.history.works = [(NOON, COMMIT, ())]

    observed = observe(here.project, watched.account, watched.source)

    assert observed.kept.is_elsewhere
    assert (observed.counts["file"], observed.counts["commit"]) == (1, 0)


def test_a_project_without_git_is_not_asked(watched: Watched) -> None:
    watched.place.history.works = [(NOON, COMMIT, ())]
    project = with_parts(watched.place, history=MemoryHistory())

    assert not observe(project, watched.account, None).counts


@pytest.mark.requirement("G18")
def test_secrets_are_redacted_before_anything_is_written(watched: Watched) -> None:
    token = "ghp_" + "Zx9Kq2Lm7Vb4Nc1Rt6Yp3Ws8Dh5Jf0Ga2Eb7"[:36]
    assert redact(token).found
    watched.write(
        prompt(f"Use {token}.", uuid="p1"),
        use("a", "Bash", command=f"TOKEN={token} pytest"),
        result("a", "ok"),
        use("b", "Bash", command=f"curl {token}"),
    )

    watched.observe()

    assert token not in repr(watched.lines())
    assert "[redacted" in repr(watched.lines())


@pytest.mark.requirement("C61")
def test_prompts_and_commands_reach_no_event_handed_on_or_not(watched: Watched) -> None:
    watched.write(*WORK, use("c", "Bash", command="ls private"), result("c", "ok"))
    watched.observe()
    written = publish(watched.place.project, watched.account.session, kind="checkpoint", reason="asked")
    end_session(watched.place.project, watched.now())
    following = watched.place.start()
    watched.place.say(following, FactKind.DONE, "x")
    again = publish(watched.place.project, following.session, kind="checkpoint", reason="asked")

    assert following.goal is not None
    assert following.goal.text == "Mend it."
    assert written is not None
    assert again is not None
    for event in (written.event, again.event):
        assert "Mend" not in repr(event)
        assert "private" not in repr(event)
    assert (written.event.files_modified, written.event.receipts) == (("a.py",), ("pytest -q: exit 1",))


class TornJournals(MemoryJournals):
    """Journals that a crash cuts off after so many lines of a write."""

    left: int | None = None

    def extend(self, session, make, *, alone=False):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as it is there
        """Add the first lines, and die."""
        if self.left is None:
            return super().extend(session, make, alone=alone)
        left, self.left = self.left, None
        super().extend(session, lambda seq: make(seq)[:left])
        raise KeyboardInterrupt


@pytest.mark.parametrize("left", range(9))
def test_cut_off_anywhere_the_next_time_tells_the_rest_and_nothing_twice(left: int) -> None:
    whole = Watched(make_place())
    whole.write(*WORK, prompt("And more.", uuid="p2"))
    whole.observe()
    journals = TornJournals()
    torn = Watched(make_place(journals))
    torn.write(*WORK, prompt("And more.", uuid="p2"))
    journals.left = left

    with pytest.raises(KeyboardInterrupt):
        torn.observe()
    torn.observe()

    def told(watched: Watched) -> list[tuple[str, str, str]]:
        facts = [line.fact for line in watched.lines() if line.fact.kind not in {"now", "goal"}]
        return [(fact.kind, fact.text, fact.key or "") for fact in facts]

    assert told(torn) == told(whole)
    for one in ("goal", "now"):
        assert getattr(torn.now(), one).text == getattr(whole.now(), one).text


def test_of_several_who_observe_at_once_one_tells(tmp_path: Path) -> None:
    watched = Watched(make_place(FileJournals([str(tmp_path)])))  # type: ignore[arg-type]  # on disk
    watched.write(*WORK)
    with ThreadPoolExecutor(4) as pool:
        observed = list(pool.map(lambda _: watched.observe(), range(4)))

    assert sorted(one.counts["file"] for one in observed) == [0, 0, 0, 1]
    text = (tmp_path / f"{watched.account.session}.jsonl").read_text(encoding="utf-8")
    numbers = [json.loads(line)["seq"] for line in text.splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_line_that_the_host_is_still_writing_is_left_for_the_next_time(watched: Watched) -> None:
    watched.write(*WORK)
    whole = watched.transcripts.files[PATH]
    watched.transcripts.files[PATH] = whole[:-10]

    assert watched.observe().counts["test"] == 0
    assert not watched.observe().counts
    watched.transcripts.files[PATH] = whole
    assert watched.observe().counts["test"] == 1
