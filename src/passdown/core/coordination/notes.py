"""The notes that are kept with a closed task (R182 to R184)."""

from passdown.core.coordination.tasks import BLOCKED, COMPLETED
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account

_NONE = "none"


def make_note(reason: str, title: str, text: str, account: Account) -> str:
    """Return the lines for the reason: what the closer said, and what its session knows."""
    text = text.strip()
    if reason == COMPLETED:
        decision = next(reversed(account.of(FactKind.DECISION)), None)
        following = next(iter(account.of(FactKind.NEXT)), None)
        return _lines(
            ("COMPLETED", text or title),
            ("KEY DECISION", f"{decision.key}: {decision.text}" if decision else _NONE),
            ("NEXT", following.text if following else _NONE),
        )
    if reason == BLOCKED:
        tried = next(reversed(account.of(FactKind.DONE)), None) or account.now
        return _lines(
            ("BLOCKED", title),
            ("WAITING ON", text or _NONE),
            ("TRIED", tried.text if tried else _NONE),
        )
    return _lines(("SKIPPED", title), ("REASON", text or "not needed"))


def _lines(*entries: tuple[str, str]) -> str:
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in entries)
