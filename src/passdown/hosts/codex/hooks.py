"""The hooks of Codex: Claude Code's, read strictly."""

from typing import Final

from passdown.core.budgets import Budget
from passdown.hosts.hooks import read_call, write_reply

PLATFORM: Final = "codex"
MOST: Final = Budget(tokens=3_000, characters=9_000)
"""What is longer than 2,500 tokens, which it takes for 10,000 bytes, loses its middle."""

__all__ = ["MOST", "PLATFORM", "read_call", "write_reply"]
