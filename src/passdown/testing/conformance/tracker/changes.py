"""Writes to a task: notes and closes are made once, and texts stay as they are."""

import pytest

from passdown.core.coordination.leases import Fenced, Held, Lost, Resource
from passdown.core.coordination.operations import fingerprint
from passdown.core.coordination.tasks import Listing, Task, TaskClosed
from passdown.errors import UsageError
from passdown.ports.tracker import Worker
from passdown.testing.conformance.tracker.bench import TrackedProject, TrackerCase, expect

TEXTS = (
    "plain",
    "--status closed",
    "-rf",
    "$(touch owned) `touch owned`",
    "a 'quote' and a \"quote\" and a \\ backslash",
    "line one\nline two\r\nline three\ttab",
    "Grüße, 世界, 🎉",
    "%s {0} ; rm -rf / | cat & true",
    '{"json": ["x"]}',
    "x" * 8_000,
)


class ChangePromises(TrackerCase):
    """The promises of `create`, `note`, `close` and `sync`."""

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_a_text_is_kept_as_it_is(self, project: TrackedProject, text: str) -> None:
        """This holds for bodies and notes; nothing in them is an option or a command."""
        task = project.add("hostile", body=text)

        project.tracker.note(project.op(), Worker(), task, text)

        found = project.find(task).task
        assert (found.body, found.note) == (text, text)
        assert found.state == "open"

    def test_a_title_is_kept_as_it_is(self, project: TrackedProject) -> None:
        """This holds even for a title that looks like an option."""
        titles = sorted(text for text in TEXTS if text.isprintable() and len(text) < 200)
        for title in titles:
            project.add(title)

        assert sorted(project.listed(Listing.READY)) == titles

    def test_an_id_that_is_taken_is_refused(self, project: TrackedProject) -> None:
        """The existing task stays as it is."""
        task = project.add("first")

        with pytest.raises(UsageError):
            project.tracker.create(project.op(), Worker(), Task(task=task, title="second"))

        assert project.listed(Listing.ALL) == ["first"]

    def test_notes_are_added_in_their_order(self, project: TrackedProject) -> None:
        """Earlier notes stay; any session may add one."""
        worker = project.join("a")
        task = project.add("one")

        for number in range(4):
            project.tracker.note(project.op(), worker, task, f"note {number}")

        assert project.find(task).task.note.split("\n") == [f"note {number}" for number in range(4)]

    def test_a_note_that_is_repeated_is_added_once(self, project: TrackedProject) -> None:
        """The same text with another operation id is another note."""
        worker = project.join("a")
        task = project.add("one")
        op = project.op()._replace(before=fingerprint(project.find(task).task.note))

        project.tracker.note(op, worker, task, "same")
        project.tracker.note(op._replace(is_repeat=True), worker, task, "same")
        assert project.find(task).task.note == "same"

        other = project.op()._replace(before=fingerprint("same"), is_repeat=True)
        project.tracker.note(other, worker, task, "same")
        assert project.find(task).task.note == "same\nsame"

    def test_a_note_on_a_task_that_is_not_there_is_refused(self, project: TrackedProject) -> None:
        """The error says so."""
        with pytest.raises(UsageError):
            project.tracker.note(project.op(), Worker(), "tp-none", "text")

    def test_closing_adds_the_note_and_releases_task_and_files(self, project: TrackedProject) -> None:
        """Earlier notes stay."""
        worker = project.join("a")
        task = project.add("one")
        held = project.claimed(worker, task)
        project.reserve(worker, "src/a.py")
        project.tracker.note(project.op(), worker, task, "earlier")

        closed = expect(
            TaskClosed, project.tracker.close(project.op(), worker, held, "completed", "COMPLETED: it works")
        )

        assert (closed.task.task, closed.task.state, closed.task.reason) == (task, "closed", "completed")
        assert closed.released == ("src/a.py",)
        assert project.held(worker) == []
        found = project.find(task).task
        assert (found.state, found.reason, found.note) == (
            "closed",
            "completed",
            "earlier\nCOMPLETED: it works",
        )
        assert project.listed(Listing.OPEN) == []

    def test_a_close_that_is_repeated_is_done_once(self, project: TrackedProject) -> None:
        """Its note is added only once too."""
        worker = project.join("a")
        task = project.add("one")
        held = project.claimed(worker, task)
        op = project.op()._replace(before=fingerprint(""))

        for one in (op, op._replace(is_repeat=True)):
            outcome = expect(TaskClosed, project.tracker.close(one, worker, held, "skipped", "SKIPPED: one"))
            assert outcome.task.state == "closed"

        found = project.find(task).task
        assert (found.state, found.reason, found.note) == ("closed", "skipped", "SKIPPED: one")

    def test_a_task_of_another_session_is_not_closed(self, project: TrackedProject) -> None:
        """It is not closed under an old fence either."""
        first, second = project.join("a"), project.join("bb")
        task = project.add("one")
        held = project.claimed(first, task)

        for fence in (held.fence, 0):
            stolen = Fenced(Resource(*held.resource), fence)
            outcome = project.tracker.close(project.op(), second, stolen, "completed", "note")
            assert isinstance(outcome, Lost | Held)

        found = project.find(task)
        assert (found.task.state, found.task.note, found.agent) == ("open", "", first.agent)

    def test_sync_says_what_it_did(self, project: TrackedProject) -> None:
        """Without a remote this is no error, and nothing changes."""
        project.add("one")

        assert project.tracker.sync(project.join("a"))

        assert project.listed(Listing.READY) == ["one"]
        assert project.tracker.about.kind
        assert project.tracker.about.name
