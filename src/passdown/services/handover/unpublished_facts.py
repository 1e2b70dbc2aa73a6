"""What sessions of a clone stated and have not published yet, as others are told of it (C123)."""

from collections.abc import Callable, Iterable, Sequence

from passdown.core.facts import Fact, tell
from passdown.core.sessions.session_facts import Account
from passdown.core.sessions.unpublished import told_before


def find_unpublished(accounts: Iterable[Account], find_covered: Callable[[str], int]) -> Sequence[Fact]:
    """Return their rules, decisions and questions, marked, and without secrets as in an event.

    `find_covered` tells up to which line events tell of a session.
    """
    open_ones = [one for one in accounts if told_before(one, 0)]  # for the others nobody needs to look
    facts = [fact for one in open_ones for fact in told_before(one, find_covered(one.session))]
    if not facts:
        return ()
    from passdown.core.sessions.secrets import redact_all  # few briefs need it

    texts, _ = redact_all([part for fact in facts for part in (fact.text, fact.key, fact.because)])
    parts = iter(texts)
    return [
        tell(fact._replace(text=text, key=key, because=because))
        for fact, text, key, because in zip(facts, parts, parts, parts, strict=True)
    ]
