"""Say that a view was regenerated, where the copy is, and what in it no event states."""

from typing import Final

from passdown.core.safe_text import one_line
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.services.log.views import ViewState, WrittenView

_SHOWN: Final = 5


def note_kept_view(written: WrittenView | None) -> None:
    """Offer what a person wrote in a view as an event (C64); say nothing if the view was whole."""
    if written is None or not written.kept:
        return
    how = "merged by git" if written.before is ViewState.MERGED else "edited by hand"
    output.note(f"{one_line(written.path)} was {how}; a copy is kept in {one_line(written.kept)}")
    if not written.offered:
        return
    output.note("no event states these lines of it:")
    for line in written.offered[:_SHOWN]:
        output.note(cut(f"  {one_line(line)}", width()))
    if len(written.offered) > _SHOWN:
        output.note(f"  and {len(written.offered) - _SHOWN} more")
    output.note_hint(f"`passdown migrate {written.kept}` publishes them")
