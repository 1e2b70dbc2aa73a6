"""A progress bar; it disappears when the work is done."""

import os
from types import TracebackType
from typing import Final, Self

from passdown.faces.cli import output

_DRAWINGS: Final = 100
_BAR: Final = 30
MANY: Final = 500
"""The number of files from which reading takes long enough to show a bar."""


class Progress:
    """A progress bar on one line of stderr, which is cleared before anything else is printed."""

    def __init__(self, doing: str, total: int, *, shown: bool) -> None:
        """Keep the label and the total; show nothing on a terminal that cannot move the cursor back."""
        self._doing = doing
        self._total = total
        self._shown = shown and os.environ.get("TERM") != "dumb"
        self._count = 0
        self._width = 0

    def __enter__(self) -> Self:
        """Start without a bar: short work needs none."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the bar, however the work ended."""
        self.hide()

    def step(self) -> None:
        """Count one more as done; redraw at most a hundred times in total."""
        self._count += 1
        if (
            self._shown
            and self._count * _DRAWINGS // self._total > (self._count - 1) * _DRAWINGS // self._total
        ):
            self._draw()

    def hide(self) -> None:
        """Clear the bar; the next step may draw it again."""
        if self._width:
            output.draw("\r" + " " * self._width + "\r")
            self._width = 0

    def _draw(self) -> None:
        filled = self._count * _BAR // self._total
        bar = "#" * filled + "-" * (_BAR - filled)
        line = f"{self._doing} [{bar}] {self._count} of {self._total}"[: max(output.columns() - 1, 0)]
        self._width = len(line)
        output.draw(f"\r{line}")
