"""Report that a view was regenerated, where its copy is, and which of its lines are in no event."""

from typing import Final

from passdown.core.safe_text import one_line
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.services.log.views import ViewState, WrittenView

_SHOWN: Final = 5


def note_kept_view(written: WrittenView | None) -> None:
    """Offer to publish what a person wrote in a view (C64); print nothing if nobody changed it."""
    if written is None or not written.kept:
        return
    how = "merged by git" if written.before is ViewState.MERGED else "edited by hand"
    output.note(f"{one_line(written.path)} was {how}; a copy is kept in {one_line(written.kept)}")
    if not written.offered:
        return
    output.note("these lines of it are in no event:")
    for line in written.offered[:_SHOWN]:
        output.note(cut(f"  {one_line(line)}", width()))
    if len(written.offered) > _SHOWN:
        output.note(f"  and {len(written.offered) - _SHOWN} more")
    output.note_hint(f"`passdown migrate {written.kept}` publishes them")
