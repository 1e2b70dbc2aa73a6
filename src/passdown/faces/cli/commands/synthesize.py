"""`passdown synthesize`, also `cc-synthesize`: merge all events into the view, and what may follow."""

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from passdown import wiring
from passdown.core.schemas import to_data
from passdown.core.seals import Ownership, judge_owner
from passdown.core.texts import one_line
from passdown.core.view_places import ViewPlace
from passdown.errors import OutdatedError, PassdownError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, event_lines, minute, width
from passdown.faces.cli.project import Project, Reading, current_folder, open_here
from passdown.ports.index import Place
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.commits import NotDue
from passdown.services.documents import Repair
from passdown.services.events import take_in
from passdown.services.history import InputFile, Texts, label, parse_text, take_files
from passdown.services.rollups import count_due
from passdown.services.synthesis import (
    Outcome,
    Outlook,
    check_view,
    is_legacy,
    is_uncommitted,
    look_ahead,
    synthesize,
)
from passdown.services.views import ViewState, make_text, read_view

_NEWEST: Final = 5
_DIFFERENCE: Final = 24
_AHEAD: Final = 3
_RUN: Final = "run `passdown synthesize`"


@record
class Way:
    """How the user wants it done."""

    no_confirm: bool
    input: tuple[str, ...]
    output: str | None
    archive: bool
    commit: bool
    check: bool
    as_json: bool

    def is_interactive(self) -> bool:
        """Whether a person is there and is to be asked."""
        is_plain = not (self.no_confirm or self.as_json or self.input or self.output)
        return is_plain and output.has_person()

    def refuse_contradictions(self) -> None:
        """Raise `UsageError` for flags that cannot be meant together."""
        follow = [name for name, given in (("--archive", self.archive), ("--commit", self.commit)) if given]
        apart = [
            *(["--check"] if self.check else []),
            *(["--input"] if self.input else []),
            *(["--output"] if self.output is not None else []),
        ]
        if self.check and len(apart) > 1:
            raise UsageError(f"--check and {apart[1]} do not go together", hint="leave one of them out")
        if apart and follow:
            hint = "archive and commit with a call of their own"
            raise UsageError(f"{apart[0]} and {follow[0]} do not go together", hint=hint)
        if self.output == "":
            raise UsageError("--output needs the name of a file", hint="name one, or leave --output out")


@click.command()
@click.option("--no-confirm", is_flag=True, help="Ask nothing. Without a terminal nothing is asked anyway.")
@click.option(
    "--input", multiple=True, metavar="GLOB", help="Merge exactly the files that match. May be repeated."
)
@click.option("--output", metavar="FILE", help="Write the view to FILE instead of its place; - prints it.")
@click.option("--archive", is_flag=True, help="Archive events older than [events] retention_days.")
@click.option("--commit", is_flag=True, help="Commit events, archive and view, and nothing else.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 4 if the view is outdated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """Merge all events into the view; archive and commit when asked.

    At a terminal it shows what would change and asks; elsewhere, and with --no-confirm, it just works. Equal
    events give an equal view, to the byte, and a view that is current is not written again.

    GLOB is matched from the current folder; quote it. The view of such files is printed, unless --output
    names a file.

    Where [view] commit does not let this branch carry the view, it is kept in a local file, and --check has
    nothing to compare: it says so and exits with 0.

    Exits with 0 when it is done, with 1 when a file in the view's place is not ours or you did not agree,
    with 4 when --check finds the view outdated, missing or edited, and with 5 when it could not be written.
    """
    way = Way(**context.params)
    way.refuse_contradictions()
    if way.input:
        return _merge_files(way)
    project = open_here()
    if project.call(is_legacy):
        return _say_legacy(project, way)
    if way.check:
        return _check(project, way)
    if way.output is not None:
        return _write_elsewhere(project, way)
    if way.is_interactive():
        return _interact(project, way)
    return _run(project, way)


# --- without questions ------------------------------------------------------------------------


def _run(project: Project, way: Way) -> int:
    if _is_empty(project):
        return _say_empty(project, way)
    outcome = _synthesize(project, archive=True if way.archive else None, to_commit=way.commit)
    if way.as_json:
        output.say_json(_as_data(outcome))
    else:
        _say_outcome(outcome)
    _say_warnings(outcome)
    return 0


def _synthesize(project: Project, *, archive: bool | None, to_commit: bool) -> Outcome:
    with Reading() as reading:
        return project.call(
            lambda checkout: synthesize(checkout, archive=archive, to_commit=to_commit, step=reading.step)
        )


def _is_empty(project: Project) -> bool:
    """Whether there is nothing to merge and no view of ours: then nothing is written."""
    with Reading() as reading:
        project.call(lambda checkout: take_in(checkout.log, checkout.index, reading.step))
    _, state = project.call(check_view)
    count = project.call(lambda checkout: checkout.index.digest(1)).event_count
    return count == 0 and state in {ViewState.MISSING, ViewState.FOREIGN}


def _say_empty(project: Project, way: Way) -> int:
    skipped = project.call(lambda checkout: checkout.index.digest(1)).skipped
    folder = project.checkout.settings.paths.events
    if way.as_json:
        output.say_json({"state": "empty", "events": 0, "skipped": skipped})
    output.note(f"there are no events in {folder}; nothing was written")
    if skipped:
        _say_skipped(skipped)
    return 0


def _say_legacy(project: Project, way: Way) -> int:
    paths = project.checkout.settings.paths
    if way.as_json:
        output.say_json({"state": "legacy", "events": 0, "skipped": 0})
    output.note(f"there is {paths.view} but no {paths.events}; it is left as it is")
    output.note_hint("`passdown migrate` makes an event of it, from which views are made")
    return 0


def _say_outcome(outcome: Outcome) -> None:
    written = outcome.written
    what = "unchanged" if written.before is ViewState.CURRENT else "written"
    output.say(f"{_events(outcome.event_count)}; view {what}: {one_line(written.path)}")
    _say_what_followed(outcome)


def _say_what_followed(outcome: Outcome) -> None:
    if outcome.archived is not None and outcome.archived.moved:
        days = f"{outcome.archived.days} day" + ("" if outcome.archived.days == 1 else "s")
        output.say(f"{_events(outcome.archived.moved)} of {days} archived")
    if isinstance(outcome.committed, Committed):
        name = outcome.committed.commit[:10]
        output.say(f"committed {name}" if name else "committed")


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"


def _say_warnings(outcome: Outcome) -> None:
    if outcome.skipped:
        _say_skipped(outcome.skipped)
    for place in outcome.ahead[:_AHEAD]:
        output.note(
            f"event {place.rank.id} is dated {minute(place.rank.at)}, far in the future; it wins over all"
        )
        output.note_hint(f"if its clock was wrong: `passdown event retract {place.rank.id}`")
    if len(outcome.ahead) > _AHEAD:
        output.note(f"{len(outcome.ahead) - _AHEAD} more events are dated far in the future")
    if outcome.written.kept:
        output.note(
            f"{outcome.written.path} was edited by hand; what it said is kept in {outcome.written.kept}"
        )
        output.note_hint(f"`passdown migrate {outcome.written.kept}` publishes it")
    _say_commit(outcome.committed)


def _say_skipped(
    count: int, hint: str = "`passdown view verify` names what is left out, and its problem"
) -> None:
    output.note(f"{_events(count)} could not be read and {'is' if count == 1 else 'are'} left out")
    output.note_hint(hint)


def _say_commit(committed: Committed | Skipped | NotDue | None) -> None:
    if isinstance(committed, Skipped):
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


# --- check ------------------------------------------------------------------------------------


def _check(project: Project, way: Way) -> int:
    with Reading() as reading:
        project.call(lambda checkout: take_in(checkout.log, checkout.index, reading.step))
    place, state = project.call(check_view)
    count = project.call(lambda checkout: checkout.index.digest(1)).event_count
    is_kept = place.is_tracked and not (count == 0 and state is ViewState.MISSING)
    if is_kept and state is not ViewState.CURRENT:
        raise _complaint(place.path, state)
    if way.as_json:
        shown = {"path": place.path, "is_tracked": place.is_tracked, "note": place.note}
        output.say_json({"state": state.value, "events": count, "view": shown})
    elif not place.is_tracked:
        output.note(place.note)
    elif is_kept:
        output.note(f"{place.path} is current: {_events(count)}")
    else:
        output.note(f"there are no events in {project.checkout.settings.paths.events}, and no view")
    return 0


def _complaint(path: str, state: ViewState) -> PassdownError:
    if state is ViewState.MISSING:
        return OutdatedError(f"{path} is missing", hint=_RUN)
    if state is ViewState.EDITED:
        hint = f"{_RUN}; it keeps a copy of what was edited"
        return OutdatedError(f"{path} was edited by hand; it is made from events", hint=hint)
    if state is ViewState.OTHER_RENDERER:
        hint = f"{_RUN} with the version of Passdown that the project uses"
        return OutdatedError(f"{path} was made by another version of Passdown", hint=hint)
    if state is ViewState.FOREIGN:
        hint = "`passdown migrate` takes it over as an event; nothing in it is lost"
        return OutdatedError(f"{path} was not made by Passdown", hint=hint)
    return OutdatedError(f"{path} is outdated: events are not in it, or no longer there", hint=_RUN)


# --- other files in, another file out -----------------------------------------------------------


def _merge_files(way: Way) -> int:
    paths = _find_files(way.input)
    index = wiring.open_memory_index()
    with Reading() as reading:
        take_files(index, _read_files(paths, reading.step))
    digest = index.digest(1)
    _hand_out(way, make_text(index), digest.event_count)
    if digest.skipped:
        _say_skipped(digest.skipped, "`passdown check FILE` says what is wrong with a file")
    return 0


def _find_files(patterns: Sequence[str]) -> list[str]:
    current_folder()
    found: set[str] = set()
    for pattern in patterns:
        names = [name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name)]  # noqa: PTH113, PTH207
        if not names:
            hint = "the pattern is matched from the current folder; quote it"
            raise UsageError(f"--input: no file matches {pattern or 'an empty name'}", hint=hint)
        found.update(os.path.abspath(name) for name in names)  # noqa: PTH100 - resolve() would follow links
    return sorted(found)


def _read_files(paths: Sequence[str], step: Callable[[int, int], None]) -> list[InputFile]:
    files: list[InputFile] = []
    for number, path in enumerate(paths, 1):
        full = Path(path)
        try:
            data: bytes | None = wiring.open_documents(full.parent).read(full.name)
        except StorageError as found:
            output.note(found.message)
            data = None
        files.append(InputFile(full.as_posix(), data))
        step(number, len(paths))
    return files


def _write_elsewhere(project: Project, way: Way) -> int:
    with Reading() as reading:
        outlook = project.call(lambda checkout: look_ahead(checkout, reading.step))
    _hand_out(way, outlook.text, outlook.event_count)
    if outlook.skipped:
        _say_skipped(outlook.skipped)
    return 0


def _hand_out(way: Way, text: str, count: int) -> None:
    """Print a view, or write it to the file that was named, unless something else is there."""
    is_printed = way.output in {None, "-"}
    if way.output is not None and not is_printed:
        full = Path(os.path.abspath(way.output))  # noqa: PTH100 - resolve() would follow links
        documents = wiring.open_documents(full.parent)
        if judge_owner(read_view(documents, full.name)) in {Ownership.FOREIGN, Ownership.EDITED}:
            hint = "name a file that is not there yet, or move this one away"
            raise PassdownError(
                f"{way.output} is not a view as Passdown made it and is left alone", hint=hint
            )
        documents.replace(full.name, text.encode())
    if way.as_json:
        shown = {"text": text} if is_printed else {"path": way.output}
        output.say_json({"state": "merged", "events": count, "view": shown})
    elif is_printed:
        output.say(text.removesuffix("\n"))
    else:
        output.say(f"{_events(count)}; view written: {one_line(way.output or '')}")


# --- with a person ------------------------------------------------------------------------------


def _interact(project: Project, way: Way) -> int:
    """Discover, preview, confirm, synthesize, then offer to archive and to commit."""
    if _is_empty(project):
        return _say_empty(project, way)
    outlook = project.call(look_ahead)
    _preview(project, outlook)
    is_asked = outlook.state not in {ViewState.CURRENT, ViewState.FOREIGN}
    if is_asked and not _agrees("Write the view?", default=True):
        output.note("nothing was written")
        return 1
    outcome = _synthesize(project, archive=None, to_commit=False)
    _say_outcome(outcome)
    archive = way.archive or _wants_archive(project)
    commit = way.commit or _wants_commit(project, outcome.place)
    if archive or commit:
        after = _synthesize(project, archive=archive, to_commit=commit)
        _say_what_followed(after)
        _say_commit(after.committed)
    _say_warnings(outcome)
    return 0


def _wants_archive(project: Project) -> bool:
    days = project.checkout.settings.events.retention_days
    due = count_due(project.checkout.log, project.checkout.clock, days)
    asked = f"Archive {_events(due)} older than {days} days?"
    return due > 0 and _agrees(asked, default=project.checkout.settings.events.archive)


def _wants_commit(project: Project, place: ViewPlace) -> bool:
    return is_uncommitted(project.checkout, place) and _agrees(
        "Commit the events and the view?" if place.is_tracked else "Commit the events?", default=False
    )


def _agrees(question: str, *, default: bool) -> bool:
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort:
        output.draw("\n")  # what follows shall not stand behind the question
        raise


def _preview(project: Project, outlook: Outlook) -> None:
    from passdown.core.views import parse_view  # noqa: PLC0415 - only a preview needs it

    texts = Texts(project.checkout.log)
    left = outlook.event_count - len(outlook.newest[:_NEWEST])
    output.say(f"{_events(outlook.event_count)}" + (", the newest:" if left else ":"))
    for place in outlook.newest[:_NEWEST]:
        output.say(_indented(event_lines(place, label(parse_text(texts.read(place))))))
    if left:
        output.say(f"  and {left} earlier: `passdown log`")
    view = parse_view(outlook.text)
    for name, text in (("Goal", view.goal), ("Now", view.now)):
        output.say(cut(f"{name}: {text or '(none)'}", width()))
    output.say(f"View: {one_line(outlook.place.path)} ({_STATES[outlook.state]})")
    if outlook.place.note:
        output.say(output.wrapped(outlook.place.note, "  ", "  "))
    _say_difference(project, outlook)


def _indented(lines: str) -> str:
    return "\n".join(cut(f"  {line}", width()) for line in lines.split("\n"))


_STATES: Final[Mapping[ViewState, str]] = MappingProxyType(
    {
        ViewState.CURRENT: "current",
        ViewState.OUTDATED: "will be brought up to date",
        ViewState.MISSING: "will be made",
        ViewState.EDITED: "was edited by hand; a copy is kept, then it is made anew",
        ViewState.FOREIGN: "was not made by Passdown, and is left alone",
        ViewState.OTHER_RENDERER: "was made by another version; will be made anew",
    }
)


def _say_difference(project: Project, outlook: Outlook) -> None:
    there = read_view(project.checkout.documents, outlook.place.path)
    if there is None or outlook.state is ViewState.FOREIGN:
        return
    before = there.decode("utf-8", "replace")
    repair = Repair(path=outlook.place.path, before=before, after=outlook.text)
    lines = repair.difference(one_line(outlook.place.path)).splitlines()
    for line in lines[:_DIFFERENCE]:
        output.say(cut(line, width()))
    if len(lines) > _DIFFERENCE:
        output.say(f"… and {len(lines) - _DIFFERENCE} more lines")


# --- for programs -------------------------------------------------------------------------------


def _as_data(outcome: Outcome) -> dict[str, object]:
    written, archived = outcome.written, outcome.archived
    return {
        "state": "current" if written.before is ViewState.CURRENT else "written",
        "events": outcome.event_count,
        "skipped": outcome.skipped,
        "view": {
            "path": written.path,
            "before": written.before.value,
            "kept": written.kept or None,
            "is_tracked": outcome.place.is_tracked,
            "note": outcome.place.note,
        },
        "ahead": [_place_data(place) for place in outcome.ahead],
        "archived": None if archived is None else {"events": archived.moved, "days": archived.days},
        "commit": _commit_data(outcome.committed),
    }


def _place_data(place: Place) -> dict[str, object]:
    return {"id": place.rank.id, "at": to_data(place.rank.at), "agent": place.rank.agent}


def _commit_data(committed: Committed | Skipped | NotDue | None) -> dict[str, object] | None:
    if isinstance(committed, Committed):
        return {"commit": committed.commit, "paths": list(committed.paths), "why": None, "reason": ""}
    if isinstance(committed, Skipped):
        return {"commit": None, "paths": [], "why": committed.why.value, "reason": committed.reason}
    return None
