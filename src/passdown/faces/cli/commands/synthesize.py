"""`passdown synthesize`, also `cc-synthesize`: merge all events into the view, archive and commit."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.formats.view_location import ViewLocation
from passdown.core.safe_text import one_line
from passdown.core.schemas import to_data
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.kept_views import note_kept_view
from passdown.faces.cli.lines import cut, event_lines, minute, width
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import CliProject, current_folder, open_here
from passdown.faces.cli.view_checks import check_last_commit, check_working_tree
from passdown.ports.index import EventLocation
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.log.commits import NotDue
from passdown.services.log.events import update_index
from passdown.services.log.history import EventTexts, InputFile, index_files, label, parse_text
from passdown.services.log.rollups import count_due
from passdown.services.log.synthesis import (
    SynthesisPreview,
    SynthesisResult,
    check_view,
    is_legacy,
    is_uncommitted,
    list_skipped,
    preview_view,
    synthesize,
)
from passdown.services.log.views import ViewState, make_text, read_view
from passdown.services.workspace.documents import Repair
from passdown.wiring.caches import open_memory_index
from passdown.wiring.workspaces import find_named, open_documents

_NEWEST: Final = 5
_DIFFERENCE: Final = 24
_AHEAD: Final = 3
_NAMED: Final = 5


@record
class SynthesizeOptions:
    """The options of the command."""

    no_confirm: bool
    input: tuple[str, ...]
    output: str | None
    archive: bool
    commit: bool
    check: bool
    committed: bool
    as_json: bool

    def is_interactive(self) -> bool:
        """Whether to ask questions: there is a terminal, and no option answers them."""
        is_plain = not (self.no_confirm or self.as_json or self.input or self.output)
        return is_plain and output.has_person()

    def refuse_contradictions(self) -> None:
        """Raise `UsageError` for flags that cannot be combined."""
        follow = [name for name, given in (("--archive", self.archive), ("--commit", self.commit)) if given]
        apart = [
            *(["--check"] if self.check else []),
            *(["--input"] if self.input else []),
            *(["--output"] if self.output is not None else []),
        ]
        if self.check and len(apart) > 1:
            raise UsageError(f"--check and {apart[1]} cannot be combined", hint="remove one of them")
        if self.committed and not self.check:
            raise UsageError(
                "--committed needs --check", hint="run `passdown synthesize --check --committed`"
            )
        if apart and follow:
            hint = "run --archive and --commit in a separate call"
            raise UsageError(f"{apart[0]} and {follow[0]} cannot be combined", hint=hint)
        if self.output == "":
            raise UsageError("--output needs the name of a file", hint="name one, or remove --output")


@click.command()
@click.option("--no-confirm", is_flag=True, help="Do not ask. Without a terminal nothing is asked anyway.")
@click.option(
    "--input", multiple=True, metavar="GLOB", help="Merge exactly the files that match; may be repeated."
)
@click.option(
    "--output", metavar="FILE", help="Write the view to FILE instead of its usual place; - prints it."
)
@click.option("--archive", is_flag=True, help="Archive events older than [events] retention_days.")
@click.option("--commit", is_flag=True, help="Commit events, archive and view, and nothing else.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 4 if the view is outdated.")
@click.option(
    "--committed", is_flag=True, help="With --check: judge the last commit, not the working tree; for CI."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """Merge all events into the view; optionally archive and commit.

    On a terminal, shows what would change and asks; elsewhere, and with --no-confirm, it does not ask. The
    same events always give the same view, byte for byte, and a current view is not written again.

    GLOB is matched from the current folder; put it in quotes. The view of these files is printed, unless
    --output names a file.

    If [view] commit excludes the view from this branch, the view is kept in a local file; --check then has
    nothing to compare, says so and exits with 0. So does --check while only a commit of Passdown is waiting:
    the last commit is consistent, and the next one brings events and view. --check --committed compares the
    view in the last commit with the events in it.

    Exits with 0 if it is done, with 1 if the file in the view's place is not Passdown's or you did not
    confirm, or --check finds a view that git merged and nobody regenerated; with 4 if --check finds the view
    outdated, missing or edited, and with 5 if the view could not be written.
    """
    options = SynthesizeOptions(**context.params)
    options.refuse_contradictions()
    if options.input:
        return _merge_files(options)
    project = open_here()
    if not options.committed and project.call(is_legacy):
        return _say_legacy(project, options)
    if options.check:
        check = check_last_commit if options.committed else check_working_tree
        return check(project, as_json=options.as_json)
    if options.output is not None:
        return _write_elsewhere(project, options)
    if options.is_interactive():
        return _interact(project, options)
    return _run(project, options)


# --- without questions ------------------------------------------------------------------------


def _run(project: CliProject, options: SynthesizeOptions) -> int:
    if _is_empty(project):
        return _say_empty(project, options)
    outcome = _synthesize(project, archive=True if options.archive else None, to_commit=options.commit)
    if options.as_json:
        output.say_json(_as_data(outcome))
    else:
        _say_outcome(outcome)
    _say_warnings(outcome)
    return 0


def _synthesize(project: CliProject, *, archive: bool | None, to_commit: bool) -> SynthesisResult:
    with ReadingProgress() as reading:
        return project.call(
            lambda workspace: synthesize(workspace, archive=archive, to_commit=to_commit, step=reading.step)
        )


def _is_empty(project: CliProject) -> bool:
    """Whether there are no events and no view made by Passdown; then nothing is written."""
    with ReadingProgress() as reading:
        project.call(lambda workspace: update_index(workspace.log, workspace.index, reading.step))
    _, state = project.call(check_view)
    count = project.call(lambda workspace: workspace.index.digest(1)).event_count
    return count == 0 and state in {ViewState.MISSING, ViewState.FOREIGN}


def _say_empty(project: CliProject, options: SynthesizeOptions) -> int:
    skipped = project.call(lambda workspace: workspace.index.digest(1)).skipped
    files = project.call(list_skipped)
    folder = project.workspace.settings.paths.events
    if options.as_json:
        output.say_json({"state": "empty", "events": 0, "skipped": skipped})
    output.note(f"there are no events in {folder}; nothing was written")
    if skipped:
        _say_skipped(skipped, files)
    return 0


def _say_legacy(project: CliProject, options: SynthesizeOptions) -> int:
    paths = project.workspace.settings.paths
    if options.as_json:
        output.say_json({"state": "legacy", "events": 0, "skipped": 0})
    output.note(f"{paths.view} exists but {paths.events} does not; nothing was changed")
    output.note_hint("run `passdown migrate` to import it")
    return 0


def _say_outcome(outcome: SynthesisResult) -> None:
    written = outcome.written
    what = "unchanged" if written.before is ViewState.CURRENT else "written"
    output.say(f"{_events(outcome.event_count)}; view {what}: {one_line(written.path)}")
    _say_what_followed(outcome)


def _say_what_followed(outcome: SynthesisResult) -> None:
    if outcome.archived is not None and outcome.archived.moved:
        days = f"{outcome.archived.days} day" + ("" if outcome.archived.days == 1 else "s")
        output.say(f"{_events(outcome.archived.moved)} of {days} archived")
    if isinstance(outcome.committed, Committed):
        name = outcome.committed.commit[:12]
        output.say(f"committed as {name}" if name else "committed")


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"


def _say_warnings(outcome: SynthesisResult) -> None:
    if outcome.skipped:
        _say_skipped(outcome.skipped, outcome.skipped_files)
    if outcome.malformed:
        count, verb = (
            ("1 value of an event", "counts")
            if outcome.malformed == 1
            else (f"{outcome.malformed} values of events", "count")
        )
        output.note(f"{count} could not be read and {verb} nowhere")
        output.note_hint(f"`passdown view list malformed` shows {'it' if verb == 'counts' else 'them'}")
    for place in outcome.ahead[:_AHEAD]:
        output.note(
            f"event {place.rank.id} is dated {minute(place.rank.at)}, far ahead; it overrides others for now"
        )
        output.note_hint(f"if its clock was wrong, run `passdown event retract {place.rank.id}`")
    if len(outcome.ahead) > _AHEAD:
        output.note(f"{len(outcome.ahead) - _AHEAD} more events are dated far in the future")
    note_kept_view(outcome.written)
    _say_commit(outcome.committed)


def _say_skipped(
    count: int,
    files: Sequence[str],
    hint: str = "`passdown view verify` lists what was skipped, and why",
) -> None:
    """Name the files that were skipped, each once (C160)."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    shown = ", ".join(map(one_line, files[:_NAMED]))
    verb = "was" if count == 1 else "were"
    output.note(f"{_events(count)} could not be read and {verb} skipped: {shown}{more}")
    output.note_hint(hint)


def _say_commit(committed: Committed | Skipped | NotDue | None) -> None:
    if isinstance(committed, Skipped):
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


# --- other files in, another file out -----------------------------------------------------------


def _merge_files(options: SynthesizeOptions) -> int:
    paths = _find_files(options.input)
    index = open_memory_index()
    with ReadingProgress() as reading:
        index_files(index, _read_files(paths, reading.step))
    digest = index.digest(1)
    _hand_out(options, make_text(index), digest.event_count)
    if digest.skipped:
        hint = "run `passdown check FILE` to see what is wrong with a file"
        _say_skipped(digest.skipped, index.skipped_files(), hint)
    return 0


def _find_files(patterns: Sequence[str]) -> list[str]:
    current_folder()
    found: set[str] = set()
    for pattern in patterns:
        names = find_named(pattern)
        if not names:
            hint = "the pattern is matched from the current folder; put it in quotes"
            raise UsageError(f"--input: no file matches {pattern or 'an empty name'}", hint=hint)
        found.update(os.path.abspath(name) for name in names)  # resolve() would follow links
    return sorted(found)


def _read_files(paths: Sequence[str], step: Callable[[int, int], None]) -> list[InputFile]:
    files: list[InputFile] = []
    here = current_folder()
    for number, path in enumerate(paths, 1):
        full = Path(path)
        root = here if full.is_relative_to(here) else full.parent
        try:
            data: bytes | None = open_documents(root).read(full.relative_to(root).as_posix())
        except StorageError as found:
            output.note(found.message)
            data = None
        files.append(InputFile(full.as_posix(), data))
        step(number, len(paths))
    return files


def _write_elsewhere(project: CliProject, options: SynthesizeOptions) -> int:
    with ReadingProgress() as reading:
        preview = project.call(lambda workspace: preview_view(workspace, reading.step))
    _hand_out(options, preview.text, preview.event_count)
    if preview.skipped:
        _say_skipped(preview.skipped, preview.skipped_files)
    return 0


def _hand_out(options: SynthesizeOptions, text: str, count: int) -> None:
    """Print a view, or write it to the named file; raise `PassdownError` if that holds something else."""
    is_printed = options.output in {None, "-"}
    if options.output is not None and not is_printed:
        full = Path(os.path.abspath(options.output))  # resolve() would follow links
        documents = open_documents(full.parent)
        if find_view_owner(read_view(documents, full.name)) not in {ViewOwner.NOBODY, ViewOwner.OURS}:
            hint = "name a new file, or move this one away"
            raise PassdownError(
                f"{options.output} was edited or not made by Passdown; it was not overwritten", hint=hint
            )
        documents.replace(full.name, text.encode())
    if options.as_json:
        shown = {"text": text} if is_printed else {"path": options.output}
        output.say_json({"state": "merged", "events": count, "view": shown})
    elif is_printed:
        output.say(text.removesuffix("\n"))
    else:
        output.say(f"{_events(count)}; view written: {one_line(options.output or '')}")


# --- with a person ------------------------------------------------------------------------------


def _interact(project: CliProject, options: SynthesizeOptions) -> int:
    """Discover, preview, confirm, synthesize, then offer to archive and to commit."""
    if _is_empty(project):
        return _say_empty(project, options)
    preview = project.call(preview_view)
    _preview(project, preview)
    is_asked = preview.state not in {ViewState.CURRENT, ViewState.FOREIGN}
    if is_asked and not _agrees("Write the view?", default=True):
        output.note("nothing was written")
        return 1
    outcome = _synthesize(project, archive=None, to_commit=False)
    _say_outcome(outcome)
    archive = options.archive or _wants_archive(project)
    commit = options.commit or _wants_commit(project, outcome.place)
    if archive or commit:
        after = _synthesize(project, archive=archive, to_commit=commit)
        _say_what_followed(after)
        _say_commit(after.committed)
    _say_warnings(outcome)
    return 0


def _wants_archive(project: CliProject) -> bool:
    days = project.workspace.settings.events.retention_days
    due = count_due(project.workspace.log, project.workspace.clock, days)
    asked = f"Archive {_events(due)} older than {days} days?"
    return due > 0 and _agrees(asked, default=project.workspace.settings.events.archive)


def _wants_commit(project: CliProject, place: ViewLocation) -> bool:
    return is_uncommitted(project.workspace, place) and _agrees(
        "Commit the events and the view?" if place.is_tracked else "Commit the events?", default=False
    )


def _agrees(question: str, *, default: bool) -> bool:
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _preview(project: CliProject, preview: SynthesisPreview) -> None:
    from passdown.core.formats.views import parse_view  # only a preview needs it

    texts = EventTexts(project.workspace.log)
    left = preview.event_count - len(preview.newest[:_NEWEST])
    output.say(f"{_events(preview.event_count)}" + (", the newest:" if left else ":"))
    for place in preview.newest[:_NEWEST]:
        output.say(_indented(event_lines(place, label(parse_text(texts.read(place))))))
    if left:
        output.say(f"  and {left} earlier: `passdown log`")
    view = parse_view(preview.text)
    for name, text in (("Goal", view.goal), ("Now", view.now)):
        output.say(cut(f"{name}: {text or '(none)'}", width()))
    output.say(f"View: {one_line(preview.place.path)} ({_STATES[preview.state]})")
    if preview.place.note:
        output.say(output.wrapped(preview.place.note, "  ", "  "))
    _say_difference(project, preview)


def _indented(lines: str) -> str:
    return "\n".join(cut(f"  {line}", width()) for line in lines.split("\n"))


_STATES: Final[Mapping[ViewState, str]] = MappingProxyType(
    {
        ViewState.CURRENT: "current",
        ViewState.OUTDATED: "will be updated",
        ViewState.MISSING: "will be created",
        ViewState.EDITED: "was edited by hand; will be rebuilt, and a copy is kept",
        ViewState.MERGED: "was merged by git; will be rebuilt, and a copy is kept",
        ViewState.FOREIGN: "was not made by Passdown; will not be changed",
        ViewState.OTHER_RENDERER: "was made by another version; will be rebuilt",
    }
)


def _say_difference(project: CliProject, preview: SynthesisPreview) -> None:
    there = read_view(project.workspace.documents, preview.place.path)
    if there is None or preview.state is ViewState.FOREIGN:
        return
    before = there.decode("utf-8", "replace")
    repair = Repair(path=preview.place.path, before=before, after=preview.text)
    lines = repair.difference(one_line(preview.place.path)).splitlines()
    for line in lines[:_DIFFERENCE]:
        output.say(cut(line, width()))
    if len(lines) > _DIFFERENCE:
        output.say(f"… and {len(lines) - _DIFFERENCE} more lines")


# --- for programs -------------------------------------------------------------------------------


def _as_data(outcome: SynthesisResult) -> dict[str, object]:
    written, archived = outcome.written, outcome.archived
    return {
        "state": "current" if written.before is ViewState.CURRENT else "written",
        "events": outcome.event_count,
        "skipped": outcome.skipped,
        "malformed": outcome.malformed,
        "view": {
            "path": written.path,
            "before": written.before.value,
            "kept": written.kept or None,
            "offered": list(written.offered),
            "is_tracked": outcome.place.is_tracked,
            "note": outcome.place.note,
        },
        "ahead": [_place_data(place) for place in outcome.ahead],
        "archived": None if archived is None else {"events": archived.moved, "days": archived.days},
        "commit": _commit_data(outcome.committed),
    }


def _place_data(place: EventLocation) -> dict[str, object]:
    return {"id": place.rank.id, "at": to_data(place.rank.at), "agent": place.rank.agent}


def _commit_data(committed: Committed | Skipped | NotDue | None) -> dict[str, object] | None:
    if isinstance(committed, Committed):
        return {"commit": committed.commit, "paths": list(committed.paths), "why": None, "reason": ""}
    if isinstance(committed, Skipped):
        return {"commit": None, "paths": [], "why": committed.why.value, "reason": committed.reason}
    return None
