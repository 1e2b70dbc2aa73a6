"""The hooks of Claude Code: the dialect that others have taken over."""

from typing import Final

from passdown.core.budgets import Budget
from passdown.hosts.hooks import read_call, write_reply

PLATFORM: Final = "claude"
MOST: Final = Budget(tokens=3_000, characters=9_000)
"""What is longer than 10,000 characters reaches the model as a preview of 2,000."""

__all__ = ["MOST", "PLATFORM", "read_call", "write_reply"]
