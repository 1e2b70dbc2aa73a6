"""Under which name an index remembers the view that was made from its events."""

from typing import Final

from passdown import __version__
from passdown.core.view_places import RENDERER

NOTE: Final = f"view {__version__} {RENDERER}"
"""Holds the hash of the view and the number of its events; another version does not know it."""
