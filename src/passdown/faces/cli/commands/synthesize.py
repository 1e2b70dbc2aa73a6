"""`passdown synthesize`, also `cc-synthesize`: merge all events into the view, archive and commit."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from passdown.actions.answers import Answered
from passdown.actions.log import syntheses, view_checks
from passdown.core.formats.views import parse_view
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, call_bare, show
from passdown.faces.cli.kept_views import note_kept_view
from passdown.faces.cli.lines import cut, event_lines, minute, width
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.log.commits import NotDue
from passdown.services.log.views import ViewState

_DIFFERENCE: Final = 24
_AHEAD: Final = 3
_NAMED: Final = 5
_WAITING: Final = 5
_VERIFY: Final = "run `passdown view verify` to see what was skipped and why"


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
        """Return whether to ask questions: on a terminal, unless an option answers them."""
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
@click.option("--no-confirm", is_flag=True, help="Do not ask. Without a terminal it never asks.")
@click.option(
    "--input", multiple=True, metavar="GLOB", help="Merge exactly the files that match; may be repeated."
)
@click.option(
    "--output", metavar="FILE", help="Write the view to FILE instead of its usual place; - prints it."
)
@click.option("--archive", is_flag=True, help="Archive what is due, and commit that, if this clone archives.")
@click.option("--commit", is_flag=True, help="Commit events, archive and view, and nothing else.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 4 if the view is outdated.")
@click.option(
    "--committed", is_flag=True, help="With --check: check the last commit, not the working tree; for CI."
)
@options.json
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """Merge all events into the view; optionally archive and commit.

    At a terminal, shows what would change and asks; elsewhere, and with --no-confirm, it does not ask. The
    same events always give the same view, byte for byte, and a current view is not written again.

    GLOB is matched from the current folder; put it in quotes. The view of these files is printed, unless
    --output names a file.

    If [view] commit excludes the view from this branch, the view is kept in a local file; --check then has
    nothing to compare, says so and exits with 0. It also exits with 0 while only a commit by Passdown is
    pending: the last commit is consistent, and the next one brings events and view. --check --committed
    compares the view in the last commit with the events in that commit.

    Exits with 0 if it is done; with 1 if the file in the view's place is not Passdown's, if you did not
    confirm, or if --check finds a view that git merged and nobody regenerated; with 4 if --check finds the
    view outdated, missing or edited; and with 5 if the view could not be written.
    """
    options = SynthesizeOptions(**context.params)
    options.refuse_contradictions()
    as_json = options.as_json
    if options.input:
        files = syntheses.FilesRequest(patterns=options.input, output=options.output)
        hint = "run `passdown check FILE` to see what is wrong with a file"
        return _report(call_bare(syntheses.merge_files, files), hint, as_json=as_json)
    if options.committed:
        show(call(view_checks.check_last_commit, None), _say_committed, as_json=as_json)
        return 0
    if options.check:
        return _report(call(view_checks.check_working_tree, None), as_json=as_json)
    if options.output is not None:
        return _report(call(syntheses.render_elsewhere, options.output), as_json=as_json)
    if options.is_interactive():
        return _interact(options)
    request = syntheses.SynthesisRequest(archive=True if options.archive else None, commit=options.commit)
    return _report(call(syntheses.synthesize, request), as_json=as_json)


Found = (
    syntheses.NothingToMerge
    | syntheses.SynthesisOutcome
    | syntheses.MergedView
    | view_checks.CheckedView
    | view_checks.WaitingView
)


def _report(answer: Answered[Found], hint: str = _VERIFY, *, as_json: bool) -> int:
    """Print an answer and its warnings; `hint` is for files that were skipped."""
    found = show(answer, _say, as_json=as_json)
    if isinstance(found, syntheses.NothingToMerge):
        _say_nothing(found)
    elif isinstance(found, syntheses.SynthesisOutcome):
        _say_warnings(found)
    elif isinstance(found, syntheses.MergedView):
        _note_skipped(found, hint)
    return 0


def _say(found: Found) -> None:
    """Print what was done or found, if anything."""
    if isinstance(found, syntheses.SynthesisOutcome):
        _say_outcome(found)
    elif isinstance(found, syntheses.MergedView):
        _say_merged(found)
    elif isinstance(found, view_checks.CheckedView):
        _say_checked(found)
    elif isinstance(found, view_checks.WaitingView):
        _say_waiting(found)


def _say_nothing(found: syntheses.NothingToMerge) -> None:
    if found.is_legacy:
        output.note(f"{found.view} exists but {found.folder} does not; nothing was changed")
        output.note_hint("run `passdown migrate` to import it")
    else:
        output.note(f"there are no events in {found.folder}; nothing was written")
        _note_skipped(found)


# --- without questions ------------------------------------------------------------------------


def _say_outcome(found: syntheses.SynthesisOutcome) -> None:
    what = "unchanged" if found.view.before is ViewState.CURRENT else "written"
    output.say(f"{_events(found.events)}; view {what}: {one_line(found.view.path)}")
    _print_outcome(found)


def _print_outcome(found: syntheses.SynthesisOutcome) -> None:
    if found.archived is not None and found.archived.moved:
        days = output.counted(found.archived.days, "day")
        output.say(f"{_events(found.archived.moved)} of {days} archived")
    if isinstance(found.commit, Committed):
        name = found.commit.commit[:12]
        output.say(f"committed as {name}" if name else "committed")


def _events(count: int) -> str:
    return output.counted(count, "event")


def _say_warnings(found: syntheses.SynthesisOutcome) -> None:
    _note_skipped(found)
    if found.malformed:
        values, verb, them = (
            ("1 value", "is", "it") if found.malformed == 1 else (f"{found.malformed} values", "are", "them")
        )
        output.note(f"{values} in events could not be read and {verb} ignored")
        output.note_hint(f"run `passdown view list malformed` to see {them}")
    for place in found.ahead[:_AHEAD]:
        output.note(
            f"event {place.rank.id} is dated {minute(place.rank.at)}, far in the future; it overrides others"
        )
        output.note_hint(f"if its clock was wrong, run `passdown log retract {place.rank.id}`")
    if len(found.ahead) > _AHEAD:
        output.note(f"{len(found.ahead) - _AHEAD} more events are dated far in the future")
    note_kept_view(found.written)
    _say_not_archived(found)
    _say_commit(found.commit)


def _say_not_archived(found: syntheses.SynthesisOutcome) -> None:
    if found.not_archived:
        output.note(f"not archived: {found.not_archived}")


def _note_skipped(
    found: syntheses.NothingToMerge | syntheses.MergedView | syntheses.SynthesisOutcome, hint: str = _VERIFY
) -> None:
    """Name the files that were skipped, each once (C160)."""
    count, files = found.skipped, found.files
    if not count:
        return
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


def _say_merged(found: syntheses.MergedView) -> None:
    if "text" in found.view:
        output.say(found.view["text"].removesuffix("\n"))
    else:
        output.say(f"{_events(found.events)}; view written: {one_line(found.view['path'])}")


# --- checks -------------------------------------------------------------------------------------


def _say_checked(found: view_checks.CheckedView) -> None:
    if not found.view.is_tracked:
        output.note(found.view.note)
    elif found.events or found.state != ViewState.MISSING:
        output.note(f"{found.view.path} is current: {_events(found.events)}")
    else:
        output.note(f"there are no events in {found.folder}, and no view")


def _say_waiting(found: view_checks.WaitingView) -> None:
    path, waiting = found.checked.view.path, found.uncommitted
    output.note(f"{path} is current in the last commit; the next one updates it, with:")
    for one in waiting.paths[:_WAITING]:
        output.note(f"  {one_line(one)}")
    if len(waiting.paths) > _WAITING:
        output.note(f"  and {len(waiting.paths) - _WAITING} more")
    output.note(f"not committed yet: {waiting.reason}")


def _say_committed(found: view_checks.CheckedView) -> None:
    if not found.view.is_tracked:
        output.note(found.view.note)
    elif found.events:
        output.note(f"{found.view.path} is current in the last commit: {_events(found.events)}")
    else:
        output.note("the last commit has no events")


# --- on a terminal ------------------------------------------------------------------------------


def _interact(options: SynthesizeOptions) -> int:
    """Preview, confirm and synthesize; then offer to archive and to commit."""
    planned = call(syntheses.preview_synthesis, None).result
    if isinstance(planned, syntheses.NothingToMerge):
        _say_nothing(planned)
        return 0
    _say_preview(planned)
    is_asked = planned.preview.state not in {ViewState.CURRENT, ViewState.FOREIGN}
    if is_asked and not output.agrees("Write the view?", usual=True):
        output.note("nothing was written")
        return 1
    made = call(syntheses.synthesize, syntheses.SynthesisRequest(asks_more=True), is_first=False).result
    if isinstance(made, syntheses.NothingToMerge):
        _say_nothing(made)
        return 0
    _say_outcome(made)
    archive = options.archive or _wants_archive(made.further)
    commit = options.commit or _wants_commit(made)
    if archive or commit:
        request = syntheses.SynthesisRequest(archive=archive, commit=commit)
        after = call(syntheses.synthesize, request, is_first=False).result
        if isinstance(after, syntheses.SynthesisOutcome):
            _print_outcome(after)
            _say_not_archived(after)
            _say_commit(after.commit)
    _say_warnings(made)
    return 0


def _wants_archive(further: syntheses.FurtherSteps | None) -> bool:
    if further is None or not further.due:
        return False
    asked = f"Archive {_events(further.due)} older than {further.days} days?"
    return output.agrees(asked, usual=further.is_usual)


def _wants_commit(made: syntheses.SynthesisOutcome) -> bool:
    asked = "Commit the events and the view?" if made.view.is_tracked else "Commit the events?"
    return made.further is not None and made.further.is_uncommitted and output.agrees(asked, usual=False)


def _say_preview(found: syntheses.PreviewedView) -> None:
    preview = found.preview
    left = preview.event_count - len(found.newest)
    output.say(f"{_events(preview.event_count)}" + (", the newest:" if left else ":"))
    for place, label in found.newest:
        output.say(_indented(event_lines(place, label)))
    if left:
        output.say(f"  and {left} earlier: `passdown log`")
    view = parse_view(preview.text)
    for name, text in (("Goal", view.goal), ("Now", view.now)):
        output.say(cut(f"{name}: {text or '(none)'}", width()))
    output.say(f"View: {one_line(preview.place.path)} ({_STATES[preview.state]})")
    if preview.place.note:
        output.say(output.wrapped(preview.place.note, "  ", "  "))
    for line in found.difference[:_DIFFERENCE]:
        output.say(cut(line, width()))
    if len(found.difference) > _DIFFERENCE:
        output.say(f"… and {len(found.difference) - _DIFFERENCE} more lines")


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
